//! Servers that lie: nothing is written outside the target, nothing short is called whole, and the memory stays bounded.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::rig::{Scratch, Sshd, needs};

/// An SFTP server that answers as its first argument says. It knows one directory, `d`, and one file, `f`.
const LIAR: &str = r"
import os, struct, sys
how = sys.argv[1]
inp, out = sys.stdin.buffer, sys.stdout.buffer
def s(b): return struct.pack('>I', len(b)) + b
def send(b): out.write(struct.pack('>I', len(b)) + b); out.flush()
def attrs(mode, size=3): return struct.pack('>IQI', 5, size, mode)
DIR, FILE = 0o40755, 0o100644
def size():
    return {'endless_file': 1 << 62, 'short': 1000}.get(how, 3)
def names(i, listed):
    send(b'\x68' + struct.pack('>II', i, len(listed)) + b''.join(s(n) + s(n) + attrs(m, size()) for n, m in listed))
def status(i, code): send(b'\x65' + struct.pack('>II', i, code) + s(b'said') + s(b''))
round = 0
while True:
    head = inp.read(4)
    if len(head) < 4: break
    body = inp.read(struct.unpack('>I', head)[0])
    kind = body[0]
    if kind == 1:
        send(b'\x02' + struct.pack('>I', 3)); continue
    i = struct.unpack('>I', body[1:5])[0]
    n = struct.unpack('>I', body[5:9])[0]
    name = body[9:9 + n]
    if how == 'wrong_id': i += 7
    if kind == 16: names(i, [(b'/home/x' if name == b'.' else name, DIR)])
    elif kind in (7, 17): send(b'\x69' + struct.pack('>I', i) + (attrs(DIR) if name.endswith(b'd') else attrs(FILE, size())))
    elif kind == 8: send(b'\x69' + struct.pack('>I', i) + attrs(FILE, size()))
    elif kind in (3, 11): round = 0; send(b'\x66' + struct.pack('>I', i) + s(b'h'))
    elif kind == 12:
        round += 1
        if how == 'endless_directory': names(i, [(b'../e%d-%d' % (round, k), FILE) for k in range(100)])
        elif how == 'empty_answers': names(i, [])
        elif round > 1: status(i, 1)
        elif how == 'names': names(i, [(b'../up', FILE), (b'/abs', FILE), (b'a/b', FILE), (b'', FILE), (b'..', DIR), (b'nul\0x', FILE), (b'fine', FILE)])
        elif how == 'swap': names(i, [(b'link', FILE), (b'out', DIR), (b'fine', FILE)])
        else: names(i, [(b'fine', FILE)])
    elif kind == 5:
        at, want = struct.unpack('>QI', body[9 + n:9 + n + 12])
        if how == 'too_much': send(b'\x67' + struct.pack('>I', i) + s(b'x' * (want + 1)))
        elif how == 'endless_file': send(b'\x67' + struct.pack('>I', i) + s(b'x' * want))
        elif how == 'garbage': out.write(b'\xff' * 64); out.flush()
        elif at >= 3: status(i, 1)
        else: send(b'\x67' + struct.pack('>I', i) + s(b'abc'[at:at + want]))
    else: status(i, 0)
";

struct Liar {
    sshd: Sshd,
    here: Scratch,
}

impl Liar {
    fn that(how: &str) -> Option<Self> {
        if needs::no_program("python3") {
            return None;
        }
        let builder = Sshd::build();
        let script = builder.scratch().file("liar.py", LIAR);
        fs::set_permissions(&script, Permissions::from_mode(0o644)).unwrap();
        let sshd = builder.line(format!("ForceCommand python3 {} {how}", script.display())).start();
        Some(Self { sshd, here: Scratch::new() })
    }

    fn target(&self) -> PathBuf {
        self.here.dir("outer/into")
    }
}

fn everything_below(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(everything_below(&path));
        }
        found.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    found.sort();
    found
}

#[test]
fn names_that_lead_out_are_refused_one_by_one() {
    let Some(liar) = Liar::that("names") else { return };
    let into = liar.target();
    let run = liar.sshd.cli(&format!("scp -r --protocol sftp DEST:d {}/", into.display())).run();
    let said = run.failed(1, "partial_transfer");
    let entries = said["transfer"]["entries"].as_array().unwrap();
    let refused = entries.iter().filter(|entry| entry["action"] == "refused").count();
    assert_eq!((refused, &said["transfer"]["files"]), (5, &1.into()), "{run}");
    assert_eq!(everything_below(&liar.here.join("outer")), ["d", "fine", "into"], "{run}");
}

