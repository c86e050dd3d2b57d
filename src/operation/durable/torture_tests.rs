//! What can be killed is killed, what can be stopped is stopped, and what can be cut is cut: one key still starts once.
//!
//! A scenario's number is its seed; the report names it. `SSH_CLI_TESTS_SEED` begins elsewhere, `SSH_CLI_TESTS_LONG=1` goes on
//! for longer.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::host_tests::*;
use super::request::Request;
use super::wire::{Event, Life};

/// Numbers that look random; the same ones for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        // splitmix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}

fn long() -> bool {
    std::env::var_os("SSH_CLI_TESTS_LONG").is_some_and(|value| value == "1")
}

fn seeds(from: u64, count: u64) -> impl Iterator<Item = u64> {
    let base: u64 = std::env::var("SSH_CLI_TESTS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let count = if long() { count * 20 } else { count };
    (0..count).map(move |n| base + from + n * 1000)
}

/// A job that writes down that it begins, and that it ends.
fn ledgered(host: &Host, middle: &str) -> (Job, PathBuf) {
    let ledger = host.home.join(format!("ledger-{}", unlike_any(8)));
    let at = ledger.display();
    let job =
        Job::new(&format!("echo begin >>{at}; echo out; echo err >&2; {middle}; echo last; echo end >>{at}; exit 3"));
    (job, ledger)
}

fn starts(ledger: &std::path::Path) -> usize {
    lines(ledger).iter().filter(|line| *line == "begin").count()
}

/// Asks until there is an answer that stays: an end, or a death. What is not running is asked for again, as a client would.
fn settle(host: &Host, job: &Job) -> Told {
    for _ in 0..20 {
        let told = host.run(&job.again());
        let settled = told.said.iter().any(|event| matches!(event, Event::End { .. } | Event::Fenced { .. }))
            || matches!(told.life(), Some(Life::Dead));
        if settled {
            return told;
        }
        pause(Duration::from_millis(50));
    }
    panic!("it settles on nothing: {:?}", host.state(&job.key, job.generation));
}

/// No process of this key is left.
fn all_gone(key: &str, seed: u64) {
    let marker = format!("ssh-cli {key}");
    until(&format!("everybody to go, seed {seed}"), || processes(&marker).is_empty().then_some(()));
}

fn kill_scenario(seed: u64) {
    let mut dice = Dice(seed);
    let host = Host::new();
    let middle = ["true", "sleep 0.03", "sleep 0.2", "seq 1 3000"][usize::try_from(dice.below(4)).unwrap()];
    let (job, ledger) = ledgered(&host, middle);
    let rivals: Vec<Job> = (0..=dice.below(3)).map(|_| job.again()).collect();
    let mut calls: Vec<Call> = rivals.iter().map(|_| host.call(&job.key, 1)).collect();
    for (call, rival) in calls.iter_mut().zip(&rivals) {
        call.go(rival);
    }
    // Which roles die, and when.
    let began = Instant::now();
    let mut victims = Vec::new();
    for role in ["launcher", " sup ", " wrap ", " run ", "command", "relay"] {
        if dice.below(3) == 0 {
            victims.push((dice.below(90), role));
        }
    }
    victims.sort_unstable();
    let mut killed = Vec::new();
    for (at, role) in &victims {
        pause(Duration::from_millis(*at).saturating_sub(began.elapsed()));
        match *role {
            "launcher" => {
                signal(calls[0].pid(), Signal::KILL);
                killed.push(*role);
            }
            "command" => {
                for (pid, _) in
                    processes(ledger.to_str().unwrap()).into_iter().filter(|(_, words)| !words.contains("_prog"))
                {
                    signal(pid, Signal::KILL);
                    killed.push(*role);
                }
            }
            "relay" => {
                for rival in &rivals {
                    let relays = lines(&host.generation(&job.key, 1).join(format!("a.{}/relays", rival.attempt)));
                    if let Some(pid) = relays.first().and_then(|line| line.split(' ').next()?.parse().ok()) {
                        signal(pid, Signal::KILL);
                        killed.push(*role);
                    }
                }
            }
            role => {
                for (pid, _) in
                    processes(&format!("ssh-cli {}", job.key)).into_iter().filter(|(_, words)| words.contains(role))
                {
                    signal(pid, Signal::KILL);
                    killed.push(role);
                }
            }
        }
    }
    let case = || format!("seed {seed}: {middle}, {} rivals, killed {killed:?}", rivals.len());
    let told = settle(&host, &job);
    let ran = lines(&ledger);
    assert!(starts(&ledger) <= 1, "{}: {ran:?}", case());
    if told.said.iter().any(|event| matches!(event, Event::Fenced { .. })) {
        // Killed before the gate, and closed by whoever was left: nothing ran, and nothing will.
        assert!(killed.contains(&" wrap ") || killed.contains(&" sup ") || killed.contains(&" run "), "{}", case());
        drop(calls);
        all_gone(&job.key, seed);
        assert_eq!(starts(&ledger), 0, "{}: later", case());
        return;
    }
    assert!(!told.started() || told.end().status.is_some() || killed.contains(&" wrap "), "{}: {told:?}", case());
    match told.life() {
        Some(Life::Dead) => {
            assert!(killed.contains(&" sup ") && killed.contains(&" wrap "), "{}: {told:?}", case());
        }
        _ => match told.end().status {
            None => assert!(killed.contains(&" wrap "), "{}: {told:?}", case()),
            Some(3) => {
                assert_eq!(ran, ["begin", "end"], "{}", case());
                if !killed.contains(&"relay") {
                    assert!(told.out().starts_with("out\n") && told.out().ends_with("last\n"), "{}: {told:?}", case());
                    assert_eq!(told.err(), "err\n", "{}", case());
                }
            }
            Some(137) => assert!(killed.contains(&"command") || killed.contains(&" run "), "{}: {told:?}", case()),
            Some(141) => assert!(killed.contains(&"relay"), "{}: {told:?}", case()),
            Some(other) => panic!("{}: {other}, {told:?}", case()),
        },
    }
    // Everybody who asks gets the same.
    let again = host.attach(&job.key, 1);
    assert_eq!((&again.out, &again.err, again.said.last()), (&told.out, &told.err, told.said.last()), "{}", case());
    drop(calls);
    all_gone(&job.key, seed);
    assert!(starts(&ledger) <= 1, "{}: later", case());
}

macro_rules! quarters {
    ($($test:ident: $from:literal),*) => {
        $(#[test] fn $test() { seeds($from, 25).for_each(kill_scenario); })*
    };
}

quarters! { killed_at_random_a: 0, killed_at_random_b: 1, killed_at_random_c: 2, killed_at_random_d: 3 }

#[test]
fn of_eight_at_once_one_starts() {
    for seed in seeds(0, 6) {
        let mut dice = Dice(seed);
        let host = Host::new();
        let (job, ledger) = ledgered(&host, "sleep 0.05");
        let count = 2 + dice.below(7);
        let jobs: Vec<Job> = (0..count).map(|_| job.again()).collect();
        let mut calls: Vec<Call> = jobs.iter().map(|_| host.call(&job.key, 1)).collect();
        for (call, job) in calls.iter_mut().zip(&jobs) {
            call.go(job);
        }
        let told: Vec<Told> = calls.iter_mut().map(Call::told).collect();
        assert_eq!(told.iter().filter(|told| told.started()).count(), 1, "seed {seed}: {told:?}");
        for one in &told {
            assert_eq!((one.out(), one.err(), one.end().status), ("out\nlast\n", "err\n", Some(3)), "seed {seed}");
        }
        assert_eq!(lines(&ledger), ["begin", "end"], "seed {seed}");
        drop(calls);
        all_gone(&job.key, seed);
        // The losers' spools are gone too.
        let attempts = fs::read_dir(host.generation(&job.key, 1)).unwrap().flatten();
        assert_eq!(attempts.filter(|entry| entry.file_name().to_str().unwrap().starts_with("a.")).count(), 1);
    }
}

#[test]
fn a_rival_that_was_stopped_before_the_gate_starts_nothing_later() {
    for seed in seeds(0, 12) {
        let mut dice = Dice(seed);
        let host = Host::new();
        let (job, ledger) = ledgered(&host, "true");
        let mut first = host.call(&job.key, 1);
        first.go(&job);
        let role = ["launcher", " sup ", " wrap ", " run "][usize::try_from(dice.below(4)).unwrap()];
        let until_then = Instant::now() + Duration::from_millis(dice.below(60));
        let mut stopped = Vec::new();
        while stopped.is_empty() && Instant::now() < until_then + Duration::from_millis(40) {
            if Instant::now() < until_then {
                continue;
            }
            stopped = match role {
                "launcher" => vec![first.pid()],
                role => processes(&format!("ssh-cli {}", job.key))
                    .into_iter()
                    .filter(|(_, words)| words.contains(role))
                    .map(|(pid, _)| pid)
                    .collect(),
            };
        }
        for pid in &stopped {
            signal(*pid, Signal::STOP);
        }
        let case = format!("seed {seed}: stopped {role} {stopped:?}");
        // Where the gate was taken before, the rival follows a command that stands still.
        let gate = there(&host.generation(&job.key, 1).join("gate"));
        let rival = job.again();
        let mut second = host.call(&job.key, 1);
        second.go(&rival);
        if gate {
            pause(Duration::from_millis(50));
        } else {
            // It may have been taken between the two looks.
            let event = second.hear();
            assert!(matches!(event, Some(Event::Started { .. } | Event::Exists { .. })), "{case}: {event:?}");
        }
        for pid in &stopped {
            signal(*pid, Signal::CONT);
        }
        let told = second.told();
        assert_eq!((told.end().status, told.out()), (Some(3), "out\nlast\n"), "{case}");
        drop(first);
        drop(second);
        all_gone(&job.key, seed);
        assert_eq!(lines(&ledger), ["begin", "end"], "{case}");
    }
}

#[test]
fn a_launcher_that_slept_through_its_rivals_whole_run_finds_the_gate_taken() {
    let host = Host::new();
    let (job, ledger) = ledgered(&host, "true");
    let mut first = host.call(&job.key, 1);
    signal(first.pid(), Signal::STOP);
    first.go(&job);
    let told = host.run(&job.again());
    assert!(told.started() && told.end().status == Some(3));
    signal(first.pid(), Signal::CONT);
    let late = first.told();
    assert!(!late.started() && late.out == told.out && late.end() == told.end(), "{late:?}");
    assert_eq!(lines(&ledger), ["begin", "end"]);
}

#[test]
fn a_client_that_is_cut_at_any_byte_starts_nothing() {
    let host = Host::new();
    let (mut job, ledger) = ledgered(&host, "true");
    job.input = Some(b"some input".to_vec());
    job.script = Some(b"a script".to_vec());
    let all = job.bytes();
    let nonce = "ncut";
    let program = host.program(nonce, &job.key, 1);
    let whole = [program.as_bytes(), &all].concat();
    let step = if long() { 1 } else { 5 };
    let near = whole.len() - all.len() - 3;
    let cuts: Vec<usize> =
        (0..near).step_by(near / 8).chain((near..whole.len()).step_by(step)).chain([whole.len() - 1]).collect();
    // Four at a time: most of the time passes in the starting of shells.
    for cuts in cuts.chunks(4) {
        let mut children: Vec<_> = cuts
            .iter()
            .map(|cut| {
                let mut child = host.command(&program, nonce).spawn().unwrap();
                let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), &whole[..*cut]);
                child
            })
            .collect();
        for (child, cut) in children.iter_mut().zip(cuts) {
            assert!(child.wait().unwrap().code().is_some(), "cut at {cut}");
            assert!(!there(&host.generation(&job.key, 1).join("gate")), "cut at {cut}");
        }
    }
    all_gone(&job.key, 0);
    assert_eq!(starts(&ledger), 0);
    assert_eq!(host.run(&job.again()).end().status, Some(3));
    assert_eq!(lines(&ledger), ["begin", "end"]);
}

