//! The table, enumerated. What is expected is written down a second time, row by row, in another shape than the code has.

use super::*;

const EFFECTS: [Effect; 3] = [Effect::Read, Effect::Idempotent, Effect::Write];
const COMPARISONS: [Comparison; 3] = [Comparison::Same, Comparison::Changed, Comparison::Unknown];
const BOTH: [bool; 2] = [false, true];

fn continuities() -> Vec<Option<Continuity>> {
    let mut all = vec![None];
    for root in COMPARISONS {
        for host_key in COMPARISONS {
            all.extend(COMPARISONS.map(|boot| Some(Continuity { root, host_key, boot })));
        }
    }
    all
}

fn memories() -> Vec<Memory> {
    let mut all = Vec::new();
    for generation in [1, 2, 3].map(Generation) {
        for dispatched in continuities() {
            for gate_seen in BOTH {
                for needs_reconciliation in BOTH {
                    for expired in BOTH {
                        all.push(Memory { generation, dispatched, gate_seen, needs_reconciliation, expired });
                    }
                }
            }
        }
    }
    all
}

fn locals() -> Vec<Local> {
    let mut all = vec![
        Local::None,
        Local::OtherRequest,
        Local::Completed,
        Local::NotDone(Generation(1)),
        Local::NotDone(Generation(7)),
        Local::Abandoned,
        Local::Damaged,
    ];
    all.extend(memories().into_iter().map(Local::Open));
    all
}

fn receipts() -> Vec<Receipt> {
    let mut all = vec![
        Receipt::NoGate,
        Receipt::OtherRequest,
        Receipt::FencedByCancel,
        Receipt::FencedByResolve,
        Receipt::SettledNotDone,
        Receipt::Running,
        Receipt::Orphan,
        Receipt::StatusLost,
        Receipt::Dead,
        Receipt::ForeignAdvancing,
    ];
    all.extend(BOTH.map(|ours| Receipt::Done { ours }));
    all.extend(BOTH.map(|stale| Receipt::ForeignSilent { stale }));
    all
}

fn remotes() -> Vec<Remote> {
    let mut all = vec![Remote::NotAsked, Remote::NotReached, Remote::NoHello, Remote::RootUnusable];
    all.extend(BOTH.map(|started| Remote::Cut { started }));
    for generation in [1, 2, 3].map(Generation) {
        all.extend(receipts().into_iter().map(|receipt| Remote::Seen { generation, receipt }));
    }
    all
}

fn each(mut check: impl FnMut(Local, Remote, Effect, Wait, Decision)) {
    for local in locals() {
        for remote in remotes() {
            for effect in EFFECTS {
                for wait in [Wait::Open, Wait::Over] {
                    check(local, remote, effect, wait, decide(local, remote, effect, wait));
                }
            }
        }
    }
}

fn open(local: Local) -> Option<Memory> {
    match local {
        Local::Open(memory) => Some(memory),
        _ => None,
    }
}

/// What the host shows of our generation: a receipt of an older one is none of ours.
fn shown(local: Local, remote: Remote) -> Option<(Generation, Receipt)> {
    let Remote::Seen { generation, receipt } = remote else { return None };
    match open(local) {
        Some(memory) if generation < memory.generation && receipt != Receipt::OtherRequest => {
            Some((memory.generation, Receipt::NoGate))
        }
        _ => Some((generation, receipt)),
    }
}

fn all_same(continuity: Continuity) -> bool {
    [continuity.root, continuity.host_key, continuity.boot] == [Comparison::Same; 3]
}

/// "no gate; never dispatched, or same root id, same boot, J4 not recorded", and nothing that row 2 names.
fn is_a_go_cell(local: Local, remote: Remote) -> bool {
    let (Some(memory), Some((generation, Receipt::NoGate))) = (open(local), shown(local, remote)) else { return false };
    let same = memory.dispatched.is_none_or(all_same);
    let of_an_older_one = generation > memory.generation && memory.dispatched.is_some_and(all_same);
    !memory.expired && (of_an_older_one || (same && !memory.gate_seen && !memory.needs_reconciliation))
}

/// The rows in which what was started before is over, or can start no more.
fn is_settled(local: Local, remote: Remote, effect: Effect) -> bool {
    let Some((_, receipt)) = shown(local, remote) else { return false };
    match receipt {
        Receipt::SettledNotDone | Receipt::FencedByResolve => true,
        Receipt::StatusLost | Receipt::Dead => effect != Effect::Write,
        Receipt::ForeignSilent { stale } => effect == Effect::Read || (effect == Effect::Idempotent && stale),
        _ => false,
    }
}

