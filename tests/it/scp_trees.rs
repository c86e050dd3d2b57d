//! Trees, names, modes and times, in both directions, and what cannot be copied.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use crate::rig::{Envelope, Scratch, Sshd, needs, tool};

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn mtime(path: &Path) -> i64 {
    fs::symlink_metadata(path).unwrap().mtime()
}

/// The tree of every kind of thing that there is.
fn strange_tree(root: &Path) {
    let at = |name: &str| root.join(name);
    fs::create_dir_all(at("private/empty")).unwrap();
    fs::write(at("file"), "content").unwrap();
    fs::write(at("empty file"), "").unwrap();
    fs::write(at("private/new\nline"), "n").unwrap();
    fs::write(root.join(OsStr::from_bytes(b"private/\xff\xfe")), "bytes").unwrap();
    fs::write(at("setuid"), "s").unwrap();
    symlink("file", at("to file")).unwrap();
    symlink("private", at("to dir")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    symlink("..", at("private/loop")).unwrap();
    tool("mkfifo", &[at("fifo").to_str().unwrap()]);
    chmod(&at("setuid"), 0o4755);
    chmod(&at("private"), 0o700);
    chmod(&at("private/empty"), 0o500);
    chmod(&at("file"), 0o640);
    for name in ["file", "private/empty", "private", ""] {
        tool("touch", &["-d", "@1000000000", at(name).to_str().unwrap()]);
    }
}

/// Why this entry was not plainly copied.
fn reason(said: &Envelope, path: &str) -> String {
    let entries = said["transfer"]["entries"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["path"] == path).unwrap_or_else(|| panic!("no {path}: {entries:?}"));
    entry["reason"].as_str().unwrap_or_default().to_owned()
}

fn is_the_tree(root: &Path) {
    let at = |name: &str| root.join(name);
    assert_eq!(fs::read(at("file")).unwrap(), b"content");
    assert_eq!(fs::read(at("to file")).unwrap(), b"content");
    assert!(!at("to file").is_symlink() && at("to dir/empty").is_dir());
    assert_eq!(fs::read(at("empty file")).unwrap(), b"");
    assert_eq!(fs::read(at("private/new\nline")).unwrap(), b"n");
    assert_eq!(fs::read(root.join(OsStr::from_bytes(b"private/\xff\xfe"))).unwrap(), b"bytes");
    assert_eq!((mode(&at("private")), mode(&at("private/empty")), mode(&at("file"))), (0o700, 0o500, 0o640));
    assert_eq!(mode(&at("setuid")), 0o755, "a copy is never setuid");
    for name in ["file", "private", "private/empty"] {
        assert_eq!(mtime(&at(name)), 1_000_000_000, "{name}");
    }
    assert!(!at("fifo").exists() && !at("dangling").is_symlink());
}

fn tells_what_was_left_out(said: &Envelope) {
    assert_eq!(said["transfer"]["skipped"], 4, "{}", said["transfer"]);
    assert_eq!(reason(said, "fifo"), "fifo");
    assert_eq!(reason(said, "dangling"), "dangling_link");
    assert_eq!(reason(said, "private/loop"), "link_loop");
    assert_eq!(reason(said, "to dir/loop"), "link_loop");
}

#[test]
fn a_tree_goes_and_comes_back_as_it_was() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let source = here.dir("source");
    strange_tree(&source);
    let up = format!("scp -r --preserve {} DEST:{}", source.display(), there.join("copy").display());
    let run = sshd.cli(&up).run();
    tells_what_was_left_out(&run.failed(1, "partial_transfer"));
    is_the_tree(&there.join("copy"));
    assert_eq!(mtime(&there.join("copy")), 1_000_000_000);
    // Once more gives the same.
    sshd.cli(&up).run().failed(1, "partial_transfer");
    is_the_tree(&there.join("copy"));

    strange_tree(&there.join("theirs"));
    tool("chown", &["-R", &sshd.account.name, there.to_str().unwrap()]);
    let down = format!("scp -r --preserve DEST:{} {}", there.join("theirs").display(), here.join("back").display());
    for _ in 0..2 {
        let run = sshd.cli(&down).run();
        tells_what_was_left_out(&run.failed(1, "partial_transfer"));
        is_the_tree(&here.join("back"));
        assert_eq!(mtime(&here.join("back")), 1_000_000_000);
    }
}