#[test]
fn nothing_is_written_through_a_link_that_leads_out() {
    let Some(liar) = Liar::that("swap") else { return };
    let into = liar.target();
    let outside = liar.here.file("outside", "mine");
    let far = liar.here.dir("far");
    fs::create_dir(into.join("d")).unwrap();
    std::os::unix::fs::symlink(&outside, into.join("d/link")).unwrap();
    std::os::unix::fs::symlink(&far, into.join("d/out")).unwrap();
    let run = liar.sshd.cli(&format!("scp -r --protocol sftp DEST:d {}/", into.display())).run();
    let said = run.failed(1, "partial_transfer");
    assert_eq!(fs::read(&outside).unwrap(), b"mine", "{run}");
    assert_eq!(fs::read_dir(&far).unwrap().count(), 0, "{run}");
    assert_eq!(fs::read(into.join("d/fine")).unwrap(), b"abc", "{run}");
    let reasons = said["transfer"]["entries"].to_string();
    assert!(reasons.contains("outside_the_target"), "{run}");
}

#[test]
fn a_server_that_breaks_the_protocol_is_told_as_that_and_leaves_no_file() {
    for (how, exit, code) in [
        ("too_much", 69, "server_violation"),
        ("garbage", 69, "server_violation"),
        ("wrong_id", 69, "server_violation"),
        ("short", 69, "server_violation"),
    ] {
        let Some(liar) = Liar::that(how) else { return };
        let into = liar.target();
        let run = liar.sshd.cli(&format!("scp --protocol sftp DEST:f {}/f", into.display())).run();
        run.failed(exit, code);
        assert_eq!(everything_below(&into), [""; 0], "{how}: {run}");
    }
}

#[test]
fn what_has_no_end_ends_with_the_deadline_and_in_bounded_memory() {
    for (how, what) in [("endless_directory", "-r DEST:d"), ("endless_file", "DEST:f")] {
        let Some(liar) = Liar::that(how) else { return };
        let into = liar.target();
        let line = format!("scp --protocol sftp --timeout 3s {what} {}/", into.display());
        let run = liar.sshd.cli(&line).limit(Duration::from_secs(30)).run();
        run.failed(1, "timeout");
        let files: Vec<String> = everything_below(&into).into_iter().filter(|name| name != "d").collect();
        assert!(files.is_empty(), "{how}: {files:?}: {run}");
        assert!(run.peak_rss_kib < 64 << 10, "{how}: {} KiB", run.peak_rss_kib);
    }
    let Some(liar) = Liar::that("empty_answers") else { return };
    let run = liar.sshd.cli(&format!("scp -r --protocol sftp DEST:d {}/", liar.target().display())).run();
    let said = run.failed(1, "partial_transfer");
    assert!(said["transfer"]["entries"][0]["reason"].as_str().unwrap().starts_with("server_violation"), "{run}");
}

/// Servers of the legacy protocol, each a line of sh.
#[test]
fn lies_in_the_legacy_protocol_write_nothing_outside() {
    let lies = [
        (r"printf 'C0644 4 ../evil\nevil\0'", "server_violation"),
        (r"printf 'C0644 4 /tmp/evil\nevil\0'", "server_violation"),
        (r"printf 'C0644 4 other\nevil\0'", "server_violation"),
        (r"printf 'D0755 0 ..\nC0644 4 evil\nevil\0E\n'", "server_violation"),
        (r"printf 'D0755 0 f\nC0644 4 evil\nevil\0E\n'", "server_violation"),
        (r"printf 'E\n'", "server_violation"),
        (r"printf 'C0644 99999999999999999999 f\n'", "server_violation"),
        (r"printf 'C0644 9 f\nshort'", "connection_lost"),
        (r"head -c 100000 /dev/zero | tr '\0' C", "server_violation"),
        (r"printf '\001scp: f: No such file or directory\n'", "source_not_found"),
        (r"printf '\001scp: f: Permission denied\n'", "remote_permission"),
    ];
    for (lie, code) in lies {
        let builder = Sshd::build();
        // A server that tells of an error, or is cut short, ends; the others wait for what we say to it.
        let waits = if code == "server_violation" { "exec cat >/dev/null\n" } else { "" };
        let script = builder.scratch().file("liar.sh", format!("{lie}\n{waits}"));
        fs::set_permissions(&script, Permissions::from_mode(0o644)).unwrap();
        let sshd = builder.line(format!("ForceCommand sh {}", script.display())).start();
        let here = Scratch::new();
        let into = here.dir("outer/into");
        let run = sshd.cli(&format!("scp --protocol scp DEST:f {}/", into.display())).run();
        let exit = match code {
            "server_violation" => 69,
            "connection_lost" => 74,
            "source_not_found" => 66,
            _ => 77,
        };
        run.failed(exit, code);
        assert_eq!(everything_below(&here.join("outer")), ["into"], "{lie}: {run}");
        assert!(!Path::new("/tmp/evil").exists());
    }
}
