//! `ops`: what is told of an operation, what ends one, and what a person may say of one.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ssh_cli::journal::key_hash;

use crate::rig::{Account, Cli, Envelope, Run, Scratch, Sshd, Sudoers, proc, random_hex, wait};

/// A host, one client's state, and a key of this test's own; in a line `KEY` stands for it, `TAG` for a span that nobody else sleeps,
/// `LEDGER` for a file there.
struct Place {
    sshd: Sshd,
    state: Scratch,
    key: String,
    tag: String,
    ledger: PathBuf,
}

impl Place {
    fn new() -> Self {
        Self::at(Sshd::start())
    }

    fn at(sshd: Sshd) -> Self {
        let ledger = sshd.shared_dir().join("ledger");
        let tag = format!("40.{}", u32::from_str_radix(&random_hex(3), 16).unwrap() + 100_000_000);
        Self { sshd, state: Scratch::new(), key: format!("k-{}", random_hex(6)), tag, ledger }
    }

    fn spelled(&self, line: &str) -> String {
        line.replace("KEY", &self.key).replace("TAG", &self.tag).replace("LEDGER", self.ledger.to_str().unwrap())
    }

    fn cli(&self, line: &str) -> Cli {
        self.sshd.cli(&self.spelled(line)).env("SSH_CLI_STATE_DIR", self.state.join("s"))
    }

    fn run(&self, line: &str) -> Run {
        self.cli(line).run()
    }

    /// By a client that has recorded nothing.
    fn run_elsewhere(&self, line: &str) -> Run {
        self.sshd.cli(&self.spelled(line)).run()
    }

    /// Starts it, and leaves it running.
    fn start(&self, command: &str) -> Envelope {
        let run = self.run(&format!("exec --op KEY --wait 0 DEST '{command}'"));
        let said = run.json();
        assert_eq!(said.exit(), 75, "{run}");
        said
    }

    fn sleeps(&self) -> bool {
        proc::anything_runs(&format!("sleep {}", self.tag))
    }

    fn starts(&self) -> usize {
        fs::read_to_string(&self.ledger).unwrap_or_default().lines().count()
    }

    fn hash(&self) -> String {
        key_hash(&self.key.parse().unwrap()).as_str().to_owned()
    }

    /// Whether the host has anything of this generation.
    fn has_receipt(&self, generation: u32) -> bool {
        let receipts = self.sshd.account.home.join(".local/state/ssh-cli/ops1/k");
        receipts.join(format!("{}.{generation}", self.hash())).exists()
    }

    /// Everybody goes who could tell how it ended, and then the command.
    fn kill_all_who_know(&self) {
        wait::until("the command", Duration::from_secs(20), || self.sleeps().then_some(()));
        let keepers = format!("ssh-cli {}", self.hash());
        proc::kill(proc::pids_with(&keepers));
        proc::kill(proc::pids_of(&self.tag));
        // The host counts those that have died, and nobody has buried yet.
        wait::until("all of them to be gone", Duration::from_secs(20), || {
            let (_, listing) = Self::shown(&self.run_elsewhere("ops show DEST KEY"));
            (listing["host"]["state"] == "dead").then_some(())
        });
    }

    /// The listing of `ops show` and its like.
    fn shown(run: &Run) -> (Envelope, serde_json::Value) {
        let said = run.json();
        let listing = said["ops"][0].clone();
        (said, listing)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        proc::kill(proc::pids_of(&self.tag));
    }
}

/// Runs for ever the first time, and not at all the second time.
const ONCE: &str = "echo x >>LEDGER; [ $(wc -l <LEDGER) -gt 1 ] || sleep TAG";

