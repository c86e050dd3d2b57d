//! What is done with a session.

pub mod elevate;
pub mod exec;
pub mod limits;
pub mod transfer;

#[expect(dead_code, reason = "the protocol alone; flow does not speak it yet")]
pub mod durable;
