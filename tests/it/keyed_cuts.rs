//! The connection of a keyed call breaks: at the border of a packet or within one, on the way there or back, with a reset, an end
//! of stream, or in a silence after which what was held up is delivered all the same.
//!
//! Then the same line is typed again until nobody asks for that: the ledger has one beginning and one end.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::rig::dice::{Dice, long, seeds};
use crate::rig::ledger::{Keeper, each};
use crate::rig::wait::pause;
use crate::rig::{FaultProxy, Mode, Way};

/// How a connection breaks here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    Cut(Mode),
    /// Nothing passes, until what was held up is delivered: long after the client has gone.
    Late,
}

/// Where.
#[derive(Clone, Copy, Debug)]
struct Place {
    way: Way,
    after: u64,
    seed: u64,
}

fn broken(keeper: &Keeper, how: Break, place: Place) -> String {
    let mut dice = Dice::new(place.seed);
    let operation =
        keeper.operation_ending(dice.one_of(&["true", "true", "sleep 0.2", "seq 1 4000"]), dice.one_of(&[0, 3]));
    let proxy: FaultProxy = match how {
        Break::Cut(mode) => keeper.proxy().cut(place.way, place.after, mode),
        Break::Late => keeper.proxy().stall(place.way, place.after, Duration::from_millis(4500)),
    }
    .start();
    let impatient = match how {
        Break::Cut(Mode::Silence) | Break::Late => "--keepalive 1s --connect-timeout 3s",
        Break::Cut(_) => "",
    };
    let case = format!("{how:?} {place:?}");
    let run = operation.cli_with("exec", impatient, "state").via(&proxy).run();
    let said = run.json();
    let before = operation.lines();
    match said.exit() {
        0 | 1 => operation.ran_once(&run, &case),
        74 => assert!(said["retryable"] == true && said["retry"]["policy"] == "retry_with_same_key", "{case}: {run}"),
        _ => panic!("{case}: {run}"),
    }
    let may_come_later = how == Break::Late || dice.one_in(2);
    if said["started"] == "no" {
        assert!(before.is_empty(), "{case}: {before:?}: {run}");
        // And never will: what was on its way is given the time to arrive.
        if !may_come_later {
            pause(Duration::from_millis(300));
            assert!(operation.wait_until_quiet(Duration::from_secs(20)), "{case}: {run}");
            assert!(operation.lines().is_empty() && operation.registers().is_empty(), "{case}: {run}");
        }
    }
    let last = operation.settle(&case);
    operation.ran_once(&last, &format!("{case}: then"));
    if said["started"] == "no" && said["operation"]["attempt"].is_string() {
        assert_ne!(said["operation"]["attempt"], last.json()["operation"]["attempt"], "{case}: {run}\n{last}");
    }
    if how == Break::Late {
        // What was held up arrives now, at a gate that is taken.
        pause(Duration::from_secs(5).saturating_sub(last.elapsed));
    }
    let again = operation.cli_from("elsewhere").run();
    operation.ran_once(&again, &format!("{case}: elsewhere"));
    assert_eq!(again.json().stdout(), last.json().stdout(), "{case}: {again}\n{last}");
    format!("{} {}", said.exit(), said["started"].as_str().unwrap())
}

/// Breaks it in so many places, some at once; in a long run at every 40th byte too.
fn sweep(keeper: &Keeper, how: Break, at_once: usize, short: u64, in_a_long_run: u64) {
    let seeds = seeds(short, in_a_long_run);
    // How long the exchange is when nothing breaks, and where its packets end.
    let whole = keeper.proxy().noting().start();
    let operation = keeper.operation("true");
    operation.ran_once(&operation.cli().via(&whole).run(), "unbroken");
    let (total, borders) = ([Way::Up, Way::Down].map(|way| whole.bytes(way)), whole.borders());
    let mut places: Vec<Place> = seeds
        .iter()
        .map(|seed| {
            let mut dice = Dice::new(*seed);
            let way = dice.one_of(&[Way::Up, Way::Down]);
            let whole = total[way as usize];
            let after = match dice.below(4) {
                0 => dice.one_of(&borders[way as usize]),
                1 => dice.below(whole + 40),
                // The conversation about the operation is the last part of it; most of what comes before is the program.
                _ => whole.saturating_sub(1500) + dice.below(1540),
            };
            Place { way, after, seed: *seed }
        })
        .collect();
    if long() && how != Break::Late {
        for way in [Way::Up, Way::Down] {
            let everywhere = (0..=total[way as usize] + 40).step_by(40).chain(borders[way as usize].iter().copied());
            places.extend(everywhere.map(|after| Place { way, after, seed: seeds[0] + after }));
        }
    }
    let counts: Mutex<BTreeMap<String, usize>> = Mutex::default();
    each(&places, at_once, |place| {
        let told = broken(keeper, how, *place);
        *counts.lock().unwrap().entry(told).or_default() += 1;
    });
    println!("{} cuts, {how:?}: {:?}", places.len(), counts.into_inner().unwrap());
}

#[test]
fn after_a_reset_anywhere_the_same_line_leads_to_one_run() {
    let Some(keeper) = Keeper::start() else { return };
    sweep(&keeper, Break::Cut(Mode::Rst), 3, 18, 150);
}

#[test]
fn after_an_end_of_stream_anywhere_the_same_line_leads_to_one_run() {
    let Some(keeper) = Keeper::start() else { return };
    sweep(&keeper, Break::Cut(Mode::Fin), 3, 18, 150);
}

#[test]
fn after_a_silence_anywhere_the_same_line_leads_to_one_run() {
    let Some(keeper) = Keeper::start() else { return };
    sweep(&keeper, Break::Cut(Mode::Silence), 12, 18, 150);
}

#[test]
fn what_arrives_long_after_its_client_went_starts_nothing_twice() {
    let Some(keeper) = Keeper::start() else { return };
    sweep(&keeper, Break::Late, 12, 18, 200);
}

#[test]
fn on_dropbear_too_the_same_line_leads_to_one_run() {
    let Some(keeper) = Keeper::dropbear() else { return };
    sweep(&keeper, Break::Cut(Mode::Rst), 3, 14, 150);
}
