//! Copying files over a session.
//!
//! [`place`] says where a copy goes, [`ledger`] keeps what became of each entry and is the only one to say what that comes to.
//! A driver for each protocol moves the bytes; [`copy`] chooses one, and stops it when it has to end early. With another user's
//! rights it is the same SFTP driver, and [`elevated`] begins the server that it speaks with.

mod command;
mod elevated;
pub mod ledger;
mod legacy;
#[allow(dead_code, reason = "each driver uses its part")]
mod local;
#[allow(dead_code, reason = "each driver uses its part")]
mod part;
pub mod place;
mod sftp;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use crate::connection::{Patience, Session};
use crate::errors::{Caught, Fault, Limit};
use crate::model::copy::{CopyOptions, ProtocolChoice, Way};
use crate::model::outcome::{Started, Warning};
use crate::model::sink::{Sink, Stream};
use crate::model::transfer::{Direction, Protocol, Transfer};
use crate::operation::elevate::entrance::Rights;
use crate::operation::limits::Limits;
use ledger::Ledger;

/// How long the removal of what was not finished may take. What is on its way through a slow link comes first.
const SWEEP: Duration = Duration::from_secs(5);

/// What one attempt of a copy works from.
#[derive(Debug)]
pub struct Plan<'a> {
    /// What goes where.
    pub way: &'a Way,
    /// How.
    pub options: &'a CopyOptions,
    /// Eight hex digits, random for each attempt: what the names of our temporary files have in common.
    pub tag: String,
    /// Our standard input, where it is a source.
    pub stdin: Option<File>,
    /// Before a path there, in messages: `web1:`.
    pub host: String,
}

/// What a driver works with. There is one thread: what is borrowed is never borrowed across a wait.
#[derive(Debug)]
pub struct Job<'a, S> {
    /// What to do.
    pub plan: Plan<'a>,
    /// What became of each entry.
    pub ledger: RefCell<Ledger>,
    /// Where progress is told, and where a download to standard output goes.
    pub sink: RefCell<&'a mut S>,
    /// Which protocol it came to, and where the copy is.
    pub landing: RefCell<Landing>,
    /// Temporary files there that are not finished, each by its path.
    pub parts: RefCell<BTreeSet<Vec<u8>>>,
    /// Temporary files here that stay.
    pub leftovers: local::Leftovers,
    /// The SFTP channel of the copy, for what has to be removed when the copy was stopped.
    pub remote: RefCell<Option<Rc<sftp::Remote>>>,
    /// With other rights: a directory there that is nobody else's, in which the files are written until they are whole.
    pub stage: RefCell<Option<Vec<u8>>>,
}

/// Where a copy ended up.
#[derive(Clone, Debug, Default)]
pub struct Landing {
    /// The protocol.
    pub protocol: Option<Protocol>,
    /// The file, or the directory that holds the entries.
    pub root: Option<String>,
    /// Worth saying.
    pub warnings: Vec<Warning>,
}

/// A session on which channels can be opened.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// The session.
    pub session: &'a Session,
    /// What opening the first channel may take.
    pub patience: &'a Patience,
    /// Whom it is with, for messages.
    pub address: &'a str,
    /// `--sudo`: the rights with which the host is read and written.
    pub rights: Option<&'a Rights>,
}

/// What came of one attempt.
#[derive(Debug)]
pub struct Copied {
    /// Entry by entry.
    pub transfer: Transfer,
    /// What went wrong.
    pub fault: Option<Fault>,
    /// Whether the target may have changed.
    pub started: Started,
    /// Worth saying.
    pub warnings: Vec<Warning>,
}

impl<S> Job<'_, S> {
    /// Tells where here the copy is.
    fn lands_at(&self, path: &Path) {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.landing.borrow_mut().root = Some(whole.to_string_lossy().into_owned());
    }

    /// Whether the next attempt would find this part and continue it: those that only this one knows are removed.
    fn is_resumable(&self, path: &[u8]) -> bool {
        self.plan.options.resume && !part::has_tag(path, &self.plan.tag)
    }

    /// Writes down the temporary files here that stay.
    fn tell_leftovers(&self) {
        for (path, reason) in self.leftovers.take() {
            let whole = std::path::absolute(&path).unwrap_or(path);
            self.ledger.borrow_mut().left(whole.as_os_str().as_bytes(), reason);
        }
    }
}

impl<S: Sink> Job<'_, S> {
    /// Passes bytes of a file on to our standard output.
    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "one file goes to standard output, and nothing else tells anything meanwhile"
    )]
    async fn print(&self, piece: Bytes) -> Result<(), Fault> {
        let written = self.sink.borrow_mut().write(Stream::Stdout, piece).await;
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Fault::Interrupted { signal: Caught::Pipe, confirmed: None },
            _ => Fault::StdoutFailed { problem: error.to_string() },
        })
    }
}

