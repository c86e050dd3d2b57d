//! `su-exec` with the real su.

use std::time::Duration;

use crate::rig::{Account, Run, Sshd, Stdin, proc, random_hex, tool, wait};

/// A server for one account, and another account to become.
struct Host {
    sshd: Sshd,
    other: Account,
}

impl Host {
    fn with(name: &str, shell: &str) -> Option<Self> {
        let account = Account::spoilt_with(&format!("{name}-a"), "/bin/bash")?;
        let other = Account::spoilt_with(&format!("{name}-b"), shell)?;
        Some(Self { sshd: Sshd::build().account(account).start(), other })
    }

    fn run_with(&self, options: &str, command: &str, stdin: Stdin) -> Run {
        self.sshd
            .cli(&format!("su-exec --as {} {options} DEST {command}", self.other.name))
            .env("PW", self.other.password())
            .env("BAD", "not-this-one")
            .stdin(stdin)
            .run()
    }

    fn run(&self, options: &str, command: &str) -> Run {
        self.run_with(options, command, Stdin::Null)
    }

    fn refused(&self, options: &str, code: &str) -> Run {
        let trace = self.sshd.shared_dir().join("trace");
        let run = self.run(options, &format!("'touch {}'", trace.display()));
        assert_eq!(run.failed(77, code)["started"], "no", "{run}");
        assert!(run.elapsed < Duration::from_secs(15) && !trace.exists(), "{run}");
        run.never_shows(self.other.password());
        run.never_shows("not-this-one");
        run
    }
}

#[test]
fn the_password_goes_to_su_and_the_input_to_the_command() {
    let Some(host) = Host::with("su-pw", "/bin/bash") else { return };
    let run =
        host.run_with("--su-password env:PW --stdin", "'id -un; echo err >&2; cat'", Stdin::Bytes(b"data".to_vec()));
    let said = run.succeeded();
    let (out, err) = (format!("{}\ndata", host.other.name), "err\n");
    assert_eq!((said.stdout(), said.stderr(), &said["command"]), (out.as_str(), err, &"su-exec".into()), "{run}");
    assert!(said.warnings().is_empty(), "{run}");
    let run = host.run("--su-password env:PW --login --env A='b  c'", "'pwd; echo \"$HOME $A\"'");
    let home = host.other.home.display();
    assert_eq!(run.succeeded().stdout(), format!("{home}\n{home} b  c\n"), "{run}");
    let run = host.run("--su-password env:PW --cwd /usr", "printf '%s|' 'a  b' \"it's\"");
    assert_eq!(run.succeeded().stdout(), "a  b|it's|", "{run}");
    let script = host.sshd.scratch().file("job", "id -un; echo \"$1\"; exit 3");
    let run = host.run(&format!("--su-password env:PW --script {}", script.display()), "one");
    assert_eq!(run.failed(1, "remote_exit").stdout(), format!("{}\none\n", host.other.name), "{run}");
    let run = host.run("--su-password env:PW --pty", "'test -t 0 && cat; echo in'");
    assert_eq!(run.succeeded().stdout(), "in\r\n", "{run}");
}

#[test]
fn each_refusal_has_its_name() {
    let Some(host) = Host::with("su-no", "/bin/sh") else { return };
    host.refused("--su-password env:BAD", "su_password_wrong");
    host.refused("--pty --su-password env:BAD", "su_password_wrong");
    host.refused("", "su_password_required");
    let run = host.sshd.cli("su-exec --as no-such-user DEST id").run();
    assert!(run.failed(77, "su_not_permitted").advice().contains("no-such-user"), "{run}");
    let change = |program: &str, words: &[&str]| tool(program, &[words, &[&host.other.name]].concat());
    change("usermod", &["-s", "/usr/sbin/nologin"]);
    let run = host.refused("--su-password env:PW", "su_not_permitted");
    change("usermod", &["-s", "/bin/sh"]);
    assert!(run.json().advice().contains("not available"), "{run}");
    change("usermod", &["-e", "1"]);
    host.refused("--su-password env:PW", "account_expired");
    change("usermod", &["-e", ""]);
    change("chage", &["-d", "0"]);
    host.refused("--su-password env:PW", "password_expired");
    change("chage", &["-d", "20000"]);
}

#[test]
fn any_shell_of_the_other_user_will_do() {
    for shell in ["bash", "zsh", "ksh", "mksh", "fish", "tcsh"] {
        let Some(path) = crate::rig::needs::program(shell) else { continue };
        let Some(host) = Host::with(&format!("su-{shell}"), path.to_str().unwrap()) else { return };
        let run = host.run("--su-password env:PW --env A='b  c'", "'printenv A; id -un'");
        assert_eq!(run.succeeded().stdout(), format!("b  c\n{}\n", host.other.name), "{shell}: {run}");
    }
}

#[test]
fn a_su_that_insists_on_a_terminal_gets_one() {
    let Some(host) = Host::with("su-tty", "/bin/sh") else { return };
    let home = &host.sshd.account.home;
    let bin = home.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let strict =
        "#!/bin/sh\n[ -t 0 ] || { echo 'su: must be run from a terminal' >&2; exit 1; }\nexec /bin/su \"$@\"\n";
    std::fs::write(bin.join("su"), strict).unwrap();
    std::fs::set_permissions(bin.join("su"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(home.join(".bashrc"), format!("PATH={}:$PATH\n", bin.display())).unwrap();
    let run = host.run("--su-password env:PW", "'id -un; printf \"a\\nb\\n\"; echo err >&2; cat'");
    let said = run.succeeded();
    assert_eq!(said.stdout(), format!("{}\na\nb\nerr\n", host.other.name), "{run}");
    assert_eq!(said.warnings(), ["streams_merged"], "{run}");
    run.never_shows(host.other.password());
    host.refused("--su-password env:BAD", "su_password_wrong");
    // The command's input has no way through such a terminal.
    let run = host.run_with("--su-password env:PW --stdin", "cat", Stdin::Bytes(b"data".to_vec()));
    assert_eq!(run.failed(77, "su_not_permitted")["started"], "no", "{run}");
}

#[test]
fn root_needs_no_password() {
    let Some(account) = Account::spoilt("su-root") else { return };
    let mut root = account.clone();
    root.name = "root".into();
    let sshd = Sshd::build().account(root).line("PermitRootLogin yes").start();
    let run = sshd.cli(&format!("su-exec --as {} DEST 'id -un; cat'", account.name)).run();
    assert_eq!(run.succeeded().stdout(), format!("{}\n", account.name), "{run}");
}

#[test]
fn a_time_limit_reaches_it() {
    let Some(host) = Host::with("su-stop", "/bin/sh") else { return };
    let tag = format!("41.{}", u32::from_str_radix(&random_hex(3), 16).unwrap() + 100_000_000);
    let run = host.run("--timeout 1s --su-password env:PW", &format!("'sh -c \"sleep {tag} & wait\"'"));
    let said = run.failed(1, "timeout");
    assert_eq!(said["outcome"], "stopped", "{run}");
    assert!(wait::eventually(Duration::from_secs(3), || !proc::anything_runs(&tag)), "{run}");
}
