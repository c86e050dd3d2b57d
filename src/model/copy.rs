//! `scp`, as meant: what is copied where, and how carefully.

use std::path::PathBuf;
use std::time::Duration;

use super::request::{ConnectionOptions, Elevation, RetryOptions};
use crate::effect::Effect;

/// `scp`, as meant.
#[derive(Clone, Debug)]
pub struct CopyRequest {
    /// The remote side's DEST, in a form that `target` reads.
    pub destination: String,
    /// What goes where.
    pub way: Way,
    /// How.
    pub options: CopyOptions,
    /// How to get there.
    pub connection: ConnectionOptions,
    /// Whether to try again by ourselves.
    pub retry: RetryOptions,
}

/// What goes where. There is at least one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// From here to there.
    Upload {
        /// What is copied, in order.
        sources: Vec<LocalSource>,
        /// Where to.
        target: RemotePath,
    },
    /// From there to here.
    Download {
        /// What is copied, in order; each may be a pattern.
        sources: Vec<RemotePath>,
        /// Where to.
        target: LocalTarget,
    },
}

impl Way {
    /// Whether there is one source only.
    pub fn is_single(&self) -> bool {
        match self {
            Self::Upload { sources, .. } => sources.len() == 1,
            Self::Download { sources, .. } => sources.len() == 1,
        }
    }
}

/// A path there as it was typed, any bytes. Empty is the account's home directory, and so is a leading `~`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RemotePath(pub Vec<u8>);

/// What an upload reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalSource {
    /// `-`: our standard input.
    Stdin,
    /// A file or a directory.
    Path(PathBuf),
}

/// What a download writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalTarget {
    /// `-`: our standard output, in raw mode.
    Stdout,
    /// A file or a directory.
    Path(PathBuf),
}

/// How a copy is made.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// `--recursive`.
    pub recursive: bool,
    /// `--preserve`: times and modes.
    pub preserve: bool,
    /// `--verify`: SHA-256 on both sides.
    pub verify: bool,
    /// `--resume`: continue what is proven to be a prefix.
    pub resume: bool,
    /// `--protocol`.
    pub protocol: ProtocolChoice,
    /// `--mode`: the permission bits of the files that are written.
    pub mode: Option<u32>,
    /// `--parents`: make the directories on the way to the target.
    pub parents: bool,
    /// `--no-clobber`: a file that is there stays.
    pub no_clobber: bool,
    /// `--in-place`: write into the target itself, without temp and rename.
    pub in_place: bool,
    /// `--symlinks`.
    pub symlinks: Symlinks,
    /// `--progress`.
    pub progress: ProgressChoice,
    /// `--timeout`: for the copy.
    pub timeout: Option<Duration>,
    /// `--effect`, else what the direction says.
    pub effect: Effect,
    /// `--sudo`: the other side reads and writes with another user's rights.
    pub sudo: Option<Sudo>,
}

/// `--sudo` and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sudo {
    /// Whose rights, and what they may cost.
    pub elevation: Elevation,
    /// `--owner`: a name or a number of the host.
    pub owner: Option<String>,
    /// `--group`: the same.
    pub group: Option<String>,
}

/// `--protocol`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// SFTP, and the legacy protocol where there is none.
    #[default]
    Auto,
    /// SFTP version 3 only.
    Sftp,
    /// The legacy protocol only.
    Scp,
}

/// `--symlinks`: what becomes of a symbolic link among the sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// What it leads to is copied.
    #[default]
    Follow,
    /// It is copied as a link.
    Keep,
    /// It is listed as skipped.
    Skip,
}

/// `--progress`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressChoice {
    /// A bar where standard error is a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