/// Why a driver ended before it was done.
#[derive(Debug)]
pub enum Broken {
    /// The protocol is not to be had there; the fault says how it was refused.
    NoProtocol(Fault),
    /// The whole copy ends with this.
    Fault(Fault),
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Why we stopped it.
enum Stop {
    Signal(Caught),
    Limit(Limit, Duration),
}

/// Copies, once.
pub async fn copy<S: Sink>(
    line: Line<'_>,
    plan: Plan<'_>,
    limits: Limits,
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
) -> Copied {
    let direction = match plan.way {
        Way::Upload { .. } => Direction::Upload,
        Way::Download { .. } => Direction::Download,
    };
    let job = Job {
        plan,
        ledger: RefCell::default(),
        sink: RefCell::new(sink),
        landing: RefCell::default(),
        parts: RefCell::default(),
        leftovers: local::Leftovers::default(),
        remote: RefCell::default(),
        stage: RefCell::default(),
    };
    let until = limits.first();
    let ended = tokio::select! {
        biased;
        Some(signal) = signals.recv() => Err(Stop::Signal(signal)),
        (limit, span) = over(until) => Err(Stop::Limit(limit, span)),
        driven = drive(line, &job) => Ok(driven),
    };
    // The driver is gone, and with it its channels; what it left unfinished there is not.
    let swept = tokio::select! {
        biased;
        Some(_) = signals.recv() => false,
        () = sleep(SWEEP) => false,
        swept = sweep(line, &job) => swept,
    };
    let stage = job.stage.take();
    for part in job.parts.take() {
        // With its directory it is gone, or that is told.
        if !stage.as_ref().is_some_and(|stage| part.starts_with(stage)) {
            job.ledger.borrow_mut().left(&part, part::NOT_REMOVED);
        }
    }
    if let Some(stage) = stage {
        job.ledger.borrow_mut().left(&stage, elevated::NOT_SEEN_TO_GO);
    }
    job.tell_leftovers();
    let ledger = job.ledger.into_inner();
    let started = ledger.started();
    let confirmed = if started == Started::No { None } else { Some(swept) };
    let fault = match ended {
        Ok(Ok(())) => ledger.verdict(),
        Ok(Err(fault)) => Some(fault),
        Err(Stop::Signal(signal)) => Some(Fault::Interrupted { signal, confirmed }),
        Err(Stop::Limit(limit, after)) => Some(Fault::Timeout { limit, after, confirmed }),
    };
    let Landing { protocol, root, warnings } = job.landing.into_inner();
    Copied { transfer: ledger.into_transfer(direction, protocol, root), fault, started, warnings }
}

/// By the protocol that was asked for, or by the one that is there.
async fn drive<S: Sink>(line: Line<'_>, job: &Job<'_, S>) -> Result<(), Fault> {
    let choice = job.plan.options.protocol;
    if choice != ProtocolChoice::Scp {
        job.landing.borrow_mut().protocol = Some(Protocol::Sftp);
        match sftp::run(line, job).await {
            Ok(()) => return Ok(()),
            Err(Broken::Fault(fault)) => return Err(fault),
            Err(Broken::NoProtocol(fault)) if choice == ProtocolChoice::Sftp || line.rights.is_some() => {
                return Err(fault);
            }
            Err(Broken::NoProtocol(fault)) => log::info!("no SFTP there: {fault}"),
        }
    }
    job.landing.borrow_mut().protocol = Some(Protocol::Scp);
    match legacy::run(line, job).await {
        Ok(()) => Ok(()),
        Err(Broken::Fault(fault) | Broken::NoProtocol(fault)) => Err(fault),
    }
}

/// Removes what was not finished. False where something may be left.
async fn sweep<S: Sink>(line: Line<'_>, job: &Job<'_, S>) -> bool {
    if !job.parts.borrow().is_empty() || job.stage.borrow().is_some() {
        let protocol = job.landing.borrow().protocol;
        match protocol {
            Some(Protocol::Scp) => legacy::sweep(line, job).await,
            Some(Protocol::Sftp) | None => sftp::sweep(line, job).await,
        }
    }
    job.parts.borrow().is_empty() && job.stage.borrow().is_none()
}

/// Done when the time is over: by which limit, and how long that was.
async fn over(until: Option<(Instant, Limit, Duration)>) -> (Limit, Duration) {
    match until {
        Some((at, limit, span)) => {
            sleep_until(at).await;
            (limit, span)
        }
        None => std::future::pending().await,
    }
}
