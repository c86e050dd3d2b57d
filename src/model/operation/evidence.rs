//! What speaks for a verdict: what was recorded here, what the host showed, and how the two fit.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AttemptId;
use crate::model::moment::Moment;

/// How something that the host showed compares with what was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// It is the same.
    Same,
    /// It is another one.
    Changed,
    /// One side is not known.
    Unknown,
}

impl Comparison {
    /// Of what was recorded with what is seen.
    pub fn of(recorded: Option<&str>, seen: Option<&str>) -> Self {
        match (recorded, seen) {
            (Some(recorded), Some(seen)) if recorded == seen => Self::Same,
            (Some(_), Some(_)) => Self::Changed,
            _ => Self::Unknown,
        }
    }

    /// The worse of two: a difference outweighs ignorance, and that outweighs sameness.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Changed, _) | (_, Self::Changed) => Self::Changed,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Same, Self::Same) => Self::Same,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "the same",
            Self::Changed => "another",
            Self::Unknown => "not known",
        }
    }
}

/// How far an operation had come by our own record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recorded {
    /// There is no record of it here.
    Absent,
    /// It was meant; nothing was sent that could start it.
    Intent,
    /// It may have been started.
    Dispatched,
    /// The host said that it was started.
    Started,
    /// It is over, and its outcome is known.
    Completed,
    /// A person has to decide.
    NeedsReconciliation,
    /// A person decided that it was not done.
    NotDone,
    /// A person gave it up; its key is retired.
    Abandoned,
    /// The record cannot be trusted: it may have been started.
    Damaged,
}

impl Recorded {
    /// In a word, for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "nothing",
            Self::Intent => "meant",
            Self::Dispatched => "sent",
            Self::Started => "started",
            Self::Completed => "completed",
            Self::NeedsReconciliation => "unresolved",
            Self::NotDone => "not done",
            Self::Abandoned => "abandoned",
            Self::Damaged => "damaged, so that it may have been sent",
        }
    }
}

/// What the host showed of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// Nothing that can keep receipts answered.
    NoAnswer,
    /// The directory of receipts cannot be used.
    RootUnusable,
    /// There is no receipt of it.
    NoReceipt,
    /// It ended, and its status was lost.
    StatusLost,
    /// It is gone and left nothing.
    Dead,
    /// It belongs to another node and shows no sign of life.
    ForeignSilent,
}

impl Seen {
    const fn as_str(self) -> &'static str {
        match self {
            Self::NoAnswer => "nothing there answered that can keep receipts",
            Self::RootUnusable => "the directory of receipts there cannot be used",
            Self::NoReceipt => "there is no receipt of it there",
            Self::StatusLost => "it ended there without a status",
            Self::Dead => "its processes are gone",
            Self::ForeignSilent => "it belongs to another node and shows no sign of life",
        }
    }
}

/// Why a person has to decide. The names are the error codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It may have been started, and the receipt that would tell is gone.
    ReceiptLost,
    /// It may have been started, and the receipts cannot be reached.
    ReceiptUnreachable,
    /// It ended, and its status was lost.
    ExitStatusLost,
    /// It is gone and left no status.
    DiedWithoutStatus,
    /// It belongs to a node that cannot be looked at from where we are.
    ForeignUnknown,
}

impl Reason {
    /// It says that the start was seen to be taken: a receipt that is missing afterwards was lost.
    pub const fn saw_a_gate(self) -> bool {
        matches!(self, Self::ExitStatusLost | Self::DiedWithoutStatus | Self::ForeignUnknown)
    }
}

/// What a verdict rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// How far it had come by our own record.
    pub recorded: Recorded,
    /// What the host showed.
    pub seen: Seen,
    /// The directory of receipts, compared with the one at the dispatch.
    pub root: Comparison,
    /// The host key, compared likewise.
    pub host_key: Comparison,
    /// The boot of the host, compared likewise.
    pub boot: Comparison,
    /// Our record is older than the time for which a host remembers.
    pub expired: bool,
    /// The attempt that was sent last.
    pub attempt: Option<AttemptId>,
    /// When it was sent.
    pub dispatched_at: Option<Moment>,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "our record says {}", self.recorded.as_str())?;
        if let Some(at) = self.dispatched_at {
            write!(f, " ({at})")?;
        }
        write!(f, ", {}", self.seen.as_str())?;
        for (what, comparison) in [("directory", self.root), ("host key", self.host_key), ("boot", self.boot)] {
            if comparison == Comparison::Changed {
                write!(f, ", it is {} {what}", comparison.as_str())?;
            }
        }
        if self.expired {
            f.write_str(", and the record is older than a host remembers")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_a_sentence() {
        let evidence = Evidence {
            recorded: Recorded::Dispatched,
            seen: Seen::NoReceipt,
            root: Comparison::Changed,
            host_key: Comparison::Same,
            boot: Comparison::Unknown,
            expired: false,
            attempt: None,
            dispatched_at: Some(Moment(0)),
        };
        assert_eq!(
            evidence.to_string(),
            "our record says sent (1970-01-01T00:00:00.000Z), there is no receipt of it there, it is another directory"
        );
    }

    #[test]
    fn a_difference_outweighs_the_rest() {
        use Comparison::{Changed, Same, Unknown};
        assert_eq!((Same.and(Same), Same.and(Unknown), Unknown.and(Changed)), (Same, Unknown, Changed));
        assert_eq!((Comparison::of(Some("a"), Some("a")), Comparison::of(None, None)), (Same, Unknown));
        assert_eq!((Comparison::of(Some("a"), Some("b")), Comparison::of(Some("a"), None)), (Changed, Unknown));
    }
}
