//! `sudo-exec` with a real sudo: who gets the password, what the command gets, and how it is stopped.

use std::time::{Duration, Instant};

use crate::rig::{Account, Cli, Run, Sshd, Stdin, Sudoers, needs, proc, random_hex, wait};

/// A server for an account of this test's own, what sudo permits it, and a file with its password.
pub struct Host {
    pub sshd: Sshd,
    _sudoers: Sudoers,
}

impl Host {
    /// None, said aloud, where it cannot be had.
    pub fn with(name: &str, lines: &[&str]) -> Option<Self> {
        Self::of(Account::spoilt(name)?, lines)
    }

    pub fn of(account: Account, lines: &[&str]) -> Option<Self> {
        let sudoers = Sudoers::of(&account, lines)?;
        Some(Self { sshd: Sshd::build().account(account).line("AcceptEnv LC_*").start(), _sudoers: sudoers })
    }

    /// `PW` holds the right password, `BAD` a wrong one.
    pub fn cli(&self, line: &str) -> Cli {
        self.sshd.cli(line).env("PW", self.sshd.account.password()).env("BAD", "not-this-one")
    }

    pub fn run(&self, line: &str) -> Run {
        self.cli(line).run()
    }

    fn said(&self, line: &str) -> String {
        self.run(line).succeeded().stdout().to_owned()
    }
}

const ALL: &str = "USER ALL=(ALL) ALL";
const NOPASSWD: &str = "USER ALL=(ALL) NOPASSWD: ALL";

/// A duration for `sleep` that nobody else uses, by which the process is found again.
fn tag() -> String {
    format!("40.{}", u32::from_str_radix(&random_hex(3), 16).unwrap() + 100_000_000)
}

#[test]
fn where_sudo_does_not_ask_nobody_gets_the_password() {
    let Some(host) = Host::with("sudo-c08", &[NOPASSWD]) else { return };
    let run = host.run("sudo-exec --sudo-password env:PW DEST cat");
    let said = run.succeeded();
    assert_eq!((said.stdout(), said.stderr(), &said["command"]), ("", "", &"sudo-exec".into()), "{run}");
    let data = b"line\nwithout an end".to_vec();
    let run = host.cli("sudo-exec --sudo-password env:PW --stdin DEST cat").stdin(Stdin::Bytes(data)).run();
    assert_eq!(run.succeeded().stdout(), "line\nwithout an end", "{run}");
    assert_eq!(host.said("sudo-exec DEST 'id -un; cat'"), "root\n");
}

#[test]
fn with_a_password_the_command_still_gets_exactly_its_input() {
    let Some(host) = Host::with("sudo-pw", &[ALL]) else { return };
    for _ in 0..2 {
        let run = host
            .cli("sudo-exec --sudo-password env:PW --stdin DEST 'id -un; echo err >&2; cat'")
            .stdin(Stdin::Bytes(b"data\n".to_vec()))
            .run();
        let said = run.succeeded();
        assert_eq!((said.stdout(), said.stderr(), &said["started"]), ("root\ndata\n", "err\n", &"yes".into()), "{run}");
    }
    let megabyte = vec![b'x'; 1 << 20];
    let run = host.cli("sudo-exec --sudo-password env:PW --stdin DEST 'wc -c'").stdin(Stdin::Bytes(megabyte)).run();
    assert_eq!(run.succeeded().stdout().trim(), "1048576", "{run}");
}

#[test]
fn sudo_may_be_set_up_in_many_ways() {
    let ways: [&[&str]; 6] = [
        &[ALL, "Defaults:USER timestamp_timeout=0"],
        &[ALL, "Defaults:USER use_pty"],
        &[ALL, "Defaults:USER use_pty, timestamp_timeout=0, log_output"],
        &[ALL, "Defaults:USER passprompt=\"Passwort bitte: \", passprompt_override, lecture=always"],
        &[ALL, "Defaults:USER !env_reset, timestamp_timeout=60, !tty_tickets"],
        &[NOPASSWD, "Defaults:USER use_pty"],
    ];
    let Some(account) = Account::spoilt("sudo-ways") else { return };
    let sshd = Sshd::build().account(account).line("AcceptEnv LC_*").start();
    for lines in ways {
        let Some(_sudoers) = Sudoers::of(&sshd.account, lines) else { return };
        for _ in 0..2 {
            let line =
                "sudo-exec --sudo-password env:PW --stdin -o SendEnv=LC_* DEST 'id -un; cat; printf %s. \"$LC_ALL\"'";
            let run = sshd
                .cli(line)
                .env("PW", sshd.account.password())
                .env("LC_ALL", "de_DE.UTF-8")
                .stdin(Stdin::Bytes(b"input".to_vec()))
                .run();
            let said = run.succeeded();
            assert_eq!(said.stdout(), "root\ninputde_DE.UTF-8.", "{lines:?}: {run}");
            assert!(!said.stderr().contains("password;"), "{lines:?}: {run}");
        }
    }
}

