//! What is told of a keyed operation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AttemptId, Evidence, Fingerprint, Generation, OnHost, OperationId, OperationKey, Recorded, SequenceNumber,
    TargetAccount,
};
use crate::effect::Effect;
use crate::model::moment::Moment;

/// How an operation stands at the end of an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    /// It is over, and its outcome is known.
    Completed,
    /// It goes on without us.
    Running,
    /// We stopped seeing it: the same line looks again.
    Cut,
    /// A person has to decide.
    NeedsReconciliation,
    /// It was cancelled.
    Cancelled,
    /// It was not taken on.
    Refused,
}

/// Which call did what is told. For the reader: nothing is decided by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// One of this account's own attempts, here.
    Executed,
    /// A person said how it ended.
    Operator,
    /// Another call's attempt.
    Deduplicated(DedupOrigin),
}

/// The call that answered for this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DedupOrigin {
    /// Where.
    pub target: TargetAccount,
    /// Its key: another one with `--dedupe`, else the same one used from elsewhere.
    pub key: OperationKey,
    /// The number of its intent in its log; null where that log is not ours.
    pub seq: Option<SequenceNumber>,
    /// The generation that ran.
    pub generation: Generation,
    /// The attempt that ran it, where that is known.
    pub attempt: Option<AttemptId>,
}

/// A keyed operation, as the envelope tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperationFacts {
    /// Its key.
    pub key: OperationKey,
    /// How many times it was permitted to start, this one included.
    pub generation: Generation,
    /// The attempt that this is about; null where none was made.
    pub attempt: Option<AttemptId>,
    /// What the request comes to: SHA-256 over everything that changes what happens; null where it is not recorded here.
    pub fingerprint: Option<Fingerprint>,
    /// How it stands.
    pub state: OperationState,
    /// What is told is a recorded completion, and nothing was contacted.
    pub replayed: bool,
    /// This call followed an attempt that another one had started.
    pub attached: bool,
    /// When its completion was recorded.
    pub completed_at: Option<Moment>,
    /// Which call ran it; null where it is not completed.
    pub origin: Option<Origin>,
    /// Its exit status was seen; null where it is not completed.
    pub remote_exit_known: Option<bool>,
    /// How far it was set apart from our session on the host: `session`, `group` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// What a person needs who has to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// An operation, as `ssh-cli ops` tells it: what our own record says, and for a single one what its host says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperationListing {
    /// Its key.
    pub key: OperationKey,
    /// Where.
    pub target: TargetAccount,
    /// How far it had come.
    pub state: Recorded,
    /// The last generation; null where the record is damaged.
    pub generation: Option<Generation>,
    /// What the caller said repeating it would do.
    pub effect: Option<Effect>,
    /// The text of the command, cut.
    pub command: Option<String>,
    /// When it was first meant.
    pub created_at: Option<Moment>,
    /// When something was last recorded.
    pub updated_at: Option<Moment>,
    /// When its completion was recorded.
    pub completed_at: Option<Moment>,
    /// The exit status that its completion records.
    pub remote_exit: Option<u8>,
    /// How it stands on its host; only where the host was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<OnHost>,
}

impl OperationListing {
    /// One of which our record says no more than this.
    pub fn bare(OperationId { target, key }: OperationId, state: Recorded) -> Self {
        Self {
            key,
            target,
            state,
            generation: None,
            effect: None,
            command: None,
            created_at: None,
            updated_at: None,
            completed_at: None,
            remote_exit: None,
            host: None,
        }
    }
}
