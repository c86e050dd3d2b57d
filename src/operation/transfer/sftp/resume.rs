//! Continuing a file on the host: only where what is there was proven to be the beginning of the source.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::attributes::{Attributes, Type};
use super::digest;
use super::faults::Act;
use super::feed::Feed;
use super::remote::Denied;
use super::wire::open;
use super::work::Work;
use crate::errors::Fault;
use crate::model::sink::Sink;
use crate::operation::transfer::local::Meta;

/// What there is of an earlier attempt.
#[derive(Debug)]
pub enum Part {
    /// It is open, and the source was put forward to where it ends.
    Continue(Bytes),
    /// Nothing, or nothing any more.
    None,
    /// Something that we did not make stands there.
    Foreign,
}

/// Looks for a part at this path. Only a regular file that this account made is continued, and only where what is in it was
/// proven; one that is of no use is removed. `probe`: a path for a file that tells who this account is.
pub async fn part<S: Sink>(
    work: &Work<'_, '_, S>,
    feed: &RefCell<Feed>,
    meta: Meta,
    path: &[u8],
    probe: &[u8],
) -> Result<Part, Fault> {
    let there = match work.remote.lstat(path).await {
        Ok(there) => there,
        Err(Denied::Fault(fault)) => return Err(fault),
        Err(Denied::Status(_)) => return Ok(Part::None),
    };
    let is_ours = match there.owner {
        Some((owner, _)) => account(work, probe).await? == Some(owner),
        // Who may set its mode owns it; that is asked once it is open.
        None => true,
    };
    if there.file_type() != Some(Type::File) || !is_ours {
        return Ok(Part::Foreign);
    }
    if let Some(handle) = at(work, feed, meta, path, &there).await? {
        if is_still(work, &handle, path, &there).await? {
            return Ok(Part::Continue(handle));
        }
        let _ = work.remote.close(&handle).await;
        feed.borrow_mut().rewind();
        return Ok(Part::Foreign);
    }
    work.asked();
    match work.remote.remove(path).await {
        Ok(()) => work.touched(),
        Err(denied) => return Err(work.explain(denied, path, Act::Make).await),
    }
    Ok(Part::None)
}

/// Whether what was opened is what was looked at: version 3 cannot open a path without following a link.
async fn is_still<S: Sink>(
    work: &Work<'_, '_, S>,
    handle: &[u8],
    path: &[u8],
    there: &Attributes,
) -> Result<bool, Fault> {
    let same = Attributes::mode(there.bits().unwrap_or(0o600));
    let owned = work.remote.fsetstat(handle, &same);
    let (opened, now) = (work.remote.fstat(handle), work.remote.lstat(path));
    let alike = |found: Attributes| {
        let of = |a: &Attributes| (a.file_type(), a.size, a.owner, a.times.map(|(_, changed)| changed));
        of(&found) == of(there)
    };
    for answer in [owned.await.map(|()| true), opened.await.map(alike), now.await.map(alike)] {
        match answer {
            Ok(true) => {}
            Ok(false) | Err(Denied::Status(_)) => return Ok(false),
            Err(Denied::Fault(fault)) => return Err(fault),
        }
    }
    Ok(true)
}

/// To whom belongs what this account makes there; none where that cannot be told.
async fn account<S: Sink>(work: &Work<'_, '_, S>, probe: &[u8]) -> Result<Option<u32>, Fault> {
    if let Some(known) = work.account.get() {
        return Ok(Some(known));
    }
    work.asked();
    work.job.parts.borrow_mut().insert(probe.to_vec());
    let flags = open::WRITE | open::CREATE | open::EXCLUSIVE;
    let made = match work.remote.open(probe, flags, Some(0o600)).await {
        Ok(made) => made,
        Err(Denied::Fault(fault)) => return Err(fault),
        Err(Denied::Status(_)) => {
            work.job.parts.borrow_mut().remove(probe);
            return Ok(None);
        }
    };
    work.touched();
    let (found, closed) = (work.remote.fstat(&made), work.remote.close(&made));
    let found = found.await.ok().and_then(|found| found.owner).map(|(owner, _)| owner);
    // Nothing was written into it.
    let _ = closed.await;
    match work.remote.remove(probe).await {
        Ok(()) => drop(work.job.parts.borrow_mut().remove(probe)),
        Err(Denied::Fault(fault)) => return Err(fault),
        Err(Denied::Status(status)) => log::info!("a file that told who we are was not removed: {}", status.code),
    }
    work.account.set(found);
    Ok(found)
}

/// The file there, opened to be continued, and the source put forward to where that ends; none where it has to begin anew.
pub async fn at<S: Sink>(
    work: &Work<'_, '_, S>,
    feed: &RefCell<Feed>,
    meta: Meta,
    path: &[u8],
    there: &Attributes,
) -> Result<Option<Bytes>, Fault> {
    let Some(size) = there.size.filter(|size| (1..=meta.size).contains(size)) else { return Ok(None) };
    let file = feed.borrow().opened();
    let ours = prefix(file, size).await.map_err(|error| feed.borrow().fault(&error))?;
    let Some(ours) = ours else { return Ok(None) };
    let theirs = match digest::of_remote(work, path, size).await {
        Ok(theirs) => theirs,
        Err(fault @ Fault::ConnectionLost { .. }) => return Err(fault),
        // What cannot be read cannot be proven.
        Err(_) => return Ok(None),
    };
    if theirs != <[u8; 32]>::from(ours.clone().finalize()) {
        return Ok(None);
    }
    let Ok(handle) = work.remote.open(path, open::WRITE, None).await else { return Ok(None) };
    feed.borrow_mut().skip(size, ours);
    Ok(Some(handle))
}

/// The hash of the first so many bytes; none where there are fewer.
pub async fn prefix(file: Arc<File>, length: u64) -> io::Result<Option<Sha256>> {
    let hashed = tokio::task::spawn_blocking(move || {
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 256 * 1024];
        let mut at = 0;
        while at < length {
            let most = usize::try_from(length - at).unwrap_or(usize::MAX).min(buffer.len());
            match file.read_at(&mut buffer[..most], at) {
                Ok(0) => return Ok(None),
                Ok(count) => {
                    hash.update(&buffer[..count]);
                    at += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(hash))
    });
    hashed.await.map_err(io::Error::other)?
}
