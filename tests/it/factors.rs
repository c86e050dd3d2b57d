//! Certificates, second factors, and agents with too many keys.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::rig::{Account, Agent, Scratch, Sshd, Stdin, keygen, needs, tool, wait};

/// A fresh key with a certificate beside it, signed by a fresh authority. `validity` as ssh-keygen's `-V`.
fn certified(scratch: &Scratch, kind: &str, principals: &str, validity: &str) -> (PathBuf, PathBuf) {
    let (authority, key) = (scratch.join(&format!("ca-{kind}")), scratch.join(&format!("id-{kind}")));
    keygen(&authority, "ed25519", &[]);
    keygen(&key, kind, &[]);
    let public = format!("{}.pub", key.display());
    let signer = authority.display().to_string();
    tool("ssh-keygen", &["-q", "-s", &signer, "-I", "the badge", "-n", principals, "-V", validity, &public]);
    (authority, key)
}

fn trusting(authority: &Path) -> Sshd {
    Sshd::build().line(format!("TrustedUserCAKeys {}.pub", authority.display())).start()
}

#[test]
fn a_certificate_beside_the_key_logs_in() {
    let scratch = Scratch::new();
    let name = Sshd::start().account.name.clone();
    for kind in ["ed25519", "rsa", "ecdsa"] {
        let (authority, key) = certified(&scratch, kind, &name, "-1h:+1h");
        let sshd = trusting(&authority);
        let run = sshd.cli("exec --detail DEST 'echo in'").identity(&key).run();
        let said = run.succeeded();
        assert!(said["target"]["auth"].as_str().unwrap().contains("the badge"), "{run}");
        // The log is collected beside us, and may be a moment behind.
        let logged = || sshd.log().contains("-CERT");
        assert!(wait::eventually(Duration::from_secs(5), logged), "{}", sshd.log());
    }
}

#[test]
fn an_expired_certificate_is_said_with_what_it_says() {
    let scratch = Scratch::new();
    let name = Sshd::start().account.name.clone();
    let (authority, key) = certified(&scratch, "ed25519", &name, "-2h:-1h");
    let sshd = trusting(&authority);
    let run = sshd.cli("exec DEST true").identity(&key).run();
    assert!(run.failed(77, "cert_expired").advice().contains("the badge"), "{run}");
}

#[test]
fn a_certificate_for_somebody_else_is_said_with_whom_it_names() {
    let scratch = Scratch::new();
    let (authority, key) = certified(&scratch, "ed25519", "somebody-else", "-1h:+1h");
    let sshd = trusting(&authority);
    let run = sshd.cli("exec DEST true").identity(&key).run();
    assert!(run.failed(77, "cert_principal").advice().contains("somebody-else"), "{run}");
}

#[test]
fn an_agent_certificate_logs_in() {
    let scratch = Scratch::new();
    let name = Sshd::start().account.name.clone();
    let (authority, key) = certified(&scratch, "ed25519", &name, "-1h:+1h");
    let sshd = trusting(&authority);
    let agent = Agent::start();
    agent.add(&key);
    let run = sshd.cli("exec DEST 'echo in'").no_identity().env("SSH_AUTH_SOCK", agent.socket()).run();
    assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
}

#[test]
fn keyboard_interactive_is_answered_with_the_password() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::build().line("PasswordAuthentication no").line("KbdInteractiveAuthentication yes").start();
    let password = sshd.account.password.clone().unwrap();
    let run = sshd.cli("exec --detail --password env:PW DEST 'echo in'").no_identity().env("PW", &password).run();
    let said = run.succeeded();
    assert_eq!(said["target"]["auth"], "keyboard-interactive", "{run}");
    run.never_shows(&password);
    let run = sshd.cli("exec --password env:PW DEST true").no_identity().env("PW", "wrong-91").run();
    run.failed(77, "auth_failed");
    run.never_shows("wrong-91");
}

