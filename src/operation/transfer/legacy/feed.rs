//! A source whose length is known before its first byte, as the protocol wants it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::errors::Fault;
use crate::operation::transfer::local::unreadable;

/// How much is read at once.
const PIECE: u64 = 256 * 1024;

/// A source that is being read.
#[derive(Debug)]
pub struct Feed {
    file: File,
    path: PathBuf,
    /// Bytes.
    pub size: u64,
    at: u64,
    /// Why what was sent is not the file.
    pub problem: Option<io::Error>,
}

impl Feed {
    /// A file. One that does not say how long it is, as in `/proc`, is read to its end first.
    pub async fn file(file: File, path: PathBuf, size: u64) -> Result<Self, Fault> {
        let says_nothing = size == 0 && file.read_at(&mut [0], 0).map_err(|error| unreadable(&path, &error))? > 0;
        if says_nothing {
            return Self::spool(file, path).await;
        }
        Ok(Self { file, path, size, at: 0, problem: None })
    }

    /// Standard input, put into a file without a name.
    pub async fn spooled(stdin: Option<&File>) -> Result<Self, Fault> {
        let path = Path::new("standard input");
        let gone = || io::Error::other("it is gone");
        let copy = stdin.ok_or_else(gone).and_then(File::try_clone).map_err(|error| unreadable(path, &error))?;
        Self::spool(copy, path.to_owned()).await
    }

    async fn spool(source: File, path: PathBuf) -> Result<Self, Fault> {
        // Whoever feeds us may take their time, and must not hold up a signal.
        let spooled = tokio::task::spawn_blocking(move || {
            let mut source = source;
            let mut file = tempfile::tempfile()?;
            let size = io::copy(&mut source.by_ref(), &mut file)?;
            Ok::<_, io::Error>((file, size))
        });
        let spooled = spooled.await.map_err(io::Error::other).and_then(|spooled| spooled);
        let (file, size) = spooled.map_err(|error| unreadable(&path, &error))?;
        Ok(Self { file, path, size, at: 0, problem: None })
    }

    /// The next piece; none once all that was announced was given. What is not there any more is given as zeros, and told.
    pub fn next(&mut self) -> Option<Bytes> {
        let left = self.size - self.at;
        if left == 0 {
            self.end();
            return None;
        }
        let mut piece = vec![0; usize::try_from(left.min(PIECE)).unwrap_or_default()];
        if self.problem.is_none()
            && let Err(error) = self.file.read_exact_at(&mut piece, self.at)
        {
            self.problem = Some(match error.kind() {
                io::ErrorKind::UnexpectedEof => io::Error::other("it became shorter while it was read"),
                _ => error,
            });
        }
        self.at += piece.len() as u64;
        Some(piece.into())
    }

    fn end(&mut self) {
        if self.problem.is_none() {
            match self.file.read_at(&mut [0], self.at) {
                Ok(0) => {}
                Ok(_) => self.problem = Some(io::Error::other("it grew while it was read")),
                Err(error) => self.problem = Some(error),
            }
        }
    }

    /// What is wrong with it.
    pub fn fault(&self) -> Option<Fault> {
        self.problem.as_ref().map(|problem| unreadable(&self.path, problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn all(feed: &mut Feed) -> usize {
        std::iter::from_fn(|| feed.next()).map(|piece| piece.len()).sum()
    }

    #[tokio::test]
    async fn as_much_as_was_announced_is_given_and_a_change_is_told() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 300_000]).unwrap();
        let feed = async |size| Feed::file(file.try_clone().unwrap(), PathBuf::from("f"), size).await.unwrap();
        let mut whole = feed(300_000).await;
        assert!(all(&mut whole) == 300_000 && whole.fault().is_none());
        let mut shrunk = feed(900_000).await;
        assert!(all(&mut shrunk) == 900_000 && shrunk.fault().is_some());
        let mut grown = feed(200_000).await;
        assert!(all(&mut grown) == 200_000 && grown.fault().is_some());
    }
}
