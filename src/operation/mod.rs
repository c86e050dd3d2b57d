//! What is done with a session.

pub mod durable;
pub mod elevate;
pub mod exec;
pub mod limits;
pub mod transfer;
