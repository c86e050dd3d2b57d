//! From a source into an open file on the host, over one channel or several.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::feed::{Feed, read_stream};
use super::remote::{Denied, Remote};
use super::work::Work;
use crate::errors::Fault;
use crate::model::sink::Sink;

/// An open file on one channel.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The channel.
    pub remote: Rc<Remote>,
    /// The file.
    pub handle: Bytes,
}

/// Why it did not all arrive.
#[derive(Debug)]
pub enum Broke {
    /// The source.
    Here(Fault),
    /// The server.
    There(Denied),
}

/// Writes all that is left of the source. Further lanes join when they are ready, and those that come too late are not waited for.
/// Those that joined are returned with the result.
pub async fn pump<S: Sink>(
    work: &Work<'_, '_, S>,
    first: Lane,
    mut more: FuturesUnordered<impl Future<Output = Option<Lane>>>,
    feed: &RefCell<Feed>,
    below: &[u8],
) -> (Result<(), Broke>, Vec<Lane>) {
    let mut joined = Vec::new();
    let carry = |lane| carry(work, lane, feed, below);
    let mut busy = FuturesUnordered::from_iter([carry(first)]);
    loop {
        tokio::select! {
            biased;
            done = busy.next() => match done {
                // One that ends has found nothing more to take.
                Some(Ok(())) => more.clear(),
                Some(Err(broke)) => return (Err(broke), joined),
                None => return (Ok(()), joined),
            },
            Some(lane) = more.next() => if let Some(lane) = lane {
                joined.push(lane.clone());
                busy.push(carry(lane));
            },
        }
    }
}

/// One lane: takes the next piece whenever there is room.
async fn carry<S: Sink>(work: &Work<'_, '_, S>, lane: Lane, feed: &RefCell<Feed>, below: &[u8]) -> Result<(), Broke> {
    lane.remote.sized().await;
    let window = &lane.remote.writing;
    let mut on_their_way = FuturesUnordered::new();
    loop {
        let read = read_ahead(window.request().min(lane.remote.write_max()), feed).await;
        let next = match read {
            Read::Inline(most) => feed.borrow_mut().next(&lane.handle, most),
            Read::Elsewhere(read) => feed.borrow_mut().next_of(&lane.handle, read),
        };
        let Some((packet, length)) = next.map_err(Broke::Here)? else { break };
        let mut room = std::pin::pin!(window.room(length));
        let room = loop {
            tokio::select! {
                biased;
                Some(written) = on_their_way.next() => { let _: () = written?; }
                room = &mut room => break room.map_err(Broke::Here)?,
            }
        };
        let answer = lane.remote.write(packet);
        work.asked();
        on_their_way.push(async move {
            answer.await.map_err(Broke::There)?;
            room.answered();
            work.touched();
            work.moved(below, length);
            Ok(())
        });
    }
    while let Some(written) = on_their_way.next().await {
        written?;
    }
    Ok(())
}

/// What is to be sent next.
enum Read {
    /// So much at most, read in place.
    Inline(usize),
    /// What a stream gave.
    Elsewhere(std::io::Result<Vec<u8>>),
}

async fn read_ahead(most: usize, feed: &RefCell<Feed>) -> Read {
    let stream = {
        let feed = feed.borrow();
        feed.is_stream().then(|| feed.opened())
    };
    match stream {
        None => Read::Inline(most),
        Some(file) => Read::Elsewhere(read_stream(file, most).await),
    }
}
