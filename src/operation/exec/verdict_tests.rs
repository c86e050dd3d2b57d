use std::io;
use std::time::Duration;

use super::facts::{Ending, Facts, Mark, Opening, StopCause};
use super::verdict::{Terms, Verdict, judge};
use crate::effect::Effect;
use crate::errors::exit_codes::{EX_IOERR, EX_PROTOCOL};
use crate::errors::{Caught, Fault, Limit, SshCliError};
use crate::model::outcome::{Outcome, Started};

fn asked() -> Facts {
    Facts { request_written: true, ..Facts::default() }
}

fn running() -> Facts {
    Facts { granted: true, ..asked() }
}

fn ended(status: u32) -> Facts {
    Facts { exit_status: Some(status), eof: true, ..running() }
}

fn lost(facts: Facts) -> Facts {
    Facts { ending: Ending::Lost("reset".into()), ..facts }
}

fn in_shell() -> Terms {
    Terms { shell_options: vec!["--cwd"], ..Terms::default() }
}

fn plain(facts: Facts) -> Verdict {
    judge(facts, &Terms::default())
}

fn exit(verdict: &Verdict, effect: Effect) -> i32 {
    let fault = verdict.fault.clone().unwrap();
    SshCliError::new(fault, verdict.started, effect, false).exit_code()
}

#[test]
fn status_0_and_the_end_of_the_output_is_success() {
    let verdict = plain(ended(0));
    assert_eq!((verdict.outcome, verdict.started, verdict.fault), (Outcome::Succeeded, Started::Yes, None));
}

#[test]
fn status_255_is_the_commands_own() {
    let verdict = plain(ended(255));
    assert_eq!(verdict.fault, Some(Fault::RemoteExit { status: 255 }));
    assert_eq!(verdict.remote_exit, Some(255));
}

#[test]
fn lost_before_the_request_left_is_not_started() {
    let verdict = plain(lost(Facts::default()));
    assert_eq!((verdict.outcome, verdict.started), (Outcome::NotStarted, Started::No));
    assert_eq!(exit(&verdict, Effect::Write), EX_IOERR);
}

#[test]
fn lost_after_the_request_left_is_unknown() {
    let verdict = plain(lost(asked()));
    assert_eq!((verdict.outcome, verdict.started), (Outcome::Unknown, Started::Unknown));
    assert_eq!(exit(&verdict, Effect::Write), EX_PROTOCOL);
    assert_eq!(exit(&verdict, Effect::Read), EX_IOERR);
}

#[test]
fn lost_while_it_ran_is_unknown_and_has_started() {
    let verdict = plain(lost(running()));
    assert_eq!((verdict.outcome, verdict.started, verdict.remote_exit), (Outcome::Unknown, Started::Yes, None));
}

#[test]
fn output_alone_shows_that_it_started() {
    assert_eq!(plain(lost(Facts { output: true, ..asked() })).started, Started::Yes);
}

#[test]
fn lost_between_status_and_eof_is_cut_output() {
    let verdict = plain(lost(Facts { exit_status: Some(0), ..running() }));
    assert_eq!(verdict.outcome, Outcome::Unknown);
    assert_eq!(verdict.fault, Some(Fault::OutputCut { problem: "reset".into() }));
    assert_eq!(verdict.remote_exit, Some(0));
}

#[test]
fn lost_after_status_and_eof_lost_nothing() {
    assert_eq!(plain(lost(ended(0))).outcome, Outcome::Succeeded);
}

#[test]
fn a_close_without_a_status_is_an_error() {
    let verdict = plain(Facts { ending: Ending::Closed, eof: true, ..running() });
    assert_eq!((verdict.outcome, verdict.fault.clone()), (Outcome::Unknown, Some(Fault::ExitStatusMissing)));
    assert_eq!(exit(&verdict, Effect::Write), EX_PROTOCOL);
}

#[test]
fn no_exit_status_takes_an_orderly_close_only() {
    let terms = Terms { no_exit_status: true, ..Terms::default() };
    let closed = judge(Facts { ending: Ending::Closed, ..running() }, &terms);
    assert_eq!((closed.outcome, closed.warnings.len()), (Outcome::Succeeded, 1));
    assert_eq!(judge(lost(running()), &terms).outcome, Outcome::Unknown);
}

#[test]
fn a_refused_request_started_nothing() {
    let verdict = plain(Facts { refused: true, ..asked() });
    assert_eq!((verdict.started, verdict.fault), (Started::No, Some(Fault::ExecRefused)));
}

#[test]
fn a_death_by_signal_is_named() {
    let verdict = plain(Facts { exit_signal: Some("KILL".into()), eof: true, ..running() });
    assert_eq!((verdict.outcome, verdict.remote_signal.as_deref()), (Outcome::Failed, Some("KILL")));
}

#[test]
fn held_open_streams_do_not_change_the_result() {
    let verdict = plain(Facts { exit_status: Some(0), ending: Ending::LetGo, ..running() });
    assert!(verdict.held_open);
    assert_eq!(verdict.outcome, Outcome::Succeeded);
}

fn timeout() -> StopCause {
    StopCause::Limit(Limit::Timeout, Duration::from_secs(2))
}

