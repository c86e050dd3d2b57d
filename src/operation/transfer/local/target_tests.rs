//! The tree that a download writes, against trees and names that were made to lead out of it.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use bytes::Bytes;
use tempfile::TempDir;

use super::Leftovers;
use super::target::{Incoming, Settled, Times, Tree, Wanted};
use crate::effect::Effect;
use crate::errors::Fault;
use crate::model::copy::{CopyOptions, ProgressChoice, ProtocolChoice, Symlinks};

const TAG: &str = "0123abcd";

fn options() -> CopyOptions {
    CopyOptions {
        recursive: true,
        preserve: false,
        verify: false,
        resume: false,
        protocol: ProtocolChoice::Auto,
        mode: None,
        parents: false,
        no_clobber: false,
        in_place: false,
        symlinks: Symlinks::Follow,
        progress: ProgressChoice::Auto,
        timeout: None,
        effect: Effect::Read,
        sudo: None,
    }
}

fn wanted(mode: u32) -> Wanted<'static> {
    Wanted { mode, times: None, tag: TAG, resume: false }
}

/// Waits for what does not end at once.
fn driven<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn committed(file: Incoming, size: u64) -> Result<(), Fault> {
    driven(file.commit(size))
}

/// Puts a file there, whole; false where it was kept.
fn put(tree: &mut Tree, below: &str, content: &str) -> Result<bool, Fault> {
    let Some(mut file) = tree.file(below.as_bytes(), &wanted(0o644))? else { return Ok(false) };
    file.write_at(0, &[Bytes::copy_from_slice(content.as_bytes())])?;
    committed(file, content.len() as u64).map(|()| true)
}

/// A target with something outside beside it, that nobody may touch.
struct Yard {
    dir: TempDir,
    root: PathBuf,
    outside: PathBuf,
}

