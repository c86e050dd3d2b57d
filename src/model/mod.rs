//! The words that every layer shares. Nothing is decided here, and nothing here knows a library of the outside.

pub mod check;
pub mod copy;
pub mod moment;
pub mod operation;
pub mod ops;
pub mod outcome;
pub mod request;
pub mod sink;
pub mod timing;
pub mod transfer;
