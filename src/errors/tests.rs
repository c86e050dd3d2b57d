use std::collections::BTreeSet;

use super::exit_codes::{EX_IOERR, EX_PROTOCOL, TABLE};
use super::{Exit, Fault, SshCliError, samples};
use crate::effect::Effect;
use crate::model::outcome::Started;

const STARTED: [Started; 3] = [Started::No, Started::Yes, Started::Unknown];
const EFFECTS: [Effect; 3] = [Effect::Read, Effect::Idempotent, Effect::Write];

fn everything() -> impl Iterator<Item = (Fault, Started, Effect, bool)> {
    samples::all().into_iter().flat_map(|fault| {
        STARTED.into_iter().flat_map(move |started| {
            let fault = fault.clone();
            EFFECTS.into_iter().flat_map(move |effect| {
                let fault = fault.clone();
                [false, true].into_iter().map(move |keyed| (fault.clone(), started, effect, keyed))
            })
        })
    })
}

#[test]
fn exit_74_and_retryable_are_the_same_thing_everywhere() {
    for (fault, started, effect, keyed) in everything() {
        let error = SshCliError::new(fault, started, effect, keyed);
        assert_eq!(error.exit_code() == EX_IOERR, error.is_retryable(), "{error:?}");
    }
}

#[test]
fn a_write_that_may_have_begun_is_never_retryable_without_a_key() {
    for (fault, started, effect, keyed) in everything() {
        if started != Started::No && effect == Effect::Write && !keyed {
            let error = SshCliError::new(fault, started, effect, keyed);
            assert!(!error.is_retryable(), "{error:?}");
        }
    }
}

#[test]
fn section_5_holds_for_every_transient_fault() {
    for (fault, started, effect, keyed) in everything() {
        let transient = fault.row().exit == Exit::Transient;
        let safe = started == Started::No || effect != Effect::Write || keyed;
        let error = SshCliError::new(fault, started, effect, keyed);
        match (transient, safe) {
            (true, true) => assert_eq!(error.exit_code(), EX_IOERR, "{error:?}"),
            (true, false) => assert_eq!(error.exit_code(), EX_PROTOCOL, "{error:?}"),
            (false, _) => assert_ne!(error.exit_code(), EX_IOERR, "{error:?}"),
        }
    }
}

#[test]
fn every_exit_code_is_in_the_table() {
    let known: BTreeSet<i32> = TABLE.iter().map(|row| row.exit).collect();
    for (fault, started, effect, keyed) in everything() {
        let error = SshCliError::new(fault, started, effect, keyed);
        assert!(known.contains(&error.exit_code()), "{error:?}");
        assert!(!error.message().is_empty());
    }
}

#[test]
fn a_fault_that_names_server_text_shows_no_control_character() {
    let error = SshCliError::new(
        Fault::NotSsh { address: "h:22".into(), got: "\x1b]0;owned\x07HTTP/1.1".into() },
        Started::No,
        Effect::Write,
        false,
    );
    assert!(!error.message().chars().any(char::is_control), "{}", error.message());
}

#[test]
fn a_cut_write_says_where_to_look() {
    let lost = Fault::ConnectionLost { phase: crate::model::outcome::Phase::Run, problem: "reset".into() };
    let error = SshCliError::new(lost, Started::Yes, Effect::Write, false);
    assert_eq!(error.exit_code(), EX_PROTOCOL);
    assert!(error.hint().unwrap().contains("look at the host"));
}
