//! One file, from there to here.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::ask::same;
use super::download::{Download, broke};
use super::meter::Outcome;
use super::record::Head;
use super::said::{self, Act};
use super::sink::reply;
use super::wire::Wire;
use super::words;
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::command::{self, hex};
use crate::operation::transfer::local::target::{Incoming, Times, Wanted};
use crate::operation::transfer::part;
use crate::operation::transfer::place::{join, name_of};

/// The warning of an empty file that may not be one.
const EMPTY_UNPROVEN: &str = "empty_unproven";

/// Pieces are written together up to so many bytes.
const TOGETHER: usize = 256 * 1024;

/// A place in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Below the root of the tree.
    pub at: Vec<u8>,
    /// The path there, as a word for a shell; none where only the host knows.
    there: Option<Vec<u8>>,
    /// The same for messages, as far as it is known.
    told: Vec<u8>,
}

impl Level {
    /// What a source stands for.
    pub fn top(at: Vec<u8>, source: &[u8], name: &[u8]) -> Self {
        if !words::is_pattern(source) {
            return Self { at, there: Some(words::pattern(source)), told: words::unescaped(source) };
        }
        let directory = source.iter().rposition(|b| *b == b'/').map_or(&b""[..], |end| &source[..=end]);
        let there = if directory.is_empty() {
            Some(words::literal(name))
        } else {
            (!words::is_pattern(directory)).then(|| [words::pattern(directory), words::quoted(name)].concat())
        };
        Self { at, there, told: join(&words::unescaped(directory), name) }
    }

    /// An entry of this directory.
    pub fn child(&self, name: &[u8]) -> Self {
        let there = self.there.as_ref().map(|there| [&there[..], b"/", &words::quoted(name)].concat());
        Self { at: join(&self.at, name), there, told: join(&self.told, name) }
    }

    /// The path in the report.
    pub fn below(&self, skip: usize) -> &[u8] {
        self.at.get(skip..).unwrap_or_default()
    }
}

