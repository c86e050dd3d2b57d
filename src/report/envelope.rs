//! The envelope: the one document that says what happened. Its fields and their order are schema version 1.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::capture::Captured;
use super::details::details;
use super::encoding::Encoding;
use super::status;
use crate::constants::AGENT_RETRY_MAX_RETRIES;
use crate::effect::Effect;
use crate::errors::{SshCliError, exit_codes};
use crate::model::check::Check;
use crate::model::operation::{OperationFacts, OperationListing};
use crate::model::outcome::{Class, Finished, Outcome, Phase, Started, TargetDetail, TargetFacts, Warning};
use crate::model::request::OutputOptions;
use crate::model::timing::Timing;
use crate::model::transfer::Transfer;

/// The version of the envelope.
pub const SCHEMA_VERSION: u32 = 1;

/// What one invocation says at its end.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Envelope {
    /// 1. Fields may be added under it; none changes its meaning.
    pub schema_version: u32,
    /// The command that was asked for; empty where none was recognised.
    pub command: &'static str,
    /// It did what was asked.
    pub ok: bool,
    /// The exit code of the process.
    pub exit_code: i32,
    /// What became of the command.
    pub outcome: Outcome,
    /// May the remote effect have begun?
    pub started: Started,
    /// What the caller said repeating it would do.
    pub effect: Effect,
    /// True exactly when `exit_code` is 74: the same line may be run again.
    pub retryable: bool,
    /// The remote exit status; null where none arrived, which is never a success.
    pub remote_exit: Option<u32>,
    /// The signal that ended the remote command, without `SIG`.
    pub remote_signal: Option<String>,
    /// What failed.
    pub error: Option<ErrorObject>,
    /// How to run the same line again, where that is safe.
    pub retry: Option<RetryObject>,
    /// The keyed operation, where a key was given.
    pub operation: Option<OperationFacts>,
    /// Worth saying, and no failure.
    pub warnings: Vec<Warning>,
    /// Who was called; null where the command line names nobody.
    pub target: Option<TargetFacts>,
    /// How many times a connection was tried.
    pub attempts: u32,
    /// How long it took, in milliseconds.
    pub timing_ms: Timing,
    /// More about the streams: there when one was cut, is not plain UTF-8, was put into a file, or was held open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<Streams>,
    /// What was copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
    /// What `check` found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// The operations that `ops` was asked about; with `ops gc` those that were taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops: Option<Vec<OperationListing>>,
    /// The command's standard output as text. Null for a copy, where it is in `streams.stdout.path`, or was sent as events.
    pub stdout: Option<String>,
    /// The same of its standard error.
    pub stderr: Option<String>,
}

/// A failure.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorObject {
    /// A stable word: `ssh-cli schema errors` lists them.
    pub code: &'static str,
    /// What kind of failure it was.
    pub class: Class,
    /// Where it happened.
    pub phase: Phase,
    /// What happened, for people.
    pub message: String,
    /// What to type or look at next.
    pub hint: Option<String>,
    /// The facts in the message, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub details: Option<serde_json::Value>,
}

/// How to run the same line again.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RetryObject {
    /// What to do.
    pub policy: RetryAdvice,
    /// The key to give again.
    pub key: Option<String>,
    /// The most times.
    pub max_retries: u32,
    /// How long to wait before the next one: a fresh full-jitter draw.
    pub delay_ms: u64,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryAdvice {
    /// Run the same line again.
    Retry,
    /// Run the same line again, with its key: it never runs a second time what ran.
    RetryWithSameKey,
    /// Run the same line again to collect what it is still doing.
    Collect,
}

/// Both streams.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Streams {
    /// Of the command's standard output.
    pub stdout: StreamFacts,
    /// Of its standard error.
    pub stderr: StreamFacts,
    /// Something that outlived the command kept a stream open, and reading it was ended.
    pub held_open: bool,
}

/// One stream.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StreamFacts {
    /// How many bytes came.
    pub bytes: u64,
    /// What they are; with `binary` the text is null, or base64 where that was asked for and fits.
    pub encoding: Encoding,
    /// The text lacks some of them.
    pub truncated: bool,
    /// How many it lacks.
    pub omitted_bytes: u64,
    /// A local file with the exact bytes.
    pub path: Option<String>,
}

