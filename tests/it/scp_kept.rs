//! What a copy says of its own temporary files, whose parts it continues, and what it keeps where sources merge.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::rig::{Mode, Run, Scratch, Sshd, Way, needs, random_hex, tool, wait};

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn mtime(path: &Path) -> i64 {
    fs::symlink_metadata(path).unwrap().mtime()
}

fn since(path: &Path, time: i64) {
    tool("touch", &["-h", "-d", &format!("@{time}"), path.to_str().unwrap()]);
}

/// Temporary files of ours in a directory.
fn parts(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_str().is_some_and(|path| path.ends_with(".ssh-cli-part"))).collect()
}

/// Where the real `sftp-server` is.
fn sftp_server() -> Option<&'static str> {
    let places = ["/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/libexec/sftp-server"];
    let found = places.into_iter().chain(["/usr/lib/ssh/sftp-server", "/usr/lib/sftp-server"]);
    let found = found.into_iter().find(|path| Path::new(path).exists());
    if found.is_none() {
        needs::skip("needs an sftp-server program");
    }
    found
}

/// The reason why an entry whose path ends so stays.
fn left(run: &Run, end: &str) -> String {
    let said = run.json();
    let entries = said["transfer"]["entries"].as_array().unwrap().clone();
    let entry =
        entries.iter().find(|entry| entry["action"] == "left" && entry["path"].as_str().unwrap().ends_with(end));
    entry.unwrap_or_else(|| panic!("nothing is told to stay: {run}"))["reason"].as_str().unwrap().to_owned()
}

#[test]
fn after_it_was_opened_the_file_is_still_told_by_its_name() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::build().line("ForceCommand internal-sftp").start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let file = here.file("f", "x");
    // It cannot be read back, and nothing there could hash it.
    let run = sshd.cli(&format!("scp --verify --mode 0200 {} DEST:{}/", file.display(), there.display())).run();
    let said = run.failed(77, "remote_permission");
    let message = said["error"]["message"].as_str().unwrap();
    assert!(message.contains(&format!("{}/f", there.display())) && !message.contains("ssh-cli-part"), "{run}");
    assert!(parts(&there).is_empty(), "{run}");
    // A disk that is full in the middle.
    let small = there.join("small");
    fs::create_dir(&small).unwrap();
    tool("mount", &["-t", "tmpfs", "-o", "size=1m,mode=777", "none", small.to_str().unwrap()]);
    let big = here.file("big", vec![1; 3 << 20]);
    let runs = ["", "--resume"]
        .map(|option| sshd.cli(&format!("scp {option} {} DEST:{}/", big.display(), small.display())).run());
    let kept = parts(&small).len();
    tool("umount", &[small.to_str().unwrap()]);
    for run in &runs {
        let said = run.failed(73, "no_space");
        let message = said["error"]["message"].as_str().unwrap();
        assert!(message.contains("small/big") && !message.contains("ssh-cli-part"), "{run}");
    }
    assert_eq!(kept, 1, "{}", runs[1]);
    assert!(left(&runs[1], ".ssh-cli-part").starts_with("resumable"), "{}", runs[1]);
}

#[test]
fn where_commands_see_another_file_the_one_that_was_copied_decides() {
    let Some(server) = sftp_server() else { return };
    let dir = Scratch::new();
    chmod(dir.path(), 0o777);
    let only = format!(
        "ForceCommand case $SSH_ORIGINAL_COMMAND in *sftp*) exec {server} -d {};; *) eval \"$SSH_ORIGINAL_COMMAND\";; esac",
        dir.path().display()
    );
    let sshd = Sshd::build().line(only).start();
    let here = Scratch::new();
    // By this path a command finds another file, in the home directory.
    let name = format!("file-{}", random_hex(8));
    let file = here.file(&name, "content");
    let home = sshd.account.home.join(&name);
    fs::write(&home, "something else").unwrap();
    chmod(&home, 0o644);
    let run = sshd.cli(&format!("scp --verify {} DEST:{name}", file.display())).run();
    let again = sshd.cli(&format!("scp --verify --in-place {} DEST:{name}", file.display())).run();
    let back = sshd.cli(&format!("scp --verify DEST:{name} {}", here.join("back").display())).run();
    let printed = sshd.cli(&format!("scp --raw --verify DEST:{name} -")).run();
    fs::remove_file(&home).unwrap();
    for run in [&run, &again, &back] {
        assert!(run.succeeded()["transfer"]["entries"][0]["sha256"].is_string(), "{run}");
    }
    printed.raw("content", 0);
    assert_eq!(fs::read(dir.join(&name)).unwrap(), b"content");
    assert_eq!(fs::read(here.join("back")).unwrap(), b"content");
}

