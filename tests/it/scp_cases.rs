//! Copies on bad lines: cut, stopped, slow, far away, and many at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::rig::{FaultProxy, Mode, Run, Scratch, Sshd, Way, tool, wait};

const SLOW: u64 = 4 << 20;

/// A live file, and a large one that is to replace it slowly.
struct Replacing {
    sshd: Sshd,
    here: Scratch,
    there: PathBuf,
    slow: FaultProxy,
}

impl Replacing {
    fn begin(size: usize) -> Self {
        let sshd = Sshd::start();
        let (here, there) = (Scratch::new(), sshd.shared_dir());
        fs::write(there.join("conf.txt"), "OLD").unwrap();
        sshd.account.owns(&there.join("conf.txt"));
        here.file("conf.txt", vec![b'N'; size]);
        let slow = sshd.proxy().rate(Way::Up, SLOW).start();
        Self { sshd, here, there, slow }
    }

    fn cli(&self, options: &str) -> crate::rig::Cli {
        let (here, there) = (self.here.join("conf.txt"), self.there.join("conf.txt"));
        let line = format!("scp {options} {} DEST:{}", here.display(), there.display());
        self.sshd.cli(&line).via(&self.slow)
    }

    fn wait_until_it_moves(&self) {
        wait::until("the upload", Duration::from_secs(30), || (self.slow.bytes(Way::Up) > 2 << 20).then_some(()));
    }

    /// The files beside the live one.
    fn strays(&self) -> Vec<String> {
        names(&self.there).into_iter().filter(|name| name != "conf.txt").collect()
    }

    fn is_old(&self) -> bool {
        fs::read(self.there.join("conf.txt")).unwrap() == b"OLD"
    }
}

fn names(dir: &Path) -> Vec<String> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn same(one: &Path, other: &Path) {
    tool("diff", &["-r", one.to_str().unwrap(), other.to_str().unwrap()]);
}

/// The end of a copy that was stopped and seen to be.
fn stopped(run: &Run, exit: i64, code: &str) {
    let said = run.failed(exit, code);
    assert_eq!((&said["outcome"], &said["started"]), (&"stopped".into(), &"yes".into()), "{run}");
    assert_eq!(said["transfer"]["files"], 0, "{run}");
}

#[test]
fn a_signal_in_the_middle_leaves_the_live_file_and_nothing_else() {
    let upload = Replacing::begin(50_000_000);
    let running = upload.cli("").start();
    upload.wait_until_it_moves();
    running.signal(Signal::TERM);
    let run = running.finish();
    stopped(&run, 143, "interrupted");
    assert!(upload.is_old() && upload.strays().is_empty(), "{:?}: {run}", upload.strays());
}

#[test]
fn a_kill_in_the_middle_leaves_the_live_file_and_a_part_with_its_name() {
    let upload = Replacing::begin(50_000_000);
    let running = upload.cli("").start();
    upload.wait_until_it_moves();
    running.signal(Signal::KILL);
    let run = running.finish();
    assert!(run.stdout.is_empty() && upload.is_old(), "{run}");
    // The server's end of it goes when it sees the connection gone.
    assert!(wait::eventually(Duration::from_secs(20), || upload.sshd.session_processes().is_empty()));
    let strays = upload.strays();
    let named = |name: &String| name.starts_with(".conf.txt.") && name.ends_with(".ssh-cli-part");
    assert!(upload.is_old() && strays.len() <= 1 && strays.iter().all(named), "{strays:?}");
}

#[test]
fn a_limit_in_the_middle_is_an_orderly_stop() {
    for (option, code) in [("--timeout 2s", "timeout"), ("--deadline 3s", "timeout")] {
        let upload = Replacing::begin(50_000_000);
        let run = upload.cli(option).run();
        stopped(&run, 1, code);
        assert!(upload.is_old() && upload.strays().is_empty(), "{:?}: {run}", upload.strays());
        assert!(run.elapsed < Duration::from_secs(15), "{run}");
    }
}

