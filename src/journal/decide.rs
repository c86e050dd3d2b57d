//! What to do about a keyed operation: one table, pure and total.
//!
//! Two things are known: what our own record says ([`Local`]), and what the host showed ([`Remote`]). Our record alone never says that
//! something was not started; it only says whether it *may* have been. GO comes out in two cases. Either nothing of ours can have started
//! it and the host has no receipt: then the gate on the host decides between us and anybody else. Or what was started is proven to be over
//! without an outcome, and the effect allows a second time: then the next generation goes.

use crate::effect::Effect;
use crate::errors::Fault;
use crate::model::operation::{Comparison, Evidence, Generation, OperationKey, Reason};
use crate::model::outcome::Started;

/// What our own record says of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Local {
    /// There is no record.
    None,
    /// The key was used for another request.
    OtherRequest,
    /// Its outcome is recorded.
    Completed,
    /// A person said that this generation was not done; it can start no more.
    NotDone(Generation),
    /// A person gave it up.
    Abandoned,
    /// It was meant, and there is no outcome.
    Open(Memory),
    /// The record cannot be trusted.
    Damaged,
}

/// What is recorded of an operation without an outcome, beside what the host says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    /// The last generation that was meant.
    pub generation: Generation,
    /// It was sent: how the host of then compares with the one that is seen. None where it never was.
    pub dispatched: Option<Continuity>,
    /// The host was seen to have taken it on.
    pub gate_seen: bool,
    /// It was told before that a person has to decide.
    pub needs_reconciliation: bool,
    /// The record is older than the time for which a host remembers.
    pub expired: bool,
}

/// How the host compares with the one to which it was sent; the worst, where it was sent more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Continuity {
    /// The directory of receipts.
    pub root: Comparison,
    /// The host key.
    pub host_key: Comparison,
    /// The boot.
    pub boot: Comparison,
}

impl Continuity {
    /// What was written on the host then has to be there still.
    pub const fn is_unbroken(self) -> bool {
        matches!(self.root.and(self.host_key).and(self.boot), Comparison::Same)
    }
}

impl Memory {
    /// Something was sent, or seen, that may have started it.
    pub const fn may_have_started(self) -> bool {
        self.dispatched.is_some() || self.gate_seen || self.needs_reconciliation
    }

    /// Where there is no receipt: one may have been there, and may be lost.
    const fn may_have_lost_a_receipt(self) -> bool {
        let unbroken = match self.dispatched {
            Some(continuity) => continuity.is_unbroken(),
            None => true,
        };
        self.gate_seen || self.needs_reconciliation || self.expired || !unbroken
    }

    /// Whether it may have begun, without a look at the host.
    pub const fn started(self) -> Started {
        if self.may_have_started() { Started::Unknown } else { Started::No }
    }
}

/// What the host showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remote {
    /// It was not asked yet.
    NotAsked,
    /// No session came about.
    NotReached,
    /// There is a session, and nothing in it that keeps receipts.
    NoHello,
    /// The directory of receipts cannot be read or written, or the disk was full before the gate.
    RootUnusable,
    /// The newest generation there, and how it stands.
    Seen {
        /// Which; the first, where there is none.
        generation: Generation,
        /// How it stands.
        receipt: Receipt,
    },
    /// The connection was lost after GO, or while following.
    Cut {
        /// It was seen to have begun.
        started: bool,
    },
}

/// How a generation stands on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Receipt {
    /// Nobody has taken it.
    NoGate,
    /// It was taken for another request.
    OtherRequest,
    /// It was closed before it started, by `ops cancel`.
    FencedByCancel,
    /// It was closed before it started, by `ops resolve` or on the way to the next generation.
    FencedByResolve,
    /// A person said that it was not done.
    SettledNotDone,
    /// It runs.
    Running,
    /// Its parents are gone, and something of it still runs.
    Orphan,
    /// It is over, and its status is there.
    Done {
        /// One of our own attempts ran it.
        ours: bool,
    },
    /// It is over, and its status was lost.
    StatusLost,
    /// It is gone without a word.
    Dead,
    /// It belongs to another node, and shows signs of life.
    ForeignAdvancing,
    /// It belongs to another node, and shows none.
    ForeignSilent {
        /// For longer than the limit.
        stale: bool,
    },
}

