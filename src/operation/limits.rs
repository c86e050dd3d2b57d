//! How long what is done with a session may take.

use std::time::Duration;

use tokio::time::Instant;

use crate::errors::Limit;

/// When we stop something ourselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// `--timeout`, from the request for it on.
    pub timeout: Option<Duration>,
    /// `--deadline`: the moment, and how long it was when the invocation began.
    pub deadline: Option<(Instant, Duration)>,
}

impl Limits {
    /// Whichever is over first.
    pub(super) fn first(&self) -> Option<(Instant, Limit, Duration)> {
        let timeout = self.timeout.and_then(|t| Some((Instant::now().checked_add(t)?, Limit::Timeout, t)));
        let deadline = self.deadline.map(|(at, span)| (at, Limit::Deadline, span));
        [timeout, deadline].into_iter().flatten().min_by_key(|(at, ..)| *at)
    }
}
