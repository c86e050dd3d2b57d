//! From here to there: where each source goes, and a walk through it with many files on their way at once.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::rc::Rc;

use super::directory::Directory;
use super::faults::Act;
use super::feed::Feed;
use super::lanes::{Lanes, lanes_for};
use super::link;
use super::put::{Outgoing, put};
use super::spot::Spot;
use super::wire::status;
use super::work::Work;
use crate::errors::Fault;
use crate::model::copy::{LocalSource, RemotePath};
use crate::model::sink::Sink;
use crate::operation::transfer::local::source::{Found, Item, Walk};
use crate::operation::transfer::local::{self, Kind};
use crate::operation::transfer::place::join;
use crate::operation::transfer::place::{Place, Standing, Subject, bare, name_of, parent_of, place};

/// Copies all sources.
pub async fn upload<S: Sink>(
    work: &Work<'_, '_, S>,
    sources: &[LocalSource],
    target: &RemotePath,
) -> Result<(), Fault> {
    let target = work.expand(target).await?;
    let standing = standing(work, &target).await?;
    let several = sources.len() > 1;
    if several {
        work.job.landing.borrow_mut().root = Some(work.absolute(&target));
    }
    let mut fleet = Fleet { work, lanes: Lanes::new(), closing: Vec::new(), several };
    let mut names = BTreeSet::new();
    for source in sources {
        let (name, subject) = subject(source, several);
        let below = if several { name.clone().unwrap_or_default() } else { Vec::new() };
        let twice = several && !names.insert(below.clone());
        let sent = if twice {
            let problem = "another source has the same name".to_owned();
            Err(Fault::TransferRefused { path: shown(source), problem })
        } else {
            let whither = whither(work, &target, standing, subject, name.as_deref());
            match whither {
                Ok(to) => fleet.source(source, &to, &below, several).await,
                Err(fault) => Err(fault),
            }
        };
        if let Err(fault) = sent {
            work.settle(&below, Err(fault))?;
        }
        if several && subject.is_directory {
            // One that is merged into it finds it made.
            while fleet.lanes.one().await? {}
        }
    }
    fleet.land().await
}

fn shown(source: &LocalSource) -> String {
    match source {
        LocalSource::Stdin => "standard input".to_owned(),
        LocalSource::Path(path) => path.to_string_lossy().into_owned(),
    }
}

/// What stands at the target; links are followed.
async fn standing<S: Sink>(work: &Work<'_, '_, S>, target: &[u8]) -> Result<Standing, Fault> {
    match work.remote.stat(target).await {
        Ok(found) if found.file_type() == Some(super::attributes::Type::Directory) => Ok(Standing::Directory),
        Ok(_) => Ok(Standing::Other),
        Err(denied) if denied.code() == Some(status::NO_SUCH_FILE) => match bare(target) {
            Some(bare) if work.remote.stat(bare).await.is_ok() => Ok(Standing::Other),
            _ => Ok(Standing::Missing),
        },
        Err(denied) => Err(work.explain(denied, target, Act::Set).await),
    }
}

fn subject(source: &LocalSource, among_several: bool) -> (Option<Vec<u8>>, Subject) {
    let (name, is_directory) = match source {
        LocalSource::Stdin => (None, false),
        LocalSource::Path(path) => (name_of(path.as_os_str().as_bytes()).map(<[u8]>::to_vec), path.is_dir()),
    };
    let subject = Subject { is_directory, has_name: name.is_some(), among_several };
    (name, subject)
}

/// The path of a source on the host.
fn whither<S: Sink>(
    work: &Work<'_, '_, S>,
    target: &[u8],
    standing: Standing,
    subject: Subject,
    name: Option<&[u8]>,
) -> Result<Vec<u8>, Fault> {
    let into = || match name {
        Some(name) if target == b"." => name.to_vec(),
        Some(name) => join(target, name),
        None => target.to_vec(),
    };
    match place(target, standing, subject, work.options().parents) {
        Ok(Place::Itself) => Ok(target.to_vec()),
        Ok(Place::Into) => Ok(into()),
        Err(no_place) => Err(no_place.fault(work.shown(target), work.shown(&into()))),
    }
}

/// Files on their way.
struct Fleet<'w, 'a, 'j, S> {
    work: &'w Work<'a, 'j, S>,
    lanes: Lanes<'w>,
    /// Directories that get their mode and times once all in them is there.
    closing: Vec<Rc<Directory>>,
    /// A later source may be merged into the same directory: then all of them wait for the end.
    several: bool,
}

