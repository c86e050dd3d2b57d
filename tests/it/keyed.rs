//! `exec --op KEY`: what a key is told the first time, the second time, from elsewhere, and while it runs.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::rig::ledger::{Keeper, Operation, outcome, signal as send};
use crate::rig::{Envelope, Run, Stdin, Way, wait};

/// One way to a far host: a round trip is much longer than anything that it does for us.
const DISTANCE: Duration = Duration::from_millis(150);

/// As lines of text.
fn shown(said: &Envelope) -> (&str, &str) {
    (said.stdout(), said.stderr())
}

const OUTPUT: (&str, &str) = ("out\nlast\n", "err\n");

#[test]
fn the_first_call_runs_it_and_the_next_one_is_told_without_asking_anybody() {
    let Some(mut keeper) = Keeper::start() else { return };
    let (first, calls, ledger);
    {
        let operation = keeper.operation("true");
        let run = operation.run();
        operation.ran_once(&run, "the first call");
        let said = run.json();
        assert_eq!((shown(&said), &said["started"]), (OUTPUT, &"yes".into()), "{run}");
        let facts = &said["operation"];
        assert!(facts["state"] == "completed" && facts["replayed"] == false && facts["attached"] == false, "{run}");
        assert!(facts["origin"] == "executed" && facts["remote_exit_known"] == true, "{run}");
        let connections = keeper.sshd().connections();
        let again = operation.run();
        operation.ran_once(&again, "the second call");
        assert_eq!(keeper.sshd().connections(), connections, "{again}");
        assert_eq!(outcome(&again.json()), outcome(&said), "{again}");
        let told = again.json();
        assert!(told["operation"]["replayed"] == true && told["attempts"] == 0, "{again}");
        assert_eq!(told["operation"]["completed_at"], facts["completed_at"], "{again}");
        operation.acknowledged();
        (first, calls, ledger) = (outcome(&said), operation.cli(), operation.ledger.clone());
    }
    keeper.stop();
    let run = calls.run();
    assert_eq!(outcome(&run.succeeded()), first, "{run}");
    assert_eq!(fs::read_to_string(ledger).unwrap(), "begin\nend\n");
}

#[test]
fn a_stored_failure_is_told_again_with_a_warning() {
    let Some(keeper) = Keeper::start() else { return };
    let operation = keeper.operation_ending("true", 3);
    let run = operation.run();
    assert!(!run.failed(1, "remote_exit").warnings().contains(&"replayed_failure"), "{run}");
    for _ in 0..2 {
        let run = operation.run();
        let said = run.failed(1, "remote_exit");
        assert!(said.warnings().contains(&"replayed_failure") && said["remote_exit"] == 3, "{run}");
        operation.ran_once(&run, "again");
    }
    let run = operation.cli_with("exec", "--remote-exit", "state").run();
    assert_eq!((run.code(), &run.json()["remote_exit"]), (3, &3.into()), "{run}");
    let run = operation.cli_with("exec", "--raw", "state").run();
    assert_eq!((run.code(), &run.stdout[..]), (3, &b"out\nlast\n"[..]), "{run}");
}

#[test]
fn another_request_under_the_same_key_changes_nothing_here_or_there() {
    let Some(keeper) = Keeper::start() else { return };
    let operation = keeper.operation("true");
    operation.ran_once(&operation.run(), "the first call");
    let journal = || fs::read(ssh_cli::journal::Journal::path(&keeper.state("state"))).unwrap();
    let before = (journal(), operation.acknowledged(), keeper.sshd().connections());
    let others = [
        format!("exec --op {} DEST 'echo other'", operation.key),
        format!("exec --op {} --effect idempotent DEST {}", operation.key, quoted(&operation)),
        format!("exec --op {} --cwd /tmp DEST {}", operation.key, quoted(&operation)),
        format!("exec --op {} --env A=b DEST {}", operation.key, quoted(&operation)),
    ];
    for line in &others {
        let run = keeper.cli(line, "state").run();
        let said = run.failed(65, "op_key_mismatch");
        assert_eq!(said["started"], "no", "{run}");
        assert_eq!((journal(), operation.registers(), keeper.sshd().connections()), before, "{run}");
    }
    // Whoever has no record of it is told by the host.
    for (line, state) in others.iter().zip(["b", "c", "d", "e"]) {
        let run = keeper.cli(line, state).run();
        assert_eq!(run.failed(65, "op_key_mismatch")["started"], "no", "{run}");
        assert_eq!(operation.registers(), before.1, "{run}");
    }
    // Nothing of the wrong request is remembered there, either.
    for state in ["elsewhere", "b"] {
        let run = operation.cli_from(state).run();
        operation.ran_once(&run, state);
        assert!(run.json()["operation"]["origin"]["deduplicated"].is_object(), "{run}");
    }
}

