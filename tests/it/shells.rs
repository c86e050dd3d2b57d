//! What needs a POSIX shell there, under each login shell that an account may have.

use crate::rig::{Account, FakeSsh, Scratch, Script, Sshd, random_hex};

/// A server whose account has this login shell. None, said aloud, where there is none.
fn with_shell(shell: &str) -> Option<Sshd> {
    Account::with_shell(shell).map(|account| Sshd::build().account(account).start())
}

/// The same command lines for every shell; the text of one word is in the login shell's own language, so it is kept to what all
/// of them understand. `posix` is false for those that read quotes in a way of their own.
fn all_of_it_works(shell: &str, posix: bool) {
    let Some(sshd) = with_shell(shell) else { return };
    let said = |line: &str| {
        let run = sshd.cli(line).run();
        run.succeeded().stdout().to_owned()
    };
    assert_eq!(said("exec DEST 'echo plain'"), "plain\n");
    if posix {
        let line = r#"exec DEST printf '%s|' 'a b' '' "it's" '$HOME `id`' '*' 'a!b' 'c\d' '"' '-n'"#;
        assert_eq!(said(line), "a b||it's|$HOME `id`|*|a!b|c\\d|\"|-n|");
    }
    assert_eq!(said("exec --cwd /usr/bin DEST pwd"), "/usr/bin\n");
    let line = r#"exec --env 'ODD=a  b'"'"'c!"$x\' --env E= DEST 'printenv ODD; printenv E'"#;
    assert_eq!(said(line), "a  b'c!\"$x\\\n\n");
    assert_eq!(said("exec --cwd / --env A=1 DEST 'pwd; echo $A; exit 0'"), "/\n1\n");
    assert_eq!(said("exec --login DEST 'echo in'"), "in\n");
    assert!(said("exec --pty DEST 'test -t 0 && test -t 1 && echo terminal'").contains("terminal"));
    let scratch = Scratch::new();
    let script = scratch.file("script", r#"printf '%s|' "$@"; echo "a!b" 'c$d' "e'f" 'é' "$(echo '\n')""#);
    let line = format!(r#"exec --script {} DEST one 'two  three' '$4' "it's" 'a!b'"#, script.display());
    assert!(said(&line).starts_with("one|two  three|$4|it's|a!b|a!b c$d e'f é "), "{shell}");
    let run = sshd.cli("exec --secret-env TOKEN=env:T DEST 'printenv TOKEN'").env("T", "p'q\"r $s!\\").run();
    assert_eq!(run.succeeded().stdout(), "p'q\"r $s!\\\n", "{run}");
}

#[test]
fn bash_as_login_shell() {
    all_of_it_works("bash", true);
}

#[test]
fn dash_as_login_shell() {
    all_of_it_works("dash", true);
}

#[test]
fn zsh_as_login_shell() {
    all_of_it_works("zsh", true);
}

#[test]
fn ksh_as_login_shell() {
    all_of_it_works("ksh", true);
}

#[test]
fn mksh_as_login_shell() {
    all_of_it_works("mksh", true);
}

#[test]
fn busybox_as_login_shell() {
    all_of_it_works("busybox", true);
}

#[test]
fn fish_as_login_shell() {
    all_of_it_works("fish", false);
}

#[test]
fn tcsh_as_login_shell() {
    all_of_it_works("tcsh", false);
}

#[test]
fn login_reads_the_profile_and_plain_exec_does_not() {
    // No other test logs in to this account with `--login` and looks at its environment.
    let Some(account) = Account::with_shell("dash") else { return };
    let profile = account.home.join(".profile");
    std::fs::write(&profile, "FROM_PROFILE=yes; export FROM_PROFILE\n").unwrap();
    let sshd = Sshd::build().account(account).start();
    let run = sshd.cli("exec --login DEST 'echo [$FROM_PROFILE]'").run();
    assert_eq!(run.succeeded().stdout(), "[yes]\n", "{run}");
    let run = sshd.cli("exec DEST 'echo [$FROM_PROFILE]'").run();
    assert_eq!(run.succeeded().stdout(), "[]\n", "{run}");
}

#[test]
fn a_terminal_joins_the_streams() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --pty DEST 'echo out; echo err >&2'").run();
    let said = run.succeeded();
    assert!(said.stdout().contains("out") && said.stdout().contains("err") && said.stderr().is_empty(), "{run}");
}

#[test]
fn gear_without_a_posix_shell_is_told_from_a_command_that_failed() {
    let script = Script { output: "% Unknown command\r\n", status: Some(1), ..Script::default() };
    let server = FakeSsh::start(script);
    for option in ["--cwd /", "--env A=1", "--login"] {
        let run = server.cli(&format!("exec {option} DEST 'show version'")).run();
        run.failed(69, "no_posix_shell");
    }
    let run = server.cli("exec DEST 'show version'").run();
    assert_eq!(run.failed(1, "remote_exit").stdout(), "% Unknown command\r\n", "{run}");
}

#[test]
fn a_directory_that_is_not_there_starts_nothing() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --cwd /no/such/directory DEST 'echo ran'").run();
    let said = run.json();
    assert!(said.exit() != 0 && !said.stdout().contains("ran"), "{run}");
    assert!(said.advice().contains("/no/such/directory"), "{run}");
}

#[test]
fn names_that_are_none_are_usage_errors() {
    let sshd = Sshd::start();
    for option in [
        "--env NOVALUE",
        "--env '1X=a'",
        "--env 'A B=c'",
        "--env '=x'",
        "--secret-env TOKEN",
        "--secret-env TOKEN=bare",
    ] {
        let run = sshd.cli(&format!("exec {option} DEST true")).run();
        assert_eq!(run.json().exit(), 64, "{run}");
    }
}

#[test]
fn a_secret_for_the_command_is_seen_by_nobody_else() {
    for line in ["", "AcceptEnv TOKEN"] {
        let sshd = Sshd::build().line(line).start();
        let secret = format!("s3cret-{}", random_hex(8));
        let scratch = Scratch::new();
        let file = scratch.file("token", format!("{secret}\n"));
        let line = format!("exec --secret-env TOKEN=file:{} DEST 'echo ${{#TOKEN}}; sleep 1.7'", file.display());
        let mut running = sshd.cli(&line).start();
        sshd.wait_until_runs("sleep 1.7");
        running.look();
        let remote = sshd.session_processes();
        let run = running.finish();
        assert_eq!(run.succeeded().stdout(), format!("{}\n", secret.len()), "{run}");
        run.never_shows(&secret);
        assert!(!remote.iter().any(|(_, words)| words.contains(&secret)), "{remote:?}");
        assert!(!sshd.log().contains(&secret), "{}", sshd.log());
    }
}
