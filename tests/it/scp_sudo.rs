//! Copies with another user's rights, by a real sudo: what is installed, whose it is, and that nothing is left of what failed.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::rig::{Account, Cli, FaultProxy, Mode, Run, Scratch, Sshd, Stdin, Sudoers, Way, needs, proc, tool, wait};
use crate::sudo::Host;

const ALL: &str = "USER ALL=(ALL) ALL";
const NOPASSWD: &str = "USER ALL=(ALL) NOPASSWD: ALL";
const PW: &str = "--sudo --sudo-password env:PW";
const SLOW: u64 = 4 << 20;

/// A host, a directory here, and one there that is root's alone.
struct Yard {
    host: Host,
    here: Scratch,
    there: PathBuf,
}

impl Yard {
    fn with(name: &str, lines: &[&str]) -> Option<Self> {
        let host = Host::with(name, lines)?;
        let there = host.sshd.scratch().dir("root's");
        fs::set_permissions(&there, Permissions::from_mode(0o700)).unwrap();
        Some(Self { host, here: Scratch::new(), there })
    }

    /// One of these sources to a path below the directory there.
    fn cli(&self, options: &str, source: &str, target: &str) -> Cli {
        let (here, there) = (self.here.join(source), self.there.display());
        self.host.cli(&format!("scp {options} '{}' \"DEST:{there}/{target}\"", here.display()))
    }

    fn put(&self, options: &str, source: &str, target: &str) -> Run {
        self.cli(options, source, target).run()
    }

