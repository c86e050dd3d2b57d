//! The three ways to print, and the remote status as our own.

use serde_json::Value;

use crate::rig::{Cli, Envelope, Sshd, numbers};

#[test]
fn raw_passes_the_bytes_and_the_status_and_says_nothing_of_its_own() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --raw DEST 'printf \"a\\000\\377\\033[1mb\"; printf err >&2; exit 3'").run();
    assert_eq!((run.code(), &run.stdout[..], &run.stderr[..]), (3, &b"a\0\xff\x1b[1mb"[..], &b"err"[..]), "{run}");
    sshd.cli("exec --raw DEST 'echo ok'").run().raw("ok\n", 0);
    sshd.cli("exec DEST 'echo ok'").env("SSH_CLI_OUTPUT", "raw").run().raw("ok\n", 0);
    let run = sshd.cli("exec --raw DEST 'seq 1 200000'").run();
    run.raw(numbers(200_000), 0);
}

#[test]
fn raw_failures_are_one_paragraph_on_stderr() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --raw DEST true").known_hosts("/dev/null".as_ref()).run();
    assert_eq!(run.code(), 77, "{run}");
    let said = String::from_utf8(run.stderr.clone()).unwrap();
    assert!(run.stdout.is_empty() && said.contains("SHA256:") && !said.trim().contains("\n\n"), "{run}");
    assert!(!said.trim_start().starts_with('{'), "{run}");
}

#[test]
fn raw_is_live() {
    let sshd = Sshd::start();
    let dir = sshd.shared_dir();
    let out = dir.join("seen");
    // The remote goes on only when its first line was seen here.
    let cli = sshd.cli(&format!(
        "exec --raw DEST 'echo first; while ! test -e {}; do sleep 0.05; done; echo second'",
        out.display()
    ));
    let mut child = std::process::Command::new("sh")
        .args(["-c", &format!("{} | {{ read x; : > {}; cat; }}", cli.spelled(), out.display())])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let ended =
        crate::rig::wait::eventually(std::time::Duration::from_secs(20), || child.try_wait().unwrap().is_some());
    if !ended {
        std::fs::write(&out, "").unwrap();
    }
    let said = child.wait_with_output().unwrap();
    assert!(ended && said.stdout == b"second\n", "{said:?}");
}

/// The lines of ndjson, each an object.
fn events(stdout: &[u8]) -> Vec<Value> {
    std::str::from_utf8(stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn ndjson_is_one_event_a_line_and_the_result_last() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --output ndjson DEST 'echo one; echo err >&2; sleep 0.3; echo two; exit 4'").run();
    assert!(run.stderr.is_empty(), "{run}");
    let mut events = events(&run.stdout);
    let mut result = events.pop().unwrap();
    let data = |stream: &str| -> String {
        events.iter().filter(|event| event["event"] == stream).filter_map(|event| event["data"].as_str()).collect()
    };
    assert_eq!((data("stdout"), data("stderr")), ("one\ntwo\n".into(), "err\n".into()), "{run}");
    assert!(events.iter().all(|event| event["event"] != "result"), "{run}");
    let fields = result.as_object_mut().unwrap();
    assert_eq!(fields.shift_remove("event"), Some("result".into()), "{run}");
    let said = Envelope::check(result, run.code(), &run.to_string());
    assert_eq!((said.error_code(), &said["remote_exit"]), ("remote_exit", &4.into()), "{run}");
    assert_eq!((&said["stdout"], &said["stderr"]), (&Value::Null, &Value::Null), "{run}");
}

#[test]
fn ndjson_ends_with_a_result_when_nothing_ran() {
    let sshd = Sshd::start();
    for line in [
        "exec --output ndjson DEST",
        "exec --output ndjson --host-key SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA DEST true",
    ] {
        let run = sshd.cli(line).run();
        let last = events(&run.stdout).pop().unwrap();
        assert_eq!((&last["event"], &last["exit_code"]), (&"result".into(), &run.code().into()), "{run}");
    }
}

#[test]
fn an_escape_in_the_output_is_escaped_in_the_document() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'printf \"\\033[31mred\\n\"'").run();
    assert_eq!(run.succeeded().stdout(), "\u{1b}[31mred\n", "{run}");
    assert!(!run.stdout.contains(&0x1b), "{run}");
}

#[test]
fn the_remote_status_is_ours_only_when_asked_for_and_only_where_it_means_nothing_else() {
    let sshd = Sshd::start();
    for (remote, ours) in [
        (1, 1),
        (3, 3),
        (63, 63),
        (64, 1),
        (74, 1),
        (78, 1),
        (79, 79),
        (127, 127),
        (254, 254),
        (255, 1),
        (130, 1),
        (143, 1),
    ] {
        let run = sshd.cli(&format!("exec --remote-exit DEST 'exit {remote}'")).run();
        let said = run.failed(ours, "remote_exit");
        assert_eq!(said["remote_exit"], remote, "{run}");
        let run = sshd.cli(&format!("exec DEST 'exit {remote}'")).run();
        run.failed(1, "remote_exit");
    }
    for (signal, ours) in [("KILL", 137), ("TERM", 1), ("INT", 1), ("USR1", 138)] {
        let run = sshd.cli(&format!("exec --remote-exit DEST 'kill -{signal} $$; sleep 5'")).run();
        let said = run.failed(ours, "remote_signal");
        assert_eq!(said["remote_signal"], signal, "{run}");
    }
    let run = sshd.cli("exec --remote-exit DEST true").known_hosts("/dev/null".as_ref()).run();
    run.failed(77, "host_key_unknown");
}

#[test]
fn json_is_the_default_where_standard_output_is_no_terminal() {
    let run = Cli::new("exec -F none", "nobody", 22).run();
    assert_eq!(run.json().exit(), 64, "{run}");
    let run = Cli::new("exec --output json -F none", "nobody", 22).env("SSH_CLI_OUTPUT", "raw").run();
    assert_eq!(run.json().exit(), 64, "the option wins over the environment: {run}");
}

#[test]
fn v_logs_to_stderr_and_leaves_standard_output_alone() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec -vv DEST 'echo hi'").run();
    assert!(!run.stderr.is_empty(), "{run}");
    let said = Envelope::read(&run.stdout, run.code(), &run.to_string());
    assert_eq!(said.stdout(), "hi\n", "{run}");
}
