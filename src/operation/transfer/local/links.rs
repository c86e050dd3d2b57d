//! Symbolic links, made when all else is there.

use rustix::fs::{AtFlags, FileType, readlinkat, renameat, statat, symlinkat, unlinkat, utimensat};
use rustix::io::Errno;

use super::directories::set_mode;
use super::incoming::{Spot, timestamps};
use super::target::{Place, Settled, Times, kind_of};
use super::{fault, mode_of};
use crate::errors::Fault;
use crate::operation::transfer::part;

/// What links that wait for the end may come to in memory, in bytes.
const PENDING: usize = 32 << 20;
/// What each takes beside its path and its text.
const EACH: usize = size_of::<Link>();
/// The longest text of a link (`PATH_MAX` of Linux, with the zero at its end).
const TEXT_MAX: usize = 4095;

/// The links to make: where, and what they say.
#[derive(Debug, Default)]
pub(super) struct Links {
    pending: Vec<Link>,
    bytes: usize,
}

#[derive(Debug)]
struct Link {
    below: Vec<u8>,
    text: Vec<u8>,
    times: Option<Times>,
}

enum Made {
    Linked,
    Kept,
}

impl Links {
    /// One more.
    pub fn note(&mut self, below: &[u8], text: &[u8], times: Option<Times>) -> Result<(), Fault> {
        let refused = |problem: String| {
            let path = String::from_utf8_lossy(below).into_owned();
            Err(Fault::TransferRefused { path, problem })
        };
        if text.len() > TEXT_MAX {
            return refused(format!("a link that says {} bytes", text.len()));
        }
        self.bytes += below.len() + text.len() + EACH;
        if self.bytes > PENDING {
            return refused(format!("there are more links than go into {PENDING} bytes"));
        }
        self.pending.push(Link { below: below.to_owned(), text: text.to_owned(), times });
        Ok(())
    }

    /// Makes them.
    pub fn make(self, at: &mut Place, tell: &mut dyn FnMut(Settled)) {
        for link in self.pending {
            tell(match make(at, &link) {
                Ok(Made::Linked) => Settled::Linked(link.below),
                Ok(Made::Kept) => Settled::Kept(link.below),
                Err(fault) => Settled::Failed(link.below, fault),
            });
        }
    }
}

/// Makes one, in a directory that may have its last mode and times already.
fn make(at: &mut Place, Link { below, text, times }: &Link) -> Result<Made, Fault> {
    let spot = at.spot(below)?;
    let failed = |errno: Errno| fault(&spot.shown, &errno.into());
    let before = statat(&*spot.dir, ".", AtFlags::empty()).map_err(failed)?;
    let mut made = link(at, &spot, text);
    if matches!(made, Err(Fault::LocalPermission { .. })) {
        let bits = mode_of(&before) & 0o7777;
        if set_mode(&*spot.dir, bits | 0o700).is_ok() {
            made = link(at, &spot, text);
            set_mode(&*spot.dir, bits).map_err(failed)?;
        }
    }
    if let (Ok(Made::Linked), Some(times)) = (&made, times) {
        match utimensat(&*spot.dir, &spot.name[..], &timestamps(*times), AtFlags::SYMLINK_NOFOLLOW) {
            // There are file systems that keep no times of links.
            Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    if at.preserve {
        let times = Times { mtime: before.st_mtime, atime: before.st_atime };
        utimensat(&*spot.dir, ".", &timestamps(times), AtFlags::empty()).map_err(failed)?;
    }
    made
}

fn link(at: &Place, spot: &Spot, text: &[u8]) -> Result<Made, Fault> {
    let Spot { dir, name, shown } = spot;
    let failed = |errno: Errno| match errno {
        // What a link says is the server's word; an empty or endless one cannot be made.
        Errno::NOENT if text.is_empty() => {
            Fault::TransferRefused { path: shown.to_string_lossy().into_owned(), problem: "an empty link".to_owned() }
        }
        errno => fault(shown, &errno.into()),
    };
    match symlinkat(text, &**dir, &name[..]) {
        Ok(()) => return Ok(Made::Linked),
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(failed(errno)),
    }
    if at.no_clobber() {
        return Ok(Made::Kept);
    }
    match Place::look(spot)?.as_ref().map(kind_of) {
        Some(FileType::Symlink) => {
            if readlinkat(&**dir, &name[..], Vec::new()).is_ok_and(|there| there.as_bytes() == text) {
                return Ok(Made::Linked);
            }
        }
        Some(FileType::Directory) => return Err(failed(Errno::ISDIR)),
        Some(FileType::RegularFile) | None => {}
        Some(_) => return Err(failed(Errno::NXIO)),
    }
    // The same link has the same part; one that is there already was left behind.
    let part = part::name(name, &part::resume_tag(text.len() as u64, 0));
    let make = || symlinkat(text, &**dir, &part[..]);
    let new = make().or_else(|errno| match errno {
        Errno::EXIST => unlinkat(&**dir, &part[..], AtFlags::empty()).and_then(|()| make()),
        errno => Err(errno),
    });
    new.map_err(failed)?;
    renameat(&**dir, &part[..], &**dir, &name[..]).map_err(|errno| {
        if unlinkat(&**dir, &part[..], AtFlags::empty()).is_err() {
            at.left.note(spot.beside(&part), part::NOT_REMOVED);
        }
        failed(errno)
    })?;
    Ok(Made::Linked)
}
