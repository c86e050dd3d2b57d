//! A channel on which a program of ours runs with other rights. It says its word as soon as it runs, and what follows on the
//! channel is between it and whoever asked.

use std::cell::Cell;
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::gate::{Cue, Gate};
use super::line::Line;
use super::refusal::{Asked, refusal};
use super::stopper::password_line;
use super::{Dialogue, Elevated};
use crate::connection::Session;
use crate::connection::channel::{ChannelEvent, ChannelReader, ChannelWriter, SessionEnded};
use crate::constants::{ELEVATION_ANSWER_SECS, ELEVATION_LAST_WORDS_SECS, SLOW_LINK_BYTES_PER_SEC, START_ANSWER_SECS};
use crate::errors::{Fault, clean};
use crate::model::outcome::Phase;
use crate::model::sink::Stream;
use crate::operation::exec::marker::{Scanner, Word};
use crate::operation::exec::start::reader as loader;
use crate::operation::exec::waits::silence;

/// How much is kept of what is said beside the word.
const SAID_MAX: usize = 300;

/// Another user's rights, for one attempt.
#[derive(Debug)]
pub struct Rights {
    /// By which program and as whom.
    pub elevated: Elevated,
    /// What bears on a refusal.
    pub asked: Asked,
    /// The option that asked for them, for messages.
    pub option: &'static str,
    /// Random, and never sent.
    seed: String,
    channels: Cell<u32>,
}

impl Rights {
    /// `seed`: random, for this attempt.
    pub fn new(elevated: Elevated, asked: Asked, option: &'static str, seed: String) -> Self {
        Self { elevated, asked, option, seed, channels: Cell::new(0) }
    }

    /// What marks the words of one more channel: 32 hex digits, of which those of other channels tell nothing.
    pub fn nonce(&self) -> String {
        self.channels.set(self.channels.get() + 1);
        let hash = Sha256::digest(format!("{} {}", self.seed, self.channels.get()));
        let half = hash.iter().take(16).fold(0, |number: u128, byte| number << 8 | u128::from(*byte));
        format!("{half:032x}")
    }
}

/// A program that runs with other rights, and has said its word.
pub struct Entered<W> {
    /// What it says.
    pub reader: ChannelReader,
    /// What it is told.
    pub writer: ChannelWriter,
    /// The word.
    pub word: W,
    /// What came behind the word with it.
    pub rest: Bytes,
}

/// Runs a program, which ends with `#NONCE`, on a new channel. The error says why it does not run; then it certainly does not.
pub async fn enter<W: Copy>(
    session: &Session,
    channel: (ChannelReader, ChannelWriter),
    rights: &Rights,
    (nonce, program): (&str, Vec<u8>),
    words: &'static [Word<W>],
) -> Result<Entered<W>, Fault> {
    let line = Line { elevated: &rights.elevated, nonce, login: false };
    let request = line
        .run(&loader(&program, nonce))
        .map_err(|_| Fault::Usage { message: "a NUL byte cannot be part of a name".to_owned() })?;
    let (reader, writer) = channel;
    let gate = Gate::new(&rights.elevated, nonce);
    let mut entrance = Entrance { writer, gate, scanner: Scanner::of(nonce, words), program, said: Vec::new() };
    match entrance.pass(session, reader, &request).await {
        Ok(Some((reader, word, rest))) => Ok(Entered { reader, writer: entrance.writer, word, rest }),
        Ok(None) => Err(entrance.refused(rights)),
        Err(ended) => Err(match ended {
            Ended::Refused => Fault::ExecRefused,
            Ended::Lost => lost(session.link().end_reason()),
        }),
    }
}

fn lost(problem: String) -> Fault {
    Fault::ConnectionLost { phase: Phase::Elevate, problem }
}

/// Why nothing more is said.
enum Ended {
    Refused,
    Lost,
}

impl From<SessionEnded> for Ended {
    fn from(_: SessionEnded) -> Self {
        Self::Lost
    }
}

struct Entrance<W: 'static> {
    writer: ChannelWriter,
    gate: Gate,
    scanner: Scanner<W>,
    program: Vec<u8>,
    said: Vec<u8>,
}

