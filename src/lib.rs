//! The layers of ssh-cli.
pub mod cli;
pub mod constants;
pub mod effect;
pub mod errors;
pub mod model;
pub mod report;
pub mod retry;
pub mod secret;
pub mod shell;
