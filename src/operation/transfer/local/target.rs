//! What a download writes: a tree that no name, and no link that is there or appears, leads out of.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

use super::beneath::{Base, NoWay};
use super::directories::Directories;
pub use super::incoming::Incoming;
use super::incoming::{Final, Spot, bits, directory_at};
use super::links::Links;
use super::{Leftovers, PERMISSIONS, fault, mode_of};
use crate::errors::Fault;
use crate::model::copy::CopyOptions;
use crate::model::outcome::Phase;
use crate::operation::transfer::part;
use crate::operation::transfer::place::Standing;

/// The most links from a target to where it is.
const LINKS_MAX: usize = 40;

/// When something was last changed and read; seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Changed.
    pub mtime: i64,
    /// Read.
    pub atime: i64,
}

/// A file as it shall be.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// The source's permission bits; what else is in it is ignored.
    pub mode: u32,
    /// The source's times, where they are known. Kept with `--preserve`.
    pub times: Option<Times>,
    /// The tag of its temporary file: the attempt's, or with `--resume` [`part::resume_tag`].
    pub tag: &'a str,
    /// With `--resume`: continue a part with this tag where there is one, and leave it where this one stays unfinished.
    pub resume: bool,
}

/// What became of a link or a directory in the end.
#[derive(Debug)]
pub enum Settled {
    /// The link was made, or was there.
    Linked(Vec<u8>),
    /// Something is there, and `--no-clobber` keeps it.
    Kept(Vec<u8>),
    /// The link could not be made, or the directory not be given its mode or times.
    Failed(Vec<u8>, Fault),
}

/// What stands at a local target. Links are followed.
pub fn standing(path: &Path) -> Result<Standing, Fault> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(Standing::Directory),
        Ok(_) => Ok(Standing::Other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Standing::Missing),
        Err(error) => Err(fault(path, &error)),
    }
}

/// The target. Paths are below its root, joined by `/`; the empty one is the root itself. Nothing is touched before it has to be.
/// Dropped, it gives the directories their modes.
#[derive(Debug)]
pub struct Tree {
    at: Place,
    directories: Directories,
    links: Links,
}

/// Where the target is, and how it is written.
#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "they are the options' names")]
pub(super) struct Place {
    root: PathBuf,
    in_place: bool,
    no_clobber: bool,
    parents: bool,
    pub(super) preserve: bool,
    mode: Option<u32>,
    /// What stays of what was not finished.
    pub(super) left: Leftovers,
    base: Option<Base>,
    /// The directory that was used last.
    last: Option<(Vec<u8>, Arc<OwnedFd>)>,
}

impl Tree {
    /// A target at this path, which may be a link, as may be anything on the way to it. What stays of a file that is given up is
    /// told to `left`.
    pub fn open(root: &Path, options: &CopyOptions, left: &Leftovers) -> Self {
        let at = Place {
            root: root.to_owned(),
            in_place: options.in_place,
            no_clobber: options.no_clobber,
            parents: options.parents,
            preserve: options.preserve,
            mode: options.mode,
            left: left.clone(),
            base: None,
            last: None,
        };
        Self { at, directories: Directories::default(), links: Links::default() }
    }

    /// Makes a directory, or merges with the one that is there. True where it was made. It can be filled whatever its mode; mode
    /// and times are set when it is left, or in the end.
    pub fn directory(&mut self, below: &[u8], mode: u32, times: Option<Times>) -> Result<bool, Fault> {
        let times = times.filter(|_| self.at.preserve);
        let is_new = if below.is_empty() { self.at.make_root(mode)? } else { self.at.make_directory(below, mode)? };
        let fd = self.at.directory(below)?;
        let exact = self.at.preserve.then_some(mode & PERMISSIONS);
        self.directories
            .entered(below, &fd, is_new.then_some(mode), exact, times)
            .map_err(|fault_of| fault(&self.at.shown(below), &fault_of.into()))?;
        Ok(is_new)
    }

    /// All of a directory is there: sets its mode and times. Not needed, but it keeps the memory small.
    pub fn leave(&mut self, below: &[u8]) -> Result<(), Fault> {
        self.directories.leave(below, &mut self.at)
    }

