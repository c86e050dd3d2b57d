//! Our side of a copy: reading a tree, and writing one that nothing gets out of.

pub mod source;
pub mod target;

use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::errors::Fault;

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
