//! Time limits and signals: what was started is stopped, or it is said that it may go on.

use std::time::Duration;

use rustix::process::Signal;

use crate::rig::{Dropbear, Envelope, FakeServer, Manner, Mode, Run, Sshd, Stdin, Way, random_hex};

/// A duration for `sleep` that nobody else uses, by which the process is found again.
fn tag() -> String {
    format!("30.{}", u32::from_str_radix(&random_hex(3), 16).unwrap() + 100_000_000)
}

/// Nothing is left, or the envelope says that something may be.
fn stopped_or_said_so(sshd: &Sshd, run: &Run, said: &Envelope, tag: &str) {
    let rid = sshd.is_rid_of(tag, Duration::from_secs(5));
    assert!(rid || said["outcome"] == "unknown", "{:?} is left, unsaid: {run}", sshd.session_processes());
}

#[test]
fn a_time_limit_stops_the_remote_process() {
    let sshd = Sshd::start();
    let tag = tag();
    let run = sshd.cli(&format!("exec --timeout 1s DEST 'echo begun; sleep {tag}'")).run();
    let said = run.failed(1, "timeout");
    assert_eq!((&said["outcome"], &said["started"]), (&"stopped".into(), &"yes".into()), "{run}");
    assert_eq!(said["error"]["class"], "cancelled", "{run}");
    assert_eq!(said.stdout(), "begun\n", "{run}");
    assert!(sshd.is_rid_of(&tag, Duration::from_secs(5)), "{:?}", sshd.session_processes());
    assert!(run.elapsed < Duration::from_secs(6), "{run}");
}

#[test]
fn a_process_that_ignores_polite_signals_is_killed() {
    let sshd = Sshd::start();
    let tag = tag();
    let run = sshd.cli(&format!("exec --timeout 1s DEST 'trap \"\" INT TERM; sleep {tag}; sleep {tag}'")).run();
    let said = run.json();
    assert_eq!(said.error_code(), "timeout", "{run}");
    assert!(sshd.is_rid_of(&tag, Duration::from_secs(5)), "{:?}: {run}", sshd.session_processes());
    assert!(run.elapsed < Duration::from_secs(10), "{run}");
}

#[test]
fn a_time_limit_reaches_the_children_or_says_that_it_did_not() {
    let sshd = Sshd::start();
    for command in
        ["sleep T & sleep T & wait", "sh -c \"sleep T & wait\"", "setsid sleep T & wait", "(sleep T; true) | cat"]
    {
        let tag = tag();
        let line = format!("exec --timeout 1s DEST '{}'", command.replace('T', &tag));
        let run = sshd.cli(&line).run();
        let said = run.json();
        assert_eq!(said.error_code(), "timeout", "{run}");
        assert!(!said["retryable"].as_bool().unwrap(), "{run}");
        stopped_or_said_so(&sshd, &run, &said, &tag);
        assert!(run.elapsed < Duration::from_secs(12), "{run}");
    }
}

#[test]
fn a_time_limit_that_is_kept_changes_nothing() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --timeout 20s DEST 'echo in time'").run();
    assert_eq!(run.succeeded().stdout(), "in time\n", "{run}");
}

#[test]
fn a_server_that_passes_no_signals_on_makes_the_stop_unconfirmed() {
    let Some(server) = Dropbear::start("ed25519") else { return };
    let tag = tag();
    let run = server.cli(&format!("exec --timeout 1s DEST 'sleep {tag}'")).run();
    let said = run.json();
    let left = server.runs(&tag);
    assert!(!left || said["outcome"] == "unknown", "a process is left, unsaid: {run}");
    assert!(run.elapsed < Duration::from_secs(12), "{run}");
}

#[test]
fn the_deadline_counts_the_whole_invocation() {
    let sshd = Sshd::start();
    let tag = tag();
    let run = sshd.cli(&format!("exec --deadline 2s DEST 'sleep {tag}'")).run();
    let said = run.json();
    assert!(said.exit() == 1 || said.exit() == 76, "{run}");
    stopped_or_said_so(&sshd, &run, &said, &tag);
    assert!(run.elapsed < Duration::from_secs(8), "{run}");
    let mute = FakeServer::start(Manner::Mute);
    let run = mute.cli("exec --deadline 1s DEST true").run();
    let said = run.json();
    assert_eq!(said["started"], "no", "{run}");
    assert!(run.elapsed < Duration::from_secs(3), "{run}");
}

