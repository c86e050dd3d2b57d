//! Bytes on their way to a descriptor while the run goes on. Where somebody reads the other end, a thread writes, so that a
//! reader who does not read blocks the command behind it, and nothing else. A file or `/dev/null` has no such reader, and is
//! written at once: handing each packet to a thread costs more than the write.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use tokio::sync::{mpsc, oneshot};

/// Chunks that wait for the thread. A chunk is at most a packet of the channel, 32 KiB.
const WAITING_CHUNKS: usize = 32;
/// Small chunks that came meanwhile are written together, up to this size.
const BATCH_BYTES: usize = 64 * 1024;

/// The near end. What is sent is written in order, and the first failure is told by the next call.
#[derive(Debug)]
pub(super) struct Live {
    sender: Option<mpsc::Sender<Bytes>>,
    /// Where nobody can keep us waiting: no thread.
    here: Option<File>,
    /// Told by those who cannot wait, while the thread is behind.
    queued: VecDeque<Bytes>,
    failure: Arc<Mutex<Option<io::Error>>>,
    thread: Option<JoinHandle<()>>,
    done: Option<oneshot::Receiver<()>>,
    /// Waiting for the thread was begun, and broken off: it is not waited for again.
    given_up: bool,
}

impl Live {
    /// On a copy of this descriptor.
    pub(super) fn on(descriptor: impl AsFd) -> Self {
        let failure = Arc::new(Mutex::new(None));
        if let Some(here) = without_a_reader(descriptor.as_fd()) {
            let queued = VecDeque::new();
            return Self { sender: None, here: Some(here), queued, failure, thread: None, done: None, given_up: false };
        }
        let (sender, receiver) = mpsc::channel(WAITING_CHUNKS);
        let (finished, done) = oneshot::channel();
        let theirs = Arc::clone(&failure);
        let started = descriptor.as_fd().try_clone_to_owned().and_then(|copy| {
            thread::Builder::new().name("output".to_owned()).spawn(move || {
                if let Err(error) = write_all_of(receiver, &File::from(copy)) {
                    *theirs.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
                let _ = finished.send(());
            })
        });
        let thread = match started {
            Ok(thread) => Some(thread),
            Err(error) => {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                None
            }
        };
        let (sender, done) = (Some(sender), Some(done));
        Self { sender, here: None, queued: VecDeque::new(), failure, thread, done, given_up: false }
    }

    /// Waits for room. What is then sent cannot be lost by dropping a future.
    pub(super) async fn room(&mut self) -> io::Result<Room<'_>> {
        if let Some(file) = &self.here {
            let failed = self.failure.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(again);
            return failed.map_or(Ok(Room::Here(file, &self.failure)), Err);
        }
        let Some(sender) = &self.sender else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let failure = &self.failure;
        while !self.queued.is_empty() {
            let permit = sender.reserve().await.map_err(|_| taken(failure))?;
            if let Some(first) = self.queued.pop_front() {
                permit.send(first);
            }
        }
        sender.reserve().await.map(Room::Thread).map_err(|_| taken(failure))
    }

    /// Without waiting: where the thread is behind, it goes out before what is sent next.
    pub(super) fn post(&mut self, data: Bytes) {
        if let Some(file) = &self.here {
            return Room::Here(file, &self.failure).send(data);
        }
        let room = self.sender.as_ref().filter(|_| self.queued.is_empty()).and_then(|sender| sender.try_reserve().ok());
        match room {
            Some(permit) => permit.send(data),
            None => self.queued.push_back(data),
        }
    }

    /// Only where nothing waits before it; else it is left out.
    pub(super) fn offer(&mut self, data: Bytes) {
        let is_free = self.queued.is_empty() && self.sender.as_ref().is_none_or(|sender| sender.capacity() > 0);
        if is_free {
            self.post(data);
        }
    }

    /// Waits until everything is written.
    pub(super) async fn drained(&mut self) -> io::Result<()> {
        self.given_up = true;
        while !self.queued.is_empty() {
            // Having room means that one more of the queue is on its way.
            drop(self.room().await?);
        }
        self.sender = None;
        if let Some(done) = self.done.take() {
            // The sender's end is dropped only by the thread's end.
            let _ = done.await;
        }
        self.given_up = false;
        self.ended()
    }

    /// The same without a runtime, for the end of the process; not where [`Live::drained`] was broken off, because the reader
    /// does not read. What a full thread could not be given is handed back.
    pub(super) fn join(&mut self) -> (VecDeque<Bytes>, io::Result<()>) {
        self.sender = None;
        let is_stuck = self.given_up && self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        let ended = if is_stuck { Err(io::ErrorKind::TimedOut.into()) } else { self.ended() };
        (std::mem::take(&mut self.queued), ended)
    }

    /// How it ended; asked again, it is the same.
    fn ended(&mut self) -> io::Result<()> {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map_or(Ok(()), |error| Err(again(error)))
    }
}

