//! The journal as a whole: what is in it, which calls equal each other, and what has expired.

use std::collections::BTreeSet;

use serde_json::Value;

use super::history::Standing;
use super::record::{Event, Record};
use super::store::{self, load};
use super::trouble::Trouble;
use super::{Call, DedupOrigin, Journal};
use crate::constants::JOURNAL_KEEP_DAYS;
use crate::effect::Effect;
use crate::errors::Fault;
use crate::model::moment::Moment;
use crate::model::operation::{OperationId, OperationListing, Origin, Recorded};

const KEEP: std::time::Duration = std::time::Duration::from_hours(24 * JOURNAL_KEEP_DAYS);

/// What is in the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The operations, the one that changed last first.
    pub operations: Vec<OperationListing>,
    /// How many logs there are whose operation cannot be told any more.
    pub strays: u64,
}

/// A completed call that is equal to another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Equal {
    /// Which it is.
    pub origin: DedupOrigin,
    /// What was recorded of it.
    pub output: Value,
    /// When that was.
    pub completed_at: Moment,
}

/// What has been taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// The operations.
    pub operations: Vec<OperationId>,
    /// The files in which their output is kept, below the state directory, as their completions name them.
    pub spools: Vec<String>,
}

impl Journal {
    /// Every operation, by our own record alone.
    pub fn list(&mut self) -> Result<Listing, Fault> {
        let read = self.sound()?.read(|transaction| {
            let mut operations = Vec::new();
            for operation in store::operations(transaction)? {
                operations.push(match load(transaction, &operation) {
                    Ok(log) => listed(operation, &log.events),
                    Err(Trouble::Damaged(_)) => listed(operation, &[]),
                    Err(trouble) => return Err(trouble),
                });
            }
            operations.sort_by(|one, other| {
                let order = |listing: &OperationListing| (listing.updated_at, listing.created_at);
                order(other).cmp(&order(one)).then_with(|| (&one.target, &one.key).cmp(&(&other.target, &other.key)))
            });
            Ok(Listing { operations, strays: store::strays(transaction)? })
        });
        Ok(read?)
    }

    /// One operation, by our own record alone.
    pub fn listing(&mut self, operation: &OperationId) -> Result<OperationListing, Fault> {
        let Ok(store) = &mut self.store else {
            return Ok(OperationListing::bare(operation.clone(), Recorded::Damaged));
        };
        match store.load(operation) {
            Ok(log) if log.events.is_empty() => Ok(OperationListing::bare(operation.clone(), Recorded::Absent)),
            Ok(log) => Ok(listed(operation.clone(), &log.events)),
            Err(Trouble::Damaged(_)) => Ok(OperationListing::bare(operation.clone(), Recorded::Damaged)),
            Err(trouble) => Err(trouble.into()),
        }
    }

    /// Every file that a completion names. None where some record cannot be read: it may name others.
    pub fn spools(&mut self) -> Result<Option<BTreeSet<String>>, Fault> {
        let read = self.sound()?.read(|transaction| {
            let mut named = BTreeSet::new();
            for operation in store::operations(transaction)? {
                match load(transaction, &operation) {
                    Ok(log) => named.extend(spools(&log.events)),
                    Err(Trouble::Damaged(_)) => return Ok(None),
                    Err(trouble) => return Err(trouble),
                }
            }
            Ok((store::strays(transaction)? == 0).then_some(named))
        });
        Ok(read?)
    }

    /// A call that equals this one, under another key, and was executed to its end: the oldest. A write never has one.
    pub fn find_equal(&mut self, call: &Call) -> Result<Option<Equal>, Fault> {
        if call.effect == Effect::Write {
            return Ok(None);
        }
        let found = self.sound()?.read(|transaction| {
            for other in store::claimants(transaction, &call.operation, &call.fingerprint)? {
                if other == call.operation || other.target != call.operation.target {
                    continue;
                }
                match load(transaction, &other) {
                    Ok(log) => {
                        if let Some(equal) = equal(&other, call, &Standing::read(&log.events)) {
                            return Ok(Some(equal));
                        }
                    }
                    // It answers for nobody.
                    Err(Trouble::Damaged(_)) => {}
                    Err(trouble) => return Err(trouble),
                }
            }
            Ok(None)
        });
        Ok(found?)
    }