fn quoted(operation: &Operation<'_>) -> String {
    shlex::try_quote(&operation.command).unwrap().into_owned()
}

#[test]
fn waiting_ends_and_the_operation_goes_on() {
    let Some(keeper) = Keeper::start() else { return };
    let go_on = keeper.ledgers().join("go-on");
    let operation = keeper.operation(&format!("while [ ! -e {} ]; do sleep 0.05; done", go_on.display()));
    for (wait, at_least) in [("0", 0), ("1s", 1), ("0", 0)] {
        let run = operation.cli_with("exec", &format!("--wait {wait}"), "state").run();
        let said = run.json();
        assert!(said.exit() == 75 && said["outcome"] == "running" && said["started"] == "yes", "{run}");
        assert!(said["error"].is_null() && said["operation"]["state"] == "running", "{run}");
        assert_eq!(said["retry"]["policy"], "collect", "{run}");
        assert!(run.elapsed >= Duration::from_secs(at_least) && run.elapsed < Duration::from_secs(10), "{run}");
    }
    fs::write(&go_on, "").unwrap();
    let run = operation.run();
    operation.ran_once(&run, "collected");
    assert_eq!(shown(&run.json()), OUTPUT, "{run}");
}

/// We do not wait for a far host to say that it heard us, and it hears us all the same, even where the end of the connection arrives
/// together with what was said last.
#[test]
fn a_far_host_hears_that_its_outcome_was_collected() {
    for keeper in [Keeper::start(), Keeper::dropbear()].into_iter().flatten() {
        let operation = keeper.operation("true");
        let far = keeper.proxy().delay(Way::Up, DISTANCE).delay(Way::Down, DISTANCE).start();
        operation.ran_once(&operation.cli().via(&far).run(), "far away");
        operation.acknowledged();
    }
    let Some(keeper) = Keeper::start() else { return };
    let whole = keeper.proxy().noting().start();
    let operation = keeper.operation("true");
    operation.ran_once(&operation.cli().via(&whole).run(), "unbroken");
    let [up, _] = whole.borders();
    for after in up.into_iter().rev().take(5) {
        let operation = keeper.operation("true");
        let held_up = keeper.proxy().stall(Way::Up, after, DISTANCE * 2).start();
        operation.ran_once(&operation.cli().via(&held_up).run(), "held up");
        operation.acknowledged();
    }
}

#[test]
fn from_another_state_directory_the_outcome_is_fetched() {
    let Some(keeper) = Keeper::start() else { return };
    let operation = keeper.operation_ending("true", 3);
    let first = operation.run();
    let registers = operation.acknowledged();
    let run = operation.cli_from("elsewhere").run();
    operation.ran_once(&run, "from elsewhere");
    let said = run.json();
    assert_eq!(outcome(&said), outcome(&first.json()), "{run}");
    assert!(said["operation"]["origin"]["deduplicated"].is_object(), "{run}");
    assert_eq!(said["operation"]["attempt"], first.json()["operation"]["attempt"], "{run}");
    assert_eq!(operation.registers(), registers, "{run}");
}

