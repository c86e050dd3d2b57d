//! Our side of a copy: reading a tree, and writing one that nothing gets out of.

mod beneath;
mod directories;
mod incoming;
mod leftovers;
mod links;
pub mod source;
pub mod target;

#[cfg(test)]
mod source_tests;
#[cfg(test)]
mod target_tests;

use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::errors::Fault;
pub use leftovers::Leftovers;

/// What is kept of a mode: a copy is never setuid.
pub const PERMISSIONS: u32 = 0o777;

/// The mode in what the system says of a file.
#[allow(clippy::useless_conversion, reason = "it is narrower on some systems")]
pub fn mode_of(stat: &rustix::fs::Stat) -> u32 {
    u32::from(stat.st_mode)
}

/// How deep a tree may be. Beyond that somebody builds it as it is read.
pub const DEPTH_MAX: usize = 512;

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, and what it says.
    Symlink {
        /// Its text.
        text: Vec<u8>,
    },
}

/// What is known of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Permission bits, without setuid, setgid and sticky.
    pub mode: u32,
    /// Bytes.
    pub size: u64,
    /// Seconds since 1970.
    pub mtime: i64,
    /// Seconds since 1970.
    pub atime: i64,
}

/// The fault of a local file that cannot be written.
pub fn fault(path: &Path, error: &io::Error) -> Fault {
    let shown = path.to_string_lossy().into_owned();
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC | Errno::DQUOT) => Fault::NoSpace { path: shown },
        Some(Errno::ROFS) => Fault::ReadOnly { path: shown },
        Some(Errno::ACCESS | Errno::PERM) => Fault::LocalPermission { path: shown, problem: error.to_string() },
        Some(Errno::NOENT) => Fault::ParentMissing { path: shown },
        Some(Errno::ISDIR) => Fault::IsDirectory { path: shown },
        Some(Errno::NOTDIR) => Fault::NotADirectory { path: shown },
        Some(Errno::NXIO) => Fault::NotRegular { path: shown },
        _ => Fault::TransferRefused { path: shown, problem: error.to_string() },
    }
}

/// The fault of a local source that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> Fault {
    Fault::SourceNotFound { path: path.to_string_lossy().into_owned(), problem: error.to_string() }
}

/// The fault of a tree that has no end.
pub fn too_deep(below: &[u8]) -> Fault {
    let mut path = String::from_utf8_lossy(below).into_owned();
    path.truncate(path.floor_char_boundary(200));
    Fault::TransferRefused { path, problem: format!("it is more than {DEPTH_MAX} directories deep") }
}
