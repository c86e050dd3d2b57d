//! Copies where there is no SFTP: the legacy protocol.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use crate::rig::{Cli, Dropbear, Mode, Scratch, Sshd, Stdin, Way, tool, wait};

/// An sshd whose accounts have a shell and no SFTP.
fn without_sftp() -> Sshd {
    let only =
        "ForceCommand case $SSH_ORIGINAL_COMMAND in *sftp*|'') exit 1;; *) eval \"$SSH_ORIGINAL_COMMAND\";; esac";
    Sshd::build().line(only).start()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// A tree and a file, there and back.
fn round_trip(cli: impl Fn(&str) -> Cli, there: &Path) {
    let here = Scratch::new();
    let tree = here.dir("tree");
    fs::create_dir_all(tree.join("sub/empty")).unwrap();
    fs::write(tree.join("sub/a b'c"), vec![7; 300_000]).unwrap();
    fs::write(tree.join("none"), "").unwrap();
    fs::write(tree.join("-dash"), "d").unwrap();
    symlink("none", tree.join("link")).unwrap();
    tool("chmod", &["500", tree.join("sub/empty").to_str().unwrap()]);
    tool("touch", &["-d", "@1000000000", tree.join("none").to_str().unwrap()]);
    let up = format!("scp -r --preserve {} DEST:{}", tree.display(), there.join("copy").display());
    for _ in 0..2 {
        let said = cli(&up).run().succeeded();
        assert_eq!((&said["transfer"]["protocol"], &said["transfer"]["files"]), (&"scp".into(), &4.into()));
        let same = there.join("copy");
        tool("diff", &["-r", tree.to_str().unwrap(), same.to_str().unwrap()]);
        assert_eq!(
            (mode(&same.join("sub/empty")), fs::metadata(same.join("none")).unwrap().mtime()),
            (0o500, 1_000_000_000)
        );
    }
    let down = format!("scp -r --preserve DEST:{} {}", there.join("copy").display(), here.join("back").display());
    for _ in 0..2 {
        let said = cli(&down).run().succeeded();
        assert_eq!(said["transfer"]["protocol"], "scp");
        tool("diff", &["-r", tree.to_str().unwrap(), here.join("back").to_str().unwrap()]);
        assert_eq!(mode(&here.join("back/sub/empty")), 0o500);
    }
    let one = cli(&format!(
        "scp --verify DEST:{} {}",
        there.join("copy/sub/a b'c").display().to_string().replace(['\'', ' '], "?"),
        here.join("one/").display()
    ));
    // A pattern goes into a directory that is there.
    one.run().failed(73, "parent_missing");
    let raw = cli(&format!("scp --raw DEST:{} -", there.join("copy/-dash").display())).run();
    raw.raw("d", 0);
    let put = cli(&format!("scp --verify - DEST:{}", there.join("stdin").display()))
        .stdin(Stdin::Bytes(b"from here".to_vec()));
    let said = put.run().succeeded();
    assert!(said["transfer"]["entries"][0]["sha256"].is_string());
    assert_eq!(fs::read(there.join("stdin")).unwrap(), b"from here");
    let strays = tool("find", &[there.to_str().unwrap(), "-name", "*ssh-cli-part*"]);
    assert_eq!(strays, "");
}

#[test]
fn a_tree_goes_both_ways_where_there_is_no_sftp() {
    let sshd = without_sftp();
    round_trip(|line| sshd.cli(line), &sshd.shared_dir());
}

#[test]
fn dropbear_without_an_sftp_server_takes_copies() {
    let Some(dropbear) = Dropbear::without_sftp("ed25519") else { return };
    let scratch = Scratch::new();
    tool("chmod", &["777", scratch.path().to_str().unwrap()]);
    round_trip(|line| dropbear.cli(line), scratch.path());
}

#[test]
fn dropbear_with_an_sftp_server_is_spoken_with_in_sftp() {
    let Some(dropbear) = Dropbear::start("ed25519") else { return };
    let scratch = Scratch::new();
    tool("chmod", &["777", scratch.path().to_str().unwrap()]);
    let file = scratch.file("f", vec![3; 5 << 20]);
    let to = scratch.join("g");
    let said = dropbear.cli(&format!("scp --verify {} DEST:{}", file.display(), to.display())).run().succeeded();
    assert_eq!(said["transfer"]["protocol"], "sftp");
    assert_eq!(fs::read(&to).unwrap(), fs::read(&file).unwrap());
}

#[test]
fn a_replaced_file_keeps_its_mode_and_only_regular_files_are_replaced() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let source = here.file("new", "new");
    fs::write(there.join("old"), "old").unwrap();
    sshd.account.owns(&there.join("old"));
    tool("chmod", &["604", there.join("old").to_str().unwrap()]);
    symlink("old", there.join("link")).unwrap();
    tool("mkfifo", &[there.join("fifo").to_str().unwrap()]);
    let put = |options: &str, to: &str| {
        sshd.cli(&format!("scp --protocol scp {options} {} DEST:{}", source.display(), there.join(to).display())).run()
    };
    put("", "link").succeeded();
    assert_eq!((fs::read(there.join("old")).unwrap(), mode(&there.join("old"))), (b"new".to_vec(), 0o604));
    assert!(there.join("link").is_symlink());
    put("", "fifo").failed(73, "not_regular");
    put("", "none/x").failed(73, "parent_missing");
    put("--parents", "none/x").succeeded();
    put("--in-place", "old").succeeded();
    let said = put("--no-clobber", "old").succeeded();
    assert_eq!(said["transfer"]["entries"][0]["reason"], "exists");
    assert_eq!(tool("find", &[there.to_str().unwrap(), "-name", "*ssh-cli-part*"]), "");
}

#[test]
fn a_cut_leaves_the_live_file() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let source = here.file("conf", vec![b'N'; 400_000]);
    fs::write(there.join("conf"), "OLD").unwrap();
    sshd.account.owns(&there.join("conf"));
    let line = format!("scp --protocol scp {} DEST:{}", source.display(), there.join("conf").display());
    for after in [100_000, 250_000, 390_000] {
        let proxy = sshd.proxy().cut(Way::Up, after, Mode::Rst).start();
        sshd.cli(&line).via(&proxy).run().failed(74, "connection_lost");
        assert_eq!(fs::read(there.join("conf")).unwrap(), b"OLD");
    }
    sshd.cli(&line).run().succeeded();
    assert_eq!(fs::read(there.join("conf")).unwrap().len(), 400_000);
}

#[test]
fn a_host_without_either_is_told_as_that() {
    let sshd = Sshd::build().line("ForceCommand /bin/false").start();
    let here = Scratch::new();
    let file = here.file("f", "x");
    sshd.cli(&format!("scp {} DEST:/tmp/x", file.display())).run().failed(69, "no_transfer_protocol");
    sshd.cli(&format!("scp DEST:/tmp/x {}", here.join("x").display())).run().failed(69, "no_transfer_protocol");
    assert!(wait::eventually(std::time::Duration::from_secs(1), || !here.join("x").exists()));
}
