//! A file on the host, read in order: many requests on their way, their answers taken one after the other.

use std::collections::VecDeque;

use bytes::Bytes;

use super::pump::Broke;
use super::work::Work;
use crate::errors::Fault;
use crate::model::sink::Sink;

/// Gives so many bytes from this offset on to `take`, in order, and less only where the file ends before. Returns how many.
pub async fn stream<S: Sink>(
    work: &Work<'_, '_, S>,
    handle: &[u8],
    from: u64,
    length: u64,
    mut take: impl AsyncFnMut(Bytes) -> Result<(), Fault>,
) -> Result<u64, Broke> {
    let (remote, window) = (&work.remote, &work.remote.reading);
    remote.sized().await;
    let end = from.saturating_add(length);
    let (mut asked, mut at) = (from, from);
    let mut on_their_way = VecDeque::new();
    loop {
        while asked < end {
            let size = usize::try_from(end - asked).unwrap_or(usize::MAX).min(window.request());
            let room = if on_their_way.is_empty() {
                window.room(size).await.map_err(Broke::Here)?
            } else {
                // Only what fits at once: what is on its way has to be taken meanwhile.
                match futures_util::FutureExt::now_or_never(window.room(size)) {
                    Some(room) => room.map_err(Broke::Here)?,
                    None => break,
                }
            };
            on_their_way.push_back((room, asked, size, remote.read(handle, asked, size)));
            asked += size as u64;
        }
        let Some((room, offset, size, answer)) = on_their_way.pop_front() else { return Ok(at - from) };
        let mut pieces = answer.await.map_err(Broke::There)?;
        room.answered();
        let mut got: usize = pieces.iter().map(Bytes::len).sum();
        while got > 0 {
            for piece in std::mem::take(&mut pieces) {
                at += piece.len() as u64;
                take(piece).await.map_err(Broke::Here)?;
            }
            let missing = size - usize::try_from(at - offset).unwrap_or(size);
            if missing == 0 {
                break;
            }
            // The server gave less than was asked for: the rest comes before what follows.
            pieces = remote.read(handle, at, missing).await.map_err(Broke::There)?;
            got = pieces.iter().map(Bytes::len).sum();
        }
        if at < offset + size as u64 {
            return Ok(at - from);
        }
    }
}
