//! From here to there: where each source goes, and a walk through it.

use std::collections::{BTreeSet, VecDeque};
use std::os::unix::ffi::OsStrExt as _;

use super::super::Broken;
use super::directory::{Directory, stamp};
use super::errands::{Errands, command};
use super::feed::Feed;
use super::meter::Meter;
use super::put::{Arrived, Outgoing};
use super::said::{self, Act};
use super::sink::Taker;
use super::spot::{check, option_free};
use super::turns::in_directory;
use super::words;
use crate::errors::Fault;
use crate::model::copy::{LocalSource, RemotePath};
use crate::model::outcome::Phase;
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::local::Kind;
use crate::operation::transfer::local::source::{Found, Item, Walk};
use crate::operation::transfer::part;
use crate::operation::transfer::place::{Place, Standing, Subject, bare, join, name_of, parent_of, place};

/// Copies all sources.
pub async fn upload<S: Sink>(
    meter: &Meter<'_, '_, S>,
    sources: &[LocalSource],
    target: &RemotePath,
) -> Result<(), Broken> {
    check(meter, &target.0)?;
    let line = meter.line;
    let begun = Errands::begin(line, line.patience, &meter.job.plan.tag, "an upload by the legacy protocol");
    let shell = line.patience.within(line.address, Phase::Channel, begun).await??;
    let mut upload = Upload { meter, shell, taker: None, root: None, waiting: VecDeque::new() };
    let target = upload.expand(&target.0).await?;
    let standing = upload.standing(&target).await?;
    let several = sources.len() > 1;
    if several {
        upload.lands_at(&target);
    }
    let mut names = BTreeSet::new();
    for source in sources {
        let name = match source {
            LocalSource::Stdin => None,
            LocalSource::Path(path) => name_of(path.as_os_str().as_bytes()),
        };
        let below = if several { name.unwrap_or_default().to_vec() } else { Vec::new() };
        let sent = if several && !names.insert(below.clone()) {
            let problem = "another source has the same name".to_owned();
            Err(Fault::TransferRefused { path: String::from_utf8_lossy(&below).into_owned(), problem }.into())
        } else {
            match upload.whither(source, name, &target, standing, several) {
                Ok(to) => upload.source(source, &to, &below, several).await,
                Err(fault) => Err(fault.into()),
            }
        };
        upload.settle(&below, sent)?;
    }
    upload.drain(0).await?;
    if let Some((_, taker)) = upload.taker.take() {
        taker.close().await;
    }
    Ok(())
}

/// What is on its way.
pub struct Upload<'m, 'a, 'j, S> {
    /// What all of it shares.
    pub meter: &'m Meter<'a, 'j, S>,
    /// The shell beside it.
    pub shell: Errands,
    /// The command that takes files, and the directory that it began in.
    pub(super) taker: Option<(Vec<u8>, Taker)>,
    /// Where the source that is gone through becomes a directory.
    pub(super) root: Option<Vec<u8>>,
    /// What the shell has not answered yet.
    pub(super) waiting: VecDeque<Waiting>,
}

/// Something that the shell was asked for.
pub enum Waiting {
    /// A file is brought to its place.
    Landing(Arrived),
    /// A directory gets its last mode and times, or a link is made.
    Last {
        /// Its path there.
        path: Vec<u8>,
        /// Its path in the report.
        entry: Vec<u8>,
        /// What is written down then.
        told: Option<Entry>,
    },
}

