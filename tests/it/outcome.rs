//! What became of the command, and what is said of it when nobody can know.

use std::time::Duration;

use crate::rig::{FakeSsh, Script, Sshd};

#[test]
fn a_command_that_ends_with_0_is_a_success_with_both_streams() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'echo out; echo err >&2'").run();
    let said = run.succeeded();
    assert_eq!((said.stdout(), said.stderr()), ("out\n", "err\n"), "{run}");
    assert_eq!(said["remote_exit"], 0);
    assert_eq!(said["started"], "yes");
    assert_eq!(said["effect"], "write");
    assert_eq!(said["attempts"], 1);
    assert_eq!(said["target"]["user"], sshd.account.name);
    assert_eq!(said["target"]["address"], format!("127.0.0.1:{}", sshd.port));
    assert!(said["streams"].is_null(), "whole UTF-8 streams need no more words: {run}");
    assert!(said.warnings().is_empty(), "{run}");
}

#[test]
fn a_command_that_exits_255_is_the_commands_failure_and_keeps_its_output() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'echo hi; exit 255'").run();
    let said = run.failed(1, "remote_exit");
    assert_eq!(said["remote_exit"], 255, "{run}");
    assert_eq!(said.stdout(), "hi\n", "{run}");
}

#[test]
fn a_command_that_is_not_found_is_a_remote_failure_with_a_hint_about_path() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST no-such-program-anywhere").run();
    let said = run.failed(1, "remote_exit");
    assert_eq!(said["remote_exit"], 127, "{run}");
    assert!(said.stderr().contains("no-such-program-anywhere"), "{run}");
    assert!(said.advice().contains("PATH"), "{run}");
}

#[test]
fn a_command_that_dies_of_a_signal_names_the_signal() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'echo hi; kill -KILL $$'").run();
    let said = run.failed(1, "remote_signal");
    assert_eq!(said["remote_signal"], "KILL", "{run}");
    assert_eq!(said["remote_exit"], serde_json::Value::Null, "{run}");
    assert_eq!(said.stdout(), "hi\n", "{run}");
}

#[test]
fn a_signals_name_and_message_from_the_server_are_cleaned() {
    let server = FakeSsh::start(Script { signal: Some(("ODD@example", "\u{1b}[31mred")), ..Script::default() });
    let run = server.cli("exec DEST true").run();
    let said = run.failed(1, "remote_signal");
    assert!(!said.text().contains("\\u001b"), "{run}");
}

#[test]
fn a_session_that_dies_under_the_command_leaves_the_outcome_unknown() {
    let sshd = Sshd::start();
    // Killed at once, the session may take the output down with it, unread: so it is given the time to pass it on.
    let run = sshd.cli("exec DEST 'echo begun; sleep 1; kill -9 $PPID; sleep 3'").run();
    let said = run.failed(76, "connection_lost");
    assert_eq!(said["outcome"], "unknown", "{run}");
    assert_eq!(said["started"], "yes", "{run}");
    assert_eq!(said["error"]["class"], "unknown", "{run}");
    assert_eq!(said["error"]["phase"], "run", "{run}");
    assert_eq!(said["remote_exit"], serde_json::Value::Null, "{run}");
    assert_eq!(said.stdout(), "begun\n", "{run}");
    assert!(!said["error"]["hint"].as_str().unwrap().is_empty(), "{run}");
    assert!(run.elapsed < Duration::from_secs(10), "{run}");
}

#[test]
fn what_only_reads_may_be_repeated_after_the_session_died() {
    let sshd = Sshd::start();
    for effect in ["read", "idempotent"] {
        let line = format!("exec --effect {effect} DEST 'echo begun; kill -9 $PPID; sleep 3'");
        let run = sshd.cli(&line).run();
        let said = run.failed(74, "connection_lost");
        assert_eq!(said["effect"], effect, "{run}");
        assert_ne!(said["started"], "no", "{run}");
        assert_eq!(said["retry"]["policy"], "retry", "{run}");
        assert!(said["retry"]["delay_ms"].is_number() && said["retry"]["max_retries"].is_number(), "{run}");
    }
}

#[test]
fn a_missing_exit_status_is_never_a_success() {
    let server = FakeSsh::start(Script { output: "all is well\n", ..Script::default() });
    let run = server.cli("exec DEST true").run();
    let said = run.failed(76, "exit_status_missing");
    assert_eq!(said["remote_exit"], serde_json::Value::Null, "{run}");
    assert_eq!(said["started"], "yes", "{run}");
    assert_eq!(said.stdout(), "all is well\n", "{run}");
    assert!(said.advice().contains("--no-exit-status"), "{run}");
}