#[test]
fn links_that_are_kept_have_times_of_their_own() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let tree = here.dir("tree");
    fs::write(tree.join("file"), "x").unwrap();
    symlink("file", tree.join("link")).unwrap();
    since(&tree.join("link"), 1_000_000_000);
    let up = format!("scp -r --preserve --symlinks keep {} DEST:{}/", tree.display(), there.display());
    let down =
        format!("scp -r --preserve --symlinks keep DEST:{}/tree {}", there.display(), here.join("back").display());
    for _ in 0..2 {
        sshd.cli(&up).run().succeeded();
        sshd.cli(&down).run().succeeded();
        assert_eq!(mtime(&there.join("tree/link")), 1_000_000_000);
        assert_eq!(mtime(&here.join("back/link")), 1_000_000_000);
        assert!(mtime(&here.join("back/file")) > 1_000_000_000);
    }
}

/// A real server behind a filter that exchanges the two paths of SYMLINK, so that it is one that has the draft's order; or one
/// that makes no link at all.
const EXCHANGE: &str = r"
import os, struct, subprocess, sys, threading
how, server = sys.argv[1:3]
child = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
inp, out = sys.stdin.buffer, sys.stdout.buffer
def back():
    while True:
        data = os.read(child.stdout.fileno(), 65536)
        if not data: os._exit(0)
        out.write(data); out.flush()
threading.Thread(target=back, daemon=True).start()
def s(b): return struct.pack('>I', len(b)) + b
while True:
    head = inp.read(4)
    if len(head) < 4: break
    body = inp.read(struct.unpack('>I', head)[0])
    if body[0] == 20:
        n = struct.unpack('>I', body[5:9])[0]
        one, other = body[9:9 + n], body[13 + n:]
        if how == 'other_text' and b'ssh-cli-part' not in one: one = b'elsewhere'
        pair = (other, one) if how == 'draft' else (one, other)
        body = body[:5] + s(pair[0]) + s(pair[1])
    child.stdin.write(s(body)); child.stdin.flush()
child.stdin.close(); child.wait()
";

fn exchanging(how: &str) -> Option<Sshd> {
    let server = sftp_server()?;
    if needs::no_program("python3") {
        return None;
    }
    let builder = Sshd::build();
    let script = builder.scratch().file("exchange.py", EXCHANGE);
    chmod(&script, 0o644);
    Some(builder.line(format!("ForceCommand python3 {} {how} {server}", script.display())).start())
}

#[test]
fn in_whatever_order_a_server_takes_a_link_it_is_the_one_that_was_asked_for() {
    let Some(sshd) = exchanging("draft") else { return };
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let tree = here.dir("tree");
    fs::write(tree.join("file"), "x").unwrap();
    let outside = format!("outside-{}", random_hex(8));
    symlink("file", tree.join("a")).unwrap();
    // In the wrong order, a link would come into being here, in the home directory.
    symlink(&outside, tree.join("b")).unwrap();
    for _ in 0..2 {
        let run = sshd.cli(&format!("scp -r --symlinks keep {} DEST:{}/", tree.display(), there.display())).run();
        run.succeeded();
        assert_eq!(fs::read_link(there.join("tree/a")).unwrap(), Path::new("file"), "{run}");
        assert_eq!(fs::read_link(there.join("tree/b")).unwrap(), Path::new(&outside), "{run}");
        symlink("old", there.join("tree/c")).unwrap();
        fs::remove_file(there.join("tree/c")).unwrap();
    }
    assert!(!sshd.account.home.join(&outside).is_symlink() && parts(&there.join("tree")).is_empty());
}

#[test]
fn a_link_that_says_something_else_is_no_copy() {
    let Some(sshd) = exchanging("other_text") else { return };
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let tree = here.dir("tree");
    fs::write(tree.join("file"), "x").unwrap();
    symlink("file", tree.join("a")).unwrap();
    let run = sshd.cli(&format!("scp -r --symlinks keep {} DEST:{}/", tree.display(), there.display())).run();
    let said = run.failed(1, "partial_transfer");
    assert!(said["transfer"]["entries"].to_string().contains("a link that says `elsewhere`"), "{run}");
    assert!(!there.join("tree/a").is_symlink(), "{run}");
}

