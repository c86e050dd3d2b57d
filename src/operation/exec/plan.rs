//! What one run is given: the request with its input, and its limits.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::input::Input;
use crate::errors::Limit;
use crate::operation::elevate::Elevated;

/// One command, ready to be asked for.
#[derive(Debug)]
pub struct Plan {
    /// The exec request.
    pub request: Vec<u8>,
    /// What is sent on standard input before the caller's input.
    pub prelude: Bytes,
    /// The nonce of the start program, in shell mode.
    pub nonce: Option<String>,
    /// Whether there is a terminal on the other side.
    pub terminal: Terminal,
    /// As another user.
    pub elevated: Option<Elevated>,
    /// Variables to offer to the server.
    pub env: Vec<(String, String)>,
    /// The caller's input.
    pub input: Input,
}

impl Plan {
    /// No loader of ours stands between the program and the command.
    pub(super) fn is_direct(&self) -> bool {
        self.elevated.as_ref().is_some_and(|elevated| elevated.direct)
    }
}

/// A terminal on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// None.
    No,
    /// The caller asked for one.
    Asked,
    /// Nobody asked for one but the program that gives the rights: as little of one as possible.
    Ours,
}

/// When we stop it ourselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// `--timeout`, from the request on.
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
