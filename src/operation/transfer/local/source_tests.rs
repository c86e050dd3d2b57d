//! The walk, over trees that somebody built with care.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::Kind;
use super::source::{Found, Walk};
use crate::errors::Fault;
use crate::model::copy::Symlinks;

/// Each step as one line.
fn steps(root: &Path, symlinks: Symlinks) -> Vec<String> {
    let text = |below: &[u8]| String::from_utf8_lossy(below).into_owned();
    let walk = Walk::new(root, true, symlinks).unwrap();
    walk.map(|found| match found {
        Found::Item(item) => match &item.kind {
            Kind::File => format!("file {}", text(&item.below)),
            Kind::Directory => format!("enter {}", text(&item.below)),
            Kind::Symlink { text: to } => format!("link {} {}", text(&item.below), text(to)),
        },
        Found::Leave(item) => format!("leave {}", text(&item.below)),
        Found::Skipped { below, reason } => format!("skip {} {reason}", text(&below)),
        Found::Failed { below, fault } => format!("fail {} {}", text(&below), fault.row().code),
    })
    .collect()
}

/// Files, a directory, and links of all kinds.
fn tree() -> TempDir {
    let dir = TempDir::new().unwrap();
    let root = dir.path().join("tree");
    fs::create_dir_all(root.join("sub/empty")).unwrap();
    fs::write(root.join("b"), "b").unwrap();
    fs::write(root.join("sub/a"), "a").unwrap();
    fs::write(dir.path().join("outside"), "o").unwrap();
    symlink("../outside", root.join("link")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("..", root.join("sub/loop")).unwrap();
    symlink("myself", root.join("myself")).unwrap();
    dir
}

#[test]
fn it_goes_depth_first_in_the_order_of_names() {
    let dir = tree();
    assert_eq!(
        steps(&dir.path().join("tree"), Symlinks::Follow),
        [
            "enter ",
            "file b",
            "skip dangling dangling_link",
            "file link",
            "skip myself link_loop",
            "enter sub",
            "file sub/a",
            "enter sub/empty",
            "leave sub/empty",
            "skip sub/loop link_loop",
            "leave sub",
            "leave ",
        ]
    );
}

#[test]
fn links_are_kept_or_skipped_as_they_are() {
    let dir = tree();
    let kept = steps(&dir.path().join("tree"), Symlinks::Keep);
    for link in ["link dangling nowhere", "link link ../outside", "link myself myself", "link sub/loop .."] {
        assert!(kept.contains(&link.to_owned()), "{kept:?}");
    }
    let skipped = steps(&dir.path().join("tree"), Symlinks::Skip);
    assert_eq!(skipped.iter().filter(|step| step.ends_with(" symlink")).count(), 4, "{skipped:?}");
}

#[test]
fn what_is_no_file_is_skipped_and_not_opened() {
    let dir = TempDir::new().unwrap();
    assert!(Command::new("mkfifo").arg(dir.path().join("fifo")).status().unwrap().success());
    let _socket = UnixListener::bind(dir.path().join("socket")).unwrap();
    fs::write(dir.path().join(".x.0123abcd.ssh-cli-part"), "half").unwrap();
    symlink("/dev/null", dir.path().join("device")).unwrap();
    assert_eq!(
        steps(dir.path(), Symlinks::Follow),
        [
            "enter ",
            "skip .x.0123abcd.ssh-cli-part partial_file",
            "skip device device",
            "skip fifo fifo",
            "skip socket socket",
            "leave "
        ]
    );
}

#[test]
fn a_directory_that_cannot_be_read_fails_alone() {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("a")).unwrap();
    fs::write(dir.path().join("b"), "b").unwrap();
    fs::set_permissions(dir.path().join("a"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads it all the same.
    let is_root = rustix::process::geteuid().is_root();
    let expected: &[&str] = if is_root {
        &["enter ", "enter a", "leave a", "file b", "leave "]
    } else {
        &["enter ", "fail a source_not_found", "file b", "leave "]
    };
    assert_eq!(steps(dir.path(), Symlinks::Follow), expected);
    fs::set_permissions(dir.path().join("a"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn the_root_has_to_be_there_and_a_directory_asked_for() {
    let dir = TempDir::new().unwrap();
    let of = |path: &Path, recursive| Walk::new(path, recursive, Symlinks::Follow).map(|_| ()).unwrap_err();
    assert!(matches!(of(&dir.path().join("none"), true), Fault::SourceNotFound { .. }));
    assert!(matches!(of(dir.path(), false), Fault::SourceIsDirectory { .. }));
}

#[test]
fn a_file_that_became_something_else_is_neither_waited_for_nor_followed() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "x").unwrap();
    let mut walk = Walk::new(&file, false, Symlinks::Follow).unwrap();
    let Some(Found::Item(item)) = walk.next() else { panic!("a file") };
    assert_eq!(item.open().unwrap().1.size, 1);
    fs::remove_file(&file).unwrap();
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    assert!(matches!(item.open(), Err(Fault::SourceNotFound { .. })));
    fs::remove_file(&file).unwrap();
    symlink("/etc/passwd", &file).unwrap();
    assert!(matches!(item.open(), Err(Fault::SourceNotFound { .. })));
}