    /// Begins a file. None: something is there, and `--no-clobber` keeps it.
    pub fn file(&mut self, below: &[u8], wanted: &Wanted<'_>) -> Result<Option<Incoming>, Fault> {
        let at = &mut self.at;
        let mut spot = if below.is_empty() { at.spot_of_root()? } else { at.spot(below)? };
        let mut found = Place::look(&spot)?;
        if found.is_some() && at.no_clobber {
            return Ok(None);
        }
        if found.as_ref().is_some_and(|found| kind_of(found) == FileType::Symlink) {
            spot = at.behind(below)?;
            found = Place::look(&spot)?;
        }
        let path = || spot.shown.to_string_lossy().into_owned();
        match found.as_ref().map(kind_of) {
            None | Some(FileType::RegularFile) => {}
            Some(FileType::Directory) => return Err(Fault::IsDirectory { path: path() }),
            Some(_) => return Err(Fault::NotRegular { path: path() }),
        }
        let exact = at.mode.or(at.preserve.then_some(wanted.mode)).map(|mode| mode & PERMISSIONS);
        let times = wanted.times.filter(|_| at.preserve);
        let incoming = if at.in_place {
            // It keeps what it has, but for what was asked for.
            let last = Final { mode: exact, owner: None, times };
            Incoming::in_place(spot, found.is_some(), exact.unwrap_or(wanted.mode), last, wanted.resume)?
        } else {
            let part = part::name(&spot.name, wanted.tag);
            let (create, last) = match &found {
                Some(old) => {
                    let mode = exact.or(Some(mode_of(old) & PERMISSIONS));
                    (0o600, Final { mode, owner: Some((old.st_uid, old.st_gid)), times })
                }
                None => (exact.unwrap_or(wanted.mode), Final { mode: exact, owner: None, times }),
            };
            // Whoever may not read it in the end may not read it before.
            Incoming::begin(spot, part, create, last, wanted.resume, at.left.clone())?.new_only(at.no_clobber)
        };
        Ok(Some(incoming))
    }

    /// Notes a symbolic link, to be made in the end so that nothing is written through it. Its times are kept with `--preserve`.
    pub fn symlink(&mut self, below: &[u8], text: &[u8], times: Option<Times>) -> Result<(), Fault> {
        check(below)?;
        self.links.note(below, text, times.filter(|_| self.at.preserve))
    }

    /// Makes the links, then sets modes and times of the directories that were not left, deepest first. Tells of each link.
    pub fn finish(mut self, mut tell: impl FnMut(Settled)) {
        let links = std::mem::take(&mut self.links);
        links.make(&mut self.at, &mut tell);
        self.directories.settle(&mut self.at, &mut tell);
        self.at.sync_last();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.directories.settle(&mut self.at, &mut |settled| {
            if let Settled::Failed(_, fault) = settled {
                log::warn!("{fault}");
            }
        });
    }
}

impl Place {
    pub(super) fn shown(&self, below: &[u8]) -> PathBuf {
        if below.is_empty() { self.root.clone() } else { self.root.join(OsStr::from_bytes(below)) }
    }

    pub(super) fn no_clobber(&self) -> bool {
        self.no_clobber
    }

    fn base(&mut self) -> Result<&Base, Fault> {
        let base = if let Some(base) = self.base.take() {
            base
        } else {
            if self.parents {
                make_all(&self.root)?;
            }
            Base::open(&self.root).map_err(|error| fault(&self.root, &error))?
        };
        Ok(self.base.insert(base))
    }

