//! `scp -t`: takes files into one directory and those below it.

use bytes::Bytes;

use super::super::{Broken, Line};
use super::record::LINE_MAX;
use super::said::{self, Act, Said, quoted};
use super::wire::{Ended, Wire, lost};
use super::words;
use crate::connection::Patience;
use crate::errors::Fault;
use crate::model::outcome::Phase;
use crate::operation::transfer::local::Meta;

/// What an account that is for SFTP only says where a command should run.
const SFTP_ONLY: &[u8] = b"This service allows sftp connections only.";

/// A command that takes files.
pub struct Taker {
    wire: Wire,
    /// The directory that it began in, for messages.
    base: String,
    /// The directories that were entered.
    inside: Vec<Vec<u8>>,
}

/// Why a file was not taken.
#[derive(Debug)]
pub enum Refused {
    /// By this one only; the next may be sent.
    Said(Said),
    /// Nothing more can be sent here.
    Broke(Fault),
}

impl Taker {
    /// Begins in a directory that is there.
    pub async fn begin(line: Line<'_>, patience: &Patience, base: &[u8], shown: String) -> Result<Self, Broken> {
        let command = [b"scp -r -d -t ", &words::literal(base)[..]].concat();
        let started = async {
            let mut wire = Wire::start(line, patience, &command).await?;
            greeted(&mut wire).await.map(|said| (wire, said))
        };
        let (wire, said) = patience.within(line.address, Phase::Channel, started).await??;
        match said {
            None => Ok(Self { wire, base: shown, inside: Vec::new() }),
            Some(said) => Err(said::fault(&said.text, &shown, Act::Write).into()),
        }
    }

    /// Goes to a directory below, which is there.
    pub async fn enter(&mut self, directory: &[&[u8]]) -> Result<(), Refused> {
        let shared = self.inside.iter().zip(directory).take_while(|(one, other)| one == *other).count();
        while self.inside.len() > shared {
            self.say(b"E\n".to_vec()).await?;
            self.inside.pop();
        }
        for name in &directory[shared..] {
            self.say([b"D0700 0 ", *name, b"\n"].concat()).await?;
            self.inside.push(name.to_vec());
        }
        Ok(())
    }

    /// Announces a file. What was announced has to follow.
    pub async fn file(&mut self, name: &[u8], mode: u32, size: u64, times: Option<Meta>) -> Result<(), Refused> {
        if let Some(times) = times {
            self.say(format!("T{} 0 {} 0\n", times.mtime.max(0), times.atime.max(0)).into_bytes()).await?;
        }
        let line = [format!("C{mode:04o} {size} ").as_bytes(), name, b"\n"].concat();
        self.say(line).await
    }

    /// A piece of it.
    pub async fn piece(&mut self, piece: Bytes) -> Result<(), Refused> {
        let sent = self.wire.send(piece).await;
        sent.map_err(|ended| self.broke(&ended))
    }

    /// All of it was sent; whether it is what it should be is said there, too.
    pub async fn end(&mut self, is_whole: bool) -> Result<(), Refused> {
        self.say(if is_whole { vec![0] } else { b"\x01ssh-cli: the source could not be read\n".to_vec() }).await
    }

    /// No more files; waits until its session is free again.
    pub async fn release(mut self, line: Line<'_>) {
        // Every file was answered for.
        self.wire.release(line).await;
    }

    /// No more files.
    pub async fn close(self) {
        // Every file was answered for.
        self.wire.close().await;
    }

    async fn say(&mut self, line: Vec<u8>) -> Result<(), Refused> {
        let replied = async {
            self.wire.send(line.into()).await?;
            reply(&mut self.wire).await
        };
        match replied.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(said)) => Err(Refused::Said(said)),
            Err(ended) => Err(self.broke(&ended)),
        }
    }

    fn broke(&self, ended: &Ended) -> Refused {
        Refused::Broke(match ended {
            Ended::Lost(problem) => lost(problem),
            Ended::Over if !self.wire.stderr().is_empty() => said::fault(self.wire.stderr(), &self.base, Act::Write),
            Ended::Over => Fault::TransferRefused {
                path: self.base.clone(),
                problem: "scp on the host ended before all was copied".to_owned(),
            },
            Ended::TooMuch => {
                let problem = "its answer is none of the copy protocol".to_owned();
                Fault::ServerViolation { problem, phase: Phase::Transfer }
            }
        })
    }
}

/// An answer: done, or why not.
pub async fn reply(wire: &mut Wire) -> Result<Result<(), Said>, Ended> {
    match wire.byte().await? {
        0 => Ok(Ok(())),
        kind @ (1 | 2) => {
            let text = wire.line(LINE_MAX).await?;
            Ok(Err(Said { is_last: kind == 2, text }))
        }
        _ => Err(Ended::TooMuch),
    }
}

/// Whether it is ready, as it says before anything else.
async fn greeted(wire: &mut Wire) -> Result<Option<Said>, Broken> {
    let first = match wire.byte().await {
        Ok(0) => return Ok(None),
        Ok(first) => first,
        Err(ended) => return Err(no_protocol(wire, &ended, b"")),
    };
    if let 1 | 2 = first
        && let Ok(text) = wire.line(LINE_MAX).await
    {
        return Ok(Some(Said { is_last: first == 2, text }));
    }
    let noise = wire.noise(vec![first]).await;
    Err(no_protocol(wire, &Ended::Over, &noise))
}

/// Why the protocol is not to be had there.
pub fn no_protocol(wire: &Wire, ended: &Ended, noise: &[u8]) -> Broken {
    if let Ended::Lost(problem) = ended {
        return lost(problem).into();
    }
    if noise.starts_with(SFTP_ONLY) {
        return Broken::NoProtocol(Fault::SftpOnly);
    }
    if wire.is_refused() {
        return Broken::NoProtocol(Fault::ExecRefused);
    }
    let said = if noise.is_empty() { wire.stderr() } else { noise };
    if wire.exit_status() == Some(127) || said.trim_ascii().is_empty() {
        return Broken::NoProtocol(Fault::NoTransferProtocol);
    }
    let problem = format!("where the copy protocol should begin, the host says: {}", quoted(said));
    Broken::NoProtocol(Fault::ServerViolation { problem, phase: Phase::Transfer })
}
