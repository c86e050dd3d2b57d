//! The right to run a call, and the steps in which it is used up.
//!
//! ```text
//! ask ─▶ ToolCallPermit ──commit_intent──▶ Committed ──dispatch──▶ Dispatched: the right to start, once
//!              └───────────── record ──────────┴───────────────────────┘ ─▶ Emitted ──commit──▶ the log
//! ```

use serde_json::Value;

use super::decide::{Decision, Local, Remote, Wait, decide};
use super::history::{Open, Replay};
use super::record::{
    Completed, Dispatched as DispatchedRecord, Emitted, Intent, NeedsReconciliation, Record, Started, Withdrawn,
};
use super::store::Commit;
use super::{Call, Journal};
use crate::constants::JOURNAL_COMMAND_MAX_BYTES;
use crate::effect::Effect;
use crate::errors::Fault;
use crate::model::moment::Moment;
use crate::model::operation::{
    AttemptId, Comparison, DedupOrigin, Evidence, Fingerprint, Generation, HostIdentity, Origin, Reason, Recorded,
    Seen, SequenceNumber, StartPermission,
};

/// What the log says to a call.
#[derive(Debug)]
pub enum Answer<'c> {
    /// It may be meant: nothing was, or what was is settled and did not happen.
    Permit(ToolCallPermit<'c>),
    /// It is over: this is its outcome. Nothing runs, and nobody is contacted.
    Replay(Box<Replay>),
    /// The key belongs to another request. Nothing was written.
    Conflict(Fault),
    /// The key is retired.
    Retired(Fault),
    /// It was meant before, and only the host can tell what became of it.
    Look(Look<'c>),
}

/// What comes of a step of which another process may have been ahead.
#[derive(Debug)]
pub enum Step<'c, T> {
    /// It was taken.
    Taken(T),
    /// Another process has gone on meanwhile, and nothing was written: this is what the log says now.
    Overtaken(Answer<'c>),
}

/// The right to run one call once, as one generation. It starts nothing by itself: a [`Dispatched`] does, and that comes from a permit whose
/// intent is on disk.
#[derive(Debug)]
pub struct ToolCallPermit<'c> {
    call: &'c Call,
    generation: Generation,
    seq: SequenceNumber,
    intent: Option<Emitted>,
}

impl<'c> ToolCallPermit<'c> {
    pub(super) fn new(call: &'c Call, generation: Generation, next: SequenceNumber) -> Self {
        let record = Record::Intent(Intent {
            generation,
            fingerprint: call.fingerprint.clone(),
            effect: call.effect,
            command: cut(&call.command),
        });
        let intent = Emitted { operation: call.operation.clone(), records: vec![record] };
        Self { call, generation, seq: next, intent: Some(intent) }
    }

    /// What has to be on disk before anything is executed; none where it is there already.
    pub fn intent(&self) -> Option<&Emitted> {
        self.intent.as_ref()
    }

    /// The number of its intent. Before that is on disk: the number it gets, unless another process is quicker.
    pub fn seq(&self) -> SequenceNumber {
        self.seq
    }

    /// What the caller said repeating it would do.
    pub fn effect(&self) -> Effect {
        self.call.effect
    }

    /// The caller's key.
    pub fn idempotency_key(&self) -> Option<&str> {
        Some(self.call.operation.key.as_str())
    }

    /// Which generation it is for.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Puts the intent on disk, where it is not there yet.
    pub fn commit_intent(mut self, journal: &mut Journal) -> Result<Step<'c, Committed<'c>>, Fault> {
        if let Some(intent) = &self.intent {
            match journal.commit(intent)? {
                Commit::Recorded(seq) | Commit::AlreadyThere(seq) => self.seq = seq,
                Commit::Overtaken => return Ok(Step::Overtaken(journal.ask(self.call)?)),
            }
            self.intent = None;
        }
        match journal.ask(self.call)? {
            Answer::Look(look) if look.generation() == Some(self.generation) => {
                Ok(Step::Taken(Committed { permit: self, look }))
            }
            answer => Ok(Step::Overtaken(answer)),
        }
    }

    /// The completion, by what one of its own attempts came to.
    pub fn record(self, output: Value) -> Emitted {
        self.completed(output, Origin::Executed)
    }

    /// The completion, by what another call came to. Whether that may answer was decided before; this says so.
    pub fn record_deduplicated(self, output: Value, origin: DedupOrigin) -> Emitted {
        self.completed(output, Origin::Deduplicated(origin))
    }

    /// An intent that is not on disk yet goes there with it.
    fn completed(self, output: Value, origin: Origin) -> Emitted {
        let completed = Record::Completed(Completed { generation: self.generation, output, origin });
        let mut emitted = self.intent.unwrap_or(Emitted { operation: self.call.operation.clone(), records: vec![] });
        emitted.records.push(completed);
        emitted
    }

    /// The host said that this attempt has started nothing, and never will.
    pub fn withdrawn(&self, attempt: AttemptId) -> Emitted {
        self.step(Record::Withdrawn(Withdrawn { generation: self.generation, attempt }))
    }

    /// The host said whose attempt it took.
    pub fn started(&self, attempt: AttemptId) -> Emitted {
        self.step(Record::Started(Started { generation: self.generation, attempt }))
    }

