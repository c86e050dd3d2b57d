//! The log of one operation, read: how it stands, and which step may follow.

use serde_json::Value;

use super::decide::{Continuity, Local, Memory};
use super::record::{Completed, Dispatched, Event, Intent, Record, Verdict};
use crate::constants::{RECEIPT_CLOCK_MARGIN_DAYS, RECEIPT_KEEP_DAYS};
use crate::effect::Effect;
use crate::model::moment::Moment;
use crate::model::operation::{
    AttemptId, Comparison, Evidence, Fingerprint, Generation, HostIdentity, Origin, Reason, Recorded, Seen,
    SequenceNumber,
};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// How an operation stands by its log.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// There is no log.
    None,
    /// There is no outcome.
    Open(Box<Open>),
    /// There is an outcome.
    Completed(Box<Replay>),
    /// A person said that this generation was not done.
    NotDone(Box<Open>),
    /// A person gave it up.
    Abandoned(Box<Open>),
    /// The log cannot be trusted.
    Damaged {
        /// What is wrong with it.
        problem: String,
    },
}

/// An operation without an outcome. What was sent and seen is that of the last generation.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// The last generation that was meant.
    pub generation: Generation,
    /// The number of its intent.
    pub seq: SequenceNumber,
    /// What the request comes to.
    pub fingerprint: Fingerprint,
    /// What the caller said repeating it would do.
    pub effect: Effect,
    /// The text of the command, cut.
    pub command: String,
    /// When this generation was meant.
    pub meant_at: Moment,
    /// When, as what, and where to it was sent.
    pub dispatches: Vec<(Moment, AttemptId, HostIdentity)>,
    /// Whose attempt the host took.
    pub gate: Option<AttemptId>,
    /// Why a person has to decide.
    pub needs: Option<Reason>,
}

/// A recorded outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The operation as it stood before.
    pub open: Open,
    /// When it was recorded.
    pub completed_at: Moment,
    /// The number of its record.
    pub seq: SequenceNumber,
    /// What was recorded.
    pub output: Value,
    /// Which call did it.
    pub origin: Origin,
    /// The host was told that it is kept here.
    pub acked: bool,
}

impl Standing {
    /// Reads a log that is whole. One in which a step does not follow from those before it was not written here.
    pub(super) fn read(events: &[Event]) -> Self {
        let mut standing = Self::None;
        for event in events {
            standing = match standing.after(event) {
                Ok(standing) => standing,
                Err(problem) => return Self::Damaged { problem },
            };
        }
        standing
    }

    fn after(self, event: &Event) -> Result<Self, String> {
        let out_of_place = || Err(format!("its record {} is out of place", event.seq));
        match (self, &event.record) {
            (Self::None, Record::Intent(intent)) => Ok(Self::Open(Box::new(Open::meant(intent, event)))),
            (Self::Open(open) | Self::NotDone(open), Record::Intent(intent))
                if intent.generation > open.generation && intent.fingerprint == open.fingerprint =>
            {
                Ok(Self::Open(Box::new(Open::meant(intent, event))))
            }
            (Self::Open(mut open), record) if record.generation() == open.generation => match record {
                Record::Intent(_) | Record::Acked(_) => out_of_place(),
                Record::Dispatched(Dispatched { attempt, host, .. }) => {
                    open.dispatches.push((event.at, attempt.clone(), host.clone()));
                    Ok(Self::Open(open))
                }
                Record::Withdrawn(withdrawn) => {
                    open.dispatches.retain(|(_, attempt, _)| *attempt != withdrawn.attempt);
                    Ok(Self::Open(open))
                }
                Record::Started(started) => {
                    open.gate = Some(started.attempt.clone());
                    Ok(Self::Open(open))
                }
                Record::NeedsReconciliation(needs) => {
                    open.needs = Some(needs.reason);
                    Ok(Self::Open(open))
                }
                Record::Completed(Completed { output, origin, .. }) => Ok(Self::Completed(Box::new(Replay {
                    open: *open,
                    completed_at: event.at,
                    seq: event.seq,
                    output: output.clone(),
                    origin: origin.clone(),
                    acked: false,
                }))),
                Record::Resolved(resolved) => Ok(match resolved.verdict {
                    Verdict::Done => Self::Open(open),
                    Verdict::NotDone => Self::NotDone(open),
                    Verdict::Abandoned => Self::Abandoned(open),
                }),
            },
            (Self::Completed(mut replay), Record::Acked(acked)) if acked.generation == replay.open.generation => {
                replay.acked = true;
                Ok(Self::Completed(replay))
            }
            _ => out_of_place(),
        }
    }