impl<S: Sink> Upload<'_, '_, '_, S> {
    /// Writes down what became of an entry. The error ends the whole copy.
    fn settle(&mut self, entry: &[u8], result: Result<(), Broken>) -> Result<(), Broken> {
        match result {
            Ok(()) => Ok(()),
            Err(Broken::Fault(fault)) => Ok(self.meter.settle(entry, Err(fault))?),
            Err(broken) => Err(broken),
        }
    }

    /// A path as it was typed, relative to the home directory.
    async fn expand(&mut self, path: &[u8]) -> Result<Vec<u8>, Fault> {
        let home = words::home(path);
        let (who, rest) = path.split_at(home);
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        match who {
            b"" if path.is_empty() => Ok(b".".to_vec()),
            b"" => Ok(path.to_vec()),
            b"~" if rest.is_empty() => Ok(b".".to_vec()),
            b"~" => Ok(rest.to_vec()),
            who => {
                let found = self.ask([b"echo ", who].concat()).await?.text;
                if !found.starts_with(b"/") {
                    let problem = "there is no such account on the host".to_owned();
                    return Err(Fault::SourceNotFound { path: self.meter.shown(path), problem });
                }
                Ok(join(&found, rest))
            }
        }
    }

    fn lands_at(&self, path: &[u8]) {
        let whole = match path {
            [b'/', ..] => path.to_vec(),
            b"." => self.shell.home.clone(),
            path => join(&self.shell.home, path),
        };
        self.meter.job.landing.borrow_mut().root = Some(String::from_utf8_lossy(&whole).into_owned());
    }

    /// What stands at the target; links are followed.
    async fn standing(&mut self, target: &[u8]) -> Result<Standing, Fault> {
        let answer = self.ask(command("stands", &[target])).await?;
        match &answer.text[..] {
            b"directory" => Ok(Standing::Directory),
            b"other" => Ok(Standing::Other),
            b"missing" => match bare(target) {
                Some(bare) if self.ask(command("stands", &[bare])).await?.text == b"other" => Ok(Standing::Other),
                _ => Ok(Standing::Missing),
            },
            text => Err(said::fault(text, &self.meter.shown(target), Act::Write)),
        }
    }

    /// The path of a source on the host.
    fn whither(
        &self,
        source: &LocalSource,
        name: Option<&[u8]>,
        target: &[u8],
        standing: Standing,
        several: bool,
    ) -> Result<Vec<u8>, Fault> {
        let is_directory = matches!(source, LocalSource::Path(path) if path.is_dir());
        let subject = Subject { is_directory, has_name: name.is_some(), among_several: several };
        let into = || match name {
            Some(name) if target == b"." => name.to_vec(),
            Some(name) => join(target, name),
            None => target.to_vec(),
        };
        match place(target, standing, subject, self.meter.options().parents) {
            Ok(Place::Itself) => Ok(target.to_vec()),
            Ok(Place::Into) => Ok(into()),
            Err(no_place) => Err(no_place.fault(self.meter.shown(target), self.meter.shown(&into()))),
        }
    }

    /// Sends one source to this path.
    async fn source(&mut self, source: &LocalSource, to: &[u8], below: &[u8], several: bool) -> Result<(), Broken> {
        let meter = self.meter;
        check(meter, to)?;
        if !several {
            self.lands_at(to);
        }
        let walk = match source {
            LocalSource::Path(path) => Some(Walk::new(path, meter.options().recursive, meter.options().symlinks)?),
            LocalSource::Stdin => None,
        };
        if meter.options().parents {
            let above = parent_of(to).to_vec();
            meter.asked();
            let answer = self.ask([command("mkdir -p", &[&option_free(&above)]), b" 2>&1".to_vec()].concat()).await?;
            if answer.status != 0 {
                return Err(said::fault(&answer.text, &meter.shown(&above), Act::Write).into());
            }
        }
        if let Some(walk) = walk {
            return self.walk(walk, to, below).await;
        }
        let feed = Feed::spooled(meter.job.plan.stdin.as_ref()).await?;
        self.put(Outgoing { feed, meta: None, to: to.to_vec(), is_free: false, entry: below.to_vec() }).await
    }

    async fn walk(&mut self, mut walk: Walk, to: &[u8], below: &[u8]) -> Result<(), Broken> {
        let meter = self.meter;
        self.root = Some(to.to_vec());
        let mut inside: Vec<Directory> = Vec::new();
        while let Some(found) = walk.next() {
            match found {
                Found::Skipped { below: at, reason } => {
                    meter.job.ledger.borrow_mut().skipped(&join(below, &at), reason);
                }
                Found::Failed { below: at, fault } => meter.settle(&join(below, &at), Err(fault))?,
                Found::Leave(item) => {
                    if let Some(directory) = inside.pop() {
                        self.leave(&directory, &item, join(below, &item.below)).await?;
                    }
                }
                Found::Item(item) => {
                    let (at, entry) = (join(to, &item.below), join(below, &item.below));
                    if let Err(fault) = check(meter, &at) {
                        if item.kind == Kind::Directory {
                            walk.pass_over();
                        }
                        meter.settle(&entry, Err(fault))?;
                        continue;
                    }
                    let is_free = inside.last().is_some_and(|above| above.is_new);
                    let done = match &item.kind {
                        Kind::Directory => match self.enter(&at, &item, &entry).await {
                            Ok(directory) => {
                                inside.push(directory);
                                Ok(())
                            }
                            Err(fault) => {
                                walk.pass_over();
                                Err(fault.into())
                            }
                        },
                        Kind::Symlink { text } => self.link(text, at, entry.clone()).await.map_err(Broken::from),
                        Kind::File => self.file(item, at, is_free, entry.clone()).await,
                    };
                    self.settle(&entry, done)?;
                }
            }
        }
        Ok(())
    }

    async fn file(&mut self, item: Item, at: Vec<u8>, is_free: bool, entry: Vec<u8>) -> Result<(), Broken> {
        let (file, meta) = item.open()?;
        if item.below.is_empty() {
            self.meter.total.set(Some(meta.size).filter(|_| self.meter.job.plan.way.is_single()));
        }
        let feed = Feed::file(file, item.path, meta.size).await?;
        self.put(Outgoing { feed, meta: Some(meta), to: at, is_free, entry }).await
    }

    /// Makes a directory, or opens the one that is there so that it can be filled.
    async fn enter(&mut self, at: &[u8], item: &Item, entry: &[u8]) -> Result<Directory, Fault> {
        self.meter.asked();
        let answer = self.ask(command("enter", &[at])).await?;
        let Some(directory) = Directory::read(&answer, at.to_vec(), item.meta) else {
            return Err(said::fault(&answer.text, &self.meter.shown(at), Act::Write));
        };
        if directory.is_new {
            self.meter.touched();
            self.meter.made(entry);
        }
        Ok(directory)
    }

    /// All in it was sent.
    async fn leave(&mut self, directory: &Directory, item: &Item, entry: Vec<u8>) -> Result<(), Fault> {
        let preserve = self.meter.options().preserve;
        let Some(mode) = directory.last_mode(preserve, self.shell.umask) else { return Ok(()) };
        let mut errand = command("chmod", &[format!("{mode:o}").as_bytes(), &option_free(&directory.path)]);
        if preserve {
            for (flag, time) in [("-a", item.meta.atime), ("-m", item.meta.mtime)] {
                errand.extend_from_slice(b" && ");
                let touch = format!("TZ=UTC0 touch {flag} -t {}", stamp(time));
                errand.extend(command(&touch, &[&option_free(&directory.path)]));
            }
        }
        let errand = [b"{ ", &errand[..], b"; } 2>&1"].concat();
        self.send(errand, Waiting::Last { path: directory.path.clone(), entry, told: None }).await
    }

    async fn link(&mut self, text: &[u8], at: Vec<u8>, entry: Vec<u8>) -> Result<(), Fault> {
        let meter = self.meter;
        check(meter, text)?;
        let Some(name) = name_of(&at) else { return Err(Fault::IsDirectory { path: meter.shown(&at) }) };
        let part = in_directory(parent_of(&at), &part::name(name, &meter.job.plan.tag));
        let keep: &[u8] = if meter.options().no_clobber { b"1" } else { b"" };
        meter.asked();
        let errand = command("link", &[&option_free(&at), text, &option_free(&part), keep]);
        let told = Some(Entry::new(&entry, EntryAction::Linked, 0));
        self.send(errand, Waiting::Last { path: at, entry, told }).await
    }
}