#[test]
fn the_deadline_is_kept_on_the_host_when_nobody_is_left_here() {
    let Some(keeper) = Keeper::start() else { return };
    let operation = keeper.operation("sleep 40").with("--timeout 2s");
    let call = operation.cli().start();
    operation.wait_until_it_began();
    call.signal(Signal::KILL);
    assert!(!call.finish().status.success());
    let began = Instant::now();
    assert!(operation.wait_until_quiet(Duration::from_secs(15)), "it still runs");
    assert!(began.elapsed() > Duration::from_secs(1), "{:?}", began.elapsed());
    // The deadline of the call that started it is the one that holds.
    for state in ["state", "state", "elsewhere"] {
        let run = operation.cli_from(state).run();
        let said = run.failed(1, "timeout");
        assert!(said["outcome"] == "stopped" && said.stdout() == "out\n", "{state}: {run}");
    }
    assert_eq!(operation.lines(), ["begin"]);
}

#[test]
fn its_input_is_sent_whole_before_it_starts() {
    let Some(keeper) = Keeper::start() else { return };
    let operation = keeper.operation("cksum").with("--stdin");
    let data: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let send = |data: &[u8]| operation.cli().stdin(Stdin::Bytes(data.to_vec())).run();
    let run = send(&data);
    operation.ran_once(&run, "with input");
    assert!(run.json().stdout().contains(" 3000000\n"), "{run}");
    assert_eq!(outcome(&send(&data).json()), outcome(&run.json()));
    // Its input is a part of the request.
    send(&data[1..]).failed(65, "op_key_mismatch");
    let connections = keeper.sshd().connections();
    let more = keeper.operation("cksum").with("--stdin");
    let run = more.cli().stdin(Stdin::Bytes(vec![7; (16 << 20) + 1])).run();
    assert_eq!(run.failed(64, "stdin_too_large")["started"], "no", "{run}");
    assert!(more.lines().is_empty() && keeper.sshd().connections() == connections, "{run}");
}

#[test]
fn what_is_no_key_is_a_usage_error() {
    let Some(keeper) = Keeper::start() else { return };
    let file = keeper.ledgers().join("identity");
    fs::write(&file, "").unwrap();
    let long = "x".repeat(201);
    for key in ["''", "a/b", "$'a\\tb'", &long, "'a\u{202e}b'"] {
        let run = keeper.cli(&format!("exec --op {} DEST true", key.replace("$'a\\tb'", "'a\tb'")), "none").run();
        assert_eq!(run.json().exit(), 64, "{run}");
    }
    let here = keeper.state("none");
    let run = Command::new(env!("CARGO_BIN_EXE_ssh-cli"))
        .args(["exec", "--json", "-F", "none", "--op", "identity", "nobody@127.0.0.1", "true"])
        .current_dir(keeper.ledgers())
        .env("SSH_CLI_STATE_DIR", &here)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = Envelope::read(&run.stdout, run.status.code().unwrap(), "a file's name");
    assert!(said.exit() == 64 && said.advice().contains("-i"), "{}", said.text());
    let usage = ["--pty", "--no-exit-status", "--dedupe"];
    for option in usage {
        keeper.cli(&format!("exec --op k {option} DEST true"), "none").run().failed(64, "option_conflict");
    }
    keeper.cli("sudo-exec --sudo-direct --op k DEST true", "none").run().failed(64, "option_conflict");
    keeper.cli("exec --wait 1s DEST true", "none").run().failed(64, "usage");
    assert_eq!(keeper.sshd().connections(), 0);
    assert_eq!(fs::read_dir(&here).unwrap().count(), 0, "something was kept");
}

#[test]
fn an_equal_call_under_another_key_answers_where_that_is_asked_for() {
    let Some(keeper) = Keeper::start() else { return };
    let operation = keeper.operation("true").with("--effect read");
    let run = operation.run();
    operation.ran_once(&run, "the first call");
    let connections = keeper.sshd().connections();
    let line = |key: &str, more: &str| format!("exec --op {key} --effect read {more} DEST {}", quoted(&operation));
    let second = format!("{}-2", operation.key);
    for replayed in [false, true] {
        let again = keeper.cli(&line(&second, "--dedupe"), "state").run();
        let said = again.succeeded();
        assert_eq!((shown(&said), operation.starts(), said["attempts"].as_u64()), (OUTPUT, 1, Some(0)), "{again}");
        assert_eq!(said["operation"]["origin"]["deduplicated"]["key"], *operation.key, "{again}");
        assert!(said["operation"]["replayed"] == true || !replayed, "{again}");
    }
    assert_eq!(keeper.sshd().connections(), connections);
    let third = format!("{}-3", operation.key);
    keeper.cli(&line(&third, ""), "state").run().succeeded();
    assert_eq!(operation.starts(), 2);
}

