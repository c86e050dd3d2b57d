//! From there to here: `scp -f` sends what it likes, and only what was asked for is taken.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::fate::{Into, Settle, lands_at, settle, settle_or_skip};
use super::pattern::{home, pattern};
use super::talk::{Talk, fault_of, violation};
use super::wire;
use crate::errors::{Caught, Fault};
use crate::model::copy::{LocalTarget, RemotePath};
use crate::model::outcome::Warning;
use crate::model::sink::{Sink, Stream};
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::ledger::Touched;
use crate::operation::transfer::local::DEPTH_MAX;
use crate::operation::transfer::local::target::{Settled, Times, Tree, Wanted, standing};
use crate::operation::transfer::place::{NoPlace, Place, Standing, Subject, join, name_of, place};
use crate::operation::transfer::{Broken, Job, Line, command, part};
use crate::wildcard::fits_bytes;

/// Progress is told after so many bytes.
const TELL_EVERY: u64 = 1 << 20;
/// Pieces are written together up to so many bytes.
const TOGETHER: usize = 256 * 1024;

/// Copies all sources.
pub async fn pull<S: Sink>(
    line: Line<'_>,
    job: &Job<'_, S>,
    sources: &[RemotePath],
    target: &LocalTarget,
) -> Result<(), Broken> {
    if job.plan.options.resume {
        let message = "the legacy protocol cannot continue a file: all of it is copied";
        job.landing.borrow_mut().warnings.push(Warning::new("resume_unsupported", message));
    }
    let (path, to_stdout) = match target {
        LocalTarget::Stdout => (Path::new("-"), true),
        LocalTarget::Path(path) => (path.as_path(), false),
    };
    let has_pattern = sources.iter().any(|source| source.0.iter().any(|b| b"*?[".contains(b)));
    let several = sources.len() > 1 || (has_pattern && !to_stdout);
    let standing = if to_stdout { Standing::Missing } else { standing(path)? };
    if several {
        lands_at(job, path);
    }
    let mut pull = Pull {
        line,
        job,
        target: path,
        to_stdout,
        tree: Tree::open(path, job.plan.options),
        standing,
        several,
        names: BTreeSet::new(),
        skip: 0,
        moved: 0,
    };
    for source in sources {
        pull.source(source).await?;
    }
    let Pull { tree, skip, .. } = pull;
    let mut last = Ok(());
    tree.finish(|settled| {
        if let Settled::Failed(at, fault) = settled {
            let told = settle(job, at.get(skip..).unwrap_or_default(), Err(fault));
            if last.is_ok() {
                last = told;
            }
        }
    });
    Ok(last?)
}

struct Pull<'a, 'j, S> {
    line: Line<'a>,
    job: &'a Job<'j, S>,
    target: &'a Path,
    to_stdout: bool,
    tree: Tree,
    standing: Standing,
    several: bool,
    names: BTreeSet<Vec<u8>>,
    /// How much longer the paths of the tree are than those of the report.
    skip: usize,
    moved: u64,
}

/// A file that a server announced.
struct Announced {
    mode: u32,
    size: u64,
    times: Option<Times>,
}

impl<S: Sink> Pull<'_, '_, S> {
    async fn source(&mut self, source: &RemotePath) -> Result<(), Broken> {
        let options = self.job.plan.options;
        let mut command = b"scp -f".to_vec();
        command.extend_from_slice(if options.recursive { b" -r" } else { b"" });
        command.extend_from_slice(if options.preserve { b" -p" } else { b"" });
        command.extend_from_slice(b" -- ");
        command.extend_from_slice(&pattern(&source.0)?);
        let mut talk = Talk::begin(self.line, &command).await?;
        talk.send(&b"\0"[..]).await.map_err(|fault| refused(&talk, fault))?;
        let received = self.receive(&mut talk, source).await;
        match received {
            Ok(()) => talk.finish().await.map_err(|_| talk.not_begun()).or_else(|broken| {
                // Everything that was announced is here; how scp ended says no more.
                if talk.has_begun() { Ok(()) } else { Err(broken) }
            }),
            Err(fault) => Err(refused(&talk, fault)),
        }
    }

