//! What an upload reads: a walk through a tree, depth first, in the order of names, in bounded memory.

use std::ffi::OsString;
use std::fs::{self, File, FileType, Metadata, ReadDir};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{DEPTH_MAX, Kind, Meta, PERMISSIONS, unreadable};
use crate::errors::Fault;
use crate::model::copy::Symlinks;
use crate::operation::transfer::part;

/// So many names of a directory are sorted and held at a time.
const NAMES: usize = 8192;

/// A step of the walk.
#[derive(Debug)]
pub enum Found {
    /// Something to copy. A directory comes before what is in it.
    Item(Item),
    /// A directory all of whose entries were given.
    Leave(Item),
    /// Nothing that is copied.
    Skipped {
        /// Below the source's root.
        below: Vec<u8>,
        /// The stable word.
        reason: &'static str,
    },
    /// It cannot be read.
    Failed {
        /// Below the source's root.
        below: Vec<u8>,
        /// Why.
        fault: Fault,
    },
}

/// An entry of the source.
#[derive(Clone, Debug)]
pub struct Item {
    /// Below the source's root, joined by `/`; empty for the root itself.
    pub below: Vec<u8>,
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// As it was when it was looked at.
    pub meta: Meta,
    /// It was reached through a link of that name.
    followed: bool,
}

impl Item {
    /// Opens a file for reading, and says what it is now. One that has become something else meanwhile is not waited for, and a
    /// link that has taken its place is not followed.
    pub fn open(&self) -> Result<(File, Meta), Fault> {
        let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        if !self.followed {
            flags |= OFlags::NOFOLLOW;
        }
        let opened = rustix::fs::open(&self.path, flags, Mode::empty()).map_err(io::Error::from);
        let file = File::from(opened.map_err(|error| unreadable(&self.path, &error))?);
        let meta = file.metadata().map_err(|error| unreadable(&self.path, &error))?;
        if meta.is_file() {
            Ok((file, Meta::of(&meta)))
        } else {
            Err(unreadable(&self.path, &io::Error::other("it is no longer a regular file")))
        }
    }
}

impl Meta {
    pub(super) fn of(meta: &Metadata) -> Self {
        Self { mode: meta.mode() & PERMISSIONS, size: meta.size(), mtime: meta.mtime(), atime: meta.atime() }
    }
}

/// A walk.
#[derive(Debug)]
pub struct Walk {
    symlinks: Symlinks,
    root: Option<PathBuf>,
    levels: Vec<Level>,
}

/// A directory that is being read.
#[derive(Debug)]
struct Level {
    item: Item,
    /// Device and inode.
    id: (u64, u64),
    /// What was not read yet.
    more: Option<ReadDir>,
    /// What was, in order from the end.
    names: Vec<OsString>,
}

impl Walk {
    /// Looks at the root. A root that is not there, and a directory without `recursive`, is the error.
    pub fn new(root: &Path, recursive: bool, symlinks: Symlinks) -> Result<Self, Fault> {
        let look = match symlinks {
            Symlinks::Follow => fs::metadata(root),
            Symlinks::Keep | Symlinks::Skip => fs::symlink_metadata(root),
        };
        let meta = look.map_err(|error| unreadable(root, &error))?;
        if meta.is_dir() && !recursive {
            return Err(Fault::SourceIsDirectory { path: root.to_string_lossy().into_owned() });
        }
        Ok(Self { symlinks, root: Some(root.to_owned()), levels: Vec::new() })
    }

    /// The directory that was found last is not gone into, and not left.
    pub fn pass_over(&mut self) {
        self.levels.pop();
    }

    fn visit(&mut self, below: Vec<u8>, path: PathBuf, name: Option<&[u8]>) -> Found {
        match self.look(&below, &path, name) {
            Err(Unfit::Skipped(reason)) => Found::Skipped { below, reason },
            Err(Unfit::Failed(fault)) => Found::Failed { below, fault },
            Ok((kind, meta, followed)) => {
                let id = (meta.dev(), meta.ino());
                let item = Item { below, path, kind, meta: Meta::of(&meta), followed };
                if item.kind != Kind::Directory {
                    return Found::Item(item);
                }
                match Level::open(item.clone(), id) {
                    Ok(level) => self.levels.push(level),
                    Err(error) => {
                        return Found::Failed { fault: unreadable(&item.path, &error), below: item.below };
                    }
                }
                Found::Item(item)
            }
        }
    }

