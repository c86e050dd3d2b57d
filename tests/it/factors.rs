//! Certificates, second factors, and agents with too many keys.

use std::path::{Path, PathBuf};

use crate::rig::{Agent, Scratch, Sshd, keygen, needs, tool};

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
        assert!(sshd.log().contains("-CERT"), "{}", sshd.log());
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