#[test]
fn gear_that_never_sends_a_status_succeeds_when_asked_for_with_a_warning() {
    let server = FakeSsh::start(Script { output: "ok\n", ..Script::default() });
    let run = server.cli("exec --no-exit-status DEST 'show version'").run();
    let said = run.succeeded();
    assert_eq!(said["remote_exit"], serde_json::Value::Null, "{run}");
    assert_eq!(said.stdout(), "ok\n", "{run}");
    assert_eq!(said.warnings().len(), 1, "{run}");
}

#[test]
fn a_connection_that_breaks_is_no_orderly_close_even_for_such_gear() {
    let server = FakeSsh::start(Script { output: "ok\n", vanish: true, ..Script::default() });
    let run = server.cli("exec --no-exit-status DEST 'show version'").run();
    assert_eq!(run.json().exit(), 76, "{run}");
}

#[test]
fn a_server_that_refuses_commands_says_exec_refused() {
    let server = FakeSsh::start(Script { refuse_exec: true, ..Script::default() });
    server.cli("exec DEST true").run().failed(69, "exec_refused");
}

#[test]
fn a_server_without_a_free_session_may_be_asked_again() {
    let server = FakeSsh::start(Script { refuse_channel: true, ..Script::default() });
    server.cli("exec DEST true").run().failed(74, "session_limit");
}

#[test]
fn output_that_comes_after_the_status_is_kept() {
    let server = FakeSsh::start(Script { output: "one\n", status: Some(0), late_output: "two\n", ..Script::default() });
    let run = server.cli("exec DEST true").run();
    assert_eq!(run.succeeded().stdout(), "one\ntwo\n", "{run}");
}

#[test]
fn a_connection_lost_between_status_and_end_of_output_is_output_cut() {
    let server = FakeSsh::start(Script { output: "one\n", status: Some(0), vanish: true, ..Script::default() });
    let run = server.cli("exec DEST true").run();
    let said = run.failed(76, "output_cut");
    assert_eq!(said["started"], "yes", "{run}");
    assert_eq!(said.stdout(), "one\n", "{run}");
    server.cli("exec --effect read DEST true").run().failed(74, "output_cut");
}

#[test]
fn a_banner_with_terminal_escapes_reaches_no_terminal() {
    let banner = Some("\u{1b}]0;pwned\u{7}\u{1b}[31mAuthorised use only\r\n".to_owned());
    let server = FakeSsh::start(Script { banner, output: "ok\n", status: Some(0), ..Script::default() });
    let run = server.cli("exec DEST true").run();
    assert_eq!(run.succeeded().stdout(), "ok\n", "{run}");
    let run = server.cli("exec --raw DEST true").run();
    assert_eq!((run.code(), &run.stdout[..]), (0, &b"ok\n"[..]), "{run}");
    assert!(!run.stderr.contains(&0x1b) && !run.stderr.contains(&7), "{run}");
}

#[test]
fn several_words_are_one_argv_and_run_as_they_were_typed() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST -- bash -c 'echo ready'").run();
    assert_eq!(run.succeeded().stdout(), "ready\n", "{run}");
    let run = sshd.cli(r#"exec DEST printf '%s|' 'a b' '' "it's" '$HOME `id`' '*' 'a!b' 'c\d' 'é'"#).run();
    assert_eq!(run.succeeded().stdout(), "a b||it's|$HOME `id`|*|a!b|c\\d|é|", "{run}");
}

#[test]
fn one_word_is_the_remote_shells_text_byte_for_byte() {
    let sshd = Sshd::start();
    let run = sshd.cli(r#"exec DEST 'x="a  b"; printf "%s|" "$x" $x "é" | cat'"#).run();
    assert_eq!(run.succeeded().stdout(), "a  b|a|b|é|", "{run}");
}

#[test]
fn our_options_end_at_the_commands_first_word() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST echo --timeout 2s -v -- --raw").run();
    assert_eq!(run.succeeded().stdout(), "--timeout 2s -v -- --raw\n", "{run}");
}

#[test]
fn an_operator_among_several_words_is_quoted_with_a_warning() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST echo a '|' cat").run();
    let said = run.succeeded();
    assert_eq!(said.stdout(), "a | cat\n", "{run}");
    assert_eq!(said.warnings(), ["operator_quoted"], "{run}");
}

#[test]
fn argv_quotes_even_one_word() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --argv DEST 'echo hi'").run();
    assert_eq!(run.failed(1, "remote_exit")["remote_exit"], 127, "{run}");
}

#[test]
fn with_detail_the_phases_are_timed_and_the_target_described() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --detail DEST true").run();
    let said = run.succeeded();
    for phase in ["resolve", "connect", "handshake", "auth", "run"] {
        assert!(said["timing_ms"][phase].is_number(), "{phase}: {run}");
    }
    for fact in ["host", "port", "user_source", "host_key", "host_key_status", "server", "auth"] {
        assert!(!said["target"][fact].is_null(), "{fact}: {run}");
    }
}
