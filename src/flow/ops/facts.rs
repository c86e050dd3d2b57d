//! An operation as it is told: our own record, and what the host says.

use super::record::Record;
use crate::flow::trip::Trip;
use crate::journal::decide::{Decision, Why};
use crate::journal::{Completion, Standing};
use crate::model::operation::{
    FencedBy, Generation, HostIdentity, HostState, OnHost, OperationFacts, OperationState, Settlement,
};
use crate::operation::durable::wire::{Fence, Life, Settled, State};

/// Writes it down for the caller. `seen`: what the host said, where it was asked.
pub(super) fn tell<S>(trip: &mut Trip<'_, S>, record: &mut Record, seen: Option<(&HostIdentity, &State)>) {
    let mut listing = record.listing.clone();
    listing.host = seen.map(|(host, state)| on_host(host, state));
    trip.finished.ops = Some(vec![listing]);
    trip.finished.operation = Some(facts(record, seen));
}

fn facts(record: &mut Record, seen: Option<(&HostIdentity, &State)>) -> OperationFacts {
    let state = how_it_stands(record, seen);
    let evidence = (state == OperationState::NeedsReconciliation).then(|| record.evidence(seen)).flatten();
    let replay = match &record.standing {
        Standing::Completed(replay) => Some(replay),
        _ => None,
    };
    let recorded = || record.standing.open().and_then(|open| open.gate.clone());
    let there = seen.and_then(|(_, state)| state.gate.as_ref()).and_then(|(attempt, _)| attempt.parse().ok());
    let known = seen.and_then(|(_, state)| state.end).map(|end| end.status.is_some());
    OperationFacts {
        key: record.id.key.clone(),
        generation: seen.map_or_else(|| record.generation(), |(_, state)| Generation(state.generation)),
        attempt: there.or_else(recorded),
        fingerprint: record.fingerprint().cloned(),
        state,
        replayed: seen.is_none() && replay.is_some(),
        attached: false,
        completed_at: replay.map(|replay| replay.completed_at),
        origin: replay.map(|replay| replay.origin.clone()),
        remote_exit_known: if replay.is_some() { Some(true) } else { known },
        isolation: None,
        evidence,
    }
}

fn how_it_stands(record: &mut Record, seen: Option<(&HostIdentity, &State)>) -> OperationState {
    match (&record.standing, seen) {
        // What is recorded for good.
        (Standing::Completed(replay), _) => {
            let cancelled = Completion::from_output(&replay.output).is_ok_and(|completion| completion.cancelled);
            if cancelled { OperationState::Cancelled } else { OperationState::Completed }
        }
        (Standing::Abandoned(_), _) | (Standing::None | Standing::NotDone(_), None) => OperationState::Refused,
        (Standing::Open(open), None) if open.needs.is_some() => OperationState::NeedsReconciliation,
        (Standing::Open(_), None) if !record.may_have_started() => OperationState::Refused,
        (Standing::Open(_) | Standing::Damaged { .. }, None) => OperationState::Cut,
        (_, Some((host, state))) => how_it_stands_there(record, host, state),
    }
}

fn how_it_stands_there(record: &mut Record, host: &HostIdentity, state: &State) -> OperationState {
    if let Some(end) = state.end.filter(|end| !end.flags.lost) {
        return if end.flags.cancelled { OperationState::Cancelled } else { OperationState::Completed };
    }
    match (state.settled, state.life) {
        (Some(Settled::Done(_)), _) => OperationState::Completed,
        (None, Life::Running | Life::Orphan) => OperationState::Running,
        (None, Life::Foreign) => OperationState::Cut,
        (None, Life::Fenced) if state.fence == Some(Fence::Cancelled) => OperationState::Cancelled,
        (Some(Settled::NotDone), _) | (None, Life::Fenced) => OperationState::Refused,
        (None, life) => match record.decide(host, state) {
            Some(Decision::Fail(failure)) if matches!(failure.why, Why::Reconcile(_)) => {
                OperationState::NeedsReconciliation
            }
            Some(Decision::Go(_)) if !record.may_have_started() => OperationState::Refused,
            Some(_) => OperationState::Cut,
            None if life == Life::None => OperationState::Refused,
            None => OperationState::NeedsReconciliation,
        },
    }
}

fn on_host(host: &HostIdentity, state: &State) -> OnHost {
    let flags = state.end.map(|end| end.flags).unwrap_or_default();
    OnHost {
        generation: Generation(state.generation),
        state: match state.life {
            Life::None => HostState::None,
            Life::Running => HostState::Running,
            Life::Orphan => HostState::Orphan,
            Life::Dead => HostState::Dead,
            Life::Foreign => HostState::Foreign,
            Life::Done => HostState::Done,
            Life::Fenced => HostState::Fenced,
        },
        attempt: state.gate.as_ref().and_then(|(attempt, _)| attempt.parse().ok()),
        remote_exit: state.end.and_then(|end| end.status),
        status_lost: flags.lost,
        cancelled: flags.cancelled,
        timed_out: flags.deadline,
        stdout_bytes: state.end.map(|end| end.out),
        stderr_bytes: state.end.map(|end| end.err),
        output_expired: flags.expired,
        fenced_by: state.fence.map(|fence| match fence {
            Fence::Cancelled => FencedBy::Cancel,
            Fence::Resolved => FencedBy::Resolve,
            Fence::Broken => FencedBy::BrokenLaunch,
        }),
        settled: state.settled.map(|settled| match settled {
            Settled::Done(_) => Settlement::Done,
            Settled::NotDone => Settlement::NotDone,
        }),
        acknowledged: state.acknowledged,
        node: crate::errors::clean(&host.node),
    }
}