/// `--wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// There is time left.
    Open,
    /// It is over.
    Over,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Record the intent of this generation, then connect.
    Begin(Generation),
    /// Connect and look.
    Connect,
    /// Tell the recorded outcome; contact nobody.
    Replay,
    /// Record the dispatch, then start this generation.
    Go(Generation),
    /// Close the generation `fence`; where that succeeds, record the next one and start it.
    FenceThenGo {
        /// The one that must not start any more.
        fence: Generation,
        /// The one to start.
        go: Generation,
    },
    /// Record the intent of this generation and its dispatch, then start it.
    NextGeneration(Generation),
    /// Follow what runs, and decide again when that changes.
    Follow,
    /// Fetch the outcome and record it.
    FetchDone {
        /// One of our own attempts ran it.
        ours: bool,
    },
    /// It goes on without us.
    StillRunning,
    /// The connection's own failure is what is told.
    Unreached(Started),
    /// It cannot be gone on with.
    Fail(Failure),
}

/// Why it cannot be gone on with, and whether it may have begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Failure {
    /// Why.
    pub why: Why,
    /// Whether it may have begun. Output that was seen makes it `yes`.
    pub started: Started,
}

/// Why it cannot be gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The key belongs to another request.
    KeyMismatch,
    /// The key is retired.
    KeyRetired,
    /// It was cancelled before it started.
    CancelledBeforeStart,
    /// This host keeps no receipts.
    ReceiptUnsupported,
    /// This host cannot keep one now.
    ReceiptUnwritable,
    /// The intent cannot be recorded in a record that cannot be trusted.
    JournalDamaged,
    /// The connection was lost while it ran.
    TransportCut,
    /// It belongs to another node that is silent, and not for long enough to be given up.
    ForeignSilent,
    /// A person has to decide.
    Reconcile(Reason),
}

impl Why {
    /// As a fault. `problem`: what the host or the store said of it; for a [`Reason`] the evidence is.
    pub fn fault(self, key: &OperationKey, evidence: &Evidence, problem: &str) -> Fault {
        let key = || key.to_string();
        let problem = || problem.to_owned();
        let evidence = || evidence.to_string();
        match self {
            Self::KeyMismatch => Fault::OpKeyMismatch { key: key() },
            Self::KeyRetired => Fault::OpKeyRetired { key: key() },
            Self::CancelledBeforeStart => Fault::CancelledBeforeStart,
            Self::ReceiptUnsupported => Fault::ReceiptUnsupported { problem: problem() },
            Self::ReceiptUnwritable => Fault::ReceiptUnwritable { problem: problem() },
            Self::JournalDamaged => Fault::JournalUnwritable { problem: problem() },
            Self::TransportCut => Fault::OpTransportCut,
            Self::ForeignSilent => Fault::ForeignSilent { evidence: evidence() },
            Self::Reconcile(Reason::ReceiptLost) => Fault::ReceiptLost { evidence: evidence() },
            Self::Reconcile(Reason::ReceiptUnreachable) => Fault::ReceiptUnreachable { evidence: evidence() },
            Self::Reconcile(Reason::ExitStatusLost) => Fault::ExitStatusLost { evidence: evidence() },
            Self::Reconcile(Reason::DiedWithoutStatus) => Fault::DiedWithoutStatus { evidence: evidence() },
            Self::Reconcile(Reason::ForeignUnknown) => Fault::ForeignUnknown { evidence: evidence() },
        }
    }
}

/// The table. Without a permit nothing in it can be carried out that starts anything: see [`super::ToolCallPermit`].
pub const fn decide(local: Local, remote: Remote, effect: Effect, wait: Wait) -> Decision {
    match local {
        // No look at the host changes these: an intent comes before everything, an outcome after it.
        Local::None => Decision::Begin(Generation::FIRST),
        Local::NotDone(generation) => Decision::Begin(generation.next()),
        Local::OtherRequest => fail(Why::KeyMismatch, Started::No),
        Local::Abandoned => fail(Why::KeyRetired, Started::No),
        Local::Completed => Decision::Replay,
        Local::Open(memory) => look(Some(memory), remote, effect, wait),
        Local::Damaged => look(None, remote, effect, wait),
    }
}