#[test]
fn a_caught_signal_stops_the_remote_process_and_is_told_in_one_document() {
    for (signal, exit) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let sshd = Sshd::start();
        let tag = tag();
        let running = sshd.cli(&format!("exec DEST 'echo begun; sleep {tag}'")).start();
        sshd.wait_until_runs(&format!("sleep {tag}"));
        running.signal(signal);
        let run = running.finish();
        let said = run.json();
        assert_eq!(said.exit(), exit, "{run}");
        assert_eq!(said["started"], "yes", "{run}");
        assert_eq!(said.stdout(), "begun\n", "{run}");
        stopped_or_said_so(&sshd, &run, &said, &tag);
        assert!(sshd.is_rid_of(&tag, Duration::from_secs(5)), "{:?}: {run}", sshd.session_processes());
    }
}

#[test]
fn a_signal_before_anything_began_says_that_nothing_did() {
    let mute = FakeServer::start(Manner::Mute);
    let running = mute.cli("exec --detail DEST true").start();
    crate::rig::wait::until("the connection", Duration::from_secs(10), || (mute.connections() > 0).then_some(()));
    running.signal(Signal::TERM);
    let run = running.finish();
    let said = run.json();
    assert_eq!((said.exit(), &said["started"]), (143, &"no".into()), "{run}");
    assert!(run.elapsed < Duration::from_secs(5), "{run}");
}

#[test]
fn a_network_that_breaks_under_the_command_leaves_the_outcome_unknown() {
    for mode in [Mode::Rst, Mode::Fin, Mode::Silence] {
        let sshd = Sshd::start();
        let proxy = sshd.proxy().start();
        let tag = tag();
        let running = sshd.cli(&format!("exec --keepalive 500ms DEST 'echo begun; sleep {tag}'")).via(&proxy).start();
        sshd.wait_until_runs(&format!("sleep {tag}"));
        // The first words come out before the second process is there; this is for their way through the proxy.
        let before = proxy.bytes(Way::Down);
        crate::rig::wait::eventually(Duration::from_millis(200), || proxy.bytes(Way::Down) > before);
        proxy.break_now(mode);
        let run = running.finish();
        let said = run.failed(76, "connection_lost");
        assert_eq!((&said["started"], &said["outcome"]), (&"yes".into(), &"unknown".into()), "{mode:?}: {run}");
        assert_eq!(said.stdout(), "begun\n", "{mode:?}: {run}");
        assert!(run.elapsed < Duration::from_secs(12), "{mode:?}: {run}");
    }
}

#[test]
fn probes_that_are_answered_keep_a_quiet_command_alive() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --keepalive 200ms DEST 'sleep 3; echo done'").run();
    assert_eq!(run.succeeded().stdout(), "done\n", "{run}");
}

#[test]
fn a_second_signal_ends_at_once() {
    let sshd = Sshd::start();
    let tag = tag();
    let running = sshd.cli(&format!("exec DEST 'trap \"\" INT TERM HUP; sleep {tag}; sleep {tag}'")).start();
    sshd.wait_until_runs(&format!("sleep {tag}"));
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    let run = running.finish();
    let said = run.json();
    assert_eq!(said.exit(), 130, "{run}");
    assert!(said["outcome"] == "unknown" || said["outcome"] == "stopped", "{run}");
}

#[test]
fn a_broken_standard_output_is_141_with_the_document_on_stderr() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'echo hi'").stdout_closed().run();
    let said = run.json_on_stderr();
    assert_eq!(said.exit(), 141, "{run}");
    assert_eq!(said["started"], "yes", "{run}");
}

#[test]
fn a_broken_standard_output_stops_a_live_stream() {
    let sshd = Sshd::start();
    let tag = tag();
    let run = sshd.cli(&format!("exec --raw DEST 'echo one; sleep 1; echo two; sleep {tag}'")).stdout_closed().run();
    assert_eq!(run.code(), 141, "{run}");
    assert!(sshd.is_rid_of(&tag, Duration::from_secs(5)), "{:?}: {run}", sshd.session_processes());
    assert!(run.elapsed < Duration::from_secs(10), "{run}");
}

#[test]
fn the_input_of_a_stopped_command_is_not_waited_for() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --stdin --timeout 1s DEST cat").stdin(Stdin::Open).run();
    assert_eq!(run.json().error_code(), "timeout", "{run}");
    assert!(run.elapsed < Duration::from_secs(8), "{run}");
}
