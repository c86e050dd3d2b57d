//! Logging in without a key, and not being let in.

use crate::rig::{Scratch, Sshd, Stdin, keygen, needs, wait};

#[test]
fn a_password_from_each_source_logs_in_and_is_not_shown() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::start();
    let password = sshd.account.password.clone().unwrap();
    let scratch = Scratch::new();
    let file = scratch.file("password", format!("{password}\n"));
    for source in [format!("file:{}", file.display()), format!("'cmd:cat {}'", file.display()), "stdin".into()] {
        let cli = sshd.cli(&format!("exec --password {source} DEST 'echo in'")).no_identity();
        let cli = if source == "stdin" { cli.stdin(Stdin::Bytes(format!("{password}\n").into())) } else { cli };
        let run = cli.run();
        assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
        run.never_shows(&password);
    }
    let run = sshd.cli("exec --password env:PW DEST 'echo in; env'").no_identity().env("PW", &password).run();
    run.succeeded();
    run.never_shows(&password);
    let logged = || sshd.log().contains("Accepted password");
    assert!(wait::eventually(std::time::Duration::from_secs(5), logged), "{}", sshd.log());
}

#[test]
fn a_wrong_password_is_refused_once_with_the_methods_that_there_were() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --password env:PW DEST true").no_identity().env("PW", "wrong-7f3a").run();
    let said = run.failed(77, "auth_failed");
    assert!(said.text().contains("password") && said.text().contains("publickey"), "{run}");
    run.never_shows("wrong-7f3a");
    assert_eq!(sshd.log().matches("Failed password").count(), 1, "one attempt, no lockout: {}", sshd.log());
}

#[test]
fn a_key_that_is_not_authorised_is_refused_and_named() {
    let sshd = Sshd::start();
    let scratch = Scratch::new();
    let key = scratch.join("stranger");
    keygen(&key, "ed25519", &[]);
    let run = sshd.cli("exec DEST true").identity(&key).run();
    let said = run.failed(77, "auth_failed");
    assert!(said.text().contains("stranger") || said.text().contains("SHA256:"), "{run}");
    assert!(said.text().contains("publickey"), "{run}");
}

#[test]
fn a_server_that_wants_a_password_gets_no_prompt() {
    let sshd = Sshd::build().line("PubkeyAuthentication no").start();
    let run = sshd.cli("exec DEST true").run();
    let said = run.json();
    assert_eq!(said.exit(), 77, "{run}");
    assert!(said.advice().contains("--password"), "{run}");
}

#[test]
fn a_secret_source_that_is_empty_is_said() {
    let sshd = Sshd::start();
    for source in ["env:NOT_SET", "file:/dev/null", "cmd:true"] {
        let run = sshd.cli(&format!("exec --password {source} DEST true")).no_identity().run();
        assert_eq!(run.json().exit(), 66, "{run}");
    }
}

#[test]
fn a_key_and_a_password_are_both_given_where_both_are_wanted() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::build().line("AuthenticationMethods publickey,password").start();
    let password = sshd.account.password.clone().unwrap();
    let run = sshd.cli("exec --password env:PW DEST 'echo in'").env("PW", &password).run();
    assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
    let run = sshd.cli("exec DEST true").run();
    assert_eq!(run.json().exit(), 77, "{run}");
}

#[test]
fn an_account_that_is_not_there_is_refused_like_any_other() {
    let sshd = Sshd::start();
    sshd.cli("exec DEST true").user("no-such-account").run().failed(77, "auth_failed");
}
