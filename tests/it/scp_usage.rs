//! Copies that are refused before anything is tried.

use crate::rig::{Cli, Envelope, Sshd, Stdin};

/// Refused with 64, with nothing tried; what is said.
fn refused(line: &str) -> Envelope {
    let run = Cli::new(line, "nobody", 22).run();
    let said = run.json();
    assert_eq!(
        (said.exit(), said["command"].as_str(), said["started"].as_str()),
        (64, Some("scp"), Some("no")),
        "{run}"
    );
    assert!(said["attempts"] == 0 && said["transfer"].is_null(), "{run}");
    said
}

#[test]
fn exactly_one_side_is_remote_and_the_refusal_says_what_to_type() {
    for (line, part) in [
        ("scp a b", "web1:FILE"),
        ("scp a b c", "web1:FILE"),
        ("scp h1:a h2:b", "copy here first"),
        ("scp h1:a h2:b c", "one machine"),
        ("scp me@h1:a h1:b c", "one user"),
        ("scp h1:a b c", "local source among remote ones"),
        ("scp a", "SOURCE and TARGET"),
        ("scp", "SOURCE and TARGET"),
        ("scp ./a:b /x:y", "neither side is remote"),
        ("scp '' h:", "empty"),
        ("scp ssh://h/a b", "scp://"),
        ("scp scp://h/a%zz b", "%25"),
    ] {
        let said = refused(line);
        assert!(said.error_code() == "usage" && said.advice().contains(part), "{line}: {}", said.text());
    }
}

#[test]
fn a_host_obeys_the_rule_of_a_destination() {
    for line in [
        "scp -F none -- '-oProxyCommand=touch x:a' .",
        "scp -F none 'a b:c' .",
        "scp -F none 'a\tb:c' .",
        "scp -F none 'me@-oProxyCommand=x:c' .",
        "scp -F none 'a;b:c' .",
        "scp -F none 'scp://a b/c' .",
        "scp -F none scp://me:hunter2@h/a .",
        "scp -F none scp://h:0/a .",
        "scp -F none scp://h:/a .",
        "scp -F none '[::1:/a]:b' .",
        "scp -F none @h:a .",
    ] {
        let said = refused(line);
        assert!(!said.text().contains("hunter2"), "{line}: {}", said.text());
    }
}

#[test]
fn what_cannot_be_honoured_is_refused() {
    for (line, code) in [
        ("scp h:a -", "option_conflict"),
        ("scp --resume - h:a", "option_conflict"),
        ("scp --password stdin - h:a", "option_conflict"),
        ("scp --host-key SHA256:x --host-key-policy insecure a h:b", "option_conflict"),
        ("scp - h:", "usage"),
        ("scp - a h:b/", "usage"),
        ("scp --mode 4755 a h:b", "usage"),
        ("scp --protocol ftp a h:b", "usage"),
        ("scp --timeout 5 a h:b", "usage"),
        ("scp --stdin a h:b", "usage"),
    ] {
        assert_eq!(refused(line).error_code(), code, "{line}");
    }
    // In raw mode the refusal is words.
    let run = Cli::new("scp --raw -r h:a -", "nobody", 22).run();
    assert!(run.code() == 64 && run.stdout.is_empty() && !run.stderr.is_empty(), "{run}");
}

#[test]
fn dash_p_and_a_key_are_explained() {
    assert!(refused("scp -p a h:b").advice().contains("--preserve"));
    assert!(refused("scp -rp a h:b").advice().contains("--preserve"));
    assert!(refused("scp --op deploy-1 a h:b").advice().contains("no --op"));
    assert!(refused("scp h:2222:/etc/motd .").advice().contains("-p 2222 h:/etc/motd"));
}

#[test]
fn a_file_as_standard_input_is_no_question_for_a_copy() {
    // `exec` asks what it is for; a copy reads it only where it is named.
    let sshd = Sshd::start();
    let cli = sshd.cli("scp DEST:/etc/hostname copy-of-it-that-is-not-made/x");
    let file = cli.scratch().file("input", "data");
    let run = cli.stdin(Stdin::File(file)).run();
    assert_ne!(run.json().error_code(), "stdin_ambiguous", "{run}");
}