impl Yard {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "OLD").unwrap();
        Self { dir, root, outside }
    }

    fn tree(&self) -> Tree {
        Tree::open(&self.root, &options(), &Leftovers::default())
    }

    fn is_untouched(&self) -> bool {
        names(&self.outside) == ["file"]
            && fs::read(self.outside.join("file")).unwrap() == b"OLD"
            && names(self.dir.path()) == ["outside", "root"]
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn no_link_leads_out() {
    let yard = Yard::new();
    let absolute = yard.outside.join("file");
    symlink("../outside/file", yard.root.join("file")).unwrap();
    symlink(&absolute, yard.root.join("absolute")).unwrap();
    symlink("../outside", yard.root.join("dir")).unwrap();
    symlink(&yard.outside, yard.root.join("absolute-dir")).unwrap();
    symlink("../outside/new", yard.root.join("new")).unwrap();
    symlink("dir/file", yard.root.join("two-steps")).unwrap();
    let mut tree = yard.tree();
    for below in ["file", "absolute", "dir/file", "dir/new", "absolute-dir/new", "new", "two-steps"] {
        let fault = put(&mut tree, below, "EVIL").unwrap_err();
        assert!(matches!(fault, Fault::OutsideTheTarget { .. }), "{below}: {fault}");
    }
    for below in ["dir", "absolute-dir", "dir/more"] {
        let fault = tree.directory(below.as_bytes(), 0o777, None).unwrap_err();
        assert!(matches!(fault, Fault::OutsideTheTarget { .. }), "{below}: {fault}");
    }
    drop(tree);
    assert!(yard.is_untouched());
}

#[test]
fn a_link_that_leads_inside_is_followed_and_stays() {
    let yard = Yard::new();
    fs::create_dir(yard.root.join("sub")).unwrap();
    fs::write(yard.root.join("sub/f"), "old").unwrap();
    symlink("sub/../sub/f", yard.root.join("link")).unwrap();
    symlink(fs::canonicalize(&yard.root).unwrap().join("sub"), yard.root.join("dir")).unwrap();
    let mut tree = yard.tree();
    assert!(put(&mut tree, "link", "one").unwrap());
    assert_eq!(fs::read(yard.root.join("sub/f")).unwrap(), b"one");
    assert!(put(&mut tree, "dir/f", "two").unwrap());
    assert_eq!(fs::read(yard.root.join("sub/f")).unwrap(), b"two");
    assert!(!tree.directory(b"dir", 0o755, None).unwrap());
    assert!(fs::symlink_metadata(yard.root.join("link")).unwrap().is_symlink());
    assert_eq!(names(&yard.root.join("sub")), ["f"]);
}

#[test]
fn no_name_leads_out() {
    let yard = Yard::new();
    let mut tree = yard.tree();
    for below in ["..", "../outside/file", "/etc/x", "a/../../x", ".", "a//b", "a/", "a\0b"] {
        let fault = put(&mut tree, below, "EVIL").unwrap_err();
        assert!(matches!(fault, Fault::ServerViolation { .. }), "{below}: {fault}");
        let fault = tree.directory(below.as_bytes(), 0o777, None).unwrap_err();
        assert!(matches!(fault, Fault::ServerViolation { .. }), "{below}: {fault}");
        assert!(matches!(tree.symlink(below.as_bytes(), b"x", None), Err(Fault::ServerViolation { .. })));
    }
    drop(tree);
    assert!(yard.is_untouched() && names(&yard.root).is_empty());
}

#[test]
fn nothing_is_written_through_a_link_of_the_same_copy() {
    let yard = Yard::new();
    let mut tree = yard.tree();
    tree.symlink(b"way", b"../outside", None).unwrap();
    let fault = put(&mut tree, "way/file", "EVIL").unwrap_err();
    assert!(matches!(fault, Fault::ParentMissing { .. }), "{fault}");
    let mut linked = Vec::new();
    tree.finish(|settled| linked.push(settled));
    assert!(matches!(&linked[..], [Settled::Linked(way)] if way == b"way"), "{linked:?}");
    assert_eq!(fs::read_link(yard.root.join("way")).unwrap(), Path::new("../outside"));
    assert!(yard.is_untouched());
}

#[test]
fn a_replaced_file_keeps_its_mode_and_another_gets_the_source_s() {
    let yard = Yard::new();
    fs::write(yard.root.join("f"), "old").unwrap();
    fs::set_permissions(yard.root.join("f"), fs::Permissions::from_mode(0o604)).unwrap();
    let mut tree = yard.tree();
    assert!(put(&mut tree, "f", "new").unwrap());
    assert_eq!((fs::read(yard.root.join("f")).unwrap(), mode(&yard.root.join("f"))), (b"new".to_vec(), 0o604));
    let file = tree.file(b"setuid", &wanted(0o6700)).unwrap().unwrap();
    committed(file, 0).unwrap();
    assert_eq!(mode(&yard.root.join("setuid")), 0o700, "never setuid");
    let mut exact = Tree::open(&yard.root, &CopyOptions { mode: Some(0o666), ..options() }, &Leftovers::default());
    assert!(put(&mut exact, "f", "new").unwrap());
    assert_eq!(mode(&yard.root.join("f")), 0o666, "whatever the umask is");
}

#[test]
fn only_a_regular_file_is_replaced() {
    let yard = Yard::new();
    assert!(Command::new("mkfifo").arg(yard.root.join("fifo")).status().unwrap().success());
    fs::create_dir(yard.root.join("dir")).unwrap();
    symlink("fifo", yard.root.join("link")).unwrap();
    for in_place in [false, true] {
        let mut tree = Tree::open(&yard.root, &CopyOptions { in_place, ..options() }, &Leftovers::default());
        assert!(matches!(put(&mut tree, "fifo", "x"), Err(Fault::NotRegular { .. })));
        assert!(matches!(put(&mut tree, "link", "x"), Err(Fault::NotRegular { .. })));
        assert!(matches!(put(&mut tree, "dir", "x"), Err(Fault::IsDirectory { .. })));
        assert!(matches!(
            put(&mut Tree::open(Path::new("/dev/null"), &options(), &Leftovers::default()), "", "x"),
            Err(Fault::NotRegular { .. })
        ));
    }
    assert!(fs::metadata(yard.root.join("fifo")).unwrap().file_type().is_fifo());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert_eq!(names(&yard.root), ["dir", "fifo", "link"]);
}

#[test]
fn with_no_clobber_what_is_there_stays() {
    let yard = Yard::new();
    fs::write(yard.root.join("f"), "old").unwrap();
    symlink("nowhere", yard.root.join("link")).unwrap();
    let mut tree = Tree::open(&yard.root, &CopyOptions { no_clobber: true, ..options() }, &Leftovers::default());
    assert!(!put(&mut tree, "f", "new").unwrap() && !put(&mut tree, "link", "new").unwrap());
    // It appears while it is copied.
    let file = tree.file(b"late", &wanted(0o644)).unwrap().unwrap();
    fs::write(yard.root.join("late"), "theirs").unwrap();
    assert!(matches!(committed(file, 0), Err(Fault::TransferRefused { .. })));
    assert_eq!(fs::read(yard.root.join("f")).unwrap(), b"old");
    assert_eq!(fs::read(yard.root.join("late")).unwrap(), b"theirs");
    assert_eq!(names(&yard.root), ["f", "late", "link"]);
}

#[test]
fn what_is_not_whole_is_not_there() {
    let yard = Yard::new();
    fs::write(yard.root.join("f"), "old").unwrap();
    let mut tree = yard.tree();
    let mut file = tree.file(b"f", &wanted(0o644)).unwrap().unwrap();
    file.write_at(0, &[Bytes::from_static(b"half")]).unwrap();
    let part = String::from_utf8(file.part_name().unwrap().to_vec()).unwrap();
    assert_eq!(names(&yard.root), [part, "f".to_owned()]);
    drop(file);
    assert_eq!(names(&yard.root), ["f"]);
    let mut file = tree.file(b"f", &wanted(0o644)).unwrap().unwrap();
    file.write_at(0, &[Bytes::from_static(b"half")]).unwrap();
    assert!(matches!(committed(file, 8), Err(Fault::ServerViolation { .. })), "a short file");
    assert_eq!((names(&yard.root), fs::read(yard.root.join("f")).unwrap()), (vec!["f".to_owned()], b"old".to_vec()));
}

#[test]
fn a_commit_that_is_given_up_leaves_the_old_file_alone() {
    let yard = Yard::new();
    fs::write(yard.root.join("f"), "old").unwrap();
    let mut tree = Tree::open(&yard.root, &options(), &Leftovers::default());
    let mut file = tree.file(b"f", &wanted(0o644)).unwrap().unwrap();
    file.write_at(0, &[Bytes::from_static(b"new")]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        // The one thread that could sync it is held up.
        let (release, held) = std::sync::mpsc::channel::<()>();
        let holding = tokio::task::spawn_blocking(move || held.recv());
        let mut commit = Box::pin(file.commit(3));
        let begun = std::future::poll_fn(|context| std::task::Poll::Ready(commit.as_mut().poll(context)));
        assert!(begun.await.is_pending());
        drop((commit, release));
        assert!(holding.await.unwrap().is_err());
    });
    assert_eq!((names(&yard.root), fs::read(yard.root.join("f")).unwrap()), (vec!["f".to_owned()], b"old".to_vec()));
}

