//! The words of keyed operations: who is meant, which call it is, and what is told of it.

mod account;
mod evidence;
mod facts;
mod host;
mod key;
mod on_host;

pub use account::{TargetAccount, Via};
pub use evidence::{Comparison, Evidence, Reason, Recorded, Seen};
pub use facts::{DedupOrigin, OperationFacts, OperationListing, OperationState, Origin};
pub use host::{HostIdentity, StartPermission};
pub use key::{AttemptId, BadKey, Fingerprint, KeyHash, OperationKey, hex};
pub use on_host::{FencedBy, HostState, OnHost, Settlement};

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An operation: a key of the caller's, at one account of one target.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct OperationId {
    /// Where.
    pub target: TargetAccount,
    /// Which.
    pub key: OperationKey,
}

/// The number of an event in the log of its operation: from 0, without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SequenceNumber(pub u64);

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One permission to start once, counted from 1. A further one exists only where the one before can start no more and what became
/// of it is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Generation(pub u32);

impl Generation {
    /// That of a new operation.
    pub const FIRST: Self = Self(1);

    /// The next one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
