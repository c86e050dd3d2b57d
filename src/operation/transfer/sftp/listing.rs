//! A directory on the host, read as it comes: a few names at a time, however many there are.

use std::collections::VecDeque;
use std::pin::Pin;

use bytes::Bytes;

use super::remote::{Answer, Denied, Remote, violation};
use super::wire::Name;

/// So many answers without a name, one after the other, are no directory.
const EMPTY_ANSWERS: usize = 1000;

type Answering = Pin<Box<dyn Future<Output = Answer<Option<Vec<Name>>>>>>;

/// A directory that is open.
pub struct Listing {
    handle: Bytes,
    names: VecDeque<Name>,
    /// The next answer is on its way while the last one is worked on.
    ahead: Option<Answering>,
    empty: usize,
}

impl Listing {
    /// Opens it.
    pub async fn open(remote: &Remote, path: &[u8]) -> Answer<Self> {
        let handle = remote.opendir(path).await?;
        let ahead: Answering = Box::pin(remote.readdir(&handle));
        Ok(Self { handle, names: VecDeque::new(), ahead: Some(ahead), empty: 0 })
    }

    /// The next entry, never `.` or `..`; none when there are no more, and then it is closed.
    pub async fn next(&mut self, remote: &Remote) -> Answer<Option<Name>> {
        loop {
            while let Some(name) = self.names.pop_front() {
                if !matches!(&name.name[..], b"." | b"..") {
                    self.empty = 0;
                    return Ok(Some(name));
                }
            }
            let Some(ahead) = self.ahead.take() else { return Ok(None) };
            match ahead.await {
                Ok(Some(names)) => {
                    self.empty += 1;
                    if self.empty > EMPTY_ANSWERS {
                        return Err(Denied::Fault(violation("a directory whose answers hold no names")));
                    }
                    self.names = names.into();
                    self.ahead = Some(Box::pin(remote.readdir(&self.handle)));
                }
                Ok(None) => {
                    // It was only read.
                    drop(remote.close(&self.handle));
                    return Ok(None);
                }
                Err(denied) => {
                    drop(remote.close(&self.handle));
                    return Err(denied);
                }
            }
        }
    }
}
