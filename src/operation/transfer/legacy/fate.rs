//! What becomes of a file that arrives.

use std::path::Path;

use super::is_final;
use crate::errors::Fault;
use crate::model::transfer::Entry;
use crate::operation::transfer::Job;
use crate::operation::transfer::local::target::Incoming;

/// Where the bytes of a file go.
pub enum Into {
    /// Into a file that is being written.
    File(Box<Incoming>),
    /// To standard output.
    Stdout,
    /// They are read past, for this reason.
    Nothing(&'static str),
    /// The same: it failed.
    Failed(Fault),
}

/// What became of a file.
pub enum Settle {
    /// It is there.
    Done(Entry),
    /// What was there stays.
    Kept,
    /// It was left out, for this reason.
    Skipped(&'static str),
}

/// Writes down what became of an entry. The error ends the whole copy.
pub fn settle<S>(job: &Job<'_, S>, below: &[u8], result: Result<Option<Entry>, Fault>) -> Result<(), Fault> {
    let mut ledger = job.ledger.borrow_mut();
    match result {
        Ok(Some(entry)) => ledger.done(entry),
        Ok(None) => ledger.kept(below, "exists"),
        Err(fault) => {
            if !matches!(fault, Fault::ConnectionLost { .. }) {
                ledger.failed(below, 0, fault.clone());
            }
            if is_final(&fault) {
                return Err(fault);
            }
        }
    }
    Ok(())
}

/// The same of a file.
pub fn settle_or_skip<S>(job: &Job<'_, S>, below: &[u8], settled: Result<Settle, Fault>) -> Result<(), Fault> {
    match settled {
        Ok(Settle::Skipped(why)) => {
            job.ledger.borrow_mut().skipped(below, why);
            Ok(())
        }
        Ok(Settle::Done(entry)) => settle(job, below, Ok(Some(entry))),
        Ok(Settle::Kept) => settle(job, below, Ok(None)),
        Err(fault) => settle(job, below, Err(fault)),
    }
}

/// Tells where the copy is.
pub fn lands_at<S>(job: &Job<'_, S>, path: &Path) {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    job.landing.borrow_mut().root = Some(whole.to_string_lossy().into_owned());
}
