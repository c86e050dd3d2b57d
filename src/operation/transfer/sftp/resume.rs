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
use super::feed::Feed;
use super::wire::open;
use super::work::Work;
use crate::errors::Fault;
use crate::model::sink::Sink;
use crate::operation::transfer::local::Meta;

/// The file there, opened to be continued, and the source put forward to where that ends; none where it has to begin anew.
/// `is_part`: it is a temporary file of ours, or of somebody who made one by that name.
pub async fn at<S: Sink>(
    work: &Work<'_, '_, S>,
    feed: &RefCell<Feed>,
    meta: Meta,
    path: &[u8],
    there: &Attributes,
    is_part: bool,
) -> Result<Option<Bytes>, Fault> {
    let Some(size) = there.size.filter(|size| (1..=meta.size).contains(size)) else { return Ok(None) };
    if there.file_type() != Some(Type::File) {
        return Ok(None);
    }
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
    // Who may not set its mode does not own it: it is not the one that we left.
    let same = Attributes::mode(there.bits().unwrap_or(0o600));
    if is_part && work.remote.fsetstat(&handle, &same).await.is_err() {
        let _ = work.remote.close(&handle).await;
        return Ok(None);
    }
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
