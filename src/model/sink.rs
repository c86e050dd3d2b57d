//! Where the command's output goes while it runs. `report` decides what that is; `operation` only feeds it.

use std::future::Future;
use std::io;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::outcome::Warning;

/// One of the two output streams of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// `SSH_MSG_CHANNEL_DATA` (RFC 4254 section 5.2).
    Stdout,
    /// `SSH_MSG_CHANNEL_EXTENDED_DATA` with type 1.
    Stderr,
}

/// Takes the output. A failed write ends the run: [`io::ErrorKind::BrokenPipe`] is our reader's going away, anything else our
/// own disk.
pub trait Sink: Send {
    /// Takes bytes of one stream, in order. May wait: that is the back-pressure. Dropping the future loses nothing that was
    /// taken before.
    fn write(&mut self, stream: Stream, data: Bytes) -> impl Future<Output = io::Result<()>> + Send;

    /// A connection is about to be tried for the `number`-th time (from 1).
    fn attempt(&mut self, number: u32);

    /// Output was passed on that cannot be taken back: a further attempt would give it twice.
    fn is_spent(&self) -> bool {
        false
    }

    /// How far a copy has come: the entry, what was copied so far in all, and what there is in all as far as that is known.
    fn progress(&mut self, _path: &[u8], _bytes: u64, _total_bytes: Option<u64>) {}

    /// Something worth saying, at the moment it was found.
    fn warning(&mut self, warning: &Warning);
}
