//! Whatever happens to the bytes of the file: what it said is told as it was, or not believed at all.

use std::fs;

use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::journal_tests::{call, dispatched, new, permit, run};
use super::*;
use crate::model::operation::Recorded;

/// A journal with an operation in each state, as bytes, and what it says of each.
struct Sample {
    bytes: Vec<u8>,
    calls: Vec<(Call, Told)>,
    place: TempDir,
}

/// What a call is told, as far as it could make somebody do something.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Nothing,
    Outcome(Value),
    Retired,
    Unresolved(Recorded),
    Damaged,
    Unusable,
    Wrong(String),
}

fn told(state: &Path, call: &Call) -> Told {
    let mut journal = match Journal::open(state) {
        Ok(journal) => journal,
        Err(Fault::JournalUnwritable { .. }) => return Told::Unusable,
        Err(fault) => return Told::Wrong(format!("{fault:?}")),
    };
    match journal.ask(call) {
        Ok(Answer::Permit(permit)) if permit.generation() == Generation::FIRST => Told::Nothing,
        Ok(Answer::Replay(replay)) => Told::Outcome(replay.output),
        Ok(Answer::Retired(_)) => Told::Retired,
        Ok(Answer::Look(look)) => match look.damage() {
            Some(_) => {
                assert!(look.permit(Generation::FIRST).is_err(), "a damaged log gives no permit");
                Told::Damaged
            }
            None => Told::Unresolved(Standing::Open(look.open.unwrap()).recorded().unwrap()),
        },
        Err(Fault::JournalUnwritable { .. }) => Told::Unusable,
        other => Told::Wrong(format!("{other:?}")),
    }
}

impl Sample {
    fn new() -> Self {
        let (state, mut journal) = new();
        let long = "x".repeat(5000);
        let done = call("done", &long, Effect::Read);
        run(&mut journal, &done, json!({"remote_exit": 0, "stdout": {"bytes": 12}}));
        let sent = call("sent", "make install", Effect::Write);
        dispatched(&mut journal, &sent, "a1");
        let meant = call("meant", "make install", Effect::Write);
        permit(&mut journal, &meant).commit_intent(&mut journal).unwrap();
        let retired = call("retired", "make install", Effect::Write);
        dispatched(&mut journal, &retired, "a1");
        journal.resolve(&retired.operation, Generation(1), Resolution::Abandoned, None).unwrap();
        for n in 0..12 {
            run(&mut journal, &call(&format!("other-{n}"), &format!("echo {n}"), Effect::Idempotent), json!(n));
        }
        drop(journal);
        let bytes = fs::read(Journal::path(state.path())).unwrap();
        let calls = vec![
            (done, Told::Outcome(json!({"remote_exit": 0, "stdout": {"bytes": 12}}))),
            (sent, Told::Unresolved(Recorded::Dispatched)),
            (meant, Told::Unresolved(Recorded::Intent)),
            (retired, Told::Retired),
        ];
        for (call, expected) in &calls {
            assert_eq!(told(state.path(), call), *expected);
        }
        Self { bytes, calls, place: state }
    }

    /// What each call is told when the file holds these bytes is what it was told before, or that nothing can be told.
    fn check(&self, bytes: &[u8], what: &str) -> Result<(), String> {
        let path = Journal::path(self.place.path());
        for (call, expected) in &self.calls {
            // Whatever an earlier look left beside it is no part of this one.
            for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
                fs::remove_file(entry.unwrap().path()).unwrap();
            }
            fs::write(&path, bytes).unwrap();
            let found = told(self.place.path(), call);
            if found != *expected && found != Told::Damaged && found != Told::Unusable {
                return Err(format!("{what}: {}: {found:?}, not {expected:?}", call.operation.key));
            }
        }
        Ok(())
    }
}

fn long() -> bool {
    std::env::var_os("SSH_CLI_TESTS_LONG").is_some()
}

#[test]
fn every_prefix_is_believed_only_where_it_says_what_was_written() {
    let sample = Sample::new();
    let page = 4096;
    let near_a_page = |at: usize| at % page < 3 || at % page > page - 3;
    let lengths = (0..sample.bytes.len()).filter(|at| long() || near_a_page(*at) || at % 499 == 0 || *at < 110);
    for length in lengths {
        sample.check(&sample.bytes[..length], &format!("the first {length} bytes")).unwrap();
    }
}

