//! What a client takes, and how two of them are compared.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use wait4::Wait4;

use crate::Fallible;

/// Longer than any run here takes; then it hangs.
const RUN_LIMIT: Duration = Duration::from_secs(180);

/// What one run took.
#[derive(Clone, Copy)]
pub struct Cost {
    wall_ms: f64,
    cpu_ms: f64,
    pub peak_mib: f64,
}

/// The medians of both.
pub struct Pair {
    theirs: Cost,
    pub ours: Cost,
}

impl Pair {
    /// Takes turns. The first turn warms caches and is not counted.
    pub fn of(runs: usize, mut turn: impl FnMut() -> Fallible<(Cost, Cost)>) -> Fallible<Self> {
        turn()?;
        let turns = (0..runs).map(|_| turn()).collect::<Fallible<Vec<_>>>()?;
        let (theirs, ours): (Vec<_>, Vec<_>) = turns.into_iter().unzip();
        Ok(Self { theirs: Cost::median(&theirs), ours: Cost::median(&ours) })
    }

    /// How much longer ours took.
    pub fn more_ms(&self) -> f64 {
        self.ours.wall_ms - self.theirs.wall_ms
    }

    pub fn show(&self, what: &str, wall_target: Option<f64>, cpu_target: Option<f64>) {
        let rows = [
            ("wall", "ms", self.theirs.wall_ms, self.ours.wall_ms, wall_target),
            ("CPU", "ms", self.theirs.cpu_ms, self.ours.cpu_ms, cpu_target),
            ("memory", "MiB", self.theirs.peak_mib, self.ours.peak_mib, None),
        ];
        for (label, unit, theirs, ours, target) in rows {
            let label = format!("{what}, {label}");
            let ratio = ours / theirs;
            let verdict = target.map_or_else(String::new, |most| verdict(&format!("{most:.2}"), ratio <= most));
            println!("{label:<34}{:>12}{:>12}{ratio:>9.2}   {verdict}", figure(theirs, unit), figure(ours, unit));
        }
    }
}

/// Memory is bounded, however much the command writes.
const MEMORY_TARGET_MIB: f64 = 30.0;

pub fn show_memory(what: &str, peak_mib: f64) {
    let verdict = verdict(&format!("{MEMORY_TARGET_MIB} MiB"), peak_mib < MEMORY_TARGET_MIB);
    println!("{what:<34}{:>12}{:>12}{:>9}   {verdict}", "", figure(peak_mib, "MiB"), "");
}

fn figure(value: f64, unit: &str) -> String {
    if value < 100.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

pub fn verdict(most: &str, met: bool) -> String {
    format!("at most {most}: {}", if met { "met" } else { "MISSED" })
}

impl Cost {
    /// The median of each figure by itself.
    fn median(runs: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(figure).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Self { wall_ms: of(|run| run.wall_ms), cpu_ms: of(|run| run.cpu_ms), peak_mib: of(|run| run.peak_mib) }
    }
}

/// One client's command line.
pub struct Client {
    pub command: Command,
    pub expected_exits: &'static [i32],
}

impl Client {
    pub fn input(mut self, file: &Path) -> Self {
        // A file that is not there shows itself: without input the run would be measured as if it had some.
        self.command.stdin(File::open(file).expect("the input was just made"));
        self
    }

    pub fn ends_with(mut self, exits: &'static [i32]) -> Self {
        self.expected_exits = exits;
        self
    }

    /// Runs it. The peak of its memory is never reported below that of this process, from which it is forked; that is some 3 MiB.
    pub fn run(mut self) -> Fallible<Cost> {
        let begun = Instant::now();
        let mut child = self.command.spawn()?;
        if !ends_within(&child, RUN_LIMIT)? {
            child.kill()?;
            child.wait()?;
            return Err(format!("did not end in {RUN_LIMIT:?}: {:?}", self.command).into());
        }
        let wall = begun.elapsed();
        let used = child.wait4()?;
        if !used.status.code().is_some_and(|code| self.expected_exits.contains(&code)) {
            return Err(format!("{}: {:?}", used.status, self.command).into());
        }
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        #[expect(clippy::cast_precision_loss, reason = "no process has 2^53 bytes")]
        let peak_mib = used.rusage.maxrss as f64 / 1_048_576.0;
        Ok(Cost { wall_ms: ms(wall), cpu_ms: ms(used.rusage.utime + used.rusage.stime), peak_mib })
    }
}

/// Waits for its end, without taking note of it.
pub fn ends_within(child: &Child, limit: Duration) -> Fallible<bool> {
    let pid = Pid::from_raw(child.id().cast_signed()).ok_or("a child has a pid")?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    let limit = Timespec::try_from(limit)?;
    Ok(poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit))? > 0)
}