#[test]
fn go_comes_only_from_the_go_cells_and_from_each_of_them() {
    let mut count = 0;
    each(|local, remote, effect, wait, decision| {
        let told = format!("{local:?} {remote:?} {effect:?} {wait:?}: {decision:?}");
        let generation = shown(local, remote).map(|(generation, _)| generation);
        let goes = matches!(decision, Decision::Go(_));
        assert_eq!(goes, is_a_go_cell(local, remote), "{told}");
        match decision {
            Decision::Go(go) => assert_eq!(Some(go), generation, "{told}"),
            Decision::NextGeneration(go) => {
                assert!(is_settled(local, remote, effect) && open(local).is_some(), "{told}");
                assert_eq!(Some(go), generation.map(Generation::next), "{told}");
            }
            Decision::FenceThenGo { fence, go } => {
                assert!(effect != Effect::Write && open(local).is_some(), "{told}");
                assert_eq!((Some(fence), go), (generation, fence.next()), "{told}");
                assert!(matches!(shown(local, remote), Some((_, Receipt::NoGate))), "{told}");
            }
            Decision::Begin(generation) => {
                let expected = match local {
                    Local::None => Generation(1),
                    Local::NotDone(Generation(n)) => Generation(n + 1),
                    _ => panic!("{told}"),
                };
                assert_eq!(generation, expected, "{told}");
            }
            _ => {}
        }
        count += 1;
    });
    assert!(count > 100_000, "{count}");
}

#[test]
fn a_settled_generation_is_followed_by_the_next_one() {
    each(|local, remote, effect, _, decision| {
        if open(local).is_some() && is_settled(local, remote, effect) {
            assert!(matches!(decision, Decision::NextGeneration(_)), "{local:?} {remote:?} {effect:?}: {decision:?}");
        }
    });
}

#[test]
fn a_damaged_record_starts_nothing() {
    each(|local, remote, effect, _, decision| {
        if local == Local::Damaged {
            let starts = matches!(
                decision,
                Decision::Begin(_) | Decision::Go(_) | Decision::FenceThenGo { .. } | Decision::NextGeneration(_)
            );
            assert!(!starts && decision != Decision::Replay, "{remote:?} {effect:?}: {decision:?}");
        }
    });
}

/// Every 76 has its predicate true, and is told of what it is told of only.
#[test]
fn whoever_is_told_that_a_person_must_decide_is_told_the_truth() {
    let mut reasons = std::collections::HashMap::new();
    each(|local, remote, effect, wait, decision| {
        let Decision::Fail(Failure { why: Why::Reconcile(reason), started }) = decision else { return };
        let told = format!("{local:?} {remote:?} {effect:?} {wait:?}: {decision:?}");
        *reasons.entry(reason).or_insert(0) += 1;
        let damaged = local == Local::Damaged;
        let memory = open(local);
        assert!(damaged || memory.is_some(), "{told}");
        let sent = damaged || memory.is_some_and(|m| m.dispatched.is_some() || m.gate_seen || m.needs_reconciliation);
        let receipt = shown(local, remote).map(|(_, receipt)| receipt);
        match reason {
            Reason::ReceiptLost => {
                assert_eq!((effect, receipt), (Effect::Write, Some(Receipt::NoGate)), "{told}");
                assert!(!is_a_go_cell(local, remote), "{told}");
                let broken = |m: Memory| m.dispatched.is_some_and(|c| !all_same(c));
                let lost = memory.is_some_and(|m| broken(m) || m.gate_seen || m.needs_reconciliation || m.expired);
                assert!(damaged || lost, "{told}");
            }
            Reason::ReceiptUnreachable => {
                assert!(sent, "{told}");
                let no_hello = remote == Remote::NoHello;
                assert!(no_hello || (remote == Remote::RootUnusable && effect == Effect::Write), "{told}");
            }
            Reason::ExitStatusLost => assert_eq!((effect, receipt), (Effect::Write, Some(Receipt::StatusLost))),
            Reason::DiedWithoutStatus => assert_eq!((effect, receipt), (Effect::Write, Some(Receipt::Dead))),
            Reason::ForeignUnknown => {
                assert_eq!(effect, Effect::Write, "{told}");
                assert!(matches!(receipt, Some(Receipt::ForeignSilent { .. })), "{told}");
            }
        }
        assert_eq!(started, Started::Unknown, "{told}");
    });
    assert_eq!(reasons.len(), 5, "{reasons:?}");
}