#[test]
fn the_command_sees_its_key_and_what_it_was_given() {
    let Some(keeper) = Keeper::start() else { return };
    let operation = keeper
        .operation("echo \"$SSH_CLI_OPERATION_KEY $A $(pwd) $PASS\"")
        .with("--env A='b  c' --cwd /usr --secret-env PASS=env:PW");
    let run = operation.cli().env("PW", "not-to-be-kept").run();
    operation.ran_once(&run, "with all of it");
    assert!(run.json().stdout().contains(&format!("{} b  c /usr not-to-be-kept\n", operation.key)), "{run}");
    // Another secret is no other request, and a replay needs none.
    let again = operation.cli().env("PW", "another").run();
    assert_eq!(outcome(&again.json()), outcome(&run.json()), "{again}");
}

#[test]
fn a_journal_that_cannot_be_written_stops_it_before_anybody_is_called() {
    let Some(keeper) = Keeper::start() else { return };
    let operation = keeper.operation("true");
    let file = keeper.ledgers().join("a-file");
    fs::write(&file, "").unwrap();
    let run = operation.cli().env("SSH_CLI_STATE_DIR", file.join("state")).run();
    assert_eq!(run.failed(73, "journal_unwritable")["started"], "no", "{run}");
    assert!(operation.lines().is_empty() && keeper.sshd().connections() == 0, "{run}");
    // Without a key nobody asks for one.
    keeper.cli("exec DEST true", "state").env("SSH_CLI_STATE_DIR", file.join("state")).run().succeeded();
}