#[test]
fn a_file_that_is_copied_onto_itself_stays() {
    let sshd = Sshd::start();
    let there = sshd.shared_dir();
    let file = there.join("file");
    let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    for protocol in ["sftp", "scp"] {
        for option in ["", "--in-place"] {
            for way in [format!("{0} DEST:{0}", file.display()), format!("DEST:{0} {0}", file.display())] {
                fs::write(&file, &content).unwrap();
                sshd.account.owns(&file);
                let run = sshd.cli(&format!("scp --protocol {protocol} {option} {way}")).run();
                let said = run.json();
                let is_whole = fs::read(&file).unwrap() == content;
                // The legacy protocol cuts it off before it was read; then that is told.
                let told = protocol == "scp" && option == "--in-place" && said.exit() != 0;
                assert!((is_whole && said.exit() == 0) || told, "{protocol} {option} {way}: {run}");
            }
        }
    }
    // A longer one that is written in place is cut where the source ends.
    let here = Scratch::new();
    let short = here.file("short", "short");
    fs::write(&file, &content).unwrap();
    let long = here.file("long", &content);
    sshd.cli(&format!("scp --in-place {} DEST:{}", short.display(), file.display())).run().succeeded();
    assert_eq!(fs::read(&file).unwrap(), b"short");
    sshd.cli(&format!("scp --in-place DEST:{} {}", file.display(), long.display())).run().succeeded();
    assert_eq!(fs::read(&long).unwrap(), b"short");
}

#[test]
fn what_is_wrong_with_a_target_or_a_pattern_is_told_as_that() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let file = here.file("f", "x");
    fs::write(there.join("file"), "old").unwrap();
    let closed = there.join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("a.txt"), "a").unwrap();
    chmod(&closed, 0o711);
    for protocol in ["sftp", "scp"] {
        let line = format!("scp --protocol {protocol} {} DEST:{}/file/", file.display(), there.display());
        sshd.cli(&line).run().failed(73, "not_a_directory");
    }
    let run = sshd.cli(&format!("scp DEST:{}/*.txt {}/", closed.display(), here.path().display())).run();
    let said = run.failed(77, "remote_permission");
    assert!(said["error"]["message"].as_str().unwrap().contains("/closed:"), "{run}");
}

#[test]
fn a_disk_that_is_full_is_told_once() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let tree = here.dir("tree");
    for n in 0..5 {
        fs::write(tree.join(n.to_string()), vec![b'x'; 500_000]).unwrap();
    }
    let small = there.join("small");
    fs::create_dir(&small).unwrap();
    tool("mount", &["-t", "tmpfs", "-o", "size=1m,mode=777", "none", small.to_str().unwrap()]);
    let to =
        |protocol: &str| format!("scp -r --protocol {protocol} {} DEST:{}/{protocol}", tree.display(), small.display());
    let runs = ["sftp", "scp"].map(|protocol| {
        let run = sshd.cli(&to(protocol)).run();
        tool("find", &[small.to_str().unwrap(), "-mindepth", "1", "-delete"]);
        run
    });
    tool("umount", &[small.to_str().unwrap()]);
    for run in &runs {
        let said = run.failed(73, "no_space");
        let entries = said["transfer"]["entries"].as_array().unwrap();
        let full: Vec<_> = entries.iter().filter(|entry| entry["action"] == "failed").collect();
        assert!(full.len() == 1 && full[0]["path"] != "" && said["transfer"]["skipped"] == 1, "{run}");
    }
}

/// A part of `file` for `there/name`, as an attempt that was cut would have left it: its first bytes.
fn plant(sshd: &Sshd, file: &Path, target: &Path) -> PathBuf {
    let slow = sshd.proxy().rate(Way::Up, 4 << 20).start();
    let line = format!("scp --resume {} DEST:{}", file.display(), target.display());
    let running = sshd.cli(&line).via(&slow).start();
    let dir = target.parent().unwrap();
    let there = || parts(dir).into_iter().find(|part| fs::metadata(part).is_ok_and(|meta| meta.len() > 2 << 20));
    let part = wait::until("the part", Duration::from_secs(60), there);
    slow.break_now(Mode::Rst);
    running.finish().failed(74, "connection_lost");
    assert!(wait::eventually(Duration::from_secs(30), || sshd.session_processes().is_empty()));
    part
}

