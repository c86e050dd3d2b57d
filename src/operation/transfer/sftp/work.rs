//! What all of one copy shares.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{LocalBoxFuture, Shared};
use tokio::time::Instant;

use super::attributes::Attributes;
use super::faults::{self, Act, explain};
use super::remote::{Beginning, Denied, Remote};
use super::wire::status;
use crate::connection::Patience;
use crate::errors::Fault;
use crate::model::copy::{CopyOptions, RemotePath};
use crate::model::outcome::Phase;
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::elevated::{self, Served};
use crate::operation::transfer::ledger::Touched;
use crate::operation::transfer::part;
use crate::operation::transfer::place::{join, parent_of};
use crate::operation::transfer::{Broken, Job, Line};

/// What may be on its way at any time, in bytes, over all files and channels.
const ON_ITS_WAY: usize = 16 << 20;
/// So many channels carry one large upload: each has a window of its own on the host, which a long path would wait for.
const STRIPES: usize = 6;
/// With answers that come faster than this, one channel's window is enough.
const STRIPES_WORTH: Duration = Duration::from_millis(4);
/// How long further channels are waited for.
const STRIPE_PATIENCE: Duration = Duration::from_secs(5);
/// How long a server with other rights may take for its first answer, once it was begun.
const SERVER_PATIENCE: Duration = Duration::from_secs(15);
/// Progress is told so often.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// A further channel, once it is open; none where it is not to be had.
pub type Stripe<'a> = Shared<LocalBoxFuture<'a, Option<Rc<Remote>>>>;

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
    /// To whom belongs what this account makes there, once that is known.
    pub account: Cell<Option<u32>>,
    /// Whether the server takes what a link says before where it is, once that is known.
    pub text_first: tokio::sync::OnceCell<bool>,
    /// Who is to own what is made there.
    pub owner: Owner,
    /// Directories that were looked at, and whether what is staged can be renamed into them.
    near: RefCell<HashMap<Vec<u8>, bool>>,
    /// How many files were staged.
    staged: Cell<u32>,
    line: Line<'a>,
    stripes: OnceCell<Vec<Stripe<'a>>>,
    moved: Cell<u64>,
    told: Cell<Option<Instant>>,
}

/// `--owner` and `--group`, by their numbers there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    user: Option<u32>,
    group: Option<u32>,
}

impl Owner {
    /// Whether one was asked for.
    pub fn is_asked_for(self) -> bool {
        self.user.is_some() || self.group.is_some()
    }