    fn make_root(&mut self, mode: u32) -> Result<bool, Fault> {
        if self.parents
            && let Some(parent) = self.root.parent()
        {
            make_all(parent)?;
        }
        let mode = bits(mode | 0o700);
        match rustix::fs::mkdir(&self.root, mode) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST | Errno::ISDIR) => Ok(false),
            Err(errno) => Err(fault(&self.root, &errno.into())),
        }
    }

    fn make_directory(&mut self, below: &[u8], mode: u32) -> Result<bool, Fault> {
        let Spot { dir, name, shown } = self.spot(below)?;
        match rustix::fs::mkdirat(&*dir, &name[..], bits(mode | 0o700)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(fault(&shown, &errno.into())),
        }
    }

    /// The directory at this place.
    pub(super) fn directory(&mut self, below: &[u8]) -> Result<Arc<OwnedFd>, Fault> {
        if let Some((last, fd)) = &self.last
            && last == below
        {
            return Ok(Arc::clone(fd));
        }
        let found = self.base()?.directory(below);
        let fd = Arc::new(found.map_err(|no_way| self.no_way(below, no_way))?);
        self.sync_last();
        self.last = Some((below.to_owned(), Arc::clone(&fd)));
        Ok(fd)
    }

    /// Names that were given in a directory last are on the disk too. Not every file system can do that, and none has to.
    fn sync_last(&mut self) {
        if let Some((_, fd)) = self.last.take() {
            let synced = openat(&*fd, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                .and_then(rustix::fs::fsync);
            if let Err(errno) = synced {
                log::debug!("a directory was not synced: {errno}");
            }
        }
    }

    /// Where this place is, links at the place itself not followed.
    pub(super) fn spot(&mut self, below: &[u8]) -> Result<Spot, Fault> {
        check(below)?;
        let (parent, name) = match below.iter().rposition(|b| *b == b'/') {
            Some(at) => (&below[..at], &below[at + 1..]),
            None => (&b""[..], below),
        };
        Ok(Spot { dir: self.directory(parent)?, name: name.to_vec(), shown: self.shown(below) })
    }

    /// Where the root is as a file.
    fn spot_of_root(&mut self) -> Result<Spot, Fault> {
        let mut path = self.root.clone();
        for _ in 0..LINKS_MAX {
            match fs::read_link(&path) {
                // Relative to where the link is.
                Ok(text) if !self.no_clobber => path = path.parent().map_or(text.clone(), |parent| parent.join(&text)),
                _ => break,
            }
        }
        let shown = path.to_string_lossy().into_owned();
        let Some(name) = path.file_name() else { return Err(Fault::IsDirectory { path: shown }) };
        let parent = path.parent().unwrap_or(Path::new(""));
        if self.parents {
            make_all(parent)?;
        }
        let dir = directory_at(parent).map_err(|errno| fault(&path, &errno.into()))?;
        Ok(Spot { dir: Arc::new(dir), name: name.as_bytes().to_vec(), shown: path })
    }

    /// Where the link at this place leads.
    fn behind(&mut self, below: &[u8]) -> Result<Spot, Fault> {
        let shown = self.shown(below);
        let (dir, name) = self.base()?.place(below).map_err(|no_way| self.no_way(below, no_way))?;
        Ok(Spot { dir: Arc::new(dir), name, shown })
    }

    pub(super) fn look(spot: &Spot) -> Result<Option<Stat>, Fault> {
        match statat(&*spot.dir, &spot.name[..], AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(fault(&spot.shown, &errno.into())),
        }
    }

    fn no_way(&self, below: &[u8], no_way: NoWay) -> Fault {
        let path = self.shown(below);
        match no_way {
            NoWay::Outside => Fault::OutsideTheTarget { path: path.to_string_lossy().into_owned() },
            NoWay::Errno(errno) => fault(&path, &errno.into()),
        }
    }
}

pub(super) fn kind_of(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Makes the directories on the way.
fn make_all(path: &Path) -> Result<(), Fault> {
    fs::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Fault::NotADirectory { path: path.to_string_lossy().into_owned() },
        _ => fault(path, &error),
    })
}

/// A path below the root is made of names. Drivers see to that; this is what would have to fail too.
fn check(below: &[u8]) -> Result<(), Fault> {
    let fits = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
    if below.split(|b| *b == b'/').all(fits) {
        return Ok(());
    }
    let problem = format!("`{}` is no path below the target", String::from_utf8_lossy(below));
    Err(Fault::ServerViolation { problem, phase: Phase::Transfer })
}
