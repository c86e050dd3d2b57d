//! Copying files over a session.
//!
//! [`place`] says where a copy goes, [`ledger`] keeps what became of each entry and is the only one to say what that comes to.
//! A driver for each protocol moves the bytes; [`copy`] chooses one, and stops it when it has to end early.

mod command;
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
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use crate::connection::{Patience, Session};
use crate::errors::{Caught, Fault, Limit};
use crate::model::copy::{CopyOptions, ProtocolChoice, Way};
use crate::model::outcome::{Started, Warning};
use crate::model::sink::Sink;
use crate::model::transfer::{Direction, Protocol, Transfer};
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
    /// The SFTP channel of the copy, for what has to be removed when the copy was stopped.
    pub remote: RefCell<Option<Rc<sftp::Remote>>>,
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
}

/// When a copy has to end by itself.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// `--timeout`.
    pub timeout: Option<Duration>,
    /// `--deadline`: the moment, and the span.
    pub deadline: Option<(Instant, Duration)>,
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
        remote: RefCell::default(),
    };
    let until = earliest(limits);
    let ended = tokio::select! {
        biased;
        Some(signal) = signals.recv() => Err(Stop::Signal(signal)),
        () = at(until) => Err(stop_at(until)),
        driven = drive(line, &job) => Ok(driven),
    };
    // The driver is gone, and with it its channels; what it left unfinished there is not.
    let swept = tokio::select! {
        biased;
        Some(_) = signals.recv() => false,
        () = sleep(SWEEP) => false,
        swept = sweep(line, &job) => swept,
    };
    for part in job.parts.take() {
        job.ledger.borrow_mut().left(&part, "not_removed: a temporary file of ours");
    }
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
            Err(Broken::NoProtocol(fault)) if choice == ProtocolChoice::Sftp => return Err(fault),
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
    if !job.parts.borrow().is_empty() {
        let protocol = job.landing.borrow().protocol;
        match protocol {
            Some(Protocol::Scp) => legacy::sweep(line, job).await,
            Some(Protocol::Sftp) | None => sftp::sweep(line, job).await,
        }
    }
    job.parts.borrow().is_empty()
}

fn earliest(limits: Limits) -> Option<(Instant, Limit, Duration)> {
    let timeout = limits.timeout.and_then(|span| Some((Instant::now().checked_add(span)?, Limit::Timeout, span)));
    let deadline = limits.deadline.map(|(at, span)| (at, Limit::Deadline, span));
    [timeout, deadline].into_iter().flatten().min_by_key(|(at, ..)| *at)
}

async fn at(until: Option<(Instant, Limit, Duration)>) {
    match until {
        Some((at, ..)) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn stop_at(until: Option<(Instant, Limit, Duration)>) -> Stop {
    match until {
        Some((_, limit, span)) => Stop::Limit(limit, span),
        None => Stop::Limit(Limit::Timeout, Duration::ZERO),
    }
}
