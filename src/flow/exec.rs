//! `exec` from the request to the verdict, with as many attempts as the caller asked for.

use std::time::Duration;

use rand::RngExt as _;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::prepare::{self, Prepared};
use crate::connection::{Keyring, Patience, Progress, Session, connect};
use crate::errors::{Caught, Fault, SshCliError};
use crate::model::outcome::{Finished, Outcome, Started, Warning};
use crate::model::request::{ExecRequest, RetryOptions};
use crate::model::sink::Sink;
use crate::model::timing::Millis;
use crate::operation::exec::verdict::{Verdict, judge};
use crate::operation::exec::{Limits, run};
use crate::retry::{RetryConfig, wait_for_retry};
use crate::target::secrets::SecretStore;
use crate::target::{Target, resolve};

/// The end of an invocation: what is known, and what went wrong.
#[derive(Debug)]
pub struct Ended {
    /// What is known.
    pub finished: Finished,
    /// What went wrong.
    pub error: Option<SshCliError>,
}

impl Ended {
    /// The same, failed by this as well: it is what the caller is told.
    #[must_use]
    pub fn with_fault(self, fault: Fault) -> Self {
        let error = SshCliError::new(fault, self.finished.started, self.finished.effect, false);
        Self { error: Some(error), ..self }
    }
}

/// Runs one command. `begun`: when the process began, for `--deadline` and the total time.
pub async fn exec<S: Sink>(
    request: &ExecRequest,
    begun: Instant,
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
) -> Ended {
    let mut trip = Trip { request, sink, signals, finished: Finished::not_started(request.run.effect) };
    let fault = match trip.go(begun).await {
        Ok(verdict) => trip.conclude(verdict),
        Err(fault) => {
            // The last attempt did not get so far, but an earlier one may have.
            if trip.finished.started != Started::No {
                trip.finished.outcome = Outcome::Unknown;
            }
            Some(fault)
        }
    };
    let mut finished = trip.finished;
    let error = fault.map(|fault| SshCliError::new(fault, finished.started, finished.effect, false));
    finished.timing.total = Millis(begun.elapsed());
    Ended { finished, error }
}

struct Trip<'a, S> {
    request: &'a ExecRequest,
    sink: &'a mut S,
    signals: &'a mut mpsc::Receiver<Caught>,
    finished: Finished,
}

/// What is the same for every attempt.
struct Ready {
    target: Target,
    keyring: Keyring,
    secrets: SecretStore,
    prepared: Prepared,
    deadline: Option<(Instant, Duration)>,
}