    /// As the table takes it, for a request with this fingerprint, before anything is contacted.
    pub(super) fn local(&self, fingerprint: &Fingerprint) -> Local {
        let open = match self {
            Self::None => return Local::None,
            Self::Damaged { .. } => return Local::Damaged,
            Self::Completed(replay) => &replay.open,
            Self::Open(open) | Self::NotDone(open) | Self::Abandoned(open) => open,
        };
        if open.fingerprint != *fingerprint {
            return Local::OtherRequest;
        }
        match self {
            Self::None => Local::None,
            Self::Damaged { .. } => Local::Damaged,
            Self::Open(open) => Local::Open(open.memory(None, open.meant_at)),
            Self::Completed(_) => Local::Completed,
            Self::NotDone(open) => Local::NotDone(open.generation),
            Self::Abandoned(_) => Local::Abandoned,
        }
    }

    /// How far it had come; none without a log.
    pub fn recorded(&self) -> Option<Recorded> {
        match self {
            Self::None => None,
            Self::Open(open) => Some(open.recorded()),
            Self::Completed(_) => Some(Recorded::Completed),
            Self::NotDone(_) => Some(Recorded::NotDone),
            Self::Abandoned(_) => Some(Recorded::Abandoned),
            Self::Damaged { .. } => Some(Recorded::Damaged),
        }
    }

    /// What is known beside the outcome; none without a log that can be trusted.
    pub fn open(&self) -> Option<&Open> {
        match self {
            Self::None | Self::Damaged { .. } => None,
            Self::Completed(replay) => Some(&replay.open),
            Self::Open(open) | Self::NotDone(open) | Self::Abandoned(open) => Some(open),
        }
    }
}

impl Open {
    fn meant(intent: &Intent, event: &Event) -> Self {
        Self {
            generation: intent.generation,
            seq: event.seq,
            fingerprint: intent.fingerprint.clone(),
            effect: intent.effect,
            command: intent.command.clone(),
            meant_at: event.at,
            dispatches: Vec::new(),
            gate: None,
            needs: None,
        }
    }

    /// As the table takes it. Without a host nothing is known of how it compares.
    pub(super) fn memory(&self, host: Option<&HostIdentity>, now: Moment) -> Memory {
        Memory {
            generation: self.generation,
            dispatched: self.continuity(host),
            gate_seen: self.gate.is_some() || self.needs.is_some_and(Reason::saw_a_gate),
            needs_reconciliation: self.needs.is_some(),
            expired: self.is_expired(now),
        }
    }

    /// It was sent to more than one host where any of them differs: what was left on the other one is not seen here.
    fn continuity(&self, host: Option<&HostIdentity>) -> Option<Continuity> {
        let compare = |pick: fn(&HostIdentity) -> Option<&str>| {
            let each = self.dispatches.iter().map(|(_, _, then)| Comparison::of(pick(then), host.and_then(pick)));
            each.reduce(Comparison::and)
        };
        Some(Continuity {
            root: compare(|host| Some(&host.root_id))?,
            host_key: compare(|host| Some(&host.host_key))?,
            boot: compare(|host| host.boot_id.as_deref())?,
        })
    }

    /// A host may have forgotten by now what it was told at the last time that is recorded.
    fn is_expired(&self, now: Moment) -> bool {
        let last = self.dispatches.last().map_or(self.meant_at, |(at, _, _)| *at);
        let kept = (RECEIPT_KEEP_DAYS - RECEIPT_CLOCK_MARGIN_DAYS) * DAY_MS;
        now.since(last).as_millis() >= u128::from(kept)
    }

