//! What is done with a session.

pub mod exec;
pub mod transfer;
