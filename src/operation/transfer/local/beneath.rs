//! Finding a place below a directory without ever leaving it.
//!
//! Each component is opened by itself, and no link is followed by the kernel: what a link says is walked in the same way, so it
//! may lead anywhere inside and nowhere else, and whoever swaps a directory for a link at the wrong moment gains nothing.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

use super::DEPTH_MAX;

/// The most links on the way to one place, as in the kernel.
const LINKS_MAX: usize = 40;

/// A directory that is only walked through needs no permission to list it.
#[cfg(target_os = "linux")]
pub const WALK: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// A directory that is walked through.
#[cfg(not(target_os = "linux"))]
pub const WALK: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Why there is no way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoWay {
    /// It leads out.
    Outside,
    /// As the system says.
    Errno(Errno),
}

impl From<Errno> for NoWay {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// The directory below which everything stays.
#[derive(Debug)]
pub struct Base {
    /// The directory.
    pub fd: OwnedFd,
    /// Where it is, without links: an absolute link may lead back in.
    pub path: PathBuf,
}

impl Base {
    /// Opens the directory at this path.
    pub fn open(path: &std::path::Path) -> std::io::Result<Self> {
        let fd = rustix::fs::open(path, WALK, Mode::empty())?;
        Ok(Self { fd, path: std::fs::canonicalize(path)? })
    }

    /// The directory at this place.
    pub fn directory(&self, below: &[u8]) -> Result<OwnedFd, NoWay> {
        let mut walk = Steps::new(self, below);
        while let Some(name) = walk.next()? {
            walk.enter(&name)?;
        }
        Ok(walk.into_here()?)
    }

    /// The directory that holds this place, and its name in there. A link at the place itself is followed.
    pub fn place(&self, below: &[u8]) -> Result<(OwnedFd, Vec<u8>), NoWay> {
        let mut walk = Steps::new(self, below);
        while let Some(name) = walk.next()? {
            if !walk.is_last() {
                walk.enter(&name)?;
                continue;
            }
            match readlinkat(walk.here(), &name[..], Vec::new()) {
                Ok(text) => walk.follow(text.as_bytes())?,
                Err(Errno::INVAL | Errno::NOENT) => return Ok((walk.into_here()?, name)),
                Err(errno) => return Err(errno.into()),
            }
        }
        // It is the base, or a directory that a link named by `..`.
        Err(Errno::ISDIR.into())
    }
}

struct Steps<'a> {
    base: &'a Base,
    /// The directories that were entered, from the base on.
    entered: Vec<OwnedFd>,
    /// What is still to go, the next one last.
    ahead: Vec<Vec<u8>>,
    links: usize,
}

impl<'a> Steps<'a> {
    fn new(base: &'a Base, below: &[u8]) -> Self {
        let mut steps = Self { base, entered: Vec::new(), ahead: Vec::new(), links: 0 };
        steps.add(below);
        steps
    }

    fn add(&mut self, path: &[u8]) {
        let names = path.split(|b| *b == b'/').filter(|name| !matches!(*name, b"" | b"."));
        self.ahead.extend(names.rev().map(<[u8]>::to_vec));
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.entered.last().map_or(self.base.fd.as_fd(), AsFd::as_fd)
    }

    fn into_here(mut self) -> Result<OwnedFd, Errno> {
        match self.entered.pop() {
            Some(fd) => Ok(fd),
            None => rustix::io::fcntl_dupfd_cloexec(&self.base.fd, 0),
        }
    }

    fn is_last(&self) -> bool {
        self.ahead.is_empty()
    }

    /// The next name that is one.
    fn next(&mut self) -> Result<Option<Vec<u8>>, NoWay> {
        while let Some(name) = self.ahead.pop() {
            if name != b".." {
                return Ok(Some(name));
            }
            if self.entered.pop().is_none() {
                return Err(NoWay::Outside);
            }
        }
        Ok(None)
    }

    fn enter(&mut self, name: &[u8]) -> Result<(), NoWay> {
        if self.entered.len() >= DEPTH_MAX {
            return Err(Errno::NAMETOOLONG.into());
        }
        match openat(self.here(), name, WALK | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(fd) => self.entered.push(fd),
            Err(Errno::LOOP | Errno::NOTDIR | Errno::MLINK) => match readlinkat(self.here(), name, Vec::new()) {
                Ok(text) => self.follow(text.as_bytes())?,
                Err(Errno::INVAL) => return Err(Errno::NOTDIR.into()),
                Err(errno) => return Err(errno.into()),
            },
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn follow(&mut self, text: &[u8]) -> Result<(), NoWay> {
        use std::os::unix::ffi::OsStrExt;

        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Errno::LOOP.into());
        }
        if !text.starts_with(b"/") {
            self.add(text);
            return Ok(());
        }
        let base = self.base.path.as_os_str().as_bytes();
        let base = base.strip_suffix(b"/").unwrap_or(base);
        let inside = text.strip_prefix(base).filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
        let Some(inside) = inside else { return Err(NoWay::Outside) };
        self.entered.clear();
        self.add(inside);
        Ok(())
    }
}