/// `memory` is none where the record cannot be trusted: it may have been sent, nobody knows when or where to.
const fn look(memory: Option<Memory>, remote: Remote, effect: Effect, wait: Wait) -> Decision {
    let started = match memory {
        Some(memory) => memory.started(),
        None => Started::Unknown,
    };
    match (remote, started) {
        (Remote::NotAsked, _) => Decision::Connect,
        (Remote::NotReached, started) => Decision::Unreached(started),
        (Remote::NoHello, Started::No) => fail(Why::ReceiptUnsupported, Started::No),
        (Remote::NoHello, _) => reconcile(Reason::ReceiptUnreachable),
        (Remote::RootUnusable, Started::No) => fail(Why::ReceiptUnwritable, Started::No),
        (Remote::RootUnusable, started) => match effect {
            Effect::Read | Effect::Idempotent => fail(Why::ReceiptUnwritable, started),
            Effect::Write => reconcile(Reason::ReceiptUnreachable),
        },
        (Remote::Cut { started: true }, _) => fail(Why::TransportCut, Started::Yes),
        (Remote::Cut { started: false }, _) => fail(Why::TransportCut, Started::Unknown),
        (Remote::Seen { generation, receipt }, _) => match memory {
            None => seen(None, generation, receipt, effect, wait),
            Some(memory) if generation.0 < memory.generation.0 && !matches!(receipt, Receipt::OtherRequest) => {
                // Ours is newer than anything there.
                no_gate(memory, effect)
            }
            Some(memory) => seen(Some(memory), generation, receipt, effect, wait),
        },
    }
}

const fn seen(
    memory: Option<Memory>,
    generation: Generation,
    receipt: Receipt,
    effect: Effect,
    wait: Wait,
) -> Decision {
    let again = matches!(effect, Effect::Read | Effect::Idempotent);
    match (receipt, memory) {
        (Receipt::OtherRequest, _) => fail(Why::KeyMismatch, Started::No),
        (Receipt::FencedByCancel, _) => fail(Why::CancelledBeforeStart, Started::No),
        (Receipt::Done { ours }, _) => Decision::FetchDone { ours },
        (Receipt::Running | Receipt::Orphan | Receipt::ForeignAdvancing, _) => match wait {
            Wait::Open => Decision::Follow,
            Wait::Over => Decision::StillRunning,
        },
        (Receipt::StatusLost, _) if !again => reconcile(Reason::ExitStatusLost),
        (Receipt::Dead, _) if !again => reconcile(Reason::DiedWithoutStatus),
        (Receipt::ForeignSilent { .. }, _) if !again => reconcile(Reason::ForeignUnknown),
        (Receipt::ForeignSilent { stale: false }, _) if matches!(effect, Effect::Idempotent) => {
            fail(Why::ForeignSilent, Started::Unknown)
        }
        (Receipt::NoGate, None) if !again => reconcile(Reason::ReceiptLost),
        // What would start something needs an intent on disk.
        (_, None) => fail(Why::JournalDamaged, Started::Unknown),
        (Receipt::NoGate, Some(memory)) => no_gate(memory.as_of(generation), effect),
        (
            Receipt::FencedByResolve
            | Receipt::SettledNotDone
            | Receipt::StatusLost
            | Receipt::Dead
            | Receipt::ForeignSilent { .. },
            Some(_),
        ) => Decision::NextGeneration(generation.next()),
    }
}

impl Memory {
    /// Somebody else went on to a newer generation, which proves that this one was settled. On an unbroken host our record then says
    /// nothing of the newer one; on another it still says that something was lost.
    const fn as_of(self, generation: Generation) -> Self {
        let unbroken = match self.dispatched {
            Some(continuity) => continuity.is_unbroken(),
            None => false,
        };
        let settled = self.generation.0 < generation.0 && unbroken;
        Self {
            generation,
            dispatched: if settled { None } else { self.dispatched },
            gate_seen: self.gate_seen && !settled,
            needs_reconciliation: self.needs_reconciliation && !settled,
            expired: self.expired,
        }
    }
}

const fn no_gate(memory: Memory, effect: Effect) -> Decision {
    let generation = memory.generation;
    match (memory.may_have_lost_a_receipt(), effect) {
        (false, _) => Decision::Go(generation),
        (true, Effect::Read | Effect::Idempotent) => Decision::FenceThenGo { fence: generation, go: generation.next() },
        (true, Effect::Write) => reconcile(Reason::ReceiptLost),
    }
}

const fn fail(why: Why, started: Started) -> Decision {
    Decision::Fail(Failure { why, started })
}

/// Who needs a person knows neither that it began nor that it did not.
const fn reconcile(reason: Reason) -> Decision {
    fail(Why::Reconcile(reason), Started::Unknown)
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
