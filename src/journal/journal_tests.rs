//! The journal on a real disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::model::operation::{AttemptId, HostIdentity, Reason, Recorded, Seen, StartPermission, TargetAccount, Via};
use crate::model::outcome::Started;

pub(super) fn call(key: &str, command: &str, effect: Effect) -> Call {
    let request = Request { command: Command::Text(command.as_bytes()), effect, ..Request::default() };
    Call {
        operation: OperationId {
            target: TargetAccount::located("deploy", "web1", 22, Via::Nothing),
            key: key.parse().unwrap(),
        },
        fingerprint: request.fingerprint(),
        effect,
        command: command.to_owned(),
    }
}

pub(super) fn host(boot: &str) -> HostIdentity {
    HostIdentity {
        host_key: "ssh-ed25519 SHA256:x".to_owned(),
        uid: 1000,
        root: "/home/deploy/.local/state/ssh-cli/ops1".to_owned(),
        root_id: "r1".to_owned(),
        node: "web1".to_owned(),
        boot_id: Some(boot.to_owned()),
        pid_namespace: None,
        version: 1,
    }
}

fn attempt(name: &str) -> AttemptId {
    name.parse().unwrap()
}

pub(super) fn permit<'c>(journal: &mut Journal, call: &'c Call) -> ToolCallPermit<'c> {
    match journal.ask(call).unwrap() {
        Answer::Permit(permit) => permit,
        other => panic!("{other:?}"),
    }
}

fn look<'c>(journal: &mut Journal, call: &'c Call) -> Look<'c> {
    match journal.ask(call).unwrap() {
        Answer::Look(look) => look,
        other => panic!("{other:?}"),
    }
}

fn taken<T: std::fmt::Debug>(step: Result<Step<'_, T>, Fault>) -> T {
    match step.unwrap() {
        Step::Taken(taken) => taken,
        Step::Overtaken(answer) => panic!("{answer:?}"),
    }
}

pub(super) fn dispatched<'c>(journal: &mut Journal, call: &'c Call, name: &str) -> Dispatched<'c> {
    let committed = taken(permit(journal, call).commit_intent(journal));
    taken(committed.dispatch(journal, attempt(name), host("b1")))
}

/// All the way: meant, sent, started, completed.
pub(super) fn run(journal: &mut Journal, call: &Call, output: Value) {
    let go = dispatched(journal, call, "a1");
    journal.commit(&go.permit().started(attempt("a1"))).unwrap();
    let done = go.into_permit().record(output);
    assert!(matches!(journal.commit(&done).unwrap(), Commit::Recorded(SequenceNumber(3))));
}

pub(super) fn new() -> (TempDir, Journal) {
    let state = tempfile::tempdir().unwrap();
    let journal = Journal::open(state.path()).unwrap();
    (state, journal)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn nothing_is_made_unless_it_is_asked_for() {
    let state = tempfile::tempdir().unwrap();
    assert!(Journal::open_existing(state.path()).unwrap().is_none());
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}

#[test]
fn the_file_is_private_and_so_is_its_directory_and_no_other() {
    let outer = tempfile::tempdir().unwrap();
    fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let state = outer.path().join("new/state");
    drop(Journal::open(&state).unwrap());
    let path = Journal::path(&state);
    assert_eq!((mode(&path), mode(path.parent().unwrap()), mode(outer.path())), (0o600, 0o700, 0o755));
    // One that was opened to others is closed again.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    drop(Journal::open(&state).unwrap());
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["journal.sqlite3"]);
}

