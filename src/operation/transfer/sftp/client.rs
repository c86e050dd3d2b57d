//! Requests and answers on one channel (draft-ietf-secsh-filexfer-02 section 3).
//!
//! Two tasks stand between the channel and those who ask. One always reads, since a channel that is not drained stops the whole
//! connection. One alone writes, so that whoever drops a request that waits cannot cut a packet in half.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::frames::Frames;
use super::wire::{Packet, Reply, Violation, kind};
use crate::connection::channel::{ChannelEvent, ChannelReader, ChannelWriter};
use crate::errors::{Fault, clean};
use crate::model::outcome::Phase;
use crate::model::sink::Stream;
use crate::operation::transfer::Broken;

/// Small requests are sent together up to so many bytes.
const TOGETHER: usize = 32 * 1024;
/// How much is kept of what the host says instead of SFTP, or beside it.
const SAID_MAX: usize = 300;

/// The server's version and its extensions.
type Version = (u32, Vec<(Bytes, Bytes)>);

/// A channel that speaks SFTP. Dropped, what waits to be sent is not sent, and the channel is closed.
#[derive(Debug)]
pub struct Client {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u32,
    queue: VecDeque<Bytes>,
    waiting: HashMap<u32, (Instant, oneshot::Sender<Reply>)>,
    version: Option<oneshot::Sender<Version>>,
    /// Why there are no answers any more.
    end: Option<End>,
    closing: bool,
    /// The fastest answer so far.
    least: Option<Duration>,
}

/// Why there are no answers any more.
#[derive(Clone, Debug)]
enum End {
    /// The subsystem was refused.
    Refused,
    /// It never began: the channel ended, or something else than SFTP was said.
    NotSftp(String),
    /// It ended.
    Fault(Fault),
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while holding it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, end: End) {
        let mut state = self.state();
        state.end.get_or_insert(end);
        state.waiting.clear();
        state.queue.clear();
        state.version = None;
        state.closing = true;
        self.wake.notify_one();
    }
}

impl Client {
    /// Asks for the subsystem and begins (section 4). Requests may follow at once.
    pub async fn begin((reader, writer): (ChannelReader, ChannelWriter)) -> (Self, Opening) {
        // A session that is gone shows itself to the reader.
        let _ = writer.subsystem("sftp").await;
        Self::with((reader, writer))
    }

    /// Begins with a server that runs on this channel already.
    pub fn with((reader, writer): (ChannelReader, ChannelWriter)) -> (Self, Opening) {
        let (sender, version) = oneshot::channel();
        let shared = Arc::new(Shared::default());
        {
            let mut state = shared.state();
            state.version = Some(sender);
            state.queue.push_back(Packet::init());
        }
        tokio::spawn(read(reader, Arc::clone(&shared)));
        tokio::spawn(write(writer, Arc::clone(&shared)));
        (Self { shared: Arc::clone(&shared) }, Opening { shared, version })
    }

    /// Sends a request; the answer is the future's. Dropping that loses the answer, nothing else.
    pub fn ask(&self, packet: Packet) -> impl Future<Output = Result<Reply, Fault>> + use<> {
        let (sender, answer) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        {
            let mut state = shared.state();
            if state.end.is_none() {
                let id = state.next;
                state.next = id.wrapping_add(1);
                state.queue.push_back(packet.finish(id));
                state.waiting.insert(id, (Instant::now(), sender));
                shared.wake.notify_one();
            }
        }
        async move { answer.await.map_err(|_| ended(&shared)) }
    }

    /// Forgets what waits to be sent, and all answers.
    pub fn forget(&self) {
        let mut state = self.shared.state();
        state.queue.clear();
        for (_, waiting) in state.waiting.values_mut() {
            let (gone, _) = oneshot::channel();
            *waiting = gone;
        }
    }

    /// Whether there may still be answers.
    pub fn is_usable(&self) -> bool {
        self.shared.state().end.is_none()
    }

    /// The time that the fastest answer took.
    pub fn round_trip(&self) -> Option<Duration> {
        self.shared.state().least
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.queue.clear();
        state.closing = true;
        self.shared.wake.notify_one();
    }
}

/// The answer to the beginning.
#[derive(Debug)]
pub struct Opening {
    shared: Arc<Shared>,
    version: oneshot::Receiver<Version>,
}

impl Opening {
    /// The extensions of the server, each with a value.
    pub async fn answer(self) -> Result<Vec<(Bytes, Bytes)>, Broken> {
        match self.version.await {
            Ok((3.., extensions)) => Ok(extensions),
            Ok((version, _)) => {
                log::info!("the server speaks SFTP version {version} only");
                Err(Broken::NoProtocol(Fault::NoTransferProtocol))
            }
            Err(_) => Err(match self.shared.state().end.clone() {
                Some(End::Fault(fault)) => Broken::Fault(fault),
                Some(End::NotSftp(said)) if !said.trim().is_empty() => {
                    let problem = format!("where SFTP should begin, the host says: {}", clean(said.trim()));
                    Broken::NoProtocol(Fault::ServerViolation { problem, phase: Phase::Transfer })
                }
                _ => Broken::NoProtocol(Fault::NoTransferProtocol),
            }),
        }
    }
}

