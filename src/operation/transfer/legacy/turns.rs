//! Whose turn it is: the command that takes files, and the shell beside it. Where the server allows one session only, each waits for
//! the other.

use super::super::Broken;
use super::errands::{Answer, EXISTS};
use super::meter::{Meter, Outcome};
use super::said::{self, Act};
use super::sink::Taker;
use super::upload::{Upload, Waiting};
use crate::errors::Fault;
use crate::model::sink::Sink;
use crate::operation::transfer::place::join;

/// So many errands are on their way before an answer is waited for.
const ERRANDS: usize = 32;

impl<S: Sink> Upload<'_, '_, '_, S> {
    /// The command that takes files, in this directory, which is there.
    pub async fn taker(&mut self, directory: &[u8]) -> Result<&mut Taker, Broken> {
        let fits = self.taker.as_ref().is_some_and(|(base, _)| inside(base, directory).is_some());
        if !fits {
            if let Some((_, old)) = self.taker.take() {
                old.close().await;
            }
            let root = self.root.clone().filter(|root| inside(root, directory).is_some());
            let base = root.unwrap_or_else(|| directory.to_vec());
            let taker = match self.begin(&base).await {
                // We may have the only session ourselves: then one at a time.
                Err(Broken::Fault(Fault::SessionLimit { .. })) if !self.shell.is_resting() => {
                    self.drain(0).await?;
                    self.shell.rest(self.meter.line).await;
                    self.begin(&base).await?
                }
                begun => begun?,
            };
            self.taker = Some((base, taker));
        }
        match &mut self.taker {
            Some((_, taker)) => Ok(taker),
            None => Err(Fault::Internal { problem: "nothing takes files".to_owned() }.into()),
        }
    }

    async fn begin(&self, base: &[u8]) -> Result<Taker, Broken> {
        let patience = Meter::<S>::patience();
        Taker::begin(self.meter.line, &patience, base, self.meter.shown(base)).await
    }

    /// Sees to it that the shell can be asked.
    pub async fn wake(&mut self) -> Result<(), Fault> {
        if self.shell.is_resting() {
            if let Some((_, taker)) = self.taker.take() {
                taker.release(self.meter.line).await;
            }
            self.shell.wake(self.meter.line).await?;
        }
        Ok(())
    }

    /// What has to be entered on the way to this directory from where the command began.
    pub fn way<'p>(&self, directory: &'p [u8]) -> Vec<&'p [u8]> {
        let below = self.taker.as_ref().and_then(|(base, _)| inside(base, directory)).unwrap_or_default();
        below.split(|b| *b == b'/').filter(|name| !name.is_empty()).collect()
    }

    /// The command is of no more use.
    pub fn forget_taker(&mut self) {
        self.taker = None;
    }

    /// Asks the shell for something whose answer is looked at later.
    pub async fn send(&mut self, errand: Vec<u8>, waiting: Waiting) -> Result<(), Fault> {
        self.wake().await?;
        self.shell.send(errand).await?;
        self.waiting.push_back(waiting);
        self.drain(ERRANDS).await
    }

    /// Asks it, and waits for the answer.
    pub async fn ask(&mut self, errand: Vec<u8>) -> Result<Answer, Fault> {
        self.wake().await?;
        self.shell.send(errand).await?;
        self.drain(0).await?;
        self.shell.next().await
    }

    /// Looks at answers, until no more than so many are due.
    pub async fn drain(&mut self, down_to: usize) -> Result<(), Fault> {
        while self.waiting.len() > down_to {
            let answer = self.shell.next().await?;
            match self.waiting.pop_front() {
                Some(Waiting::Landing(arrived)) => arrived.settle(self.meter, &answer)?,
                Some(Waiting::Last { path, entry, told }) => {
                    if answer.status == 0 {
                        self.meter.touched();
                        if let Some(told) = told {
                            self.meter.settle(&entry, Ok(Outcome::Done(told)))?;
                        }
                    } else if answer.status == EXISTS {
                        self.meter.settle(&entry, Ok(Outcome::Kept))?;
                    } else {
                        let fault = said::fault(&answer.text, &self.meter.shown(&path), Act::Write);
                        self.meter.settle(&entry, Err(fault))?;
                    }
                }
                None => {}
            }
        }
        Ok(())
    }
}

/// The rest of a path in this directory; none where it is elsewhere.
fn inside<'p>(base: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    let rest = path.strip_prefix(base).filter(|_| !base.is_empty())?;
    (rest.is_empty() || rest.starts_with(b"/") || base.ends_with(b"/")).then_some(rest)
}

/// A name in a directory, as short as can be.
pub fn in_directory(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory == b"." { name.to_vec() } else { join(directory, name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside() {
        assert_eq!(inside(b"a", b"a/b/c"), Some(&b"/b/c"[..]));
        assert_eq!(inside(b"/", b"/b"), Some(&b"b"[..]));
        assert_eq!((inside(b"a", b"ab"), inside(b"a", b"a")), (None, Some(&b""[..])));
        assert_eq!((inside(b"", b"/a"), inside(b"a/f", b"a")), (None, None));
        assert_eq!(in_directory(b".", b"n"), b"n");
    }
}
