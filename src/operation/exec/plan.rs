//! What one run is given: the request with its input.

use bytes::Bytes;

use super::input::Input;
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
