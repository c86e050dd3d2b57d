//! One `scp -t` or `scp -f` on the host, spoken with: everything that arrives is taken at once, whatever we are waiting for.

use bytes::{Buf as _, Bytes, BytesMut};

use super::wire::{self, LINE_MAX};
use crate::connection::channel::{ChannelEvent, ChannelReader, ChannelWriter};
use crate::errors::{Fault, clean};
use crate::model::outcome::Phase;
use crate::model::sink::Stream;
use crate::operation::transfer::{Broken, Line};

/// How much is kept of what was not asked for.
const UNASKED_MAX: usize = 1 << 20;
/// How much is kept of standard error.
const SAID_MAX: usize = 2048;
/// The text of OpenSSH's `internal-sftp` for a command that it does not run.
const SFTP_ONLY: &[u8] = b"This service allows sftp connections only.";

/// The channel.
pub struct Talk {
    reader: ChannelReader,
    writer: ChannelWriter,
    inbox: BytesMut,
    said: Vec<u8>,
    status: Option<u32>,
    /// How it ended.
    end: Option<End>,
    /// A byte of the protocol has come.
    begun: bool,
}

#[derive(Clone, Debug)]
enum End {
    Refused,
    Closed,
    Lost(String),
}

/// The fault of a server that broke the protocol.
pub fn violation(problem: impl Into<String>) -> Fault {
    Fault::ServerViolation { problem: problem.into(), phase: Phase::Transfer }
}

impl Talk {
    /// Runs this command.
    pub async fn begin(line: Line<'_>, command: &[u8]) -> Result<Self, Fault> {
        let (reader, writer) = line.session.open_channel(line.patience, line.address).await?;
        // A session that is gone shows itself to the reader.
        let _ = writer.exec(command).await;
        let (inbox, said) = (BytesMut::new(), Vec::new());
        Ok(Self { reader, writer, inbox, said, status: None, end: None, begun: false })
    }

    /// Sends, and takes what arrives meanwhile.
    pub async fn send(&mut self, data: impl Into<Bytes>) -> Result<(), Fault> {
        let sent = {
            let Self { reader, writer, inbox, said, status, end, .. } = self;
            let mut sending = std::pin::pin!(writer.send(data.into()));
            loop {
                if end.is_some() || inbox.len() > UNASKED_MAX {
                    // What was said before the end may say why.
                    break end.is_some() && !inbox.is_empty();
                }
                tokio::select! {
                    biased;
                    event = reader.next() => take(event, inbox, said, status, end),
                    sent = &mut sending => match sent {
                        Ok(()) => break true,
                        // Whoever reads knows why.
                        Err(_) => take(reader.next().await, inbox, said, status, end),
                    },
                }
            }
        };
        match sent {
            true => Ok(()),
            false if self.end.is_some() => Err(self.ended()),
            false => Err(violation("the host's scp says more than it was asked for")),
        }
    }

    /// A reply: nothing, or what is wrong.
    pub async fn reply(&mut self) -> Result<Result<(), wire::Line>, Fault> {
        match self.byte().await? {
            0 => Ok(Ok(())),
            kind @ (1 | 2) => {
                let mut line = vec![kind];
                line.extend(self.rest_of_line().await?);
                wire::parse(&line).map(Err).map_err(|broken| violation(broken.0))
            }
            _ => Err(self.strange()),
        }
    }

    /// The next line, without its end; none where the host has no more.
    pub async fn line(&mut self) -> Result<Option<wire::Line>, Fault> {
        while self.inbox.is_empty() {
            if self.end.is_some() {
                return if matches!(self.end, Some(End::Closed)) { Ok(None) } else { Err(self.ended()) };
            }
            self.hear().await;
        }
        if !matches!(self.inbox.first(), Some(1 | 2 | b'C' | b'D' | b'E' | b'T')) {
            return Err(self.strange());
        }
        let line = self.rest_of_line().await?;
        match wire::parse(&line) {
            Ok(line) => {
                self.begun = true;
                Ok(Some(line))
            }
            Err(_) if !self.begun => Err(self.not_begun_with(&line)),
            Err(broken) => Err(violation(broken.0)),
        }
    }

    /// Up to so many of the bytes that come next, at least one.
    pub async fn some(&mut self, most: u64) -> Result<Bytes, Fault> {
        self.need().await?;
        let count = usize::try_from(most).unwrap_or(usize::MAX).min(self.inbox.len());
        Ok(self.inbox.split_to(count).freeze())
    }

    /// Ends our side, and waits for the end of theirs.
    pub async fn finish(&mut self) -> Result<(), Fault> {
        let _ = self.writer.eof().await;
        while self.end.is_none() {
            self.inbox.clear();
            self.hear().await;
        }
        match &self.end {
            Some(End::Closed) => Ok(()),
            _ => Err(self.ended()),
        }
    }

    /// A byte of the protocol has come: from here on it is spoken.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Why the protocol is not to be had: nothing of it has come.
    pub fn not_begun(&self) -> Broken {
        self.not_begun_because(&self.inbox)
    }

