//! What a copy says in each form.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::rig::{Envelope, Scratch, Sshd, Stdin, Way, needs, tool};

/// The lines of ndjson, each an object.
fn events(stdout: &[u8]) -> Vec<Value> {
    std::str::from_utf8(stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The names in a directory, in order.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_envelope_of_one_file_is_short() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let file = here.file("app.conf", "answer = 42\n");
    let run = sshd.cli(&format!("scp {} DEST:{}/", file.display(), there.display())).run();
    let said = run.succeeded();
    let root = there.join("app.conf").display().to_string();
    assert_eq!(
        said["transfer"].to_string(),
        format!(
            r#"{{"direction":"upload","protocol":"sftp","root":"{root}","files":1,"bytes":12,"skipped":0,"entries":[],"omitted_entries":1}}"#
        ),
        "{run}"
    );
    assert_eq!((&said["effect"], &said["started"]), (&"idempotent".into(), &"yes".into()), "{run}");
    assert_eq!(fs::read(there.join("app.conf")).unwrap(), b"answer = 42\n");

    let run = sshd.cli(&format!("scp --detail {} DEST:{}/", file.display(), there.display())).run();
    let entries = &run.succeeded()["transfer"]["entries"];
    assert_eq!((entries.as_array().unwrap().len(), &entries[0]["action"]), (1, &"copied".into()), "{run}");

    let back = here.join("back");
    let run = sshd.cli(&format!("scp --verify DEST:{root} {}", back.display())).run();
    let said = run.succeeded();
    assert_eq!((&said["effect"], &said["transfer"]["direction"]), (&"read".into(), &"download".into()), "{run}");
    let sum = tool("sha256sum", &[back.to_str().unwrap()]);
    assert_eq!(said["transfer"]["entries"][0]["sha256"], sum.split(' ').next().unwrap(), "{run}");
}

#[test]
fn a_destination_may_be_an_uri() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let file = here.file("f", "x");
    let user = &sshd.account.name;
    let line =
        format!("scp OPTIONS {} scp://{user}@127.0.0.1:{}/{}/a%20b+c", file.display(), sshd.port, there.display());
    sshd.cli(&line).run().succeeded();
    assert_eq!(names(&there), ["a b c"]);
}

#[test]
fn events_tell_how_far_it_is() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let size = 6 << 20;
    let file = here.file("big", vec![7; size]);
    let slow = sshd.proxy().rate(Way::Up, 4 << 20).start();
    let line = format!("scp --output ndjson {} DEST:{}/", file.display(), there.display());
    let run = sshd.cli(&line).via(&slow).run();
    assert!(run.code() == 0 && run.stderr.is_empty(), "{run}");
    let events = events(&run.stdout);
    assert_eq!(events[0]["event"], "attempt", "{run}");
    let told: Vec<&Value> = events.iter().filter(|event| event["event"] == "progress").collect();
    let bytes: Vec<u64> = told.iter().map(|event| event["bytes"].as_u64().unwrap()).collect();
    assert!(bytes.len() >= 2 && bytes.is_sorted() && bytes.iter().all(|n| *n <= size as u64), "{bytes:?}: {run}");
    assert!(told.iter().all(|event| event["total_bytes"].is_null() || event["total_bytes"] == size), "{run}");
    // At most ten a second, and the one at the beginning.
    assert!(told.len() as u128 <= run.elapsed.as_millis() / 100 + 2, "{} in {:?}", told.len(), run.elapsed);
    let last = events.last().unwrap();
    assert_eq!(
        (&last["event"], &last["ok"], &last["transfer"]["bytes"]),
        (&"result".into(), &true.into(), &size.into())
    );
}