/// The call with its events on a pipe: it is known what it has seen.
fn spoken(keeper: &Keeper, operation: &Operation<'_>, mode: &str) -> (Child, Lines<BufReader<ChildStdout>>) {
    let cli = operation.cli_with("exec", mode, "state");
    let mut child = Command::new("sh")
        .args(["-c", &format!("exec {}", cli.spelled())])
        .env("SSH_CLI_STATE_DIR", keeper.state("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

#[test]
fn a_signal_ends_the_call_and_not_the_operation() {
    let Some(keeper) = Keeper::start() else { return };
    for (signal, exit) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let operation = keeper.operation("sleep 2");
        let (mut child, mut lines) = spoken(&keeper, &operation, "--output ndjson");
        let mut seen = Vec::new();
        while !seen.last().is_some_and(|line: &String| line.contains("\"stdout\",")) {
            seen.push(lines.next().unwrap_or_else(|| panic!("it ended: {seen:?}")).unwrap());
        }
        let began = Instant::now();
        send(&[i32::try_from(child.id()).unwrap()], signal);
        let last = lines.map(Result::unwrap).last().unwrap();
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        let said: serde_json::Value = serde_json::from_str(&last).unwrap();
        assert_eq!((&said["exit_code"], child.wait().unwrap().code()), (&exit.into(), Some(exit)), "{last}");
        assert!(said["outcome"] == "running" && said["started"] == "yes", "{last}");
        assert!(said["operation"]["state"] == "running" && said["error"]["code"] == "interrupted", "{last}");
        let run = operation.run();
        operation.ran_once(&run, "collected");
        assert_eq!(shown(&run.json()), OUTPUT, "{run}");
    }
}

#[test]
fn every_mode_tells_the_same() {
    let Some(keeper) = Keeper::start() else { return };
    for state in ["state", "state", "elsewhere"] {
        let operation = keeper.operation_ending("true", 7);
        let raw = operation.cli_with("exec", "--raw", state).run();
        assert_eq!((raw.code(), &raw.stdout[..]), (7, &b"out\nlast\n"[..]), "{raw}");
        assert!(raw.stderr.starts_with(b"err\n"), "{raw}");
        let lines = operation.cli_with("exec", "--output ndjson", state).run();
        let text = String::from_utf8(lines.stdout.clone()).unwrap();
        let events: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |name: &str| -> String {
            events.iter().filter(|event| event["event"] == name).filter_map(|event| event["data"].as_str()).collect()
        };
        assert_eq!((of("stdout"), of("stderr")), (OUTPUT.0.to_owned(), OUTPUT.1.to_owned()), "{lines}");
        let last = events.last().unwrap();
        assert!(last["event"] == "result" && last["exit_code"] == 1 && last["remote_exit"] == 7, "{lines}");
        assert_eq!(operation.lines(), ["begin", "end"], "{lines}");
    }
}

#[test]
fn what_it_writes_is_seen_while_it_runs() {
    let Some(keeper) = Keeper::start() else { return };
    let dir = keeper.ledgers();
    let middle =
        format!("for n in 1 2 3 4 5; do while [ ! -e {}/live-$n ]; do sleep 0.01; done; echo $n; done", dir.display());
    let operation = keeper.operation(&middle);
    let (mut child, lines) = spoken(&keeper, &operation, "--raw");
    let mut lines = lines.map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("out"));
    let mut slowest = Duration::ZERO;
    for n in 1..=5 {
        let began = Instant::now();
        fs::write(dir.join(format!("live-{n}")), "").unwrap();
        assert_eq!(lines.next(), Some(n.to_string()));
        slowest = slowest.max(began.elapsed());
    }
    println!("the slowest of five lines was here after {slowest:?}");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    assert_eq!(lines.collect::<Vec<_>>(), ["last"]);
    assert!(child.wait().unwrap().success());
}

#[test]
fn eight_mebibytes_are_the_same_bytes_for_every_reader() {
    let Some(keeper) = Keeper::start() else { return };
    let mut state = 1_u64;
    let mut data = vec![0; 8 << 20];
    for byte in &mut data {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = state.to_be_bytes()[3];
    }
    let source = keeper.ledgers().join("source");
    fs::write(&source, &data).unwrap();
    let operation = keeper.operation(&format!("cat {0}; cat {0} >&2", source.display()));
    let whole =
        |bytes: &[u8], around: (&str, &str)| bytes == [around.0.as_bytes(), &data, around.1.as_bytes()].concat();
    let check = |run: &Run, who: &str| {
        assert!(run.code() == 0 && operation.lines() == ["begin", "end"], "{who}: {}", run.code());
        assert!(whole(&run.stdout, ("out\n", "last\n")), "{who}: {} bytes of output", run.stdout.len());
        assert!(whole(&run.stderr, ("err\n", "")), "{who}: {} bytes of errors", run.stderr.len());
        println!("{who}: {:?}", run.elapsed);
    };
    check(&operation.cli_with("exec", "--raw", "state").run(), "live");
    check(&operation.cli_with("exec", "--raw", "state").run(), "replayed");
    check(&operation.cli_with("exec", "--raw", "elsewhere").run(), "from elsewhere");
    check(&operation.cli_with("exec", "--raw", "elsewhere").run(), "from elsewhere, replayed");
    let file = keeper.ledgers().join("copy");
    let run = operation.cli_with("exec", &format!("--stdout-file {}", file.display()), "state").run();
    run.succeeded();
    assert!(whole(&fs::read(file).unwrap(), ("out\n", "last\n")));
}

#[test]
fn nothing_is_left_on_the_host_when_it_ended() {
    let Some(keeper) = Keeper::start() else { return };
    let operation = keeper.operation("true");
    operation.ran_once(&operation.run(), "the call");
    assert!(operation.wait_until_quiet(Duration::from_secs(10)), "{:?}", operation.keepers(""));
    let gone = wait::eventually(Duration::from_secs(20), || keeper.launchers().is_empty());
    assert!(gone, "{:?}", keeper.sshd().session_processes());
    // A call that dies leaves nothing either, but the operation.
    let operation = keeper.operation("sleep 3");
    let call = operation.cli().start();
    operation.wait_until_it_began();
    call.signal(Signal::KILL);
    call.finish();
    let gone = wait::eventually(Duration::from_secs(15), || keeper.launchers().is_empty());
    assert!(gone, "{:?}", keeper.sshd().session_processes());
    operation.ran_once(&operation.run(), "collected");
}