    /// A file there, as somebody else left it.
    fn old(&self, name: &str, content: &str, (user, group): (u32, u32), mode: u32) -> PathBuf {
        let path = self.there.join(name);
        fs::write(&path, content).unwrap();
        chown(&path, Some(user), Some(group)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    fn names(&self) -> Vec<String> {
        names(&self.there)
    }

    /// The staging directories below what is there.
    fn stages(&self) -> Vec<PathBuf> {
        let list = fs::read_dir(&self.there).unwrap().map(|entry| entry.unwrap().path());
        list.filter(|path| path.to_string_lossy().ends_with(".ssh-cli-part")).collect()
    }
}

fn names(dir: &Path) -> Vec<String> {
    let list = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = list.collect();
    names.sort();
    names
}

/// User, group and permission bits.
fn owned(path: &Path) -> (u32, u32, u32) {
    let meta = fs::symlink_metadata(path).unwrap();
    (meta.uid(), meta.gid(), meta.mode() & 0o7777)
}

fn same(one: &Path, other: &Path) {
    tool("diff", &["-r", one.to_str().unwrap(), other.to_str().unwrap()]);
}

#[test]
fn a_new_file_is_roots_with_the_mode_of_its_source() {
    for (name, lines) in [
        ("scpsudo-new", &[ALL][..]),
        ("scpsudo-new-pty", &[ALL, "Defaults:USER use_pty, timestamp_timeout=0"]),
        ("scpsudo-new-np", &[NOPASSWD]),
    ] {
        let Some(yard) = Yard::with(name, lines) else { return };
        let source = yard.here.file("app.conf", "new\n");
        fs::set_permissions(&source, Permissions::from_mode(0o640)).unwrap();
        let run = yard.put(PW, "app.conf", "");
        let said = run.succeeded();
        let transfer = &said["transfer"];
        assert_eq!((&said["started"], &said["effect"]), (&"yes".into(), &"idempotent".into()), "{run}");
        assert_eq!((&transfer["files"], &transfer["protocol"]), (&1.into(), &"sftp".into()), "{run}");
        let there = yard.there.join("app.conf");
        assert_eq!(transfer["root"], there.to_str().unwrap(), "{run}");
        assert_eq!((fs::read_to_string(&there).unwrap().as_str(), owned(&there)), ("new\n", (0, 0, 0o640)), "{run}");
        assert_eq!(yard.names(), ["app.conf"], "{run}");
        let entries = transfer["entries"].as_array().unwrap();
        assert!(entries.iter().all(|entry| entry["action"] != "left"), "{run}");
        run.never_shows(yard.host.sshd.account.password());
        // Without the rights the account cannot.
        yard.put("", "app.conf", "").failed(77, "remote_permission");
    }
}

#[test]
fn a_replaced_file_keeps_its_owner_its_group_and_its_mode() {
    let Some(yard) = Yard::with("scpsudo-old", &[ALL]) else { return };
    yard.here.file("f", "new");
    let old = yard.old("f", "old", (1, 4242), 0o604);
    let before = fs::metadata(&old).unwrap().ino();
    yard.put(PW, "f", "f").succeeded();
    assert_eq!((fs::read_to_string(&old).unwrap().as_str(), owned(&old)), ("new", (1, 4242, 0o604)));
    assert_ne!(fs::metadata(&old).unwrap().ino(), before, "it took its place in one step");
    // A link at the target is followed, to wherever it leads.
    let elsewhere = yard.there.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let led = yard.old("elsewhere/real", "old", (1, 1), 0o600);
    symlink("elsewhere/real", yard.there.join("link")).unwrap();
    yard.put(PW, "f", "link").succeeded();
    assert_eq!((fs::read_to_string(&led).unwrap().as_str(), owned(&led)), ("new", (1, 1, 0o600)));
    assert_eq!(
        (names(&elsewhere), yard.names()),
        (vec!["real".into()], vec!["elsewhere".into(), "f".into(), "link".into()])
    );
    // In place, where that is asked for.
    let before = fs::metadata(&old).unwrap().ino();
    fs::write(&old, "old").unwrap();
    yard.put(&format!("{PW} --in-place"), "f", "f").succeeded();
    assert_eq!((fs::metadata(&old).unwrap().ino(), owned(&old)), (before, (1, 4242, 0o604)));
    assert_eq!(fs::read_to_string(&old).unwrap(), "new");
}

#[test]
fn owner_and_group_are_set_on_all_that_is_made() {
    let Some(yard) = Yard::with("scpsudo-owner", &[NOPASSWD]) else { return };
    yard.here.file("f", "new");
    let old = yard.old("f", "old", (5, 6), 0o600);
    yard.put("--sudo --owner daemon --group 4242 --mode 0444", "f", "f").succeeded();
    assert_eq!(owned(&old), (1, 4242, 0o444));
    yard.old("f", "old", (5, 6), 0o600);
    yard.put("--sudo --owner 4711", "f", "f").succeeded();
    assert_eq!(owned(&old), (4711, 6, 0o600));
    yard.put("--sudo --group bin", "f", "new").succeeded();
    let bin: u32 = tool("getent", &["group", "bin"]).split(':').nth(2).unwrap().parse().unwrap();
    assert_eq!(owned(&yard.there.join("new")).1, bin);
    yard.here.dir("tree/in");
    yard.here.file("tree/in/a", "a");
    symlink("in/a", yard.here.join("tree/link")).unwrap();
    let run = yard.put("-r --sudo --owner daemon --group daemon --symlinks keep", "tree", "tree");
    run.succeeded();
    for path in ["tree", "tree/in", "tree/in/a", "tree/link"] {
        let (user, group, _) = owned(&yard.there.join(path));
        assert_eq!((user, group), (1, 1), "{path}: {run}");
    }
    for (option, word) in [("--owner no-such-user", "user"), ("--group no-such-group", "group")] {
        let run = yard.put(&format!("--sudo {option}"), "f", "none");
        let said = run.failed(73, "transfer_refused");
        assert_eq!((&said["started"], &said["outcome"]), (&"no".into(), &"not_started".into()), "{run}");
        assert!(said.advice().contains(&format!("there is no such {word}")), "{run}");
    }
    assert_eq!(yard.names(), ["f", "new", "tree"]);
}

#[test]
fn a_tree_of_odd_names_arrives_whole_and_a_second_time_too() {
    let Some(yard) = Yard::with("scpsudo-tree", &[ALL]) else { return };
    let root = yard.here.dir("a tree");
    for name in [&b"line\nbreak"[..], b"it's \"quoted\"", b"$(touch evil)", b"-rf", b"\xff\xfe", b" ", b";id;", b"*"] {
        let below = root.join(OsStr::from_bytes(name));
        fs::create_dir(&below).unwrap();
        fs::write(below.join(OsStr::from_bytes(name)), name).unwrap();
        fs::write(root.join(std::ffi::OsString::from_vec([b"f", name].concat())), name).unwrap();
    }
    let big: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    fs::write(root.join("big"), big).unwrap();
    for _ in 0..2 {
        let run = yard.put(&format!("-r --verify --preserve {PW}"), "a tree", "it's a\n$target");
        assert_eq!(run.succeeded()["transfer"]["files"], 17, "{run}");
        same(&root, &yard.there.join("it's a\n$target"));
        assert_eq!(yard.names(), ["it's a\n$target"], "{run}");
    }
    assert!(!yard.there.join("evil").exists() && !yard.host.sshd.account.home.join("evil").exists());
    // Directories on the way, a path from the home, and standard input.
    let run = yard.put(&format!("-r --parents {PW}"), "a tree", "x/y/z");
    run.succeeded();
    same(&root, &yard.there.join("x/y/z"));
    let run = yard.put(PW, "a tree/big", "no/such/place");
    run.failed(73, "parent_missing");
    let home = &yard.host.sshd.account.home;
    for target in ["DEST:kept", "DEST:~/kept"] {
        let _ = fs::remove_file(home.join("kept"));
        let cli = yard.host.cli(&format!("scp {PW} - {target}")).stdin(Stdin::Bytes(b"of a pipe".to_vec()));
        let run = cli.run();
        run.succeeded();
        assert_eq!(fs::read(home.join("kept")).unwrap(), b"of a pipe", "{run}");
        assert_eq!(owned(&home.join("kept")).0, 0, "{run}");
    }
    fs::remove_file(home.join("kept")).unwrap();
    assert!(!names(home).iter().any(|name| name.ends_with("part")) && yard.names() == ["it's a\n$target", "x"]);
}

#[test]
fn what_sudo_refuses_installs_nothing_and_leaves_nothing() {
    let refused = |yard: &Yard, options: &str, exit: i64, code: &str| {
        let run = yard.put(options, "f", "f");
        let said = run.failed(exit, code);
        assert_eq!((&said["started"], &said["outcome"]), (&"no".into(), &"not_started".into()), "{run}");
        assert_eq!(
            (&said["error"]["phase"], &said["error"]["class"]),
            (&"elevate".into(), &"permanent".into()),
            "{run}"
        );
        assert_eq!(said["transfer"]["entries"].as_array().unwrap().len(), 0, "{run}");
        assert!(run.elapsed < Duration::from_secs(15) && yard.names() == ["f"], "{run}");
        assert_eq!(fs::read(yard.there.join("f")).unwrap(), b"old");
        run.never_shows(yard.host.sshd.account.password());
        run.never_shows("not-this-one");
    };
    for (name, more) in [("scpsudo-no", "Defaults:USER !insults"), ("scpsudo-no-pty", "Defaults:USER use_pty")] {
        let Some(yard) = Yard::with(name, &[ALL, more]) else { return };
        yard.here.file("f", "new");
        yard.old("f", "old", (0, 0), 0o644);
        refused(&yard, "--sudo", 77, "sudo_password_required");
        refused(&yard, "--sudo --sudo-password env:BAD", 77, "sudo_password_wrong");
        refused(&yard, &format!("{PW} --as no-such-user"), 77, "sudo_not_permitted");
    }
    for lines in [&["# nothing"][..], &["USER ALL=(root) NOPASSWD: /usr/bin/id"], &["USER ALL=(daemon) ALL"]] {
        let Some(yard) = Yard::with("scpsudo-none", lines) else { return };
        yard.here.file("f", "new");
        yard.old("f", "old", (0, 0), 0o644);
        refused(&yard, PW, 77, "sudo_not_permitted");
    }
    let Some(yard) = Yard::with("scpsudo-tty", &[ALL, "Defaults:USER requiretty"]) else { return };
    yard.here.file("f", "new");
    yard.old("f", "old", (0, 0), 0o644);
    refused(&yard, PW, 77, "sudo_requires_tty");
}

#[test]
fn what_the_target_does_not_permit_is_said_and_stays() {
    let Some(yard) = Yard::with("scpsudo-rules", &[NOPASSWD]) else { return };
    yard.here.file("f", "new");
    let old = yard.old("f", "old", (3, 4), 0o600);
    let run = yard.put("--sudo --no-clobber", "f", "f");
    let said = run.succeeded();
    assert_eq!(
        (&said["transfer"]["entries"][0]["reason"], &said["started"]),
        (&"exists".into(), &"no".into()),
        "{run}"
    );
    tool("mkfifo", &[yard.there.join("pipe").to_str().unwrap()]);
    yard.put("--sudo", "f", "pipe").failed(73, "not_regular");
    fs::create_dir_all(yard.there.join("dir/f")).unwrap();
    yard.put("--sudo", "f", "dir").failed(73, "is_directory");
    yard.put("--sudo", "f", "f/").failed(73, "not_a_directory");
    // As somebody who may not either.
    let run = yard.put("--sudo --as daemon", "f", "f");
    let said = run.failed(77, "remote_permission");
    assert_eq!(said["started"], "no", "{run}");
    assert_eq!((fs::read_to_string(&old).unwrap().as_str(), owned(&old)), ("old", (3, 4, 0o600)));
    assert_eq!(
        (yard.names(), names(&yard.there.join("dir"))),
        (vec!["dir".into(), "f".into(), "pipe".into()], vec!["f".into()])
    );
    let theirs = yard.host.sshd.scratch().dir("theirs");
    chown(&theirs, Some(1), Some(1)).unwrap();
    let line = format!("scp --sudo --as daemon {} DEST:{}/", yard.here.join("f").display(), theirs.display());
    yard.host.run(&line).succeeded();
    assert_eq!((owned(&theirs.join("f")).0, names(&theirs)), (1, vec!["f".into()]));
}

#[test]
fn what_is_on_another_file_system_below_the_target_arrives_too() {
    let Some(yard) = Yard::with("scpsudo-mount", &[NOPASSWD]) else { return };
    let Ok(other) = tempfile::TempDir::new_in("/dev/shm") else { return needs::skip_rarity("needs /dev/shm") };
    if fs::metadata(other.path()).unwrap().dev() == fs::metadata(&yard.there).unwrap().dev() {
        return needs::skip_rarity("needs a second file system");
    }
    fs::create_dir(yard.there.join("tree")).unwrap();
    symlink(other.path(), yard.there.join("tree/mounted")).unwrap();
    yard.here.dir("tree/mounted");
    yard.here.file("tree/mounted/f", "new");
    yard.here.file("tree/g", "new");
    fs::write(other.path().join("f"), "old").unwrap();
    let run = yard.put("-r --sudo --owner daemon", "tree", "tree");
    assert_eq!(run.succeeded()["transfer"]["files"], 2, "{run}");
    let f = other.path().join("f");
    assert_eq!((fs::read_to_string(&f).unwrap().as_str(), owned(&f).0), ("new", 1), "{run}");
    assert_eq!(
        (names(other.path()), names(&yard.there.join("tree"))),
        (vec!["f".into()], vec!["g".into(), "mounted".into()])
    );
}

#[test]
fn an_account_without_a_shell_of_its_own_is_told_so() {
    let Some(account) = Account::spoilt("scpsudo-sftp") else { return };
    let Some(_sudoers) = Sudoers::of(&account, &[NOPASSWD]) else { return };
    let sshd = Sshd::build().account(account).line("ForceCommand internal-sftp").start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let source = here.file("f", "new");
    let run = sshd.cli(&format!("scp --sudo {} DEST:{}/", source.display(), there.display())).run();
    let said = run.failed(69, "no_posix_shell");
    assert!(said["started"] == "no" && names(&there).is_empty(), "{run}");
}

/// A live file there that a large one is to replace slowly.
fn slowly(name: &str, lines: &[&str]) -> Option<(Yard, FaultProxy)> {
    let yard = Yard::with(name, lines)?;
    yard.here.file("f", vec![b'N'; 50_000_000]);
    yard.old("f", "old", (2, 3), 0o644);
    let slow = yard.host.sshd.proxy().rate(Way::Up, SLOW).start();
    Some((yard, slow))
}

fn until_it_moves(proxy: &FaultProxy) {
    wait::until("the upload", Duration::from_secs(30), || (proxy.bytes(Way::Up) > 2 << 20).then_some(()));
}

fn is_as_before(yard: &Yard, run: &Run) {
    // The host removes what is left when it sees the connection's end.
    assert!(wait::eventually(Duration::from_secs(20), || yard.names() == ["f"]), "{:?}: {run}", yard.names());
    assert_eq!(fs::read(yard.there.join("f")).unwrap(), b"old", "{run}");
    assert_eq!(owned(&yard.there.join("f")), (2, 3, 0o644), "{run}");
}

#[test]
fn what_is_on_its_way_is_nobody_elses_and_a_signal_leaves_nothing() {
    for (name, lines) in [("scpsudo-term", &[ALL][..]), ("scpsudo-term-pty", &[ALL, "Defaults:USER use_pty"])] {
        let Some((yard, slow)) = slowly(name, lines) else { return };
        let running = yard.cli(PW, "f", "f").via(&slow).start();
        until_it_moves(&slow);
        let stages = yard.stages();
        assert_eq!(stages.len(), 1, "{:?}", yard.names());
        assert_eq!(owned(&stages[0]), (0, 0, 0o700));
        running.signal(Signal::TERM);
        let run = running.finish();
        let said = run.failed(143, "interrupted");
        assert_eq!((&said["outcome"], &said["started"]), (&"stopped".into(), &"yes".into()), "{run}");
        assert_eq!(
            (yard.names(), said["transfer"]["entries"].as_array().unwrap().len()),
            (vec!["f".into()], 0),
            "{run}"
        );
        is_as_before(&yard, &run);
    }
}

#[test]
fn a_limit_leaves_nothing() {
    let Some((yard, slow)) = slowly("scpsudo-limit", &[ALL]) else { return };
    let run = yard.cli(&format!("{PW} --timeout 3s"), "f", "f").via(&slow).run();
    assert_eq!(run.failed(1, "timeout")["outcome"], "stopped", "{run}");
    assert_eq!(yard.names(), ["f"], "{run}");
    is_as_before(&yard, &run);
}

#[test]
fn not_even_a_cut_or_a_kill_leaves_anything() {
    for (name, lines) in [("scpsudo-cut", &[ALL][..]), ("scpsudo-cut-pty", &[ALL, "Defaults:USER use_pty"])] {
        let Some((yard, slow)) = slowly(name, lines) else { return };
        for mode in [Mode::Rst, Mode::Fin] {
            let cut = yard.host.sshd.proxy().cut(Way::Up, 3 << 20, mode).start();
            let run = yard.cli(PW, "f", "f").via(&cut).run();
            let said = run.failed(74, "connection_lost");
            assert_eq!((&said["started"], &said["outcome"]), (&"yes".into(), &"unknown".into()), "{run}");
            let entries = said["transfer"]["entries"].as_array().unwrap();
            let stage = entries.iter().find(|entry| entry["action"] == "left").unwrap_or_else(|| panic!("{run}"));
            assert!(stage["path"].as_str().unwrap().starts_with(yard.there.to_str().unwrap()), "{run}");
            is_as_before(&yard, &run);
        }
        let running = yard.cli(PW, "f", "f").via(&slow).start();
        until_it_moves(&slow);
        running.signal(Signal::KILL);
        is_as_before(&yard, &running.finish());
        // The same line completes it.
        yard.put(PW, "f", "f").succeeded();
        assert_eq!(owned(&yard.there.join("f")), (2, 3, 0o644));
        same(&yard.here.join("f"), &yard.there.join("f"));
    }
}

#[test]
fn a_cut_is_got_over_where_retries_are_asked_for() {
    let Some((yard, slow)) = slowly("scpsudo-again", &[ALL]) else { return };
    yard.here.file("f", vec![b'N'; 9_000_000]);
    let running = yard.cli(&format!("{PW} --retries 2 --retry-wait 100ms"), "f", "f").via(&slow).start();
    until_it_moves(&slow);
    slow.break_now(Mode::Rst);
    let run = running.finish();
    assert_eq!(run.succeeded()["attempts"], 2, "{run}");
    assert!(wait::eventually(Duration::from_secs(20), || yard.names() == ["f"]), "{:?}: {run}", yard.names());
    same(&yard.here.join("f"), &yard.there.join("f"));
}

#[test]
fn one_session_is_enough() {
    let Some(account) = Account::spoilt("scpsudo-one") else { return };
    let Some(_sudoers) = Sudoers::of(&account, &[ALL]) else { return };
    let sshd = Sshd::build().account(account).line("MaxSessions 1").start();
    let there = sshd.scratch().dir("root's");
    fs::set_permissions(&there, Permissions::from_mode(0o700)).unwrap();
    let here = Scratch::new();
    let source = here.file("f", "new");
    let line = format!("scp --verify {PW} {} \"DEST:{}/\"", source.display(), there.display());
    let run = sshd.cli(&line).env("PW", sshd.account.password()).run();
    run.succeeded();
    assert_eq!(names(&there), ["f"], "{run}");
}

#[test]
fn the_account_cannot_lead_it_astray() {
    let Some(yard) = Yard::with("scpsudo-trick", &[NOPASSWD]) else { return };
    let home = yard.host.sshd.account.home.clone();
    let dir = home.join("drop");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).unwrap();
    yard.host.sshd.account.owns(&dir);
    yard.here.file("f", vec![b'N'; 20_000_000]);
    let slow = yard.host.sshd.proxy().rate(Way::Up, SLOW).start();
    let line = format!("scp --sudo {} DEST:{}/f", yard.here.join("f").display(), dir.display());
    let running = yard.host.cli(&line).via(&slow).start();
    until_it_moves(&slow);
    // It may not look into what is on its way in its own directory, nor put anything there.
    let trick = format!(
        "for d in {0}/.staging.*.ssh-cli-part; do ls $d; cat $d/.*part; ln -s /etc/shadow $d/x; rm -f $d/.*part; done",
        dir.display()
    );
    let run = yard.host.run(&format!("exec DEST {}", shlex::try_quote(&trick).unwrap()));
    let said = run.json();
    assert!(said.stdout().is_empty() && said.stderr().contains("Permission denied"), "{run}");
    let run = running.finish();
    run.succeeded();
    same(&yard.here.join("f"), &dir.join("f"));
    assert_eq!((names(&dir), owned(&dir.join("f")).0), (vec!["f".into()], 0), "{run}");
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn nobody_else_sees_the_password() {
    let Some(account) = Account::spoilt("scpsudo-secret") else { return };
    let Some(_sudoers) = Sudoers::of(&account, &[ALL]) else { return };
    let secret = account.password().to_owned();
    let sshd = Sshd::build().account(account).line("LogLevel DEBUG3").start();
    let here = Scratch::new();
    let source = here.file("f", vec![b'N'; 50_000_000]);
    for form in ["--output json -vvvv", "--output ndjson"] {
        let slow = sshd.proxy().rate(Way::Up, SLOW).start();
        let file = sshd.scratch().file("pw", format!("{secret}\n"));
        let target = sshd.scratch().dir("to").display().to_string();
        let line =
            format!("scp {form} --sudo --sudo-password file:{} {} DEST:{target}/", file.display(), source.display());
        let mut running = sshd.cli(&line).via(&slow).start();
        until_it_moves(&slow);
        running.look();
        assert_eq!(proc::whoever_shows(&secret), Vec::<String>::new());
        running.signal(Signal::TERM);
        let run = running.finish();
        run.never_shows(&secret);
        assert!(!sshd.log().contains(&secret));
        assert_eq!(names(Path::new(&target)), Vec::<String>::new(), "{run}");
    }
}

#[test]
fn what_only_root_may_read_is_fetched_too() {
    let Some(yard) = Yard::with("scpsudo-get", &[ALL]) else { return };
    yard.old("secret.log", "line\n", (0, 0), 0o600);
    yard.old("other.log", "more\n", (0, 0), 0o600);
    fs::create_dir_all(yard.there.join("d/e")).unwrap();
    fs::write(yard.there.join("d/e/deep"), vec![7; 1_000_000]).unwrap();
    let there = yard.there.display();
    let to = yard.here.dir("to");
    let get = |options: &str, path: &str| {
        yard.host.run(&format!("scp {options} \"DEST:{there}/{path}\" '{}/'", to.display()))
    };
    let run = get(&format!("--verify {PW}"), "secret.log");
    assert_eq!((&run.succeeded()["effect"], owned(&to.join("secret.log")).0), (&"read".into(), 0), "{run}");
    assert_eq!(fs::read(to.join("secret.log")).unwrap(), b"line\n");
    assert_eq!(get(PW, "*.log").succeeded()["transfer"]["files"], 2);
    get(&format!("-r {PW}"), "d").succeeded();
    same(&to.join("d"), &yard.there.join("d"));
    get("", "secret.log").json();
    let run = get("--sudo --sudo-password env:BAD", "secret.log");
    assert_eq!(run.failed(77, "sudo_password_wrong")["started"], "no", "{run}");
    get(PW, "none").failed(66, "source_not_found");
    let run = yard.host.run(&format!("scp --raw {PW} \"DEST:{there}/secret.log\" -"));
    run.raw("line\n", 0);
    assert_eq!(yard.names(), ["d", "other.log", "secret.log"]);
}

#[test]
fn what_means_nothing_together_is_refused_before_anybody_is_called() {
    let cli = |line: &str| Cli::new(line, "nobody", 1).run();
    for line in [
        "scp --sudo --resume f DEST:f",
        "scp --sudo --protocol scp f DEST:f",
        "scp --sudo --owner root DEST:f f",
        "scp --sudo --group root DEST:f f",
        "scp --sudo --sudo-password stdin - DEST:f",
    ] {
        cli(line).failed(64, "option_conflict");
    }
    for line in [
        "scp --owner root f DEST:f",
        "scp --group root f DEST:f",
        "scp --as root f DEST:f",
        "scp --sudo-password env:X f DEST:f",
        "scp --sudo --owner root:root f DEST:f",
        "scp --sudo --as -x f DEST:f",
        "scp --sudo --sudo-password hunter2 f DEST:f",
    ] {
        let run = cli(line);
        run.failed(64, "usage");
        run.never_shows("hunter2 ");
    }
}
