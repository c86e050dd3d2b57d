//! ssh-cli: one SSH invocation that says what happened.

pub mod cli;
mod connection;
pub mod constants;
pub mod effect;
pub mod errors;
mod flow;
pub mod model;
mod operation;
pub mod retry;
pub mod secret;
pub mod shell;
mod target;
#[doc(hidden)] pub mod smoke;
