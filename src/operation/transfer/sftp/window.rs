//! How much is asked for before it is answered: what the path carries, and not much more.
//!
//! More on its way is better as long as the answers come as fast as the fastest did. Once they come later, something queues, and
//! more would only queue longer. What queues stands before the removal of a temporary file when we are stopped, so on a slow
//! link it is made to be worth less than half a second.

use std::cell::RefCell;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::errors::Fault;

/// What is on its way in the beginning, in bytes.
const BEGIN: usize = 128 * 1024;
/// What always may be.
const FLOOR: usize = 64 * 1024;
/// The smallest request that a large file is cut into.
const REQUEST_MIN: usize = 32 * 1024;
/// Answers that come so much later than the fastest are no sign of a queue: processes wait for their turn.
const JITTER: Duration = Duration::from_millis(8);
/// A queue worth more is made shorter.
const QUEUE_MAX: Duration = Duration::from_millis(400);

/// What may be on its way on one channel.
#[derive(Debug)]
pub struct Window {
    room: Semaphore,
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    limit: usize,
    most: usize,
    request_max: usize,
    /// To be taken out of what comes back.
    debt: usize,
    least: Option<Duration>,
    shrunk: Option<Instant>,
}

/// Room for a request, until it is answered.
#[derive(Debug)]
pub struct Room<'a> {
    window: &'a Window,
    bytes: usize,
    since: Instant,
}

impl Window {
    /// `most`: bytes on their way at any time. `request_max`: bytes of a request.
    pub fn new(most: usize, request_max: usize) -> Self {
        let state = State { limit: BEGIN, most, request_max, debt: 0, least: None, shrunk: None };
        Self { room: Semaphore::new(BEGIN), state: RefCell::new(state) }
    }

    /// The size of the next request.
    pub fn request(&self) -> usize {
        let state = self.state.borrow();
        let size = (state.limit / 8) / REQUEST_MIN * REQUEST_MIN;
        // A smaller one than that has to be what the server wants.
        size.max(REQUEST_MIN).min(state.request_max)
    }

    /// From now on requests have at most so many bytes.
    pub fn in_requests_of(&self, bytes: usize) {
        self.state.borrow_mut().request_max = bytes;
    }

    /// From now on at most so much.
    pub fn at_most(&self, most: usize) {
        let excess = {
            let mut state = self.state.borrow_mut();
            state.most = most;
            state.limit.saturating_sub(most)
        };
        self.shrink_by(excess);
    }

    /// Waits for room. Who waits longer is first.
    pub async fn room(&self, bytes: usize) -> Result<Room<'_>, Fault> {
        let bytes = bytes.clamp(1, FLOOR.max(self.state.borrow().limit / 2)).max(1);
        let wanted = u32::try_from(bytes).unwrap_or(u32::MAX);
        let permit = self.room.acquire_many(wanted).await;
        // It is never closed.
        permit.map_err(|_| Fault::Internal { problem: "a window was closed".to_owned() })?.forget();
        Ok(Room { window: self, bytes, since: Instant::now() })
    }

    fn answered(&self, bytes: usize, took: Duration) {
        let mut state = self.state.borrow_mut();
        let least = state.least.map_or(took, |least| least.min(took));
        state.least = Some(least);
        let queue = took.saturating_sub(least);
        if queue <= least.max(JITTER) {
            // Only where the window is what holds it up: four times as much a round trip later.
            if self.room.available_permits() < bytes {
                let more = (3 * bytes).min(state.most.saturating_sub(state.limit));
                state.limit += more;
                let paid = more.min(state.debt);
                state.debt -= paid;
                self.room.add_permits(more - paid);
            }
        } else if queue > QUEUE_MAX && state.shrunk.is_none_or(|shrunk| shrunk.elapsed() > took) {
            state.shrunk = Some(Instant::now());
            let less = (state.limit / 3).min(state.limit.saturating_sub(FLOOR));
            drop(state);
            self.shrink_by(less);
        }
    }

    fn shrink_by(&self, less: usize) {
        let mut state = self.state.borrow_mut();
        state.limit -= less.min(state.limit);
        let taken = self.room.forget_permits(less);
        state.debt += less - taken;
    }
}

impl Room<'_> {
    /// The answer has come.
    pub fn answered(self) {
        self.window.answered(self.bytes, self.since.elapsed());
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let mut state = self.window.state.borrow_mut();
        let paid = self.bytes.min(state.debt);
        state.debt -= paid;
        self.window.room.add_permits(self.bytes - paid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 16 << 20;

    /// A path that carries so many bytes a second and takes so long: how much is on its way in the end, and how long it queued.
    async fn settle(rate: f64, path: Duration) -> (usize, Duration) {
        let window = Window::new(MOST, 261_120);
        let mut free_at = Instant::now();
        let mut sent = std::collections::VecDeque::new();
        let mut queue = Duration::ZERO;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            let size = window.request();
            let room = tokio::time::timeout(Duration::ZERO, window.room(size)).await;
            if let Ok(room) = room {
                free_at = free_at.max(Instant::now())
                    + Duration::from_secs_f64(f64::from(u32::try_from(size).unwrap()) / rate);
                sent.push_back((room.unwrap(), free_at + path));
                continue;
            }
            let (room, at): (Room<'_>, _) = sent.pop_front().unwrap();
            tokio::time::sleep_until(at).await;
            queue = room.since.elapsed().saturating_sub(path);
            room.answered();
        }
        (window.state.borrow().limit, queue)
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_fast_path_is_filled() {
        let (limit, _) = settle(400e6, Duration::from_millis(20)).await;
        assert!(limit > 8 << 20, "{limit}");
    }

    #[tokio::test(start_paused = true)]
    async fn on_a_slow_link_little_queues() {
        let (limit, queue) = settle(128e3, Duration::from_millis(20)).await;
        assert!(limit <= BEGIN && queue < Duration::from_millis(1100), "{limit} {queue:?}");
        let (limit, queue) = settle(1e6, Duration::from_millis(20)).await;
        assert!(limit < 1 << 20 && queue < Duration::from_millis(600), "{limit} {queue:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_given_comes_back() {
        let window = Window::new(MOST, 261_120);
        let rooms: Vec<_> = [window.room(60_000).await, window.room(60_000).await].into();
        window.at_most(FLOOR);
        drop(rooms);
        assert_eq!((window.room.available_permits(), window.state.borrow().debt), (FLOOR, 0));
        let whole = window.room(1 << 30).await.unwrap();
        assert_eq!(whole.bytes, FLOOR);
    }
}