#[test]
fn cancelled_at_a_random_moment_it_never_started_or_it_is_stopped() {
    for seed in seeds(0, 12) {
        let mut dice = Dice(seed);
        let host = Host::new();
        let (job, ledger) = ledgered(&host, "sleep 30");
        let mut launcher = host.call(&job.key, 1);
        let mut canceller = host.call(&job.key, 1);
        launcher.go(&job);
        pause(Duration::from_millis(dice.below(90)));
        canceller.say(&Request::Cancel { generation: 1, grace: Duration::from_millis(500) });
        let state = match canceller.hear() {
            Some(Event::State(state)) => state,
            other => panic!("seed {seed}: {other:?}"),
        };
        if state.life == Life::Fenced {
            assert!(matches!(launcher.told().said[..], [Event::Fenced { .. }]), "seed {seed}");
            all_gone(&job.key, seed);
            assert_eq!(starts(&ledger), 0, "seed {seed}");
        } else {
            assert!(
                state.end.is_some_and(|end| end.flags.cancelled && end.status == Some(143)),
                "seed {seed}: {state:?}"
            );
            assert_eq!(launcher.told().end().status, Some(143), "seed {seed}");
            all_gone(&job.key, seed);
            assert!(starts(&ledger) <= 1 && !lines(&ledger).contains(&"end".to_owned()), "seed {seed}");
        }
    }
}