    /// Where one was asked for: who, with what it has now for the other part.
    pub fn over(self, now: (u32, u32)) -> Option<(u32, u32)> {
        self.is_asked_for().then(|| (self.user.unwrap_or(now.0), self.group.unwrap_or(now.1)))
    }
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
        let (beginning, owner, patience) = match line.rights {
            None => {
                let channel = line.session.open_channel(line.patience, line.address).await?;
                (Beginning::on(channel).await, Owner::default(), *line.patience)
            }
            Some(rights) => {
                let Served { channel, owner, group } = elevated::serve(line, job, rights).await?;
                let owner = Owner { user: owner, group };
                (Beginning::with(channel), owner, Patience::new(Some(SERVER_PATIENCE), None))
            }
        };
        let ready = beginning.ready(ON_ITS_WAY);
        let (remote, home) = patience.within(line.address, Phase::Channel, ready).await??;
        let remote = Rc::new(remote);
        *job.remote.borrow_mut() = Some(Rc::clone(&remote));
        let near = RefCell::default();
        let (stripes, told) = (OnceCell::new(), Cell::new(None));
        let (total, no_hasher, moved) = (Cell::new(None), Cell::new(false), Cell::new(0));
        let (account, text_first) = (Cell::new(None), tokio::sync::OnceCell::new());
        let staged = Cell::new(0);
        Ok(Self {
            job,
            remote,
            home,
            total,
            no_hasher,
            account,
            text_first,
            owner,
            near,
            staged,
            line,
            stripes,
            moved,
            told,
        })
    }

    /// How to copy.
    pub fn options(&self) -> &'a CopyOptions {
        self.job.plan.options
    }

    /// Whether the next attempt would find this part and continue it.
    pub fn is_resumable(&self, path: &[u8]) -> bool {
        self.job.is_resumable(path)
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

    /// The path of a temporary file for this name in this place: beside it, or in the staging directory, where that is on the same
    /// file system.
    pub async fn part(&self, path: &[u8], name: &[u8], tag: &str) -> Vec<u8> {
        let above = parent_of(path);
        let stage = self.job.stage.borrow().clone();
        if let Some(stage) = stage
            && self.is_near(&stage, above).await
        {
            let count = self.staged.get();
            self.staged.set(count.wrapping_add(1));
            return join(&stage, &part::name(name, &format!("{count:08x}")));
        }
        let name = part::name(name, tag);
        match above {
            b"." if !path.starts_with(b"./") => name,
            above => join(above, &name),
        }
    }

    async fn is_near(&self, stage: &[u8], directory: &[u8]) -> bool {
        if let Some(known) = self.near.borrow().get(directory) {
            return *known;
        }
        // A server that cannot tell is believed to have one: else renaming fails, and that is told.
        let (one, other) = tokio::join!(self.remote.space(stage), self.remote.space(directory));
        let near = one.zip(other).is_none_or(|(one, other)| one.id == other.id);
        self.near.borrow_mut().insert(directory.to_vec(), near);
        near
    }

    /// Gives what was made at this path to whom it was asked for.
    pub async fn give(&self, path: &[u8], now: Option<(u32, u32)>) -> Result<(), Fault> {
        if !self.owner.is_asked_for() {
            return Ok(());
        }
        let now = match now {
            Some(now) => Some(now),
            None => self.remote.lstat(path).await.ok().and_then(|found| found.owner),
        };
        let wish = Attributes { owner: now.and_then(|now| self.owner.over(now)), ..Attributes::default() };
        let given = match self.remote.lsetstat(path, &wish) {
            Some(given) => given.await,
            None => self.remote.setstat(path, &wish).await,
        };
        match given {
            Ok(()) => Ok(()),
            Err(denied) => Err(self.explain(denied, path, Act::Set).await),
        }
    }

    /// Further channels for a large upload, where they are worth it: each where it is to be had. Whoever does not wait for one to
    /// the end leaves it to the next who does.
    pub fn stripes(&self) -> &[Stripe<'a>] {
        // Sudo would be asked once more for each, and a part that was written in several places cannot be continued.
        if self.line.rights.is_some() || self.options().resume {
            return &[];
        }
        if self.remote.client().round_trip().is_none_or(|took| took < STRIPES_WORTH) {
            return &[];
        }
        self.stripes.get_or_init(|| {
            let (line, first) = (self.line, Rc::clone(&self.remote));
            (1..STRIPES)
                .map(|_| {
                    let first = Rc::clone(&first);
                    let opened = async move {
                        let patience = Patience::new(Some(STRIPE_PATIENCE), None);
                        let ready = async {
                            let channel = line.session.open_channel(&patience, line.address).await?;
                            Ok::<_, Broken>(Beginning::on(channel).await.ready(ON_ITS_WAY / STRIPES).await?.0)
                        };
                        let opened = tokio::time::timeout(STRIPE_PATIENCE, ready).await.ok()?.ok()?;
                        first.writing.at_most(ON_ITS_WAY / STRIPES);
                        log::info!("one more channel for large files");
                        Some(Rc::new(opened))
                    };
                    opened.boxed_local().shared()
                })
                .collect()
        })
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
        self.job.tell_leftovers();
        let mut ledger = self.job.ledger.borrow_mut();
        match result {
            Ok(Outcome::Done(entry)) => ledger.done(entry),
            Ok(Outcome::Kept) => ledger.kept(below, "exists"),
            Err(fault) => ledger.settle_failure(below, fault)?,
        }
        Ok(())
    }

    /// A directory was made.
    pub fn made(&self, below: &[u8]) {
        self.job.ledger.borrow_mut().done(Entry::new(below, EntryAction::Created, 0));
    }
}