#[test]
fn a_key_and_then_keyboard_interactive_are_both_given() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::build()
        .line("AuthenticationMethods publickey,keyboard-interactive")
        .line("KbdInteractiveAuthentication yes")
        .start();
    let password = sshd.account.password.clone().unwrap();
    let run = sshd.cli("exec --password env:PW DEST 'echo in'").env("PW", &password).run();
    assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
    // Without it, the refusal names what is missing, at once.
    let run = sshd.cli("exec DEST true").run();
    assert!(run.failed(77, "password_required").advice().contains("--password"), "{run}");
}

#[test]
fn seven_wrong_keys_in_the_agent_do_no_harm_where_the_right_one_is_named() {
    let sshd = Sshd::build().line("MaxAuthTries 6").start();
    let scratch = Scratch::new();
    let agent = Agent::start();
    for n in 0..7 {
        let key = scratch.join(&format!("wrong-{n}"));
        keygen(&key, "ed25519", &[]);
        agent.add(&key);
    }
    let run = sshd.cli("exec DEST 'echo in'").env("SSH_AUTH_SOCK", agent.socket()).run();
    assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
    agent.add(&sshd.account.key);
    let run = sshd.cli("exec DEST 'echo in'").no_identity().env("SSH_AUTH_SOCK", agent.socket()).run();
    let said = run.failed(77, "auth_failed");
    assert!(said.advice().contains("Too many authentication failures"), "{run}");
    assert!(said.text().matches("SHA256:").count() >= 5, "the keys that were offered: {run}");
}

#[test]
fn an_expired_account_is_told_from_a_wrong_password() {
    let Some(account) = Account::spoilt("expired") else { return };
    tool("chage", &["-E", "1970-01-02", &account.name]);
    let sshd = Sshd::build().account(account).start();
    let run = sshd.cli("exec DEST true").run();
    run.failed(77, "account_expired");
}

#[test]
fn a_password_that_must_be_changed_is_told_from_a_wrong_one() {
    let Some(account) = Account::spoilt("must-change") else { return };
    tool("chage", &["-d", "0", &account.name]);
    let password = account.password.clone().unwrap();
    let sshd = Sshd::build().account(account).line("KbdInteractiveAuthentication yes").start();
    // Let in by the key, the session says it; asked by PAM, the prompt does.
    sshd.cli("exec DEST true").run().failed(77, "password_expired");
    let options = "-o PreferredAuthentications=keyboard-interactive --password env:PW";
    let run = sshd.cli(&format!("exec {options} DEST true")).env("PW", &password).run();
    run.failed(77, "password_expired");
    run.never_shows(&password);
}

#[test]
fn secrets_come_from_askpass_and_from_descriptors() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::start();
    let password = sshd.account.password.clone().unwrap();
    let scratch = Scratch::new();
    let asker = scratch.file("asker", format!("#!/bin/sh\ncase $1 in *assword*) echo '{password}';; esac\n"));
    tool("chmod", &["700", asker.to_str().unwrap()]);
    let run = sshd.cli("exec --password askpass DEST 'echo in'").no_identity().env("SSH_ASKPASS", &asker).run();
    assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
    run.never_shows(&password);
    let line = sshd.cli("exec --password fd:7 DEST 'echo in'").no_identity();
    let secret = scratch.file("secret", format!("{password}\n"));
    let out = std::process::Command::new("sh")
        .args(["-c", &format!("exec 7<{}; {}", secret.display(), line.spelled())])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    // None of them waits for somebody who is not there.
    for source in ["askpass", "prompt"] {
        let cli = sshd.cli(&format!("exec --password {source} DEST true")).no_identity().stdin(Stdin::Null);
        let run = cli.run();
        assert_eq!(run.failed(66, "secret_source_empty")["started"], "no", "{run}");
        assert!(run.json().advice().contains("--password"), "{run}");
    }
}
