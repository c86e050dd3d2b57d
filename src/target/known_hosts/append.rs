//! Remembering a new host key: one line at the end of the first user file (hostfile.c `add_host_to_hostfile`).

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustix::fs::{FlockOperation, flock};

use super::line::{Marker, parse};
use super::{FILE_MAX_BYTES, HostKeyRules, matching};

/// The line of a key, under the rules' lookup name.
pub fn line(rules: &HostKeyRules, key_type: &str, blob: &[u8]) -> String {
    format!("{} {key_type} {}", rules.lookup_name, BASE64.encode(blob))
}

/// Adds the key under the rules' lookup name, unless it is there already: parallel runs add one line. Waits for the
/// file's lock without a limit, so call it where blocking is fine. A failure is worth a warning, not a refusal: the
/// next run asks again.
pub fn remember(rules: &HostKeyRules, key_type: &str, blob: &[u8]) -> io::Result<()> {
    let name = &rules.lookup_name;
    let file = rules.user_files.first().ok_or_else(|| io::Error::other("UserKnownHostsFile is `none`"))?;
    // Hashed, a name means itself; plain, some names would mean more hosts than this one, or none.
    let special = name.contains(['*', '?', ',']) || name.starts_with(['!', '|', '@', '#']);
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) || (special && !rules.hash_new) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`{name}` cannot stand in a known_hosts file"),
        ));
    }
    if let Some(directory) = file.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(file)?;
    // Where a file system has no locks, the single appending write below is what is left, and it is nearly always
    // enough.
    let _ = flock(&file, FlockOperation::LockExclusive);
    let mut text = Vec::new();
    (&file).take(FILE_MAX_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > FILE_MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is over 32 MiB"));
    }
    let same = |text: &[u8]| {
        let Ok(Some(line)) = parse(text) else { return false };
        line.marker == Marker::Plain && line.blob == blob && matching::names(line.hosts, name) == Ok(true)
    };
    if text.split(|b| *b == b'\n').any(same) {
        return Ok(());
    }
    let name = if rules.hash_new { matching::hash(name) } else { name.clone() };
    let newline = if text.last().is_none_or(|b| *b == b'\n') { "" } else { "\n" };
    (&file).write_all(format!("{newline}{name} {key_type} {}\n", BASE64.encode(blob)).as_bytes())
}
