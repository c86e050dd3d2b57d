//! Each refusal of sudo by its own name: soon, with nothing run, and with one try of the password.

use std::time::Duration;

use crate::rig::{Account, Run, wait};
use crate::sudo::Host;

const ALL: &str = "USER ALL=(ALL) ALL";

/// Runs something that would leave a trace, and sees that it was refused so.
fn refused(host: &Host, options: &str, exit: i64, code: &str) -> Run {
    let trace = host.sshd.shared_dir().join("trace");
    let run = host.run(&format!("sudo-exec {options} DEST 'touch {}'", trace.display()));
    let said = run.failed(exit, code);
    assert_eq!((&said["started"], &said["outcome"]), (&"no".into(), &"not_started".into()), "{run}");
    assert_eq!(said["error"]["class"], "permanent", "{run}");
    assert!(run.elapsed < Duration::from_secs(15) && !trace.exists(), "{run}");
    run.never_shows(host.sshd.account.password());
    run
}

#[test]
fn without_a_password_or_with_a_wrong_one() {
    for (name, more) in
        [("sudo-no", "Defaults:USER !insults"), ("sudo-no-pty", "Defaults:USER use_pty, passwd_tries=1")]
    {
        let Some(host) = Host::with(name, &[ALL, more]) else { return };
        let run = refused(&host, "", 77, "sudo_password_required");
        assert!(run.json().advice().contains("--sudo-password"), "{run}");
        let run = refused(&host, "--sudo-password env:BAD", 77, "sudo_password_wrong");
        run.never_shows("not-this-one");
        refused(&host, "--pty --sudo-password env:BAD", 77, "sudo_password_wrong").never_shows("not-this-one");
    }
}

#[test]
fn a_wrong_password_is_tried_once() {
    let Some(account) = Account::spoilt_with("sudo-once", "/bin/bash") else { return };
    // A sudo that writes down what it reads, and asks three times as the real one does.
    let (bin, log) = (account.home.join("bin"), account.home.join("log"));
    std::fs::create_dir_all(&bin).unwrap();
    let _ = std::fs::remove_file(&log);
    let fake = format!(
        "#!/bin/sh\nfor i in 1 2 3; do printf '%s' \"$3\" >&2; read -r line || break; echo \"$line\" >>{}; done\n\
         echo 'sudo: 3 incorrect password attempts' >&2; exit 1\n",
        log.display()
    );
    let sudo = bin.join("sudo");
    std::fs::write(&sudo, fake).unwrap();
    std::fs::set_permissions(&sudo, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    account.owns(&account.home.clone());
    std::fs::write(account.home.join(".bashrc"), format!("PATH={}:$PATH\n", bin.display())).unwrap();
    let Some(host) = Host::of(account, &[ALL]) else { return };
    refused(&host, "--sudo-password env:BAD", 77, "sudo_password_wrong");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "not-this-one\n");
}

#[test]
fn not_in_the_sudoers_file_or_not_for_this() {
    let Some(host) = Host::with("sudo-none", &["# nothing"]) else { return };
    let run = refused(&host, "--sudo-password env:PW", 77, "sudo_not_permitted");
    assert!(run.json().advice().contains("not in the sudoers file"), "{run}");
    drop(host);
    let Some(host) = Host::with("sudo-none", &["USER ALL=(root) NOPASSWD: /usr/bin/id", "USER ALL=(daemon) ALL"])
    else {
        return;
    };
    let run = refused(&host, "--sudo-password env:PW", 77, "sudo_not_permitted");
    assert!(
        run.json().advice().contains("execute a shell as root") && run.json().advice().contains("--sudo-direct"),
        "{run}"
    );
    assert!(!run.json().text().contains("_sc"), "{run}");
    refused(&host, "--as bin --sudo-password env:PW", 77, "sudo_not_permitted");
    let run = refused(&host, "--as no-such-user --sudo-password env:PW", 77, "sudo_not_permitted");
    assert!(run.json().advice().contains("no-such-user"), "{run}");
}

#[test]
fn a_terminal_where_it_is_required() {
    let Some(host) = Host::with("sudo-tty", &[ALL, "Defaults:USER requiretty"]) else { return };
    let run = refused(&host, "--sudo-password env:PW", 77, "sudo_requires_tty");
    assert!(run.json().advice().contains("--pty"), "{run}");
    refused(&host, "", 77, "sudo_requires_tty");
    let run = host.run("sudo-exec --pty --sudo-password env:PW DEST 'id -un; cat'");
    assert_eq!(run.succeeded().stdout(), "root\r\n", "{run}");
    refused(&host, "--pty --sudo-password env:BAD", 77, "sudo_password_wrong");
}

#[test]
fn no_sudo_at_all() {
    let Some(account) = Account::spoilt_with("sudo-gone", "/bin/bash") else { return };
    let bin = account.home.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let _ = std::os::unix::fs::symlink("/bin/sh", bin.join("sh"));
    std::fs::write(account.home.join(".bashrc"), format!("PATH={}\n", bin.display())).unwrap();
    let Some(host) = Host::of(account, &[ALL]) else { return };
    refused(&host, "--sudo-password env:PW", 69, "sudo_not_found");
    let run = host.run("su-exec DEST true");
    assert_eq!(run.failed(69, "su_not_found")["started"], "no", "{run}");
}

#[test]
fn an_account_that_expired_meanwhile_or_whose_password_did() {
    for (name, spoil, restore, code) in [
        ("sudo-expired", ["usermod", "-e", "1"], ["usermod", "-e", ""], "account_expired"),
        ("sudo-pw-expired", ["chage", "-d", "0"], ["chage", "-d", "20000"], "password_expired"),
    ] {
        let Some(account) = Account::spoilt_with(name, "/bin/bash") else { return };
        let change = |words: [&str; 3]| crate::rig::tool(words[0], &[words[1], words[2], &account.name]);
        change(restore);
        // sshd would not let such an account in: it happens after the login.
        let (waits, go) = (account.home.join("waits"), account.home.join("go"));
        let _ = (std::fs::remove_file(&waits), std::fs::remove_file(&go));
        let text = format!("touch {}; while [ ! -e {} ]; do sleep 0.05; done\n", waits.display(), go.display());
        std::fs::write(account.home.join(".bashrc"), text).unwrap();
        account.owns(&account.home);
        let Some(host) = Host::of(account.clone(), &[ALL]) else { return };
        let running = host.cli("sudo-exec --sudo-password env:PW DEST id").start();
        let there = wait::eventually(Duration::from_secs(20), || waits.exists());
        change(spoil);
        std::fs::write(&go, "").unwrap();
        let run = running.finish();
        change(restore);
        assert!(there, "{run}");
        assert_eq!(run.failed(77, code)["started"], "no", "{run}");
        assert!(run.elapsed < Duration::from_secs(30), "{run}");
    }
}