#[test]
fn all_of_exec_works_elevated() {
    let Some(host) = Host::with("sudo-all", &[ALL]) else { return };
    let pw = "--sudo-password env:PW";
    assert_eq!(
        host.said(&format!("sudo-exec {pw} --as daemon --cwd /usr --env A='b c' DEST 'id -un; pwd; echo $A'")),
        "daemon\n/usr\nb c\n"
    );
    assert_eq!(host.said(&format!("sudo-exec {pw} DEST printf '%s|' 'a b' \"it's\" '$x' '!'")), "a b|it's|$x|!|");
    assert_eq!(host.said(&format!("sudo-exec {pw} --login DEST 'pwd; echo $HOME'")), "/root\n/root\n");
    let run = host.cli(&format!("sudo-exec {pw} --secret-env T=env:T DEST 'echo $T'")).env("T", "s'3").run();
    assert_eq!(run.succeeded().stdout(), "s'3\n", "{run}");
    let script = host.sshd.scratch().file("job.sh", "#!/bin/sh -e\nid -un; echo \"$1\"; exit 7\n");
    let run = host.run(&format!("sudo-exec {pw} --script {} DEST 'one two'", script.display()));
    let said = run.failed(1, "remote_exit");
    assert_eq!((said.stdout(), &said["remote_exit"]), ("root\none two\n", &7.into()), "{run}");
    host.run(&format!("sudo-exec {pw} --cwd /no/such DEST true")).json();
    host.run(&format!("sudo-exec --raw {pw} --output raw DEST 'printf raw; exit 5'")).raw("raw", 5);
    let run = host.run(&format!("sudo-exec {pw} --pty DEST 'test -t 0 && cat && echo terminal'"));
    assert_eq!(run.succeeded().stdout(), "terminal\r\n", "{run}");
}

#[test]
fn eight_mebibytes_come_through_whole() {
    let Some(host) = Host::with("sudo-8m", &[ALL, "Defaults:USER use_pty"]) else { return };
    let run = host.run("sudo-exec --raw --sudo-password env:PW DEST 'head -c 8388608 /dev/zero'");
    assert_eq!((run.code(), run.stdout.len()), (0, 8 << 20));
    assert!(run.stdout.iter().all(|byte| *byte == 0) && run.stderr.is_empty());
}

#[test]
fn a_command_that_speaks_as_we_do_fools_nobody() {
    let Some(host) = Host::with("sudo-fool", &[ALL]) else { return };
    // It reads the marks where everybody could, and prints them all, and then a prompt; then it reads.
    let fool = "n=$(tr '\\0' '\\n' </proc/$PPID/cmdline | sed -n 's/^\\([0-9a-f]\\{32\\}\\):password;$/\\1/p'); \
                for s in next absent 'ready;1 1' start cwd password; do printf '%s:%s;' $n \"$s\"; printf '%s:%s;' $n \"$s\" >&2; done; \
                test ${#n} = 32 && cat";
    let line = format!("sudo-exec --sudo-password env:PW --stdin DEST {}", shlex::try_quote(fool).unwrap());
    let run = host.cli(&line).stdin(Stdin::Bytes(b"only this".to_vec())).run();
    let said = run.succeeded();
    assert!(said.stdout().ends_with(":password;only this") && said.stderr().ends_with(":password;"), "{run}");
    run.never_shows(host.sshd.account.password());
}

