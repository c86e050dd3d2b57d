//! What is done with a session.

pub mod exec;

#[expect(dead_code, reason = "the protocol alone; flow does not speak it yet")]
pub mod durable;