impl<S: Sink> Download<'_, '_, '_, S> {
    /// Takes a file, or says that it is not wanted: then false.
    pub async fn file(
        &mut self,
        wire: &mut Wire,
        head: &Head,
        level: Level,
        times: Option<Times>,
    ) -> Result<bool, Fault> {
        let below = level.below(self.skip()).to_vec();
        let into = match self.begin(head, &level, times) {
            Ok(Some(into)) => into,
            Ok(None) => return self.refuse(wire).await.map(|()| false),
            Err(fault) => {
                self.refuse(wire).await?;
                return self.meter.settle(&below, Err(fault)).map(|()| false);
            }
        };
        self.meter.touched();
        wire.send(vec![0].into()).await.map_err(|ended| broke(wire, &ended))?;
        let taken = self.bytes(wire, head, into, level, &below).await?;
        self.meter.settle(&below, taken)?;
        Ok(true)
    }

    /// Where its bytes go; none where that was told.
    fn begin(&mut self, head: &Head, level: &Level, times: Option<Times>) -> Result<Option<Into>, Fault> {
        if self.to_stdout {
            if std::mem::replace(&mut self.printed, true) {
                let message = "standard output takes one file, and the source stands for several".to_owned();
                return Err(Fault::Usage { message });
            }
            return Ok(Some(Into::Stdout));
        }
        let below = level.below(self.skip());
        if name_of(&level.at).is_some_and(part::is_part) {
            self.meter.job.ledger.borrow_mut().skipped(below, "partial_file");
            return Ok(None);
        }
        let wanted = Wanted { mode: head.mode, times, tag: &self.meter.job.plan.tag, resume: false };
        if let Some(incoming) = self.tree.file(&level.at, &wanted)? {
            return Ok(Some(Into::File(Box::new(incoming))));
        }
        self.meter.settle(below, Ok(Outcome::Kept))?;
        Ok(None)
    }

    /// Takes exactly as many bytes as were announced. The outer error ends the whole copy.
    async fn bytes(
        &mut self,
        wire: &mut Wire,
        head: &Head,
        into: Into,
        level: Level,
        below: &[u8],
    ) -> Result<Result<Outcome, Fault>, Fault> {
        let mut hash = self.meter.options().verify.then(Sha256::new);
        let mut writer = Writer { into: Ok(into), at: 0, held: Vec::new(), bytes: 0 };
        let mut left = head.size;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX);
            let piece = wire.piece(most).await.map_err(|ended| broke(wire, &ended))?;
            left -= piece.len() as u64;
            self.meter.moved(below, piece.len());
            if let Some(hash) = &mut hash {
                hash.update(&piece);
            }
            self.take(&mut writer, piece, left == 0).await?;
        }
        let path = self.meter.shown(&level.told);
        // What the host found wrong while it read: then the bytes are not the file's.
        let told = reply(wire).await.map_err(|ended| broke(wire, &ended))?;
        let into = match (writer.into, told) {
            (Err(fault), _) => return Ok(Err(fault)),
            (Ok(Into::Stdout), Err(said)) => return Err(said::fault(&said.text, &path, Act::Read)),
            (Ok(_), Err(said)) => return Ok(Err(said::fault(&said.text, &path, Act::Read))),
            (Ok(into), Ok(())) => into,
        };
        let mut entry = Entry::new(below, EntryAction::Copied, head.size);
        if head.size == 0 {
            match self.is_empty(level.there.as_deref()).await? {
                Some(true) => {}
                Some(false) => return Ok(Err(says_nothing(path))),
                None => entry = entry.because(self.not_looked_at(&path)),
            }
        }
        if let Some(hash) = hash {
            let hash = hex(&hash.finalize().into());
            if let Err(fault) = self.verify(&level, head.size, &hash, path).await? {
                return Ok(Err(fault));
            }
            entry.sha256 = Some(hash);
        }
        if let Into::File(incoming) = into
            && let Err(fault) = incoming.commit(head.size).await
        {
            return Ok(Err(fault));
        }
        Ok(Ok(Outcome::Done(entry)))
    }

    /// Nobody can tell whether it is empty; the reason in its entry.
    fn not_looked_at(&self, path: &str) -> &'static str {
        let warnings = &mut self.meter.job.landing.borrow_mut().warnings;
        if !warnings.iter().any(|warning| warning.code == EMPTY_UNPROVEN) {
            let message = format!("{path} came as an empty file, and nobody on the host could say whether it is one");
            warnings.push(Warning::new(EMPTY_UNPROVEN, message));
        }
        "empty_unproven: it was announced with no bytes, as a file is that does not say how long it is"
    }

    async fn take(&self, writer: &mut Writer, piece: Bytes, is_last: bool) -> Result<(), Fault> {
        if matches!(writer.into, Ok(Into::Stdout)) {
            return self.meter.job.print(piece).await;
        }
        writer.take(piece, is_last);
        Ok(())
    }

    async fn verify(&mut self, level: &Level, size: u64, hash: &str, path: String) -> Result<Result<(), Fault>, Fault> {
        let Some(there) = level.there.clone() else {
            let problem = "--verify: the host does not say which directory it is from; it needs SFTP".to_owned();
            return Ok(Err(Fault::TransferRefused { path, problem }));
        };
        let Some(shell) = self.shell().await? else { return Ok(Err(command::nobody_answers(&path))) };
        shell.send(same(&there, size, hash)).await?;
        Ok(match shell.next().await?.status {
            0 => Ok(()),
            3 | 4 => Err(Fault::VerifyMismatch { path }),
            _ => Err(command::nobody_answers(&path)),
        })
    }
}

/// The fault of a file that has more in it than the protocol can say.
fn says_nothing(path: String) -> Fault {
    let problem =
        "it says that it is empty, and it is not; the legacy protocol sends nothing of such a file".to_owned();
    Fault::TransferRefused { path, problem }
}

/// Where the bytes of a file go.
enum Into {
    /// Into a file that is being written.
    File(Box<Incoming>),
    /// To standard output.
    Stdout,
}

/// Writes what comes, many pieces at once. After an error the rest is read past: what follows comes after it.
struct Writer {
    into: Result<Into, Fault>,
    at: u64,
    held: Vec<Bytes>,
    bytes: usize,
}

impl Writer {
    fn take(&mut self, piece: Bytes, is_last: bool) {
        self.bytes += piece.len();
        self.held.push(piece);
        if self.bytes < TOGETHER && !is_last {
            return;
        }
        let held = std::mem::take(&mut self.held);
        if let Ok(Into::File(incoming)) = &mut self.into
            && let Err(fault) = incoming.write_at(self.at, &held)
        {
            self.into = Err(fault);
        }
        self.at += std::mem::take(&mut self.bytes) as u64;
    }
}
