//! User keys, in the types and the formats that people have them in.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::rig::{Agent, HostKind, Scratch, Sshd, keygen, needs, tool};

/// Makes a key by ssh-keygen with these words, and logs in with it.
fn logs_in(kind: &str, words: &[&str], options: &str) {
    let scratch = Scratch::new();
    let key = scratch.join("key");
    keygen(&key, kind, words);
    let sshd = Sshd::build().authorize(&key).start();
    let run = sshd.cli(&format!("exec {options} DEST 'echo in'")).identity(&key).env("PHRASE", "open sesame").run();
    assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
    run.never_shows("open sesame");
}

#[test]
fn an_ed25519_key_logs_in() {
    logs_in("ed25519", &[], "");
}

#[test]
fn an_ecdsa_key_logs_in_in_each_format() {
    for format in [&[] as &[&str], &["-m", "PEM"], &["-m", "PKCS8"]] {
        logs_in("ecdsa", format, "");
    }
}

#[test]
fn an_rsa_key_logs_in_in_each_format() {
    for format in [&[] as &[&str], &["-m", "PEM"], &["-m", "PKCS8"]] {
        logs_in("rsa", format, "");
    }
}

#[test]
fn an_rsa_key_logs_in_where_the_host_has_only_an_rsa_key() {
    let scratch = Scratch::new();
    let key = scratch.join("key");
    keygen(&key, "rsa", &["-m", "PEM"]);
    let sshd = Sshd::build().host_kinds(&[HostKind::Rsa]).authorize(&key).start();
    let run = sshd.cli("exec DEST 'echo in'").identity(&key).run();
    assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
    assert!(sshd.log().contains("Accepted publickey"), "{}", sshd.log());
}

#[test]
fn an_encrypted_key_is_opened_by_its_passphrase() {
    for (kind, format) in [
        ("ed25519", &["-N", "open sesame"] as &[&str]),
        ("rsa", &["-N", "open sesame"]),
        ("rsa", &["-N", "open sesame", "-m", "PEM"]),
        ("rsa", &["-N", "open sesame", "-m", "PKCS8"]),
        ("ecdsa", &["-N", "open sesame", "-m", "PKCS8"]),
    ] {
        logs_in(kind, format, "--passphrase env:PHRASE");
    }
}

#[test]
fn an_encrypted_key_without_its_passphrase_says_so() {
    let scratch = Scratch::new();
    let sshd = Sshd::start();
    for (name, format) in [("openssh", &[] as &[&str]), ("pem", &["-m", "PEM"]), ("pkcs8", &["-m", "PKCS8"])] {
        let key = scratch.join(name);
        keygen(&key, "rsa", &[&["-N", "open sesame"], format].concat());
        let run = sshd.cli("exec DEST true").identity(&key).run();
        let said = run.failed(77, "passphrase_required");
        assert!(said.advice().contains("--passphrase"), "{run}");
        let run =
            sshd.cli("exec --passphrase env:PHRASE DEST true").identity(&key).env("PHRASE", "not the phrase").run();
        // Its text cannot be told from a damaged key in every format.
        run.failed(77, "passphrase_wrong");
        run.never_shows("not the phrase");
    }
}

#[test]
fn a_key_that_others_may_read_is_not_used() {
    let sshd = Sshd::start();
    let scratch = Scratch::new();
    let key = scratch.join("key");
    fs::copy(&sshd.account.key, &key).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let run = sshd.cli("exec DEST true").identity(&key).run();
    assert!(run.failed(66, "key_unreadable").advice().contains("chmod 600"), "{run}");
}