#[test]
fn links_that_wait_for_the_end_are_bounded() {
    let yard = Yard::new();
    let mut tree = Tree::open(&yard.root, &options(), &Leftovers::default());
    assert!(matches!(tree.symlink(b"long", &[b'x'; 5000], None), Err(Fault::TransferRefused { .. })));
    let noted =
        (0..20_000).take_while(|n| tree.symlink(format!("l{n}").as_bytes(), &[b'x'; 4000], None).is_ok()).count();
    assert!((5_000..9_000).contains(&noted), "{noted}");
}

#[test]
fn a_directory_that_may_not_be_written_is_filled_and_closed_in_the_end() {
    let yard = Yard::new();
    let times = Some(Times { mtime: 1_000_000_000, atime: 1_100_000_000 });
    let mut tree = Tree::open(&yard.root, &CopyOptions { preserve: true, ..options() }, &Leftovers::default());
    tree.directory(b"d", 0o500, times).unwrap();
    tree.directory(b"d/e", 0o555, times).unwrap();
    let file = tree.file(b"d/e/f", &Wanted { times, ..wanted(0o440) }).unwrap().unwrap();
    committed(file, 0).unwrap();
    tree.symlink(b"d/link", b"e/f", None).unwrap();
    assert_eq!(mode(&yard.root.join("d")), 0o700, "while it is filled");
    tree.finish(|settled| assert!(matches!(settled, Settled::Linked(_)), "{settled:?}"));
    for (path, bits) in [("d", 0o500), ("d/e", 0o555), ("d/e/f", 0o440)] {
        let meta = fs::metadata(yard.root.join(path)).unwrap();
        assert_eq!((meta.mode() & 0o7777, meta.mtime()), (bits, 1_000_000_000), "{path}");
    }
    assert_eq!(fs::read_link(yard.root.join("d/link")).unwrap(), Path::new("e/f"));
    // Once more into what is there now, and without a word at the end.
    let mut tree = yard.tree();
    assert!(!tree.directory(b"d", 0o500, None).unwrap());
    assert!(put(&mut tree, "d/g", "g").unwrap());
    drop(tree);
    assert_eq!(mode(&yard.root.join("d")), 0o500);
}

