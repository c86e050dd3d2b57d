//! What is known about a copy when it is over.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use schemars::JsonSchema;
use serde::Serialize;

/// Which way the bytes went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From here to there.
    Upload,
    /// From there to here.
    Download,
}

/// How the two sides spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// SFTP version 3 (draft-ietf-secsh-filexfer-02).
    Sftp,
    /// The legacy protocol of `scp -t` and `scp -f`.
    Scp,
}

/// What became of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryAction {
    /// A file was copied whole.
    Copied,
    /// A part of it was there already, and the rest was copied.
    Resumed,
    /// A directory was made.
    Created,
    /// A symbolic link was made.
    Linked,
    /// It was left out, for the reason given.
    Skipped,
    /// It could not be copied, for the reason given.
    Failed,
    /// What the server said of it cannot be, and nothing was written.
    Refused,
    /// Something of ours stayed there, for the reason given.
    Left,
}

impl EntryAction {
    /// It arrived as it was asked for.
    pub const fn is_plain(self) -> bool {
        matches!(self, Self::Copied | Self::Resumed | Self::Created | Self::Linked)
    }
}

/// One file, directory or link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entry {
    /// Where it is in the target, or would be; below `root`, and empty for `root` itself. What is not UTF-8 in it is replaced.
    pub path: String,
    /// The exact bytes of a path that is not UTF-8, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_base64: Option<String>,
    /// What became of it.
    pub action: EntryAction,
    /// How many bytes of it were copied.
    pub bytes: u64,
    /// Why it was not plainly copied: a stable word, then perhaps a colon and more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// With `--verify`: the SHA-256 that both sides have, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl Entry {
    /// It arrived as it was asked for, and there is nothing to be said of it.
    pub const fn is_plain(&self) -> bool {
        self.action.is_plain() && self.reason.is_none()
    }

    /// An entry of which nothing more is to be said.
    pub fn new(path: &[u8], action: EntryAction, bytes: u64) -> Self {
        let text = String::from_utf8_lossy(path);
        let path_base64 = matches!(text, std::borrow::Cow::Owned(_)).then(|| BASE64_STANDARD.encode(path));
        Self { path: text.into_owned(), path_base64, action, bytes, reason: None, sha256: None }
    }

    /// The same, with the reason.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }
}

/// A copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Transfer {
    /// Which way.
    pub direction: Direction,
    /// How; null where it did not come to that.
    pub protocol: Option<Protocol>,
    /// Where the copy is: the file, or the directory that holds the entries. Null where it did not come to that.
    pub root: Option<String>,
    /// How many files were copied whole.
    pub files: u64,
    /// How many bytes of files were copied.
    pub bytes: u64,
    /// How many entries were left out, failed or were refused.
    pub skipped: u64,
    /// The entries, those that were not plainly copied first. The others are there with `--detail`, or where they have a hash.
    pub entries: Vec<Entry>,
    /// How many are not listed.
    pub omitted_entries: u64,
}

impl Transfer {
    /// Without the entries that say no more than the counts do: those that were plainly copied, unless their hash was asked for.
    #[must_use]
    pub fn lean(self) -> Self {
        let all = self.entries.len();
        let says_more =
            |entry: &Entry| !entry.is_plain() || entry.action == EntryAction::Resumed || entry.sha256.is_some();
        let entries: Vec<Entry> = self.entries.into_iter().filter(says_more).collect();
        let left_out = (all - entries.len()) as u64;
        Self { entries, omitted_entries: self.omitted_entries + left_out, ..self }
    }
}
