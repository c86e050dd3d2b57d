//! Hosts and accounts of many kinds: where a receipt can be kept, the key holds; where none can be, nothing is started.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::rig::ledger::{Keeper, Operation, outcome};
use crate::rig::{Account, Sshd, Sudoers, needs};

#[test]
fn every_login_shell_keeps_a_receipt() {
    for shell in ["bash", "zsh", "ksh", "mksh", "yash", "busybox", "fish", "tcsh"] {
        let Some(account) = Account::with_shell(shell) else { continue };
        let keeper = Keeper::of(Sshd::build().account(account).start());
        // csh and fish have another way to send to standard error.
        let mut operation = keeper.operation_ending("true", 3);
        let at = operation.ledger.display();
        operation.command = format!("echo begin >>{at}; echo out; sleep 0.1; echo last; echo end >>{at}; exit 3");
        let run = operation.run();
        operation.ran_once(&run, shell);
        assert_eq!(run.json().stdout(), "out\nlast\n", "{shell}: {run}");
        for state in ["state", "elsewhere"] {
            let again = operation.cli_from(state).run();
            operation.ran_once(&again, shell);
            assert_eq!(outcome(&again.json()), outcome(&run.json()), "{shell}: {again}");
        }
    }
}

#[test]
fn dropbear_keeps_a_receipt_too() {
    let Some(keeper) = Keeper::dropbear() else { return };
    let operation = keeper.operation_ending("true", 3);
    let run = operation.run();
    operation.ran_once(&run, "dropbear");
    for state in ["state", "elsewhere"] {
        let again = operation.cli_from(state).run();
        operation.ran_once(&again, "dropbear again");
        assert_eq!(outcome(&again.json()), outcome(&run.json()), "{again}");
    }
}

/// Nothing is kept there, so nothing is started; and that is said in this way.
fn refused(operation: &Operation<'_>, exit: i64, code: &str) {
    for _ in 0..2 {
        let run = operation.run();
        let said = run.failed(exit, code);
        assert!(said["started"] == "no" && said["operation"]["state"] == "refused", "{run}");
        assert!(operation.lines().is_empty() && run.elapsed < Duration::from_secs(30), "{run}");
    }
}

#[test]
fn an_account_without_a_shell_keeps_none() {
    let Some(shell) = needs::program("nologin") else { return };
    let Some(account) = Account::spoilt_with("keyed-nologin", shell.to_str().unwrap()) else { return };
    let keeper = Keeper::of(Sshd::build().account(account).start());
    refused(&keeper.operation("true"), 69, "receipt_unsupported");
}

#[test]
fn a_forced_command_keeps_none() {
    let Some(account) = Account::spoilt("keyed-forced") else { return };
    for forced in ["echo no", "head -c 1000; exit 3", "sleep 0.2"] {
        let keeper = Keeper::of(Sshd::build().account(account.clone()).line(format!("ForceCommand {forced}")).start());
        refused(&keeper.operation("true"), 69, "receipt_unsupported");
    }
}

#[test]
fn a_forced_command_that_listens_without_end_is_not_waited_for() {
    let Some(account) = Account::spoilt("keyed-forced") else { return };
    let forced = ["cat", "cat >/dev/null", "while :; do echo; sleep 1; done"];
    crate::rig::ledger::each(&forced, forced.len(), |forced| {
        let keeper = Keeper::of(Sshd::build().account(account.clone()).line(format!("ForceCommand {forced}")).start());
        let operation = keeper.operation("true");
        let run = operation.run();
        let said = run.failed(69, "receipt_unsupported");
        assert!(said["started"] == "no" && run.elapsed < Duration::from_secs(40), "{run}");
    });
}

#[test]
fn a_home_that_cannot_be_written_keeps_none() {
    let Some(account) = Account::spoilt("keyed-locked") else { return };
    let _ = fs::remove_dir_all(account.home.join(".local"));
    let mode = |mode| fs::set_permissions(&account.home, Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    let keeper = Keeper::of(Sshd::build().account(account.clone()).start());
    let operation = keeper.operation("true");
    refused(&operation, 73, "receipt_unwritable");
    // And when it can be, the same line starts it.
    mode(0o755);
    operation.ran_once(&operation.run(), "unlocked");
    // A place that others may write in is no place either.
    let other = keeper.operation("true");
    fs::set_permissions(account.home.join(".local/state"), Permissions::from_mode(0o777)).unwrap();
    refused(&other, 69, "receipt_unsupported");
    fs::set_permissions(account.home.join(".local/state"), Permissions::from_mode(0o755)).unwrap();
    other.ran_once(&other.run(), "put right");
}

#[test]
fn through_sudo_the_receipt_is_the_other_accounts() {
    let Some(account) = Account::spoilt("keyed-sudo") else { return };
    let Some(other) = Account::spoilt("keyed-sudo-as") else { return };
    let Some(_sudoers) = Sudoers::of(&account, &["USER ALL=(ALL) ALL"]) else { return };
    let password = account.password().to_owned();
    let keeper = Keeper::of(Sshd::build().account(account).start());
    other.owns(&keeper.ledgers());
    let operation = keeper.operation_ending("id -un", 3).kept_by(&other);
    let call = |source: &str, state: &str| {
        let options = format!("--as {} --sudo-password env:{source}", other.name);
        operation.cli_with("sudo-exec", &options, state).env("PW", &password).env("BAD", "not-this-one").run()
    };
    let run = call("BAD", "state");
    assert_eq!(run.failed(77, "sudo_password_wrong")["started"], "no", "{run}");
    assert!(operation.lines().is_empty() && operation.registers().is_empty(), "{run}");
    let run = call("PW", "state");
    operation.ran_once(&run, "sudo");
    assert_eq!(run.json().stdout(), format!("out\n{}\nlast\n", other.name), "{run}");
    run.never_shows(&password);
    for state in ["state", "elsewhere"] {
        let again = call("PW", state);
        operation.ran_once(&again, state);
        assert_eq!(outcome(&again.json()), outcome(&run.json()), "{again}");
    }
    // What is recorded needs no password.
    operation.ran_once(&call("BAD", "state"), "replayed");
    // The key names another operation for every user.
    let own = operation.cli_from("state").run();
    assert_ne!(own.json()["operation"]["replayed"], true, "{own}");
}

#[test]
fn through_su_the_receipt_is_the_other_accounts() {
    let Some(account) = Account::spoilt("keyed-su") else { return };
    let Some(other) = Account::spoilt("keyed-su-as") else { return };
    let password = other.password().to_owned();
    let keeper = Keeper::of(Sshd::build().account(account).start());
    other.owns(&keeper.ledgers());
    let operation = keeper.operation_ending("id -un", 3).kept_by(&other);
    let call = |source: &str, state: &str| {
        let options = format!("--as {} --su-password env:{source}", other.name);
        operation.cli_with("su-exec", &options, state).env("PW", &password).env("BAD", "not-this-one").run()
    };
    let run = call("BAD", "state");
    assert_eq!(run.failed(77, "su_password_wrong")["started"], "no", "{run}");
    assert!(operation.lines().is_empty() && operation.registers().is_empty(), "{run}");
    let run = call("PW", "state");
    operation.ran_once(&run, "su");
    run.never_shows(&password);
    for state in ["state", "elsewhere"] {
        let again = call("PW", state);
        operation.ran_once(&again, state);
        assert_eq!(outcome(&again.json()), outcome(&run.json()), "{again}");
    }
}
