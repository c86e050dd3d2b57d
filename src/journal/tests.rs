//! The journal on a real disk.
