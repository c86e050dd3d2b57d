//! What is done with a session.

#[expect(dead_code, reason = "the protocol alone; flow does not speak it yet")]
pub mod durable;
pub mod elevate;
pub mod exec;
pub mod transfer;
