//! What an upload reads, piece by piece, in order.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::wire::Packet;
use crate::errors::Fault;
use crate::operation::transfer::local;
use crate::operation::transfer::local::Meta;

/// How much is looked for behind the end of a file.
const PROBE: u64 = 1024;

/// A source that is being read.
#[derive(Debug)]
pub struct Feed {
    file: Arc<File>,
    /// For messages.
    path: PathBuf,
    /// None for a stream, of which nobody knows how long it is.
    meta: Option<Meta>,
    at: u64,
    hash: Option<Sha256>,
    ended: bool,
}

impl Feed {
    /// A file, from this offset on.
    pub fn file(file: File, path: PathBuf, meta: Meta, verify: bool) -> Self {
        let hash = verify.then(Sha256::new);
        Self { file: Arc::new(file), path, meta: Some(meta), at: 0, hash, ended: false }
    }

    /// A stream, such as standard input.
    pub fn stream(file: File, verify: bool) -> Self {
        let path = PathBuf::from("standard input");
        Self { file: Arc::new(file), path, meta: None, at: 0, hash: verify.then(Sha256::new), ended: false }
    }

    /// How much was read.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// How long it was when it was opened.
    pub fn size(&self) -> Option<u64> {
        self.meta.map(|meta| meta.size)
    }

    /// Whether it has to be read by somebody who may wait.
    pub fn is_stream(&self) -> bool {
        self.meta.is_none()
    }

    /// The hash of all that was read.
    pub fn sha256(&self) -> Option<[u8; 32]> {
        self.hash.clone().map(|hash| hash.finalize().into())
    }

    /// Begins behind what was proven to be there. `hash`: of that.
    pub fn skip(&mut self, offset: u64, hash: Sha256) {
        self.at = offset;
        self.hash = self.hash.is_some().then_some(hash);
    }

    /// Begins anew.
    pub fn rewind(&mut self) {
        self.at = 0;
        self.hash = self.hash.is_some().then(Sha256::new);
    }

    /// The file, for a hash of its beginning.
    pub fn opened(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// The fault of a source that cannot be read.
    pub fn fault(&self, error: &io::Error) -> Fault {
        local::unreadable(&self.path, error)
    }

    /// The next piece as a request, where there is one.
    pub fn next(&mut self, handle: &[u8], most: usize) -> Result<Option<(Packet, usize)>, Fault> {
        if self.ended {
            return Ok(None);
        }
        // A look at whether a file has grown beyond its length costs no large buffer.
        let left = match self.size() {
            None | Some(0) => most as u64,
            Some(size) if size > self.at => size - self.at,
            Some(_) => PROBE,
        };
        let room = usize::try_from(left).unwrap_or(most).min(most);
        let (file, at) = (&self.file, self.at);
        let filled = Packet::write(handle, at, room, |packet| fill(file, at, room, packet));
        let (packet, length) = filled.map_err(|error| self.fault(&error))?;
        if length == 0 {
            self.end()?;
            return Ok(None);
        }
        if let Some(hash) = &mut self.hash {
            hash.update(packet.tail(length));
        }
        self.at += length as u64;
        Ok(Some((packet, length)))
    }

    /// The same of a stream: what was read elsewhere.
    pub fn next_of(&mut self, handle: &[u8], read: io::Result<Vec<u8>>) -> Result<Option<(Packet, usize)>, Fault> {
        let read = read.map_err(|error| self.fault(&error))?;
        if read.is_empty() {
            self.ended = true;
            return Ok(None);
        }
        if let Some(hash) = &mut self.hash {
            hash.update(&read);
        }
        let copied = Packet::write(handle, self.at, read.len(), |packet| {
            packet.extend_from_slice(&read);
            Ok::<_, std::convert::Infallible>(())
        });
        let Ok(packet) = copied;
        self.at += read.len() as u64;
        Ok(Some(packet))
    }

    /// A file that was read to its end is as long as it says, now. One that never says, as in `/proc`, says 0.
    fn end(&mut self) -> Result<(), Fault> {
        self.ended = true;
        let now = self.file.metadata().map_err(|error| self.fault(&error))?.len();
        let said_nothing = self.size() == Some(0) && now == 0;
        let became_shorter = self.size().is_some_and(|size| self.at < size);
        if became_shorter || (now != self.at && !said_nothing) {
            let problem = format!("it changed while it was read: {} bytes were read, and it has {now}", self.at);
            return Err(self.fault(&io::Error::other(problem)));
        }
        Ok(())
    }
}

/// Reads so much, or to the end, behind what is there.
fn fill(file: &File, at: u64, room: usize, packet: &mut Vec<u8>) -> io::Result<()> {
    let begin = packet.len();
    while packet.len() - begin < room {
        let offset = at + (packet.len() - begin) as u64;
        match rustix::io::pread(file, rustix::buffer::spare_capacity(packet), offset) {
            Ok(0) => break,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // The buffer may have had more room than was asked for.
    packet.truncate(begin + room);
    Ok(())
}

/// Reads once from a stream, however long that takes.
pub async fn read_stream(file: Arc<File>, most: usize) -> io::Result<Vec<u8>> {
    let read = tokio::task::spawn_blocking(move || {
        let mut buffer = vec![0; most];
        let mut filled = 0;
        // A pipe gives little at a time.
        while filled < most {
            match (&*file).read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        buffer.truncate(filled);
        Ok(buffer)
    });
    read.await.map_err(io::Error::other)?
}
