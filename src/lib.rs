//! The layers of ssh-cli.
pub mod connection;
pub mod constants;
pub mod effect;
pub mod errors;
pub mod model;
pub mod secret;
pub mod shell;
pub mod target;