impl<W: Copy> Entrance<W> {
    /// Until the word, or until it is certain that none comes.
    async fn pass(
        &mut self,
        session: &Session,
        mut reader: ChannelReader,
        request: &[u8],
    ) -> Result<Option<(ChannelReader, W, Bytes)>, Ended> {
        self.writer.exec(request).await?;
        let mut patience = Duration::from_secs(START_ANSWER_SECS);
        let mut hung_up = false;
        loop {
            let event = tokio::select! {
                biased;
                event = reader.next() => Some(event),
                () = silence(session, patience) => None,
            };
            match event {
                None if hung_up || self.gate.is_open() || !self.gate.has_begun() => return Ok(None),
                None => hung_up = true,
                Some(ChannelEvent::Data(stream, data)) => {
                    let had_begun = self.gate.has_begun();
                    let was_open = self.gate.is_open();
                    let (rest, hangs_up) = self.past_gate(stream, data).await?;
                    hung_up |= hangs_up;
                    if self.gate.is_open() && !was_open {
                        let length = self.program.len() as u64 / SLOW_LINK_BYTES_PER_SEC;
                        patience = Duration::from_secs(START_ANSWER_SECS + length);
                    } else if self.gate.has_begun() && !was_open && (!had_begun || !hung_up) {
                        patience = Duration::from_secs(ELEVATION_ANSWER_SECS);
                    }
                    if let Some((word, rest)) = self.listen(stream, rest) {
                        return Ok(Some((reader, word, rest)));
                    }
                    if !hangs_up {
                        continue;
                    }
                }
                Some(ChannelEvent::Closed) => return Ok(None),
                Some(ChannelEvent::Lost(_)) => return Err(Ended::Lost),
                Some(ChannelEvent::Refused) => return Err(Ended::Refused),
                Some(_) => continue,
            }
            // It gets no more answers, and may still say something.
            self.writer.eof().await?;
            patience = Duration::from_secs(ELEVATION_LAST_WORDS_SECS);
        }
    }

    /// What is left for the program, and whether nobody will be satisfied.
    async fn past_gate(&mut self, stream: Stream, data: Bytes) -> Result<(Bytes, bool), Ended> {
        if self.gate.is_open() {
            return Ok((data, false));
        }
        let seen = self.gate.see(stream, data);
        for (_, noise) in seen.noise {
            self.keep(&noise);
        }
        let mut hangs_up = false;
        for cue in seen.cues {
            match cue {
                Cue::Answer(password) => self.writer.send(password_line(&password)).await?,
                Cue::HangUp => hangs_up = true,
                Cue::Open => self.writer.send(Bytes::copy_from_slice(&self.program)).await?,
            }
        }
        Ok((seen.rest, hangs_up))
    }

    fn listen(&mut self, stream: Stream, data: Bytes) -> Option<(W, Bytes)> {
        if stream == Stream::Stderr {
            self.keep(&data);
            return None;
        }
        let (before, after) = self.scanner.pass(data);
        self.keep(&before);
        self.scanner.take().map(|word| (word, after))
    }

    fn keep(&mut self, noise: &[u8]) {
        let room = SAID_MAX.saturating_sub(self.said.len());
        self.said.extend_from_slice(&noise[..noise.len().min(room)]);
    }

    fn refused(self, rights: &Rights) -> Fault {
        let dialogue: Dialogue = self.gate.end();
        let refused = if dialogue.open { None } else { refusal(&dialogue, &rights.asked) };
        refused.unwrap_or_else(|| Fault::NoPosixShell {
            options: rights.option.to_owned(),
            said: clean(String::from_utf8_lossy(&self.said).trim()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::request::Method;

    #[test]
    fn every_channel_has_a_nonce_of_its_own() {
        let elevated = Elevated {
            method: Method::Sudo,
            user: "root".into(),
            password: None,
            direct: false,
            stop_nonce: String::new(),
        };
        let asked = Asked { method: Method::Sudo, user: "root".into(), login: "u".into(), given: false, direct: false };
        let rights = Rights::new(elevated, asked, "--sudo", "seed".into());
        let (one, other) = (rights.nonce(), rights.nonce());
        assert!(one != other && one.len() == 32 && one.bytes().all(|b| b.is_ascii_hexdigit()));
    }
}