    /// Takes away what is over and older than the time for which a host remembers, at most `limit` operations. What is unresolved stays, and
    /// so does a retired key.
    pub fn collect(&mut self, now: Moment, limit: usize) -> Result<Collected, Fault> {
        let before = now.minus(KEEP);
        let operations = self.sound()?.read(|transaction| store::operations(transaction))?;
        let mut collected = Collected::default();
        for operation in operations {
            if collected.operations.len() >= limit {
                break;
            }
            let log = match self.sound()?.load(&operation) {
                Ok(log) => log,
                Err(Trouble::Damaged(_)) => continue,
                Err(trouble) => return Err(trouble.into()),
            };
            if !has_expired(&log.events, before) {
                continue;
            }
            let gone = self.sound()?.write(|transaction| {
                // Somebody may have used it since.
                let unchanged = load(transaction, &operation)? == log;
                if unchanged {
                    store::remove(transaction, &operation)?;
                }
                Ok(unchanged)
            })?;
            if gone {
                collected.spools.extend(spools(&log.events));
                collected.operations.push(operation);
            }
        }
        Ok(collected)
    }
}

fn listed(operation: OperationId, events: &[Event]) -> OperationListing {
    let standing = Standing::read(events);
    let open = standing.open();
    let replay = match &standing {
        Standing::Completed(replay) => Some(replay),
        _ => None,
    };
    let completion = replay.and_then(|replay| super::Completion::from_output(&replay.output).ok());
    OperationListing {
        key: operation.key,
        target: operation.target,
        state: standing.recorded().unwrap_or(Recorded::Damaged),
        generation: open.map(|open| open.generation),
        effect: open.map(|open| open.effect),
        command: open.map(|open| open.command.clone()),
        created_at: events.first().map(|event| event.at),
        updated_at: events.last().map(|event| event.at),
        completed_at: replay.map(|replay| replay.completed_at),
        remote_exit: completion.map(|completion| completion.remote_exit),
        host: None,
    }
}

/// Only what ran, under that key, answers for another: neither a person's word nor a copy.
fn equal(operation: &OperationId, call: &Call, standing: &Standing) -> Option<Equal> {
    let Standing::Completed(replay) = standing else { return None };
    let ran = match &replay.origin {
        Origin::Executed => true,
        Origin::Deduplicated(origin) => origin.key == operation.key,
        Origin::Operator => false,
    };
    if !ran || replay.open.fingerprint != call.fingerprint {
        return None;
    }
    let attempt = match &replay.origin {
        Origin::Deduplicated(origin) => origin.attempt.clone(),
        _ => replay.open.dispatches.last().map(|(_, attempt, _)| attempt.clone()),
    };
    let origin = DedupOrigin {
        target: operation.target.clone(),
        key: operation.key.clone(),
        seq: Some(replay.open.seq),
        generation: replay.open.generation,
        attempt,
    };
    Some(Equal { origin, output: replay.output.clone(), completed_at: replay.completed_at })
}

fn has_expired(events: &[Event], before: Moment) -> bool {
    let old = events.last().is_some_and(|event| event.at < before);
    let over = match Standing::read(events) {
        Standing::Completed(_) | Standing::NotDone(_) => true,
        Standing::Open(open) => open.dispatches.is_empty() && open.gate.is_none() && open.needs.is_none(),
        Standing::None | Standing::Abandoned(_) | Standing::Damaged { .. } => false,
    };
    old && over
}

fn spools(events: &[Event]) -> Vec<String> {
    let outputs = events.iter().filter_map(|event| match &event.record {
        Record::Completed(completed) => super::Completion::from_output(&completed.output).ok(),
        _ => None,
    });
    outputs.flat_map(|output| [output.stdout.spool, output.stderr.spool]).flatten().collect()
}
