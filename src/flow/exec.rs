//! `exec` from the request to the verdict, with as many attempts as the caller asked for.

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::prepare::{self, Prepared};
use super::trip::{Call, Ended, Trip, nonce, retry_config, unless_signalled};
use crate::connection::{Patience, Progress, Session, connect};
use crate::errors::{Caught, Fault, SshCliError};
use crate::model::outcome::{Outcome, Started, Warning};
use crate::model::request::ExecRequest;
use crate::model::sink::Sink;
use crate::model::timing::Millis;
use crate::operation::elevate::refusal;
use crate::operation::exec::run;
use crate::operation::exec::verdict::{Verdict, judge};
use crate::operation::limits::Limits;
use crate::retry::{RetryConfig, wait_for_retry};

/// Runs one command. `begun`: when the process began, for `--deadline` and the total time.
pub async fn exec<S: Sink>(
    request: &ExecRequest,
    begun: Instant,
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
) -> Ended {
    let trip = Trip::new(&request.destination, (begun, request.connection.deadline), request.run.effect, sink, signals);
    let mut run = Run { request, trip };
    let fault = match run.go().await {
        Ok(verdict) => run.conclude(verdict),
        Err(fault) => {
            // The last attempt did not get so far, but an earlier one may have.
            if run.trip.finished.started != Started::No {
                run.trip.finished.outcome = Outcome::Unknown;
            }
            Some(fault)
        }
    };
    run.trip.end(fault, begun)
}

const MERGED: &str = "su gives its rights only on a terminal here, and on one standard output and standard error are one: both are in \
                      `stdout`";

struct Run<'a, S> {
    request: &'a ExecRequest,
    trip: Trip<'a, S>,
}

/// What is the same for every attempt.
struct Ready {
    call: Call,
    prepared: Prepared,
}

impl<S: Sink> Run<'_, S> {
    async fn go(&mut self) -> Result<Verdict, Fault> {
        if let Some(warning) = prepare::guard_stdin(&self.request.run.stdin)? {
            self.trip.warn(warning);
        }
        if let Some(warning) = prepare::command_warnings(&self.request.run) {
            self.trip.warn(warning);
        }
        let target = self.trip.resolve(&self.request.destination, &self.request.connection).await?;
        let call = self.trip.call(target).await?;
        let ready = self.ready(call).await?;
        let retry = retry_config(self.request.retry);
        loop {
            let attempt = self.trip.begin_attempt();
            let result = self.attempt(&ready).await;
            if !self.should_repeat(&result, &ready, retry, attempt) {
                return result;
            }
            if let Ok(verdict) = &result {
                let finished = &mut self.trip.finished;
                finished.started = finished.started.or_earlier(verdict.started);
            }
            let wait = wait_for_retry(retry, attempt, self.request.retry.wait);
            if ready.call.deadline.is_some_and(|(at, _)| Instant::now() + wait >= at) {
                // There is no time for another attempt: what the last one said is the answer.
                return result;
            }
            self.trip.pause(wait).await?;
        }
    }

    /// The local part: secrets and sources are read before anybody is called.
    async fn ready(&mut self, call: Call) -> Result<Ready, Fault> {
        let (one, other) = (nonce(), nonce());
        let local = prepare::prepare(&self.request.run, &call.target, &call.secrets, (&one, &other));
        let prepared = self.trip.local(local).await?;
        Ok(Ready { call, prepared })
    }

    async fn attempt(&mut self, ready: &Ready) -> Result<Verdict, Fault> {
        let mut progress = Progress::default();
        let mut patience = ready.call.patience();
        // On the heap: what authentication may need is large, and most runs need little of it.
        let reaching = Box::pin(reach(&ready.call, &mut patience, &mut progress));
        let reached = unless_signalled(self.trip.signals, reaching).await;
        self.trip.learn(&progress);
        let (session, channel, clock) = reached?;
        let plan = ready
            .prepared
            .plan()
            .map_err(|error| Fault::SourceNotFound { path: "standard input".to_owned(), problem: error.to_string() })?;
        let limits = Limits { timeout: self.request.run.timeout, deadline: ready.call.deadline };
        let mut facts = run(&session, channel, plan, limits, self.trip.sink, self.trip.signals).await;
        if facts.dialogue.as_ref().is_some_and(refusal::needs_terminal)
            && let Some(plan) = ready.prepared.plan_for_terminal()
        {
            let address = self.trip.finished.target.address.clone().unwrap_or_default();
            let opening = session.open_channel(&patience, &address);
            let channel = unless_signalled(self.trip.signals, opening).await?;
            self.trip.warn(Warning::new("streams_merged", MERGED));
            facts = run(&session, channel, plan, limits, self.trip.sink, self.trip.signals).await;
        }
        self.trip.finished.timing.run = Some(Millis(clock.elapsed()));
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
        let error = SshCliError::new(fault, started, self.trip.finished.effect, false);
        retry.may_retry(attempt) && error.is_retryable() && input_is_there && !self.trip.sink.is_spent()
    }

    fn conclude(&mut self, verdict: Verdict) -> Option<Fault> {
        self.trip.warn_all(verdict.warnings);
        let finished = &mut self.trip.finished;
        finished.outcome = verdict.outcome;
        finished.started = verdict.started.or_earlier(finished.started);
        finished.remote_exit = verdict.remote_exit;
        finished.remote_signal = verdict.remote_signal;
        finished.held_open = verdict.held_open;
        verdict.fault
    }
}

type Channel = (crate::connection::channel::ChannelReader, crate::connection::channel::ChannelWriter);

/// A session with an open channel, and when that was asked for.
async fn reach(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_began_is_not_started() {
        assert_eq!(
            crate::model::outcome::Finished::not_started(crate::effect::Effect::Write).outcome,
            Outcome::NotStarted
        );
    }
}
