//! From there to here: what a source may be, what it stands for, and where it goes.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::rig::{Envelope, Scratch, Sshd, Way, needs, random_hex};

/// A host with files on it, and a directory for them.
struct Place {
    sshd: Sshd,
    there: PathBuf,
    here: Scratch,
}

impl Place {
    fn new() -> Self {
        Self::on(Sshd::start())
    }

    fn on(sshd: Sshd) -> Self {
        let there = sshd.shared_dir();
        Self { sshd, there, here: Scratch::new() }
    }

    fn with(self, names: &[&str]) -> Self {
        for name in names {
            let path = self.there.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        self
    }

    /// A line in which `THERE` is the directory on the host, and `HERE` is ours.
    fn cli(&self, line: &str) -> crate::rig::Cli {
        let line = line.replace("THERE", &format!("DEST:{}", self.there.display()));
        self.sshd.cli(&line.replace("HERE", self.here.path().to_str().unwrap()))
    }

    /// What a pattern brings into a new directory.
    fn fits(&self, pattern: &str) -> Vec<String> {
        let into = self.here.dir(&random_hex(4));
        let run = self.cli(&format!("scp -r 'THERE/{pattern}' {}/", into.display())).run();
        run.succeeded();
        names(&into)
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn reason(said: &Envelope, path: &str) -> String {
    let entries = said["transfer"]["entries"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["path"] == path).unwrap_or_else(|| panic!("no {path}: {entries:?}"));
    entry["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_pattern_stands_for_what_fits_it_and_a_name_that_is_there_for_itself() {
    let place = Place::new().with(&[
        "a1",
        "a2",
        "b1",
        ".a3",
        "x*y",
        "xzy",
        "[ab]1",
        "q?",
        "qq",
        "one/same",
        "two/other",
        "three/same-not",
    ]);
    for (pattern, found) in [
        ("a*", &["a1", "a2"][..]),
        ("?1", &["a1", "b1"]),
        ("[!b]1", &["a1"]),
        ("[a-b][12]", &["a1", "a2", "b1"]),
        (".a*", &[".a3"]),
        // Literal names.
        ("x*y", &["x*y"]),
        ("[ab]1", &["[ab]1"]),
        ("q?", &["q?"]),
        (r"x\*y", &["x*y"]),
        (r"\q\q", &["qq"]),
        // In the middle of a path, and with something that is not in every directory after it.
        ("*/same", &["same"]),
        ("t*/*", &["other", "same-not"]),
        ("t[hw]?*", &["three", "two"]),
    ] {
        assert_eq!(place.fits(pattern), found, "{pattern}");
    }
    for nothing in ["*.none", "none/*", "a1/*", "*/none", "[z]*", r"\z"] {
        let run = place.cli(&format!("scp 'THERE/{nothing}' HERE/")).run();
        run.failed(66, "source_not_found");
    }
}

#[test]
fn paths_begin_at_home_whatever_way_it_is_said() {
    let place = Place::new();
    let (account, name) = (&place.sshd.account, format!("ssh-cli-test-{}", random_hex(8)));
    let dir = account.home.join(&name);
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("f"), "home").unwrap();
    for path in [dir.as_path(), &dir.join("f")] {
        account.owns(path);
    }
    let user = &account.name;
    let ways = [format!("{name}/f"), format!("~/{name}/f"), format!("~{user}/{name}/f"), format!("~/{name}/?")];
    let told: Vec<_> = ways
        .iter()
        .enumerate()
        .map(|(n, way)| {
            let run = place.cli(&format!("scp 'DEST:{way}' HERE/got{n}")).run();
            (run.code(), fs::read(place.here.join(&format!("got{n}"))).unwrap_or_default(), run.to_string())
        })
        .collect();
    let home = place.cli("scp DEST: HERE/home").run();
    let nobody = place.cli("scp 'DEST:~no-such-account/f' HERE/x").run();
    fs::remove_dir_all(&dir).unwrap();
    for (code, content, run) in told {
        assert_eq!((code, &content[..]), (0, &b"home"[..]), "{run}");
    }
    home.failed(66, "source_is_directory");
    nobody.failed(66, "source_not_found");
}

#[test]
fn a_file_is_as_long_as_it_is_whatever_is_said_of_its_size() {
    let place = Place::new().with(&["empty"]);
    fs::write(place.there.join("empty"), "").unwrap();
    let long: Vec<u8> = (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(place.there.join("long"), &long).unwrap();
    let run = place.cli("scp THERE/empty THERE/long DEST:/proc/version HERE/").run();
    let said = run.succeeded();
    assert_eq!((&said["transfer"]["files"], &said["transfer"]["protocol"]), (&3.into(), &"sftp".into()), "{run}");
    assert_eq!(fs::read(place.here.join("empty")).unwrap(), b"");
    assert!(fs::read(place.here.join("long")).unwrap() == long);
    assert_eq!(fs::read(place.here.join("version")).unwrap(), fs::read("/proc/version").unwrap());
    let version = fs::read("/proc/version").unwrap();
    place.cli("scp --raw DEST:/proc/version -").run().raw(&version, 0);
}

#[test]
fn the_target_is_a_name_or_a_directory_and_repeating_gives_the_same() {
    let place = Place::new().with(&["tree/a", "tree/sub/b", "file"]);
    let root = |line: &str| place.cli(line).run().succeeded()["transfer"]["root"].as_str().unwrap().to_owned();
    let at = |name: &str| place.here.join(name);
    for _ in 0..2 {
        assert_eq!(root("scp -r THERE/tree HERE/new"), at("new").to_str().unwrap());
        assert_eq!(names(&at("new")), ["a", "sub"]);
    }
    place.here.dir("in");
    assert_eq!(root("scp -r THERE/tree HERE/in/"), at("in/tree").to_str().unwrap());
    assert_eq!(root("scp THERE/file HERE/in"), at("in/file").to_str().unwrap());
    assert_eq!(root("scp -r THERE/tree/. HERE/in"), at("in").to_str().unwrap());
    assert_eq!(names(&at("in")), ["a", "file", "sub", "tree"]);
    assert_eq!(root("scp --parents THERE/file HERE/far/away/named"), at("far/away/named").to_str().unwrap());
    assert_eq!(root("scp --parents THERE/file THERE/tree/a HERE/both/of"), at("both/of").to_str().unwrap());
    assert_eq!(names(&at("both/of")), ["a", "file"]);
    for (line, exit, code) in [
        ("scp THERE/file HERE/none/x", 73, "parent_missing"),
        ("scp THERE/file HERE/none/", 73, "parent_missing"),
        ("scp THERE/file THERE/tree/a HERE/none", 73, "parent_missing"),
        ("scp -r THERE/tree HERE/in/file", 73, "not_a_directory"),
        ("scp THERE/tree HERE/x", 66, "source_is_directory"),
    ] {
        place.cli(line).run().failed(exit, code);
    }
    assert!(!at("x").exists() && !at("none").exists());
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_comes() {
    if needs::no_root() {
        return;
    }
    let place = Place::new().with(&["tree/open", "tree/secret", "tree/closed/in", "tree/.x.01234567.ssh-cli-part"]);
    for name in ["tree/secret", "tree/closed"] {
        fs::set_permissions(place.there.join(name), Permissions::from_mode(0o600)).unwrap();
    }
    symlink("closed/in", place.there.join("tree/behind")).unwrap();
    let run = place.cli("scp -r THERE/tree HERE/tree").run();
    let said = run.failed(1, "partial_transfer");
    assert_eq!((&said["transfer"]["files"], &said["transfer"]["skipped"]), (&1.into(), &4.into()), "{run}");
    for name in ["secret", "closed", "behind"] {
        assert!(reason(&said, name).starts_with("remote_permission"), "{name}: {run}");
    }
    assert_eq!(reason(&said, ".x.01234567.ssh-cli-part"), "partial_file");
    assert_eq!(names(&place.here.join("tree")), ["open"], "{run}");
}

#[test]
fn modes_and_files_in_place() {
    let place = Place::new().with(&["f", "tree/f"]);
    fs::set_permissions(place.there.join("f"), Permissions::from_mode(0o755)).unwrap();
    let at = |name: &str| place.here.join(name);
    place.cli("scp --mode 0604 THERE/f HERE/given").run().succeeded();
    place.cli("scp --preserve THERE/f HERE/same").run().succeeded();
    assert_eq!((mode(&at("given")), mode(&at("same"))), (0o604, 0o755));
    fs::write(at("old"), "longer than the new one").unwrap();
    fs::hard_link(at("old"), at("other name")).unwrap();
    place.cli("scp --in-place THERE/f HERE/old").run().succeeded();
    assert_eq!(fs::read(at("other name")).unwrap(), b"f", "it is the same file still");
    place.cli("scp THERE/f HERE/old").run().succeeded();
    assert_ne!(fs::metadata(at("old")).unwrap().ino(), fs::metadata(at("other name")).unwrap().ino());
}

#[test]
fn both_sides_have_the_same_hash_with_a_shell_there_and_without() {
    for forced in [None, Some("ForceCommand internal-sftp"), Some("MaxSessions 1")] {
        let place = Place::on(match forced {
            Some(line) => Sshd::build().line(line).start(),
            None => Sshd::start(),
        });
        for n in 0..30 {
            fs::write(place.there.join(format!("f{n}")), format!("content {n}")).unwrap();
        }
        let run = place.cli("scp -r --verify THERE/ HERE/all").limit(Duration::from_secs(120)).run();
        let said = run.succeeded();
        assert_eq!(said["transfer"]["files"], 30, "{forced:?}: {run}");
        let run = place.cli("scp --verify THERE/f7 HERE/one").run();
        let hash = run.succeeded()["transfer"]["entries"][0]["sha256"].as_str().unwrap_or_default().to_owned();
        let said = crate::rig::tool("sha256sum", &[place.here.join("one").to_str().unwrap()]);
        assert!(hash.len() == 64 && said.starts_with(&hash), "{forced:?}: {run}");
    }
}

#[test]
fn standard_output_takes_one_file() {
    let place = Place::new().with(&["a", "b", "dir/x"]);
    place.cli("scp --raw THERE/a -").run().raw("a", 0);
    place.cli("scp --raw 'THERE/[b]' -").run().raw("b", 0);
    for (line, exit) in [("'THERE/?'", 64), ("THERE/dir", 66), ("THERE/none", 66)] {
        let run = place.cli(&format!("scp --raw {line} -")).run();
        assert!(run.code() == exit && run.stdout.is_empty() && !run.stderr.is_empty(), "{run}");
    }
}

#[test]
fn names_that_are_no_text_are_sources_too() {
    let place = Place::new();
    let name = OsStr::from_bytes(b"\xff\nx");
    fs::write(place.there.join(name), "odd").unwrap();
    place.cli("scp 'THERE/?*x' HERE/").run().succeeded();
    assert_eq!(fs::read(place.here.join("").join(name)).unwrap(), b"odd");
}

#[test]
fn many_sources_are_not_asked_for_one_by_one() {
    let place = Place::new();
    for n in 0..400 {
        fs::write(place.there.join(format!("f{n}")), "x").unwrap();
    }
    let delay = Duration::from_millis(25);
    let far = place.sshd.proxy().delay(Way::Up, delay).delay(Way::Down, delay).start();
    // A question for each, waited for, would take twenty seconds.
    let run = place.cli("scp 'THERE/f*' HERE/").via(&far).limit(Duration::from_secs(60)).run();
    assert_eq!(run.succeeded()["transfer"]["files"], 400, "{run}");
    assert!(run.elapsed < Duration::from_secs(10), "{run}");
}

#[test]
fn directories_and_links_are_not_asked_for_one_by_one() {
    let place = Place::new();
    for n in 0..100 {
        let dir = place.there.join(format!("tree/d{n}"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("f"), "x").unwrap();
        for link in 0..3 {
            symlink("f", dir.join(format!("l{link}"))).unwrap();
        }
    }
    let delay = Duration::from_millis(25);
    let far = place.sshd.proxy().delay(Way::Up, delay).delay(Way::Down, delay).start();
    // Each question waited for by itself would take half a minute.
    for (options, files) in [("", 400), ("--symlinks keep", 100)] {
        let run = place.cli(&format!("scp -r {options} THERE/tree HERE/{files}")).via(&far).run();
        assert_eq!(run.succeeded()["transfer"]["files"], files, "{run}");
        eprintln!("{files} files: {:?}", run.elapsed);
        assert!(run.elapsed < Duration::from_secs(25), "{run}");
    }
}
