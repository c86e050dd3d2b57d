//! From there to here: where each source goes, and a walk through it with many files on their way at once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use futures_util::StreamExt as _;

use super::attributes::{Attributes, Type};
use super::faults::Act;
use super::find::{find, is_name, looks};
use super::get::{Ingoing, get};
use super::lanes::{Lanes, lanes_for};
use super::level::{Ahead, Asking, Level};
use super::listing::Listing;
use super::print::to_stdout;
use super::remote::{Answer, PATH_MOST, violation};
use super::wire::{Name, status};
use super::work::{Outcome, Work};
use crate::errors::Fault;
use crate::model::copy::{LocalTarget, RemotePath, Symlinks};
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::local::target::{Settled, Times, Tree, standing};
use crate::operation::transfer::local::{self, DEPTH_MAX};
use crate::operation::transfer::part;
use crate::operation::transfer::place::join;
use crate::operation::transfer::place::{Place, Standing, Subject, name_of, place};

/// So much of a name that is none is shown.
const NAME_SHOWN: usize = 255;

/// Copies all sources.
pub async fn download<S: Sink>(
    work: &Work<'_, '_, S>,
    sources: &[RemotePath],
    target: &LocalTarget,
) -> Result<(), Fault> {
    let mut found = Vec::new();
    for source in sources {
        match find(work, source).await {
            Ok(paths) => found.extend(paths),
            Err(fault) => work.settle(name_of(&source.0).unwrap_or_default(), Err(fault))?,
        }
    }
    let target = match target {
        LocalTarget::Stdout => return to_stdout(work, &found).await,
        LocalTarget::Path(path) => path,
    };
    let tree = RefCell::new(Tree::open(target, work.options(), &work.job.leftovers));
    let skip = visit(work, &tree, target, &found, sources.len() > 1 || found.len() > 1).await?;
    finish(work, tree.into_inner(), skip)
}

/// Fetches what was found, and returns how much longer the paths of the tree are than those of the report.
async fn visit<S: Sink>(
    work: &Work<'_, '_, S>,
    tree: &RefCell<Tree>,
    target: &Path,
    found: &[Vec<u8>],
    several: bool,
) -> Result<usize, Fault> {
    let mut visit = Visit {
        work,
        tree,
        target,
        standing: standing(target)?,
        several,
        lanes: Lanes::new(),
        inside: Vec::new(),
        asking: Asking { follow: work.options().symlinks == Symlinks::Follow, open: Cell::new(0) },
        names: BTreeSet::new(),
        skip: 0,
    };
    if several {
        work.job.lands_at(target);
    }
    let mut looks = std::pin::pin!(looks(work, found, work.options().symlinks == Symlinks::Follow));
    while let Some((path, known)) = visit.lanes.during(looks.next()).await? {
        let below = if several { name_of(path).unwrap_or_default().to_vec() } else { Vec::new() };
        if let Err(fault) = visit.source(path.to_vec(), known, &below).await {
            work.settle(&below, Err(fault))?;
        }
    }
    while visit.lanes.one().await? {}
    Ok(visit.skip)
}

/// Links, then modes and times of directories.
fn finish<S: Sink>(work: &Work<'_, '_, S>, tree: Tree, skip: usize) -> Result<(), Fault> {
    let mut result = Ok(());
    tree.finish(|settled| {
        let (at, outcome) = match settled {
            Settled::Linked(at) => {
                let entry = Entry::new(at.get(skip..).unwrap_or_default(), EntryAction::Linked, 0);
                (at, Ok(Outcome::Done(entry)))
            }
            Settled::Kept(at) => (at, Ok(Outcome::Kept)),
            Settled::Failed(at, fault) => (at, Err(fault)),
        };
        let told = work.settle(at.get(skip..).unwrap_or_default(), outcome);
        if result.is_ok() {
            result = told;
        }
    });
    result
}

/// What is gone through.
struct Visit<'w, 'a, 'j, S> {
    work: &'w Work<'a, 'j, S>,
    tree: &'w RefCell<Tree>,
    target: &'w Path,
    standing: Standing,
    several: bool,
    lanes: Lanes<'w>,
    inside: Vec<Level>,
    asking: Asking,
    names: BTreeSet<Vec<u8>>,
    skip: usize,
}