#[test]
fn raw_says_nothing_where_nothing_is_wrong_and_a_line_for_what_is() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    here.dir("tree/sub");
    here.file("tree/sub/a", "a");
    sshd.cli(&format!("scp --raw -r {} DEST:{}/", here.join("tree").display(), there.display())).run().raw("", 0);
    assert_eq!(fs::read(there.join("tree/sub/a")).unwrap(), b"a");

    tool("mkfifo", &[here.join("tree/sub/pipe\u{1b}[2J").to_str().unwrap()]);
    std::os::unix::fs::symlink("nowhere", here.join("tree/dangling")).unwrap();
    let run = sshd.cli(&format!("scp --raw -r {} DEST:{}/", here.join("tree").display(), there.display())).run();
    assert!(run.code() == 1 && run.stdout.is_empty(), "{run}");
    let said = String::from_utf8(run.stderr.clone()).unwrap();
    assert!(said.lines().any(|line| line.contains("pipe\\u{1b}[2J: skipped: fifo")), "{run}");
    assert!(said.lines().any(|line| line.contains("dangling: skipped: dangling_link")), "{run}");
    assert!(said.contains("entries were not copied") && !said.contains('\u{1b}'), "{run}");

    let run = sshd.cli(&format!("scp -r {} DEST:{}/", here.join("tree").display(), there.display())).run();
    let said = run.failed(1, "partial_transfer");
    assert_eq!((&said["transfer"]["skipped"], &said["transfer"]["files"]), (&2.into(), &1.into()), "{run}");
    assert_eq!(said["error"]["details"]["failed"], 2, "{run}");
}

#[test]
fn a_failure_of_the_one_file_is_told_by_its_own_code_and_once() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let file = here.file("f", "x");
    fs::create_dir(there.join("closed")).unwrap();
    fs::set_permissions(there.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    let line = |form: &str| format!("scp {form} {} DEST:{}/closed/f", file.display(), there.display());
    let said = sshd.cli(&line("")).run().failed(77, "remote_permission");
    assert!(said.advice().contains("`--sudo`"), "{}", said.text());
    let run = sshd.cli(&line("--raw")).run();
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.code() == 77 && text.matches("permission denied").count() == 1, "{run}");
    let run = sshd.cli(&format!("scp {} DEST:{}/none/f", file.display(), there.display())).run();
    assert!(run.failed(73, "parent_missing").advice().contains("--parents"), "{run}");
    let run = sshd.cli(&format!("scp {} DEST:{}/", there.display(), there.display())).run();
    assert!(run.failed(66, "source_is_directory").advice().contains("-r"), "{run}");
}

#[test]
fn standard_input_and_output_carry_one_file() {
    let sshd = Sshd::start();
    let there = sshd.shared_dir();
    let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let run = sshd.cli(&format!("scp - DEST:{}/in", there.display())).stdin(Stdin::Bytes(content.clone())).run();
    assert_eq!(run.succeeded()["transfer"]["bytes"], content.len(), "{run}");
    assert_eq!(fs::read(there.join("in")).unwrap(), content);
    sshd.cli(&format!("scp --raw DEST:{}/in -", there.display())).run().raw(&content, 0);
    let run = sshd.cli(&format!("scp --raw DEST:{}/none -", there.display())).run();
    assert!(run.code() == 66 && run.stdout.is_empty(), "{run}");
}

#[test]
fn progress_without_a_terminal_is_a_line_each_second() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let file = here.file("big", vec![7; 6 << 20]);
    let slow = sshd.proxy().rate(Way::Up, 2 << 20).start();
    let line = format!("scp --progress always {} DEST:{}/", file.display(), there.display());
    let run = sshd.cli(&line).via(&slow).run();
    let said = Envelope::read(&run.stdout, run.code(), &run.to_string());
    assert_eq!(said.exit(), 0, "{run}");
    let lines = String::from_utf8(run.stderr.clone()).unwrap();
    assert!(lines.lines().count() >= 1, "{run}");
    assert!(lines.lines().all(|line| line.starts_with("ssh-cli: ") && line.contains("MiB")), "{run}");
    // Nobody asked for it here.
    let slow = sshd.proxy().rate(Way::Up, 2 << 20).start();
    sshd.cli(&format!("scp {} DEST:{}/", file.display(), there.display())).via(&slow).run().succeeded();
}

