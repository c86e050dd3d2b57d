//! `scp` from the request to what came of it, with as many attempts as the caller asked for.

use rand::RngExt as _;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::means::Means;
use super::prepare::own_stdin;
use super::trip::{Call, Ended, Trip, nonce, retry_config, unless_signalled};
use crate::connection::{Progress, connect};
use crate::errors::{Caught, Fault, SshCliError};
use crate::model::copy::{CopyRequest, LocalSource, Way};
use crate::model::outcome::{Outcome, Started};
use crate::model::sink::Sink;
use crate::model::timing::Millis;
use crate::operation::elevate::entrance::Rights;
use crate::operation::limits::Limits;
use crate::operation::transfer::{self, Copied, Line, Plan};
use crate::retry::wait_for_retry;
use crate::target::secrets::SecretStore;

/// Copies. `begun`: when the process began, for `--deadline` and the total time.
pub async fn copy<S: Sink>(
    request: &CopyRequest,
    begun: Instant,
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
) -> Ended {
    let deadline = (begun, request.connection.deadline);
    let mut trip = Trip::new(&request.destination, deadline, request.options.effect, sink, signals);
    let fault = match go(request, &mut trip).await {
        Ok(copied) => conclude(&mut trip, copied),
        Err(fault) => {
            // The last attempt did not get so far, but an earlier one may have.
            if trip.finished.started != Started::No {
                trip.finished.outcome = Outcome::Unknown;
            }
            Some(fault)
        }
    };
    trip.end(fault, begun)
}

async fn go<S: Sink>(request: &CopyRequest, trip: &mut Trip<'_, S>) -> Result<Copied, Fault> {
    let target = trip.resolve(&request.destination, &request.connection).await?;
    let call = trip.call(target, SecretStore::new()).await?;
    let elevation = request.options.sudo.as_ref().map(|sudo| &sudo.elevation);
    let means = Means::read(elevation, &call.target.user, &call.secrets, "");
    let Means { elevated, asked } = trip.local(means).await?;
    let retry = retry_config(request.retry);
    loop {
        let attempt = trip.begin_attempt();
        let rights = elevated.clone().zip(asked.clone());
        let rights = rights.map(|(elevated, asked)| Rights::new(elevated, asked, "--sudo", nonce()));
        let result = once(request, trip, &call, rights.as_ref()).await;
        let (fault, started) = match &result {
            Ok(copied) => (copied.fault.clone(), copied.started),
            Err(fault) => (Some(fault.clone()), Started::No),
        };
        let again = fault.is_some_and(|fault| {
            let error = SshCliError::new(fault, started, request.options.effect, false);
            // Standard input is gone once it was read.
            let input_is_there = result.is_err() || !reads_stdin(&request.way);
            retry.may_retry(attempt) && error.is_retryable() && input_is_there && !trip.sink.is_spent()
        });
        let wait = wait_for_retry(retry, attempt, request.retry.wait);
        if !again || call.deadline.is_some_and(|(at, _)| Instant::now() + wait >= at) {
            return result;
        }
        if let Ok(copied) = &result {
            trip.finished.started = copied.started.or_earlier(trip.finished.started);
        }
        trip.pause(wait).await?;
    }
}

async fn once<S: Sink>(
    request: &CopyRequest,
    trip: &mut Trip<'_, S>,
    call: &Call,
    rights: Option<&Rights>,
) -> Result<Copied, Fault> {
    let mut progress = Progress::default();
    let mut patience = call.patience();
    let reaching = Box::pin(connect(&call.target, &call.keyring, &call.secrets, &mut patience, &mut progress));
    let reached = unless_signalled(trip.signals, reaching).await;
    trip.learn(&progress);
    let session = reached?;
    let clock = Instant::now();
    let plan = Plan {
        way: &request.way,
        options: &request.options,
        tag: format!("{:08x}", rand::rng().random::<u32>()),
        stdin: if reads_stdin(&request.way) { Some(own_stdin()?) } else { None },
        host: format!("{}:", call.target.host),
    };
    let limits = Limits { timeout: request.options.timeout, deadline: call.deadline };
    let address = progress.address.unwrap_or_else(|| call.target.host.clone());
    let line = Line { session: &session, patience: &patience, address: &address, rights };
    let copied = Box::pin(transfer::copy(line, plan, limits, trip.sink, trip.signals)).await;
    trip.finished.timing.run = Some(Millis(clock.elapsed()));
    session.close().await;
    Ok(copied)
}

fn reads_stdin(way: &Way) -> bool {
    matches!(way, Way::Upload { sources, .. } if sources.contains(&LocalSource::Stdin))
}

fn conclude<S: Sink>(trip: &mut Trip<'_, S>, copied: Copied) -> Option<Fault> {
    let Copied { transfer, fault, started, warnings } = copied;
    trip.warn_all(warnings);
    let finished = &mut trip.finished;
    finished.started = started.or_earlier(finished.started);
    finished.outcome = match (&fault, finished.started) {
        (None, _) => Outcome::Succeeded,
        (Some(_), Started::No) => Outcome::NotStarted,
        (Some(Fault::Timeout { confirmed: Some(true), .. } | Fault::Interrupted { confirmed: Some(true), .. }), _) => {
            Outcome::Stopped
        }
        (
            Some(
                Fault::Timeout { .. }
                | Fault::Interrupted { .. }
                | Fault::ConnectionLost { .. }
                | Fault::ConnectTimeout { .. },
            ),
            _,
        ) => Outcome::Unknown,
        (Some(_), _) => Outcome::Failed,
    };
    finished.transfer = Some(transfer);
    fault
}
