//! What was seen of one command. Nothing is concluded here; [`super::verdict`] does that.

use std::io;
use std::time::Duration;

use crate::errors::{Caught, Limit};
use crate::operation::elevate::Dialogue;

/// Why we stopped a command ourselves.
#[derive(Debug)]
pub enum StopCause {
    /// One of our limits ran out.
    Limit(Limit, Duration),
    /// A signal reached us.
    Signal(Caught),
    /// The output could not be passed on.
    Output(io::Error),
    /// The input could not be read.
    Input(io::Error),
}

/// What the program that starts the command in shell mode said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The command is being started now.
    Start,
    /// The directory could not be entered.
    Cwd,
    /// The script did not arrive whole.
    Short,
    /// The script could not be stored.
    Staging,
}

/// How the exchange on the channel ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// It has not.
    #[default]
    Open,
    /// The channel was closed in order.
    Closed,
    /// The connection was lost, for this reason.
    Lost(String),
    /// We let go: something else keeps the streams open.
    LetGo,
    /// We gave up waiting for an end.
    GaveUp,
}

/// The first bytes of a stream, where a server that accepts a command may say that it does not run it.
#[derive(Clone, Debug, Default)]
pub struct Opening(Vec<u8>);

impl Opening {
    const BYTES: usize = 256;

    /// Keeps what there is room for.
    pub fn add(&mut self, data: &[u8]) {
        let room = Self::BYTES - self.0.len();
        self.0.extend_from_slice(&data[..room.min(data.len())]);
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Everything that was seen.
#[derive(Debug, Default)]
pub struct Facts {
    /// Bytes that may hold the request were handed to the kernel.
    pub request_written: bool,
    /// The server granted the request for the command.
    pub granted: bool,
    /// The server refused it.
    pub refused: bool,
    /// The server refused the terminal.
    pub pty_refused: bool,
    /// There was output of the command.
    pub output: bool,
    /// What the start program said, in shell mode.
    pub mark: Option<Mark>,
    /// The exit status, where one arrived.
    pub exit_status: Option<u32>,
    /// The signal, where one arrived.
    pub exit_signal: Option<String>,
    /// The server said that no more output comes.
    pub eof: bool,
    /// How it ended.
    pub ending: Ending,
    /// Why we stopped it, if we did.
    pub stopped: Option<StopCause>,
    /// In shell mode, the beginning of what was said by whatever is not the command.
    pub aside: Opening,
    /// In an elevated run, what became of the program that gives the rights.
    pub dialogue: Option<Dialogue>,
    /// In an elevated run that we stopped: nothing is left of the command's group of processes.
    pub group_gone: bool,
    /// The beginning of standard output.
    pub stdout_opening: Opening,
    /// The beginning of standard error.
    pub stderr_opening: Opening,
}

impl Facts {
    /// The command's end was reported.
    pub fn ended(&self) -> bool {
        self.exit_status.is_some() || self.exit_signal.is_some()
    }

    /// Both streams were read to their end. A close in order says so too (RFC 4254 section 5.3).
    pub fn drained(&self) -> bool {
        self.eof || self.ending == Ending::Closed
    }
}
