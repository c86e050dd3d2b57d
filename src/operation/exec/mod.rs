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
mod waits;

#[cfg(test)]
mod verdict_tests;

pub use input::Input;
pub use plan::{Limits, Plan, Terminal};
pub use run::run;