#[test]
fn a_download_that_is_stopped_leaves_the_live_file_and_nothing_else() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    fs::write(there.join("conf.txt"), vec![b'N'; 50_000_000]).unwrap();
    let slow = sshd.proxy().rate(Way::Down, SLOW).start();
    here.dir("to");
    let old = here.file("to/conf.txt", "OLD");
    let line = format!("scp DEST:{}/conf.txt {}", there.display(), old.display());
    let running = sshd.cli(&line).via(&slow).start();
    wait::until("the download", Duration::from_secs(30), || (slow.bytes(Way::Down) > 2 << 20).then_some(()));
    running.signal(Signal::INT);
    let run = running.finish();
    assert_eq!(run.json().exit(), 130, "{run}");
    assert_eq!(
        (fs::read(&old).unwrap(), names(&here.join("to"))),
        (b"OLD".to_vec(), vec!["conf.txt".to_owned()]),
        "{run}"
    );
}

#[test]
fn a_cut_may_be_repeated_and_repeating_completes_it() {
    let upload = Replacing::begin(20_000_000);
    let cut = upload.sshd.proxy().cut(Way::Up, 5 << 20, Mode::Rst).start();
    let run = upload.cli("").via(&cut).run();
    let said = run.failed(74, "connection_lost");
    assert_eq!((&said["error"]["phase"], &said["started"]), (&"transfer".into(), &"yes".into()), "{run}");
    assert!(upload.is_old(), "{run}");
    let again = upload.sshd.proxy().start();
    upload.cli("").via(&again).run().succeeded();
    same(&upload.here.join("conf.txt"), &upload.there.join("conf.txt"));

    let back = upload.here.join("back");
    let line = format!("scp DEST:{}/conf.txt {}", upload.there.display(), back.display());
    let cut = upload.sshd.proxy().cut(Way::Down, 5 << 20, Mode::Fin).start();
    let run = upload.sshd.cli(&line).via(&cut).run();
    run.failed(74, "connection_lost");
    assert!(!back.exists(), "{run}");
    upload.sshd.cli(&line).run().succeeded();
    same(&back, &upload.here.join("conf.txt"));
}

#[test]
fn a_cut_is_got_over_where_retries_are_asked_for() {
    let upload = Replacing::begin(20_000_000);
    let running = upload.cli("--retries 2 --retry-wait 100ms").start();
    upload.wait_until_it_moves();
    upload.slow.break_now(Mode::Rst);
    let run = running.finish();
    assert_eq!(run.succeeded()["attempts"], 2, "{run}");
    same(&upload.here.join("conf.txt"), &upload.there.join("conf.txt"));
    // A copy whose repetition would not be harmless is not repeated.
    let upload = Replacing::begin(20_000_000);
    let running = upload.cli("--effect write --retries 2").start();
    upload.wait_until_it_moves();
    upload.slow.break_now(Mode::Rst);
    let run = running.finish();
    assert_eq!(run.failed(76, "connection_lost")["attempts"], 1, "{run}");
    assert!(upload.is_old(), "{run}");
}

/// How much of it is there beside the live file.
fn part_length(upload: &Replacing) -> u64 {
    upload.strays().first().map_or(0, |name| fs::metadata(upload.there.join(name)).map_or(0, |meta| meta.len()))
}