#[test]
fn the_bar_of_a_terminal_is_gone_at_the_end() {
    if needs::no_program("script") {
        return;
    }
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let tree = here.dir("tree");
    let file = here.file("tree/big\u{e9}", vec![7; 4 << 20]);
    let slow = sshd.proxy().rate(Way::Up, 4 << 20).start();
    let cli = sshd.cli(&format!("scp --json {} DEST:{}/", file.display(), there.display())).via(&slow);
    let told = here.join("told");
    let line = format!("{} >{}", cli.spelled(), told.display());
    let shown = Command::new("script").args(["-qec", &line, "/dev/null"]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let said = Envelope::read(&fs::read(&told).unwrap(), 0, &shown);
    assert_eq!(said["transfer"]["files"], 1, "{}", said.text());
    assert!(shown.contains("MiB/s") && shown.contains('%') && !shown.contains('\u{1b}'), "{shown:?}");
    // Blanks over all of it, and back to its beginning.
    let (before, last) = shown.trim_end_matches('\r').rsplit_once('\r').unwrap();
    assert!(last.trim().is_empty() && shown.ends_with('\r') && before.contains("[##"), "{shown:?}");
    // In raw mode it is standard error's, too, and the line of the failure begins where it was.
    let slow = sshd.proxy().rate(Way::Up, 4 << 20).start();
    let line = format!("scp --raw -r --timeout 700ms {} DEST:{}/", tree.display(), there.display());
    let line = sshd.cli(&line).via(&slow);
    let shown = Command::new("script").args(["-qec", &line.spelled(), "/dev/null"]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(
        shown.contains("big\u{e9}") && shown.contains("\rssh-cli: ") && shown.contains("--timeout of 700ms is over"),
        "{shown:?}"
    );
}

#[test]
fn an_account_for_sftp_only_is_told_how_files_go() {
    let sshd = Sshd::build().line("ForceCommand internal-sftp").start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    let said = sshd.cli("exec DEST uptime").run().failed(69, "sftp_only");
    assert!(said.advice().contains("ssh-cli scp"), "{}", said.text());
    let file = here.file("f", "x");
    let run = sshd.cli(&format!("scp {} DEST:{}/", file.display(), there.display())).run();
    assert_eq!(run.succeeded()["transfer"]["protocol"], "sftp", "{run}");
    let run = sshd.cli(&format!("scp DEST:{}/f {}/back", there.display(), here.path().display())).run();
    run.succeeded();
    assert_eq!(fs::read(here.join("back")).unwrap(), b"x");
}

#[test]
fn names_are_bytes_and_come_back_as_they_were() {
    let sshd = Sshd::start();
    let (here, there) = (Scratch::new(), sshd.shared_dir());
    here.dir("tree");
    here.file("tree/two words", "1");
    here.file("tree/new\nline", "2");
    fs::write(here.join("tree").join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff")), "3")
        .unwrap();
    let run =
        sshd.cli(&format!("scp --detail -r {} 'DEST:{}/a b'", here.join("tree").display(), there.display())).run();
    let said = run.succeeded();
    let entries = said["transfer"]["entries"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["path_base64"] == "/w=="), "{run}");
    let run = sshd.cli(&format!("scp -r 'DEST:{}/a b' {}", there.display(), here.join("back").display())).run();
    run.succeeded();
    tool("diff", &["-r", here.join("tree").to_str().unwrap(), here.join("back").to_str().unwrap()]);
    assert_eq!(names(&there), ["a b"]);
}

#[test]
fn a_stop_before_the_connection_stands_is_no_part_of_a_copy() {
    let port = crate::rig::FakeServer::start(crate::rig::Manner::Mute).port;
    let run = crate::rig::Cli::new(&format!("scp -F none --deadline 1s -p {port} f 127.0.0.1:g"), "nobody", port)
        .limit(Duration::from_secs(20))
        .run();
    let said = run.json();
    assert!(said.exit() == 74 && said["started"] == "no" && said["transfer"].is_null(), "{run}");
}
