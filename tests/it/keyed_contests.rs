//! Many calls of one key at once, from one state directory and from two: one of them starts it, and all are told the same.

use std::time::Duration;

use rustix::process::Signal;

use crate::rig::dice::{Dice, seeds};
use crate::rig::ledger::{Keeper, each, outcome, signal};
use crate::rig::wait::{eventually, pause};
use crate::rig::{Run, Running};

const STATES: [&str; 2] = ["state", "elsewhere"];

fn contest(keeper: &Keeper, seed: u64) {
    let mut dice = Dice::new(seed);
    let middle = dice.one_of(&["true", "sleep 0.1", "sleep 0.4", "seq 1 20000"]);
    let operation = keeper.operation_ending(middle, dice.one_of(&[0, 3]));
    let count = 2 + dice.below(7);
    let homes = 1 + dice.below(2);
    let case = format!("seed {seed}: {count} from {homes}, {middle}");
    let calls: Vec<_> = (0..count)
        .map(|n| {
            pause(Duration::from_millis(dice.below(30)));
            // One of them may be content to start it.
            let wait = if dice.one_in(5) { "--wait 0" } else { "" };
            operation.cli_with("exec", wait, STATES[usize::try_from(n % homes).unwrap()]).start()
        })
        .collect();
    let mut runs: Vec<Run> = calls.into_iter().map(Running::finish).collect();
    let still = runs.iter().filter(|run| run.code() == 75).count();
    runs.retain(|run| run.code() != 75);
    runs.push(operation.settle(&case));
    runs.push(operation.cli_from("elsewhere").run());
    for run in &runs {
        operation.ran_once(run, &case);
        assert_eq!(outcome(&run.json()), outcome(&runs[0].json()), "{case}: {run}\n{}", runs[0]);
    }
    println!("{case}: {} told, {still} did not wait", runs.len());
}

#[test]
fn of_many_at_once_one_starts_and_all_are_told_the_same() {
    let seeds = seeds(4, 60);
    let Some(keeper) = Keeper::start() else { return };
    for seed in seeds {
        contest(&keeper, seed);
    }
}

/// One call is stopped somewhere on the host at a random moment, and goes on when its rival has come to its end.
fn stopped(keeper: &Keeper, seed: u64) -> bool {
    let mut dice = Dice::new(seed);
    let operation = keeper.operation("true");
    let first = operation.cli().start();
    let role = dice.one_of(&["launcher", "launcher", " sup ", " wrap ", " run "]);
    // On a busy machine it may have come and gone between two looks.
    eventually(Duration::from_secs(20), || !keeper.launchers().is_empty() || operation.starts() > 0);
    pause(Duration::from_millis(dice.below(70)));
    let mut victims = Vec::new();
    eventually(Duration::from_millis(60), || {
        victims = match role {
            "launcher" => keeper.launchers(),
            role => operation.keepers(role),
        };
        !victims.is_empty()
    });
    signal(&victims, Signal::STOP);
    let case = format!("seed {seed}: stopped {role} {victims:?}");
    // The gate may be taken already: then the rival follows one who stands still, until its time is over.
    let rival = operation.cli_with("exec", "--wait 3s", "elsewhere").run();
    let starts = operation.starts();
    assert!(starts <= 1, "{case}: {rival}");
    let finished = rival.code() != 75;
    if finished {
        operation.ran_once(&rival, &case);
    }
    signal(&victims, Signal::CONT);
    let run = first.finish();
    assert!(run.code() == 0 || run.code() == 74, "{case}: {run}");
    let run = operation.settle(&case);
    operation.ran_once(&run, &case);
    if finished {
        assert_eq!(outcome(&run.json()), outcome(&rival.json()), "{case}: {run}\n{rival}");
    }
    // Whoever slept before the gate is awake now, and finds it taken.
    assert!(operation.wait_until_quiet(Duration::from_secs(40)), "{case}: {:?}", operation.keepers(""));
    assert_eq!(operation.lines(), ["begin", "end"], "{case}: later");
    finished && !victims.is_empty()
}

#[test]
fn one_that_stood_still_through_its_rivals_whole_run_starts_nothing_later() {
    let seeds = seeds(10, 120);
    let Some(keepers) = (0..2).map(|_| Keeper::start()).collect::<Option<Vec<_>>>() else { return };
    let overtaken = std::sync::atomic::AtomicUsize::new(0);
    let work: Vec<(&Keeper, Vec<u64>)> = keepers
        .iter()
        .enumerate()
        .map(|(at, keeper)| (keeper, seeds.iter().skip(at).step_by(keepers.len()).copied().collect()))
        .collect();
    each(&work, keepers.len(), |(keeper, seeds)| {
        for seed in seeds {
            let count = usize::from(stopped(keeper, *seed));
            overtaken.fetch_add(count, std::sync::atomic::Ordering::SeqCst);
        }
    });
    println!("{} rounds, in {} the rival ran to its end meanwhile", seeds.len(), overtaken.into_inner());
}