#[test]
fn an_outcome_is_replayed_and_survives_the_process() {
    let (state, mut journal) = new();
    let call = call("k", "make", Effect::Write);
    run(&mut journal, &call, json!({"remote_exit": 3}));
    drop(journal);
    let mut journal = Journal::open_existing(state.path()).unwrap().unwrap();
    let Answer::Replay(replay) = journal.ask(&call).unwrap() else { panic!("no replay") };
    assert_eq!((&replay.output, &replay.origin), (&json!({"remote_exit": 3}), &Origin::Executed));
    assert_eq!((replay.seq, replay.open.seq, replay.acked), (SequenceNumber(3), SequenceNumber(0), false));
    assert!(replay.open.is_own(&attempt("a1")) && !replay.open.is_own(&attempt("a2")));
    assert!(matches!(journal.acknowledge(&call.operation, Generation(1)).unwrap(), Commit::Recorded(_)));
    assert!(matches!(journal.acknowledge(&call.operation, Generation(1)).unwrap(), Commit::AlreadyThere(_)));
    let Answer::Replay(replay) = journal.ask(&call).unwrap() else { panic!("no replay") };
    assert!(replay.acked);
}

#[test]
fn a_permit_tells_what_it_is_for() {
    let (_state, mut journal) = new();
    let call = call("k", "make", Effect::Idempotent);
    let fresh = permit(&mut journal, &call);
    assert_eq!(
        (fresh.seq(), fresh.effect(), fresh.generation()),
        (SequenceNumber(0), Effect::Idempotent, Generation(1))
    );
    assert_eq!(fresh.idempotency_key(), Some("k"));
    assert_eq!(fresh.intent().unwrap().kinds().collect::<Vec<_>>(), ["intent"]);
    // Asking wrote nothing.
    assert_eq!(journal.standing(&call.operation).unwrap(), Standing::None);
    let committed = taken(fresh.commit_intent(&mut journal));
    let again = committed.into_permit();
    assert_eq!((again.intent(), again.seq()), (None, SequenceNumber(0)));
    let go = taken(taken(again.commit_intent(&mut journal)).dispatch(&mut journal, attempt("x"), host("b1")));
    assert_eq!((go.attempt(), go.generation(), go.fingerprint()), (&attempt("x"), Generation(1), &call.fingerprint));
}

#[test]
fn another_request_changes_nothing() {
    let (state, mut journal) = new();
    let first = call("k", "make", Effect::Write);
    run(&mut journal, &first, json!(0));
    drop(journal);
    let before = fs::read(Journal::path(state.path())).unwrap();
    let mut journal = Journal::open(state.path()).unwrap();
    for other in [call("k", "make clean", Effect::Write), call("k", "make", Effect::Read)] {
        match journal.ask(&other).unwrap() {
            Answer::Conflict(fault) => assert_eq!(fault, Fault::OpKeyMismatch { key: "k".to_owned() }),
            answer => panic!("{answer:?}"),
        }
    }
    drop(journal);
    assert_eq!(fs::read(Journal::path(state.path())).unwrap(), before);
}

#[test]
fn a_completion_never_changes() {
    let (_state, mut journal) = new();
    let call = call("k", "make", Effect::Write);
    let go = dispatched(&mut journal, &call, "a1");
    // Another process follows the same attempt.
    let follower = look(&mut journal, &call).permit(Generation(1)).unwrap();
    let liar = look(&mut journal, &call).permit(Generation(1)).unwrap();
    assert!(matches!(journal.commit(&go.into_permit().record(json!({"rc": 0}))).unwrap(), Commit::Recorded(_)));
    let origin = DedupOrigin {
        target: call.operation.target.clone(),
        key: call.operation.key.clone(),
        seq: None,
        generation: Generation(1),
        attempt: Some(attempt("a1")),
    };
    let equal = follower.record_deduplicated(json!({"rc": 0}), origin);
    assert!(matches!(journal.commit(&equal).unwrap(), Commit::AlreadyThere(SequenceNumber(2))));
    let error = journal.commit(&liar.record(json!({"rc": 1}))).unwrap_err();
    assert!(matches!(&error, Fault::Internal { problem } if problem.contains("another outcome")), "{error:?}");
    let done = Resolution::Done(json!({"rc": 7}));
    assert_eq!(journal.resolve(&call.operation, Generation(1), done, None).unwrap(), Commit::Overtaken);
    let Standing::Completed(replay) = journal.standing(&call.operation).unwrap() else { panic!("not completed") };
    assert_eq!((&replay.output, &replay.origin), (&json!({"rc": 0}), &Origin::Executed));
}