    /// A person has to decide.
    pub fn needs_reconciliation(&self, reason: Reason, evidence: &Evidence) -> Emitted {
        let evidence = serde_json::to_value(evidence).unwrap_or_default();
        self.step(Record::NeedsReconciliation(NeedsReconciliation { generation: self.generation, reason, evidence }))
    }

    fn step(&self, record: Record) -> Emitted {
        let mut emitted =
            self.intent.clone().unwrap_or(Emitted { operation: self.call.operation.clone(), records: vec![] });
        emitted.records.push(record);
        emitted
    }
}

/// A permit whose intent is on disk.
#[derive(Debug)]
pub struct Committed<'c> {
    permit: ToolCallPermit<'c>,
    look: Look<'c>,
}

impl<'c> Committed<'c> {
    /// Puts on disk that it is sent now: for a [`Decision`] that says go, which wants to have seen the host. What comes of it is the right to start, so nothing else gives that.
    pub fn dispatch(
        self,
        journal: &mut Journal,
        attempt: AttemptId,
        host: HostIdentity,
    ) -> Result<Step<'c, Dispatched<'c>>, Fault> {
        let record = DispatchedRecord { generation: self.permit.generation, attempt: attempt.clone(), host };
        match journal.commit(&self.permit.step(Record::Dispatched(record)))? {
            Commit::Recorded(_) => Ok(Step::Taken(Dispatched { permit: self.permit, attempt })),
            Commit::AlreadyThere(_) | Commit::Overtaken => Ok(Step::Overtaken(journal.ask(self.permit.call)?)),
        }
    }

    /// What is decided with, when the host has shown itself.
    pub fn into_look(self) -> Look<'c> {
        self.look
    }

    /// The permit, to record an outcome that another attempt came to.
    pub fn into_permit(self) -> ToolCallPermit<'c> {
        self.permit
    }
}

/// The right to start, once: that it is sent is on disk.
#[derive(Debug)]
pub struct Dispatched<'c> {
    permit: ToolCallPermit<'c>,
    attempt: AttemptId,
}

impl<'c> Dispatched<'c> {
    /// The permit, to record what is seen.
    pub fn permit(&self) -> &ToolCallPermit<'c> {
        &self.permit
    }

    /// The permit, to record the outcome. The right to start is gone.
    pub fn into_permit(self) -> ToolCallPermit<'c> {
        self.permit
    }
}

impl StartPermission for Dispatched<'_> {
    fn attempt(&self) -> &AttemptId {
        &self.attempt
    }

    fn generation(&self) -> Generation {
        self.permit.generation
    }

    fn fingerprint(&self) -> &Fingerprint {
        &self.permit.call.fingerprint
    }
}

/// A call that was meant before, and has no outcome here.
#[derive(Debug)]
pub struct Look<'c> {
    pub(super) call: &'c Call,
    /// None where the log cannot be trusted, and why.
    pub(super) open: Result<Box<Open>, String>,
    pub(super) next: SequenceNumber,
}

impl<'c> Look<'c> {
    /// What is recorded; none where the log cannot be trusted.
    pub fn open(&self) -> Option<&Open> {
        self.open.as_deref().ok()
    }

    /// What is wrong with the log, where something is.
    pub fn damage(&self) -> Option<&str> {
        self.open.as_ref().err().map(String::as_str)
    }

    /// The last generation that was meant; none where the log cannot be trusted.
    pub fn generation(&self) -> Option<Generation> {
        self.open().map(|open| open.generation)
    }

    /// What to do about what the host shows. `host` is what it said of itself; none where it said nothing.
    pub fn decide(&self, host: Option<&HostIdentity>, remote: Remote, wait: Wait, now: Moment) -> Decision {
        let local = match &self.open {
            Ok(open) => Local::Open(open.memory(host, now)),
            Err(_) => Local::Damaged,
        };
        decide(local, remote, self.call.effect, wait)
    }

    /// What speaks for a verdict.
    pub fn evidence(&self, host: Option<&HostIdentity>, seen: Seen, now: Moment) -> Evidence {
        match &self.open {
            Ok(open) => open.evidence(host, seen, now),
            Err(_) => Evidence {
                recorded: Recorded::Damaged,
                seen,
                root: Comparison::Unknown,
                host_key: Comparison::Unknown,
                boot: Comparison::Unknown,
                expired: false,
                attempt: None,
                dispatched_at: None,
            },
        }
    }

    /// The permit for the generation that was meant, or for a later one. A log that cannot be trusted gives none.
    pub fn permit(self, generation: Generation) -> Result<ToolCallPermit<'c>, Fault> {
        let open =
            self.open.map_err(|problem| Fault::JournalUnwritable { problem: format!("it is damaged: {problem}") })?;
        match generation.cmp(&open.generation) {
            std::cmp::Ordering::Equal => {
                Ok(ToolCallPermit { call: self.call, generation, seq: open.seq, intent: None })
            }
            std::cmp::Ordering::Greater => Ok(ToolCallPermit::new(self.call, generation, self.next)),
            std::cmp::Ordering::Less => Err(Fault::Internal {
                problem: format!("generation {generation} is over: {} was meant", open.generation),
            }),
        }
    }
}

/// The first part of a command's text, for people.
fn cut(command: &str) -> String {
    if command.len() <= JOURNAL_COMMAND_MAX_BYTES {
        return command.to_owned();
    }
    let end = command.floor_char_boundary(JOURNAL_COMMAND_MAX_BYTES);
    format!("{}…", &command[..end])
}