#[test]
fn a_full_disk_before_the_gate_starts_nothing() {
    if !rustix::process::geteuid().is_root() {
        skip("needs root");
        return;
    }
    for (bytes, inodes) in [(0, 100), (1, 100), (2, 100), (3, 100), (20, 100), (20, 14), (20, 18)] {
        let mut host = Host::new();
        let disk = host.home.clone();
        let options = format!("size={}k,nr_inodes=200,mode=700", 4 * 24);
        let mount =
            std::process::Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&disk).status();
        if !mount.is_ok_and(|status| status.success()) {
            skip("may not mount");
            return;
        }
        let _mounted = Mounted(disk.clone());
        host.home = disk.join("home");
        fs::create_dir(&host.home).unwrap();
        host.state("ab", 1);
        // What is left: so many blocks, and so many files.
        let ledger = std::env::temp_dir().join(format!("ledger-{}", unlike_any(12)));
        let job = Job::new(&format!("echo begin >>{}; echo out; exit 3", ledger.display()));
        for n in 0..(200 - inodes) {
            let _ = fs::write(disk.join(format!("file-{n}")), "");
        }
        let mut filled = fs::File::create(disk.join("filler")).unwrap();
        while std::io::Write::write_all(&mut filled, &[b'x'; 4096]).is_ok() {}
        drop(filled);
        let size = fs::metadata(disk.join("filler")).unwrap().len() / 4096;
        fs::OpenOptions::new()
            .write(true)
            .open(disk.join("filler"))
            .unwrap()
            .set_len(size.saturating_sub(bytes) * 4096)
            .unwrap();
        let told = host.run(&job);
        let case = format!("{bytes} blocks, {inodes} files: {told:?}");
        if told.started() {
            assert_eq!((told.end().status, starts(&ledger)), (Some(3), 1), "{case}");
        } else {
            assert!(matches!(told.said.last(), Some(Event::Refused { .. } | Event::Unsettled { .. })), "{case}");
            assert!(!there(&host.generation(&job.key, 1).join("gate")), "{case}");
            assert_eq!(starts(&ledger), 0, "{case}");
            // When there is room again, the same key starts.
            fs::remove_file(disk.join("filler")).unwrap();
            for n in 0..200 {
                let _ = fs::remove_file(disk.join(format!("file-{n}")));
            }
            assert_eq!(host.run(&job.again()).end().status, Some(3), "{case}");
            assert_eq!(starts(&ledger), 1, "{case}");
        }
        let _ = fs::remove_file(&ledger);
        until("everybody to go", || processes(&format!("ssh-cli {}", job.key)).is_empty().then_some(()));
    }
}