impl<S: Sink> Visit<'_, '_, '_, S> {
    /// The path in the report of a place in the tree.
    fn below<'p>(&self, at: &'p [u8]) -> &'p [u8] {
        at.get(self.skip..).unwrap_or_default()
    }

    /// One source, from the top.
    async fn source(&mut self, path: Vec<u8>, known: Answer<Attributes>, below: &[u8]) -> Result<(), Fault> {
        let work = self.work;
        let options = work.options();
        let known = match known {
            Ok(known) => known,
            Err(denied) if denied.code() == Some(status::NO_SUCH_FILE) => match work.remote.lstat(&path).await {
                Ok(_) => {
                    work.job.ledger.borrow_mut().skipped(below, "dangling_link");
                    return Ok(());
                }
                Err(denied) => return Err(work.explain(denied, &path, Act::Read).await),
            },
            Err(denied) => return Err(work.explain(denied, &path, Act::Read).await),
        };
        let is_directory = known.file_type() == Some(Type::Directory);
        if is_directory && !options.recursive {
            return Err(Fault::SourceIsDirectory { path: work.shown(&path) });
        }
        let name = name_of(&path).filter(|name| is_name(name)).map(<[u8]>::to_vec);
        let subject = Subject { is_directory, has_name: name.is_some(), among_several: self.several };
        let target = self.target.as_os_str().as_bytes();
        let shown = |below: Option<&[u8]>| {
            let path = below.map_or(self.target.to_owned(), |below| self.target.join(OsStr::from_bytes(below)));
            path.to_string_lossy().into_owned()
        };
        let at = match place(target, self.standing, subject, options.parents) {
            Ok(Place::Itself) => Vec::new(),
            Ok(Place::Into) => name.clone().unwrap_or_default(),
            Err(no_place) => return Err(no_place.fault(shown(None), shown(name.as_deref()))),
        };
        if self.several && !self.names.insert(at.clone()) {
            let problem = "another source has the same name".to_owned();
            return Err(Fault::TransferRefused { path: work.shown(&path), problem });
        }
        if !self.several {
            work.job.lands_at(&if at.is_empty() {
                self.target.to_owned()
            } else {
                self.target.join(OsStr::from_bytes(&at))
            });
            // What is below the source comes after its name and a slash.
            self.skip = if at.is_empty() { 0 } else { at.len() + 1 };
            work.total.set(known.size.filter(|_| !is_directory));
        }
        let real = if is_directory && options.symlinks == Symlinks::Follow {
            work.remote.realpath(&path).await.unwrap_or_else(|_| path.clone())
        } else {
            Vec::new()
        };
        self.entry(path, at, known, real, Ahead::Nothing).await?;
        self.walk().await
    }

    /// Goes through everything that is open.
    async fn walk(&mut self) -> Result<(), Fault> {
        let work = self.work;
        while let Some(level) = self.inside.last_mut() {
            level.look_ahead(&work.remote, &self.asking, &mut self.lanes);
            if let Some((name, ahead)) = level.next(&self.asking) {
                self.child(name, ahead).await?;
                continue;
            }
            match self.lanes.during(level.more(&work.remote)).await? {
                Ok(true) => {}
                Ok(false) => {
                    self.inside.pop();
                }
                Err(denied) => {
                    let Some(level) = self.inside.pop() else { break };
                    let fault = work.explain(denied, &level.path, Act::Read).await;
                    work.settle(self.below(&level.at), Err(fault))?;
                }
            }
        }
        Ok(())
    }

    async fn child(&mut self, name: Name, ahead: Ahead) -> Result<(), Fault> {
        let work = self.work;
        let Some(level) = self.inside.last() else { return Ok(()) };
        let Name { name, attributes: mut known } = name;
        if !is_name(&name) {
            // It may be as long as a packet, and there may be no end of them.
            let name = &name[..name.len().min(NAME_SHOWN)];
            let problem = format!("`{}` is no name in a directory", String::from_utf8_lossy(name));
            return work.settle(&join(self.below(&level.at), name), Err(violation(problem)));
        }
        let shown = join(self.below(&level.at), &name);
        if part::is_part(&name) {
            work.job.ledger.borrow_mut().skipped(&shown, "partial_file");
            return Ok(());
        }
        if level.path.len() + name.len() >= PATH_MOST {
            let problem = format!("its path on the host is longer than {PATH_MOST} bytes");
            let path = work.shown(&name);
            return work.settle(self.below(&level.at), Err(Fault::TransferRefused { path, problem }));
        }
        let (path, at, mut real) = (join(&level.path, &name), join(&level.at, &name), Vec::new());
        if work.options().symlinks == Symlinks::Follow {
            real = join(&level.real, &name);
        }
        if known.file_type().is_none() {
            match self.lanes.during(work.remote.lstat(&path)).await? {
                Ok(found) => known = found,
                Err(denied) => {
                    let fault = work.explain(denied, &path, Act::Read).await;
                    return work.settle(&shown, Err(fault));
                }
            }
        }
        if known.file_type() == Some(Type::Symlink) && work.options().symlinks == Symlinks::Follow {
            match self.behind(&path, &shown, ahead).await? {
                Some((found, where_to)) => {
                    (known, real) = (found, where_to);
                    return self.entry(path, at, known, real, Ahead::Nothing).await;
                }
                None => return Ok(()),
            }
        }
        self.entry(path, at, known, real, ahead).await
    }

    /// What a link leads to; none where that was told.
    async fn behind(
        &mut self,
        path: &[u8],
        shown: &[u8],
        ahead: Ahead,
    ) -> Result<Option<(Attributes, Vec<u8>)>, Fault> {
        let work = self.work;
        let found = match ahead {
            Ahead::Behind(asked) => self.lanes.during(asked).await?,
            _ => self.lanes.during(work.remote.stat(path)).await?,
        };
        let found = match found {
            Ok(found) => found,
            Err(denied) if denied.code() == Some(status::NO_SUCH_FILE) => {
                work.job.ledger.borrow_mut().skipped(shown, "dangling_link");
                return Ok(None);
            }
            Err(denied) => {
                let fault = work.explain(denied, path, Act::Read).await;
                work.settle(shown, Err(fault))?;
                return Ok(None);
            }
        };
        if found.file_type() != Some(Type::Directory) {
            return Ok(Some((found, Vec::new())));
        }
        let real = match self.lanes.during(work.remote.realpath(path)).await? {
            Ok(real) => real,
            Err(denied) => {
                let fault = work.explain(denied, path, Act::Read).await;
                work.settle(shown, Err(fault))?;
                return Ok(None);
            }
        };
        if self.inside.iter().any(|level| level.real == real) {
            work.job.ledger.borrow_mut().skipped(shown, "link_loop");
            return Ok(None);
        }
        Ok(Some((found, real)))
    }

    /// Takes an entry of a known kind.
    async fn entry(
        &mut self,
        path: Vec<u8>,
        at: Vec<u8>,
        known: Attributes,
        real: Vec<u8>,
        ahead: Ahead,
    ) -> Result<(), Fault> {
        let (work, tree) = (self.work, self.tree);
        let below = self.below(&at).to_vec();
        match known.file_type() {
            Some(Type::Directory) => self.enter(path, at, &known, real, ahead).await,
            Some(Type::Symlink) if work.options().symlinks == Symlinks::Skip => {
                work.job.ledger.borrow_mut().skipped(&below, "symlink");
                Ok(())
            }
            Some(Type::Symlink) => {
                let times = known.times.map(|(atime, mtime)| Times { mtime: mtime.into(), atime: atime.into() });
                let link = async move {
                    let noted = match work.remote.readlink(&path).await {
                        Ok(text) => tree.borrow_mut().symlink(&at, &text, times),
                        Err(denied) => Err(work.explain(denied, &path, Act::Read).await),
                    };
                    noted.or_else(|fault| work.settle(&below, Err(fault)))
                };
                self.lanes.send(1, link).await
            }
            Some(Type::Other(kind)) => {
                work.job.ledger.borrow_mut().skipped(&below, kind);
                Ok(())
            }
            // One whose kind the server does not say is read as a file.
            Some(Type::File) | None => {
                let lanes = lanes_for(known.size.unwrap_or_default());
                let file = async move {
                    let file = Ingoing { path, known, at, below: below.clone() };
                    work.settle(&below, get(work, tree, file).await)
                };
                self.lanes.send(lanes, file).await
            }
        }
    }

    async fn enter(
        &mut self,
        path: Vec<u8>,
        at: Vec<u8>,
        known: &Attributes,
        real: Vec<u8>,
        ahead: Ahead,
    ) -> Result<(), Fault> {
        let work = self.work;
        let below = self.below(&at).to_vec();
        if self.inside.len() >= DEPTH_MAX {
            return work.settle(&below, Err(local::too_deep(&below)));
        }
        // Listed before it is made: what cannot be read leaves no trace.
        let opened = match ahead {
            Ahead::Opened(asked) => self.lanes.during(asked).await?.unwrap_or_else(|_| {
                let problem = "a listing was given up".to_owned();
                Err(Fault::Internal { problem }.into())
            }),
            _ => self.lanes.during(Listing::open(&work.remote, &path)).await?,
        };
        let listing = match opened {
            Ok(listing) => listing,
            Err(denied) => {
                let fault = work.explain(denied, &path, Act::Read).await;
                return work.settle(&below, Err(fault));
            }
        };
        let times = known.times.map(|(atime, mtime)| Times { mtime: mtime.into(), atime: atime.into() });
        let made = self.tree.borrow_mut().directory(&at, known.bits().unwrap_or(0o755), times);
        match made {
            Ok(true) => {
                work.touched();
                work.made(&below);
            }
            Ok(false) => {}
            Err(fault) => {
                listing.close(&work.remote);
                return work.settle(&below, Err(fault));
            }
        }
        let enters = self.inside.len() + 1 < DEPTH_MAX;
        self.inside.push(Level::new(listing, path, at, real, enters));
        Ok(())
    }
}