impl<'w, S: Sink> Fleet<'w, '_, '_, S> {
    /// Sends one source to this path.
    async fn source(&mut self, source: &LocalSource, to: &[u8], below: &[u8], several: bool) -> Result<(), Fault> {
        let work = self.work;
        if !several {
            work.job.landing.borrow_mut().root = Some(work.absolute(to));
        }
        let mut walk = match source {
            LocalSource::Path(path) => Some(Walk::new(path, work.options().recursive, work.options().symlinks)?),
            LocalSource::Stdin => None,
        };
        if work.options().parents {
            Directory::make_all(work, parent_of(to)).await?;
        }
        let Some(walk) = &mut walk else { return self.stream(to, below).await };
        let mut inside: Vec<Rc<Directory>> = Vec::new();
        for found in walk.by_ref() {
            let path = |item: &Item| if item.below.is_empty() { to.to_vec() } else { join(to, &item.below) };
            match found {
                Found::Item(item) => {
                    let (at, entry) = (path(&item), join(below, &item.below));
                    let above = inside.last().cloned();
                    match item.kind.clone() {
                        Kind::Directory => {
                            let directory = Rc::new(Directory::new(at, above, item.meta));
                            inside.push(Rc::clone(&directory));
                            self.send(1, async move {
                                let made = directory.made(work).await;
                                match made {
                                    Ok(true) => work.made(&entry),
                                    Ok(false) => {}
                                    Err(fault) => work.settle(&entry, Err(fault))?,
                                }
                                Ok(())
                            })
                            .await?;
                        }
                        Kind::Symlink { text } => {
                            self.send(1, async move {
                                let linked = async {
                                    let free = is_free(work, above.as_deref()).await?;
                                    link::make(work, &text, &at, free, item.meta, &entry).await
                                };
                                work.settle(&entry, linked.await)
                            })
                            .await?;
                        }
                        Kind::File => self.file(item, at, entry, above).await?,
                    }
                }
                Found::Leave(_) => {
                    if let Some(directory) = inside.pop() {
                        if directory.is_touched_last(work) {
                            self.closing.push(directory);
                        }
                        self.close();
                    }
                }
                Found::Skipped { below: at, reason } => {
                    work.job.ledger.borrow_mut().skipped(&join(below, &at), reason);
                }
                Found::Failed { below: at, fault } => work.settle(&join(below, &at), Err(fault))?,
            }
        }
        Ok(())
    }

    async fn file(
        &mut self,
        item: Item,
        at: Vec<u8>,
        entry: Vec<u8>,
        above: Option<Rc<Directory>>,
    ) -> Result<(), Fault> {
        let work = self.work;
        if above.is_none() && item.below.is_empty() {
            work.total.set(Some(item.meta.size).filter(|_| work.job.plan.way.is_single()));
        }
        self.send(lanes_for(item.meta.size), async move {
            let sent = async {
                let free = is_free(work, above.as_deref()).await?;
                let (file, meta) = item.open()?;
                let spot = if free { Spot::free(at) } else { Spot::find(work, &at).await? };
                let feed = Feed::file(file, item.path, meta, work.options().verify);
                put(work, Outgoing { feed, meta: Some(meta), spot, below: entry.clone() }).await
            };
            work.settle(&entry, sent.await)
        })
        .await
    }

    async fn stream(&mut self, to: &[u8], below: &[u8]) -> Result<(), Fault> {
        let work = self.work;
        let missing = || local::unreadable(Path::new(OsStr::new("standard input")), &io::Error::other("it is gone"));
        let stdin: Option<io::Result<File>> = work.job.plan.stdin.as_ref().map(File::try_clone);
        let stdin = stdin.and_then(Result::ok).ok_or_else(missing)?;
        let (to, below) = (to.to_vec(), below.to_vec());
        self.send(1, async move {
            let sent = async {
                let spot = Spot::find(work, &to).await?;
                let feed = Feed::stream(stdin, work.options().verify);
                put(work, Outgoing { feed, meta: None, spot, below: below.clone() }).await
            };
            work.settle(&below, sent.await)
        })
        .await
    }

    /// Starts something, once there are lanes for it.
    async fn send(&mut self, lanes: usize, work: impl Future<Output = Result<(), Fault>> + 'w) -> Result<(), Fault> {
        while !self.lanes.has_room(lanes) && self.lanes.one().await? {
            self.close();
        }
        self.lanes.start(lanes, work);
        Ok(())
    }

    /// Ends the directories that nothing is on its way to any more.
    fn close(&mut self) {
        if self.several {
            return;
        }
        let (ready, open) =
            std::mem::take(&mut self.closing).into_iter().partition(|directory| Rc::strong_count(directory) == 1);
        self.closing = open;
        self.end(ready);
    }

    fn end(&mut self, directories: Vec<Rc<Directory>>) {
        let work = self.work;
        for directory in directories {
            self.lanes.start(1, async move { directory.end(work).await });
        }
    }

    /// Leaves one of those that are the same directory: the last, whose mode and times it shall have.
    fn merge(&mut self) {
        let mut last = BTreeMap::new();
        for directory in self.closing.drain(..) {
            match last.entry(directory.path().to_vec()) {
                Entry::Vacant(free) => drop(free.insert(directory)),
                Entry::Occupied(taken) if taken.get().outlasts_later(self.work) => {}
                Entry::Occupied(mut taken) => drop(taken.insert(directory)),
            }
        }
        self.closing = last.into_values().collect();
    }

    /// Waits for all that is on its way.
    async fn land(mut self) -> Result<(), Fault> {
        if std::mem::take(&mut self.several) {
            while self.lanes.one().await? {}
            self.merge();
            let depth = |directory: &Rc<Directory>| directory.path().split(|b| *b == b'/').count();
            while let Some(deepest) = self.closing.iter().map(depth).max() {
                let (ready, above) = std::mem::take(&mut self.closing).into_iter().partition(|it| depth(it) == deepest);
                self.closing = above;
                self.end(ready);
                while self.lanes.one().await? {}
            }
        }
        loop {
            self.close();
            if !self.lanes.one().await? && self.closing.is_empty() {
                return Ok(());
            }
        }
    }
}

/// Waits for the directory above; whether it was made just now, so that nothing stands in it.
async fn is_free<S: Sink>(work: &Work<'_, '_, S>, above: Option<&Directory>) -> Result<bool, Fault> {
    match above {
        Some(above) => above.made(work).await,
        None => Ok(false),
    }
}