#[test]
fn the_list_is_local_and_makes_nothing() {
    let place = Place::new();
    let run = place.run("ops list");
    let said = run.succeeded();
    assert_eq!((&said["ops"], &said["target"], &said["started"]), (&serde_json::json!([]), &().into(), &"no".into()));
    assert!(!place.state.join("s").exists(), "{run}");
    place.run("ops list --raw").raw("no operations are recorded here\n", 0);
    assert_eq!(place.run("ops gc").succeeded()["ops"], serde_json::json!([]));

    place.run("exec --op KEY-1 --effect read DEST 'echo one'").succeeded();
    place.run("exec --op KEY-2 DEST 'exit 3'").failed(1, "remote_exit");
    let connections = place.sshd.connections();
    let run = place.run("ops list");
    let said = run.succeeded();
    let all = said["ops"].as_array().unwrap();
    let keys: Vec<_> = all.iter().map(|listing| listing["key"].as_str().unwrap()).collect();
    assert_eq!(keys, [format!("{}-2", place.key), format!("{}-1", place.key)], "{run}");
    assert_eq!((&all[0]["state"], &all[0]["remote_exit"]), (&"completed".into(), &3.into()), "{run}");
    assert_eq!((&all[1]["effect"], &all[1]["command"]), (&"read".into(), &"echo one".into()), "{run}");
    let run = place.run("ops list --raw");
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    assert!(run.code() == 0 && text.starts_with("KEY ") && text.contains("completed (3)"), "{run}");
    assert_eq!(place.sshd.connections(), connections, "nobody was called");
}

#[test]
fn a_damaged_journal_is_said_to_be() {
    let state = Scratch::new();
    fs::create_dir_all(state.join("operations")).unwrap();
    fs::write(state.join("operations/journal.sqlite3"), "this is no database").unwrap();
    for line in ["ops list", "ops gc"] {
        let run = Cli::new(line, "nobody", 1).env("SSH_CLI_STATE_DIR", state.path()).run();
        let said = run.failed(73, "journal_unwritable");
        assert!(said.advice().contains("damaged"), "{run}");
    }
}

#[test]
fn what_nobody_has_named_for_a_day_is_taken_away() {
    let place = Place::new();
    place.run("exec --op KEY DEST 'echo kept'").succeeded();
    let directory = place.state.join("s/operations");
    let old = directory.join("0123456789abcdef0123456789abcdef.1.out");
    let new = directory.join(".part-new");
    for file in [&old, &new] {
        fs::write(file, "x").unwrap();
    }
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(30 * 3600);
    fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    place.run("ops gc").succeeded();
    assert!(!old.exists() && new.exists());
    assert_eq!(place.run("exec --op KEY DEST 'echo kept'").succeeded().stdout(), "kept\n");
}

#[test]
fn a_key_that_nobody_has_heard_of_is_not_found_and_nothing_is_written() {
    let place = Place::new();
    for line in [
        "ops show DEST KEY",
        "ops cancel DEST KEY",
        "ops resolve --verdict not-done DEST KEY",
        "ops resolve --verdict done DEST KEY",
        "ops resolve --verdict abandoned DEST KEY",
    ] {
        let run = place.run(line);
        assert_eq!(run.failed(66, "op_not_found")["started"], "no", "{run}");
    }
    assert!(!place.has_receipt(1) && !place.state.join("s").exists());
}

#[test]
fn show_tells_both_sides_and_changes_nothing() {
    let place = Place::new();
    place.start(ONCE);
    let run = place.run("ops show DEST KEY");
    let (said, listing) = Place::shown(&run);
    assert_eq!((said.exit(), &said["started"], &said["outcome"]), (0, &"no".into(), &"succeeded".into()), "{run}");
    assert_eq!((&said["operation"]["state"], &listing["state"]), (&"running".into(), &"started".into()), "{run}");
    assert_eq!((&listing["host"]["state"], &listing["host"]["generation"]), (&"running".into(), &1.into()), "{run}");
    let (said, listing) = Place::shown(&place.run_elsewhere("ops show DEST KEY"));
    assert_eq!((&listing["state"], &listing["host"]["state"]), (&"absent".into(), &"running".into()));
    assert_eq!((&said["operation"]["state"], &said["operation"]["fingerprint"]), (&"running".into(), &().into()));
    assert!(place.sleeps() && place.starts() == 1);

    proc::kill(proc::pids_of(&place.tag));
    wait::until("its end", Duration::from_secs(20), || {
        let (said, listing) = Place::shown(&place.run("ops show DEST KEY"));
        (listing["host"]["state"] == "done").then(|| {
            assert_eq!((&listing["host"]["remote_exit"], &listing["remote_exit"]), (&137.into(), &().into()));
            assert_eq!((&said["operation"]["state"], &said["remote_exit"]), (&"completed".into(), &().into()));
        })
    });
    let run = place.run("ops show --raw DEST KEY");
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    assert!(run.code() == 0 && text.contains("host     done, status 137, generation 1"), "{run}");
    assert_eq!(place.starts(), 1);
}

