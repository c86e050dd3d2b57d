//! What every command that connects has in common: whom to call, what is learned on the way, and how it ends.

use std::ffi::OsString;
use std::time::Duration;

use rand::RngExt as _;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::connection::channel::{ChannelReader, ChannelWriter};
use crate::connection::{Keyring, Patience, Progress, Session, connect};
use crate::effect::Effect;
use crate::errors::{Caught, Fault, Limit, SshCliError};
use crate::model::outcome::{Finished, Warning};
use crate::model::request::{ConnectionOptions, Elevation, Method, RetryOptions};
use crate::model::sink::Sink;
use crate::model::timing::Millis;
use crate::retry::{RetryConfig, wait_for_retry};
use crate::shell;
use crate::target::secrets::SecretStore;
use crate::target::{Target, resolve};

/// The end of an invocation: what is known, and what went wrong.
#[derive(Debug)]
pub struct Ended {
    /// What is known.
    pub finished: Finished,
    /// What went wrong.
    pub error: Option<SshCliError>,
    /// `--deadline`: the moment, and the span. What is left to say has to be said by then.
    pub deadline: Option<(Instant, Duration)>,
}

impl Ended {
    /// We, or whoever sent us a signal, stopped it.
    pub fn is_stopped(&self) -> bool {
        let fault = self.error.as_ref().map(SshCliError::fault);
        matches!(fault, Some(Fault::Timeout { .. } | Fault::Interrupted { .. } | Fault::StdinFailed { .. }))
    }

    /// The same, failed by this as well: it is what the caller is told.
    #[must_use]
    pub fn with_fault(self, fault: Fault) -> Self {
        let error = SshCliError::new(fault, self.finished.started, self.finished.effect, false);
        Self { error: Some(error), ..self }
    }
}

/// One invocation on its way.
pub(super) struct Trip<'a, S> {
    pub(super) sink: &'a mut S,
    pub(super) signals: &'a mut mpsc::Receiver<Caught>,
    pub(super) finished: Finished,
    pub(super) deadline: Option<(Instant, Duration)>,
    /// The options of `ops` by which an operation of another user is found, for hints.
    pub(super) rights: Vec<String>,
}

/// What is the same for every attempt to connect.
pub(super) struct Call {
    pub(super) target: Target,
    pub(super) keyring: Keyring,
    pub(super) secrets: SecretStore,
    pub(super) deadline: Option<(Instant, Duration)>,
}

impl Call {
    /// What one attempt may take.
    pub(super) fn patience(&self) -> Patience {
        let limit = Some(self.target.connect_timeout).filter(|limit| !limit.is_zero());
        Patience::new(limit, self.deadline)
    }
}

impl<'a, S: Sink> Trip<'a, S> {
    pub(super) fn new(
        destination: &str,
        (begun, deadline): (Instant, Option<Duration>),
        effect: Effect,
        sink: &'a mut S,
        signals: &'a mut mpsc::Receiver<Caught>,
    ) -> Self {
        let mut finished = Finished::not_started(effect);
        destination.clone_into(&mut finished.target.destination);
        let deadline = deadline.and_then(|span| Some((begun.checked_add(span)?, span)));
        Self { sink, signals, finished, deadline, rights: Vec::new() }
    }

    /// With these rights an operation is found, and a hint has to say so.
    pub(super) fn name_rights(&mut self, elevation: Option<&Elevation>) {
        let Some(elevation) = elevation else { return };
        let by = match elevation.method {
            Method::Sudo => &["--as"][..],
            Method::Su => &["--su", "--as"],
        };
        self.rights = by.iter().copied().chain([&*elevation.user]).map(str::to_owned).collect();
    }

    /// Whom to call.
    pub(super) async fn resolve(&mut self, destination: &str, connection: &ConnectionOptions) -> Result<Target, Fault> {
        let (destination, connection) = (destination.to_owned(), connection.clone());
        let (target, warnings) = self.local(blocking(move || resolve(&destination, &connection))).await?;
        self.warn_all(warnings);
        self.describe(&target);
        Ok(target)
    }

    /// Reads the keys, before anybody is called.
    pub(super) async fn call(&mut self, target: Target, secrets: SecretStore) -> Result<Call, Fault> {
        let mut keyring = self.local(Keyring::open(&target, &secrets)).await?;
        self.warn_all(keyring.take_warnings());
        Ok(Call { target, keyring, secrets, deadline: self.deadline })
    }

    /// Waits for something of this machine, unless a signal or the deadline ends us first: nothing has started then.
    pub(super) async fn local<T>(&mut self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let Some((at, span)) = self.deadline else { return unless_signalled(self.signals, work).await };
        let limited = async {
            let over = |_| Fault::Timeout { limit: Limit::Deadline, after: span, confirmed: None };
            tokio::time::timeout_at(at, work).await.map_err(over)?
        };
        unless_signalled(self.signals, limited).await
    }

    /// Counts, and says so; from 1.
    pub(super) fn begin_attempt(&mut self) -> u32 {
        self.finished.attempts += 1;
        self.sink.attempt(self.finished.attempts);
        self.finished.attempts
    }

