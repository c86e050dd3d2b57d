//! What is known about an invocation when it is over.

use schemars::JsonSchema;
use serde::Serialize;

use super::check::Check;
use super::operation::{OperationFacts, OperationListing};
use super::timing::Timing;
use super::transfer::Transfer;
use crate::effect::Effect;

/// What became of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran and said yes.
    Succeeded,
    /// It ran and said no.
    Failed,
    /// It certainly did not begin.
    NotStarted,
    /// We stopped it: its end and the end of both streams were seen.
    Stopped,
    /// A keyed operation that goes on without us.
    Running,
    /// Nobody here can tell.
    Unknown,
}

/// May the remote effect have begun? Never `No` unless that is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Started {
    /// It certainly has not.
    No,
    /// It has: the server said so, or there was output.
    Yes,
    /// The request may have arrived.
    Unknown,
}

impl Started {
    /// What is known of two attempts together: one that has begun is not undone by one that has not.
    #[must_use]
    pub fn or_earlier(self, earlier: Self) -> Self {
        match (self, earlier) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::No, Self::No) => Self::No,
        }
    }
}

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It may go away by itself.
    Transient,
    /// It stays until somebody changes something.
    Permanent,
    /// The remote command's own.
    Remote,
    /// The exchange broke off.
    Unknown,
    /// We, or our caller, ended it.
    Cancelled,
}

/// Where in the invocation it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Reading the command line.
    Usage,
    /// Reading configuration, keys and other local material that decides what is meant.
    Config,
    /// Finding the address of a host name.
    Resolve,
    /// Opening the TCP connection.
    Connect,
    /// Version and key exchange (RFC 4253).
    Handshake,
    /// Judging the host key.
    HostKey,
    /// Authenticating (RFC 4252).
    Auth,
    /// Opening the session channel and asking for the command (RFC 4254).
    Channel,
    /// Becoming another user there.
    Elevate,
    /// The command runs.
    Run,
    /// Files move.
    Transfer,
    /// The record of keyed operations.
    Journal,
    /// On this machine, after or beside the rest.
    Local,
}

/// Something worth saying that is not a failure. `code` is stable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// A stable word for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
}

impl Warning {
    /// A warning with this stable code and this sentence.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Who was called, and what was learned about them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TargetFacts {
    /// The destination as it was typed.
    pub destination: String,
    /// The user asked for.
    pub user: String,
    /// The address and port connected to, once one answered.
    pub address: Option<String>,
    /// Where the rest of the destination went; for `--detail` and for failures before the run.
    #[serde(flatten)]
    pub more: TargetDetail,
}

/// The part of the target that is only shown on demand or when it explains a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TargetDetail {
    /// The host name that was resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The TCP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Where the user name came from: `option`, `destination`, `config` or `local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_source: Option<&'static str>,
    /// The bastions, in the order in which they are passed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jump: Vec<String>,
    /// The host key that the server showed: type and SHA-256 fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_key: Option<String>,
    /// How that key was judged: `known`, `certificate`, `pinned`, `added`, `unchecked`, `unknown`, `changed`, `revoked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_key_status: Option<&'static str>,
    /// The server's identification string (RFC 4253 section 4.2), cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The authentication method that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
}

/// Everything an invocation knows at its end, save the error and the streams.
#[derive(Clone, Debug)]
pub struct Finished {
    /// What became of the command.
    pub outcome: Outcome,
    /// Whether it may have begun.
    pub started: Started,
    /// What the caller said repeating it would do.
    pub effect: Effect,
    /// The remote exit status (RFC 4254 section 6.10). None where none arrived, and never made up.
    pub remote_exit: Option<u32>,
    /// The signal that ended it, without `SIG`.
    pub remote_signal: Option<String>,
    /// Worth saying.
    pub warnings: Vec<Warning>,
    /// Who was called.
    pub target: TargetFacts,
    /// How many times a connection was tried.
    pub attempts: u32,
    /// How long each phase took.
    pub timing: Timing,
    /// The streams were held open by something after the command's end, and reading was ended.
    pub held_open: bool,
    /// What was copied.
    pub transfer: Option<Transfer>,
    /// What `check` found out.
    pub check: Option<Check>,
    /// The keyed operation, where a key was given.
    pub operation: Option<OperationFacts>,
    /// The operations that `ops` was asked about.
    pub ops: Option<Vec<OperationListing>>,
}

impl Finished {
    /// The state before anything was tried.
    pub fn not_started(effect: Effect) -> Self {
        Self {
            outcome: Outcome::NotStarted,
            started: Started::No,
            effect,
            remote_exit: None,
            remote_signal: None,
            warnings: Vec::new(),
            target: TargetFacts::default(),
            attempts: 0,
            timing: Timing::default(),
            held_open: false,
            transfer: None,
            check: None,
            operation: None,
            ops: None,
        }
    }
}
