//! Several processes on one file. Each opens it for itself, as a process does; the real processes are this test binary, called again.

use std::process::{Command as Process, Stdio};
use std::sync::Barrier;

use serde_json::json;

use super::journal_tests::{call, host, new};
use super::*;

const RIVALS: usize = 8;
const ROUNDS: usize = 10;

#[test]
fn of_many_that_mean_the_same_each_goes_on_and_the_log_has_one_intent() {
    let (state, mut journal) = new();
    for round in 0..ROUNDS {
        let call = call(&format!("k{round}"), "make", Effect::Write);
        let start = Barrier::new(RIVALS);
        std::thread::scope(|scope| {
            for _ in 0..RIVALS {
                scope.spawn(|| {
                    let mut journal = Journal::open(state.path()).unwrap();
                    let answer = journal.ask(&call).unwrap();
                    start.wait();
                    let committed = match answer {
                        Answer::Permit(permit) => permit.commit_intent(&mut journal).unwrap(),
                        answer => panic!("{answer:?}"),
                    };
                    assert!(matches!(committed, Step::Taken(_)), "{committed:?}");
                });
            }
        });
        let log = journal.sound().unwrap().load(&call.operation).unwrap();
        assert_eq!(log.events.len(), 1, "{log:?}");
    }
}

#[test]
fn of_many_requests_under_one_key_one_is_meant() {
    let (state, _journal) = new();
    for round in 0..ROUNDS {
        let start = Barrier::new(RIVALS);
        let meant = std::thread::scope(|scope| {
            let rivals: Vec<_> = (0..RIVALS)
                .map(|n| {
                    let (state, start) = (state.path(), &start);
                    scope.spawn(move || {
                        let call = call(&format!("k{round}"), &format!("make {n}"), Effect::Write);
                        let mut journal = Journal::open(state).unwrap();
                        let Answer::Permit(permit) = journal.ask(&call).unwrap() else { panic!("nobody was here yet") };
                        start.wait();
                        match permit.commit_intent(&mut journal).unwrap() {
                            Step::Taken(_) => 1,
                            Step::Overtaken(Answer::Conflict(_)) => 0,
                            Step::Overtaken(answer) => panic!("{answer:?}"),
                        }
                    })
                })
                .collect();
            rivals.into_iter().map(|rival| rival.join().unwrap()).sum::<usize>()
        });
        assert_eq!(meant, 1);
    }
}

#[test]
fn the_file_is_made_once() {
    for _ in 0..ROUNDS {
        let state = tempfile::tempdir().unwrap();
        let start = Barrier::new(RIVALS);
        std::thread::scope(|scope| {
            for n in 0..RIVALS {
                let (state, start) = (state.path(), &start);
                scope.spawn(move || {
                    start.wait();
                    let mut journal = Journal::open(state).unwrap();
                    let call = call(&format!("k{n}"), "df", Effect::Read);
                    let Answer::Permit(permit) = journal.ask(&call).unwrap() else { panic!("nobody was here yet") };
                    journal.commit(&permit.record(json!(n))).unwrap();
                });
            }
        });
        let mut journal = Journal::open(state.path()).unwrap();
        assert_eq!(journal.list().unwrap().operations.len(), RIVALS);
    }
}

/// What one of the processes does: it means, sends and records under one key, again and again, and dies when it is killed, or by
/// itself where nobody is left to do so. Nothing, unless the test below calls it.
#[test]
fn a_rival() {
    let Some(state) = std::env::var_os("SSH_CLI_TESTS_RIVAL_STATE") else { return };
    let begun = std::time::Instant::now();
    let name = std::env::var("SSH_CLI_TESTS_RIVAL_NAME").unwrap();
    for round in 0.. {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "nobody ended it");
        let call = call(&format!("k{round}"), "make", Effect::Write);
        let mut journal = Journal::open(Path::new(&state)).unwrap();
        let permit = match journal.ask(&call).unwrap() {
            Answer::Permit(permit) => permit,
            Answer::Look(look) => look.permit(Generation::FIRST).unwrap(),
            Answer::Replay(_) => continue,
            answer => panic!("{answer:?}"),
        };
        let Step::Taken(committed) = permit.commit_intent(&mut journal).unwrap() else { continue };
        let attempt = format!("{name}{round}").parse().unwrap();
        let Step::Taken(go) = committed.dispatch(&mut journal, attempt, host("b1")).unwrap() else { continue };
        let done = go.into_permit().record(json!({"rc": round}));
        assert_ne!(journal.commit(&done).unwrap(), Commit::Overtaken);
    }
}

#[test]
fn processes_that_are_killed_in_the_middle_leave_a_log_that_is_whole() {
    let (state, mut journal) = new();
    let exe = std::env::current_exe().unwrap();
    let begin = |name: &str| {
        Process::new(&exe)
            .args(["--exact", "journal::rivals_tests::a_rival", "--nocapture"])
            .env("SSH_CLI_TESTS_RIVAL_STATE", state.path())
            .env("SSH_CLI_TESTS_RIVAL_NAME", name)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut rivals: Vec<_> = ["a", "b", "c"].map(begin).into();
    let mut killed = 0;
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while killed < 8 && std::time::Instant::now() < until {
        let before = journal.list().unwrap().operations.len();
        // Something happens between two kills.
        while journal.list().unwrap().operations.len() < before + 3 && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        let mut victim = rivals.remove(0);
        assert!(victim.try_wait().unwrap().is_none(), "it ended by itself: {:?}", victim.wait_with_output());
        victim.kill().unwrap();
        victim.wait().unwrap();
        killed += 1;
        rivals.push(begin(&format!("n{killed}x")));
    }
    for mut rival in rivals {
        assert!(rival.try_wait().unwrap().is_none(), "it ended by itself: {:?}", rival.wait_with_output());
        rival.kill().unwrap();
        rival.wait().unwrap();
    }
    let listing = journal.list().unwrap();
    assert_eq!(listing.strays, 0);
    assert!(listing.operations.len() >= 20, "{}", listing.operations.len());
    for operation in listing.operations {
        let id = OperationId { target: operation.target, key: operation.key };
        match journal.standing(&id).unwrap() {
            Standing::Open(_) => {}
            Standing::Completed(replay) => assert_eq!(format!("k{}", replay.output["rc"]), id.key.as_str()),
            standing => panic!("{standing:?}"),
        }
    }
}
