//! What a host shows of itself and of a generation, in the words of the decision table.

use std::time::Duration;

use crate::journal::Open;
use crate::journal::decide::{Receipt, Remote};
use crate::model::moment::Moment;
use crate::model::operation::{Fingerprint, Generation, HostIdentity, Seen};
use crate::operation::durable::request::fingerprint_word;
use crate::operation::durable::wire::{Fence, Hello, Life, Settled, State};

/// A node that showed no sign of life is given up when the operation was sent to it so long ago: for what may be done again.
const STALE_AFTER: Duration = Duration::from_hours(1);

/// As the journal records it.
pub(in crate::flow) fn identity(hello: &Hello, host_key: String) -> HostIdentity {
    let known = |word: &str, unknown: &str| (word != unknown).then(|| word.to_owned());
    HostIdentity {
        host_key,
        uid: u64::from(hello.uid),
        root: hello.root.clone(),
        root_id: hello.root_id.clone(),
        node: hello.node.clone(),
        boot_id: known(&hello.boot, "unknown"),
        pid_namespace: known(&hello.namespace, "-"),
        version: 1,
    }
}

/// How a generation stands, for a request with this fingerprint. `silent`: it was followed, and its node showed no sign of life.
pub(in crate::flow) fn remote(
    state: &State,
    fingerprint: &Fingerprint,
    open: Option<&Open>,
    silent: bool,
    now: Moment,
) -> Remote {
    Remote::Seen { generation: Generation(state.generation), receipt: receipt(state, fingerprint, open, silent, now) }
}

fn receipt(state: &State, fingerprint: &Fingerprint, open: Option<&Open>, silent: bool, now: Moment) -> Receipt {
    if let Some((_, theirs)) = &state.gate
        && *theirs != fingerprint_word(fingerprint)
    {
        return Receipt::OtherRequest;
    }
    if state.settled == Some(Settled::NotDone) {
        return Receipt::SettledNotDone;
    }
    match state.life {
        Life::None => Receipt::NoGate,
        Life::Fenced if state.fence == Some(Fence::Cancelled) => Receipt::FencedByCancel,
        // Where the launch broke off, nothing ran and nothing will: the next generation is as sound as after a person's word.
        Life::Fenced => Receipt::FencedByResolve,
        Life::Running => Receipt::Running,
        Life::Orphan => Receipt::Orphan,
        // A person's word stands for a status that was lost.
        Life::Done if state.end.is_some_and(|end| end.flags.lost) && state.settled.is_none() => Receipt::StatusLost,
        Life::Done => Receipt::Done { ours: state.gate.as_ref().is_some_and(|(attempt, _)| is_ours(attempt, open)) },
        Life::Dead => Receipt::Dead,
        Life::Foreign if silent => Receipt::ForeignSilent { stale: is_stale(open, now) },
        // Whether it shows signs of life is seen by following it.
        Life::Foreign => Receipt::ForeignAdvancing,
    }
}

/// This attempt is recorded here.
pub(in crate::flow) fn is_ours(attempt: &str, open: Option<&Open>) -> bool {
    open.is_some_and(|open| open.dispatches.iter().any(|(_, ours, _)| ours.as_str() == attempt))
}

fn is_stale(open: Option<&Open>, now: Moment) -> bool {
    let last = open.and_then(|open| open.dispatches.last());
    last.is_some_and(|(at, _, _)| now.since(*at) > STALE_AFTER)
}

/// What of it speaks for a verdict.
pub(in crate::flow) fn seen(remote: Remote) -> Seen {
    match remote {
        Remote::RootUnusable => Seen::RootUnusable,
        Remote::Seen { receipt, .. } => match receipt {
            Receipt::StatusLost => Seen::StatusLost,
            Receipt::Dead => Seen::Dead,
            Receipt::ForeignSilent { .. } => Seen::ForeignSilent,
            _ => Seen::NoReceipt,
        },
        _ => Seen::NoAnswer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::durable::wire::{End, Flags};

    fn fingerprint() -> Fingerprint {
        Fingerprint::of_digest([0xab; 32])
    }

    fn state(life: Life) -> State {
        let gate = (!matches!(life, Life::None | Life::Fenced)).then(|| ("a1".to_owned(), "abababababab".to_owned()));
        State { generation: 1, life, gate, end: None, fence: None, settled: None, acknowledged: false }
    }

    fn of(state: &State, silent: bool) -> Receipt {
        receipt(state, &fingerprint(), None, silent, Moment(0))
    }

    #[test]
    fn each_state_has_its_row() {
        let end = |lost| {
            let flags = Flags { lost, ..Flags::default() };
            Some(End { status: (!lost).then_some(0), out: 0, err: 0, flags })
        };
        let fenced = |fence| State { fence: Some(fence), ..state(Life::Fenced) };
        let rows = [
            (state(Life::None), Receipt::NoGate),
            (state(Life::Running), Receipt::Running),
            (state(Life::Orphan), Receipt::Orphan),
            (state(Life::Dead), Receipt::Dead),
            (fenced(Fence::Cancelled), Receipt::FencedByCancel),
            (fenced(Fence::Resolved), Receipt::FencedByResolve),
            (fenced(Fence::Broken), Receipt::FencedByResolve),
            (State { end: end(false), ..state(Life::Done) }, Receipt::Done { ours: false }),
            (State { end: end(true), ..state(Life::Done) }, Receipt::StatusLost),
            (
                State { end: end(true), settled: Some(Settled::Done(0)), ..state(Life::Done) },
                Receipt::Done { ours: false },
            ),
            (State { settled: Some(Settled::NotDone), ..state(Life::Dead) }, Receipt::SettledNotDone),
            (State { gate: Some(("a1".into(), "00".into())), ..state(Life::Running) }, Receipt::OtherRequest),
        ];
        for (state, expected) in rows {
            assert_eq!(of(&state, false), expected, "{state:?}");
        }
    }

    #[test]
    fn another_node_is_silent_only_when_it_was_watched() {
        assert_eq!(of(&state(Life::Foreign), false), Receipt::ForeignAdvancing);
        assert_eq!(of(&state(Life::Foreign), true), Receipt::ForeignSilent { stale: false });
    }
}