#[test]
fn a_part_of_somebody_else_is_not_continued() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    chmod(&there, 0o777);
    let content: Vec<u8> = (0..8_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let file = here.file("big", &content);
    let target = there.join("big");
    let part = plant(&sshd, &file, &target);
    // It is root's now, and open to all: what may be written is not what may be trusted.
    tool("chown", &["0:0", part.to_str().unwrap()]);
    chmod(&part, 0o666);
    let run = sshd.cli(&format!("scp --resume {} DEST:{}", file.display(), target.display())).run();
    assert_eq!(run.succeeded()["transfer"]["bytes"], content.len(), "{run}");
    assert!(fs::read(&target).unwrap() == content, "{run}");
    assert_eq!(parts(&there), std::slice::from_ref(&part), "what is not ours stays: {run}");
    // Nor is a link followed that stands where one should be.
    fs::remove_file(&target).unwrap();
    let victim = there.join("victim");
    fs::rename(&part, &victim).unwrap();
    symlink(&victim, &part).unwrap();
    sshd.account.owns(&victim);
    let before = fs::read(&victim).unwrap();
    let run = sshd.cli(&format!("scp --resume {} DEST:{}", file.display(), target.display())).run();
    run.succeeded();
    assert!(fs::read(&target).unwrap() == content && fs::read(&victim).unwrap() == before, "{run}");
}

#[test]
fn a_file_that_may_not_be_written_is_continued_both_ways() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let content: Vec<u8> = (0..8_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let file = here.file("big", &content);
    chmod(&file, 0o444);
    let target = there.join("big");
    plant(&sshd, &file, &target);
    let run = sshd.cli(&format!("scp --resume {} DEST:{}", file.display(), target.display())).run();
    let said = run.succeeded();
    assert_eq!(said["transfer"]["entries"][0]["action"], "resumed", "{run}");
    assert!(fs::read(&target).unwrap() == content && mode(&target) == 0o444, "{:o}: {run}", mode(&target));

    let back = here.join("back");
    fs::create_dir(&back).unwrap();
    let line = format!("scp --resume DEST:{} {}/", target.display(), back.display());
    let cut = sshd.proxy().cut(Way::Down, 4_000_000, Mode::Rst).start();
    let run = sshd.cli(&line).via(&cut).run();
    run.failed(74, "connection_lost");
    assert!(left(&run, ".ssh-cli-part").starts_with("resumable"), "{run}");
    assert_eq!(mode(&parts(&back)[0]) & 0o600, 0o600);
    let run = sshd.cli(&line).run();
    assert_eq!(run.succeeded()["transfer"]["entries"][0]["action"], "resumed", "{run}");
    assert!(fs::read(back.join("big")).unwrap() == content && mode(&back.join("big")) == 0o444, "{run}");
    assert!(parts(&back).is_empty());
}

#[test]
fn of_directories_that_merge_the_last_source_decides() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    // `sub` of the one, and `sub` itself: both become TARGET/sub.
    for (dir, bits, time) in [("one/sub", 0o500, 1_000_000_000), ("two/sub", 0o750, 1_100_000_000)] {
        let path = here.dir(dir);
        fs::create_dir(path.join("deep")).unwrap();
        fs::write(path.join(if bits == 0o500 { "a" } else { "b" }), vec![b'x'; 300_000]).unwrap();
        since(&path.join("deep"), time);
        chmod(&path, bits);
        since(&path, time);
    }
    let is_merged = |root: &Path, bits: u32, exact: bool| {
        let sub = root.join("sub");
        assert!(sub.join("a").exists() && sub.join("b").exists());
        assert_eq!(mode(&sub), bits);
        if exact {
            assert_eq!((mtime(&sub), mtime(&sub.join("deep"))), (1_100_000_000, 1_100_000_000));
        }
    };
    for protocol in ["sftp", "scp"] {
        for (options, bits) in [("--preserve", 0o750), ("", 0o500)] {
            let exact = !options.is_empty();
            let name = format!("{protocol}{}", options.len());
            let into = there.join(&name);
            fs::create_dir(&into).unwrap();
            sshd.account.owns(&into);
            let up = format!(
                "scp -r --protocol {protocol} {options} {0}/one/. {0}/two/sub DEST:{1}/",
                here.path().display(),
                into.display()
            );
            sshd.cli(&up).run().succeeded();
            is_merged(&into, bits, exact);
        }
        tool(
            "cp",
            &["-a", here.join("one").to_str().unwrap(), here.join("two").to_str().unwrap(), there.to_str().unwrap()],
        );
        tool("chown", &["-R", &sshd.account.name, there.to_str().unwrap()]);
        let back = here.dir(&format!("back-{protocol}"));
        let down = format!(
            "scp -r --preserve --protocol {protocol} DEST:{0}/one/. DEST:{0}/two/sub {1}/",
            there.display(),
            back.display()
        );
        sshd.cli(&down).run().succeeded();
        is_merged(&back, 0o750, true);
    }
}
