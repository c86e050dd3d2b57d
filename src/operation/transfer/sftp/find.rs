//! What a source of a download stands for: itself, or all that fits it as a pattern.

use std::cell::{Cell, RefCell};

use futures_util::stream::{self, Stream, StreamExt as _};
use futures_util::{FutureExt as _, TryStreamExt as _};

use super::attributes::Attributes;
use super::faults::Act;
use super::listing::Listing;
use super::remote::Answer;
use super::wire::status;
use super::work::Work;
use crate::errors::Fault;
use crate::model::copy::RemotePath;
use crate::model::sink::Sink;
use crate::operation::transfer::place::join;
use crate::wildcard::fits_bytes;

/// The most entries that one pattern may stand for.
const FOUND_MAX: usize = 100_000;
/// The most that their paths may come to, in bytes.
const PATHS_MAX: usize = 16 << 20;
/// So many paths are asked about ahead of the answer that is waited for.
const LOOKS: usize = 64;
/// So many directories are listed at once.
const LISTINGS: usize = 16;

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
    let closed = RefCell::new(None);
    let mut found = vec![if path.starts_with(b"/") { b"/".to_vec() } else { Vec::new() }];
    for part in path.split(|b| *b == b'/').filter(|part| !part.is_empty()) {
        if is_pattern(part) {
            found = matches(work, &found, part, &closed).await?;
        } else {
            let literal = unescaped(part);
            for path in &mut found {
                *path = join(path, &literal);
            }
        }
    }
    // What was listed is there; what comes after a wildcard and is none may not be.
    let listed = path.rsplit(|b| *b == b'/').find(|part| !part.is_empty()).is_some_and(is_pattern);
    let there = if listed { found } else { those_there(work, &found).await? };
    if let (true, Some(closed)) = (there.is_empty(), closed.take()) {
        return Err(Fault::RemotePermission { path: work.shown(&closed) });
    }
    if there.is_empty() {
        let problem = "nothing on the host fits it".to_owned();
        return Err(Fault::SourceNotFound { path: work.shown(&path), problem });
    }
    Ok(there)
}

/// What is at each of these paths, in their order; many of them are asked about at once.
pub fn looks<'f, S: Sink>(
    work: &Work<'_, '_, S>,
    paths: &'f [Vec<u8>],
    follow: bool,
) -> impl Stream<Item = (&'f [u8], Answer<Attributes>)> {
    let ask = move |path: &'f Vec<u8>| {
        let (stat, lstat) = (|| work.remote.stat(path), || work.remote.lstat(path));
        let look = if follow { stat().left_future() } else { lstat().right_future() };
        look.map(move |known| (&path[..], known))
    };
    stream::iter(paths).map(ask).buffered(LOOKS)
}

async fn those_there<S: Sink>(work: &Work<'_, '_, S>, paths: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Fault> {
    let mut there = Vec::new();
    let mut looks = std::pin::pin!(looks(work, paths, false));
    while let Some((path, known)) = looks.next().await {
        match known {
            Ok(_) => there.push(path.to_vec()),
            Err(denied) if denied.code() == Some(status::NO_SUCH_FILE) => {}
            Err(denied) => return Err(work.explain(denied, path, Act::Read).await),
        }
    }
    Ok(there)
}

/// What may still be found.
struct Room {
    entries: Cell<usize>,
    bytes: Cell<usize>,
}

impl Room {
    fn take(&self, path: &[u8]) -> bool {
        let left = (self.entries.get().checked_sub(1), self.bytes.get().checked_sub(path.len() + size_of::<Vec<u8>>()));
        let (Some(entries), Some(bytes)) = left else { return false };
        self.entries.set(entries);
        self.bytes.set(bytes);
        true
    }
}

async fn matches<S: Sink>(
    work: &Work<'_, '_, S>,
    directories: &[Vec<u8>],
    pattern: &[u8],
    closed: &RefCell<Option<Vec<u8>>>,
) -> Result<Vec<Vec<u8>>, Fault> {
    let room = &Room { entries: Cell::new(FOUND_MAX), bytes: Cell::new(PATHS_MAX) };
    let listed = stream::iter(directories).map(|directory| matches_in(work, directory, pattern, room, closed));
    listed.buffered(LISTINGS).try_concat().await
}

/// Those in one directory, in order.
async fn matches_in<S: Sink>(
    work: &Work<'_, '_, S>,
    directory: &[u8],
    pattern: &[u8],
    room: &Room,
    closed: &RefCell<Option<Vec<u8>>>,
) -> Result<Vec<Vec<u8>>, Fault> {
    let opened = if directory.is_empty() { &b"."[..] } else { directory };
    let mut names = Vec::new();
    // What cannot be listed, or is no directory, has nothing in it that fits.
    let mut listing = match Listing::open(&work.remote, opened).await {
        Ok(listing) => listing,
        Err(denied) => {
            if denied.code() == Some(status::PERMISSION_DENIED) {
                closed.borrow_mut().get_or_insert_with(|| opened.to_vec());
            }
            return Ok(names);
        }
    };
    loop {
        let name = match listing.next(&work.remote).await {
            Ok(Some(name)) => name.name,
            Ok(None) => break,
            Err(denied) => return Err(work.explain(denied, opened, Act::Read).await),
        };
        let is_hidden = name.starts_with(b".") && !pattern.starts_with(b".");
        if is_hidden || !is_name(&name) || !fits_bytes(&name, pattern) {
            continue;
        }
        let path = join(directory, &name);
        if !room.take(&path) {
            let problem = format!("it fits more than {FOUND_MAX} entries, or {PATHS_MAX} bytes of paths");
            return Err(Fault::TransferRefused { path: work.shown(pattern), problem });
        }
        names.push(path);
    }
    names.sort_unstable();
    Ok(names)
}

fn is_pattern(part: &[u8]) -> bool {
    part.iter().any(|b| b"*?[".contains(b))
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
