//! How an operation stands on its host, by the host's own word.

use schemars::JsonSchema;
use serde::Serialize;

use super::{AttemptId, Generation};

/// What became of a generation, as its receipt and its processes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// There is no receipt: nobody has started it.
    None,
    /// It runs.
    Running,
    /// What would tell its end is gone, and something of it still runs.
    Orphan,
    /// It is gone, and left no status.
    Dead,
    /// It belongs to another node, and may run there.
    Foreign,
    /// It is over.
    Done,
    /// It can start no more.
    Fenced,
}

impl HostState {
    /// The word of it, as in the envelope.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Running => "running",
            Self::Orphan => "orphan",
            Self::Dead => "dead",
            Self::Foreign => "foreign",
            Self::Done => "done",
            Self::Fenced => "fenced",
        }
    }
}

/// Why it can start no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FencedBy {
    /// `ops cancel`.
    Cancel,
    /// `ops resolve`, or the way to the next generation.
    Resolve,
    /// Its launch broke off.
    BrokenLaunch,
}

/// What a person has said there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// That it was done.
    Done,
    /// That it was not.
    NotDone,
}

/// How an operation stands on its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OnHost {
    /// The newest generation that the host knows.
    pub generation: Generation,
    /// How that stands.
    pub state: HostState,
    /// The attempt that has it.
    pub attempt: Option<AttemptId>,
    /// Its exit status; null where it has not ended, or nobody saw it.
    pub remote_exit: Option<u8>,
    /// It ended, and nobody saw its status.
    pub status_lost: bool,
    /// It was ended by `ops cancel`.
    pub cancelled: bool,
    /// It was ended because its `--timeout` was over.
    pub timed_out: bool,
    /// How many bytes of standard output were kept; null where it has not ended.
    pub stdout_bytes: Option<u64>,
    /// The same of standard error.
    pub stderr_bytes: Option<u64>,
    /// Those bytes are gone.
    pub output_expired: bool,
    /// Why it can start no more.
    pub fenced_by: Option<FencedBy>,
    /// What a person has said.
    pub settled: Option<Settlement>,
    /// The host was told that its outcome is kept elsewhere.
    pub acknowledged: bool,
    /// The name of the node that answered.
    pub node: String,
}