    fn not_begun_because(&self, instead: &[u8]) -> Broken {
        let said = [instead, &self.said[..]].concat();
        if said.windows(SFTP_ONLY.len()).any(|window| window == SFTP_ONLY) {
            return Broken::NoProtocol(Fault::SftpOnly);
        }
        match &self.end {
            Some(End::Lost(_)) => Broken::Fault(self.ended()),
            Some(End::Refused) => Broken::NoProtocol(Fault::ExecRefused),
            _ if self.status == Some(127) || said.is_empty() => Broken::NoProtocol(Fault::NoTransferProtocol),
            _ => {
                let said = clean(String::from_utf8_lossy(&said[..said.len().min(300)]).trim());
                Broken::NoProtocol(violation(format!("where the host's scp should begin, it says: {said}")))
            }
        }
    }

    fn not_begun_with(&self, line: &[u8]) -> Fault {
        match self.not_begun_because(line) {
            Broken::Fault(fault) | Broken::NoProtocol(fault) => fault,
        }
    }

    async fn byte(&mut self) -> Result<u8, Fault> {
        self.need().await?;
        let byte = self.inbox.get_u8();
        self.begun |= byte <= 2;
        Ok(byte)
    }

    async fn rest_of_line(&mut self) -> Result<Vec<u8>, Fault> {
        let mut looked_at = 0;
        loop {
            if let Some(found) = self.inbox[looked_at..].iter().position(|b| *b == b'\n') {
                let line = self.inbox.split_to(looked_at + found);
                self.inbox.advance(1);
                return Ok(line.to_vec());
            }
            looked_at = self.inbox.len();
            if looked_at > LINE_MAX {
                return Err(violation("the host's scp sends a line without an end"));
            }
            if self.end.is_some() {
                return Err(self.ended());
            }
            self.hear().await;
        }
    }

    async fn need(&mut self) -> Result<(), Fault> {
        while self.inbox.is_empty() {
            if self.end.is_some() {
                return Err(self.ended());
            }
            self.hear().await;
        }
        Ok(())
    }

    async fn hear(&mut self) {
        let event = self.reader.next().await;
        take(event, &mut self.inbox, &mut self.said, &mut self.status, &mut self.end);
    }

    /// It ended where more was due.
    fn ended(&self) -> Fault {
        if !self.begun
            && let Broken::NoProtocol(fault) = self.not_begun_because(&[])
        {
            return fault;
        }
        let said = clean(String::from_utf8_lossy(&self.said).trim());
        let beside = if said.is_empty() { String::new() } else { format!(": {said}") };
        let problem = match &self.end {
            Some(End::Lost(problem)) => problem.clone(),
            _ => format!("the host's scp ended{beside}"),
        };
        Fault::ConnectionLost { phase: Phase::Transfer, problem }
    }

    fn strange(&self) -> Fault {
        if self.begun {
            violation("the host's scp says what is none of its protocol")
        } else {
            self.not_begun_with(&self.inbox)
        }
    }
}

fn take(
    event: ChannelEvent,
    inbox: &mut BytesMut,
    said: &mut Vec<u8>,
    status: &mut Option<u32>,
    end: &mut Option<End>,
) {
    match event {
        ChannelEvent::Data(Stream::Stdout, data) => inbox.extend_from_slice(&data),
        ChannelEvent::Data(Stream::Stderr, data) => {
            let room = SAID_MAX.saturating_sub(said.len());
            said.extend_from_slice(&data[..data.len().min(room)]);
        }
        ChannelEvent::ExitStatus(code) => *status = Some(code),
        ChannelEvent::Refused => *end = Some(End::Refused),
        ChannelEvent::Closed => *end = Some(End::Closed),
        ChannelEvent::Lost(problem) => *end = Some(End::Lost(problem)),
        ChannelEvent::Granted | ChannelEvent::ExitSignal(_) | ChannelEvent::Eof => {}
    }
}

/// What an error line of the host's means, where its text is certain.
pub fn fault_of(text: &[u8], path: &str, reading: bool) -> Fault {
    let text = clean(String::from_utf8_lossy(&text[..text.len().min(300)]).trim());
    let path = path.to_owned();
    let says = |what: &str| text.contains(what);
    if says("No space left on device") || says("Disk quota exceeded") {
        Fault::NoSpace { path }
    } else if says("Read-only file system") {
        Fault::ReadOnly { path }
    } else if says("Permission denied") {
        Fault::RemotePermission { path }
    } else if says("No such file or directory") {
        if reading {
            Fault::SourceNotFound { path, problem: "there is no such file on the host".to_owned() }
        } else {
            Fault::ParentMissing { path }
        }
    } else if says("Is a directory") {
        Fault::IsDirectory { path }
    } else if says("not a regular file") {
        if reading { Fault::SourceIsDirectory { path } } else { Fault::NotRegular { path } }
    } else {
        Fault::TransferRefused { path, problem: text }
    }
}