#[test]
fn a_start_up_file_that_reads_gets_nothing_of_ours() {
    let Some(account) = Account::spoilt_with("sudo-reads", "/bin/bash") else { return };
    let took = account.home.join("took");
    let text = format!("printf 'Password: ' >&2; head -c 5 >{} & wait; cat {0}\n", took.display());
    // What it starts in the background has no input; what reads at once would wait for ever, as it does without us.
    std::fs::write(account.home.join(".bashrc"), text).unwrap();
    let Some(host) = Host::of(account, &[ALL]) else { return };
    let run = host.run("sudo-exec --sudo-password env:PW DEST 'id -un; cat'");
    assert_eq!(run.succeeded().stdout(), "root\n", "{run}");
    assert_eq!(std::fs::read(took).unwrap(), b"");
}

#[test]
fn nobody_else_sees_the_password() {
    let Some(account) = Account::spoilt("sudo-secret") else { return };
    let Some(_sudoers) = Sudoers::of(&account, &[ALL]) else { return };
    let secret = account.password().to_owned();
    let sshd = Sshd::build().account(account).line("LogLevel DEBUG3").start();
    for form in ["--output json -vvvv --max-output 1k", "--output ndjson"] {
        let tag = tag();
        let file = sshd.scratch().file("pw", format!("{secret}\n"));
        let line = format!("sudo-exec {form} --sudo-password file:{} DEST 'seq 9999; sleep {tag}'", file.display());
        let mut running = sshd.cli(&line).start();
        let sleeps = format!("sleep {tag}");
        assert!(wait::eventually(Duration::from_secs(20), || proc::anything_runs(&sleeps)));
        running.look();
        assert_eq!(proc::whoever_shows(&secret), Vec::<String>::new());
        running.signal(rustix::process::Signal::TERM);
        let run = running.finish();
        run.never_shows(&secret);
        assert!(!sshd.log().contains(&secret));
    }
}

#[test]
fn a_time_limit_reaches_what_is_not_ours() {
    for (name, lines) in [
        ("sudo-stop", &[ALL][..]),
        ("sudo-stop-pty", &[ALL, "Defaults:USER use_pty"]),
        ("sudo-stop-0", &[ALL, "Defaults:USER timestamp_timeout=0"]),
    ] {
        let Some(host) = Host::with(name, lines) else { return };
        for (options, command) in [
            ("", "sh -c \"sleep T & wait\""),
            ("", "trap \"\" INT TERM; sleep T; sleep T"),
            ("", "exec >/dev/null 2>&1; trap \"\" INT TERM; sleep T; sleep T"),
            ("", "setsid sleep T & wait"),
            ("--as daemon", "sleep T; true"),
            ("--pty", "sleep T & wait"),
        ] {
            let tag = tag();
            let limited = |limit: u32| {
                let command = command.replace('T', &tag);
                host.run(&format!("sudo-exec --timeout {limit}s --sudo-password env:PW {options} DEST '{command}'"))
            };
            // On a busy machine sudo may need longer than that to let it in, which is said.
            let slow = |run: &Run| run.json()["started"] == "no" && !proc::anything_runs(&tag);
            let run = [1, 4, 16].into_iter().map(limited).find(|run| !slow(run)).unwrap();
            let said = run.json();
            assert_eq!((said.error_code(), &said["started"]), ("timeout", &"yes".into()), "{run}");
            let rid = wait::eventually(Duration::from_secs(3), || !proc::anything_runs(&tag));
            assert!(rid || said["outcome"] == "unknown", "{lines:?}: it runs, unsaid: {run}");
            if !command.contains("setsid") {
                assert!(rid && said["outcome"] == "stopped", "{lines:?}: {run}");
            }
            assert!(run.elapsed < Duration::from_secs(30), "{run}");
            proc::kill(proc::pids_of(&tag));
        }
    }
}

#[test]
fn a_signal_to_us_reaches_it_too() {
    let Some(host) = Host::with("sudo-signal", &[ALL]) else { return };
    let tag = tag();
    let running = host.cli(&format!("sudo-exec --sudo-password env:PW DEST 'sleep {tag} & wait'")).start();
    let sleeps = format!("sleep {tag}");
    assert!(wait::eventually(Duration::from_secs(20), || !proc::pids_of(&sleeps).is_empty()));
    running.signal(rustix::process::Signal::TERM);
    let run = running.finish();
    let said = run.failed(143, "interrupted");
    let rid = wait::eventually(Duration::from_secs(3), || proc::pids_of(&sleeps).is_empty());
    assert!(rid || said["outcome"] == "unknown", "{run}");
    proc::kill(proc::pids_of(&sleeps));
}

