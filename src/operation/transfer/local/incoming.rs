//! One file that is being written: beside what it becomes, until it is whole.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid};
use rustix::io::Errno;

use super::target::Times;
use super::{Leftovers, PERMISSIONS, fault};
use crate::errors::Fault;
use crate::model::outcome::Phase;
use crate::operation::transfer::part;

/// The most pieces of one vectored write (`IOV_MAX` of Linux).
const PIECES: usize = 1024;
/// What the owner needs to continue a part.
const CONTINUE: u32 = 0o600;

/// Where a file goes.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    /// The directory that holds it.
    pub dir: Arc<OwnedFd>,
    /// Its name in there.
    pub name: Vec<u8>,
    /// The same as a path, for messages.
    pub shown: PathBuf,
}

impl Spot {
    /// Another name in its directory, as a path.
    pub fn beside(&self, name: &[u8]) -> PathBuf {
        self.shown.with_file_name(OsStr::from_bytes(name))
    }
}

/// What is set when all bytes are there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Final {
    /// Exactly these permission bits; none: as the file was created, through our umask.
    pub mode: Option<u32>,
    /// The owner and group of the file that is replaced.
    pub owner: Option<(u32, u32)>,
    /// Times.
    pub times: Option<Times>,
}

/// A file that is being written. Dropped before [`Incoming::commit`], what was written is removed (but not with `--resume` or
/// `--in-place`).
#[derive(Debug)]
pub struct Incoming {
    file: Arc<File>,
    spot: Spot,
    /// The temporary name, until it is renamed. None: written in place.
    part: Option<Vec<u8>>,
    /// What is there already.
    begins_at: u64,
    written: u64,
    last: Final,
    /// Nothing may be replaced.
    new_only: bool,
    /// What is there stays when we end early.
    resume: bool,
    /// Told then.
    left: Leftovers,
}

impl Incoming {
    /// Begins a temporary file beside `spot`; `mode` goes through the umask. One that may have to be continued can be opened
    /// again until it is whole, whatever its mode.
    pub(super) fn begin(
        spot: Spot,
        part: Vec<u8>,
        mode: u32,
        mut last: Final,
        resume: bool,
        left: Leftovers,
    ) -> Result<Self, Fault> {
        let open = if resume { mode | CONTINUE } else { mode };
        let create = || {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(&*spot.dir, &part[..], flags, bits(open))
        };
        let opened = match create() {
            Err(Errno::EXIST) if resume => reopen(&spot.dir, &part).and_then(|held| match held {
                Some(fd) => Ok(fd),
                None => rustix::fs::unlinkat(&*spot.dir, &part[..], AtFlags::empty()).and_then(|()| create()),
            }),
            other => other,
        };
        let file = Arc::new(File::from(opened.map_err(|errno| fault(&spot.shown, &errno.into()))?));
        let meta = file.metadata().map_err(|error| fault(&spot.shown, &error))?;
        if open != mode {
            // What the umask has left of it.
            last.mode.get_or_insert(meta.mode() & mode);
        }
        let begins_at = meta.len();
        Ok(Self { file, spot, part: Some(part), begins_at, written: 0, last, new_only: false, resume, left })
    }

    /// Begins to write the file itself.
    pub(super) fn in_place(spot: Spot, exists: bool, mode: u32, last: Final, resume: bool) -> Result<Self, Fault> {
        let how = if exists { OFlags::NONBLOCK | OFlags::NOCTTY } else { OFlags::CREATE | OFlags::EXCL };
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | how;
        let opened = rustix::fs::openat(&*spot.dir, &spot.name[..], flags, bits(mode)).or_else(|errno| match errno {
            // One that may be written and not read; nothing of it can be resumed then.
            Errno::ACCESS if exists => {
                let flags = flags.difference(OFlags::RDWR) | OFlags::WRONLY;
                rustix::fs::openat(&*spot.dir, &spot.name[..], flags, bits(mode))
            }
            errno => Err(errno),
        });
        let file = File::from(opened.map_err(|errno| fault(&spot.shown, &errno.into()))?);
        let meta = file.metadata().map_err(|error| fault(&spot.shown, &error))?;
        if !meta.is_file() {
            return Err(Fault::NotRegular { path: spot.shown.to_string_lossy().into_owned() });
        }
        let begins_at = if resume { meta.len() } else { 0 };
        let file = Arc::new(file);
        let left = Leftovers::default();
        // What is beyond its end is cut off in the end: in the beginning it may be what is read, where both sides are one.
        Ok(Self { file, spot, part: None, begins_at, written: 0, last, new_only: false, resume, left })
    }