    /// Waits before a further look at a keyed operation, where the caller and the time allow one. The error is what is told else.
    pub(super) async fn looks_again(&mut self, fault: Fault, attempt: u32, options: RetryOptions) -> Result<(), Fault> {
        let retry = retry_config(options);
        let error = SshCliError::new(fault.clone(), self.finished.started, self.finished.effect, true);
        let wait = wait_for_retry(retry, attempt, options.wait);
        let has_time = self.deadline.is_none_or(|(at, _)| Instant::now() + wait < at);
        if !(retry.may_retry(attempt) && error.is_retryable() && has_time) {
            return Err(fault);
        }
        self.pause(wait).await
    }

    /// Waits before a further attempt.
    pub(super) async fn pause(&mut self, wait: Duration) -> Result<(), Fault> {
        unless_signalled(self.signals, async {
            sleep(wait).await;
            Ok(())
        })
        .await
    }

    fn describe(&mut self, target: &Target) {
        let facts = &mut self.finished.target;
        facts.user.clone_from(&target.user);
        facts.more.host = Some(target.host.clone());
        facts.more.port = Some(target.port);
        facts.more.user_source = Some(target.user_source);
        facts.more.jump = target.jump.iter().map(|hop| format!("{}@{}:{}", hop.user, hop.host, hop.port)).collect();
    }

    pub(super) fn learn(&mut self, progress: &Progress) {
        let facts = &mut self.finished.target;
        facts.address.clone_from(&progress.address);
        let seen = progress.link.host_key_seen();
        facts.more.host_key_status = seen.as_ref().map(|seen| seen.status);
        facts.more.host_key = seen.map(|seen| seen.shown);
        facts.more.server = progress.link.server_id();
        facts.more.auth.clone_from(&progress.auth);
        self.finished.timing = progress.timing;
        // A further attempt finds the same again.
        let new: Vec<Warning> =
            progress.warnings.iter().filter(|warning| !self.finished.warnings.contains(warning)).cloned().collect();
        self.warn_all(new);
    }

    pub(super) fn warn_all(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            self.warn(warning);
        }
    }

    pub(super) fn warn(&mut self, warning: Warning) {
        self.sink.warning(&warning);
        self.finished.warnings.push(warning);
    }

    /// Ends it.
    pub(super) fn end(self, fault: Option<Fault>, begun: Instant) -> Ended {
        let mut finished = self.finished;
        let error = fault.map(|fault| {
            let error = SshCliError::new(fault, finished.started, finished.effect, finished.operation.is_some());
            match &finished.operation {
                Some(operation) => {
                    let names = [&*finished.target.destination, operation.key.as_str()];
                    let words: Vec<OsString> =
                        self.rights.iter().map(String::as_str).chain(names).map(OsString::from).collect();
                    let words = shell::join(&words).unwrap_or_default();
                    error.of_operation(String::from_utf8_lossy(&words).into_owned())
                }
                None => error,
            }
        });
        finished.timing.total = Millis(begun.elapsed());
        Ended { finished, error, deadline: self.deadline }
    }
}

/// Work that may wait for a file: a named pipe, or a home on a network.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Fault::Internal { problem: error.to_string() })?
}

/// Waits for it, unless a signal ends us first: nothing has started then.
pub(super) async fn unless_signalled<T>(
    signals: &mut mpsc::Receiver<Caught>,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    tokio::select! {
        biased;
        Some(signal) = signals.recv() => Err(Fault::Interrupted { signal, confirmed: None }),
        result = work => result,
    }
}

pub(super) fn retry_config(options: RetryOptions) -> RetryConfig {
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let defaults = RetryConfig::agent_default();
    RetryConfig {
        max_retries: options.retries,
        base_ms: options.base.map_or(defaults.base_ms, millis),
        max_delay_ms: options.max_delay.map_or(defaults.max_delay_ms, millis),
        enabled: options.retries > 0,
    }
    .clamped()
}

pub(super) type Channel = (ChannelReader, ChannelWriter);

/// A session with an open channel, and when that was asked for.
pub(super) async fn reach(
    call: &Call,
    patience: &mut Patience,
    progress: &mut Progress,
) -> Result<(Session, Channel, Instant), Fault> {
    let session = connect(&call.target, &call.keyring, &call.secrets, patience, progress).await?;
    let address = progress.address.clone().unwrap_or_else(|| call.target.host.clone());
    let clock = Instant::now();
    let channel = session.open_channel(patience, &address).await?;
    Ok((session, channel, clock))
}

/// 128 random bits: what nobody can print by chance or by guessing.
pub(super) fn nonce() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retrying_is_off_unless_asked_for() {
        assert!(!retry_config(RetryOptions::default()).may_retry(1));
        let asked = retry_config(RetryOptions { retries: 2, ..RetryOptions::default() });
        assert!(asked.may_retry(1) && asked.may_retry(2) && !asked.may_retry(3));
    }

    #[test]
    fn a_nonce_is_32_hex_digits_and_never_the_same() {
        let (one, other) = (nonce(), nonce());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }

    #[tokio::test]
    async fn a_signal_before_anything_started_is_just_that() {
        let (sender, mut signals) = mpsc::channel(1);
        sender.send(Caught::Term).await.unwrap();
        let result = unless_signalled(&mut signals, std::future::pending::<Result<(), Fault>>()).await;
        assert_eq!(result, Err(Fault::Interrupted { signal: Caught::Term, confirmed: None }));
    }
}
