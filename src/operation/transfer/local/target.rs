//! What a download writes: a tree that no name, and no link that is there or appears, leads out of.

use std::fs::File;
use std::path::Path;

use bytes::Bytes;

use crate::errors::Fault;
use crate::model::copy::CopyOptions;
use crate::operation::transfer::place::Standing;

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
    /// The tag of its temporary file: the attempt's, or with `--resume` [`crate::operation::transfer::part::resume_tag`].
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
pub fn standing(_path: &Path) -> Result<Standing, Fault> {
    Ok(Standing::Missing)
}

/// The target. Paths are below its root, joined by `/`; the empty one is the root itself. Nothing is touched before it has to be.
#[derive(Debug)]
pub struct Tree {}

impl Tree {
    /// A target at this path, which may be a link, as may be anything on the way to it.
    pub fn open(_root: &Path, _options: &CopyOptions) -> Self {
        Self {}
    }

    /// Makes a directory, or merges with the one that is there. True where it was made. It can be filled whatever its mode; mode
    /// and times are set when it is left, or in the end.
    pub fn directory(&mut self, _below: &[u8], _mode: u32, _times: Option<Times>) -> Result<bool, Fault> {
        Err(Fault::Internal { problem: String::new() })
    }

    /// All of a directory is there: sets its mode and times. Not needed, but it keeps the memory small.
    pub fn leave(&mut self, _below: &[u8]) -> Result<(), Fault> {
        Err(Fault::Internal { problem: String::new() })
    }

    /// Begins a file. None: something is there, and `--no-clobber` keeps it.
    pub fn file(&mut self, _below: &[u8], _wanted: &Wanted<'_>) -> Result<Option<Incoming>, Fault> {
        Err(Fault::Internal { problem: String::new() })
    }

    /// Notes a symbolic link, to be made in the end so that nothing is written through it.
    pub fn symlink(&mut self, _below: &[u8], _text: &[u8]) -> Result<(), Fault> {
        Err(Fault::Internal { problem: String::new() })
    }

    /// Makes the links, then sets modes and times of the directories that were not left, deepest first. Tells of each link.
    pub fn finish(self, _tell: impl FnMut(Settled)) {}
}

/// A file that is being written. Dropped before [`Incoming::commit`], what was written is removed (but not with `--resume` or
/// `--in-place`).
#[derive(Debug)]
pub struct Incoming {}

impl Incoming {
    /// How much is there already, with `--resume`. It may be more than the source has.
    pub fn begins_at(&self) -> u64 {
        0
    }

    /// What is there already, to be compared. Reading moves no position of ours.
    pub fn held(&self) -> &File {
        unreachable!()
    }

    /// Nothing of what is there can be used.
    pub fn restart(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Writes pieces that follow each other, without copying them. Each byte is written once, in any order.
    pub fn write_at(&mut self, _offset: u64, _pieces: &[Bytes]) -> Result<(), Fault> {
        Ok(())
    }

    /// The whole file is here: so many bytes, or it is a violation. Syncs it, sets mode, group and times, and renames it. May take
    /// long for a large file.
    pub fn commit(self, _size: u64) -> Result<(), Fault> {
        Ok(())
    }

    /// Where the temporary file is, below the root's directory; none with `--in-place`.
    pub fn part_path(&self) -> Option<&Path> {
        None
    }
}