#[test]
fn not_started_is_told_only_where_nothing_was_sent_or_the_host_refused() {
    each(|local, remote, effect, _, decision| {
        let (Decision::Unreached(started) | Decision::Fail(Failure { started, .. })) = decision else { return };
        if started != Started::No {
            return;
        }
        let refused = matches!(
            decision,
            Decision::Fail(Failure { why: Why::KeyMismatch | Why::KeyRetired | Why::CancelledBeforeStart, .. })
        );
        let never_sent = open(local).is_some_and(|m| m.dispatched.is_none() && !m.gate_seen && !m.needs_reconciliation);
        assert!(refused || never_sent, "{local:?} {remote:?} {effect:?}: {decision:?}");
    });
}

/// After a 76 nothing starts, however often it is asked again, until a person has decided.
#[test]
fn a_write_that_waits_for_a_person_is_started_by_nobody_else() {
    for memory in memories().into_iter().filter(|memory| memory.needs_reconciliation) {
        for remote in remotes() {
            let settled = is_settled(Local::Open(memory), remote, Effect::Write);
            let newer = matches!(remote, Remote::Seen { generation, .. } if generation > memory.generation);
            let decision = decide(Local::Open(memory), remote, Effect::Write, Wait::Open);
            let starts = matches!(
                decision,
                Decision::Go(_) | Decision::NextGeneration(_) | Decision::FenceThenGo { .. } | Decision::Begin(_)
            );
            assert!(!starts || settled || newer, "{memory:?} {remote:?}: {decision:?}");
        }
    }
}

/// The rest of the rows, one by one, for a record of the generation that is shown.
#[test]
fn the_rows_are_those_of_the_design() {
    let never = Memory {
        generation: Generation(1),
        dispatched: None,
        gate_seen: false,
        needs_reconciliation: false,
        expired: false,
    };
    let same = Continuity { root: Comparison::Same, host_key: Comparison::Same, boot: Comparison::Same };
    let sent = Memory { dispatched: Some(same), ..never };
    let started = Memory { gate_seen: true, ..sent };
    let at = |memory, remote, effect, wait| decide(Local::Open(memory), remote, effect, wait);
    let seen = |receipt| Remote::Seen { generation: Generation(1), receipt };
    let failed = |why, started| Decision::Fail(Failure { why, started });
    for effect in EFFECTS {
        for memory in [never, sent, started] {
            let look = |receipt, wait| at(memory, seen(receipt), effect, wait);
            for receipt in [Receipt::Running, Receipt::Orphan, Receipt::ForeignAdvancing] {
                assert_eq!(look(receipt, Wait::Open), Decision::Follow);
                assert_eq!(look(receipt, Wait::Over), Decision::StillRunning);
            }
            for ours in BOTH {
                assert_eq!(look(Receipt::Done { ours }, Wait::Over), Decision::FetchDone { ours });
            }
            assert_eq!(look(Receipt::OtherRequest, Wait::Open), failed(Why::KeyMismatch, Started::No));
            assert_eq!(look(Receipt::FencedByCancel, Wait::Open), failed(Why::CancelledBeforeStart, Started::No));
            assert_eq!(look(Receipt::FencedByResolve, Wait::Open), Decision::NextGeneration(Generation(2)));
            assert_eq!(look(Receipt::SettledNotDone, Wait::Open), Decision::NextGeneration(Generation(2)));
            let cut = |started| at(memory, Remote::Cut { started }, effect, Wait::Open);
            assert_eq!(cut(true), failed(Why::TransportCut, Started::Yes));
            assert_eq!(cut(false), failed(Why::TransportCut, Started::Unknown));
            assert_eq!(at(memory, Remote::NotAsked, effect, Wait::Open), Decision::Connect);
        }
        let blind = |memory, remote| at(memory, remote, effect, Wait::Open);
        assert_eq!(blind(never, seen(Receipt::NoGate)), Decision::Go(Generation(1)));
        assert_eq!(blind(sent, seen(Receipt::NoGate)), Decision::Go(Generation(1)));
        assert_eq!(blind(never, Remote::NoHello), failed(Why::ReceiptUnsupported, Started::No));
        let unreachable = failed(Why::Reconcile(Reason::ReceiptUnreachable), Started::Unknown);
        assert_eq!(blind(sent, Remote::NoHello), unreachable);
        assert_eq!(blind(never, Remote::RootUnusable), failed(Why::ReceiptUnwritable, Started::No));
        assert_eq!(blind(never, Remote::NotReached), Decision::Unreached(Started::No));
        assert_eq!(blind(sent, Remote::NotReached), Decision::Unreached(Started::Unknown));
        let write = effect == Effect::Write;
        let unusable = failed(Why::ReceiptUnwritable, Started::Unknown);
        assert_eq!(blind(sent, Remote::RootUnusable), if write { unreachable } else { unusable });
        let lost = [
            started,
            Memory { expired: true, ..sent },
            Memory { dispatched: Some(Continuity { root: Comparison::Changed, ..same }), ..sent },
            Memory { dispatched: Some(Continuity { host_key: Comparison::Changed, ..same }), ..sent },
            Memory { dispatched: Some(Continuity { boot: Comparison::Changed, ..same }), ..sent },
            Memory { dispatched: Some(Continuity { boot: Comparison::Unknown, ..same }), ..sent },
        ];
        for memory in lost {
            let fenced = Decision::FenceThenGo { fence: Generation(1), go: Generation(2) };
            let told = failed(Why::Reconcile(Reason::ReceiptLost), Started::Unknown);
            assert_eq!(blind(memory, seen(Receipt::NoGate)), if write { told } else { fenced });
        }
        for (receipt, reason) in
            [(Receipt::StatusLost, Reason::ExitStatusLost), (Receipt::Dead, Reason::DiedWithoutStatus)]
        {
            let told = failed(Why::Reconcile(reason), Started::Unknown);
            let next = Decision::NextGeneration(Generation(2));
            assert_eq!(blind(sent, seen(receipt)), if write { told } else { next });
        }
        let silent = |stale| blind(sent, seen(Receipt::ForeignSilent { stale }));
        let foreign = failed(Why::Reconcile(Reason::ForeignUnknown), Started::Unknown);
        let next = Decision::NextGeneration(Generation(2));
        let expected = match effect {
            Effect::Read => (next, next),
            Effect::Idempotent => (failed(Why::ForeignSilent, Started::Unknown), next),
            Effect::Write => (foreign, foreign),
        };
        assert_eq!((silent(false), silent(true)), expected);
    }
}

