//! Retry.
