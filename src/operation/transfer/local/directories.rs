//! Modes and times of directories: set when what is in them is there, since a mode may forbid filling and filling sets the time.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, RawMode, chmodat, statat, utimensat};
use rustix::io::Errno;

use super::incoming::timestamps;
use super::target::{Place, Settled, Times};
use super::{fault, mode_of};
use crate::errors::Fault;

/// What the owner needs to fill a directory.
const FILL: u32 = 0o700;

/// The most directories whose last touch is still due.
const PENDING: usize = 500_000;

/// The directories that were entered and not left.
#[derive(Debug, Default)]
pub(super) struct Directories(Vec<Due>);

#[derive(Debug)]
struct Due {
    below: Vec<u8>,
    mode: Option<u32>,
    times: Option<Times>,
}

impl Directories {
    /// A directory was entered. `made`: with these bits, and what filling needs; `exact`: the bits it shall have whatever the
    /// umask says.
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
        if last == now && now & FILL == FILL && times.is_none() {
            return Ok(());
        }
        if self.0.len() >= PENDING {
            return Err(Errno::NOMEM);
        }
        self.0.push(Due { below: below.to_owned(), mode: Some(last), times });
        Ok(())
    }

    /// All of it is there.
    pub fn leave(&mut self, below: &[u8], at: &mut Place) -> Result<(), Fault> {
        match self.0.iter().rposition(|due| due.below == below) {
            Some(found) => self.0.remove(found).apply(at),
            None => Ok(()),
        }
    }

    /// Those that are left, the deepest first.
    pub fn settle(&mut self, at: &mut Place, tell: &mut dyn FnMut(Settled)) {
        // Each was entered after the one that holds it.
        while let Some(due) = self.0.pop() {
            if let Err(fault) = due.apply(at) {
                tell(Settled::Failed(due.below, fault));
            }
        }
    }
}

impl Due {
    fn apply(&self, at: &mut Place) -> Result<(), Fault> {
        let fd = at.directory(&self.below)?;
        let set = || {
            if let Some(mode) = self.mode {
                set_mode(&*fd, mode)?;
            }
            match self.times {
                Some(times) => utimensat(&*fd, ".", &timestamps(times), AtFlags::empty()),
                None => Ok(()),
            }
        };
        set().map_err(|errno: Errno| fault(&at.shown(&self.below), &errno.into()))
    }
}

/// By the name of the directory in itself: one that is only walked through cannot be changed by its descriptor.
pub(super) fn set_mode(fd: impl AsFd, mode: u32) -> Result<(), Errno> {
    chmodat(fd, ".", Mode::from_raw_mode(mode as RawMode), AtFlags::empty())
}
