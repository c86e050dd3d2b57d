//! From the server's status to what is wrong. Version 3 has one word, "failure", for most of it: then one more question tells.

use super::attributes::Type;
use super::remote::{Denied, Remote};
use super::wire::{Status, status};
use crate::errors::Fault;
use crate::model::outcome::Phase;
use crate::operation::transfer::place::parent_of;

/// A file system with less room than this is full for whoever could not write.
const NEXT_TO_NOTHING: u64 = 1 << 20;

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Reading a source.
    Read,
    /// Making a file, a directory or a link, or renaming to there: the directory has to allow it.
    Make,
    /// Writing into an open file.
    Write,
    /// Setting mode, owner or times.
    Set,
}

/// Whether it ends the whole copy, whatever else there is to be copied.
pub fn is_final(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::ConnectionLost { .. }
            | Fault::NoSpace { .. }
            | Fault::ReadOnly { .. }
            | Fault::StdoutFailed { .. }
            | Fault::Internal { .. }
    )
}

/// A path there as it is shown.
pub fn shown(host: &str, path: &[u8]) -> String {
    format!("{host}{}", String::from_utf8_lossy(path))
}

/// Says why. Before anything is removed that was written: that would make room.
pub async fn explain(remote: &Remote, host: &str, denied: Denied, path: &[u8], act: Act) -> Fault {
    let status = match denied {
        Denied::Fault(fault) => return fault,
        Denied::Status(status) => status,
    };
    let here = || shown(host, path);
    let refused = |problem: String| Fault::TransferRefused { path: shown(host, path), problem };
    match status.code {
        status::NO_SUCH_FILE if act == Act::Read => {
            Fault::SourceNotFound { path: here(), problem: "there is no such file on the host".to_owned() }
        }
        status::NO_SUCH_FILE => Fault::ParentMissing { path: here() },
        status::PERMISSION_DENIED if act == Act::Make => Fault::RemotePermission { path: shown(host, parent_of(path)) },
        status::PERMISSION_DENIED => Fault::RemotePermission { path: here() },
        status::NO_CONNECTION | status::CONNECTION_LOST => {
            Fault::ConnectionLost { phase: Phase::Transfer, problem: words(&status) }
        }
        status::BAD_MESSAGE => refused("the host does not take this name or this value".to_owned()),
        status::OP_UNSUPPORTED => refused("the host's SFTP server cannot do this".to_owned()),
        status::FAILURE => failure(remote, host, &status, path, act).await,
        _ => refused(words(&status)),
    }
}

async fn failure(remote: &Remote, host: &str, status: &Status, path: &[u8], act: Act) -> Fault {
    let here = shown(host, path);
    let standing = remote.stat(path);
    if act != Act::Read {
        // What is to be made is not there yet, its directory is.
        let space = match remote.space(path).await {
            Some(space) => Some(space),
            None => remote.space(parent_of(path)).await,
        };
        match space {
            Some(space) if space.read_only => return Fault::ReadOnly { path: here },
            Some(space) if act != Act::Set && (space.free < NEXT_TO_NOTHING || space.free_files == 0) => {
                return Fault::NoSpace { path: here };
            }
            _ => {}
        }
    }
    match standing.await.ok().and_then(|found| found.file_type()) {
        Some(Type::Directory) if act == Act::Read => return Fault::SourceIsDirectory { path: here },
        Some(Type::Directory) => return Fault::IsDirectory { path: here },
        Some(Type::Other(_)) => return Fault::NotRegular { path: here },
        _ => {}
    }
    let problem = match (act, words(status)) {
        (_, said) if !is_empty(&said) => format!("the host says: {said}"),
        (Act::Write, _) => "the host refuses to write more; a quota or a size limit may be reached".to_owned(),
        (Act::Read, _) => "the host cannot read it, and gives no reason".to_owned(),
        (Act::Make | Act::Set, _) => "the host refuses, and gives no reason".to_owned(),
    };
    Fault::TransferRefused { path: here, problem }
}

fn words(status: &Status) -> String {
    if status.message.trim().is_empty() { format!("status {}", status.code) } else { status.message.clone() }
}

/// Words that say nothing.
fn is_empty(said: &str) -> bool {
    matches!(said.trim().to_ascii_lowercase().as_str(), "failure" | "status 4" | "error" | "ok" | "unknown error")
}
