//! The order of things: resolve, connect, run, judge. Only here is anything waited for between attempts, and only here does a
//! fault become an error with what was started.

mod check;
mod copy;
mod exec;
mod keyed;
mod means;
mod ops;
mod phases;
mod prepare;
mod trip;

pub use check::check;
pub use copy::copy;
pub use exec::exec;
pub use ops::ops;
pub use trip::Ended;
