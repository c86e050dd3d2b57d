//! What a key costs: `exec true` with one beside `exec true` without, and how many round trips more it is.

use std::time::Duration;

use crate::client::{Cost, Pair, verdict};
use crate::delay::DelayProxy;
use crate::server::Server;
use crate::{Fallible, Plan};

/// A key may make `exec true` so much slower, where nothing is far away.
const MORE_MS: f64 = 80.0;

/// And so many round trips, where it is.
const MORE_ROUND_TRIPS: f64 = 2.0;

/// Long beside everything else that a run does.
const ROUND_TRIP: Duration = Duration::from_millis(200);

pub fn compare(plan: &Plan, server: &Server) -> Fallible<()> {
    let row = "exec true, with a key";
    if !plan.wants(row) {
        return Ok(());
    }
    // Each run is an operation of its own.
    let run_id = format!("bench-{}-{}", std::process::id(), server.port);
    let mut count = 0;
    let mut turn = |port| -> Fallible<(Cost, Cost)> {
        count += 1;
        let key = format!("{run_id}-{count}");
        Ok((server.ours_at(port, &[], "true").run()?, server.ours_at(port, &["--op", &key], "true").run()?))
    };
    let near = Pair::of(plan.exec_runs, || turn(server.port))?.more_ms();
    println!(
        "{row:<34}{:>12}{:>12}{:>9}   {}",
        "",
        format!("+{near:.0} ms"),
        "",
        verdict("80 ms more", near <= MORE_MS)
    );
    let delay = DelayProxy::start(server.port, ROUND_TRIP / 2)?;
    let far = Pair::of(5, || turn(delay.port))?.more_ms();
    let round_trips = (far - near) / (ROUND_TRIP.as_secs_f64() * 1000.0);
    // A part of one is the clock's.
    let met = round_trips < MORE_ROUND_TRIPS + 0.4;
    let row = "exec true, with a key, far away";
    println!("{row:<34}{:>12}{:>12}{:>9}   {}", "", format!("+{round_trips:.1} trips"), "", verdict("2 more", met));
    println!("(the receipts of these operations stay in the account's ~/.local/state/ssh-cli for 90 days)");
    Ok(())
}
