//! Waiting for a condition, with a deadline. Nothing here sleeps and hopes.

use std::time::{Duration, Instant};

/// A pause between two looks at a condition, or the shape of a slow link. Never a wait for luck.
#[allow(clippy::disallowed_methods, reason = "the one place in the tests that may sleep")]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Looks until there is an answer; panics, naming what was waited for, when there is none in time.
pub fn until<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited {limit:?} in vain for {what}");
        pause(Duration::from_millis(5));
    }
}

/// Looks until it is so, or the time is over; tells which.
pub fn eventually(limit: Duration, mut look: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if look() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        pause(Duration::from_millis(5));
    }
}
