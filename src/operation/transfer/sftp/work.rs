//! What all of one copy shares.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use super::faults::{self, Act, explain};
use super::remote::{Beginning, Denied, Remote};
use super::wire::status;
use crate::connection::Patience;
use crate::errors::Fault;
use crate::model::copy::{CopyOptions, RemotePath};
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::ledger::Touched;
use crate::operation::transfer::place::join;
use crate::operation::transfer::{Broken, Job, Line};

/// What may be on its way at any time, in bytes, over all files and channels.
const ON_ITS_WAY: usize = 16 << 20;
/// So many channels carry one large upload: each has a window of its own on the host, which a long path would wait for.
const STRIPES: usize = 4;
/// With answers that come faster than this, one channel's window is enough.
const STRIPES_WORTH: Duration = Duration::from_millis(4);
/// How long further channels are waited for.
const STRIPE_PATIENCE: Duration = Duration::from_secs(5);
/// Progress is told so often.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// A copy that has begun.
pub struct Work<'a, 'j, S> {
    /// What to do.
    pub job: &'a Job<'j, S>,
    /// The first channel.
    pub remote: Rc<Remote>,
    /// The account's home directory.
    pub home: Vec<u8>,
    /// What there is to copy in all, as far as that is known.
    pub total: Cell<Option<u64>>,
    /// Nothing on the host can hash for us.
    pub no_hasher: Cell<bool>,
    line: Line<'a>,
    stripes: tokio::sync::OnceCell<Vec<Rc<Remote>>>,
    moved: Cell<u64>,
    told: Cell<Option<Instant>>,
}

/// What became of a file.
#[derive(Debug)]
pub enum Outcome {
    /// It is there.
    Done(Entry),
    /// It stays as it was.
    Kept,
}

impl<'a, 'j, S: Sink> Work<'a, 'j, S> {
    /// Begins to speak SFTP.
    pub async fn begin(line: Line<'a>, job: &'a Job<'j, S>) -> Result<Self, Broken> {
        let channel = line.session.open_channel(line.patience, line.address).await?;
        let ready = async { Beginning::on(channel).await.ready(ON_ITS_WAY).await };
        let (remote, home) = line.patience.within(line.address, crate::model::outcome::Phase::Channel, ready).await??;
        let remote = Rc::new(remote);
        *job.remote.borrow_mut() = Some(Rc::clone(&remote));
        let (stripes, told) = (tokio::sync::OnceCell::new(), Cell::new(None));
        let (total, no_hasher, moved) = (Cell::new(None), Cell::new(false), Cell::new(0));
        Ok(Self { job, remote, home, total, no_hasher, line, stripes, moved, told })
    }

    /// How to copy.
    pub fn options(&self) -> &'a CopyOptions {
        self.job.plan.options
    }

    /// The session, for further channels.
    pub fn line(&self) -> Line<'a> {
        self.line
    }

    /// A path there, for messages.
    pub fn shown(&self, path: &[u8]) -> String {
        faults::shown(&self.job.plan.host, path)
    }

    /// Why an operation was not done.
    pub async fn explain(&self, denied: Denied, path: &[u8], act: Act) -> Fault {
        explain(&self.remote, &self.job.plan.host, denied, path, act).await
    }

    /// A path as it was typed, as the server takes it: relative to the home directory.
    pub async fn expand(&self, path: &RemotePath) -> Result<Vec<u8>, Fault> {
        let path = &path.0[..];
        let Some(rest) = path.strip_prefix(b"~") else {
            return Ok(if path.is_empty() { b".".to_vec() } else { path.to_vec() });
        };
        match rest {
            b"" => return Ok(b".".to_vec()),
            [b'/', below @ ..] => {
                let below = &below[below.iter().take_while(|b| **b == b'/').count()..];
                return Ok(if below.is_empty() { b".".to_vec() } else { below.to_vec() });
            }
            _ => {}
        }
        let cannot = "the host's SFTP server does not say where that home directory is; give its path".to_owned();
        match self.remote.expand(path) {
            None => Err(Fault::TransferRefused { path: self.shown(path), problem: cannot }),
            Some(answer) => match answer.await {
                Ok(expanded) => Ok(expanded),
                Err(Denied::Fault(fault)) => Err(fault),
                Err(Denied::Status(status)) if status.code == status::OP_UNSUPPORTED => {
                    Err(Fault::TransferRefused { path: self.shown(path), problem: cannot })
                }
                Err(Denied::Status(_)) => {
                    let problem = "there is no such account on the host".to_owned();
                    Err(Fault::SourceNotFound { path: self.shown(path), problem })
                }
            },
        }
    }

    /// An absolute path, for the report.
    pub fn absolute(&self, path: &[u8]) -> String {
        let whole = match path {
            [b'/', ..] => path.to_vec(),
            b"." => self.home.clone(),
            path => join(&self.home, path),
        };
        String::from_utf8_lossy(&whole).into_owned()
    }

    /// Further channels for a large upload, where they are worth it and are to be had.
    pub async fn stripes(&self) -> &[Rc<Remote>] {
        if self.remote.client().round_trip().is_none_or(|took| took < STRIPES_WORTH) {
            return &[];
        }
        let opened = self.stripes.get_or_init(|| async {
            let more = (1..STRIPES).map(|_| async {
                let patience = Patience::new(Some(STRIPE_PATIENCE), None);
                let ready = async {
                    let channel = self.line.session.open_channel(&patience, self.line.address).await?;
                    Ok::<_, Broken>(Beginning::on(channel).await.ready(ON_ITS_WAY / STRIPES).await?.0)
                };
                tokio::time::timeout(STRIPE_PATIENCE, ready).await.ok()?.ok().map(Rc::new)
            });
            let opened: Vec<_> = futures_util::future::join_all(more).await.into_iter().flatten().collect();
            log::info!("{} more channels for large files", opened.len());
            if !opened.is_empty() {
                self.remote.writing.at_most(ON_ITS_WAY / STRIPES);
            }
            opened
        });
        opened.await
    }

    /// A request that changes the target is handed over.
    pub fn asked(&self) {
        self.job.ledger.borrow_mut().touch(Touched::Asked);
    }

    /// One was done.
    pub fn touched(&self) {
        self.job.ledger.borrow_mut().touch(Touched::Yes);
    }

    /// So many bytes more of this entry have arrived.
    pub fn moved(&self, below: &[u8], bytes: usize) {
        self.moved.set(self.moved.get() + bytes as u64);
        let now = Instant::now();
        if self.told.get().is_none_or(|told| now.duration_since(told) >= TELL_EVERY) {
            self.told.set(Some(now));
            self.job.sink.borrow_mut().progress(below, self.moved.get(), self.total.get());
        }
    }

    /// Writes down what became of an entry. The error ends the whole copy.
    pub fn settle(&self, below: &[u8], result: Result<Outcome, Fault>) -> Result<(), Fault> {
        let mut ledger = self.job.ledger.borrow_mut();
        match result {
            Ok(Outcome::Done(entry)) => ledger.done(entry),
            Ok(Outcome::Kept) => ledger.kept(below, "exists"),
            Err(fault) => {
                // A lost connection says nothing about the file.
                if !matches!(fault, Fault::ConnectionLost { .. }) {
                    ledger.failed(below, 0, fault.clone());
                }
                if faults::is_final(&fault) {
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    /// A directory was made.
    pub fn made(&self, below: &[u8]) {
        self.job.ledger.borrow_mut().done(Entry::new(below, EntryAction::Created, 0));
    }
}