#[test]
fn a_part_that_was_left_is_continued_where_that_is_asked_for() {
    let upload = Replacing::begin(20_000_000);
    let running = upload.cli("--resume").start();
    // What the host has written counts, not what was sent: it may be long on its way.
    wait::until("the part", Duration::from_secs(60), || (part_length(&upload) > 6_000_000).then_some(()));
    upload.slow.break_now(Mode::Rst);
    let run = running.finish();
    run.failed(74, "connection_lost");
    // The old session may still write what it had received.
    assert!(wait::eventually(Duration::from_secs(30), || upload.sshd.session_processes().is_empty()));
    assert!(upload.is_old() && upload.strays().len() == 1, "{:?}: {run}", upload.strays());
    let rest = upload.sshd.proxy().start();
    let run = upload.cli("--resume").via(&rest).run();
    let said = run.succeeded();
    assert_eq!(said["transfer"]["entries"][0]["action"], "resumed", "{run}");
    assert!(rest.bytes(Way::Up) < 15 << 20, "{} bytes went again", rest.bytes(Way::Up));
    same(&upload.here.join("conf.txt"), &upload.there.join("conf.txt"));
    assert!(upload.strays().is_empty(), "{:?}", upload.strays());
}

#[test]
fn a_long_way_does_not_make_it_slow() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let size = 64 << 20;
    here.file("far", (0..size / 4).flat_map(|n: u32| n.to_le_bytes()).collect::<Vec<u8>>());
    let far =
        || sshd.proxy().delay(Way::Up, Duration::from_millis(50)).delay(Way::Down, Duration::from_millis(50)).start();
    // Block by block, each waited for, 2,048 of them would take over three minutes.
    let bound = Duration::from_secs(40);
    let line = format!("scp {} DEST:{}/", here.join("far").display(), there.display());
    let run = sshd.cli(&line).via(&far()).limit(Duration::from_secs(300)).run();
    run.succeeded();
    assert!(run.elapsed < bound, "{run}");
    same(&here.join("far"), &there.join("far"));
    let line = format!("scp DEST:{}/far {}", there.display(), here.join("back").display());
    let run = sshd.cli(&line).via(&far()).limit(Duration::from_secs(300)).run();
    run.succeeded();
    assert!(run.elapsed < bound, "{run}");
    same(&here.join("far"), &here.join("back"));
}

/// As many channels as it gets carry a large upload, and one is enough.
#[test]
fn further_channels_join_a_large_upload_where_they_are_to_be_had() {
    for (sessions, least, most) in [(10, 2, 10), (2, 2, 2), (1, 1, 1)] {
        let sshd = Sshd::build().line(format!("MaxSessions {sessions}")).start();
        let (here, there) = (Scratch::new(), sshd.shared_dir());
        here.file("far", (0..12_u32 << 20).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
        let later = Duration::from_millis(25);
        let far = sshd.proxy().delay(Way::Up, later).delay(Way::Down, later).start();
        let line = format!("scp --verify {} DEST:{}/", here.join("far").display(), there.display());
        let run = sshd.cli(&line).via(&far).limit(Duration::from_secs(120)).run();
        run.succeeded();
        same(&here.join("far"), &there.join("far"));
        assert_eq!(names(&there), ["far"], "{run}");
        let begun = sshd.log().matches("subsystem 'sftp'").count();
        assert!((least..=most).contains(&begun), "{sessions} sessions, {begun} servers: {run}");
    }
}

#[test]
fn two_thousand_files_go_over_one_connection() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    here.dir("many");
    for n in 0..2000_u32 {
        here.file(&format!("many/{n}"), n.to_le_bytes().repeat(1024));
    }
    let line = format!("scp -r {} DEST:{}/", here.join("many").display(), there.display());
    let run = sshd.cli(&line).run();
    let transfer = &run.succeeded()["transfer"];
    assert_eq!((&transfer["files"], &transfer["bytes"]), (&2000.into(), &(2000 * 4096).into()), "{run}");
    assert_eq!(sshd.connections(), 1, "{}", sshd.log());
    same(&here.join("many"), &there.join("many"));
    let line = format!("scp -r DEST:{}/many {}", there.display(), here.join("back").display());
    let run = sshd.cli(&line).run();
    assert_eq!(run.succeeded()["transfer"]["files"], 2000, "{run}");
    assert_eq!(sshd.connections(), 2, "{}", sshd.log());
    same(&here.join("many"), &here.join("back"));
}