#[test]
fn links_are_kept_or_left_out_where_that_is_asked_for() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let source = here.dir("source");
    fs::write(source.join("file"), "x").unwrap();
    symlink("file", source.join("link")).unwrap();
    symlink("nowhere", source.join("dangling")).unwrap();
    let up = |how: &str| format!("scp -r --symlinks {how} {} DEST:{}/{how}", source.display(), there.display());
    let text = |path: &Path| fs::read_link(path).unwrap().to_str().unwrap().to_owned();
    sshd.cli(&up("keep")).run().succeeded();
    assert_eq!(text(&there.join("keep/link")), "file");
    assert_eq!(text(&there.join("keep/dangling")), "nowhere");
    let said = sshd.cli(&up("skip")).run().failed(1, "partial_transfer");
    assert_eq!(reason(&said, "link"), "symlink");
    assert!(!there.join("skip/link").is_symlink());

    let down = format!("scp -r --symlinks keep DEST:{} {}", there.join("keep").display(), here.join("back").display());
    sshd.cli(&down).run().succeeded();
    sshd.cli(&down).run().succeeded();
    assert_eq!(text(&here.join("back/link")), "file");
    assert_eq!(text(&here.join("back/dangling")), "nowhere");
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_a_link_to_it_stays_one() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let source = here.file("new", "new");
    chmod(&source, 0o755);
    fs::write(there.join("real"), "old").unwrap();
    sshd.account.owns(&there.join("real"));
    chmod(&there.join("real"), 0o604);
    symlink("real", there.join("link")).unwrap();
    let put = |options: &str, to: &str| {
        sshd.cli(&format!("scp {options} {} DEST:{}", source.display(), there.join(to).display())).run()
    };
    put("", "link").succeeded();
    assert!(there.join("link").is_symlink());
    assert_eq!((fs::read(there.join("real")).unwrap(), mode(&there.join("real"))), (b"new".to_vec(), 0o604));
    put("--mode 0600", "real").succeeded();
    assert_eq!(mode(&there.join("real")), 0o600);

    // What a link leads to need not be there yet.
    symlink("later", there.join("dangling")).unwrap();
    put("", "dangling").succeeded();
    assert_eq!(fs::read(there.join("later")).unwrap(), b"new");

    // The same here.
    let old = here.file("kept", "old");
    chmod(&old, 0o604);
    symlink("kept", here.join("here")).unwrap();
    let get = format!("scp DEST:{} {}", there.join("real").display(), here.join("here").display());
    sshd.cli(&get).run().succeeded();
    assert!(here.join("here").is_symlink());
    assert_eq!((fs::read(&old).unwrap(), mode(&old)), (b"new".to_vec(), 0o604));
}

#[test]
fn only_regular_files_are_replaced() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let source = here.file("new", "new");
    tool("mkfifo", &[there.join("fifo").to_str().unwrap()]);
    sshd.account.owns(&there.join("fifo"));
    fs::create_dir(there.join("dir")).unwrap();
    let put = |options: &str, to: &str| {
        sshd.cli(&format!("scp {options} {} DEST:{}", source.display(), there.join(to).display())).run()
    };
    for options in ["", "--in-place"] {
        put(options, "fifo").failed(73, "not_regular");
    }
    put("", "missing/").failed(73, "parent_missing");
    put("", "missing/file").failed(73, "parent_missing");
    put("--parents", "missing/deep/file").succeeded();
    assert_eq!(fs::read(there.join("missing/deep/file")).unwrap(), b"new");
    let tree = here.dir("tree");
    let run = sshd.cli(&format!("scp {} DEST:{}", tree.display(), there.join("dir").display())).run();
    run.failed(66, "source_is_directory");
    let run = sshd.cli(&format!("scp -r {} DEST:{}", tree.display(), there.join("missing/deep/file").display())).run();
    run.failed(73, "not_a_directory");

    let fifo = here.join("fifo");
    tool("mkfifo", &[fifo.to_str().unwrap()]);
    let there_file = there.join("missing/deep/file");
    sshd.cli(&format!("scp DEST:{} {}", there_file.display(), fifo.display())).run().failed(73, "not_regular");
    sshd.cli(&format!("scp DEST:{} /dev/null", there_file.display())).run().failed(73, "not_regular");
    sshd.cli(&format!("scp DEST:{} {}/none/x", there_file.display(), here.path().display()))
        .run()
        .failed(73, "parent_missing");
    sshd.cli(&format!("scp DEST:{} {}", there.join("none").display(), here.path().display()))
        .run()
        .failed(66, "source_not_found");
    assert!(Path::new("/dev/null").exists() && !fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn what_the_host_forbids_is_named() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let source = here.file("new", "new");
    fs::create_dir(there.join("closed")).unwrap();
    fs::write(there.join("secret"), "s").unwrap();
    chmod(&there.join("secret"), 0o600);
    let put = sshd.cli(&format!("scp {} DEST:{}", source.display(), there.join("closed/x").display())).run();
    assert!(put.failed(77, "remote_permission")["error"]["message"].as_str().unwrap().contains("closed"), "{put}");
    let get = sshd.cli(&format!("scp DEST:{} {}", there.join("secret").display(), here.join("x").display())).run();
    get.failed(77, "remote_permission");
    assert!(!here.join("x").exists());

    // A small file system, full, and one that is read-only.
    for (options, code) in [("size=1m", "no_space"), ("size=1m,ro", "read_only")] {
        let small = there.join(code);
        fs::create_dir(&small).unwrap();
        tool("mount", &["-t", "tmpfs", "-o", &format!("{options},mode=777"), "none", small.to_str().unwrap()]);
        let big = here.file("big", vec![1; 3 << 20]);
        let run = sshd.cli(&format!("scp {} DEST:{}/x", big.display(), small.display())).run();
        let left = fs::read_dir(&small).unwrap().count();
        tool("umount", &[small.to_str().unwrap()]);
        run.failed(73, code);
        assert_eq!(left, 0, "nothing stays: {run}");
    }
}

