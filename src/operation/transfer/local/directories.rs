//! Modes and times of directories: set when what is in them is there, since a mode may forbid filling and filling sets the time.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, RawMode, chmodat, statat, utimensat};
use rustix::io::Errno;

use super::incoming::timestamps;
use super::target::{Place, Settled, Times};
use super::{fault, mode_of};
use crate::errors::Fault;

/// What the owner needs to fill a directory.
const FILL: u32 = 0o700;

/// What directories whose last touch is still due may come to in memory, in bytes.
const PENDING: usize = 32 << 20;

/// The directories that were entered and not left.
#[derive(Debug, Default)]
pub(super) struct Directories {
    /// By their paths: what is in one comes after it.
    due: BTreeMap<Vec<u8>, Due>,
    bytes: usize,
}

#[derive(Debug)]
struct Due {
    mode: Option<u32>,
    times: Option<Times>,
}

impl Directories {
    /// A directory was entered. `made`: with these bits, and what filling needs; `exact`: the bits it shall have whatever the
    /// umask says. Where two sources merge in it, bits and times that were asked for are those of the last one.
    pub fn entered(
        &mut self,
        below: &[u8],
        fd: &OwnedFd,
        made: Option<u32>,
        exact: Option<u32>,
        times: Option<Times>,
    ) -> Result<(), Errno> {
        let stat = statat(fd, ".", AtFlags::empty())?;
        let now = mode_of(&stat) & 0o7777;
        // Setgid is the system's to hand down.
        let special = now & 0o7000;
        let last = match (exact, made) {
            (Some(exact), _) => special | exact,
            (None, Some(wished)) => now & !(FILL & !wished),
            (None, None) => now,
        };
        if now & FILL != FILL && stat.st_uid == rustix::process::geteuid().as_raw() {
            set_mode(fd, now | FILL)?;
        }
        if let Some(due) = self.due.get_mut(below) {
            // What it looks like now is what filling needs.
            if exact.is_some() {
                due.mode = Some(last);
            }
            due.times = times.or(due.times);
            return Ok(());
        }
        if last == now && now & FILL == FILL && times.is_none() {
            return Ok(());
        }
        if self.bytes + taken(below) > PENDING {
            return Err(Errno::NOMEM);
        }
        self.bytes += taken(below);
        self.due.insert(below.to_owned(), Due { mode: Some(last), times });
        Ok(())
    }

    /// All of it is there.
    pub fn leave(&mut self, below: &[u8], at: &mut Place) -> Result<(), Fault> {
        let Some(due) = self.due.remove(below) else { return Ok(()) };
        self.bytes -= taken(below);
        due.apply(below, at)
    }

    /// Those that are left, the deepest first.
    pub fn settle(&mut self, at: &mut Place, tell: &mut dyn FnMut(Settled)) {
        self.bytes = 0;
        while let Some((below, due)) = self.due.pop_last() {
            if let Err(fault) = due.apply(&below, at) {
                tell(Settled::Failed(below, fault));
            }
        }
    }
}

/// What one takes of the memory: its path, what is to be done, and its share of the map.
fn taken(below: &[u8]) -> usize {
    below.len() + 2 * size_of::<(Vec<u8>, Due)>()
}

impl Due {
    fn apply(&self, below: &[u8], at: &mut Place) -> Result<(), Fault> {
        let fd = at.directory(below)?;
        let set = || {
            if let Some(mode) = self.mode {
                set_mode(&*fd, mode)?;
            }
            match self.times {
                Some(times) => utimensat(&*fd, ".", &timestamps(times), AtFlags::empty()),
                None => Ok(()),
            }
        };
        set().map_err(|errno: Errno| fault(&at.shown(below), &errno.into()))
    }
}

/// By the name of the directory in itself: one that is only walked through cannot be changed by its descriptor.
pub(super) fn set_mode(fd: impl AsFd, mode: u32) -> Result<(), Errno> {
    chmodat(fd, ".", Mode::from_raw_mode(mode as RawMode), AtFlags::empty())
}
