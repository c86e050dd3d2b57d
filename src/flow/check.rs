//! `check`: a connection that runs nothing, and what every phase of it came to.

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::phases::phases;
use super::trip::{Call, Ended, Trip, retry_config, unless_signalled};
use crate::connection::{Patience, Progress, ServerKey, connect, known_host_keys, other_keys};
use crate::effect::Effect;
use crate::errors::{Caught, Fault, SshCliError, clean};
use crate::model::check::{AuthReport, Check, HostKeyReport, Offline, Reached};
use crate::model::outcome::{Outcome, Started};
use crate::model::request::CheckRequest;
use crate::model::sink::Sink;
use crate::retry::wait_for_retry;
use crate::target::known_hosts;
use crate::target::secrets::SecretStore;
use crate::target::{Target, describe};

/// Connects, authenticates, and says goodbye. `begun`: when the process began, for `--deadline` and the total time.
pub async fn check<S: Sink>(
    request: &CheckRequest,
    begun: Instant,
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
) -> Ended {
    let mut trip = Trip::new(&request.destination, (begun, request.connection.deadline), Effect::Read, sink, signals);
    let fault = go(request, &mut trip).await.err();
    if fault.is_none() {
        trip.finished.outcome = Outcome::Succeeded;
    }
    trip.end(fault, begun)
}

async fn go<S: Sink>(request: &CheckRequest, trip: &mut Trip<'_, S>) -> Result<(), Fault> {
    let mut target = trip.resolve(&request.destination, &request.connection).await?;
    if request.offline {
        let resolved = serde_json::to_value(describe(&target));
        let resolved = resolved.map_err(|error| Fault::Internal { problem: error.to_string() })?;
        trip.finished.check = Some(Check::Offline(Offline { resolved }));
        return Ok(());
    }
    target.remember_nothing();
    let call = trip.call(target, SecretStore::new()).await?;
    let retry = retry_config(request.retry);
    loop {
        let attempt = trip.begin_attempt();
        let mut progress = Progress::default();
        let mut patience = call.patience();
        let result = reach(trip, &call, &mut patience, &mut progress).await;
        let again = result.as_ref().is_err_and(|fault| {
            let error = SshCliError::new(fault.clone(), Started::No, Effect::Read, false);
            retry.may_retry(attempt) && error.is_retryable()
        });
        let wait = wait_for_retry(retry, attempt, request.retry.wait);
        let in_time = call.deadline.is_none_or(|(at, _)| Instant::now() + wait < at);
        if !(again && in_time) {
            let more = look_around(trip, &call, &mut patience, &progress).await;
            return result.and(more);
        }
        trip.pause(wait).await?;
    }
}

/// One attempt.
async fn reach<S: Sink>(
    trip: &mut Trip<'_, S>,
    call: &Call,
    patience: &mut Patience,
    progress: &mut Progress,
) -> Result<(), Fault> {
    let clock = Instant::now();
    // On the heap: what authentication may need is large.
    let connecting = Box::pin(connect(&call.target, &call.keyring, &call.secrets, patience, progress));
    let result = unless_signalled(trip.signals, connecting).await;
    let took = clock.elapsed();
    trip.learn(progress);
    let reached = report(&call.target, progress, took, result.as_ref().err());
    trip.finished.check = Some(Check::Reached(Box::new(reached)));
    let session = result?;
    session.close().await;
    Ok(())
}

/// What the connection itself told.
fn report(target: &Target, progress: &Progress, took: std::time::Duration, fault: Option<&Fault>) -> Reached {
    let link = &progress.link;
    let cleaned = |texts: &[String]| texts.iter().map(|text| clean(text)).collect::<Vec<_>>();
    let banner = clean(link.banner_text().trim());
    Reached {
        phases: phases(target, progress, took, fault),
        server: link.server_id(),
        banner: (!banner.is_empty()).then_some(banner),
        negotiated: link.negotiated(),
        offers: link.offers(),
        host_keys: Vec::new(),
        auth: AuthReport {
            accepted_methods: progress.accepted.as_deref().map(cleaned),
            used: progress.auth.as_deref().map(clean),
            tried: cleaned(&progress.tried),
            identities: Vec::new(),
        },
    }
}

/// The server's other host keys, and the keys on this side: what explains a refusal.
async fn look_around<S: Sink>(
    trip: &mut Trip<'_, S>,
    call: &Call,
    patience: &mut Patience,
    progress: &Progress,
) -> Result<(), Fault> {
    let Some(Check::Reached(reached)) = &mut trip.finished.check else { return Ok(()) };
    let looking = async {
        let mut identities = call.keyring.survey(&call.target).await;
        for identity in &mut identities {
            identity.name = clean(&identity.name);
        }
        reached.auth.identities = identities;
        let first = progress.link.server_key();
        let others = Box::pin(other_keys((&call.target, &call.keyring, &call.secrets), progress, patience)).await;
        // As it was judged: a certificate is more than its key.
        let certified = progress.link.host_key_seen().filter(|seen| seen.status == "certificate");
        reached.host_keys = host_keys(&call.target, first.iter().chain(&others), certified.is_some()).await;
        Ok(())
    };
    unless_signalled(trip.signals, looking).await
}

async fn host_keys<'a>(
    target: &Target,
    keys: impl Iterator<Item = &'a ServerKey>,
    first_is_certified: bool,
) -> Vec<HostKeyReport> {
    let rules = &target.host_keys;
    // What cannot be read was said when the first key was judged.
    let Ok((known, _)) = known_host_keys(target).await else { return Vec::new() };
    keys.enumerate()
        .map(|(n, key)| HostKeyReport {
            key_type: clean(&key.key_type),
            fingerprint: key.fingerprint.clone(),
            status: match rules.standing(&known, &key.key_type, &key.blob) {
                "unknown" if n == 0 && first_is_certified => "certificate",
                standing => standing,
            },
            pin: format!("--host-key {}", key.fingerprint),
            known_hosts_line: known_hosts::line(rules, &key.key_type, &key.blob),
        })
        .collect()
}