#[test]
fn no_clobber_several_sources_and_patterns() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    for name in ["a.txt", "b.txt", "c.log", ".hidden.txt"] {
        fs::write(there.join(name), name).unwrap();
    }
    let into = here.dir("into");
    fs::write(into.join("a.txt"), "mine").unwrap();
    let get = format!("scp --no-clobber DEST:{0}/*.txt DEST:{0}/c.log {1}", there.display(), into.display());
    let said = sshd.cli(&get).run().succeeded();
    assert_eq!(said["transfer"]["files"], 2);
    assert_eq!(reason(&said, "a.txt"), "exists");
    assert_eq!(fs::read(into.join("a.txt")).unwrap(), b"mine");
    assert!(into.join("b.txt").exists() && into.join("c.log").exists() && !into.join(".hidden.txt").exists());
    sshd.cli(&format!("scp DEST:{}/*.none {}", there.display(), into.display())).run().failed(66, "source_not_found");

    // One of several that is not there does not keep the others back.
    let get = format!("scp DEST:{0}/a.txt DEST:{0}/none {1}", there.display(), into.display());
    let run = sshd.cli(&get).run();
    assert!(reason(&run.failed(1, "partial_transfer"), "none").starts_with("source_not_found"), "{run}");
    assert_eq!(fs::read(into.join("a.txt")).unwrap(), b"a.txt");

    let put = format!("scp --no-clobber {0}/a.txt {0}/b.txt DEST:{1}/", into.display(), there.display());
    let said = sshd.cli(&put).run().succeeded();
    assert_eq!((said["transfer"]["files"].clone(), reason(&said, "b.txt")), (0.into(), "exists".into()));
}

#[test]
fn a_download_continues_what_is_proven_and_nothing_else() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let content: Vec<u8> = (0..4_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(there.join("big"), &content).unwrap();
    let line = format!("scp --resume --verify DEST:{} {}", there.join("big").display(), here.join("big").display());
    let slow = sshd.proxy().cut(crate::rig::Way::Down, 2_000_000, crate::rig::Mode::Rst).start();
    sshd.cli(&line).via(&slow).run().failed(74, "connection_lost");
    let parts = || {
        fs::read_dir(here.path())
            .unwrap()
            .filter(|e| e.as_ref().unwrap().file_name().as_bytes().ends_with(b".ssh-cli-part"))
            .count()
    };
    assert_eq!((parts(), here.join("big").exists()), (1, false));
    let counted = sshd.proxy().start();
    let said = sshd.cli(&line).via(&counted).run().succeeded();
    assert_eq!(said["transfer"]["entries"][0]["action"], "resumed");
    assert!(counted.bytes(crate::rig::Way::Down) < 3_500_000, "{}", counted.bytes(crate::rig::Way::Down));
    assert_eq!((fs::read(here.join("big")).unwrap() == content, parts()), (true, 0));

    // A part that is not the beginning is not believed.
    fs::remove_file(here.join("big")).unwrap();
    let slow = sshd.proxy().cut(crate::rig::Way::Down, 2_000_000, crate::rig::Mode::Rst).start();
    sshd.cli(&line).via(&slow).run().failed(74, "connection_lost");
    let part = fs::read_dir(here.path())
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.as_os_str().as_bytes().ends_with(b"-part"))
        .unwrap();
    let mut spoilt = fs::read(&part).unwrap();
    spoilt[1000] ^= 1;
    fs::write(&part, spoilt).unwrap();
    let said = sshd.cli(&line).run().succeeded();
    assert_eq!(said["transfer"]["entries"][0]["action"], "copied");
    assert!(fs::read(here.join("big")).unwrap() == content);
}
