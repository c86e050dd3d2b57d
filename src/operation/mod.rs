//! What is done with a session.

pub mod elevate;
pub mod exec;
pub mod transfer;