/// Room for one chunk.
pub(super) enum Room<'a> {
    Thread(mpsc::Permit<'a, Bytes>),
    Here(&'a File, &'a Mutex<Option<io::Error>>),
}

impl Room<'_> {
    pub(super) fn send(self, data: Bytes) {
        match self {
            Self::Thread(permit) => permit.send(data),
            Self::Here(file, failure) => {
                if let Err(error) = write_whole(file, &data) {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        }
    }
}

/// A copy of the descriptor where it is a file or a device such as `/dev/null`: a terminal and a pipe have readers, who may stop.
fn without_a_reader(descriptor: BorrowedFd<'_>) -> Option<File> {
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(descriptor).ok()?.st_mode);
    let alone = kind.is_file() || (kind.is_char_device() && !rustix::termios::isatty(descriptor));
    if alone { descriptor.try_clone_to_owned().ok().map(File::from) } else { None }
}

/// The same error once more.
fn again(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| io::Error::new(error.kind(), error.to_string()), io::Error::from_raw_os_error)
}

/// The thread's error; a pipe that broke where it left none.
fn taken(failure: &Mutex<Option<io::Error>>) -> io::Error {
    let failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
    failure.as_ref().map_or_else(|| io::ErrorKind::BrokenPipe.into(), again)
}

fn write_all_of(mut receiver: mpsc::Receiver<Bytes>, file: &File) -> io::Result<()> {
    while let Some(first) = receiver.blocking_recv() {
        let Ok(second) = receiver.try_recv() else {
            write_whole(file, &first)?;
            continue;
        };
        let mut batch = Vec::with_capacity(BATCH_BYTES);
        batch.extend_from_slice(&first);
        batch.extend_from_slice(&second);
        while batch.len() < BATCH_BYTES
            && let Ok(next) = receiver.try_recv()
        {
            batch.extend_from_slice(&next);
        }
        write_whole(file, &batch)?;
    }
    Ok(())
}

/// Writes all of it, also to a descriptor that somebody who shares it has made non-blocking.
pub(super) fn write_whole(mut file: &File, mut data: &[u8]) -> io::Result<()> {
    while !data.is_empty() {
        match io::Write::write(&mut file, data) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => data = &data[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match poll(&mut [PollFd::new(file, PollFlags::OUT)], None) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, pipe};

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn what_is_sent_and_posted_arrives_in_order() {
        let (mut reader, writer) = pipe().unwrap();
        let reading = thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        let mut live = Live::on(&writer);
        drop(writer);
        let mut expected = Vec::new();
        runtime().block_on(async {
            for n in 0..2000_u32 {
                let piece = Bytes::from(format!("{n} ").repeat(50));
                expected.extend_from_slice(&piece);
                match n % 3 {
                    0 => live.post(piece),
                    _ => live.room().await.unwrap().send(piece),
                }
            }
            live.drained().await.unwrap();
        });
        drop(live);
        assert_eq!(reading.join().unwrap().unwrap(), expected);
    }

    #[test]
    fn a_reader_who_does_not_read_blocks_no_runtime() {
        let (reader, writer) = pipe().unwrap();
        let mut live = Live::on(&writer);
        runtime().block_on(async {
            let endless = async {
                loop {
                    live.room().await.unwrap().send(Bytes::from(vec![b'x'; 32 * 1024]));
                }
            };
            let () = tokio::time::timeout(std::time::Duration::from_millis(50), endless).await.unwrap_or_default();
        });
        live.post(Bytes::from_static(b"late"));
        drop(reader);
        let (left, ended) = live.join();
        assert_eq!(left, ["late"]);
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_reader_who_was_given_up_is_not_waited_for() {
        let (reader, writer) = pipe().unwrap();
        let mut live = Live::on(&writer);
        runtime().block_on(async {
            live.room().await.unwrap().send(Bytes::from(vec![b'x'; 1 << 20]));
            let cut = tokio::time::timeout(std::time::Duration::from_millis(20), live.drained()).await;
            assert!(cut.is_err());
        });
        assert_eq!(live.join().1.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(reader);
    }

    #[test]
    fn a_reader_who_went_away_is_told() {
        let (reader, writer) = pipe().unwrap();
        let mut live = Live::on(&writer);
        drop(reader);
        let told = runtime().block_on(async {
            loop {
                match live.room().await {
                    Ok(room) => room.send(Bytes::from_static(b"x")),
                    Err(error) => return error.kind(),
                }
                tokio::task::yield_now().await;
            }
        });
        assert_eq!(told, io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_full_disk_is_told_as_such() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut live = Live::on(&full);
        let told = runtime().block_on(async {
            live.room().await.unwrap().send(Bytes::from_static(b"x"));
            live.drained().await
        });
        assert_eq!(told.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