    /// Takes what is sent, until there is no more.
    async fn receive(&mut self, talk: &mut Talk, source: &RemotePath) -> Result<(), Fault> {
        // Where we are in the tree; the first is where the source goes.
        let mut inside: Vec<Vec<u8>> = Vec::new();
        let mut times = None;
        let mut any = false;
        loop {
            let line = match talk.line().await? {
                Some(line) => line,
                None if any => return Ok(()),
                // It ended without a word of the protocol.
                None => return Err(Fault::NoTransferProtocol),
            };
            any = true;
            match line {
                wire::Line::Warning(text) | wire::Line::Fatal(text) => {
                    let shown = format!("{}{}", self.job.plan.host, String::from_utf8_lossy(&source.0));
                    let fault = fault_of(&text, &shown, true);
                    let at = inside.last().cloned().unwrap_or_else(|| self.named(source));
                    settle(self.job, self.below(&at), Err(fault))?;
                }
                wire::Line::Times { mtime, atime } => {
                    times = Some(Times { mtime, atime });
                    talk.send(&b"\0"[..]).await?;
                }
                wire::Line::Directory { mode, name } => {
                    let at = self.at(&inside, &name, source, true)?;
                    if inside.len() >= DEPTH_MAX {
                        return Err(crate::operation::transfer::local::too_deep(&at));
                    }
                    self.enter(&at, mode, times.take())?;
                    inside.push(at);
                    talk.send(&b"\0"[..]).await?;
                }
                wire::Line::End => {
                    let Some(at) = inside.pop() else {
                        return Err(violation("the end of a directory that did not begin"));
                    };
                    self.tree.leave(&at).or_else(|fault| settle(self.job, self.below(&at), Err(fault)))?;
                    talk.send(&b"\0"[..]).await?;
                }
                wire::Line::File { mode, size, name } => {
                    let at = self.at(&inside, &name, source, false)?;
                    let file = Announced { mode, size, times: times.take() };
                    self.file(talk, &at, file).await?;
                }
            }
        }
    }

    fn named(&self, source: &RemotePath) -> Vec<u8> {
        if self.several { name_of(&source.0).unwrap_or_default().to_vec() } else { Vec::new() }
    }