    /// One of its own attempts.
    pub fn is_own(&self, attempt: &AttemptId) -> bool {
        self.dispatches.iter().any(|(_, own, _)| own == attempt)
    }

    fn recorded(&self) -> Recorded {
        match (self.needs, &self.gate, self.dispatches.is_empty()) {
            (Some(_), _, _) => Recorded::NeedsReconciliation,
            (None, Some(_), _) => Recorded::Started,
            (None, None, false) => Recorded::Dispatched,
            (None, None, true) => Recorded::Intent,
        }
    }

    /// What speaks for a verdict on it.
    pub(super) fn evidence(&self, host: Option<&HostIdentity>, seen: Seen, now: Moment) -> Evidence {
        let unknown =
            Continuity { root: Comparison::Unknown, host_key: Comparison::Unknown, boot: Comparison::Unknown };
        let Continuity { root, host_key, boot } = self.continuity(host).unwrap_or(unknown);
        let last = self.dispatches.last();
        Evidence {
            recorded: self.recorded(),
            seen,
            root,
            host_key,
            boot,
            expired: self.is_expired(now),
            attempt: last.map(|(_, attempt, _)| attempt.clone()),
            dispatched_at: last.map(|(at, _, _)| *at),
        }
    }
}

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is written.
    Append,
    /// It is there, with this number.
    AlreadyThere(SequenceNumber),
    /// Another process has gone on meanwhile: it comes too late, and changes nothing.
    Overtaken,
    /// The log cannot be trusted, so that nothing is added to it.
    Damaged,
    /// No order of events leads here: a bug of ours.
    Impossible,
    /// There is another outcome already: a bug, here or there.
    Contradicts,
}

/// Whether this step follows. The log decides it under the lock, so that two processes cannot both be first.
pub(super) fn admit(standing: &Standing, record: &Record) -> Admission {
    use Admission::{AlreadyThere, Append, Contradicts, Damaged, Impossible, Overtaken};
    let generation = record.generation();
    match (standing, record) {
        (Standing::Damaged { .. }, _) => Damaged,
        (Standing::None, Record::Intent(_)) if generation == Generation::FIRST => Append,
        // Another process was told that the key belongs to another request, and has forgotten what was meant.
        (Standing::None, Record::Dispatched(_)) => Overtaken,
        (Standing::None, _) | (Standing::Open(_), Record::Acked(_)) => Impossible,
        (Standing::Open(open), Record::Intent(intent)) => match generation.cmp(&open.generation) {
            _ if intent.fingerprint != open.fingerprint => Overtaken,
            std::cmp::Ordering::Equal => AlreadyThere(open.seq),
            std::cmp::Ordering::Greater => Append,
            std::cmp::Ordering::Less => Overtaken,
        },
        (Standing::NotDone(open), Record::Intent(intent)) => {
            let follows = generation > open.generation && intent.fingerprint == open.fingerprint;
            if follows { Append } else { Overtaken }
        }
        (Standing::Open(open), _) if generation < open.generation => Overtaken,
        (Standing::Open(open), _) if generation > open.generation => Impossible,
        (Standing::Open(open), Record::Started(started)) if open.gate.as_ref() == Some(&started.attempt) => {
            AlreadyThere(open.seq)
        }
        (Standing::Open(open), Record::NeedsReconciliation(needs)) if open.needs == Some(needs.reason) => {
            AlreadyThere(open.seq)
        }
        (Standing::Open(_), _) => Append,
        (Standing::Completed(replay), Record::Completed(completed)) if generation == replay.open.generation => {
            if completed.output == replay.output {
                AlreadyThere(replay.seq)
            } else {
                Contradicts
            }
        }
        (Standing::Completed(replay), Record::Acked(_)) if generation == replay.open.generation => {
            if replay.acked {
                AlreadyThere(replay.seq)
            } else {
                Append
            }
        }
        (Standing::Completed(_) | Standing::NotDone(_) | Standing::Abandoned(_), _) => Overtaken,
    }
}