#[test]
fn a_server_without_room_for_a_second_channel_is_told_of() {
    let Some(account) = Account::spoilt("sudo-one-room") else { return };
    let Some(_sudoers) = Sudoers::of(&account, &[ALL]) else { return };
    let sshd = Sshd::build().account(account).line("MaxSessions 1").start();
    let tag = tag();
    let line = format!(
        "sudo-exec --timeout 1s --sudo-password env:PW DEST 'echo begun; trap \"\" INT TERM; sleep {tag}; sleep {tag}'"
    );
    let begun = Instant::now();
    let run = sshd.cli(&line).env("PW", sshd.account.password()).run();
    let said = run.failed(76, "timeout");
    assert_eq!((&said["outcome"], &said["started"]), (&"unknown".into(), &"yes".into()), "{run}");
    assert!(begun.elapsed() < Duration::from_secs(12), "{run}");
    proc::kill(proc::pids_of(&tag));
}

#[test]
fn direct_is_one_program_and_no_shell() {
    let one = "USER ALL=(ALL) /usr/bin/id, /usr/bin/cat, /usr/bin/printf";
    for (name, lines) in [
        ("sudo-direct", &[one][..]),
        ("sudo-direct-0", &[one, "Defaults:USER timestamp_timeout=0"]),
        ("sudo-direct-np", &["USER ALL=(ALL) NOPASSWD: /usr/bin/id, /usr/bin/cat, /usr/bin/printf"]),
        ("sudo-direct-pty", &[one, "Defaults:USER use_pty"]),
    ] {
        let Some(host) = Host::with(name, lines) else { return };
        let direct = "sudo-exec --sudo-direct --sudo-password env:PW";
        assert_eq!(host.said(&format!("{direct} DEST -- id -un")), "root\n", "{lines:?}");
        assert_eq!(host.said(&format!("{direct} --as daemon DEST id -un")), "daemon\n", "{lines:?}");
        assert_eq!(host.said(&format!("{direct} DEST cat")), "", "{lines:?}");
        assert_eq!(host.said(&format!("{direct} DEST printf '%s|' 'a  b' \"it's\"")), "a  b|it's|", "{lines:?}");
        let run = host.cli(&format!("{direct} --stdin DEST cat")).stdin(Stdin::Bytes(b"data".to_vec())).run();
        assert_eq!(run.succeeded().stdout(), "data", "{lines:?}: {run}");
        let run = host.run(&format!("{direct} DEST whoami"));
        assert_eq!(run.failed(77, "sudo_not_permitted")["started"], "no", "{run}");
        run.never_shows(host.sshd.account.password());
    }
    let Some(host) = Host::with("sudo-direct-use", &[NOPASSWD]) else { return };
    host.run("sudo-exec --sudo-direct DEST 'id -un'").failed(64, "usage");
    for option in ["--cwd /", "--env A=1", "--secret-env A=env:PW", "--login", "--script /etc/hostname"] {
        host.run(&format!("sudo-exec --sudo-direct {option} DEST id")).failed(64, "option_conflict");
    }
}

#[test]
fn sudo_rs_is_a_sudo() {
    if needs::program("sudo-rs").is_none() {
        needs::skip_rarity("needs sudo-rs, which this release may not have");
        return;
    }
    let Some(account) = Account::spoilt_with("sudo-rs", "/bin/bash") else { return };
    let bin = account.home.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let _ = std::os::unix::fs::symlink(needs::program("sudo-rs").unwrap(), bin.join("sudo"));
    std::fs::write(account.home.join(".bashrc"), format!("PATH={}:$PATH\n", bin.display())).unwrap();
    let Some(host) = Host::of(account, &[ALL]) else { return };
    let run = host
        .cli("sudo-exec --sudo-password env:PW --stdin DEST 'id -un; cat'")
        .stdin(Stdin::Bytes(b"data".to_vec()))
        .run();
    let said = run.succeeded();
    assert_eq!((said.stdout(), said.stderr()), ("root\ndata", ""), "{run}");
    host.run("sudo-exec --sudo-password env:BAD DEST id").failed(77, "sudo_password_wrong");
    host.run("sudo-exec DEST id").failed(77, "sudo_password_required");
}