/// Unmounted again, whatever happens.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Where five seconds are a quarter of one: how often the program looks whether its client still says something.
fn hurried(host: &mut Host) {
    let dir = host.home.join("hurried");
    fs::create_dir(&dir).unwrap();
    let sleep = found("sleep").unwrap();
    let text = format!("#!/bin/sh\ncase $1 in 5) set 0.25;; esac\nexec {} $1\n", sleep.display());
    let hurried = dir.join("sleep");
    fs::write(&hurried, text).unwrap();
    fs::set_permissions(&hurried, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let rest = std::mem::take(&mut host.path);
    host.path = std::env::join_paths(std::iter::once(dir).chain(std::env::split_paths(&rest))).unwrap();
}

#[test]
fn a_client_in_silence_is_given_up() {
    let mut host = Host::new();
    // In a long run as long as it takes.
    let times = if long() {
        1
    } else {
        hurried(&mut host);
        20
    };
    let job = Job::new(&format!("sleep {}; echo ended", 70 / times + 4));
    let mut call = host.call(&job.key, 1);
    call.go(&job);
    assert!(matches!(call.hear(), Some(Event::Started { .. })));
    let began = Instant::now();
    // Once alive, at twenty seconds; and never again.
    let mut alive = false;
    while call.child.try_wait().unwrap().is_none() {
        if !alive && began.elapsed() > Duration::from_secs(20) / times {
            call.say(&Request::Alive);
            alive = true;
        }
        assert!(began.elapsed() < Duration::from_secs(75), "{:?}", began.elapsed());
        pause(Duration::from_millis(20));
    }
    assert!(began.elapsed() > Duration::from_secs(60) / times, "{:?}", began.elapsed());
    // Whoever asks now is as patient as ever.
    host.path = std::env::var_os("PATH").unwrap();
    assert_eq!(host.attach(&job.key, 1).out(), "ended\n");
}