#[test]
fn before_the_network_the_record_alone_decides() {
    each(|local, remote, _, _, decision| {
        let expected = match local {
            Local::None => Decision::Begin(Generation(1)),
            Local::NotDone(Generation(n)) => Decision::Begin(Generation(n + 1)),
            Local::Completed => Decision::Replay,
            Local::OtherRequest => Decision::Fail(Failure { why: Why::KeyMismatch, started: Started::No }),
            Local::Abandoned => Decision::Fail(Failure { why: Why::KeyRetired, started: Started::No }),
            Local::Open(_) | Local::Damaged if remote == Remote::NotAsked => Decision::Connect,
            Local::Open(_) | Local::Damaged => return,
        };
        assert_eq!(decision, expected, "{local:?} {remote:?}");
    });
}

#[test]
fn each_reason_is_the_code_of_its_fault() {
    let key: OperationKey = "k".parse().unwrap();
    let evidence = Evidence {
        recorded: crate::model::operation::Recorded::Dispatched,
        seen: crate::model::operation::Seen::Dead,
        root: Comparison::Same,
        host_key: Comparison::Same,
        boot: Comparison::Same,
        expired: false,
        attempt: None,
        dispatched_at: None,
    };
    for (why, code, exit) in [
        (Why::KeyMismatch, "op_key_mismatch", 65),
        (Why::KeyRetired, "op_key_retired", 65),
        (Why::CancelledBeforeStart, "cancelled_before_start", 1),
        (Why::ReceiptUnsupported, "receipt_unsupported", 69),
        (Why::ReceiptUnwritable, "receipt_unwritable", 73),
        (Why::JournalDamaged, "journal_unwritable", 73),
        (Why::TransportCut, "op_transport_cut", 74),
        (Why::ForeignSilent, "foreign_silent", 74),
        (Why::Reconcile(Reason::ReceiptLost), "receipt_lost", 76),
        (Why::Reconcile(Reason::ReceiptUnreachable), "receipt_unreachable", 76),
        (Why::Reconcile(Reason::ExitStatusLost), "exit_status_lost", 76),
        (Why::Reconcile(Reason::DiedWithoutStatus), "died_without_status", 76),
        (Why::Reconcile(Reason::ForeignUnknown), "foreign_unknown", 76),
    ] {
        let fault = why.fault(&key, &evidence, "x");
        let error = crate::errors::SshCliError::new(fault, Started::Unknown, Effect::Write, true);
        assert_eq!((error.code(), error.exit_code()), (code, exit));
        if let Why::Reconcile(reason) = why {
            assert_eq!(serde_json::to_value(reason).unwrap(), code);
        }
    }
}
