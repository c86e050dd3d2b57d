//! `kill -9`, at a moment that nobody chose: of the client, of the launcher, of each who keeps the operation on the host, of the
//! command, and of some of them at once.
//!
//! Afterwards the same line is typed again until it is told an outcome. A write never starts twice. What is told is how it ended,
//! or that nobody can know it, and that only where those who could have known were among the dead.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::rig::dice::{Dice, seeds};
use crate::rig::ledger::{Keeper, Operation, each, signal};
use crate::rig::wait::{eventually, pause};
use crate::rig::{Envelope, Run};

const ROLES: [&str; 6] = ["client", "launcher", " sup ", " wrap ", " run ", "command"];

/// Who was killed, in the order of their deaths.
struct Killed(Vec<&'static str>);

impl Killed {
    fn has(&self, role: &str) -> bool {
        self.0.contains(&role)
    }
}

/// Those who play this role now.
fn players(keeper: &Keeper, operation: &Operation<'_>, role: &str) -> Vec<i32> {
    match role {
        "launcher" => keeper.launchers(),
        "command" => operation.commands(),
        role => operation.keepers(role),
    }
}

/// Runs the call and kills as the dice say; what came of it, and who died.
fn run_and_kill(keeper: &Keeper, operation: &Operation<'_>, dice: &mut Dice) -> (Option<Run>, Killed) {
    // So many deaths, each of somebody, at a time after somebody is there to be killed.
    let deaths = 1 + dice.below(3);
    let mut plan: Vec<(u64, &'static str)> = (0..deaths).map(|_| (dice.below(140), dice.one_of(&ROLES))).collect();
    plan.sort_unstable();
    if dice.one_in(2) {
        // Or all at one moment.
        let moment = plan[0].0;
        for (at, _) in &mut plan {
            *at = moment;
        }
    }
    let before_the_connection = dice.one_in(12);
    let mut call = operation.cli().start();
    if !before_the_connection {
        eventually(Duration::from_secs(10), || !players(keeper, operation, "launcher").is_empty());
    }
    let began = Instant::now();
    let mut killed = Vec::new();
    for (at, role) in plan {
        pause(Duration::from_millis(at).saturating_sub(began.elapsed()));
        if role == "client" {
            if !killed.contains(&role) {
                call.signal(Signal::KILL);
                killed.push(role);
            }
            continue;
        }
        let mut players = Vec::new();
        // Who is not there yet is waited for a little.
        eventually(Duration::from_millis(250), || {
            players = self::players(keeper, operation, role);
            !players.is_empty() || operation.registers().keys().any(|name| name.ends_with("/done"))
        });
        signal(&players, Signal::KILL);
        if !players.is_empty() {
            killed.push(role);
        }
    }
    let killed = Killed(killed);
    let run = if killed.has("client") || call.ends_within(Duration::from_secs(2)) {
        Some(call.finish())
    } else {
        // It waits for somebody who is not there any more; the same line need not wait for it.
        let rival = operation.run();
        let run = call.finish();
        judge(operation, &rival, &killed, "the rival of a call that waits");
        Some(run)
    };
    (run.filter(|_| !killed.has("client")), killed)
}

/// Checks what one call was told.
fn judge(operation: &Operation<'_>, run: &Run, killed: &Killed, case: &str) -> Envelope {
    let said = run.json();
    let lines = operation.lines();
    let context = || format!("{case}: killed {:?}, ledger {lines:?}, {:?}: {run}", killed.0, operation.registers());
    if said["started"] == "no" {
        // Of this attempt: no other one was made before it.
        let attempt = said["operation"]["attempt"].as_str().unwrap_or("none");
        assert!(operation.registers().values().all(|text| !text.contains(attempt)), "it did start: {}", context());
    }
    match said.exit() {
        0 | 1 if said["remote_exit"] == operation.status => {
            assert!(lines.contains(&"end".to_owned()), "it did not end: {}", context());
        }
        1 if said["remote_exit"] == 137 => {
            assert!(killed.has("command") || killed.has(" run "), "nobody was killed: {}", context());
        }
        74 => {}
        // An attempt whose own people died before the gate says so.
        73 => assert!(said["started"] == "no" || said["started"] == "unknown", "{}", context()),
        76 => {
            let predicate = match said.error_code() {
                "exit_status_lost" => killed.has(" wrap "),
                "died_without_status" => killed.has(" wrap ") && killed.has(" sup "),
                _ => false,
            };
            assert!(predicate && operation.options.is_empty(), "{}", context());
            assert!(said["operation"]["evidence"].is_object(), "{}", context());
        }
        _ => panic!("{}", context()),
    }
    said
}

fn scenario(keeper: &Keeper, seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let middle = dice.one_of(&["true", "sleep 0.1", "sleep 0.3", "seq 1 3000; sleep 0.2; seq 1 3000"]);
    let effect = dice.one_of(&["", "", "--effect idempotent", "--effect read"]);
    let status = dice.one_of(&[0, 3]);
    let operation = keeper.operation_ending(middle, status).with(effect);
    let (first, killed) = run_and_kill(keeper, &operation, &mut dice);
    let case = format!("seed {seed}: {middle} {effect}");
    if let Some(run) = &first {
        judge(&operation, run, &killed, &format!("{case}: the first call"));
    }
    let run = operation.settle(&case);
    let said = judge(&operation, &run, &killed, &case);
    let context = || format!("{case}: killed {:?}, ledger {:?}: {run}", killed.0, operation.lines());
    let generation = said["operation"]["generation"].as_u64().unwrap();
    let starts = operation.starts();
    assert!(starts as u64 <= generation, "{}", context());
    if effect.is_empty() {
        assert!(starts <= 1 && generation == 1, "{}", context());
    }
    let settled = (operation.lines(), operation.registers());
    for state in ["state", "state", "elsewhere"] {
        let again = operation.cli_from(state).run();
        let told = again.json();
        let same = (told.exit(), &told["remote_exit"], told.error_code());
        assert_eq!(same, (said.exit(), &said["remote_exit"], said.error_code()), "{}\n{again}", context());
        let known = |said: &Envelope| (said.stdout().to_owned(), said.stderr().to_owned());
        if said.exit() != 76 {
            assert_eq!(known(&told), known(&said), "{}\n{again}", context());
        }
        assert_eq!(operation.lines(), settled.0, "{}\n{again}", context());
        let (now, mut before) = (operation.registers(), settled.1.clone());
        // Another client acknowledges what it fetched.
        before.extend(now.iter().filter(|(name, _)| name.ends_with("/ack")).map(|(a, b)| (a.clone(), b.clone())));
        assert_eq!(now, before, "{}\n{again}", context());
    }
    assert!(operation.wait_until_quiet(Duration::from_secs(40)), "somebody is left: {}", context());
    assert_eq!(operation.starts(), starts, "later: {}", context());
    let told = match said.error_code() {
        "" => "0".into(),
        "remote_exit" => format!("1 ({})", said["remote_exit"]),
        code => code.to_owned(),
    };
    if killed.0.is_empty() { format!("{told}, nobody hit") } else { told }
}

fn rounds(short: u64, long: u64) {
    let seeds = seeds(short, long);
    let Some(keepers) = (0..2).map(|_| Keeper::start()).collect::<Option<Vec<_>>>() else { return };
    let outcomes: Mutex<BTreeMap<String, usize>> = Mutex::default();
    // A server for each who works: a launcher does not show whose it is.
    let work: Vec<(&Keeper, Vec<u64>)> = keepers
        .iter()
        .enumerate()
        .map(|(at, keeper)| (keeper, seeds.iter().skip(at).step_by(keepers.len()).copied().collect()))
        .collect();
    each(&work, keepers.len(), |(keeper, seeds)| {
        for seed in seeds {
            let outcome = scenario(keeper, *seed);
            *outcomes.lock().unwrap().entry(outcome).or_default() += 1;
        }
    });
    println!("{} rounds: {:?}", seeds.len(), outcomes.into_inner().unwrap());
}

#[test]
fn whoever_is_killed_it_starts_once_and_is_told_truly() {
    rounds(14, 400);
}

#[test]
fn when_all_who_could_know_are_killed_a_person_must_decide_and_nothing_starts_again() {
    let Some(keeper) = Keeper::start() else { return };
    for (roles, code) in [
        (&[" wrap "][..], "exit_status_lost"),
        (&[" wrap ", " sup "][..], "died_without_status"),
        (&[" sup ", " wrap ", "command"][..], "died_without_status"),
    ] {
        let operation = keeper.operation("sleep 0.3");
        let call = operation.cli().start();
        operation.wait_until_it_began();
        // All of them at once, before one of them notices.
        let victims: Vec<i32> = roles.iter().flat_map(|role| players(&keeper, &operation, role)).collect();
        signal(&victims, Signal::STOP);
        signal(&victims, Signal::KILL);
        let run = call.finish();
        let said = run.failed(76, code);
        assert!(said["started"] == "yes" || said["started"] == "unknown", "{run}");
        assert!(said["operation"]["evidence"].is_object() && said["retryable"] == false, "{run}");
        assert!(operation.wait_until_quiet(Duration::from_secs(10)));
        let before = (operation.lines(), operation.registers());
        for state in ["state", "state", "elsewhere"] {
            let run = operation.cli_from(state).run();
            run.failed(76, code);
            assert_eq!((operation.lines(), operation.registers()), before, "{run}");
        }
    }
}

#[test]
fn what_may_be_repeated_goes_on_in_the_next_generation() {
    let Some(keeper) = Keeper::start() else { return };
    for effect in ["read", "idempotent"] {
        let operation = keeper.operation("sleep 0.3").with(&format!("--effect {effect}"));
        let call = operation.cli().start();
        operation.wait_until_it_began();
        let mut victims = players(&keeper, &operation, " wrap ");
        victims.extend(players(&keeper, &operation, " sup "));
        signal(&victims, Signal::STOP);
        signal(&victims, Signal::KILL);
        let first = call.finish();
        let run = operation.settle(effect);
        let said = run.succeeded();
        assert_eq!((&said["operation"]["generation"], said.stdout()), (&2.into(), "out\nlast\n"), "{first}\n{run}");
        assert_eq!(operation.starts(), 2, "{first}\n{run}");
    }
}