impl StreamFacts {
    /// It is not told by its text alone.
    pub(super) fn is_notable(&self) -> bool {
        self.truncated || self.encoding != Encoding::Utf8 || self.path.is_some()
    }
}

/// What an envelope is made from.
pub(super) struct EnvelopeInput<'a> {
    pub(super) command: &'static str,
    pub(super) finished: &'a Finished,
    pub(super) error: Option<&'a SshCliError>,
    /// A full-jitter draw: the drawing is not done here.
    pub(super) retry_delay: Duration,
    pub(super) options: &'a OutputOptions,
    pub(super) captured: Captured,
}

impl EnvelopeInput<'_> {
    pub(super) fn into_envelope(self) -> Envelope {
        let Self { command, finished, error, retry_delay, options, captured } = self;
        let exit_code = status::exit_code(finished, error, options.remote_exit);
        // A copy runs nothing that would write to them.
        let copies = command == "scp";
        let in_full = options.detail || (error.is_some() && finished.started == Started::No);
        Envelope {
            schema_version: SCHEMA_VERSION,
            command,
            ok: exit_code == exit_codes::EX_OK,
            exit_code,
            outcome: finished.outcome,
            started: finished.started,
            effect: finished.effect,
            retryable: exit_code == exit_codes::EX_IOERR,
            remote_exit: finished.remote_exit,
            remote_signal: finished.remote_signal.clone(),
            error: error.map(error_object),
            retry: retry(exit_code, finished.operation.as_ref(), retry_delay),
            operation: finished.operation.clone(),
            warnings: all_warnings(&finished.warnings, captured.warnings),
            target: target(&finished.target, in_full),
            attempts: finished.attempts,
            timing_ms: if options.detail { finished.timing } else { finished.timing.lean() },
            streams: captured.streams.filter(|_| !copies),
            transfer: finished.transfer.clone().map(|all| if options.detail { all } else { all.lean() }),
            check: finished.check.clone(),
            ops: finished.ops.clone(),
            stdout: captured.stdout.filter(|_| !copies),
            stderr: captured.stderr.filter(|_| !copies),
        }
    }
}

impl Envelope {
    /// A failure found while the end was being told. An earlier one stays the one that is told.
    pub(super) fn fail(&mut self, error: &SshCliError) {
        if self.error.is_some() {
            return;
        }
        self.error = Some(error_object(error));
        self.exit_code = error.exit_code();
        self.ok = false;
        self.retryable = error.is_retryable();
        self.retry = None;
    }
}

/// Running the same line again is safe with 74, and collects what goes on with 75.
fn retry(exit_code: i32, operation: Option<&OperationFacts>, delay: Duration) -> Option<RetryObject> {
    let policy = match (exit_code, operation) {
        (exit_codes::EX_IOERR, None) => RetryAdvice::Retry,
        (exit_codes::EX_IOERR, Some(_)) => RetryAdvice::RetryWithSameKey,
        (exit_codes::EX_TEMPFAIL, _) => RetryAdvice::Collect,
        _ => return None,
    };
    Some(RetryObject {
        policy,
        key: operation.map(|operation| operation.key.to_string()),
        max_retries: AGENT_RETRY_MAX_RETRIES,
        delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
    })
}

fn error_object(error: &SshCliError) -> ErrorObject {
    ErrorObject {
        code: error.code(),
        class: error.class(),
        phase: error.phase(),
        message: error.message(),
        hint: error.hint(),
        details: details(error.fault()),
    }
}

fn target(facts: &TargetFacts, in_full: bool) -> Option<TargetFacts> {
    let more = if in_full { facts.more.clone() } else { TargetDetail::default() };
    (!facts.destination.is_empty()).then(|| TargetFacts { more, ..facts.clone() })
}

/// Those of the run, then what was found beside it; the same one may have been told both ways.
pub(super) fn all_warnings(told: &[Warning], found: Vec<Warning>) -> Vec<Warning> {
    let mut all = told.to_vec();
    for warning in found {
        if !all.contains(&warning) {
            all.push(warning);
        }
    }
    all
}
