//! `ops`, as meant: which operation is asked about, and what is decided about it.

use super::operation::OperationKey;
use super::request::{ConnectionOptions, Elevation, RetryOptions};
use crate::effect::Effect;

/// `ops`, as meant.
#[derive(Clone, Debug)]
pub enum OpsRequest {
    /// `ops list`: what is recorded here. Nobody is contacted.
    List,
    /// `ops gc`: take away what is over and old, here. Nobody is contacted.
    Collect,
    /// `ops show`.
    Show(OpsCall),
    /// `ops cancel`.
    Cancel(OpsCall),
    /// `ops resolve`.
    Resolve(OpsCall, Verdict),
}

/// Which operation.
#[derive(Clone, Debug)]
pub struct OpsCall {
    /// DEST as typed.
    pub destination: String,
    /// Its key.
    pub key: OperationKey,
    /// How to get there.
    pub connection: ConnectionOptions,
    /// As whom it ran: another user's operations are others.
    pub elevation: Option<Elevation>,
    /// Whether to try again by ourselves.
    pub retry: RetryOptions,
}

/// What a person says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `--verdict`.
    pub word: VerdictWord,
    /// `--note`: why, for whoever reads the record.
    pub note: Option<String>,
}

/// `--verdict`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictWord {
    /// It has happened, with this status.
    Done(u8),
    /// It has not: the same line may start it.
    NotDone,
    /// It is given up, and its key with it.
    Abandoned,
}

impl OpsRequest {
    /// The name of the command, as in the envelope.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::List => "ops list",
            Self::Collect => "ops gc",
            Self::Show(_) => "ops show",
            Self::Cancel(_) => "ops cancel",
            Self::Resolve(..) => "ops resolve",
        }
    }

    /// DEST as typed; empty where nobody is contacted.
    pub fn destination(&self) -> &str {
        match self {
            Self::List | Self::Collect => "",
            Self::Show(call) | Self::Cancel(call) | Self::Resolve(call, _) => &call.destination,
        }
    }

    /// What doing it a second time does.
    pub const fn effect(&self) -> Effect {
        match self {
            Self::List | Self::Show(_) => Effect::Read,
            Self::Collect | Self::Cancel(_) | Self::Resolve(..) => Effect::Idempotent,
        }
    }
}
