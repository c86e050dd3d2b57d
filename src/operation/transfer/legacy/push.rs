//! From here to there: everything is sent under names of ours, and brought to its place when it is whole.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::host::{Host, fill, home, spooled};
use super::install::{Installed, Pending, Terms, install};
use super::talk::{Talk, fault_of};
use super::{is_final, quoted, wire};
use crate::errors::Fault;
use crate::model::copy::{LocalSource, RemotePath};
use crate::model::outcome::Warning;
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::command;
use crate::operation::transfer::ledger::Touched;
use crate::operation::transfer::local::source::{Found, Item, Walk};
use crate::operation::transfer::local::{self, Kind, Meta};
use crate::operation::transfer::place::{NoPlace, Place, Subject, join, name_of, parent_of, place};
use crate::operation::transfer::{Broken, Job, Line, part};

/// How much is read and sent at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// Copies all sources.
pub async fn push<S: Sink>(
    line: Line<'_>,
    job: &Job<'_, S>,
    sources: &[LocalSource],
    target: &RemotePath,
) -> Result<(), Broken> {
    let target = home(&target.0)?;
    let host = Host::ask(line, &target, job.plan.options.in_place).await?;
    if job.plan.options.resume {
        let message = "the legacy protocol cannot continue a file: all of it is copied";
        job.landing.borrow_mut().warnings.push(Warning::new("resume_unsupported", message));
    }
    let several = sources.len() > 1;
    if several {
        job.landing.borrow_mut().root = Some(String::from_utf8_lossy(&target).into_owned());
    }
    let mut push = Push { line, job, host, names: BTreeSet::new(), moved: 0 };
    for source in sources {
        let name = match source {
            LocalSource::Stdin => None,
            LocalSource::Path(path) => name_of(path.as_os_str().as_bytes()),
        };
        let below = if several { name.unwrap_or_default().to_vec() } else { Vec::new() };
        match push.source(source, name, &target, &below, several).await {
            Ok(()) => {}
            Err(Broken::Fault(fault)) => push.settle(&below, Err(fault))?,
            Err(broken) => return Err(broken),
        }
    }
    Ok(())
}

struct Push<'a, 'j, S> {
    line: Line<'a>,
    job: &'a Job<'j, S>,
    host: Host,
    names: BTreeSet<Vec<u8>>,
    moved: u64,
}

impl<S: Sink> Push<'_, '_, S> {
    fn shown(&self, path: &[u8]) -> String {
        format!("{}{}", self.job.plan.host, String::from_utf8_lossy(path))
    }