#[test]
fn every_flipped_byte_is_believed_only_where_it_says_what_was_written() {
    let sample = Sample::new();
    let mut bytes = sample.bytes.clone();
    // The header, the schema's first page and every page's own header decide most; the outcome itself is what must not change.
    let text = b"\"stdout\":{\"bytes\":12}";
    let outcome = bytes.windows(text.len()).position(|window| window == text).unwrap();
    let outcome = outcome - 200..outcome + 200;
    let decides = |at: usize| at < 100 || at % 4096 < 16 || outcome.contains(&at);
    let places: Vec<usize> = (0..bytes.len()).filter(|at| long() || decides(*at) || at % 211 == 0).collect();
    for at in places {
        let masks: &[u8] = match at {
            0..100 => &[1, 2, 4, 8, 16, 32, 64, 128, 255],
            // One digit becomes another one.
            at if outcome.contains(&at) => &[1, 3],
            _ => &[255],
        };
        for mask in masks {
            bytes[at] ^= mask;
            sample.check(&bytes, &format!("byte {at} ^ {mask:#x}")).unwrap();
            bytes[at] ^= mask;
        }
    }
}

#[test]
fn random_bytes_in_random_places_are_not_believed() {
    let sample = Sample::new();
    let seed = std::env::var("SSH_CLI_TESTS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("SSH_CLI_TESTS_SEED={seed}");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&u64::to_le_bytes(seed));
    let rng = proptest::test_runner::TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &bytes);
    let config = ProptestConfig {
        cases: if long() { 20_000 } else { 200 },
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(config, rng);
    let flip = (0..sample.bytes.len(), 1..=255_u8);
    let outcome = runner.run(&flip, |(at, mask)| {
        let mut bytes = sample.bytes.clone();
        bytes[at] ^= mask;
        sample.check(&bytes, &format!("byte {at} ^ {mask:#x}")).map_err(TestCaseError::fail)
    });
    outcome.unwrap_or_else(|error| panic!("SSH_CLI_TESTS_SEED={seed}: {error}"));
}

#[test]
fn other_files_are_not_believed() {
    let sample = Sample::new();
    sample.check(b"", "nothing").unwrap();
    sample.check(&[0; 4096], "zeros").unwrap();
    sample.check(&b"not a database, but a text of some length".repeat(200), "text").unwrap();
    // A database, and not ours.
    let other = tempfile::tempdir().unwrap();
    let path = other.path().join("x");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE events (a); PRAGMA user_version = 1").unwrap();
    drop(connection);
    sample.check(&fs::read(path).unwrap(), "another database").unwrap();
}

#[test]
fn a_row_that_is_missing_is_missed() {
    let sample = Sample::new();
    for sql in [
        "DELETE FROM events WHERE seq = 0",
        "DELETE FROM events WHERE kind IN ('dispatched', 'completed', 'resolved')",
        "DELETE FROM events WHERE seq = (SELECT max(e.seq) FROM events AS e WHERE e.operation = events.operation)",
        "DELETE FROM events",
        "DELETE FROM operations",
        "UPDATE operations SET events = events + 1",
        "UPDATE operations SET sum = upper(sum)",
        "DROP TRIGGER events_stay_as_they_are; UPDATE events SET json = replace(json, '12', '13')",
        "DROP TRIGGER events_stay_as_they_are; UPDATE events SET time = time + 1",
        "DROP TRIGGER events_stay_as_they_are; UPDATE events SET sum = '' WHERE kind = 'completed'",
        "DROP TABLE events",
        "DROP TABLE operations",
    ] {
        let path = Journal::path(sample.place.path());
        fs::write(&path, &sample.bytes).unwrap();
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        let bytes = fs::read(&path).unwrap();
        sample.check(&bytes, sql).unwrap();
        assert_eq!(told(sample.place.path(), &sample.calls[0].0), Told::Damaged, "{sql}");
    }
}

#[test]
fn a_damaged_file_is_not_written() {
    let sample = Sample::new();
    let path = Journal::path(sample.place.path());
    let half = &sample.bytes[..sample.bytes.len() / 2];
    fs::write(&path, half).unwrap();
    let mut journal = Journal::open(sample.place.path()).unwrap();
    let new = call("new", "make", Effect::Write);
    let Answer::Look(look) = journal.ask(&new).unwrap() else { panic!("it is damaged") };
    assert!(look.damage().is_some() && look.open().is_none());
    assert_eq!(
        look.evidence(None, crate::model::operation::Seen::NoReceipt, Moment::now()).recorded,
        Recorded::Damaged
    );
    let error = look.permit(Generation::FIRST).unwrap_err();
    assert!(matches!(&error, Fault::JournalUnwritable { problem } if problem.contains("damaged")), "{error:?}");
    assert!(journal.list().is_err());
    drop(journal);
    assert_eq!(fs::read(&path).unwrap(), half);
}
