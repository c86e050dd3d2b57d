//! The legacy protocol keeps what SFTP keeps, and says what it cannot.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::rig::{Account, Mode, Run, Scratch, Sshd, Stdin, Way, needs, tool, wait};

/// A server, a directory here, and one there in which the account may write.
struct Sides {
    sshd: Sshd,
    here: Scratch,
    there: PathBuf,
}

impl Sides {
    fn new() -> Self {
        let sshd = Sshd::start();
        let there = sshd.shared_dir();
        Self { sshd, here: Scratch::new(), there }
    }

    /// What is there and belongs to the account.
    fn theirs(&self, name: &str, mode: u32, content: Option<&str>) -> PathBuf {
        let path = self.there.join(name);
        match content {
            Some(content) => fs::write(&path, content).unwrap(),
            None => fs::create_dir(&path).unwrap(),
        }
        self.sshd.account.owns(&path);
        chmod(&path, mode);
        path
    }

    /// `HERE` and `THERE` in the line stand for the two directories.
    fn run(&self, line: &str) -> Run {
        self.sshd.cli(&self.line(line)).run()
    }

    fn line(&self, line: &str) -> String {
        let line =
            line.replace("THERE", self.there.to_str().unwrap()).replace("HERE", self.here.path().to_str().unwrap());
        format!("scp --protocol scp {line}")
    }

