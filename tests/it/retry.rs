//! Repeating: by ourselves when asked to, by the README's callers, and never what may have been done already.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::rig::{FaultProxy, Mode, Sshd, Way, needs};

/// The lines of the ledger that a command of ours adds to.
fn lines(ledger: &Path) -> usize {
    std::fs::read_to_string(ledger).unwrap_or_default().lines().count()
}

#[test]
fn a_server_that_refuses_twice_is_reached_at_the_third_attempt() {
    let sshd = Sshd::start();
    let proxy = sshd.proxy().refuse_first(2).start();
    let run = sshd.cli("exec --retries 2 --retry-base 10ms DEST 'echo in'").via(&proxy).run();
    let said = run.succeeded();
    assert_eq!((said.stdout(), &said["attempts"]), ("in\n", &3.into()), "{run}");
    // Off unless asked for.
    let proxy = sshd.proxy().refuse_first(1).start();
    let run = sshd.cli("exec DEST true").via(&proxy).run();
    assert_eq!((run.json().exit(), &run.json()["attempts"]), (74, &1.into()), "{run}");
}

#[test]
fn a_refusal_is_not_asked_for_twice() {
    let sshd = Sshd::start();
    let line = "exec --retries 5 --retry-base 1ms --password env:PW DEST true";
    let run = sshd.cli(line).no_identity().env("PW", "wrong-3c").run();
    assert_eq!(run.failed(77, "auth_failed")["attempts"], 1, "{run}");
    let run = sshd.cli("exec --retries 5 --retry-base 1ms DEST 'exit 7'").run();
    assert_eq!(run.failed(1, "remote_exit")["attempts"], 1, "{run}");
}

#[test]
fn each_attempt_is_an_event() {
    let sshd = Sshd::start();
    let proxy = sshd.proxy().refuse_first(1).start();
    let run = sshd.cli("exec --output ndjson --retries 1 --retry-base 1ms DEST 'echo in'").via(&proxy).run();
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    let events: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let attempts: Vec<_> =
        events.iter().filter(|event| event["event"] == "attempt").map(|e| e["number"].clone()).collect();
    assert_eq!(attempts, [1, 2], "{run}");
    assert_eq!(events.last().unwrap()["event"], "result", "{run}");
}

#[test]
fn what_reads_is_repeated_after_a_cut_and_what_writes_is_not() {
    let sshd = Sshd::start();
    let ledger = sshd.shared_dir().join("ledger");
    for (effect, exit, attempts) in [("read", 74, 3), ("idempotent", 74, 3), ("write", 76, 1)] {
        let before = lines(&ledger);
        let line = format!(
            "exec --effect {effect} --retries 2 --retry-base 1ms DEST 'echo x >> {}; sleep 1; kill -9 $PPID; sleep 1'",
            ledger.display()
        );
        let run = sshd.cli(&line).run();
        let said = run.failed(exit, "connection_lost");
        assert_eq!((&said["attempts"], &said["started"]), (&attempts.into(), &"yes".into()), "{run}");
        assert_eq!(lines(&ledger) - before, usize::try_from(attempts).unwrap(), "{run}");
    }
}

#[test]
fn the_deadline_and_ctrl_c_end_the_waiting() {
    let proxy = Sshd::start().proxy().refuse_first(100).start();
    let sshd = Sshd::start();
    let line = "exec --retries 10 --retry-wait 30s --retry-max-delay 30s --deadline 2s DEST true";
    let run = sshd.cli(line).via(&proxy).run();
    assert_eq!(run.json().exit(), 74, "{run}");
    assert!(run.elapsed < Duration::from_secs(4), "{run}");
    let running = sshd.cli("exec --retries 10 --retry-wait 30s --retry-max-delay 30s DEST true").via(&proxy).start();
    crate::rig::wait::until("the first attempt", Duration::from_secs(10), || (proxy.connections() >= 2).then_some(()));
    running.signal(rustix::process::Signal::INT);
    let run = running.finish();
    assert_eq!(run.failed(130, "interrupted")["started"], "no", "{run}");
}

/// The README's caller in this language, with `ssh-cli exec …` put in.
fn caller(kind: &str, line: &str) -> Command {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let part = readme.split(&format!("```{kind}\n")).nth(1).unwrap_or_else(|| panic!("no {kind} caller in the README"));
    let code = part.split("\n```").next().unwrap();
    let program = if kind == "python" { "python3" } else { "sh" };
    let mut command = Command::new(program);
    // Its words arrive as arguments, as the README says.
    command.args(["-c", code]);
    if kind == "shell" {
        command.arg("caller");
    }
    command.args(shlex::split(line).unwrap()).stdin(Stdio::null());
    command
}

