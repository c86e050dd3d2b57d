//! The order of things: resolve, connect, run, judge. Only here is anything waited for between attempts, and only here does a
//! fault become an error with what was started.

mod exec;
mod prepare;

pub use exec::{Ended, exec};