#[test]
fn puttys_format_logs_in() {
    if needs::no_program("puttygen") {
        return;
    }
    for kind in ["ed25519", "rsa", "ecdsa"] {
        for version in ["2", "3"] {
            let scratch = Scratch::new();
            let plain = scratch.join("key");
            keygen(&plain, kind, &[]);
            let sshd = Sshd::build().authorize(&plain).start();
            let phrase = scratch.file("phrase", "open sesame\n");
            let clear = putty(&plain, version, None);
            sshd.cli("exec DEST true").identity(&clear).run().succeeded();
            let locked = putty(&plain, version, Some(&phrase));
            let run =
                sshd.cli("exec --passphrase env:PHRASE DEST true").identity(&locked).env("PHRASE", "open sesame").run();
            run.succeeded();
        }
    }
}

/// The key in PuTTY's format, encrypted when there is a file with a passphrase.
fn putty(key: &Path, version: &str, phrase: Option<&Path>) -> PathBuf {
    let out = key.with_extension(if phrase.is_some() { "locked.ppk" } else { "ppk" });
    let (from, to, how) = (key.to_str().unwrap(), out.to_str().unwrap(), format!("version={version}"));
    let mut words = vec![from, "-O", "private", "-o", to, "--ppk-param", &how];
    let phrase = phrase.map(|file| file.to_str().unwrap());
    words.extend(["--new-passphrase", phrase.unwrap_or("/dev/null")]);
    tool("puttygen", &words);
    out
}

#[test]
fn the_keys_text_may_come_from_the_environment() {
    let sshd = Sshd::start();
    let text = fs::read_to_string(&sshd.account.key).unwrap();
    let run = sshd.cli("exec -i env:DEPLOY_KEY DEST 'echo in'").no_identity().env("DEPLOY_KEY", text).run();
    assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
}

#[test]
fn a_key_in_the_agent_logs_in() {
    let sshd = Sshd::start();
    for kind in ["ed25519", "rsa"] {
        let scratch = Scratch::new();
        let key = scratch.join("key");
        keygen(&key, kind, &[]);
        let sshd = Sshd::build().authorize(&key).start();
        let agent = Agent::start();
        agent.add(&key);
        let run = sshd.cli("exec DEST 'echo in'").no_identity().env("SSH_AUTH_SOCK", agent.socket()).run();
        assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
    }
    let agent = Agent::start();
    agent.add(&sshd.account.key);
    let run = sshd.cli("exec --detail DEST true").no_identity().env("SSH_AUTH_SOCK", agent.socket()).run();
    run.succeeded();
}

#[test]
fn an_agent_that_is_not_there_does_no_harm_to_a_key_file() {
    let sshd = Sshd::start();
    sshd.cli("exec DEST true").env("SSH_AUTH_SOCK", "/no/such/agent").run().succeeded();
}

#[test]
fn the_public_half_as_identity_uses_the_agents_key() {
    let sshd = Sshd::start();
    let agent = Agent::start();
    agent.add(&sshd.account.key);
    let scratch = Scratch::new();
    let public = scratch.join("only.pub");
    fs::copy(format!("{}.pub", sshd.account.key.display()), &public).unwrap();
    sshd.cli("exec DEST true").identity(&public).env("SSH_AUTH_SOCK", agent.socket()).run().succeeded();
}

#[test]
fn a_key_file_that_is_not_there_is_key_unreadable() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST true").identity(Path::new("/no/such/key")).run();
    let said = run.failed(66, "key_unreadable");
    assert!(said.advice().contains("/no/such/key"), "{run}");
}

#[test]
fn a_key_file_that_is_no_key_is_key_malformed() {
    let sshd = Sshd::start();
    let scratch = Scratch::new();
    let whole = fs::read_to_string(&sshd.account.key).unwrap();
    let cut: String = whole.chars().take(whole.len() / 2).collect();
    for content in
        ["garbage\n", "", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n", &cut]
    {
        let key = scratch.file("key", content);
        // A key that others may read is another complaint.
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let run = sshd.cli("exec DEST true").identity(&key).run();
        let said = run.failed(65, "key_malformed");
        assert!(said.advice().contains(key.to_str().unwrap()), "{run}");
    }
}
