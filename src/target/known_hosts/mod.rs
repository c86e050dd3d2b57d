//! What the `known_hosts` files say about one host: a verdict on a key, never what is done about it. Semantics of
//! OpenSSH's hostfile.c and sshconnect.c; format of sshd(8), `SSH_KNOWN_HOSTS` FILE FORMAT.

mod append;
mod line;
mod matching;
mod pin;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use append::{line, remember};
use line::Marker;
pub use matching::wildcard;
pub use pin::Pin;

use crate::model::outcome::Warning;
use crate::model::request::HostKeyPolicy;

/// A larger `known_hosts` file is not read.
const FILE_MAX_BYTES: u64 = 32 * 1024 * 1024;

/// This many broken lines are told one by one.
const BROKEN_LINES_SHOWN: usize = 5;

/// How the host key of one destination is to be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKeyRules {
    /// What to do with a key that is not known.
    pub policy: HostKeyPolicy,
    /// `--host-key`: where there are any, nothing else counts.
    pub pins: Vec<Pin>,
    /// The name looked up and written: `HostKeyAlias`, else the host on port 22, `[host]:port` on another; lower-case.
    pub lookup_name: String,
    /// The host without its port, where `lookup_name` has one: OpenSSH looks there too when nothing is known under the
    /// first (sshconnect.c, "checking without port identifier").
    pub portless_name: Option<String>,
    /// `UserKnownHostsFile`, in order; a new key goes to the first.
    pub user_files: Vec<PathBuf>,
    /// `GlobalKnownHostsFile`, in order.
    pub global_files: Vec<PathBuf>,
    /// `HashKnownHosts`.
    pub hash_new: bool,
    /// A new key is written down. Off for whoever only looks.
    pub remember: bool,
}

/// A file and a line in it, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A key and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKey {
    /// Its type, as `ssh-ed25519`.
    pub key_type: String,
    /// Its blob (RFC 4253 section 6.6).
    pub blob: Vec<u8>,
    /// Where.
    pub place: Place,
}

/// What the files say about a plain host key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stands here.
    Known(Place),
    /// Nothing is known about the host. `known_types`: its portless name has other keys of these types, which forbids
    /// nothing.
    Unknown {
        /// Types, in file order.
        known_types: Vec<String>,
    },
    /// Another key of the same type stands here.
    Changed(Place),
    /// Only keys of other types are known, the first one here. OpenSSH calls that changed as well, and never adds the
    /// new one: whoever sits in between could otherwise offer a type that the host never used.
    OtherType {
        /// The first of them.
        place: Place,
        /// Types, in file order.
        known_types: Vec<String>,
    },
    /// It is revoked here, whatever else is known.
    Revoked(Place),
}

#[derive(Debug)]
struct Entry {
    marker: Marker,
    key: KnownKey,
}

/// The lines that are about one host.
#[derive(Debug, Default)]
pub struct KnownHosts {
    entries: Vec<Entry>,
    /// Those of the portless name.
    portless: Vec<Entry>,
    complete: bool,
}

impl HostKeyRules {
    /// Whether a pin accepts this key; `None` where nothing is pinned.
    pub fn pinned(&self, blob: &[u8]) -> Option<bool> {
        (!self.pins.is_empty()).then(|| self.pins.iter().any(|pin| pin.accepts(blob)))
    }

    /// How a key stands, in a word: `pinned`, `known`, `unknown`, `changed` or `revoked`. Decides nothing.
    pub fn standing(&self, known: &KnownHosts, key_type: &str, blob: &[u8]) -> &'static str {
        match known.verdict(key_type, blob) {
            _ if self.pinned(blob) == Some(true) => "pinned",
            Verdict::Known(_) => "known",
            Verdict::Unknown { .. } | Verdict::OtherType { .. } => "unknown",
            Verdict::Changed(_) => "changed",
            Verdict::Revoked(_) => "revoked",
        }
    }

    /// Reads the files. One that is missing is empty; what cannot be read or understood brings a warning and is
    /// skipped.
    pub fn load(&self) -> (KnownHosts, Vec<Warning>) {
        let mut known = KnownHosts { complete: true, ..KnownHosts::default() };
        let mut broken = Vec::new();
        let mut warnings = Vec::new();
        for file in self.user_files.iter().chain(&self.global_files) {
            match read(file) {
                Ok(text) => known.take(self, file, &text, &mut broken),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    known.complete = false;
                    let message = format!("{} cannot be read: {error}; it was left out", file.display());
                    warnings.push(Warning::new("known_hosts_unreadable", message));
                }
            }
        }
        for (place, problem) in broken.iter().take(BROKEN_LINES_SHOWN) {
            warnings.push(Warning::new("known_hosts_line", format!("{place}: {problem}; the line was skipped")));
        }
        if let more @ 1.. = broken.len().saturating_sub(BROKEN_LINES_SHOWN) {
            let message = format!("{more} more broken known_hosts lines were skipped");
            warnings.push(Warning::new("known_hosts_line", message));
        }
        (known, warnings)
    }
}