#[test]
fn what_runs_is_ended_with_all_that_it_started() {
    let place = Place::new();
    let command = "trap \"\" TERM; sleep TAG & sleep TAG; sleep TAG";
    place.start(command);
    wait::until("the command", Duration::from_secs(20), || place.sleeps().then_some(()));
    let run = place.run("ops cancel DEST KEY");
    let (said, listing) = Place::shown(&run);
    assert_eq!((said.exit(), &said["operation"]["state"]), (0, &"cancelled".into()), "{run}");
    assert_eq!((&listing["host"]["state"], &listing["host"]["cancelled"]), (&"done".into(), &true.into()), "{run}");
    assert!(said.warnings().is_empty() && !place.sleeps(), "{run}");
    let run = place.run("ops cancel DEST KEY");
    assert_eq!(run.succeeded().warnings(), ["already_done"], "{run}");
    let run = place.run(&format!("exec --op KEY DEST '{command}'"));
    assert_eq!(run.failed(1, "cancelled")["operation"]["state"], "cancelled", "{run}");
    // By our own record, now.
    let connections = place.sshd.connections();
    assert_eq!(place.run("ops cancel DEST KEY").succeeded().warnings(), ["already_done"]);
    assert_eq!(place.sshd.connections(), connections);
}

#[test]
fn what_was_cancelled_before_it_started_never_does() {
    let place = Place::new();
    let proxy = place.sshd.proxy().refuse_first(1).start();
    let exec = "exec --op KEY DEST 'echo x >>LEDGER'";
    let run = place.cli(exec).via(&proxy).run();
    assert_eq!((run.json().exit(), &run.json()["started"]), (74, &"no".into()), "{run}");
    let run = place.cli("ops show DEST KEY").via(&proxy).run();
    let (said, listing) = Place::shown(&run);
    assert_eq!((&listing["state"], &listing["host"]["state"]), (&"intent".into(), &"none".into()), "{run}");
    assert!(said.exit() == 0 && !place.has_receipt(1), "{run}");
    for _ in 0..2 {
        let run = place.cli("ops cancel DEST KEY").via(&proxy).run();
        let (said, listing) = Place::shown(&run);
        assert_eq!((said.exit(), &said["operation"]["state"]), (0, &"cancelled".into()), "{run}");
        assert_eq!(listing["host"]["fenced_by"], "cancel", "{run}");
    }
    let run = place.cli(exec).via(&proxy).run();
    assert_eq!(run.failed(1, "cancelled_before_start")["started"], "no", "{run}");
    let run = place.cli("ops resolve --verdict not-done DEST KEY").via(&proxy).run();
    assert_eq!(run.failed(1, "cancelled_before_start").warnings(), ["resolved_by_itself"], "{run}");
    assert_eq!(place.starts(), 0);
}

#[test]
fn what_may_not_be_signalled_runs_on_and_is_said_to() {
    let Some(account) = Account::spoilt("ops-refused") else { return };
    let Some(_sudoers) = Sudoers::of(&account, &["USER ALL=(ALL) NOPASSWD: ALL"]) else { return };
    let place = Place::at(Sshd::build().account(account).start());
    place.start("exec sudo -n sh -c \"sleep TAG; true\"");
    wait::until("the command", Duration::from_secs(20), || place.sleeps().then_some(()));
    let run = place.run("ops cancel DEST KEY");
    let said = run.failed(77, "cancel_refused");
    assert_eq!((&said["operation"]["state"], &said["outcome"]), (&"running".into(), &"failed".into()), "{run}");
    assert!(place.sleeps(), "{run}");
}

