//! Host keys: known, unknown, changed, revoked, pinned, certified. All against a real sshd.

use std::fs;
use std::path::Path;

use crate::rig::{Cli, HostKind, Run, Scratch, Sshd, certify_host, fingerprint, keygen, public_of, tool};

/// The command line `exec DEST true` with these options and this `known_hosts`.
fn with(sshd: &Sshd, options: &str, known_hosts: &Path) -> Run {
    sshd.cli(&format!("exec {options} DEST 'echo in'")).known_hosts(known_hosts).run()
}

/// The same under strict checking, with a file of this content.
fn strict(sshd: &Sshd, content: &str) -> Run {
    let scratch = Scratch::new();
    with(sshd, "", &scratch.file("known_hosts", content))
}

fn accepted(sshd: &Sshd, content: &str) {
    let run = strict(sshd, content);
    assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
}

/// `[127.0.0.1]:PORT`
fn name(sshd: &Sshd) -> String {
    format!("[127.0.0.1]:{}", sshd.port)
}

fn another_key(scratch: &Scratch) -> String {
    let key = scratch.join("another");
    keygen(&key, "ed25519", &[]);
    public_of(&key)
}

/// A server with just one key, so that there is no doubt which one is shown.
fn one_key() -> Sshd {
    Sshd::build().host_kinds(&[HostKind::Ed25519]).start()
}

#[test]
fn an_unknown_key_is_refused_with_its_fingerprint_and_how_to_pin_it() {
    let sshd = one_key();
    let run = strict(&sshd, "");
    let said = run.failed(77, "host_key_unknown");
    assert_eq!(said["error"]["phase"], "host_key", "{run}");
    assert!(said.advice().contains(&fingerprint(&sshd.host_keys()[0])), "{run}");
    assert!(said.advice().contains("--host-key"), "{run}");
    assert!(!sshd.log().contains("Postponed publickey"), "nothing was offered: {}", sshd.log());
}

#[test]
fn a_known_hosts_file_that_is_not_there_knows_nobody() {
    let sshd = one_key();
    with(&sshd, "", Path::new("/no/such/known_hosts")).failed(77, "host_key_unknown");
}

#[test]
fn a_changed_key_is_refused_naming_the_line_that_disagrees() {
    let sshd = one_key();
    let scratch = Scratch::new();
    let file = scratch.file("known_hosts", format!("# a comment\n{} {}\n", name(&sshd), another_key(&scratch)));
    for policy in ["", "--host-key-policy accept-new"] {
        let run = with(&sshd, policy, &file);
        let said = run.failed(77, "host_key_changed");
        assert!(said.advice().contains(&format!("{}:2", file.display())), "{run}");
        assert!(said.advice().contains(&fingerprint(&sshd.host_keys()[0])), "{run}");
    }
}

#[test]
fn a_stale_key_beside_the_right_one_does_no_harm() {
    let sshd = one_key();
    let scratch = Scratch::new();
    let (name, right) = (name(&sshd), &sshd.host_lines()[0]);
    accepted(&sshd, &format!("{name} {}\n{name} {right}\n", another_key(&scratch)));
}

#[test]
fn a_revoked_key_is_refused_even_where_it_is_known() {
    let sshd = one_key();
    let (name, key) = (name(&sshd), &sshd.host_lines()[0]);
    strict(&sshd, &format!("{name} {key}\n@revoked * {key}\n")).failed(77, "host_key_revoked");
    let scratch = Scratch::new();
    let file = scratch.file("known_hosts", format!("@revoked * {key}\n"));
    with(&sshd, "--host-key-policy accept-new", &file).failed(77, "host_key_revoked");
}

#[test]
fn accept_new_writes_one_line_and_strict_is_content_with_it() {
    let sshd = one_key();
    let scratch = Scratch::new();
    let file = scratch.file("known_hosts", "# mine");
    let run = with(&sshd, "--host-key-policy accept-new", &file);
    run.succeeded();
    let written = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    assert_eq!(lines.len(), 2, "{written}");
    assert_eq!(lines[0], "# mine", "the unfinished last line was finished: {written}");
    assert!(lines[1].ends_with(&sshd.host_lines()[0]), "{written}");
    with(&sshd, "--host-key-policy accept-new", &file).succeeded();
    with(&sshd, "", &file).succeeded();
    assert_eq!(fs::read_to_string(&file).unwrap(), written, "the second time adds nothing");
}