/// The text of a `known_hosts` file, bounded.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(file)?.take(FILE_MAX_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > FILE_MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is over 32 MiB"));
    }
    Ok(text)
}

impl KnownHosts {
    fn take(&mut self, rules: &HostKeyRules, file: &Path, text: &[u8], broken: &mut Vec<(Place, String)>) {
        for (n, text) in text.split(|b| *b == b'\n').enumerate() {
            let place = || Place { file: file.to_owned(), line: n + 1 };
            let matched = line::parse(text).and_then(|line| {
                let Some(line) = line else { return Ok(None) };
                let here = matching::names(line.hosts, &rules.lookup_name)?;
                let portless = match &rules.portless_name {
                    Some(name) => !here && matching::names(line.hosts, name)?,
                    None => false,
                };
                Ok((here || portless).then_some((line, here)))
            });
            match matched {
                Ok(None) => {}
                Ok(Some((line, here))) => {
                    let key = KnownKey { key_type: line.key_type, blob: line.blob, place: place() };
                    let entry = Entry { marker: line.marker, key };
                    if here { self.entries.push(entry) } else { self.portless.push(entry) }
                }
                Err(problem) => broken.push((place(), problem)),
            }
        }
    }

    /// Adds what a command printed, as if it were a file of this name.
    pub fn add(&mut self, rules: &HostKeyRules, name: &Path, text: &[u8]) -> Vec<Warning> {
        let mut broken = Vec::new();
        self.take(rules, name, text, &mut broken);
        let told =
            |(place, problem)| Warning::new("known_hosts_line", format!("{place}: {problem}; the line was skipped"));
        broken.into_iter().take(BROKEN_LINES_SHOWN).map(told).collect()
    }

    /// Adds a key that is revoked for every host.
    pub fn revoke(&mut self, blob: Vec<u8>, file: &Path) {
        let place = Place { file: file.to_owned(), line: 0 };
        let key = KnownKey { key_type: String::new(), blob, place };
        self.entries.push(Entry { marker: Marker::Revoked, key });
    }

    /// False where a file could not be read: "unknown" may then only mean "not seen", and nothing should be added.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The types of the plain keys known for this host, in file order: those to ask the server for first.
    pub fn known_types(&self) -> Vec<String> {
        let own = types(&self.entries);
        if own.is_empty() { types(&self.portless) } else { own }
    }

    /// The `@cert-authority` keys that may vouch for this host.
    pub fn authorities(&self) -> Vec<KnownKey> {
        marked(&self.entries, Marker::Authority).chain(marked(&self.portless, Marker::Authority)).cloned().collect()
    }

    /// Where this key is revoked. To be asked for a certificate's own key and for its authority too.
    pub fn revoked(&self, blob: &[u8]) -> Option<Place> {
        marked(&self.entries, Marker::Revoked)
            .chain(marked(&self.portless, Marker::Revoked))
            .find(|key| key.blob == blob)
            .map(|key| key.place.clone())
    }

    /// Judges a plain host key (not a certificate). `key_type` is the type inside the blob; the signature algorithms
    /// `rsa-sha2-256` and `rsa-sha2-512` stand for `ssh-rsa` (RFC 8332 section 3).
    pub fn verdict(&self, key_type: &str, blob: &[u8]) -> Verdict {
        let key_type = if key_type.starts_with("rsa-sha2-") { "ssh-rsa" } else { key_type };
        if let Some(place) = self.revoked(blob) {
            return Verdict::Revoked(place);
        }
        let known = |entries| marked(entries, Marker::Plain).find(|key| key.blob == blob).map(|key| key.place.clone());
        if let Some(place) = known(&self.entries) {
            return Verdict::Known(place);
        }
        if let Some(first) = marked(&self.entries, Marker::Plain).next() {
            return match marked(&self.entries, Marker::Plain).find(|key| key.key_type == key_type) {
                Some(same) => Verdict::Changed(same.place.clone()),
                None => Verdict::OtherType { place: first.place.clone(), known_types: types(&self.entries) },
            };
        }
        match known(&self.portless) {
            Some(place) => Verdict::Known(place),
            None => Verdict::Unknown { known_types: types(&self.portless) },
        }
    }
}

fn marked(entries: &[Entry], marker: Marker) -> impl Iterator<Item = &KnownKey> {
    entries.iter().filter(move |entry| entry.marker == marker).map(|entry| &entry.key)
}

fn types(entries: &[Entry]) -> Vec<String> {
    let mut types: Vec<String> = Vec::new();
    for key in marked(entries, Marker::Plain) {
        if !types.contains(&key.key_type) {
            types.push(key.key_type.clone());
        }
    }
    types
}