#[test]
fn the_target_itself_is_made_and_a_link_to_it_followed() {
    let yard = Yard::new();
    let target = yard.root.join("new");
    let mut tree = Tree::open(&target, &options(), &Leftovers::default());
    assert!(put(&mut tree, "", "file").unwrap());
    assert_eq!(fs::read(&target).unwrap(), b"file");
    symlink("new", yard.root.join("link")).unwrap();
    assert!(put(&mut Tree::open(&yard.root.join("link"), &options(), &Leftovers::default()), "", "linked").unwrap());
    assert_eq!(fs::read(&target).unwrap(), b"linked");
    assert!(fs::symlink_metadata(yard.root.join("link")).unwrap().is_symlink());
    let deep = yard.root.join("a/b/c");
    assert!(matches!(
        put(&mut Tree::open(&deep, &options(), &Leftovers::default()), "", "x"),
        Err(Fault::ParentMissing { .. })
    ));
    assert!(
        put(&mut Tree::open(&deep, &CopyOptions { parents: true, ..options() }, &Leftovers::default()), "", "x")
            .unwrap()
    );
    assert_eq!(fs::read(deep).unwrap(), b"x");
}

#[test]
fn written_in_place_it_is_the_same_file() {
    let yard = Yard::new();
    let path = yard.root.join("f");
    fs::write(&path, "longer than before").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let before = fs::metadata(&path).unwrap().ino();
    let mut tree = Tree::open(&yard.root, &CopyOptions { in_place: true, ..options() }, &Leftovers::default());
    assert!(put(&mut tree, "f", "new").unwrap());
    assert_eq!((fs::read(&path).unwrap(), fs::metadata(&path).unwrap().ino()), (b"new".to_vec(), before));
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_part_that_is_kept_can_be_opened_again_and_gets_its_mode_in_the_end() {
    let yard = Yard::new();
    let left = Leftovers::default();
    let mut tree = Tree::open(&yard.root, &options(), &left);
    let resumed = || Wanted { resume: true, ..wanted(0o444) };
    let mut file = tree.file(b"f", &resumed()).unwrap().unwrap();
    file.write_at(0, &[Bytes::from_static(b"be")]).unwrap();
    let part = yard.root.join(std::ffi::OsStr::new(std::str::from_utf8(file.part_name().unwrap()).unwrap()));
    assert_eq!(mode(&part) & 0o600, 0o600);
    drop(file);
    assert_eq!(left.take(), [(part.clone(), crate::operation::transfer::part::RESUMABLE)]);
    let mut file = tree.file(b"f", &resumed()).unwrap().unwrap();
    assert_eq!(file.begins_at(), 2);
    file.write_at(2, &[Bytes::from_static(b"gin")]).unwrap();
    committed(file, 5).unwrap();
    assert_eq!((fs::read(yard.root.join("f")).unwrap(), mode(&yard.root.join("f"))), (b"begin".to_vec(), 0o444));
    assert!(left.take().is_empty() && !part.exists());
}

#[test]
fn what_could_not_be_removed_is_told() {
    let yard = Yard::new();
    let left = Leftovers::default();
    let mut tree = Tree::open(&yard.root, &options(), &left);
    let file = tree.file(b"f", &wanted(0o644)).unwrap().unwrap();
    // Something that no `unlink` removes has taken its place.
    let part = yard.root.join(std::ffi::OsStr::new(std::str::from_utf8(file.part_name().unwrap()).unwrap()));
    fs::remove_file(&part).unwrap();
    fs::create_dir(&part).unwrap();
    drop(file);
    assert_eq!(left.take(), [(part, crate::operation::transfer::part::NOT_REMOVED)]);
    drop(tree.file(b"g", &wanted(0o644)).unwrap().unwrap());
    assert!(left.take().is_empty());
}

#[test]
fn of_two_directories_that_merge_the_last_one_has_its_mode_and_times() {
    let yard = Yard::new();
    let times = |mtime| Some(Times { mtime, atime: 5 });
    let mut tree = Tree::open(&yard.root, &CopyOptions { preserve: true, ..options() }, &Leftovers::default());
    tree.directory(b"d", 0o500, times(1000)).unwrap();
    put(&mut tree, "d/one", "1").unwrap();
    tree.directory(b"d", 0o750, times(2000)).unwrap();
    put(&mut tree, "d/two", "2").unwrap();
    tree.finish(|settled| panic!("{settled:?}"));
    let merged = fs::metadata(yard.root.join("d")).unwrap();
    assert_eq!((merged.mtime(), merged.mode() & 0o777), (2000, 0o750));
    // Nothing was asked for: the one that was made has the mode that it was made with.
    let mut tree = yard.tree();
    tree.directory(b"e", 0o500, None).unwrap();
    tree.directory(b"e", 0o777, None).unwrap();
    tree.finish(|settled| panic!("{settled:?}"));
    assert_eq!(mode(&yard.root.join("e")), 0o500);
}

#[test]
fn a_link_has_times_of_its_own() {
    let yard = Yard::new();
    let mut tree = Tree::open(&yard.root, &CopyOptions { preserve: true, ..options() }, &Leftovers::default());
    put(&mut tree, "file", "x").unwrap();
    symlink("old", yard.root.join("there")).unwrap();
    for (name, mtime) in [(&b"new"[..], 1000), (b"there", 2000)] {
        tree.symlink(name, b"file", Some(Times { mtime, atime: 5 })).unwrap();
    }
    tree.finish(|settled| assert!(matches!(settled, Settled::Linked(_)), "{settled:?}"));
    let of = |name: &str| fs::symlink_metadata(yard.root.join(name)).unwrap().mtime();
    assert_eq!((of("new"), of("there")), (1000, 2000));
    assert!(of("file") > 1_000_000_000, "what it leads to is left alone");
}
