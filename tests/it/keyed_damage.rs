//! Disks that are full, on either side, and a journal whose bytes are not what they were: it is not started, or it is completed;
//! it is never started twice.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use ssh_cli::journal::Journal;

use crate::rig::dice::{Dice, long, seeds};
use crate::rig::ledger::{Keeper, Operation};
use crate::rig::{Account, Scratch, Sshd, needs};

/// A small file system in memory, unmounted again whatever happens.
struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// None, said aloud, where we may not.
    fn mount(at: &Path, options: &str) -> Option<Self> {
        if needs::no_root() {
            return None;
        }
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output().unwrap();
        if !mounted.status.success() {
            needs::skip("may not mount");
            return None;
        }
        Some(Self { at: at.into() })
    }

    /// Leaves so many bytes, and so many files' worth of names.
    fn leave(&self, bytes: u64, files: usize) {
        self.clear();
        let mut filler = File::create(self.at.join("filler")).unwrap();
        while filler.write_all(&[b'x'; 4096]).is_ok() {}
        drop(filler);
        let names = (0..100_000).take_while(|n| File::create(self.at.join(format!("filler-{n}"))).is_ok()).count();
        for n in 0..files.min(names) {
            fs::remove_file(self.at.join(format!("filler-{n}"))).unwrap();
        }
        let filler = OpenOptions::new().write(true).open(self.at.join("filler")).unwrap();
        let length = filler.metadata().unwrap().len();
        filler.set_len(length.saturating_sub(bytes)).unwrap();
    }

    /// There is room again.
    fn clear(&self) {
        for entry in fs::read_dir(&self.at).unwrap().flatten() {
            if entry.file_name().to_string_lossy().starts_with("filler") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

/// An account whose home has room for so many blocks of 4 KiB, and so many names.
fn full_there(account: &str, places: &[(u64, usize)]) {
    let Some(account) = Account::spoilt(account) else { return };
    let disk = account.home.clone();
    let Some(disk) = SmallDisk::mount(&disk, "size=256k,nr_inodes=120,mode=755") else { return };
    account.owns(&disk.at);
    let keeper = Keeper::of(Sshd::build().account(account).start());
    let (mut refused, mut completed) = (0, 0);
    for (blocks, files) in places.iter().copied() {
        let case = format!("{blocks} blocks, {files} files");
        disk.leave(blocks * 4096, files);
        let operation = keeper.operation("true");
        let run = operation.run();
        let said = run.json();
        match said.exit() {
            0 => {
                completed += 1;
                operation.ran_once(&run, &case);
            }
            73 => {
                refused += 1;
                assert!(said.error_code() == "receipt_unwritable" && said["started"] == "no", "{case}: {run}");
                assert!(operation.wait_until_quiet(Duration::from_secs(30)), "{case}: {run}");
                assert!(operation.lines().is_empty(), "{case}: {run}");
            }
            // What it wrote was not kept, or nobody could say how it ended.
            _ => assert!(said["started"] != "no" || operation.lines().is_empty(), "{case}: {run}"),
        }
        disk.clear();
        let last = operation.settle(&case);
        println!("{case}: {} {} after {:?}", said.exit(), said.error_code(), run.elapsed);
        assert!(operation.starts() <= 1, "{case}: {run}\n{last}");
        if said.exit() == 73 {
            operation.ran_once(&last, &format!("{case}, and then room"));
        }
    }
    println!("{refused} refused, {completed} completed");
    assert!(refused > 0, "the disk was never full");
}

#[test]
fn a_disk_that_is_full_there_means_not_started_or_completed() {
    full_there("keyed-full", &[(0, 0), (0, 40), (1, 40), (2, 40), (3, 40), (5, 40), (40, 40)]);
}

#[test]
fn a_disk_there_that_takes_no_more_files_means_not_started_or_completed() {
    let (few, more) = (&[(40, 3), (40, 9), (40, 12)][..], &[(40, 4), (40, 5), (40, 6), (40, 7), (40, 8), (40, 10)]);
    full_there("keyed-names", &if long() { [few, more].concat() } else { few.to_vec() });
}

#[test]
fn a_disk_that_fills_while_it_runs_keeps_nothing_from_being_completed() {
    let Some(account) = Account::spoilt("keyed-fills") else { return };
    let Some(disk) = SmallDisk::mount(&account.home, "size=256k,nr_inodes=120,mode=755") else { return };
    account.owns(&disk.at);
    let keeper = Keeper::of(Sshd::build().account(account).start());
    let go_on = keeper.ledgers().join("go-on");
    let operation = keeper.operation(&format!("while [ ! -e {} ]; do sleep 0.05; done", go_on.display()));
    let run = operation.cli_with("exec", "--wait 0", "state").run();
    assert_eq!(run.json().exit(), 75, "{run}");
    operation.wait_until_it_began();
    disk.leave(0, 0);
    let waiting = operation.cli_with("exec", "--wait 20s", "state").start();
    fs::write(&go_on, "").unwrap();
    assert!(crate::rig::wait::eventually(Duration::from_secs(20), || operation.lines().len() == 2));
    disk.clear();
    let run = waiting.finish();
    assert!([0, 74, 75].contains(&run.code()), "{run}");
    operation.ran_once(&operation.settle("with room again"), "with room again");
}

#[test]
fn a_disk_that_is_full_here_means_not_started_or_completed() {
    let Some(keeper) = Keeper::start() else { return };
    let scratch = Scratch::new();
    let Some(disk) = SmallDisk::mount(&scratch.dir("small"), "size=384k,nr_inodes=60,mode=700") else { return };
    let state = disk.at.join("state");
    let (mut refused, mut others) = (0, BTreeMap::<i64, u32>::new());
    for blocks in [0, 1, 2, 4, 8, 12, 16, 20, 28, 40] {
        let case = format!("{blocks} blocks");
        disk.leave(blocks * 4096, 40);
        let operation = keeper.operation("true");
        let connections = keeper.sshd().connections();
        let run = operation.cli().env("SSH_CLI_STATE_DIR", &state).run();
        let said = run.json();
        if said["started"] == "no" {
            assert_eq!((said.exit(), said.error_code()), (73, "journal_unwritable"), "{case}: {run}");
            assert!(operation.lines().is_empty(), "{case}: {run}");
            refused += u32::from(keeper.sshd().connections() == connections);
        } else {
            *others.entry(said.exit()).or_default() += 1;
        }
        disk.clear();
        let last = operation.cli().env("SSH_CLI_STATE_DIR", &state).run();
        operation.ran_once(&last, &format!("{case}, and then room: {run}"));
        fs::remove_dir_all(&state).unwrap();
    }
    println!("{refused} refused before anybody was called; the others: {others:?}");
    assert!(refused > 0, "the disk was never full");
}

/// How far an operation got before the journal was spoilt.
fn brought_to(operation: &Operation<'_>, stage: &str) {
    match stage {
        "running" => assert_eq!(operation.cli_with("exec", "--wait 0", "state").run().code(), 75),
        "left" => {
            let call = operation.cli().start();
            operation.wait_until_it_began();
            call.signal(Signal::KILL);
            call.finish();
        }
        _ => operation.ran_once(&operation.run(), stage),
    }
}

/// The bytes as they are after some harm, and what that was.
fn harmed(bytes: &[u8], dice: &mut Dice) -> (Vec<u8>, String) {
    let at = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
    let mut harmed = bytes.to_vec();
    match dice.below(5) {
        0 | 1 => {
            harmed.truncate(at);
            (harmed, format!("the first {at} bytes"))
        }
        2 => {
            harmed.truncate(at / 4096 * 4096);
            (harmed, format!("the first {} pages", at / 4096))
        }
        // Where it is decided what the file is.
        3 => {
            harmed[at % 120] ^= 0x41;
            (harmed, format!("byte {} of its head", at % 120))
        }
        _ => {
            // Most of a file is zeros, which nobody reads.
            let at = (at..bytes.len()).chain(0..at).find(|at| bytes[*at] != 0).unwrap();
            harmed[at] ^= 1 << dice.below(8);
            (harmed, format!("byte {at}"))
        }
    }
}

#[test]
fn a_journal_that_was_harmed_starts_nothing_a_second_time() {
    let seeds = seeds(6, 40);
    let Some(keeper) = Keeper::start() else { return };
    let mut told = BTreeMap::<String, u32>::new();
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let stage = dice.one_of(&["running", "left", "completed"]);
        let operation = keeper.operation_ending("sleep 0.3", 3);
        brought_to(&operation, stage);
        let journal = Journal::path(&keeper.state("state"));
        let whole = fs::read(&journal).unwrap();
        for _ in 0..5 {
            let (bytes, what) = harmed(&whole, &mut dice);
            let case = format!("seed {seed}: {stage}, {what}");
            fs::write(&journal, &bytes).unwrap();
            for beside in ["-journal", "-wal", "-shm"] {
                let _ = fs::remove_file(
                    journal.with_file_name(format!("{}{beside}", journal.file_name().unwrap().to_string_lossy())),
                );
            }
            let run = operation.run();
            let said = run.json();
            assert_eq!(operation.starts(), 1, "{case}: {run}");
            match said.exit() {
                1 => {
                    assert!(said["remote_exit"] == 3 && operation.lines() == ["begin", "end"], "{case}: {run}");
                    assert!(said.stdout() == "out\nlast\n" || !said.warnings().is_empty(), "{case}: {run}");
                }
                73 | 76 => assert_ne!(said["started"], "no", "{case}: {run}"),
                _ => panic!("{case}: {run}"),
            }
            *told.entry(format!("{stage}: {} {}", said.exit(), said.warnings().join(" "))).or_default() += 1;
        }
        // As it was, it is as good as ever.
        fs::write(&journal, &whole).unwrap();
        operation.ran_once(&operation.settle("whole again"), "whole again");
    }
    println!("{told:?}");
}
