//! Command lines that are refused, before anything is tried.

use crate::rig::{Cli, FakeServer, Manner, Sshd};

#[test]
fn a_destination_that_is_none_is_refused_and_nothing_is_tried() {
    let port = FakeServer::start(Manner::Mute).port;
    for dest in ["a b", " host", "host\tname", "host\nname", "host\u{7f}", "''", "user@-oProxyCommand=x"] {
        let quoted = if dest == "''" { dest.to_owned() } else { shlex::try_quote(dest).unwrap().into_owned() };
        let run = Cli::new(&format!("exec -F none -p {port} {quoted} true"), "nobody", port).run();
        let said = run.failed(64, "usage");
        assert_eq!(said["attempts"], 0, "{run}");
    }
}

#[test]
fn a_destination_that_begins_with_a_dash_is_refused_however_it_is_smuggled_in() {
    for line in
        ["exec -F none -- -oProxyCommand=touch true", "exec -F none -oProxyCommand true", "exec -F none -bad true"]
    {
        let run = Cli::new(line, "nobody", 22).run();
        assert_eq!(run.json().exit(), 64, "{run}");
    }
}

#[test]
fn without_a_command_the_hint_says_that_there_is_no_interactive_shell() {
    let sshd = Sshd::start();
    for line in ["exec DEST", "exec DEST --"] {
        let run = sshd.cli(line).run();
        let said = run.failed(64, "missing_command");
        assert!(said.advice().contains("interactive"), "{run}");
    }
    assert_eq!(sshd.connections(), 0, "{}", sshd.log());
}

#[test]
fn a_word_that_is_no_option_is_a_usage_error_in_one_document() {
    for line in [
        "exec --no-such-option h true",
        "exec --timeout soon h true",
        "exec --max-output lots h true",
        "exec --effect maybe h true",
        "exec --host-key-policy sometimes h true",
        "exec --stdin --stdin-file f h true",
        "exec --password hunter2 h true",
        "exec",
        "no-such-command",
    ] {
        let run = Cli::new(line, "nobody", 22).run();
        let said = run.json();
        assert_eq!(said.exit(), 64, "{run}");
        assert_eq!(said["started"], "no", "{run}");
        assert!(!said.text().contains("hunter2"), "a secret as a bare argument is not repeated: {run}");
    }
}

#[test]
fn o_json_is_told_from_an_ssh_option() {
    let run = Cli::new("exec -o json h true", "nobody", 22).run();
    let said = run.json();
    assert_eq!(said.exit(), 64, "{run}");
    assert!(said.advice().contains("--json") || said.advice().contains("--output"), "{run}");
}

#[test]
fn raw_usage_errors_are_one_paragraph_on_stderr() {
    let run = Cli::new("exec --raw -F none 127.0.0.1", "nobody", 22).run();
    assert_eq!(run.code(), 64, "{run}");
    assert!(run.stdout.is_empty() && !run.stderr.is_empty(), "{run}");
}

#[test]
fn help_and_version_are_plain_text_in_every_mode() {
    for line in ["--help", "--version", "exec --help", "exec --help --json", "--json --version"] {
        let run = Cli::new(line, "nobody", 22).run();
        assert_eq!(run.code(), 0, "{run}");
        assert!(!run.stdout.is_empty() && !run.stdout.starts_with(b"{") && run.stderr.is_empty(), "{run}");
    }
}