    /// What stands there, and whether a link led to it. `name`: none for the root, which the caller named.
    fn look(&self, below: &[u8], path: &Path, name: Option<&[u8]>) -> Result<(Kind, Metadata, bool), Unfit> {
        let failed = |error| Unfit::Failed(unreadable(path, &error));
        let mut meta = fs::symlink_metadata(path).map_err(failed)?;
        if !meta.is_dir() && name.is_some_and(part::is_part) {
            return Err(Unfit::Skipped("partial_file"));
        }
        let is_link = meta.is_symlink();
        if is_link {
            match self.symlinks {
                Symlinks::Skip => return Err(Unfit::Skipped("symlink")),
                Symlinks::Keep => {
                    let text = fs::read_link(path).map_err(failed)?.into_os_string().into_vec();
                    return Ok((Kind::Symlink { text }, meta, false));
                }
                Symlinks::Follow => meta = fs::metadata(path).map_err(|error| not_followed(path, &error))?,
            }
        }
        if meta.is_file() {
            return Ok((Kind::File, meta, is_link));
        }
        if !meta.is_dir() {
            return Err(Unfit::Skipped(word(meta.file_type())));
        }
        let id = (meta.dev(), meta.ino());
        if self.levels.iter().any(|level| level.id == id) {
            return Err(Unfit::Skipped("link_loop"));
        }
        if self.levels.len() >= DEPTH_MAX {
            return Err(Unfit::Failed(super::too_deep(below)));
        }
        Ok((Kind::Directory, meta, is_link))
    }
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        if let Some(root) = self.root.take() {
            return Some(self.visit(Vec::new(), root, None));
        }
        let level = self.levels.last_mut()?;
        match level.next() {
            Ok(Some(name)) => {
                let mut below = level.item.below.clone();
                if !below.is_empty() {
                    below.push(b'/');
                }
                below.extend_from_slice(name.as_bytes());
                let path = level.item.path.join(&name);
                Some(self.visit(below, path, Some(name.as_bytes())))
            }
            Ok(None) => self.levels.pop().map(|level| Found::Leave(level.item)),
            Err(error) => {
                // What comes after that cannot be read; what was read before is copied.
                level.more = None;
                let fault = unreadable(&level.item.path, &error);
                Some(Found::Failed { below: level.item.below.clone(), fault })
            }
        }
    }
}

impl Level {
    fn open(item: Item, id: (u64, u64)) -> io::Result<Self> {
        let more = Some(fs::read_dir(&item.path)?);
        Ok(Self { item, id, more, names: Vec::new() })
    }

    fn next(&mut self) -> io::Result<Option<OsString>> {
        if let (true, Some(more)) = (self.names.is_empty(), &mut self.more) {
            let read = more.take(NAMES).try_for_each(|entry| {
                self.names.push(entry?.file_name());
                Ok::<(), io::Error>(())
            });
            if self.names.len() < NAMES {
                // Exhausted: one open directory less.
                self.more = None;
            }
            self.names.sort_unstable_by(|a, b| b.cmp(a));
            read?;
        }
        Ok(self.names.pop())
    }
}

/// Why an entry is not copied.
enum Unfit {
    Skipped(&'static str),
    Failed(Fault),
}

fn not_followed(path: &Path, error: &io::Error) -> Unfit {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR) => Unfit::Skipped("dangling_link"),
        Some(Errno::LOOP) => Unfit::Skipped("link_loop"),
        _ => Unfit::Failed(unreadable(path, error)),
    }
}

fn word(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_fifo() => "fifo",
        kind if kind.is_socket() => "socket",
        _ => "device",
    }
}
