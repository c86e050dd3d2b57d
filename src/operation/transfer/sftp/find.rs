//! What a source of a download stands for: itself, or all that fits it as a pattern.

use super::faults::Act;
use super::listing::Listing;
use super::wire::status;
use super::work::Work;
use crate::errors::Fault;
use crate::model::copy::RemotePath;
use crate::model::sink::Sink;
use crate::operation::transfer::place::join;
use crate::wildcard::fits_bytes;

/// The most entries that one pattern may stand for.
const FOUND_MAX: usize = 100_000;

/// The paths, in order. A path that is there is itself, whatever is in its name.
pub async fn find<S: Sink>(work: &Work<'_, '_, S>, source: &RemotePath) -> Result<Vec<Vec<u8>>, Fault> {
    let path = work.expand(source).await?;
    if !path.iter().any(|b| b"*?[\\".contains(b)) {
        return Ok(vec![path]);
    }
    match work.remote.lstat(&path).await {
        Ok(_) => return Ok(vec![path]),
        Err(denied) if denied.code() == Some(status::NO_SUCH_FILE) => {}
        Err(denied) => return Err(work.explain(denied, &path, Act::Read).await),
    }
    let mut found = vec![if path.starts_with(b"/") { b"/".to_vec() } else { Vec::new() }];
    for part in path.split(|b| *b == b'/').filter(|part| !part.is_empty()) {
        if part.iter().any(|b| b"*?[".contains(b)) {
            found = matches(work, &found, part).await?;
        } else {
            let literal = unescaped(part);
            for path in &mut found {
                *path = join(path, &literal);
            }
        }
    }
    // What has no wildcard behind one may not be there.
    let mut there = Vec::new();
    for path in found {
        match work.remote.lstat(&path).await {
            Ok(_) => there.push(path),
            Err(denied) if denied.code() == Some(status::NO_SUCH_FILE) => {}
            Err(denied) => return Err(work.explain(denied, &path, Act::Read).await),
        }
    }
    if there.is_empty() {
        let problem = "nothing on the host fits it".to_owned();
        return Err(Fault::SourceNotFound { path: work.shown(&path), problem });
    }
    Ok(there)
}

async fn matches<S: Sink>(
    work: &Work<'_, '_, S>,
    directories: &[Vec<u8>],
    pattern: &[u8],
) -> Result<Vec<Vec<u8>>, Fault> {
    let mut found = Vec::new();
    for directory in directories {
        let opened = if directory.is_empty() { &b"."[..] } else { directory };
        // What cannot be listed, or is no directory, has nothing in it that fits.
        let Ok(mut listing) = Listing::open(&work.remote, opened).await else { continue };
        let mut names = Vec::new();
        loop {
            let name = match listing.next(&work.remote).await {
                Ok(Some(name)) => name.name,
                Ok(None) => break,
                Err(denied) => return Err(work.explain(denied, opened, Act::Read).await),
            };
            let is_hidden = name.starts_with(b".") && !pattern.starts_with(b".");
            if !is_hidden && is_name(&name) && fits_bytes(&name, pattern) {
                names.push(join(directory, &name));
            }
            if found.len() + names.len() > FOUND_MAX {
                let problem = format!("it fits more than {FOUND_MAX} entries");
                return Err(Fault::TransferRefused { path: work.shown(pattern), problem });
            }
        }
        names.sort_unstable();
        found.append(&mut names);
    }
    Ok(found)
}

/// A backslash stands for what comes after it.
fn unescaped(part: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(part.len());
    let mut bytes = part.iter();
    while let Some(byte) = bytes.next() {
        out.push(if *byte == b'\\' { *bytes.next().unwrap_or(byte) } else { *byte });
    }
    out
}

/// Whether a name of the server's is one: a component of a path, and nothing that leads elsewhere.
pub fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.iter().any(|b| matches!(b, b'/' | 0)) && name.len() <= 4096
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_is_taken_off() {
        assert_eq!(unescaped(br"a\*b\\c\"), br"a*b\c\");
    }

    #[test]
    fn names_lead_nowhere() {
        for name in [&b"a"[..], b"...", b"a\nb", b"\xff", b"-rf", b"a..b"] {
            assert!(is_name(name));
        }
        for name in [&b""[..], b".", b"..", b"a/b", b"/a", b"../a", b"a\0", &[b'a'; 5000]] {
            assert!(!is_name(name));
        }
    }
}
