//! What all of one copy shares: how far it is, and what became of each entry.

use std::cell::Cell;
use std::time::Duration;

use tokio::time::Instant;

use super::super::{Job, Line};
use super::AGAIN;
use crate::connection::Patience;
use crate::errors::Fault;
use crate::model::copy::CopyOptions;
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::ledger::Touched;

/// Progress is told so often.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// A copy that has begun.
pub struct Meter<'a, 'j, S> {
    /// What to do.
    pub job: &'a Job<'j, S>,
    /// The session.
    pub line: Line<'a>,
    /// What there is to copy in all, as far as that is known.
    pub total: Cell<Option<u64>>,
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

impl<'a, 'j, S: Sink> Meter<'a, 'j, S> {
    /// Nothing was copied yet.
    pub fn new(line: Line<'a>, job: &'a Job<'j, S>) -> Self {
        Self { job, line, total: Cell::new(None), moved: Cell::new(0), told: Cell::new(None) }
    }

    /// How to copy.
    pub fn options(&self) -> &'a CopyOptions {
        self.job.plan.options
    }

    /// What a further channel may take.
    pub fn patience() -> Patience {
        Patience::new(Some(AGAIN), None)
    }

    /// A path there, for messages.
    pub fn shown(&self, path: &[u8]) -> String {
        format!("{}{}", self.job.plan.host, String::from_utf8_lossy(path))
    }

    /// A request that changes the target is handed over.
    pub fn asked(&self) {
        self.job.ledger.borrow_mut().touch(Touched::Asked);
    }

    /// One was done.
    pub fn touched(&self) {
        self.job.ledger.borrow_mut().touch(Touched::Yes);
    }

    /// So many bytes more of this entry have moved.
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
            Err(fault) => return ledger.settle_failure(below, fault),
        }
        Ok(())
    }

    /// A directory was made.
    pub fn made(&self, below: &[u8]) {
        self.job.ledger.borrow_mut().done(Entry::new(below, EntryAction::Created, 0));
    }
}