fn ended(shared: &Shared) -> Fault {
    match shared.state().end.clone() {
        Some(End::Fault(fault)) => fault,
        Some(End::Refused | End::NotSftp(_)) => Fault::NoTransferProtocol,
        None => lost("the request was given up"),
    }
}

fn lost(problem: impl Into<String>) -> Fault {
    Fault::ConnectionLost { phase: Phase::Transfer, problem: problem.into() }
}

/// Sends what is queued, in order.
async fn write(writer: ChannelWriter, shared: Arc<Shared>) {
    loop {
        let (data, closing) = {
            let mut state = shared.state();
            (next_of(&mut state.queue), state.closing)
        };
        let sent = match data {
            Some(data) => writer.send(data).await,
            None if closing => {
                // Whoever reads sees how it ends.
                let _ = writer.close().await;
                return;
            }
            None => {
                shared.wake.notified().await;
                continue;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Large packets alone, small ones together.
fn next_of(queue: &mut VecDeque<Bytes>) -> Option<Bytes> {
    let first = queue.pop_front()?;
    if queue.front().is_none_or(|second| first.len() + second.len() > TOGETHER) {
        return Some(first);
    }
    let mut together = BytesMut::with_capacity(TOGETHER);
    together.extend_from_slice(&first);
    while let Some(next) = queue.front()
        && together.len() + next.len() <= TOGETHER
    {
        together.extend_from_slice(next);
        queue.pop_front();
    }
    Some(together.freeze())
}

/// Takes everything that arrives, until the channel is closed.
async fn read(mut reader: ChannelReader, shared: Arc<Shared>) {
    let mut intake = Intake { shared, frames: Frames::default(), begun: false, first: Vec::new(), said: Vec::new() };
    loop {
        match reader.next().await {
            ChannelEvent::Data(Stream::Stdout, data) => intake.take(data),
            ChannelEvent::Data(Stream::Stderr, data) => keep(&mut intake.said, &data),
            ChannelEvent::Refused => intake.shared.end(End::Refused),
            ChannelEvent::Eof | ChannelEvent::ExitStatus(_) | ChannelEvent::ExitSignal(_) | ChannelEvent::Granted => {}
            ChannelEvent::Closed => return intake.closed(),
            ChannelEvent::Lost(problem) => return intake.shared.end(End::Fault(lost(problem))),
        }
    }
}

fn keep(said: &mut Vec<u8>, data: &[u8]) {
    let room = SAID_MAX.saturating_sub(said.len());
    said.extend_from_slice(&data[..data.len().min(room)]);
}

/// What arrived.
struct Intake {
    shared: Arc<Shared>,
    frames: Frames,
    /// The version has come.
    begun: bool,
    /// The first bytes, until then.
    first: Vec<u8>,
    /// Standard error.
    said: Vec<u8>,
}

impl Intake {
    fn take(&mut self, data: Bytes) {
        if self.shared.state().end.is_some() {
            return;
        }
        if !self.begun {
            keep(&mut self.first, &data);
        }
        self.frames.push(data);
        loop {
            let step = match self.frames.next() {
                Ok(Some(frame)) if self.begun => frame.reply().and_then(|(id, reply)| self.answer(id, reply)),
                Ok(Some(frame)) if frame.kind == kind::VERSION => frame.version().map(|version| self.begin(version)),
                Ok(Some(_)) => Err(Violation("the first SFTP packet is no version".to_owned())),
                Ok(None) => return,
                Err(violation) => Err(violation),
            };
            if let Err(Violation(problem)) = step {
                let end = if self.begun {
                    End::Fault(Fault::ServerViolation { problem, phase: Phase::Transfer })
                } else {
                    End::NotSftp(String::from_utf8_lossy(&self.first).into_owned())
                };
                return self.shared.end(end);
            }
        }
    }

    fn begin(&mut self, version: Version) {
        self.begun = true;
        if let Some(waiting) = self.shared.state().version.take() {
            // Nobody may wait for it any more.
            let _ = waiting.send(version);
        }
    }

    fn answer(&mut self, id: u32, reply: Reply) -> Result<(), Violation> {
        let mut state = self.shared.state();
        let Some((since, waiting)) = state.waiting.remove(&id) else {
            return Err(Violation(format!("an SFTP answer to a request {id} that waits for none")));
        };
        let took = since.elapsed();
        state.least = Some(state.least.map_or(took, |least| least.min(took)));
        // Nobody may wait for it any more.
        let _ = waiting.send(reply);
        Ok(())
    }

    fn closed(&self) {
        let said = String::from_utf8_lossy(&self.said).trim().to_owned();
        let end = if self.begun {
            let beside = if said.is_empty() { String::new() } else { format!(": {said}") };
            End::Fault(lost(format!("the SFTP server on the host ended{beside}")))
        } else {
            let first = String::from_utf8_lossy(&self.first).into_owned();
            End::NotSftp(if first.trim().is_empty() { said } else { first })
        };
        self.shared.end(end);
    }
}
