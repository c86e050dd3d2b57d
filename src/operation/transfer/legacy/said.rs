//! From what `scp` and its neighbours say, in English, to what is wrong. Only what is certain; the rest is quoted.

use crate::errors::{Fault, clean};
use crate::model::outcome::Phase;

/// The most that is quoted.
const QUOTED: usize = 300;

/// Which way it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A source there was read.
    Read,
    /// A target there was written.
    Write,
}

/// A refusal (`\x01`), or the last word (`\x02`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Nothing comes after it.
    pub is_last: bool,
    /// As it came.
    pub text: Vec<u8>,
}

/// Whether the host says that this is no file.
pub fn is_no_file(text: &[u8]) -> bool {
    ends(text, "not a regular file")
}

/// Whether the host says that it is not there.
pub fn is_missing(text: &[u8]) -> bool {
    ends(text, "No such file or directory")
}

fn ends(text: &[u8], words: &str) -> bool {
    text.trim_ascii().to_ascii_lowercase().ends_with(words.to_ascii_lowercase().as_bytes())
}

/// What is wrong with this path.
pub fn fault(text: &[u8], path: &str, act: Act) -> Fault {
    let path = path.to_owned();
    let says = |words| ends(text, words);
    if is_missing(text) {
        return match act {
            Act::Read => Fault::SourceNotFound { path, problem: "there is no such file on the host".to_owned() },
            Act::Write => Fault::ParentMissing { path },
        };
    }
    if says("Permission denied") || says("Operation not permitted") {
        return Fault::RemotePermission { path };
    }
    if says("No space left on device") || says("Disk quota exceeded") {
        return Fault::NoSpace { path };
    }
    if says("Read-only file system") {
        return Fault::ReadOnly { path };
    }
    if says("Is a directory") {
        return match act {
            Act::Read => Fault::SourceIsDirectory { path },
            Act::Write => Fault::IsDirectory { path },
        };
    }
    if says("Not a directory") && act == Act::Write {
        return Fault::NotADirectory { path };
    }
    if is_no_file(text) && act == Act::Write {
        return Fault::NotRegular { path };
    }
    let quoted = quoted(text);
    let problem =
        if quoted.is_empty() { "the host gives no reason".to_owned() } else { format!("the host says: {quoted}") };
    Fault::TransferRefused { path, problem }
}

/// The fault of a server that broke the protocol.
pub fn violation(problem: impl Into<String>) -> Fault {
    Fault::ServerViolation { problem: problem.into(), phase: Phase::Transfer }
}

/// A short text to be shown.
pub fn quoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim();
    clean(&text[..text.floor_char_boundary(QUOTED)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_the_line_counts() {
        let code = |text: &[u8], act| fault(text, "p", act).row().code;
        assert_eq!(code(b"scp: a: No such file or directory", Act::Read), "source_not_found");
        assert_eq!(code(b"scp: a: No such file or directory\n", Act::Write), "parent_missing");
        assert_eq!(code(b"mv: cannot move 'a' to 'b': Permission denied", Act::Write), "remote_permission");
        assert_eq!(code(b"scp: a: No space left on device", Act::Write), "no_space");
        assert_eq!(code(b"scp: a: Read-only file system", Act::Write), "read_only");
        assert_eq!(code(b"scp: Permission denied: not a regular file", Act::Read), "transfer_refused");
        assert_eq!(code(b"", Act::Write), "transfer_refused");
        assert!(!quoted(b"\x1b[2J\xff").contains('\x1b') && quoted(&[b'x'; 5000]).len() <= QUOTED);
    }
}