    /// Where something has appeared meanwhile, it is not replaced.
    pub(super) fn new_only(mut self, new_only: bool) -> Self {
        self.new_only = new_only;
        self
    }

    /// How much is there already, with `--resume`. It may be more than the source has.
    pub fn begins_at(&self) -> u64 {
        self.begins_at
    }

    /// What is there already, to be compared: read it by offsets.
    pub fn held(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Nothing of what is there can be used.
    pub fn restart(&mut self) -> Result<(), Fault> {
        self.file.set_len(0).map_err(|error| fault(&self.spot.shown, &error))?;
        (self.begins_at, self.written) = (0, 0);
        Ok(())
    }

    /// Writes pieces that follow each other, without copying them. Each byte is written once, in any order.
    pub fn write_at(&mut self, offset: u64, pieces: &[Bytes]) -> Result<(), Fault> {
        let mut at = offset;
        for some in pieces.chunks(PIECES) {
            let mut slices: Vec<IoSlice<'_>> = some.iter().map(|piece| IoSlice::new(piece)).collect();
            let mut left = &mut slices[..];
            IoSlice::advance_slices(&mut left, 0);
            while !left.is_empty() {
                let count = match rustix::io::pwritev(&*self.file, left, at) {
                    Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                    Ok(count) => Ok(count),
                    Err(Errno::INTR) => continue,
                    Err(errno) => Err(io::Error::from(errno)),
                };
                let count = count.map_err(|error| fault(&self.spot.shown, &error))?;
                IoSlice::advance_slices(&mut left, count);
                at += count as u64;
            }
        }
        self.written += at - offset;
        Ok(())
    }

    /// The whole file is here: so many bytes, or it is a violation. Sets mode, group and times, syncs it, and renames it.
    ///
    /// Syncing a large file may take long, and happens elsewhere. Whoever is stopped meanwhile drops this and not the file: what
    /// was written is removed, and never gets its name after somebody was told that it did not.
    pub async fn commit(mut self, size: u64) -> Result<(), Fault> {
        self.set_whole(size)?;
        let file = self.held();
        let synced = tokio::task::spawn_blocking(move || file.sync_all()).await;
        let synced = synced.map_err(|error| Fault::Internal { problem: error.to_string() })?;
        synced.map_err(|error| fault(&self.spot.shown, &error))?;
        if let Some(part) = self.part.clone() {
            self.rename(&part)?;
            self.part = None;
        }
        Ok(())
    }

    /// Looks whether all of it is here, and sets what it shall have.
    fn set_whole(&self, size: u64) -> Result<(), Fault> {
        let shown = &self.spot.shown;
        let failed = |error| fault(shown, &error);
        if self.part.is_none() {
            // A longer file was there.
            self.file.set_len(size.min(self.begins_at.saturating_add(self.written))).map_err(failed)?;
        }
        let length = self.file.metadata().map_err(failed)?.len();
        if length != size || self.begins_at.checked_add(self.written) != Some(size) {
            let problem = format!("{} has {length} bytes where {size} were announced", shown.display());
            return Err(Fault::ServerViolation { problem, phase: Phase::Transfer });
        }
        self.settle().map_err(failed)
    }

    /// The name of the temporary file; none with `--in-place`.
    pub fn part_name(&self) -> Option<&[u8]> {
        self.part.as_deref()
    }

    /// Where it is written to, as a path for messages; links are resolved.
    pub fn shown(&self) -> &Path {
        &self.spot.shown
    }

    fn settle(&self) -> io::Result<()> {
        if let Some((uid, gid)) = self.last.owner {
            let meta = self.file.metadata()?;
            if (meta.uid(), meta.gid()) != (uid, gid) {
                let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
                // Only root can keep an owner, and only a member can keep a group. A group that cannot be kept gets no more
                // than everybody.
                let kept = rustix::fs::fchown(&*self.file, uid, gid);
                if kept.or_else(|_| rustix::fs::fchown(&*self.file, None, gid)).is_err() {
                    let mode = self.last.mode.unwrap_or(meta.mode());
                    let mode = mode & !0o070 | (mode & 0o070 & (mode << 3));
                    return self.set(Some(mode));
                }
            }
        }
        self.set(self.last.mode)
    }

    fn set(&self, mode: Option<u32>) -> io::Result<()> {
        if let Some(mode) = mode {
            self.file.set_permissions(PermissionsExt::from_mode(mode & PERMISSIONS))?;
        }
        match self.last.times {
            Some(times) => Ok(rustix::fs::futimens(&*self.file, &timestamps(times))?),
            None => Ok(()),
        }
    }

    fn rename(&self, part: &[u8]) -> Result<(), Fault> {
        let Spot { dir, name, shown } = &self.spot;
        let plainly = || rustix::fs::renameat(&**dir, part, &**dir, &name[..]);
        let renamed = if self.new_only {
            match rustix::fs::renameat_with(&**dir, part, &**dir, &name[..], RenameFlags::NOREPLACE) {
                // A file system, or a kernel, that cannot: then a look at least.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    match rustix::fs::statat(&**dir, &name[..], AtFlags::SYMLINK_NOFOLLOW) {
                        Err(Errno::NOENT) => plainly(),
                        Ok(_) => Err(Errno::EXIST),
                        Err(errno) => Err(errno),
                    }
                }
                other => other,
            }
        } else {
            plainly()
        };
        renamed.map_err(|errno| match errno {
            Errno::EXIST => {
                let problem = "it appeared meanwhile, and --no-clobber keeps it".to_owned();
                Fault::TransferRefused { path: shown.to_string_lossy().into_owned(), problem }
            }
            errno => fault(shown, &errno.into()),
        })
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        let Some(part) = &self.part else { return };
        let reason = if self.resume && self.begins_at + self.written > 0 {
            part::RESUMABLE
        } else {
            match rustix::fs::unlinkat(&*self.spot.dir, &part[..], AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => return,
                Err(errno) => log::info!("{} was not removed: {errno}", String::from_utf8_lossy(part)),
            }
            part::NOT_REMOVED
        };
        self.left.note(self.spot.beside(part), reason);
    }
}