#[test]
fn a_completion_takes_its_intent_along() {
    let (_state, mut journal) = new();
    let read = call("k", "df", Effect::Read);
    let done = permit(&mut journal, &read).record(json!(1));
    assert_eq!(done.kinds().collect::<Vec<_>>(), ["intent", "completed"]);
    assert_eq!(journal.commit(&done).unwrap(), Commit::Recorded(SequenceNumber(1)));
    assert!(matches!(journal.ask(&read).unwrap(), Answer::Replay(_)));
}

#[test]
fn what_was_meant_is_looked_at_and_decided_with_the_host() {
    let (_state, mut journal) = new();
    let call = call("k", "make", Effect::Write);
    let now = Moment::now();
    let nothing = Remote::Seen { generation: Generation(1), receipt: decide::Receipt::NoGate };
    let committed = taken(permit(&mut journal, &call).commit_intent(&mut journal));
    let seen = committed.into_look();
    assert_eq!(seen.decide(Some(&host("b1")), nothing, Wait::Open, now), Decision::Go(Generation(1)));
    let permit = seen.permit(Generation(1)).unwrap();
    let go = taken(taken(permit.commit_intent(&mut journal)).dispatch(&mut journal, attempt("a1"), host("b1")));
    let seen = look(&mut journal, &call);
    // The same boot: nothing can have been lost. Another one, or one that nobody knows: something may have been.
    assert_eq!(seen.decide(Some(&host("b1")), nothing, Wait::Open, now), Decision::Go(Generation(1)));
    let lost = Decision::Fail(decide::Failure {
        why: Why::Reconcile(Reason::ReceiptLost),
        started: crate::model::outcome::Started::Unknown,
    });
    let unknown = HostIdentity { boot_id: None, ..host("") };
    for other in [host("b2"), HostIdentity { root_id: "r2".to_owned(), ..host("b1") }, unknown] {
        assert_eq!(seen.decide(Some(&other), nothing, Wait::Open, now), lost);
    }
    // Older than a host remembers.
    let later = |days: u64| Moment(now.0 + days * 24 * 60 * 60 * 1000);
    assert_eq!(seen.decide(Some(&host("b1")), nothing, Wait::Open, later(87)), Decision::Go(Generation(1)));
    assert_eq!(seen.decide(Some(&host("b1")), nothing, Wait::Open, later(89)), lost);
    // Started once: a receipt that is missing was lost.
    journal.commit(&go.permit().started(attempt("a1"))).unwrap();
    let seen = look(&mut journal, &call);
    assert_eq!(seen.decide(Some(&host("b1")), nothing, Wait::Open, now), lost);
    let evidence = seen.evidence(Some(&host("b2")), Seen::NoReceipt, now);
    assert_eq!((evidence.recorded, evidence.attempt), (Recorded::Started, Some(attempt("a1"))));
    assert_eq!(evidence.boot, crate::model::operation::Comparison::Changed);
}

#[test]
fn a_person_is_asked_once_and_answers_once() {
    let (_state, mut journal) = new();
    let call = call("k", "make", Effect::Write);
    let go = dispatched(&mut journal, &call, "a1");
    let evidence = look(&mut journal, &call).evidence(Some(&host("b1")), Seen::Dead, Moment::now());
    let needs = go.permit().needs_reconciliation(Reason::DiedWithoutStatus, &evidence);
    assert!(matches!(journal.commit(&needs).unwrap(), Commit::Recorded(_)));
    assert!(matches!(journal.commit(&needs).unwrap(), Commit::AlreadyThere(_)));
    assert_eq!(journal.standing(&call.operation).unwrap().recorded(), Some(Recorded::NeedsReconciliation));
    let mut resolve = |resolution| journal.resolve(&call.operation, Generation(1), resolution, None).unwrap();
    assert!(matches!(resolve(Resolution::NotDone), Commit::Recorded(_)));
    assert_eq!(resolve(Resolution::NotDone), Commit::Overtaken);
    assert_eq!(resolve(Resolution::Done(json!(0))), Commit::Overtaken);
    // A late outcome of what was said not to have been done comes too late.
    assert_eq!(journal.commit(&go.into_permit().record(json!(0))).unwrap(), Commit::Overtaken);
    let next = permit(&mut journal, &call);
    assert_eq!((next.generation(), next.seq()), (Generation(2), SequenceNumber(4)));
    let go = taken(taken(next.commit_intent(&mut journal)).dispatch(&mut journal, attempt("a2"), host("b1")));
    assert!(matches!(journal.commit(&go.into_permit().record(json!(0))).unwrap(), Commit::Recorded(SequenceNumber(6))));
}