#[test]
fn accept_new_makes_the_file_and_its_directory() {
    let sshd = one_key();
    let scratch = Scratch::new();
    let file = scratch.join("new").join("known_hosts");
    with(&sshd, "--host-key-policy accept-new", &file).succeeded();
    with(&sshd, "", &file).succeeded();
}

#[test]
fn many_at_once_under_accept_new_leave_a_whole_file() {
    let sshd = one_key();
    let scratch = Scratch::new();
    let file = scratch.file("known_hosts", "");
    let runs = (0..8).map(|_| sshd.cli("exec --host-key-policy accept-new DEST true").known_hosts(&file).start());
    for run in runs.collect::<Vec<_>>() {
        run.finish().succeeded();
    }
    let written = fs::read_to_string(&file).unwrap();
    assert!(!written.is_empty() && written.ends_with('\n'), "{written}");
    for line in written.lines() {
        assert!(line.ends_with(&sshd.host_lines()[0]), "{written}");
        assert_eq!(line.split_whitespace().count(), 3, "{written}");
    }
    with(&sshd, "", &file).succeeded();
}

#[test]
fn insecure_accepts_anything_and_writes_nothing() {
    let sshd = one_key();
    let scratch = Scratch::new();
    let file = scratch.file("known_hosts", "");
    let run = with(&sshd, "--host-key-policy insecure", &file);
    assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
}

#[test]
fn strict_host_key_checking_of_ssh_is_understood() {
    let sshd = one_key();
    let scratch = Scratch::new();
    let file = scratch.file("known_hosts", "");
    with(&sshd, "-o StrictHostKeyChecking=yes", &file).failed(77, "host_key_unknown");
    with(&sshd, "-o StrictHostKeyChecking=accept-new", &file).succeeded();
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 1);
}

#[test]
fn a_pin_by_fingerprint_or_by_key_is_all_that_counts_and_writes_nothing() {
    let sshd = one_key();
    let scratch = Scratch::new();
    let file = scratch.file("known_hosts", "");
    let (print, key) = (fingerprint(&sshd.host_keys()[0]), &sshd.host_lines()[0]);
    for pin in [format!("--host-key {print}"), format!("--host-key '{key}'")] {
        with(&sshd, &pin, &file).succeeded();
    }
    let other = another_key(&scratch);
    let others = fingerprint(&scratch.join("another"));
    with(&sshd, &format!("--host-key {others} --host-key {print}"), &file).succeeded();
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    let known = scratch.file("known", format!("{} {key}\n", name(&sshd)));
    for pin in [format!("--host-key {others}"), format!("--host-key '{other}'")] {
        let run = with(&sshd, &pin, &known);
        let said = run.json();
        assert_eq!(said.exit(), 77, "a pin wins over known_hosts: {run}");
        assert!(said.error_code().starts_with("host_key_"), "{run}");
    }
}

#[test]
fn a_pin_that_is_none_is_a_usage_error() {
    let sshd = one_key();
    for pin in ["SHA256:short", "MD5:00:11", "nonsense"] {
        let run = sshd.cli(&format!("exec --host-key {pin} DEST true")).run();
        assert_eq!(run.json().exit(), 64, "{run}");
    }
}

#[test]
fn names_are_matched_as_openssh_does() {
    let sshd = one_key();
    let (name, key, port) = (name(&sshd), &sshd.host_lines()[0], sshd.port);
    accepted(&sshd, &format!("{name} {key}\n"));
    accepted(&sshd, &format!("other,{name}\t{key} a comment\r\n"));
    accepted(&sshd, &format!("[127.0.0.*]:{port} {key}\n"));
    accepted(&sshd, &format!("[127.0.0.?]:{port},!other {key}\n"));
    strict(&sshd, &format!("[127.0.0.*]:{port},!{name} {key}\n")).failed(77, "host_key_unknown");
    strict(&sshd, &format!("[127.0.0.2]:{port} {key}\n")).failed(77, "host_key_unknown");
}