/// A part of an earlier attempt, where it is one: a regular file of ours that has no other name.
fn reopen(dir: &OwnedFd, part: &[u8]) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = match rustix::fs::openat(dir, part, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::LOOP | Errno::NXIO | Errno::ACCESS | Errno::MLINK) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let file = File::from(fd);
    let Ok(meta) = file.metadata() else { return Ok(None) };
    let ours = meta.is_file() && meta.nlink() == 1 && meta.uid() == rustix::process::geteuid().as_raw();
    Ok(ours.then(|| file.into()))
}

pub(super) fn timestamps(times: Times) -> Timestamps {
    let stamp = |tv_sec| Timespec { tv_sec, tv_nsec: 0 };
    Timestamps { last_access: stamp(times.atime), last_modification: stamp(times.mtime) }
}

/// Bits for a call that creates.
pub(super) fn bits(mode: u32) -> Mode {
    // The kernel's type is narrower than 32 bits on some systems; what is kept fits all of them.
    Mode::from_bits_truncate((mode & PERMISSIONS) as rustix::fs::RawMode)
}

/// Opens the directory at a path of the caller's, links followed.
pub(super) fn directory_at(path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    rustix::fs::openat(CWD, path.as_os_str().as_bytes(), super::beneath::WALK, Mode::empty())
}
