//! SSH itself: the only layer that knows russh.

pub mod keys;