    fn has_no_strays(&self) -> bool {
        tool("find", &[self.there.to_str().unwrap(), "-name", "*ssh-cli-part*"]).is_empty()
    }
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn mtime(path: &Path) -> i64 {
    fs::metadata(path).unwrap().mtime()
}

fn since(path: &Path, time: i64) {
    tool("touch", &["-d", &format!("@{time}"), path.to_str().unwrap()]);
}

#[test]
fn a_directory_that_may_not_be_written_arrives_with_what_is_in_it() {
    let sides = Sides::new();
    let tree = sides.here.dir("tree");
    fs::create_dir_all(tree.join("closed/deep")).unwrap();
    fs::write(tree.join("closed/f"), "f").unwrap();
    fs::write(tree.join("closed/deep/g"), "g").unwrap();
    chmod(&tree.join("closed/deep"), 0o555);
    chmod(&tree.join("closed"), 0o500);
    for path in ["closed/deep", "closed", ""] {
        since(&tree.join(path), 1_000_000_000);
    }
    for (options, name) in [("", "plain"), ("--preserve", "exact")] {
        let run = sides.run(&format!("-r {options} HERE/tree DEST:THERE/{name}"));
        assert_eq!(run.succeeded()["transfer"]["files"], 2, "{run}");
        let copy = sides.there.join(name);
        assert_eq!((mode(&copy.join("closed")), mode(&copy.join("closed/deep"))), (0o500, 0o555), "{run}");
        assert_eq!(fs::read(copy.join("closed/deep/g")).unwrap(), b"g");
    }
    for path in ["closed/deep", "closed", ""] {
        assert_eq!(mtime(&sides.there.join("exact").join(path)), 1_000_000_000, "{path}");
    }
    assert!(sides.has_no_strays());
}

#[test]
fn what_is_merged_keeps_its_mode_and_is_not_told_as_made() {
    let sides = Sides::new();
    fs::create_dir_all(sides.here.join("tree/sub")).unwrap();
    sides.here.file("tree/sub/f", "f");
    sides.theirs("copy", 0o775, None);
    sides.theirs("copy/sub", 0o777, None);
    let run = sides.run("-r --detail HERE/tree DEST:THERE/copy");
    let said = run.succeeded();
    assert_eq!((mode(&sides.there.join("copy")), mode(&sides.there.join("copy/sub"))), (0o775, 0o777), "{run}");
    let made = said["transfer"]["entries"].as_array().unwrap().iter().filter(|entry| entry["action"] == "created");
    assert_eq!(made.count(), 0, "{run}");
    let root = said["transfer"]["root"].as_str().unwrap();
    assert_eq!(Path::new(root), sides.there.join("copy"));
}

#[test]
fn a_file_that_may_not_be_written_is_replaced_and_stays_so() {
    let sides = Sides::new();
    sides.here.file("new", "new");
    let old = sides.theirs("old", 0o440, Some("old"));
    sides.run("HERE/new DEST:THERE/old").succeeded();
    assert_eq!((fs::read(&old).unwrap(), mode(&old)), (b"new".to_vec(), 0o440));
    // Never setuid, whoever replaces it.
    chmod(&old, 0o6755);
    sides.run("HERE/new DEST:THERE/old").succeeded();
    assert_eq!(mode(&old), 0o755);
    sides.run("--mode 604 --preserve HERE/new DEST:THERE/old").succeeded();
    assert_eq!(mode(&old), 0o604);
    assert!(sides.has_no_strays());
}

#[test]
fn written_in_place_it_keeps_its_mode_and_is_a_regular_file() {
    let sides = Sides::new();
    sides.here.file("new", "new");
    let old = sides.theirs("old", 0o606, Some("longer than before"));
    let before = fs::metadata(&old).unwrap().ino();
    sides.run("--in-place HERE/new DEST:THERE/old").succeeded();
    assert_eq!(
        (fs::read(&old).unwrap(), mode(&old), fs::metadata(&old).unwrap().ino()),
        (b"new".to_vec(), 0o606, before)
    );
    tool("mkfifo", &["-m", "666", sides.there.join("fifo").to_str().unwrap()]);
    let run = sides.sshd.cli(&sides.line("--in-place HERE/new DEST:THERE/fifo")).limit(Duration::from_secs(20)).run();
    run.failed(73, "not_regular");
    sides.here.dir("tree");
    sides.here.file("tree/fifo", "x");
    let line = sides.line("-r --in-place HERE/tree DEST:THERE/");
    sides.theirs("tree", 0o755, None);
    tool("mkfifo", &["-m", "666", sides.there.join("tree/fifo").to_str().unwrap()]);
    let run = sides.sshd.cli(&line).limit(Duration::from_secs(20)).run();
    run.failed(73, "not_regular");
}

#[test]
fn every_source_has_its_own_time_to_begin() {
    let sides = Sides::new();
    for name in ["a", "b", "c"] {
        sides.here.file(name, vec![b'x'; 2 << 20]);
    }
    let slow = sides.sshd.proxy().rate(Way::Up, 1 << 20).start();
    let run = sides.sshd.cli(&sides.line("--connect-timeout 2s HERE/a HERE/b HERE/c DEST:THERE/")).via(&slow).run();
    assert_eq!(run.succeeded()["transfer"]["files"], 3, "{run}");
}

#[test]
fn a_host_that_says_nothing_is_not_waited_for_without_end() {
    let sshd = Sshd::build().line("ForceCommand sleep 60").start();
    let here = Scratch::new();
    let file = here.file("f", "x");
    for line in [format!("{} DEST:/tmp/x", file.display()), format!("DEST:/tmp/x {}/y", here.path().display())] {
        let line = format!("scp --protocol scp --connect-timeout 3s {line}");
        let run = sshd.cli(&line).limit(Duration::from_secs(40)).run();
        assert!(!run.json().exit().eq(&0) && run.json()["started"] == "no", "{run}");
    }
}

#[test]
fn standing_still_here_does_not_stop_the_clock() {
    let sides = Sides::new();
    let line = sides.line("--timeout 1s - DEST:THERE/f");
    let run = sides.sshd.cli(&line).stdin(Stdin::Open).limit(Duration::from_secs(20)).run();
    assert_eq!(run.json().error_code(), "timeout", "{run}");
}

#[test]
fn a_file_that_does_not_say_how_long_it_is_arrives_whole() {
    let sides = Sides::new();
    let run = sides.run("/proc/version DEST:THERE/f");
    run.succeeded();
    assert_eq!(fs::read(sides.there.join("f")).unwrap(), fs::read("/proc/version").unwrap());
}

#[test]
fn a_file_there_that_does_not_say_how_long_it_is_is_not_called_copied() {
    let sides = Sides::new();
    sides.here.file("live", "OLD");
    sides.theirs("empty", 0o644, Some(""));
    for line in ["DEST:/proc/version HERE/live", "DEST:/proc/version HERE/new"] {
        let run = sides.run(line);
        let said = run.failed(73, "transfer_refused");
        assert!(
            said.text().contains(":/proc/version: it says that it is empty") && said["transfer"]["files"] == 0,
            "{run}"
        );
    }
    assert_eq!(fs::read(sides.here.join("live")).unwrap(), b"OLD");
    assert!(!sides.here.join("new").exists());
    let run = sides.sshd.cli("scp --protocol scp --raw DEST:/proc/version -").run();
    assert!(run.code() == 73 && run.stdout.is_empty(), "{run}");
    // One that is empty is one.
    let run = sides.run("--detail DEST:THERE/empty HERE/empty");
    let said = run.succeeded();
    assert!(
        said["transfer"]["entries"][0]["reason"].is_null() && said["warnings"].as_array().unwrap().is_empty(),
        "{run}"
    );

    // Nobody there to ask: then it is said.
    let sshd = Sshd::build().line("MaxSessions 1").start();
    let sides = Sides { there: sshd.shared_dir(), sshd, here: Scratch::new() };
    sides.theirs("empty", 0o644, Some(""));
    let run = sides.run("DEST:THERE/empty HERE/empty");
    let said = run.succeeded();
    assert!(said["warnings"].to_string().contains("empty_unproven"), "{run}");
    assert!(said["transfer"]["entries"][0]["reason"].as_str().unwrap().starts_with("empty_unproven"), "{run}");
}

#[test]
fn a_line_break_can_be_in_the_target_and_not_in_a_source() {
    let sides = Sides::new();
    sides.here.dir("tree");
    sides.here.file("tree/f", "x");
    let run = sides.run("HERE/tree/f 'DEST:THERE/a\nC0666 1 b'");
    let said = run.json();
    let names = tool("ls", &["-A", sides.there.to_str().unwrap()]);
    if said.exit() == 0 {
        assert_eq!(names, "a\nC0666 1 b\n", "{run}");
    } else {
        assert!(names.is_empty() && said.text().contains("--protocol sftp"), "{names}: {run}");
    }
}

#[test]
fn what_the_host_cannot_send_is_named_and_the_rest_comes() {
    if needs::no_root() {
        return;
    }
    let sides = Sides::new();
    sides.theirs("tree", 0o755, None);
    sides.theirs("tree/sub", 0o755, None);
    sides.theirs("tree/sub/good", 0o644, Some("good"));
    sides.theirs("tree/zlast", 0o644, Some("last"));
    fs::write(sides.there.join("tree/sub/secret"), "x").unwrap();
    chmod(&sides.there.join("tree/sub/secret"), 0o600);
    tool("mkfifo", &[sides.there.join("tree/sub/fifo").to_str().unwrap()]);
    symlink("nowhere", sides.there.join("tree/sub/dangling")).unwrap();
    let run = sides.run("-r DEST:THERE/tree HERE/back");
    let said = run.failed(1, "partial_transfer");
    let entries = said["transfer"]["entries"].as_array().unwrap();
    let reason = |path: &str| {
        let entry = entries.iter().find(|entry| entry["path"] == path);
        let entry = entry.unwrap_or_else(|| panic!("{path} is not listed: {run}"));
        format!("{} {}", entry["action"].as_str().unwrap(), entry["reason"].as_str().unwrap())
    };
    assert!(reason("sub/secret").starts_with("failed remote_permission"), "{run}");
    assert!(reason("sub/fifo").starts_with("skipped not_regular"), "{run}");
    assert!(
        reason("sub/dangling").contains("No such file") || reason("sub/dangling").contains("no such file"),
        "{run}"
    );
    assert_eq!((&said["transfer"]["files"], &said["transfer"]["skipped"]), (&2.into(), &3.into()), "{run}");
    assert_eq!(fs::read(sides.here.join("back/zlast")).unwrap(), b"last");
}

#[test]
fn a_directory_needs_r_and_is_told_as_one() {
    let sides = Sides::new();
    sides.theirs("dir", 0o755, None);
    tool("mkfifo", &["-m", "666", sides.there.join("fifo").to_str().unwrap()]);
    sides.run("DEST:THERE/dir HERE/x").failed(66, "source_is_directory");
    let run = sides.run("DEST:THERE/fifo HERE/x");
    let said = run.json();
    assert!(said.exit() != 0 && said.error_code() != "source_is_directory", "{run}");
    assert!(!sides.here.join("x").exists());
}

#[test]
fn wildcards_mean_what_they_mean_to_a_shell() {
    let sides = Sides::new();
    for name in ["a1", "a2", "b1", "!1", "x[1]", "two words 1"] {
        sides.theirs(name, 0o644, Some(name));
    }
    let fetch = |n: u32, pattern: &str| {
        let into = sides.here.dir(&format!("into-{n}"));
        let run = sides.run(&format!("'DEST:THERE/{pattern}' {}/", into.display()));
        let said = run.succeeded();
        let names = tool("ls", &[into.to_str().unwrap()]);
        assert_eq!(said["transfer"]["files"], names.lines().count(), "{run}");
        names
    };
    assert_eq!(fetch(0, "[!b]1"), "!1\na1\n");
    assert_eq!(fetch(1, "a[0-9]"), "a1\na2\n");
    assert_eq!(fetch(2, "two w*"), "two words 1\n");
    // A name that is there is itself, and one file may get another name.
    let run = sides.run("'DEST:THERE/x[1]' HERE/renamed");
    run.succeeded();
    assert_eq!(fs::read(sides.here.join("renamed")).unwrap(), b"x[1]");
    sides.run("'DEST:THERE/two*' HERE/one").succeeded();
    assert_eq!(fs::read(sides.here.join("one")).unwrap(), b"two words 1");
    sides.run("'DEST:THERE/none*' HERE/none").failed(66, "source_not_found");
}

#[test]
fn several_sources_are_verified_each() {
    let sides = Sides::new();
    sides.theirs("a", 0o644, Some("a"));
    sides.theirs("b", 0o644, Some("b"));
    let into = sides.here.dir("into");
    let run = sides.run(&format!("--verify DEST:THERE/a DEST:THERE/b {}", into.display()));
    let said = run.succeeded();
    assert!(said["transfer"]["entries"].as_array().unwrap().iter().all(|entry| entry["sha256"].is_string()), "{run}");
    assert_eq!(said["transfer"]["files"], 2, "{run}");
}

#[test]
fn progress_is_told_ten_times_a_second_at_most() {
    let sides = Sides::new();
    sides.here.file("big", vec![7; 40 << 20]);
    for line in ["HERE/big DEST:THERE/big", "DEST:THERE/big HERE/back"] {
        let run = sides.run(&format!("--output ndjson {line}"));
        assert_eq!(run.code(), 0, "{run}");
        let told = String::from_utf8_lossy(&run.stdout).matches("\"progress\"").count();
        assert!(told as u128 <= run.elapsed.as_millis() / 100 + 2, "{told} in {:?}", run.elapsed);
    }
}

#[test]
fn what_arrived_before_a_cut_of_a_large_tree_is_in_its_place() {
    let sides = Sides::new();
    sides.here.dir("tree");
    for n in 0..200 {
        sides.here.file(&format!("tree/f{n:03}"), vec![b'x'; 10_000]);
    }
    let proxy = sides.sshd.proxy().cut(Way::Up, 1_500_000, Mode::Rst).start();
    let run = sides.sshd.cli(&sides.line("-r HERE/tree DEST:THERE/copy")).via(&proxy).run();
    let said = run.failed(74, "connection_lost");
    let there = tool("find", &[sides.there.join("copy").to_str().unwrap(), "-name", "f*"]).lines().count();
    assert!(there >= 64 && said["transfer"]["files"].as_u64().unwrap() <= there as u64, "{there}: {run}");
    for file in fs::read_dir(sides.there.join("copy")).unwrap() {
        let file = file.unwrap().path();
        if !file.to_str().unwrap().ends_with("part") {
            assert_eq!(fs::metadata(&file).unwrap().len(), 10_000, "{}", file.display());
        }
    }
    sides.run("-r HERE/tree DEST:THERE/copy").succeeded();
}

#[test]
fn the_account_may_have_any_shell() {
    for shell in ["dash", "busybox", "zsh", "tcsh", "fish", "mksh"] {
        let Some(account) = Account::with_shell(shell) else { continue };
        let sshd = Sshd::build().account(account).start();
        let sides = Sides { there: sshd.shared_dir(), sshd, here: Scratch::new() };
        sides.here.dir("tree/sub");
        sides.here.file("tree/sub/it's $x !1 *", "f");
        sides.here.file("tree/g", "g");
        let run = sides.run("-r --preserve --verify HERE/tree DEST:THERE/copy");
        assert_eq!(run.succeeded()["transfer"]["files"], 2, "{shell}: {run}");
        let run = sides.run("-r --verify DEST:THERE/copy HERE/back");
        assert_eq!(run.succeeded()["transfer"]["files"], 2, "{shell}: {run}");
        let (tree, back) = (sides.here.join("tree"), sides.here.join("back"));
        tool("diff", &["-r", tree.to_str().unwrap(), back.to_str().unwrap()]);

        sides.run("'DEST:THERE/copy/none*' HERE/none").failed(66, "source_not_found");
    }
}

#[test]
fn a_signal_in_the_middle_leaves_the_live_file_and_nothing_else() {
    let sides = Sides::new();
    let old = sides.theirs("conf", 0o644, Some("OLD"));
    sides.here.file("conf", vec![b'N'; 30 << 20]);
    let slow = sides.sshd.proxy().rate(Way::Up, 4 << 20).start();
    let running = sides.sshd.cli(&sides.line("HERE/conf DEST:THERE/conf")).via(&slow).start();
    wait::until("the upload", Duration::from_secs(30), || (slow.bytes(Way::Up) > 2 << 20).then_some(()));
    running.signal(Signal::TERM);
    let run = running.finish();
    let said = run.failed(143, "interrupted");
    assert_eq!((&said["outcome"], &said["transfer"]["files"]), (&"stopped".into(), &0.into()), "{run}");
    assert!(fs::read(&old).unwrap() == b"OLD" && sides.has_no_strays(), "{run}");
}

#[test]
fn links_are_kept_on_the_way_there() {
    let sides = Sides::new();
    sides.here.dir("tree");
    sides.here.file("tree/f", "f");
    symlink("f", sides.here.join("tree/link")).unwrap();
    symlink("no where", sides.here.join("tree/dangling")).unwrap();
    for _ in 0..2 {
        let run = sides.run("-r --symlinks keep HERE/tree DEST:THERE/copy");
        run.succeeded();
        assert_eq!(fs::read_link(sides.there.join("copy/link")).unwrap(), Path::new("f"), "{run}");
        assert_eq!(fs::read_link(sides.there.join("copy/dangling")).unwrap(), Path::new("no where"), "{run}");
    }
    sides.run("-r --symlinks keep DEST:THERE/copy HERE/back").failed(73, "transfer_refused");
}

#[test]
fn what_takes_an_upload_is_believed_as_little() {
    // The shell answers as it should; scp does not.
    let lies = [
        ("head -c 300000 /dev/zero | tr '\\0' x", 69, "server_violation"),
        ("printf '\\000'; head -c 900000 /dev/zero; exec cat >/dev/null", 69, "server_violation"),
        ("printf '\\000\\001scp: f: No space left on device\\n'; exec cat >/dev/null", 73, "no_space"),
        ("printf '\\001scp: Permission denied\\n'", 77, "remote_permission"),
        ("printf '\\000\\002scp: gone\\n'", 73, "transfer_refused"),
        ("echo scp: not found >&2; exit 127", 69, "no_transfer_protocol"),
        // It says that all is there, and nothing is.
        ("printf '\\000\\000\\000'; exec cat >/dev/null", 69, "server_violation"),
    ];
    for (lie, exit, code) in lies {
        let builder = Sshd::build();
        let script = format!("case $SSH_ORIGINAL_COMMAND in scp*) {lie};; *) eval \"$SSH_ORIGINAL_COMMAND\";; esac\n");
        let script = builder.scratch().file("liar.sh", script);
        chmod(&script, 0o644);
        let sshd = builder.line(format!("ForceCommand sh {}", script.display())).start();
        let sides = Sides { there: sshd.shared_dir(), sshd, here: Scratch::new() };
        sides.here.file("f", vec![b'x'; 100_000]);
        let old = sides.theirs("f", 0o644, Some("OLD"));
        let run = sides.sshd.cli(&sides.line("HERE/f DEST:THERE/f")).limit(Duration::from_secs(30)).run();
        run.failed(exit, code);
        assert!(fs::read(&old).unwrap() == b"OLD" && sides.has_no_strays(), "{lie}: {run}");
    }
}

#[test]
fn one_session_is_enough() {
    let sshd = Sshd::build().line("MaxSessions 1").start();
    let sides = Sides { there: sshd.shared_dir(), sshd, here: Scratch::new() };
    sides.here.dir("tree/sub");
    for name in ["tree/a", "tree/b", "tree/sub/c"] {
        sides.here.file(name, name);
    }
    for _ in 0..2 {
        let run = sides.run("-r --verify --preserve HERE/tree DEST:THERE/copy");
        assert_eq!(run.succeeded()["transfer"]["files"], 3, "{run}");
    }
    sides.run("-r 'DEST:THERE/c?py' HERE/back").succeeded();
    let (tree, back) = (sides.here.join("tree"), sides.here.join("back"));
    tool("diff", &["-r", tree.to_str().unwrap(), back.to_str().unwrap()]);
    assert!(sides.has_no_strays());
}