#[test]
fn a_timeout_is_stopped_only_when_the_end_and_both_eofs_were_seen() {
    let seen = plain(Facts { exit_signal: Some("INT".into()), eof: true, stopped: Some(timeout()), ..running() });
    assert_eq!((seen.outcome, exit(&seen, Effect::Write)), (Outcome::Stopped, 1));
    for facts in [
        Facts { exit_signal: Some("INT".into()), ending: Ending::LetGo, stopped: Some(timeout()), ..running() },
        Facts { ending: Ending::GaveUp, stopped: Some(timeout()), ..running() },
        lost(Facts { stopped: Some(timeout()), ..running() }),
    ] {
        let verdict = plain(facts);
        assert_eq!((verdict.outcome, exit(&verdict, Effect::Write)), (Outcome::Unknown, EX_PROTOCOL));
        assert_eq!(exit(&verdict, Effect::Read), EX_IOERR);
    }
}

#[test]
fn a_broken_reader_is_sigpipe_and_a_full_disk_is_not() {
    let with = |kind| plain(Facts { stopped: Some(StopCause::Output(io::Error::from(kind))), ..running() });
    assert_eq!(exit(&with(io::ErrorKind::BrokenPipe), Effect::Read), 141);
    assert_eq!(exit(&with(io::ErrorKind::StorageFull), Effect::Read), 73);
}

#[test]
fn ctrl_c_says_whether_it_stopped() {
    let stopped = || Some(StopCause::Signal(Caught::Int));
    let seen = plain(Facts { stopped: stopped(), ..ended(130) });
    assert_eq!((seen.outcome, exit(&seen, Effect::Write)), (Outcome::Stopped, 130));
    let unseen = plain(Facts { stopped: stopped(), ending: Ending::GaveUp, ..running() });
    assert_eq!((unseen.outcome, exit(&unseen, Effect::Write)), (Outcome::Unknown, 130));
}

#[test]
fn without_its_mark_the_start_program_did_not_run() {
    let verdict = judge(Facts { ending: Ending::Closed, output: true, ..ended(0) }, &in_shell());
    assert_eq!((verdict.started, verdict.outcome, verdict.remote_exit), (Started::No, Outcome::NotStarted, None));
    assert_eq!(verdict.fault, Some(Fault::NoPosixShell { options: "--cwd".into(), said: String::new() }));
}

#[test]
fn in_shell_mode_nothing_starts_before_the_word() {
    assert_eq!(judge(lost(running()), &in_shell()).started, Started::No);
    assert_eq!(judge(lost(Facts { mark: Some(Mark::Start), ..running() }), &in_shell()).started, Started::Unknown);
    let spoke = Facts { mark: Some(Mark::Start), output: true, ..running() };
    assert_eq!(judge(lost(spoke), &in_shell()).started, Started::Yes);
    assert_eq!(judge(lost(Facts::default()), &in_shell()).started, Started::No);
}

#[test]
fn a_start_program_that_gives_up_started_nothing() {
    for mark in [Mark::Cwd, Mark::Short, Mark::Staging] {
        let verdict = judge(Facts { mark: Some(mark), ..ended(1) }, &in_shell());
        assert_eq!((verdict.started, verdict.outcome), (Started::No, Outcome::NotStarted), "{mark:?}");
    }
}

#[test]
fn a_server_that_says_it_runs_no_commands_is_believed() {
    let mut facts = ended(1);
    facts.stdout_opening.add(b"This service allows sftp connections only.\n");
    let verdict = plain(facts);
    assert_eq!((verdict.started, verdict.fault), (Started::Unknown, Some(Fault::SftpOnly)));
}

#[test]
fn an_expired_password_is_not_a_failing_command() {
    let mut facts = ended(1);
    facts
        .stderr_opening
        .add(b"WARNING: Your password has expired.\r\nPassword change required but no TTY available.\r\n");
    assert_eq!(plain(facts).fault, Some(Fault::PasswordExpired { user: String::new() }));
}

#[test]
fn the_opening_is_bounded() {
    let mut opening = Opening::default();
    opening.add(&[b'x'; 1000]);
    opening.add(b"y");
    assert_eq!(opening.bytes().len(), 256);
}

/// Every combination of what can be seen: the claims that must never be made, are not.
#[test]
fn no_combination_of_facts_makes_a_false_claim() {
    let endings = [Ending::Open, Ending::Closed, Ending::Lost("x".into()), Ending::LetGo, Ending::GaveUp];
    let marks = [None, Some(Mark::Start), Some(Mark::Cwd), Some(Mark::Short), Some(Mark::Staging)];
    for bits in 0..256_u32 {
        let bit = |n: u32| bits & (1 << n) != 0;
        for ending in &endings {
            for mark in marks {
                for terms in [Terms::default(), in_shell(), Terms { no_exit_status: true, ..Terms::default() }] {
                    let facts = Facts {
                        request_written: bit(0),
                        granted: bit(1),
                        refused: bit(2),
                        output: bit(3),
                        exit_status: bit(4).then_some(u32::from(bit(5))),
                        eof: bit(6),
                        stopped: bit(7).then(timeout),
                        mark: mark.filter(|_| !terms.shell_options.is_empty()),
                        ending: ending.clone(),
                        ..Facts::default()
                    };
                    let seen = format!("{facts:?} {terms:?}");
                    let (status, granted, refused) = (facts.exit_status, facts.granted, facts.refused);
                    let verdict = judge(facts, &terms);
                    if verdict.outcome == Outcome::Succeeded {
                        assert!(status == Some(0) || terms.no_exit_status, "{seen}");
                        assert!(verdict.fault.is_none(), "{seen}");
                    } else {
                        assert!(verdict.fault.is_some(), "{seen}");
                    }
                    if verdict.started == Started::No && terms.shell_options.is_empty() && granted {
                        assert!(refused, "{seen}");
                    }
                    if verdict.remote_exit.is_some() {
                        assert!(status.is_some() && verdict.started != Started::No, "{seen}");
                    }
                }
            }
        }
    }
}