impl<S: Sink> Trip<'_, S> {
    async fn go(&mut self, begun: Instant) -> Result<Verdict, Fault> {
        self.finished.target.destination.clone_from(&self.request.destination);
        if let Some(warning) = prepare::guard_stdin(&self.request.run.stdin)? {
            self.warn(warning);
        }
        if let Some(warning) = prepare::command_warnings(&self.request.run) {
            self.warn(warning);
        }
        let (target, warnings) = resolve(&self.request.destination, &self.request.connection)?;
        self.warn_all(warnings);
        self.describe(&target);
        let ready = self.ready(target, begun).await?;
        let retry = retry_config(self.request.retry);
        loop {
            self.finished.attempts += 1;
            let attempt = self.finished.attempts;
            self.sink.attempt(attempt);
            let result = self.attempt(&ready).await;
            if !self.should_repeat(&result, &ready, retry, attempt) {
                return result;
            }
            if let Ok(verdict) = &result {
                self.finished.started = self.finished.started.or_earlier(verdict.started);
            }
            self.pause(wait_for_retry(retry, attempt, self.request.retry.wait), ready.deadline).await?;
        }
    }

    /// The local part: keys, secrets and sources are read before anybody is called.
    async fn ready(&mut self, target: Target, begun: Instant) -> Result<Ready, Fault> {
        let secrets = SecretStore::new();
        let nonce = nonce();
        let local = async {
            let keyring = Keyring::open(&target, &secrets).await?;
            let prepared = prepare::prepare(&self.request.run, &target, &secrets, &nonce).await?;
            Ok::<_, Fault>((keyring, prepared))
        };
        let (mut keyring, prepared) = unless_signalled(self.signals, local).await?;
        self.warn_all(keyring.take_warnings());
        let deadline = target.deadline.and_then(|span| Some((begun.checked_add(span)?, span)));
        Ok(Ready { target, keyring, secrets, prepared, deadline })
    }

    async fn attempt(&mut self, ready: &Ready) -> Result<Verdict, Fault> {
        let mut progress = Progress::default();
        let mut patience = Patience::new(
            Some(ready.target.connect_timeout).filter(|limit| !limit.is_zero()),
            ready.deadline.map(|(at, _)| at),
        );
        // On the heap: what authentication may need is large, and most runs need little of it.
        let reaching = Box::pin(reach(ready, &mut patience, &mut progress));
        let reached = unless_signalled(self.signals, reaching).await;
        self.learn(&progress);
        let (session, channel, clock) = reached?;
        let plan = ready
            .prepared
            .plan()
            .map_err(|error| Fault::SourceNotFound { path: "standard input".to_owned(), problem: error.to_string() })?;
        let limits = Limits { timeout: self.request.run.timeout, deadline: ready.deadline };
        let facts = run(&session, channel, plan, limits, self.sink, self.signals).await;
        self.finished.timing.run = Some(Millis(clock.elapsed()));
        session.close().await;
        Ok(judge(facts, &ready.prepared.terms))
    }

    /// Only what is safe to repeat, only under `--retries`, and only with input that is still there.
    fn should_repeat(&self, result: &Result<Verdict, Fault>, ready: &Ready, retry: RetryConfig, attempt: u32) -> bool {
        let (fault, started) = match result {
            Ok(verdict) => (verdict.fault.clone(), verdict.started),
            Err(fault) => (Some(fault.clone()), Started::No),
        };
        let Some(fault) = fault else { return false };
        let input_is_there = result.is_err() || ready.prepared.is_repeatable();
        let error = SshCliError::new(fault, started, self.finished.effect, false);
        retry.may_retry(attempt) && error.is_retryable() && input_is_there && !self.sink.is_spent()
    }

    async fn pause(&mut self, wait: Duration, deadline: Option<(Instant, Duration)>) -> Result<(), Fault> {
        let until = Instant::now() + wait;
        let until = deadline.map_or(until, |(at, _)| at.min(until));
        unless_signalled(self.signals, async {
            sleep_until(until).await;
            Ok(())
        })
        .await
    }

    fn conclude(&mut self, verdict: Verdict) -> Option<Fault> {
        self.warn_all(verdict.warnings);
        let finished = &mut self.finished;
        finished.outcome = verdict.outcome;
        finished.started = verdict.started.or_earlier(finished.started);
        finished.remote_exit = verdict.remote_exit;
        finished.remote_signal = verdict.remote_signal;
        finished.held_open = verdict.held_open;
        verdict.fault
    }

    fn describe(&mut self, target: &Target) {
        let facts = &mut self.finished.target;
        facts.user.clone_from(&target.user);
        facts.more.host = Some(target.host.clone());
        facts.more.port = Some(target.port);
        facts.more.user_source = Some(target.user_source);
        facts.more.jump = target.jump.iter().map(|hop| format!("{}@{}:{}", hop.user, hop.host, hop.port)).collect();
    }

    fn learn(&mut self, progress: &Progress) {
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

    fn warn_all(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            self.warn(warning);
        }
    }

    fn warn(&mut self, warning: Warning) {
        self.sink.warning(&warning);
        self.finished.warnings.push(warning);
    }
}

type Channel = (crate::connection::channel::ChannelReader, crate::connection::channel::ChannelWriter);

/// A session with an open channel, and when that was asked for.
async fn reach(
    ready: &Ready,
    patience: &mut Patience,
    progress: &mut Progress,
) -> Result<(Session, Channel, Instant), Fault> {
    let session = connect(&ready.target, &ready.keyring, &ready.secrets, patience, progress).await?;
    let address = progress.address.clone().unwrap_or_else(|| ready.target.host.clone());
    let clock = Instant::now();
    let channel = session.open_channel(patience, &address).await?;
    Ok((session, channel, clock))
}

/// Waits for it, unless a signal ends us first: nothing has started then.
async fn unless_signalled<T>(
    signals: &mut mpsc::Receiver<Caught>,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    tokio::select! {
        biased;
        Some(signal) = signals.recv() => Err(Fault::Interrupted { signal, confirmed: None }),
        result = work => result,
    }
}

/// 128 random bits: what nobody can print by chance or by guessing.
fn nonce() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}

fn retry_config(options: RetryOptions) -> RetryConfig {
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

    #[test]
    fn what_never_began_is_not_started() {
        assert_eq!(Finished::not_started(crate::effect::Effect::Write).outcome, Outcome::NotStarted);
    }
}
