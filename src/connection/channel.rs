//! A session channel (RFC 4254 section 6) as a stream of events in our own words.
//!
//! Reading and writing are separate halves: whoever reads must never stop, since one undrained channel stops the whole
//! connection, its own window adjustments included.

use std::sync::Arc;

use bytes::Bytes;
use russh::client::Msg;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Pty, Sig};

use super::link::Link;
use crate::model::sink::Stream;

/// What arrives on a channel.
#[derive(Debug)]
pub enum ChannelEvent {
    /// Output of the command.
    Data(Stream, Bytes),
    /// The server granted a request; replies come in the order of the requests.
    Granted,
    /// The server refused a request.
    Refused,
    /// The command's exit status (RFC 4254 section 6.10).
    ExitStatus(u32),
    /// The signal that ended it, without `SIG`.
    ExitSignal(String),
    /// No more output.
    Eof,
    /// The channel was closed in order.
    Closed,
    /// The connection is gone, for this reason.
    Lost(String),
}

/// The signals that stop a command, from mild to final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// Interrupt.
    Int,
    /// Terminate.
    Term,
    /// Kill.
    Kill,
}

impl StopSignal {
    /// Its name, without `SIG`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "INT",
            Self::Term => "TERM",
            Self::Kill => "KILL",
        }
    }
}

/// The reading half.
pub struct ChannelReader {
    half: ChannelReadHalf,
    link: Arc<Link>,
    closed: bool,
}

/// The writing half.
pub struct ChannelWriter {
    half: ChannelWriteHalf<Msg>,
}

/// The session has ended: nothing more can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionEnded;

impl From<russh::Error> for SessionEnded {
    fn from(_: russh::Error) -> Self {
        // The reason stands in the link; a send can only fail because nobody takes it.
        Self
    }
}

/// How a terminal on the other side begins (RFC 4254 section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtyModes {
    /// As the system there sets it.
    Default,
    /// Nothing is interpreted or echoed, so that bytes pass unchanged to there.
    Transparent,
    /// The same, and they come back unchanged too.
    Raw,
}

pub(super) fn split(channel: russh::Channel<Msg>, link: Arc<Link>) -> (ChannelReader, ChannelWriter) {
    let (reader, writer) = channel.split();
    (ChannelReader { half: reader, link, closed: false }, ChannelWriter { half: writer })
}

impl ChannelReader {
    /// The next event. After [`ChannelEvent::Closed`] or [`ChannelEvent::Lost`] it is that again. Cancelling loses nothing.
    pub async fn next(&mut self) -> ChannelEvent {
        loop {
            if self.closed {
                return ChannelEvent::Closed;
            }
            let Some(message) = self.half.wait().await else {
                return ChannelEvent::Lost(self.link.end_reason());
            };
            match message {
                ChannelMsg::Data { data } => return ChannelEvent::Data(Stream::Stdout, data),
                ChannelMsg::ExtendedData { data, ext: 1 } => return ChannelEvent::Data(Stream::Stderr, data),
                ChannelMsg::Success => return ChannelEvent::Granted,
                ChannelMsg::Failure => return ChannelEvent::Refused,
                ChannelMsg::ExitStatus { exit_status } => return ChannelEvent::ExitStatus(exit_status),
                ChannelMsg::ExitSignal { signal_name, .. } => {
                    return ChannelEvent::ExitSignal(signal_name_of(&signal_name));
                }
                ChannelMsg::Eof => return ChannelEvent::Eof,
                ChannelMsg::Close => {
                    self.closed = true;
                    return ChannelEvent::Closed;
                }
                // Window adjustments are the writer's, other extended data types and requests have no meaning here.
                _ => {}
            }
        }
    }
}

impl ChannelWriter {
    /// Asks for a terminal. The reply comes among the events, before that of a later request.
    pub async fn request_pty(&self, modes: PtyModes) -> Result<(), SessionEnded> {
        let raw = [(Pty::ECHO, 0), (Pty::ICANON, 0), (Pty::ISIG, 0), (Pty::ICRNL, 0), (Pty::IXON, 0), (Pty::OPOST, 0)];
        let modes: &[(Pty, u32)] = match modes {
            PtyModes::Default => &[],
            PtyModes::Transparent => &raw[..raw.len() - 1],
            PtyModes::Raw => &raw,
        };
        Ok(self.half.request_pty(true, "xterm", 80, 24, 0, 0, modes).await?)
    }

    /// Offers an environment variable (RFC 4254 section 6.4); the server takes what its `AcceptEnv` names, and says nothing.
    pub async fn set_env(&self, name: &str, value: &str) -> Result<(), SessionEnded> {
        Ok(self.half.set_env(false, name, value).await?)
    }

    /// Asks for the command (RFC 4254 section 6.5). Only queues it: the reply comes among the events, and what is sent next may
    /// follow at once.
    pub async fn exec(&self, command: &[u8]) -> Result<(), SessionEnded> {
        Ok(self.half.exec(true, command).await?)
    }

    /// Asks for a subsystem, such as `sftp` (RFC 4254 section 6.5). Only queues it, as [`ChannelWriter::exec`] does.
    pub async fn subsystem(&self, name: &str) -> Result<(), SessionEnded> {
        Ok(self.half.request_subsystem(true, name).await?)
    }

    /// Sends input, as the window allows.
    pub async fn send(&self, data: Bytes) -> Result<(), SessionEnded> {
        Ok(self.half.data_bytes(data).await?)
    }

    /// Ends the input.
    pub async fn eof(&self) -> Result<(), SessionEnded> {
        Ok(self.half.eof().await?)
    }

    /// Asks the server to signal the command (RFC 4254 section 6.9). There is no reply.
    pub async fn signal(&self, signal: StopSignal) -> Result<(), SessionEnded> {
        let signal = match signal {
            StopSignal::Int => Sig::INT,
            StopSignal::Term => Sig::TERM,
            StopSignal::Kill => Sig::KILL,
        };
        Ok(self.half.signal(signal).await?)
    }

    /// Closes the channel.
    pub async fn close(&self) -> Result<(), SessionEnded> {
        Ok(self.half.close().await?)
    }
}

fn signal_name_of(signal: &Sig) -> String {
    let name = match signal {
        Sig::Custom(name) => name.as_str(),
        Sig::ABRT => "ABRT",
        Sig::ALRM => "ALRM",
        Sig::FPE => "FPE",
        Sig::HUP => "HUP",
        Sig::ILL => "ILL",
        Sig::INT => "INT",
        Sig::KILL => "KILL",
        Sig::PIPE => "PIPE",
        Sig::QUIT => "QUIT",
        Sig::SEGV => "SEGV",
        Sig::TERM => "TERM",
        Sig::USR1 => "USR1",
    };
    // A server may send anything here; a name is letters, digits and the suffix of a private one.
    name.chars().filter(|c| c.is_ascii_alphanumeric() || "@.-+".contains(*c)).take(64).collect()
}
