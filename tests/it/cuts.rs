//! One `exec 'echo x >> f'`, cut after every 40th byte in each direction and in each way that a connection breaks.
//!
//! At every cut: either the file is untouched and the answer says `no`, or the answer says that it may have run; success only
//! with the remote's word; and never "access denied", which only a server may say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::rig::{Mode, Run, Sshd, Way};

/// A cut that was made: where, what was said, and the file that the command would have written.
struct Case {
    at: (Way, u64),
    run: Run,
    file: PathBuf,
}

/// How far apart the cuts are, in bytes. A key exchange has no shorter message that matters.
const STEP: usize = 40;

fn sweep(mode: Mode, options: &str, at_once: usize) {
    let sshd = Sshd::start();
    let dir = sshd.shared_dir();
    let line = |file: &Path| format!("exec {options} DEST 'echo x >> {}'", file.display());
    // How long the exchange is when nothing breaks.
    let whole = sshd.proxy().start();
    let run = sshd.cli(&line(&dir.join("whole"))).via(&whole).run();
    run.succeeded();
    let mut cuts = Vec::new();
    for way in [Way::Up, Way::Down] {
        // The exchange varies by some bytes: one cut behind its end.
        cuts.extend((0..=whole.bytes(way) + STEP as u64).step_by(STEP).map(|after| (way, after)));
    }
    let (next, cases) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some((way, after)) = cuts.get(next.fetch_add(1, Ordering::SeqCst)).copied() {
                    let file = dir.join(format!("{way:?}-{after}"));
                    let proxy = sshd.proxy().cut(way, after, mode).start();
                    let run = sshd.cli(&line(&file)).via(&proxy).limit(Duration::from_secs(60)).run();
                    cases.lock().unwrap().push(Case { at: (way, after), run, file });
                }
            });
        }
    });
    // A command that was on its way when the connection broke has had the time of all the others to run; the last ones a little.
    crate::rig::wait::pause(Duration::from_millis(500));
    let mut counts = BTreeMap::new();
    for case in cases.into_inner().unwrap() {
        *counts.entry(judge(&case)).or_insert(0) += 1;
    }
    eprintln!("{mode:?}: {counts:?}");
    assert!(counts.keys().any(|(exit, started)| *exit == 74 && started == "no"), "some cut came before the command");
}

/// Checks one cut; what the answer was.
fn judge(case: &Case) -> (i64, String) {
    let Case { at, run, file } = case;
    let said = run.json();
    let lines = fs::read_to_string(file).unwrap_or_default();
    assert!(lines.is_empty() || lines == "x\n", "it ran more than once at {at:?}: {run}");
    let started = said["started"].as_str().unwrap().to_owned();
    match said.exit() {
        0 => assert!(said["remote_exit"] == 0 && lines == "x\n", "a success that was none at {at:?}: {run}"),
        74 => assert!(started == "no" && lines.is_empty(), "safe to repeat, but it ran at {at:?}: {lines:?} {run}"),
        76 => assert_ne!(started, "no", "{at:?}: {run}"),
        other => panic!("exit {other} at {at:?}: {run}"),
    }
    (said.exit(), started)
}

#[test]
fn a_reset_at_any_byte_is_told_truly() {
    sweep(Mode::Rst, "", 8);
}

#[test]
fn an_end_of_stream_at_any_byte_is_told_truly() {
    sweep(Mode::Fin, "--connect-timeout 20s", 8);
}

#[test]
fn a_silence_at_any_byte_is_told_truly() {
    // Many at once: nearly all they do is wait.
    sweep(Mode::Silence, "--connect-timeout 6s --keepalive 1s --deadline 20s", 40);
}
