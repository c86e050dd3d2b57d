//! SHA-256 of files on the host: by a command there where there is one, else by reading the file back.

use sha2::{Digest as _, Sha256};

use super::faults::Act;
use super::stream::stream;
use super::work::Work;
use crate::errors::Fault;
use crate::model::sink::Sink;
use crate::operation::transfer::command;

/// Of the first so many bytes of a file on the host, which has at least those.
pub async fn of_remote<S: Sink>(work: &Work<'_, '_, S>, path: &[u8], length: u64) -> Result<[u8; 32], Fault> {
    if !work.no_hasher.get() {
        if let Some(hash) = command::sha256(work.line(), path, length).await? {
            return Ok(hash);
        }
        work.no_hasher.set(true);
    }
    read_back(work, path, length).await
}

/// Whether the first so many bytes of a file on the host have this hash. A command there may know another file by this path, where
/// SFTP has a root or a home of its own: before they are said to differ, the file itself is read back.
pub async fn is<S: Sink>(work: &Work<'_, '_, S>, path: &[u8], length: u64, ours: [u8; 32]) -> Result<bool, Fault> {
    if !work.no_hasher.get() && command::sha256(work.line(), path, length).await? == Some(ours) {
        return Ok(true);
    }
    let is_same = read_back(work, path, length).await? == ours;
    if is_same {
        work.no_hasher.set(true);
    }
    Ok(is_same)
}

async fn read_back<S: Sink>(work: &Work<'_, '_, S>, path: &[u8], length: u64) -> Result<[u8; 32], Fault> {
    let handle = match work.remote.open_to_read(path).await {
        Ok(handle) => handle,
        Err(denied) => return Err(work.explain(denied, path, Act::Read).await),
    };
    let mut hash = Sha256::new();
    let read = stream(work, &handle, 0, length, async |piece| {
        hash.update(&piece);
        Ok(())
    });
    let read = read.await;
    let closed = work.remote.close(&handle);
    match read {
        Ok(_) => {
            // It was only read.
            let _ = closed.await;
            Ok(hash.finalize().into())
        }
        Err(super::pump::Broke::Here(fault)) => Err(fault),
        Err(super::pump::Broke::There(denied)) => Err(work.explain(denied, path, Act::Read).await),
    }
}