#[test]
fn a_person_may_say_that_it_was_done_or_give_it_up() {
    let (_state, mut journal) = new();
    let done = call("done", "make", Effect::Write);
    dispatched(&mut journal, &done, "a1");
    let outcome = Resolution::Done(json!({"rc": 0}));
    journal.resolve(&done.operation, Generation(1), outcome, Some("saw it".to_owned())).unwrap();
    let Answer::Replay(replay) = journal.ask(&done).unwrap() else { panic!("no replay") };
    assert_eq!((&replay.output, &replay.origin), (&json!({"rc": 0}), &Origin::Operator));

    let given_up = call("gone", "make", Effect::Write);
    dispatched(&mut journal, &given_up, "a1");
    journal.resolve(&given_up.operation, Generation(1), Resolution::Abandoned, None).unwrap();
    match journal.ask(&given_up).unwrap() {
        Answer::Retired(fault) => assert_eq!(fault, Fault::OpKeyRetired { key: "gone".to_owned() }),
        answer => panic!("{answer:?}"),
    }
    let nobody = call("nobody", "make", Effect::Write);
    let error = journal.resolve(&nobody.operation, Generation(1), Resolution::NotDone, None).unwrap_err();
    assert_eq!(error, Fault::OpNotFound { key: "nobody".to_owned() });
}

#[test]
fn a_later_generation_overtakes_a_permit_of_an_older_one() {
    let (_state, mut journal) = new();
    let call = call("k", "df", Effect::Read);
    let old = taken(permit(&mut journal, &call).commit_intent(&mut journal));
    let newer = look(&mut journal, &call).permit(Generation(2)).unwrap();
    assert_eq!(newer.seq(), SequenceNumber(1));
    taken(newer.commit_intent(&mut journal));
    match old.dispatch(&mut journal, attempt("a1"), host("b1")).unwrap() {
        Step::Overtaken(Answer::Look(look)) => assert_eq!(look.generation(), Some(Generation(2))),
        step => panic!("{step:?}"),
    }
    let error = look(&mut journal, &call).permit(Generation(1)).unwrap_err();
    assert!(matches!(error, Fault::Internal { .. }), "{error:?}");
}

#[test]
fn an_equal_call_answers_for_another_key() {
    let (_state, mut journal) = new();
    let first = call("one", "df", Effect::Read);
    let second = call("two", "df", Effect::Read);
    assert_eq!(journal.find_equal(&second).unwrap(), None);
    let go = dispatched(&mut journal, &first, "a1");
    assert_eq!(journal.find_equal(&second).unwrap(), None, "it is not over");
    journal.commit(&go.into_permit().record(json!({"rc": 0}))).unwrap();
    let equal = journal.find_equal(&second).unwrap().unwrap();
    let origin = &equal.origin;
    assert_eq!(
        (origin.key.as_str(), origin.seq, &origin.attempt),
        ("one", Some(SequenceNumber(0)), &Some(attempt("a1")))
    );
    let copy = permit(&mut journal, &second).record_deduplicated(equal.output.clone(), equal.origin.clone());
    journal.commit(&copy).unwrap();
    let Answer::Replay(replay) = journal.ask(&second).unwrap() else { panic!("no replay") };
    assert_eq!((&replay.output, &replay.origin), (&json!({"rc": 0}), &Origin::Deduplicated(origin.clone())));
    // A copy answers for nobody, and the one that ran still does.
    assert_eq!(journal.find_equal(&call("three", "df", Effect::Read)).unwrap().unwrap().origin.key.as_str(), "one");
    // Neither does another request, another target, or a write.
    assert_eq!(journal.find_equal(&call("three", "df -h", Effect::Read)).unwrap(), None);
    assert_eq!(journal.find_equal(&call("three", "df", Effect::Idempotent)).unwrap(), None);
    let mut elsewhere = call("three", "df", Effect::Read);
    elsewhere.operation.target = TargetAccount::aliased("deploy", "web1");
    assert_eq!(journal.find_equal(&elsewhere).unwrap(), None);
    let write = call("w1", "make", Effect::Write);
    run(&mut journal, &write, json!(0));
    assert_eq!(journal.find_equal(&call("w2", "make", Effect::Write)).unwrap(), None);
}

