//! Running one command on a session channel.
//!
//! [`run`] sees, [`verdict`] judges: what was seen is written down as facts, and only a pure function turns them into a claim.

pub mod facts;
mod input;
pub mod marker;
mod plan;
mod run;
pub mod start;
mod stop;
pub mod verdict;
pub(in crate::operation) mod waits;

#[cfg(test)]
mod verdict_tests;

pub use input::Input;
pub use plan::{Plan, Terminal};
pub use run::run;
