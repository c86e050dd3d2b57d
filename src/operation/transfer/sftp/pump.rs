//! From a source into an open file on the host, over one channel or several.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use futures_util::future::try_join_all;
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

/// Writes all that is left of the source.
pub async fn pump<S: Sink>(
    work: &Work<'_, '_, S>,
    lanes: &[Lane],
    feed: &RefCell<Feed>,
    below: &[u8],
) -> Result<(), Broke> {
    match lanes {
        [lane] => carry(work, lane, feed, below).await,
        lanes => try_join_all(lanes.iter().map(|lane| carry(work, lane, feed, below))).await.map(drop),
    }
}

/// One lane: takes the next piece whenever there is room.
async fn carry<S: Sink>(work: &Work<'_, '_, S>, lane: &Lane, feed: &RefCell<Feed>, below: &[u8]) -> Result<(), Broke> {
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