#[test]
fn the_callers_of_the_readme_come_through_and_never_write_twice() {
    if needs::no_program("jq") || needs::no_program("python3") {
        return;
    }
    let sshd = Sshd::start();
    let ledger = sshd.shared_dir().join("ledger");
    for kind in ["shell", "python"] {
        let proxy = sshd.proxy().refuse_first(2).start();
        let write = format!("exec DEST 'echo x >> {}'", ledger.display());
        let before = lines(&ledger);
        let cli = sshd.cli(&write).via(&proxy);
        let out = caller(kind, &cli.spelled()).output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{kind}: {}", String::from_utf8_lossy(&out.stderr));
        assert_eq!((proxy.connections(), lines(&ledger) - before), (3, 1), "{kind}");
        // A write that was cut off in the middle is left to a person.
        let cut = format!("exec DEST 'echo x >> {}; sleep 1; kill -9 $PPID; sleep 1'", ledger.display());
        let cli = sshd.cli(&cut);
        let out = caller(kind, &cli.spelled()).output().unwrap();
        assert_eq!((out.status.code(), lines(&ledger) - before), (Some(76), 2), "{kind}");
    }
}

#[test]
fn with_a_key_the_callers_of_the_readme_end_with_one_execution() {
    if needs::no_program("jq") || needs::no_program("python3") {
        return;
    }
    let sshd = Sshd::start();
    for kind in ["shell", "python"] {
        let ledger = sshd.shared_dir().join(format!("ledger-{kind}"));
        let proxy = sshd.proxy().start();
        // The host remembers keys from one run of the tests to the next.
        let key = format!("{kind}-{}", crate::rig::random_hex(6));
        let line = format!("exec --op {key} DEST 'echo x >> {}; sleep 2; echo done'", ledger.display());
        let cli = sshd.cli(&line).via(&proxy);
        let calling = caller(kind, &cli.spelled()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        crate::rig::wait::until("the command to run", Duration::from_secs(20), || (lines(&ledger) == 1).then_some(()));
        proxy.break_now(Mode::Rst);
        let out = calling.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        assert_eq!(out.status.code(), Some(0), "{kind}: {said}{}", String::from_utf8_lossy(&out.stderr));
        assert!(said.contains(r#""stdout":"done\n""#) && said.contains(r#""attached":true"#), "{kind}: {said}");
        assert_eq!((proxy.connections(), lines(&ledger)), (2, 1), "{kind}");
    }
}

/// Cuts everywhere, for each effect, with a caller that re-invokes on 74 and only on that.
#[test]
fn a_caller_who_repeats_on_74_alone_never_writes_twice() {
    let sshd = Sshd::start();
    let whole = {
        let proxy = sshd.proxy().start();
        sshd.cli("exec DEST true").via(&proxy).run().succeeded();
        [proxy.bytes(Way::Up), proxy.bytes(Way::Down)]
    };
    let ledgers = sshd.shared_dir();
    // Every 160th byte; every 40th in a long run.
    let step = if std::env::var_os("SSH_CLI_TESTS_LONG").is_some() { 40 } else { 160 };
    let mut cuts = Vec::new();
    for effect in ["read", "idempotent", "write"] {
        for (way, total) in [(Way::Up, whole[0]), (Way::Down, whole[1])] {
            cuts.extend((1..=total / step).map(|n| (effect, way, n * step)));
        }
    }
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some((effect, way, after)) = cuts.get(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst))
                {
                    let ledger = ledgers.join(format!("{effect}-{way:?}-{after}"));
                    one_cut(&sshd, effect, *way, *after, &ledger);
                }
            });
        }
    });
}

fn one_cut(sshd: &Sshd, effect: &str, way: Way, after: u64, ledger: &Path) {
    let line = format!("exec --effect {effect} DEST 'echo x >> {}'", ledger.display());
    let mut exit = None;
    for attempt in 0..3 {
        // The line breaks once; afterwards it holds.
        let proxy: FaultProxy = match attempt {
            0 => sshd.proxy().cut(way, after, Mode::Rst).start(),
            _ => sshd.proxy().start(),
        };
        let run = sshd.cli(&line).via(&proxy).limit(Duration::from_secs(60)).run();
        let said = run.json();
        exit = Some(said.exit());
        if said.exit() != 74 {
            break;
        }
        assert_eq!(said["retryable"], true, "{run}");
    }
    let written = lines(ledger);
    match (effect, exit) {
        ("write", Some(0)) => assert_eq!(written, 1, "{effect} {way:?} {after}"),
        ("write", Some(76)) => assert!(written <= 1, "{effect} {way:?} {after}: {written}"),
        (_, Some(0)) => assert!(written >= 1, "{effect} {way:?} {after}"),
        other => panic!("{other:?} after {after} {way:?}, {written} line(s)"),
    }
}