#[test]
fn not_done_lets_the_same_line_start_it_once_more() {
    let place = Place::new();
    place.start(ONCE);
    place.kill_all_who_know();
    let exec = format!("exec --op KEY DEST '{ONCE}'");
    let run = place.run(&exec);
    let said = run.failed(76, "died_without_status");
    assert!(said.advice().contains(&format!("{} --verdict done", place.key)), "{run}");
    let run = place.run("ops show DEST KEY");
    let (said, listing) = Place::shown(&run);
    assert_eq!(
        (&said["operation"]["state"], &listing["host"]["state"]),
        (&"needs_reconciliation".into(), &"dead".into())
    );
    assert_eq!(said["operation"]["evidence"]["seen"], "dead", "{run}");
    let run = place.run("ops cancel DEST KEY");
    assert_eq!(run.succeeded().warnings(), ["exit_status_lost"], "{run}");

    let resolve = "ops resolve --verdict not-done --note \"nothing in the log\" DEST KEY";
    let run = place.run(resolve);
    let (said, listing) = Place::shown(&run);
    assert_eq!((said.exit(), &listing["state"]), (0, &"not_done".into()), "{run}");
    assert_eq!((&listing["host"]["settled"], &said["started"]), (&"not_done".into(), &"yes".into()), "{run}");
    for verdict in ["not-done", "done", "abandoned"] {
        let run = place.run(&format!("ops resolve --verdict {verdict} DEST KEY"));
        run.failed(65, "op_already_resolved");
        // Nor by somebody else.
        if verdict != "abandoned" {
            place.run_elsewhere(&format!("ops resolve --verdict {verdict} DEST KEY")).failed(65, "op_already_resolved");
        }
    }
    let run = place.run(&exec);
    assert_eq!(run.succeeded()["operation"]["generation"], 2, "{run}");
    place.run(&exec).succeeded();
    let (_, listing) = Place::shown(&place.run_elsewhere("ops show DEST KEY"));
    assert_eq!((&listing["host"]["generation"], &listing["host"]["state"]), (&2.into(), &"done".into()));
    assert_eq!(place.starts(), 2);
}

#[test]
fn done_is_what_the_same_line_answers_from_then_on() {
    let place = Place::new();
    place.start(ONCE);
    place.kill_all_who_know();
    let run = place.run("ops resolve --verdict done --status 3 DEST KEY");
    let (said, listing) = Place::shown(&run);
    assert_eq!((said.exit(), &listing["state"], &listing["remote_exit"]), (0, &"completed".into(), &3.into()), "{run}");
    assert_eq!((&listing["host"]["settled"], &listing["host"]["state"]), (&"done".into(), &"done".into()), "{run}");
    assert_eq!(said["operation"]["origin"], "operator", "{run}");
    place.run("ops resolve --verdict not-done DEST KEY").failed(65, "op_already_resolved");
    let connections = place.sshd.connections();
    let exec = format!("exec --op KEY DEST '{ONCE}'");
    let run = place.run(&exec);
    let said = run.failed(1, "remote_exit");
    assert_eq!((&said["operation"]["origin"], &said["remote_exit"]), (&"operator".into(), &3.into()), "{run}");
    assert_eq!((place.sshd.connections(), place.starts()), (connections, 1));
    // Somebody else is told the same by the host, and not the opposite.
    place.run_elsewhere("ops resolve --verdict not-done DEST KEY").failed(65, "op_already_resolved");
    let run = place.run_elsewhere(&exec);
    assert_eq!(run.failed(1, "remote_exit")["operation"]["origin"], "operator", "{run}");
    assert_eq!(place.starts(), 1);
}

#[test]
fn nothing_is_decided_about_what_runs() {
    let place = Place::new();
    place.start(ONCE);
    for verdict in ["not-done", "done --status 7"] {
        let run = place.run(&format!("ops resolve --verdict {verdict} DEST KEY"));
        let said = run.failed(65, "resolve_refused");
        assert_eq!((&said["started"], &said["operation"]["state"]), (&"no".into(), &"running".into()), "{run}");
        assert!(said.advice().contains("ops cancel"), "{run}");
    }
    let run = place.run("ops resolve --verdict abandoned DEST KEY");
    assert_eq!(run.succeeded().warnings(), ["still_running"], "{run}");
    place.run(&format!("exec --op KEY DEST '{ONCE}'")).failed(65, "op_key_retired");
    assert_eq!(place.run("ops list").succeeded()["ops"][0]["state"], "abandoned");
    place.run("ops cancel DEST KEY").succeeded();
    assert!(!place.sleeps() && place.starts() == 1);
}