#[test]
fn what_a_person_said_or_gave_up_answers_for_nobody_else() {
    let (_state, mut journal) = new();
    let said = call("said", "df", Effect::Read);
    dispatched(&mut journal, &said, "a1");
    journal.resolve(&said.operation, Generation(1), Resolution::Done(json!(0)), None).unwrap();
    let given_up = call("gone", "df", Effect::Read);
    dispatched(&mut journal, &given_up, "a2");
    journal.resolve(&given_up.operation, Generation(1), Resolution::Abandoned, None).unwrap();
    assert_eq!(journal.find_equal(&call("new", "df", Effect::Read)).unwrap(), None);
    let claims = journal.sound().unwrap().read(|transaction| {
        Ok(store::claimants(transaction, &said.operation, &said.fingerprint)?
            .into_iter()
            .map(|c| c.key.to_string())
            .collect::<Vec<_>>())
    });
    assert_eq!(claims.unwrap(), ["said"]);
}

#[test]
fn the_list_tells_what_is_recorded() {
    let (_state, mut journal) = new();
    run(&mut journal, &call("done", "make", Effect::Write), json!(0));
    dispatched(&mut journal, &call("sent", "df", Effect::Read), "a1");
    let long = call("meant", &"é".repeat(20_000), Effect::Write);
    taken(permit(&mut journal, &long).commit_intent(&mut journal));
    let listing = journal.list().unwrap();
    assert_eq!(listing.strays, 0);
    let mut told: Vec<_> =
        listing.operations.iter().map(|o| (o.key.as_str(), o.state, o.completed_at.is_some(), o.effect)).collect();
    told.sort_unstable_by_key(|(key, ..)| *key);
    assert_eq!(
        told,
        [
            ("done", Recorded::Completed, true, Some(Effect::Write)),
            ("meant", Recorded::Intent, false, Some(Effect::Write)),
            ("sent", Recorded::Dispatched, false, Some(Effect::Read)),
        ]
    );
    let meant = listing.operations.iter().find(|o| o.key.as_str() == "meant").unwrap();
    assert!(meant.command.as_ref().unwrap().len() < 17_000);
    assert!(listing.operations.windows(2).all(|pair| pair[0].updated_at >= pair[1].updated_at));
}

#[test]
fn what_is_over_expires_after_the_host_has_forgotten_it() {
    let (_state, mut journal) = new();
    let spool = |name: &str| StreamDigest { bytes: 1, spool: Some(name.to_owned()), ..StreamDigest::default() };
    let completion = Completion {
        remote_exit: 0,
        cancelled: false,
        timed_out: false,
        held_open: false,
        stdout: spool("k.out"),
        stderr: StreamDigest::default(),
    };
    assert_eq!(Completion::from_output(&completion.to_output()).unwrap(), completion);
    run(&mut journal, &call("done", "df", Effect::Read), completion.to_output());
    dispatched(&mut journal, &call("sent", "make", Effect::Write), "a1");
    taken(permit(&mut journal, &call("meant", "make", Effect::Write)).commit_intent(&mut journal));
    let given_up = call("gone", "make", Effect::Write);
    dispatched(&mut journal, &given_up, "a1");
    journal.resolve(&given_up.operation, Generation(1), Resolution::Abandoned, None).unwrap();
    let in_days = |days: u64| Moment(Moment::now().0 + days * 24 * 60 * 60 * 1000);
    assert_eq!(journal.collect(in_days(119), 100).unwrap(), Collected::default());
    assert_eq!(journal.collect(in_days(121), 1).unwrap().operations.len(), 1);
    let rest = journal.collect(in_days(121), 100).unwrap();
    assert_eq!(rest.operations.len(), 1);
    let listing = journal.list().unwrap();
    let mut left: Vec<_> = listing.operations.iter().map(|o| o.key.as_str()).collect();
    left.sort_unstable();
    // Nobody knows what became of the one, and the other's key stays retired.
    assert_eq!((left, listing.strays), (vec!["gone", "sent"], 0));
    assert!(matches!(journal.ask(&call("done", "df", Effect::Read)).unwrap(), Answer::Permit(_)));
    assert_eq!(journal.find_equal(&call("new", "df", Effect::Read)).unwrap(), None);
}

