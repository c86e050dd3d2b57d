//! Many things on their way at once, and no more than there are lanes for.

use std::future::Future;
use std::pin::Pin;

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use crate::errors::Fault;

/// So many small files are on their way at once.
pub const LANES: usize = 64;
/// So many bytes of a file take up one lane: a large file goes alone.
const LANE_BYTES: u64 = 128 * 1024;
/// A large file leaves room for one more, so that the link is not idle while the first comes to the disk.
const LANES_MOST: usize = LANES / 2;

/// How many lanes a file of this size takes up.
pub fn lanes_for(size: u64) -> usize {
    usize::try_from(size / LANE_BYTES).unwrap_or(LANES_MOST).clamp(1, LANES_MOST)
}

/// Something on its way, and how many lanes it gives back.
type Moving<'w> = Pin<Box<dyn Future<Output = Result<usize, Fault>> + 'w>>;

/// What is on its way. The first error of one ends all.
pub struct Lanes<'w> {
    running: FuturesUnordered<Moving<'w>>,
    taken: usize,
}

impl<'w> Lanes<'w> {
    /// With nothing on its way.
    pub fn new() -> Self {
        Self { running: FuturesUnordered::new(), taken: 0 }
    }

    /// Whether there is room for so many lanes more.
    pub fn has_room(&self, lanes: usize) -> bool {
        self.taken + lanes <= LANES
    }

    /// Starts something at once, room or not.
    pub fn start(&mut self, lanes: usize, work: impl Future<Output = Result<(), Fault>> + 'w) {
        self.taken += lanes;
        self.running.push(Box::pin(async move { work.await.map(|()| lanes) }));
    }

    /// Waits for one to end. False: nothing is on its way.
    pub async fn one(&mut self) -> Result<bool, Fault> {
        match self.running.next().await {
            Some(done) => {
                self.taken -= done?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Starts something, once there is room.
    pub async fn send(
        &mut self,
        lanes: usize,
        work: impl Future<Output = Result<(), Fault>> + 'w,
    ) -> Result<(), Fault> {
        while !self.has_room(lanes) && self.one().await? {}
        self.start(lanes, work);
        Ok(())
    }

    /// Drives what is on its way while something else is waited for.
    pub async fn during<T>(&mut self, other: impl Future<Output = T>) -> Result<T, Fault> {
        let mut other = std::pin::pin!(other);
        loop {
            tokio::select! {
                biased;
                done = &mut other => return Ok(done),
                one = self.one(), if !self.running.is_empty() => { one?; }
            }
        }
    }
}