#[test]
fn an_outcome_of_its_own_is_worth_more_than_a_verdict() {
    let place = Place::new();
    place.start("sleep 1; echo out; exit 4");
    wait::until("its end", Duration::from_secs(20), || {
        let (_, listing) = Place::shown(&place.run_elsewhere("ops show DEST KEY"));
        (listing["host"]["state"] == "done").then_some(())
    });
    for elsewhere in [true, false, false] {
        let line = "ops resolve --verdict not-done DEST KEY";
        let run = if elsewhere { place.run_elsewhere(line) } else { place.run(line) };
        let said = run.failed(1, "remote_exit");
        assert_eq!((&said["remote_exit"], said.warnings()), (&4.into(), vec!["resolved_by_itself"]), "{run}");
    }
    let connections = place.sshd.connections();
    let run = place.run("exec --op KEY DEST 'sleep 1; echo out; exit 4'");
    let said = run.failed(1, "remote_exit");
    assert_eq!((said.stdout(), &said["operation"]["origin"]), ("out\n", &"executed".into()), "{run}");
    assert_eq!(place.sshd.connections(), connections);
}

#[test]
fn who_gives_it_up_need_not_reach_the_host() {
    let state = Scratch::new();
    // Bound and closed again: nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let run = |line: &str| Cli::new(line, "nobody", port).env("SSH_CLI_STATE_DIR", state.path()).run();
    run("exec --op k DEST true").failed(74, "connection_refused");
    run("ops resolve --verdict not-done DEST k").failed(74, "connection_refused");
    run("ops cancel DEST k").failed(74, "connection_refused");
    let shown = run("ops show DEST k");
    assert_eq!(shown.failed(74, "connection_refused")["ops"][0]["state"], "intent", "{shown}");
    let given_up = run("ops resolve --verdict abandoned DEST k");
    let said = given_up.succeeded();
    assert_eq!((said.warnings(), &said["ops"][0]["state"]), (vec!["host_not_seen"], &"abandoned".into()), "{given_up}");
    run("exec --op k DEST true").failed(65, "op_key_retired");
    run("ops resolve --verdict abandoned DEST k").failed(65, "op_already_resolved");
}

#[test]
fn nothing_is_done_to_the_operation_of_another_request() {
    let place = Place::new();
    place.start(ONCE);
    let other = Scratch::new();
    let line = |line: &str| place.sshd.cli(&place.spelled(line)).env("SSH_CLI_STATE_DIR", other.path()).run();
    // It is meant here, and could not be sent: whose key it is shows only now.
    let meant = line("exec --op KEY -o PubkeyAuthentication=no DEST 'something else'");
    assert_eq!(meant.json().exit(), 77, "{meant}");
    line("ops cancel DEST KEY").failed(65, "op_key_mismatch");
    line("ops resolve --verdict not-done DEST KEY").failed(65, "op_key_mismatch");
    assert!(place.sleeps());
    place.run_elsewhere("ops cancel DEST KEY").succeeded();
    assert!(!place.sleeps());
}

#[test]
fn what_ran_as_another_user_is_found_as_that_user() {
    let Some(account) = Account::spoilt("ops-sudo") else { return };
    let Some(_sudoers) = Sudoers::of(&account, &["USER ALL=(ALL) ALL"]) else { return };
    let Some(other) = Account::spoilt("ops-other") else { return };
    let place = Place::at(Sshd::build().account(account).start());
    let spelled = |line: &str| place.cli(&line.replace("OTHER", &other.name));
    let pw = |line: &str| spelled(line).env("PW", place.sshd.account.password()).run();
    let begun = pw("sudo-exec --sudo-password env:PW --as OTHER --op KEY --wait 0 DEST 'sleep TAG'");
    assert_eq!(begun.json().exit(), 75, "{begun}");
    place.run("ops show DEST KEY").failed(66, "op_not_found");
    let run = pw("ops show --as OTHER --sudo-password env:PW DEST KEY");
    let (said, listing) = Place::shown(&run);
    assert_eq!((said.exit(), &listing["host"]["state"]), (0, &"running".into()), "{run}");
    assert!(listing["target"].as_str().unwrap().ends_with(&format!(" as={}", other.name)), "{run}");
    spelled("ops show --as OTHER DEST KEY").run().failed(77, "sudo_password_required");
    let run = pw("ops cancel --as OTHER --sudo-password env:PW DEST KEY");
    assert_eq!(run.succeeded()["operation"]["state"], "cancelled", "{run}");
    assert!(!place.sleeps());
    run.never_shows(place.sshd.account.password());
}