#[test]
fn hashed_names_are_found() {
    let sshd = one_key();
    let scratch = Scratch::new();
    let file = scratch.file("known_hosts", format!("{} {}\n", name(&sshd), sshd.host_lines()[0]));
    tool("ssh-keygen", &["-q", "-H", "-f", file.to_str().unwrap()]);
    assert!(fs::read_to_string(&file).unwrap().starts_with("|1|"));
    with(&sshd, "", &file).succeeded();
    let other = one_key();
    with(&other, "", &file).failed(77, "host_key_unknown");
}

#[test]
fn a_host_of_which_only_the_rsa_key_is_known_is_known() {
    let sshd = Sshd::build().host_kinds(&[HostKind::Ed25519, HostKind::Ecdsa, HostKind::Rsa]).start();
    let scratch = Scratch::new();
    for line in sshd.host_lines() {
        let file = scratch.file("known_hosts", format!("{} {line}\n", name(&sshd)));
        with(&sshd, "", &file).succeeded();
        tool("ssh-keygen", &["-q", "-H", "-f", file.to_str().unwrap()]);
        with(&sshd, "", &file).succeeded();
    }
}

#[test]
fn a_broken_line_is_a_warning_that_names_it_and_the_rest_counts() {
    let sshd = one_key();
    let scratch = Scratch::new();
    let content = format!("\n{} ssh-ed25519 not-base64!\n{} {}\n", name(&sshd), name(&sshd), sshd.host_lines()[0]);
    let file = scratch.file("known_hosts", content);
    let run = with(&sshd, "", &file);
    let said = run.succeeded();
    let place = format!("{}:2", file.display());
    assert!(said["warnings"][0]["message"].as_str().unwrap_or_default().contains(&place), "{run}");
}

/// A server with a certified ed25519 host key; its `known_hosts` trusts the authority for everything.
fn certified(principals: &str, validity: &str) -> (Sshd, String) {
    let builder = Sshd::build();
    let (ca, key) = (builder.scratch().join("ca"), builder.scratch().join("certified"));
    keygen(&ca, "ed25519", &[]);
    keygen(&key, "ed25519", &[]);
    certify_host(&ca, &key, principals, validity);
    let known = format!("@cert-authority * {}\n", public_of(&ca));
    let lines = format!("HostKey {}\nHostCertificate {}-cert.pub", key.display(), key.display());
    (builder.host_kinds(&[]).line(lines).start(), known)
}

#[test]
fn a_host_certificate_of_a_trusted_authority_is_accepted() {
    let (sshd, known) = certified("127.0.0.1", "-1d:+1d");
    accepted(&sshd, &known);
    strict(&sshd, "").failed(77, "host_key_unknown");
}

#[test]
fn a_host_certificate_for_another_name_or_another_time_is_refused() {
    for (principals, validity) in [("elsewhere.example", "-1d:+1d"), ("127.0.0.1", "20200101:20210101")] {
        let (sshd, known) = certified(principals, validity);
        let run = strict(&sshd, &known);
        let said = run.json();
        assert_eq!(said.exit(), 77, "{run}");
        assert_eq!(said["error"]["phase"], "host_key", "{run}");
    }
}

#[test]
fn a_host_certificate_of_another_authority_is_unknown() {
    let (sshd, _) = certified("127.0.0.1", "-1d:+1d");
    let scratch = Scratch::new();
    strict(&sshd, &format!("@cert-authority * {}\n", another_key(&scratch))).failed(77, "host_key_unknown");
}

#[test]
fn a_host_with_a_certificate_is_still_known_by_its_plain_key() {
    let (sshd, _) = certified("127.0.0.1", "-1d:+1d");
    let key = public_of(&sshd.scratch().join("certified"));
    accepted(&sshd, &format!("{} {key}\n", name(&sshd)));
}

#[test]
fn the_key_is_looked_up_by_the_name_that_was_typed() {
    let sshd = one_key();
    let line = format!("[localhost]:{} {}\n", sshd.port, sshd.host_lines()[0]);
    let scratch = Scratch::new();
    let file = scratch.file("known_hosts", line);
    let to = |host: &str| -> Cli { sshd.cli("exec -o AddressFamily=inet DEST true").host(host).known_hosts(&file) };
    to("localhost").run().succeeded();
    to("127.0.0.1").run().failed(77, "host_key_unknown");
}
