//! A directory on the host, read as it comes: a few names at a time, however many there are.

use std::collections::VecDeque;
use std::pin::Pin;

use bytes::Bytes;

use super::remote::{Answer, Denied, Remote, violation};
use super::wire::Name;

/// So many answers are on their way: those of a small directory are its names and its end.
const AHEAD: usize = 2;
/// So many answers without a name, one after the other, are no directory.
const EMPTY_ANSWERS: usize = 1000;

type Answering = Pin<Box<dyn Future<Output = Answer<Option<Vec<Name>>>>>>;

/// A directory that is open.
pub struct Listing {
    handle: Bytes,
    names: VecDeque<Name>,
    /// Answers that are on their way while the last one is worked on.
    ahead: VecDeque<Answering>,
    empty: usize,
}

impl Listing {
    /// Opens it.
    pub async fn open(remote: &Remote, path: &[u8]) -> Answer<Self> {
        Ok(Self::of(remote, remote.opendir(path).await?))
    }

    /// Of a directory that was opened.
    pub fn of(remote: &Remote, handle: Bytes) -> Self {
        let mut listing = Self { handle, names: VecDeque::new(), ahead: VecDeque::new(), empty: 0 };
        for _ in 0..AHEAD {
            listing.ask(remote);
        }
        listing
    }

    fn ask(&mut self, remote: &Remote) {
        self.ahead.push_back(Box::pin(remote.readdir(&self.handle)));
    }

    /// Nothing more of it is wanted.
    pub fn close(mut self, remote: &Remote) {
        self.end(remote);
    }

    fn end(&mut self, remote: &Remote) {
        self.ahead.clear();
        // It was only read, and nobody waits for its end.
        drop(remote.close(&self.handle));
    }

    /// The next entry, where it is here already.
    pub fn at_hand(&mut self) -> Option<Name> {
        while let Some(name) = self.names.pop_front() {
            if !matches!(&name.name[..], b"." | b"..") {
                self.empty = 0;
                return Some(name);
            }
        }
        None
    }

    /// The next entry, never `.` or `..`; none when there are no more, and then it is closed.
    pub async fn next(&mut self, remote: &Remote) -> Answer<Option<Name>> {
        loop {
            if let Some(name) = self.at_hand() {
                return Ok(Some(name));
            }
            let Some(ahead) = self.ahead.pop_front() else { return Ok(None) };
            match ahead.await {
                Ok(Some(names)) => {
                    self.empty += 1;
                    if self.empty > EMPTY_ANSWERS {
                        return Err(Denied::Fault(violation("a directory whose answers hold no names")));
                    }
                    self.names = names.into();
                    self.ask(remote);
                }
                Ok(None) => {
                    self.end(remote);
                    return Ok(None);
                }
                Err(denied) => {
                    self.end(remote);
                    return Err(denied);
                }
            }
        }
    }
}