    fn below<'p>(&self, at: &'p [u8]) -> &'p [u8] {
        at.get(self.skip..).unwrap_or_default()
    }

    /// Where an entry goes: below the directory that is open, or where the source goes. The name is the server's.
    fn at(
        &mut self,
        inside: &[Vec<u8>],
        name: &[u8],
        source: &RemotePath,
        is_directory: bool,
    ) -> Result<Vec<u8>, Fault> {
        let told = || String::from_utf8_lossy(name).into_owned();
        if matches!(name, b"" | b"." | b"..") || name.iter().any(|b| matches!(b, b'/' | 0)) {
            return Err(violation(format!("`{}` is no name", told())));
        }
        if let Some(above) = inside.last() {
            return Ok(join(above, name));
        }
        // The outermost name is the one that was asked for, or fits what was.
        let asked = name_of(&source.0);
        if let Some(asked) = asked
            && asked != b"~"
            && asked != name
            && !fits_bytes(name, asked)
        {
            return Err(violation(format!("`{}` came, and was not asked for", told())));
        }
        if is_directory && !self.job.plan.options.recursive {
            return Err(violation(format!("`{}` came as a directory, and none was asked for", told())));
        }
        let subject = Subject { is_directory, has_name: asked.is_some(), among_several: self.several };
        let target = self.target.as_os_str().as_bytes();
        let shown = || self.target.to_string_lossy().into_owned();
        let at = match place(target, self.standing, subject, self.job.plan.options.parents) {
            Ok(Place::Itself) => Vec::new(),
            Ok(Place::Into) => name.to_vec(),
            Err(NoPlace::NotADirectory) => return Err(Fault::NotADirectory { path: shown() }),
            Err(NoPlace::Missing) => {
                let path = self.target.join(OsStr::from_bytes(name));
                return Err(Fault::ParentMissing { path: path.to_string_lossy().into_owned() });
            }
            Err(NoPlace::Nameless) => return Err(Fault::IsDirectory { path: shown() }),
        };
        if !self.names.insert(at.clone()) {
            return Err(Fault::TransferRefused { path: told(), problem: "two entries have this name".to_owned() });
        }
        if !self.several && !self.to_stdout {
            let root = if at.is_empty() { self.target.to_owned() } else { self.target.join(OsStr::from_bytes(&at)) };
            lands_at(self.job, &root);
            self.skip = if at.is_empty() { 0 } else { at.len() + 1 };
        }
        Ok(at)
    }

    fn enter(&mut self, at: &[u8], mode: u32, times: Option<Times>) -> Result<(), Fault> {
        if self.to_stdout {
            return Err(Fault::SourceIsDirectory { path: self.job.plan.host.clone() });
        }
        let below = self.below(at).to_vec();
        match self.tree.directory(at, mode, times) {
            Ok(true) => {
                let mut ledger = self.job.ledger.borrow_mut();
                ledger.touch(Touched::Yes);
                ledger.done(Entry::new(&below, EntryAction::Created, 0));
                Ok(())
            }
            Ok(false) => Ok(()),
            // What is in it goes the same way, each entry by itself.
            Err(fault) => settle(self.job, &below, Err(fault)),
        }
    }

    /// Takes a file whole, wanted or not: what follows it comes after.
    async fn file(&mut self, talk: &mut Talk, at: &[u8], file: Announced) -> Result<(), Fault> {
        let below = self.below(at).to_vec();
        let wanted = Wanted { mode: file.mode, times: file.times, tag: &self.job.plan.tag, resume: false };
        let begun = match part::is_part(at.rsplit(|b| *b == b'/').next().unwrap_or_default()) {
            _ if self.to_stdout => Ok(Into::Stdout),
            true => Ok(Into::Nothing("partial_file")),
            false => self.tree.file(at, &wanted).map(|incoming| match incoming {
                Some(incoming) => Into::File(Box::new(incoming)),
                None => Into::Nothing("exists"),
            }),
        };
        let mut into = match begun {
            Ok(into) => into,
            Err(fault) => Into::Failed(fault),
        };
        if matches!(into, Into::File(_) | Into::Stdout) {
            self.job.ledger.borrow_mut().touch(Touched::Yes);
        }
        talk.send(&b"\0"[..]).await?;
        let mut hash = self.job.plan.options.verify.then(Sha256::new);
        let (mut at_byte, mut left, mut held, mut held_bytes) = (0, file.size, Vec::new(), 0);
        while left > 0 {
            let some = talk.some(left).await?;
            left -= some.len() as u64;
            self.tell(&below, some.len() as u64);
            if let Some(hash) = &mut hash {
                hash.update(&some);
            }
            held_bytes += some.len();
            held.push(some);
            if held_bytes >= TOGETHER || left == 0 {
                let pieces = std::mem::take(&mut held);
                let written = self.write(&mut into, at_byte, pieces).await;
                at_byte += std::mem::take(&mut held_bytes) as u64;
                if let Err(fault) = written {
                    if matches!(into, Into::Stdout) {
                        return Err(fault);
                    }
                    into = Into::Failed(fault);
                }
            }
        }
        // What the host found wrong while it read: then the bytes are not the file's.
        if let Err(wrong) = talk.reply().await?
            && !matches!(into, Into::Failed(_))
        {
            let text = match wrong {
                wire::Line::Warning(text) | wire::Line::Fatal(text) => text,
                _ => Vec::new(),
            };
            into = Into::Failed(fault_of(&text, &String::from_utf8_lossy(&below), true));
        }
        let settled = self.commit(into, file.size, hash, &below).await;
        settle_or_skip(self.job, &below, settled)?;
        talk.send(&b"\0"[..]).await
    }

    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "one file goes to standard output, and nothing else tells anything meanwhile"
    )]
    async fn write(&self, into: &mut Into, at: u64, pieces: Vec<Bytes>) -> Result<(), Fault> {
        match into {
            Into::File(incoming) => incoming.write_at(at, &pieces),
            Into::Stdout => {
                for piece in pieces {
                    let written = self.job.sink.borrow_mut().write(Stream::Stdout, piece).await;
                    written.map_err(|error| match error.kind() {
                        io::ErrorKind::BrokenPipe => Fault::Interrupted { signal: Caught::Pipe, confirmed: None },
                        _ => Fault::StdoutFailed { problem: error.to_string() },
                    })?;
                }
                Ok(())
            }
            Into::Nothing(_) | Into::Failed(_) => Ok(()),
        }
    }

    async fn commit(&self, into: Into, size: u64, hash: Option<Sha256>, below: &[u8]) -> Result<Settle, Fault> {
        let sha256 = match hash {
            Some(hash) if matches!(into, Into::File(_) | Into::Stdout) => {
                let ours: [u8; 32] = hash.finalize().into();
                self.verify(below, size, &ours).await?;
                Some(command::hex(&ours))
            }
            _ => None,
        };
        match into {
            Into::Failed(fault) => return Err(fault),
            Into::Nothing("exists") => return Ok(Settle::Kept),
            Into::Nothing(why) => return Ok(Settle::Skipped(why)),
            Into::Stdout => {}
            Into::File(incoming) => {
                let committed = tokio::task::spawn_blocking(move || incoming.commit(size)).await;
                committed.map_err(|error| Fault::Internal { problem: error.to_string() })??;
            }
        }
        let mut entry = Entry::new(below, EntryAction::Copied, size);
        entry.sha256 = sha256;
        Ok(Settle::Done(entry))
    }

    async fn verify(&self, below: &[u8], size: u64, ours: &[u8; 32]) -> Result<(), Fault> {
        let Some(source) = self.job.plan.way.single_remote_source().filter(|_| !self.several) else {
            let problem = "the legacy protocol verifies one source at a time".to_owned();
            return Err(Fault::TransferRefused { path: String::from_utf8_lossy(below).into_owned(), problem });
        };
        let path = if below.is_empty() { source.to_vec() } else { [source, b"/", below].concat() };
        match command::sha256(self.line, home(&path), size).await? {
            Some(theirs) if theirs == *ours => Ok(()),
            Some(_) => Err(Fault::VerifyMismatch { path: String::from_utf8_lossy(&path).into_owned() }),
            None => Err(command::nobody_answers(&String::from_utf8_lossy(&path))),
        }
    }

    fn tell(&mut self, below: &[u8], bytes: u64) {
        let before = self.moved / TELL_EVERY;
        self.moved += bytes;
        if self.moved / TELL_EVERY > before && !self.to_stdout {
            self.job.sink.borrow_mut().progress(below, self.moved, None);
        }
    }
}

/// Before the protocol has begun, a failure may mean that there is none.
fn refused(talk: &Talk, fault: Fault) -> Broken {
    match fault {
        Fault::NoTransferProtocol | Fault::SftpOnly | Fault::ExecRefused => talk.not_begun(),
        fault if !talk.has_begun() && matches!(fault, Fault::ServerViolation { .. }) => Broken::NoProtocol(fault),
        fault => Broken::Fault(fault),
    }
}
