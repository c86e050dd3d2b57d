//! The records, as they are stored. Each has a version; within one, fields are only ever added.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::effect::Effect;
use crate::model::moment::Moment;
use crate::model::operation::{
    AttemptId, Fingerprint, Generation, HostIdentity, OperationId, Origin, Reason, SequenceNumber,
};

/// The version of the records that are written here. A newer one may be read, and is never added to.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// Something that is known about an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Record {
    /// It is meant. On disk before anything is contacted.
    Intent(Intent),
    /// It is about to be sent. On disk before the word that starts it leaves.
    Dispatched(Dispatched),
    /// The host said that this attempt has started nothing, and never will.
    Withdrawn(Withdrawn),
    /// The host said whose attempt it took.
    Started(Started),
    /// It is over. Never changed.
    Completed(Completed),
    /// The host was told that its outcome is kept here.
    Acked(Acked),
    /// A person has to decide.
    NeedsReconciliation(NeedsReconciliation),
    /// A person decided.
    Resolved(Resolved),
}

impl Record {
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Intent(_) => "intent",
            Self::Dispatched(_) => "dispatched",
            Self::Withdrawn(_) => "withdrawn",
            Self::Started(_) => "started",
            Self::Completed(_) => "completed",
            Self::Acked(_) => "acked",
            Self::NeedsReconciliation(_) => "needs_reconciliation",
            Self::Resolved(_) => "resolved",
        }
    }

    pub(super) const fn generation(&self) -> Generation {
        match self {
            Self::Intent(record) => record.generation,
            Self::Dispatched(record) => record.generation,
            Self::Withdrawn(record) => record.generation,
            Self::Started(record) => record.generation,
            Self::Completed(record) => record.generation,
            Self::Acked(record) => record.generation,
            Self::NeedsReconciliation(record) => record.generation,
            Self::Resolved(record) => record.generation,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Intent {
    pub(super) generation: Generation,
    pub(super) fingerprint: Fingerprint,
    pub(super) effect: Effect,
    /// Of the command, for people; cut.
    pub(super) command: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Dispatched {
    pub(super) generation: Generation,
    pub(super) attempt: AttemptId,
    pub(super) host: HostIdentity,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Withdrawn {
    pub(super) generation: Generation,
    pub(super) attempt: AttemptId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Started {
    pub(super) generation: Generation,
    /// Whose attempt has the gate.
    pub(super) attempt: AttemptId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Completed {
    pub(super) generation: Generation,
    pub(super) output: Value,
    pub(super) origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Acked {
    pub(super) generation: Generation,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct NeedsReconciliation {
    pub(super) generation: Generation,
    pub(super) reason: Reason,
    /// A snapshot.
    pub(super) evidence: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Resolved {
    pub(super) generation: Generation,
    pub(super) verdict: Verdict,
    pub(super) note: Option<String>,
}

/// What a person decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was done: its completion follows.
    Done,
    /// It was not done, and can start no more: the next generation may.
    NotDone,
    /// The key is retired. Nothing is claimed of what happened.
    Abandoned,
}

/// A record with its place in the log.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) seq: SequenceNumber,
    pub(super) at: Moment,
    pub(super) record: Record,
}

/// A step that is ready to be committed: [`super::Journal::commit`] puts it on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Emitted {
    pub(super) operation: OperationId,
    pub(super) records: Vec<Record>,
}

impl Emitted {
    /// The operation that it is about.
    pub const fn operation(&self) -> &OperationId {
        &self.operation
    }

    /// What it records, in order: `intent`, `dispatched`, `withdrawn`, `started`, `completed`, `acked`, `needs_reconciliation`, `resolved`.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.records.iter().map(Record::kind)
    }
}

/// The outcome of a command, as a completion records it. The bytes of its streams are files of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The exit status, as the shell that waited for it has it: a death by a signal is 128 and its number.
    pub remote_exit: u8,
    /// It was ended by `ops cancel`.
    #[serde(default)]
    pub cancelled: bool,
    /// It was ended because its `--timeout` was over.
    #[serde(default)]
    pub timed_out: bool,
    /// Something it left behind kept its output open.
    #[serde(default)]
    pub held_open: bool,
    /// Standard output.
    pub stdout: StreamDigest,
    /// Standard error.
    pub stderr: StreamDigest,
}

/// One stream of a completed command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamDigest {
    /// How many bytes of it were kept on the host.
    pub bytes: u64,
    /// It had more, and the host's cap cut it.
    #[serde(default)]
    pub truncated: bool,
    /// SHA-256 over those bytes, in hex; none where they were not fetched.
    pub sha256: Option<String>,
    /// The file that holds them, below the state directory; none where there is none.
    pub spool: Option<String>,
}

impl Completion {
    /// As [`super::ToolCallPermit::record`] takes it.
    pub fn to_output(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// From a recorded completion. An error says that it is none: another version may have written it.
    pub fn from_output(output: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(output)
    }
}
