//! A command on the host, as bytes in order. Whatever waits on the way there, what comes from there is taken: an undrained channel
//! would stop the whole connection.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::Duration;

use bytes::{Buf as _, Bytes};

use super::super::Line;
use crate::connection::Patience;
use crate::connection::channel::{ChannelEvent, ChannelReader, ChannelWriter};
use crate::errors::Fault;
use crate::model::outcome::Phase;
use crate::model::sink::Stream;

/// How much may come while it is not its turn: replies and errors, never a flood.
const AHEAD: usize = 256 * 1024;

/// How much is kept of its standard error.
const STDERR: usize = 4096;

/// How long noise is listened to, to say what it is.
const NOISE: Duration = Duration::from_millis(500);

/// Why nothing more comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The connection is gone.
    Lost(String),
    /// The command ended, or was refused.
    Over,
    /// It says more than anybody asked for.
    TooMuch,
}

/// A running command.
pub struct Wire {
    reader: ChannelReader,
    writer: ChannelWriter,
    got: Got,
}

/// What came.
#[derive(Debug, Default)]
struct Got {
    stdout: VecDeque<Bytes>,
    held: usize,
    stderr: Vec<u8>,
    refused: bool,
    status: Option<u32>,
}

impl Got {
    fn note(&mut self, event: ChannelEvent) -> Result<(), Ended> {
        match event {
            ChannelEvent::Data(Stream::Stdout, data) => {
                self.held += data.len();
                if !data.is_empty() {
                    self.stdout.push_back(data);
                }
            }
            ChannelEvent::Data(Stream::Stderr, data) => {
                let room = STDERR - self.stderr.len();
                self.stderr.extend_from_slice(&data[..data.len().min(room)]);
            }
            ChannelEvent::ExitStatus(status) => self.status = Some(status),
            ChannelEvent::Refused => {
                self.refused = true;
                return Err(Ended::Over);
            }
            ChannelEvent::Closed => return Err(Ended::Over),
            ChannelEvent::Lost(reason) => return Err(Ended::Lost(reason)),
            ChannelEvent::Granted | ChannelEvent::ExitSignal(_) | ChannelEvent::Eof => {}
        }
        Ok(())
    }
}

impl Wire {
    /// Asks for a command.
    pub async fn start(line: Line<'_>, patience: &Patience, command: &[u8]) -> Result<Self, Fault> {
        let (reader, writer) = line.session.open_channel(patience, line.address).await?;
        let mut wire = Self { reader, writer, got: Got::default() };
        if wire.writer.exec(command).await.is_err() {
            return Err(lost(&wire.reason().await));
        }
        Ok(wire)
    }

    /// Waits for something to be there.
    async fn fill(&mut self) -> Result<(), Ended> {
        while self.got.stdout.is_empty() {
            self.got.note(self.reader.next().await)?;
        }
        Ok(())
    }

    /// The next byte.
    pub async fn byte(&mut self) -> Result<u8, Ended> {
        let piece = self.piece(1).await?;
        // A piece is never empty.
        Ok(piece.first().copied().unwrap_or_default())
    }

    /// The next byte, which stays.
    pub async fn peek(&mut self) -> Result<u8, Ended> {
        self.fill().await?;
        Ok(self.got.stdout.front().and_then(|piece| piece.first().copied()).unwrap_or_default())
    }

    /// What is there next, no more than `most` bytes and not empty.
    pub async fn piece(&mut self, most: usize) -> Result<Bytes, Ended> {
        loop {
            self.fill().await?;
            let Some(first) = self.got.stdout.front_mut() else { continue };
            let piece = first.split_to(most.min(first.len()));
            if !first.has_remaining() {
                self.got.stdout.pop_front();
            }
            self.got.held -= piece.len();
            return Ok(piece);
        }
    }

    /// The rest of a line, without its end. One without an end is too much.
    pub async fn line(&mut self, most: usize) -> Result<Vec<u8>, Ended> {
        let mut line = Vec::new();
        loop {
            self.fill().await?;
            let Some(first) = self.got.stdout.front() else { continue };
            let end = first.iter().position(|b| *b == b'\n');
            let piece = self.piece(end.map_or(first.len(), |end| end + 1)).await?;
            line.extend_from_slice(&piece);
            if end.is_some() {
                line.pop();
                return Ok(line);
            }
            if line.len() > most {
                return Err(Ended::TooMuch);
            }
        }
    }

    /// Sends, as the window allows, and takes what comes meanwhile.
    pub async fn send(&mut self, data: Bytes) -> Result<(), Ended> {
        let Self { reader, writer, got } = self;
        let sent = {
            let mut sending = pin!(writer.send(data));
            loop {
                tokio::select! {
                    biased;
                    sent = &mut sending => break sent,
                    event = reader.next() => {
                        got.note(event)?;
                        if got.held > AHEAD {
                            return Err(Ended::TooMuch);
                        }
                    }
                }
            }
        };
        match sent {
            Ok(()) => Ok(()),
            Err(_) => Err(Ended::Lost(self.reason().await)),
        }
    }

    /// No more is sent.
    pub async fn eof(&mut self) {
        // It may have ended already.
        let _ = self.writer.eof().await;
    }

    /// Waits for its end. None: it gave no status, or the connection is gone.
    pub async fn status(&mut self) -> Option<u32> {
        self.eof().await;
        while self.got.note(self.reader.next().await).is_ok() {
            self.got.stdout.clear();
            self.got.held = 0;
        }
        self.got.status
    }

    /// Waits for its end, and until the server counts its session no more.
    pub async fn release(&mut self, line: Line<'_>) {
        self.status().await;
        // What is asked for next is then another turn of the server's; whether there is a connection shows itself there.
        let _ = line.session.ping().await;
    }

    /// Nothing more is wanted of it.
    pub async fn close(self) {
        // It may have ended already.
        let _ = self.writer.close().await;
    }

    /// The noise that came instead of what was expected, as far as it is told soon.
    pub async fn noise(&mut self, first: Vec<u8>) -> Vec<u8> {
        let mut noise = first;
        let listen = async {
            while noise.len() < STDERR {
                match self.piece(STDERR - noise.len()).await {
                    Ok(piece) => noise.extend_from_slice(&piece),
                    Err(_) => break,
                }
            }
        };
        // What was said until then is enough.
        let _ = tokio::time::timeout(NOISE, listen).await;
        noise
    }

    /// The server does not run commands.
    pub fn is_refused(&self) -> bool {
        self.got.refused
    }

    /// The exit status, once it came.
    pub fn exit_status(&self) -> Option<u32> {
        self.got.status
    }

    /// The beginning of its standard error.
    pub fn stderr(&self) -> &[u8] {
        &self.got.stderr
    }

    async fn reason(&mut self) -> String {
        loop {
            match self.got.note(self.reader.next().await) {
                Ok(()) => self.got.stdout.clear(),
                Err(Ended::Lost(reason)) => return reason,
                Err(_) => return "the channel was closed".to_owned(),
            }
        }
    }
}

/// The fault of a lost connection.
pub fn lost(problem: &str) -> Fault {
    Fault::ConnectionLost { phase: Phase::Transfer, problem: problem.to_owned() }
}