    fn settle(&self, below: &[u8], result: Result<Entry, Fault>) -> Result<(), Fault> {
        let mut ledger = self.job.ledger.borrow_mut();
        match result {
            Ok(entry) => ledger.done(entry),
            Err(fault) => {
                if !matches!(fault, Fault::ConnectionLost { .. }) {
                    ledger.failed(below, 0, fault.clone());
                }
                if is_final(&fault) {
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    async fn source(
        &mut self,
        source: &LocalSource,
        name: Option<&[u8]>,
        target: &[u8],
        below: &[u8],
        several: bool,
    ) -> Result<(), Broken> {
        let options = self.job.plan.options;
        let is_directory = matches!(source, LocalSource::Path(path) if path.is_dir());
        let subject = Subject { is_directory, has_name: name.is_some(), among_several: several };
        let into = name.map_or(target.to_vec(), |name| if target == b"." { name.to_vec() } else { join(target, name) });
        let to = match place(target, self.host.standing, subject, options.parents) {
            Ok(Place::Itself) => target.to_vec(),
            Ok(Place::Into) => into,
            Err(NoPlace::NotADirectory) => return Err(Fault::NotADirectory { path: self.shown(target) }.into()),
            Err(NoPlace::Missing) => return Err(Fault::ParentMissing { path: self.shown(&into) }.into()),
            Err(NoPlace::Nameless) => return Err(Fault::IsDirectory { path: self.shown(target) }.into()),
        };
        if several && !self.names.insert(to.clone()) {
            let problem = "another source has the same name".to_owned();
            return Err(Fault::TransferRefused { path: self.shown(&to), problem }.into());
        }
        if !several {
            self.job.landing.borrow_mut().root = Some(String::from_utf8_lossy(&to).into_owned());
        }
        if options.parents {
            self.job.ledger.borrow_mut().touch(Touched::Asked);
            let above = parent_of(&to);
            self.host.make(self.line, above, &self.shown(above), true, 0o777).await?;
        }
        match source {
            LocalSource::Stdin => {
                let (file, size) = spooled(self.job.plan.stdin.as_ref())?;
                let meta = Meta { mode: 0o666, size, ..Meta::default() };
                self.one(file, meta, Path::new("standard input"), &to, below).await
            }
            LocalSource::Path(path) => {
                let walk = Walk::new(path, options.recursive, options.symlinks)?;
                self.tree(walk, &to, below).await
            }
        }
    }

    async fn scp(&self, recursive: bool, target: &[u8]) -> Result<Talk, Broken> {
        let mut command = b"scp -t".to_vec();
        command.extend_from_slice(if recursive { b" -r" } else { b"" });
        command.extend_from_slice(b" -p -- ");
        command.extend(quoted(target)?);
        let mut talk = Talk::begin(self.line, &command).await?;
        match talk.reply().await {
            Ok(Ok(())) => Ok(talk),
            Ok(Err(wire::Line::Warning(text) | wire::Line::Fatal(text))) => {
                Err(fault_of(&text, &self.shown(target), false).into())
            }
            Ok(Err(_)) => Err(talk.not_begun()),
            Err(_) if !talk.has_begun() => Err(talk.not_begun()),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Everything that a walk finds.
    async fn tree(&mut self, mut walk: Walk, to: &[u8], below: &[u8]) -> Result<(), Broken> {
        let mut talk: Option<Talk> = None;
        let mut pending = Vec::new();
        let mut root = None;
        while let Some(found) = walk.next() {
            match found {
                Found::Skipped { below: at, reason } => {
                    self.job.ledger.borrow_mut().skipped(&join(below, &at), reason);
                }
                Found::Failed { below: at, fault } => self.settle(&join(below, &at), Err(fault))?,
                Found::Leave(item) => {
                    if let Some(talk) = talk.as_mut().filter(|_| !item.below.is_empty()) {
                        talk.send(&b"E\n"[..]).await?;
                        self.heard(talk, &join(below, &item.below)).await?;
                    }
                }
                Found::Item(item) => {
                    let entry = join(below, &item.below);
                    if name_of(&item.below).is_some_and(|name| name.contains(&b'\n')) {
                        let problem = "a name with a line feed cannot be said in the legacy protocol; it needs SFTP";
                        let path = String::from_utf8_lossy(&entry).into_owned();
                        if matches!(item.kind, Kind::Directory) {
                            walk.pass_over();
                        }
                        self.settle(&entry, Err(Fault::TransferRefused { path, problem: problem.to_owned() }))?;
                        continue;
                    }
                    match (&item.kind, &mut talk) {
                        (Kind::Symlink { .. }, _) => {
                            self.job.ledger.borrow_mut().skipped(&entry, "symlink: the legacy protocol has none");
                        }
                        (Kind::File, None) => {
                            // The source itself.
                            let opened = item.open();
                            let (file, meta) = opened?;
                            return self.one(file, meta, &item.path, to, below).await;
                        }
                        (Kind::Directory, None) => {
                            self.job.ledger.borrow_mut().touch(Touched::Asked);
                            self.host.make(self.line, to, &self.shown(to), false, item.meta.mode).await?;
                            self.job.ledger.borrow_mut().touch(Touched::Yes);
                            self.settle(&entry, Ok(Entry::new(&entry, EntryAction::Created, 0)))?;
                            talk = Some(self.scp(true, to).await?);
                            root = Some(item);
                        }
                        (Kind::Directory, Some(talk)) => {
                            if !self.directory(talk, &item, &entry).await? {
                                walk.pass_over();
                            }
                        }
                        (Kind::File, Some(talk)) => {
                            let at = join(to, &item.below);
                            match item.open() {
                                Ok((file, meta)) => {
                                    let sent = self.send(talk, file, meta, &item.path, &at, &entry).await?;
                                    pending.extend(sent);
                                }
                                Err(fault) => self.settle(&entry, Err(fault))?,
                            }
                        }
                    }
                }
            }
        }
        if let Some(mut talk) = talk {
            talk.finish().await?;
        }
        self.install(pending).await?;
        match root {
            Some(item) if self.job.plan.options.preserve => {
                Ok(self.host.set_mode(self.line, to, &self.shown(to), item.meta.mode).await?)
            }
            _ => Ok(()),
        }
    }

    /// Begins a directory; false where the host does not.
    async fn directory(&self, talk: &mut Talk, item: &Item, entry: &[u8]) -> Result<bool, Fault> {
        let Some(name) = name_of(&item.below) else { return Ok(false) };
        let preserve = self.job.plan.options.preserve;
        if preserve {
            talk.send(wire::times_of(item.meta.mtime, item.meta.atime)).await?;
            self.heard(talk, entry).await?;
        }
        let mode = if preserve { item.meta.mode } else { item.meta.mode & !self.host.umask };
        self.job.ledger.borrow_mut().touch(Touched::Asked);
        talk.send(wire::directory(mode, name)).await?;
        let taken = self.heard(talk, entry).await?;
        if taken {
            self.job.ledger.borrow_mut().touch(Touched::Yes);
            self.settle(entry, Ok(Entry::new(entry, EntryAction::Created, 0)))?;
        }
        Ok(taken)
    }

    /// The host's word on the last line; false where it was not taken, which is written down.
    async fn heard(&self, talk: &mut Talk, entry: &[u8]) -> Result<bool, Fault> {
        match talk.reply().await? {
            Ok(()) => Ok(true),
            Err(wire::Line::Warning(text) | wire::Line::Fatal(text)) => {
                self.settle(entry, Err(fault_of(&text, &self.shown(entry), false)))?;
                Ok(false)
            }
            Err(_) => Ok(false),
        }
    }

    /// One file that is a source of its own.
    async fn one(&mut self, file: File, meta: Meta, path: &Path, to: &[u8], below: &[u8]) -> Result<(), Broken> {
        let target = if self.job.plan.options.in_place { to.to_vec() } else { self.part_of(to)? };
        let mut talk = self.scp(false, &target).await?;
        let sent = self.send(&mut talk, file, meta, path, to, below).await?;
        talk.finish().await?;
        Ok(self.install(sent.into_iter().collect()).await?)
    }

    fn part_of(&self, to: &[u8]) -> Result<Vec<u8>, Fault> {
        let name = name_of(to).ok_or_else(|| Fault::IsDirectory { path: self.shown(to) })?;
        let part = part::name(name, &self.job.plan.tag);
        Ok(match parent_of(to) {
            b"." => part,
            above => join(above, &part),
        })
    }

    /// Sends a file; what waits for its place then.
    async fn send(
        &mut self,
        talk: &mut Talk,
        mut file: File,
        meta: Meta,
        path: &Path,
        to: &[u8],
        below: &[u8],
    ) -> Result<Option<Pending>, Fault> {
        let options = self.job.plan.options;
        let part = self.part_of(to)?;
        let written = if options.in_place { to.to_vec() } else { part.clone() };
        if options.preserve {
            talk.send(wire::times_of(meta.mtime, meta.atime)).await?;
            if !self.heard(talk, below).await? {
                return Ok(None);
            }
        }
        let wished = options.mode.unwrap_or(if options.preserve { meta.mode } else { meta.mode & !self.host.umask });
        let mode = if options.in_place { wished } else { 0o600 };
        self.job.ledger.borrow_mut().touch(Touched::Asked);
        if !options.in_place {
            self.job.parts.borrow_mut().insert(part.clone());
        }
        talk.send(wire::file(mode, meta.size, name_of(&written).unwrap_or(b"file"))).await?;
        if !self.heard(talk, below).await? {
            self.job.parts.borrow_mut().remove(&part);
            return Ok(None);
        }
        self.job.ledger.borrow_mut().touch(Touched::Yes);
        let mut hash = options.verify.then(Sha256::new);
        let (mut left, mut changed) = (meta.size, None);
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            let mut chunk = vec![0; most];
            // What was announced has to be sent: what is not there any more is sent as zeros, and then taken back.
            let read = if changed.is_none() { fill(&mut file, &mut chunk) } else { Ok(most) };
            match read {
                Ok(count) if count == most => {}
                Ok(_) => changed = Some(io::Error::other("it changed while it was read")),
                Err(error) => changed = Some(error),
            }
            if let Some(hash) = &mut hash {
                hash.update(&chunk);
            }
            left -= most as u64;
            talk.send(Bytes::from(chunk)).await?;
            self.moved += most as u64;
            self.job.sink.borrow_mut().progress(below, self.moved, None);
        }
        let last = if changed.is_some() { &b"\x01the source changed\n"[..] } else { &b"\0"[..] };
        talk.send(last).await?;
        let taken = self.heard(talk, below).await?;
        if let Some(error) = changed {
            self.settle(below, Err(local::unreadable(path, &error)))?;
            return Ok(None);
        }
        if !taken {
            return Ok(None);
        }
        let hash = hash.map(|hash| hash.finalize().into());
        Ok(Some(Pending { part: written, to: to.to_vec(), size: meta.size, mode: wished, below: below.to_vec(), hash }))
    }

    /// Brings what was sent to its place.
    async fn install(&mut self, pending: Vec<Pending>) -> Result<(), Fault> {
        let options = self.job.plan.options;
        let mut ready = Vec::new();
        for file in pending {
            if let Some(ours) = &file.hash {
                let theirs = command::sha256(self.line, &file.part, file.size).await?;
                match theirs {
                    Some(theirs) if theirs == *ours => {}
                    Some(_) => {
                        self.settle(&file.below, Err(Fault::VerifyMismatch { path: self.shown(&file.to) }))?;
                        continue;
                    }
                    None => {
                        self.settle(&file.below, Err(command::nobody_answers(&self.shown(&file.to))))?;
                        continue;
                    }
                }
            }
            ready.push(file);
        }
        if options.in_place {
            for file in &ready {
                self.settle(&file.below, Ok(copied(file)))?;
            }
            return Ok(());
        }
        let terms =
            Terms { tag: &self.job.plan.tag, keep: options.no_clobber, times: options.preserve, mode: options.mode };
        let installed = install(self.line, &ready, terms, &self.job.plan.host).await?;
        for (file, answer) in ready.iter().zip(installed) {
            match answer {
                Installed::Yes => {
                    self.job.parts.borrow_mut().remove(&file.part);
                    self.settle(&file.below, Ok(copied(file)))?;
                }
                // What was sent for nothing is swept away.
                Installed::Kept => self.job.ledger.borrow_mut().kept(&file.below, "exists"),
                Installed::No(fault) => self.settle(&file.below, Err(fault))?,
            }
        }
        Ok(())
    }
}

fn copied(file: &Pending) -> Entry {
    let mut entry = Entry::new(&file.below, EntryAction::Copied, file.size);
    entry.sha256 = file.hash.as_ref().map(command::hex);
    entry
}