#[test]
fn an_attempt_that_the_host_turned_away_may_not_have_started_anything() {
    let (_state, mut journal) = new();
    let call = call("k", "make", Effect::Write);
    let go = dispatched(&mut journal, &call, "a1");
    let attempt = go.attempt().clone();
    let Answer::Look(look) = journal.ask(&call).unwrap() else { panic!("it was sent") };
    let before = look.decide(None, Remote::NotReached, Wait::Open, Moment::now());
    assert_eq!(before, Decision::Unreached(Started::Unknown));
    journal.commit(&go.permit().withdrawn(attempt)).unwrap();
    let Answer::Look(look) = journal.ask(&call).unwrap() else { panic!("it is still meant") };
    let after = look.decide(None, Remote::NotReached, Wait::Open, Moment::now());
    assert_eq!(after, Decision::Unreached(Started::No));
}

#[test]
fn what_was_meant_and_never_sent_can_be_forgotten() {
    let (_state, mut journal) = new();
    let (meant, sent) = (call("meant", "make", Effect::Write), call("sent", "make", Effect::Write));
    let committed = taken(permit(&mut journal, &meant).commit_intent(&mut journal));
    dispatched(&mut journal, &sent, "a1");
    assert_eq!((journal.forget(&meant).unwrap(), journal.forget(&sent).unwrap()), (true, false));
    // Another process that was about to send it has to ask anew.
    let Step::Overtaken(Answer::Permit(_)) =
        committed.dispatch(&mut journal, "a2".parse().unwrap(), host("b")).unwrap()
    else {
        panic!("what is forgotten cannot be sent")
    };
}

#[test]
fn the_files_of_what_expired_are_named() {
    let (_state, mut journal) = new();
    let stream = |name: &str| StreamDigest { spool: Some(name.to_owned()), ..StreamDigest::default() };
    let completion = Completion {
        remote_exit: 137,
        cancelled: true,
        timed_out: false,
        held_open: false,
        stdout: stream("k.out"),
        stderr: stream("k.err"),
    };
    run(&mut journal, &call("done", "df", Effect::Read), completion.to_output());
    let later = Moment(Moment::now().0 + 200 * 24 * 60 * 60 * 1000);
    assert_eq!(journal.collect(later, 10).unwrap().spools, ["k.out", "k.err"]);
}

#[test]
fn records_are_added_and_never_changed() {
    let (state, mut journal) = new();
    run(&mut journal, &call("k", "make", Effect::Write), json!(0));
    let other = rusqlite::Connection::open(Journal::path(state.path())).unwrap();
    let error = other.execute("UPDATE events SET json = '{}'", []).unwrap_err();
    assert!(error.to_string().contains("only ever added"), "{error}");
    let read =
        "SELECT group_concat(kind || ' ' || seq || ' ' || schema, ', ') FROM (SELECT * FROM events ORDER BY seq)";
    let log: String = other.query_row(read, [], |row| row.get(0)).unwrap();
    assert_eq!(log, "intent 0 1, dispatched 1 1, started 2 1, completed 3 1");
}

#[test]
fn a_newer_journal_is_read_and_not_written() {
    let (state, mut journal) = new();
    let done = call("k", "make", Effect::Write);
    run(&mut journal, &done, json!(0));
    drop(journal);
    let other = rusqlite::Connection::open(Journal::path(state.path())).unwrap();
    other.pragma_update(None, "user_version", 2).unwrap();
    drop(other);
    let mut journal = Journal::open(state.path()).unwrap();
    assert!(matches!(journal.ask(&done).unwrap(), Answer::Replay(_)));
    assert_eq!(journal.list().unwrap().operations.len(), 1);
    let new = call("new", "make", Effect::Write);
    let error = permit(&mut journal, &new).commit_intent(&mut journal).unwrap_err();
    assert!(matches!(&error, Fault::JournalUnwritable { problem } if problem.contains("newer version")), "{error:?}");
}

#[test]
fn a_journal_that_cannot_be_written_says_so_before_anything_is_contacted() {
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: root may write everything; run the tests as another user too");
    } else {
        let (state, mut journal) = new();
        run(&mut journal, &call("k", "make", Effect::Write), json!(0));
        drop(journal);
        let path = Journal::path(state.path());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        let mut journal = Journal::open(state.path()).unwrap();
        assert!(matches!(journal.ask(&call("k", "make", Effect::Write)).unwrap(), Answer::Replay(_)));
        let new = call("new", "make", Effect::Write);
        let error = permit(&mut journal, &new).commit_intent(&mut journal).unwrap_err();
        assert!(matches!(error, Fault::JournalUnwritable { .. }), "{error:?}");
    }
    // A file where the directory should be is in the way of root too.
    let state = tempfile::tempdir().unwrap();
    fs::write(state.path().join("operations"), "").unwrap();
    let error = Journal::open(state.path()).unwrap_err();
    assert!(matches!(error, Fault::JournalUnwritable { .. }), "{error:?}");
    // And so is a directory where the file should be.
    let state = tempfile::tempdir().unwrap();
    fs::create_dir_all(Journal::path(state.path())).unwrap();
    let error = Journal::open(state.path()).unwrap_err();
    assert!(matches!(&error, Fault::JournalUnwritable { problem } if problem.contains("regular")), "{error:?}");
}

#[test]
fn another_process_that_holds_it_is_waited_for_and_then_told_of() {
    let (state, mut journal) = new();
    let holder = rusqlite::Connection::open(Journal::path(state.path())).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let begun = std::time::Instant::now();
    let call = call("k", "make", Effect::Write);
    let error = journal.ask(&call).unwrap_err();
    assert!(matches!(&error, Fault::JournalUnwritable { problem } if problem.contains("another process")), "{error:?}");
    assert!(begun.elapsed().as_millis() >= 4500, "{:?}", begun.elapsed());
    drop(holder);
    assert!(matches!(journal.ask(&call).unwrap(), Answer::Permit(_)));
}

/// As in a crash between any two writes of a commit: the other file undoes it.
#[test]
fn a_commit_that_was_cut_is_undone() {
    let (state, mut journal) = new();
    let call = call("k", "make", Effect::Write);
    taken(permit(&mut journal, &call).commit_intent(&mut journal));
    drop(journal);
    let path = Journal::path(state.path());
    let beside: PathBuf = format!("{}-journal", path.display()).into();
    // A writer in the middle: pages of the new state in the file, those of the old one beside it.
    let writer = rusqlite::Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE").unwrap();
    for n in 0..200 {
        writer
            .execute("INSERT INTO events VALUES ('x', ?1, 1, 1, 'x', ?2, 'x')", rusqlite::params![n, "y".repeat(3000)])
            .unwrap();
    }
    let crashed = tempfile::tempdir().unwrap();
    let copy = Journal::path(crashed.path());
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(&path, &copy).unwrap();
    fs::copy(&beside, format!("{}-journal", copy.display())).unwrap();
    assert!(fs::metadata(&copy).unwrap().len() > 100_000);
    drop(writer);
    let mut journal = Journal::open(crashed.path()).unwrap();
    assert_eq!(journal.standing(&call.operation).unwrap().recorded(), Some(Recorded::Intent));
    let listing = journal.list().unwrap();
    assert_eq!((listing.operations.len(), listing.strays), (1, 0));
}
