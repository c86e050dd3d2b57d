//! What becomes of the output: large, slow, cut, binary, held open.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::rig::{Envelope, FakeSsh, Run, Script, Sshd, Way, numbers};

/// The file that holds the whole of a stream.
fn path_of(said: &Envelope, stream: &str) -> PathBuf {
    said["streams"][stream]["path"].as_str().unwrap_or_else(|| panic!("no path: {}", said.text())).into()
}

#[test]
fn a_background_child_that_keeps_the_output_open_is_not_waited_for() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'sleep 20 & echo started'").run();
    let said = run.succeeded();
    assert_eq!(said.stdout(), "started\n", "{run}");
    assert_eq!(said["streams"]["held_open"], true, "{run}");
    assert!(run.elapsed < Duration::from_secs(5), "{run}");
}

#[test]
fn a_server_that_keeps_the_channel_open_after_the_status_is_not_waited_for() {
    let server = FakeSsh::start(Script { output: "ok\n", status: Some(3), hang: true, ..Script::default() });
    let run = server.cli("exec DEST true").run();
    let said = run.failed(1, "remote_exit");
    assert_eq!((said.stdout(), &said["streams"]["held_open"]), ("ok\n", &Value::Bool(true)), "{run}");
    assert!(run.elapsed < Duration::from_secs(6), "{run}");
}

#[test]
fn a_child_that_goes_on_writing_is_read_as_long_as_it_writes() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST '(for i in 1 2 3 4; do sleep 1; echo $i; done) & echo started'").run();
    assert_eq!(run.succeeded().stdout(), "started\n1\n2\n3\n4\n", "{run}");
}

#[test]
fn both_streams_large_at_once_end_and_are_counted() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'head -c 8388608 /dev/zero & head -c 8388608 /dev/zero >&2; wait'").run();
    let said = run.succeeded();
    for stream in ["stdout", "stderr"] {
        assert_eq!(said["streams"][stream]["bytes"], 8_388_608, "{run}");
        assert_eq!(fs::metadata(path_of(&said, stream)).unwrap().len(), 8_388_608, "{run}");
    }
    assert!(run.elapsed < Duration::from_secs(20), "{run}");
}

#[test]
fn a_slow_link_loses_nothing() {
    let sshd = Sshd::start();
    let proxy = sshd.proxy().rate(Way::Down, 15_000).start();
    let run = sshd.cli("exec DEST 'seq 1 12000 | head -c 60000'").via(&proxy).run();
    let said = run.succeeded();
    assert_eq!(said["streams"]["stdout"]["bytes"], 60_000, "{run}");
    assert!(fs::read(path_of(&said, "stdout")).unwrap() == numbers(12_000).as_bytes()[..60_000], "{run}");
    assert!(run.elapsed > Duration::from_secs(3), "the link was not slow: {run}");
}

#[test]
fn a_distant_host_is_just_distant() {
    let sshd = Sshd::start();
    let late = Duration::from_millis(60);
    let proxy = sshd.proxy().delay(Way::Up, late).delay(Way::Down, late).start();
    let run = sshd.cli("exec DEST 'echo far'").via(&proxy).run();
    assert_eq!(run.succeeded().stdout(), "far\n", "{run}");
    assert!(run.elapsed < Duration::from_secs(4), "{run}");
}

#[test]
fn a_long_output_keeps_its_head_and_its_tail_and_is_whole_in_a_private_file() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --max-output 1k DEST 'seq 1 100000'").run();
    let said = run.succeeded();
    let stream = &said["streams"]["stdout"];
    assert_eq!((&stream["truncated"], &stream["encoding"]), (&true.into(), &"utf-8".into()), "{run}");
    let whole = numbers(100_000);
    assert_eq!(stream["bytes"], whole.len(), "{run}");
    let path = path_of(&said, "stdout");
    assert!(fs::read_to_string(&path).unwrap() == whole, "{run}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{run}");
    assert!(path.starts_with(run.scratch.join("state")), "{run}");
    cut_at_lines(&run, &whole, 1024);
}

/// Head, one marker line, tail; all the rest whole lines, and what is missing is counted.
fn cut_at_lines(run: &Run, whole: &str, limit: usize) {
    let said = run.json();
    let shown = said.stdout();
    let lines: Vec<&str> = shown.lines().collect();
    let markers: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].parse::<u32>().is_err()).collect();
    let [seam] = markers[..] else { panic!("one marker line: {run}") };
    let head: String = lines[..seam].iter().flat_map(|line| [line, "\n"]).collect();
    let tail: String = lines[seam + 1..].iter().flat_map(|line| [line, "\n"]).collect();
    assert!(!head.is_empty() && whole.starts_with(&head), "the head: {run}");
    assert!(!tail.is_empty() && whole.ends_with(&tail), "the tail: {run}");
    let omitted = said["streams"]["stdout"]["omitted_bytes"].as_u64().unwrap();
    assert_eq!(omitted, (whole.len() - head.len() - tail.len()) as u64, "{run}");
    // As encoded in JSON, where a line end is two characters; the marker may come on top.
    let encoded = serde_json::to_string(&(head + &tail)).unwrap().len() - 2;
    assert!(encoded <= limit, "{encoded} of {limit} bytes: {run}");
}

#[test]
fn the_limit_counts_what_the_json_takes() {
    let sshd = Sshd::start();
    let run = sshd.cli(r#"exec --max-output 1k DEST 'yes "\"\"\"\"\"\"\"\"" | head -n 500'"#).run();
    let said = run.succeeded();
    let encoded = serde_json::to_string(said.stdout()).unwrap().len();
    assert!(encoded < 1024 + 200, "{encoded}: {run}");
    assert_eq!(said["streams"]["stdout"]["truncated"], true, "{run}");
}

#[test]
fn a_line_that_has_no_end_is_cut_all_the_same() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --max-output 1k DEST 'head -c 100000 /dev/zero | tr \"\\0\" é'").run();
    let said = run.json();
    assert!(said.stdout().len() < 2048 && !said.stdout().is_empty(), "{run}");
    assert_eq!(said["streams"]["stdout"]["truncated"], true, "{run}");
}

#[test]
fn without_a_spill_nothing_is_kept() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --no-spill --max-output 1k DEST 'seq 1 100000'").run();
    let said = run.succeeded();
    assert_eq!(said["streams"]["stdout"]["truncated"], true, "{run}");
    assert!(said["streams"]["stdout"]["path"].is_null(), "{run}");
    assert!(run.state_files().is_empty(), "{:?}: {run}", run.state_files());
    cut_at_lines(&run, &numbers(100_000), 1024);
}

#[test]
fn an_output_that_fits_leaves_no_file() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'seq 1 100'").run();
    assert_eq!(run.succeeded().stdout(), numbers(100), "{run}");
    assert!(run.state_files().is_empty(), "{:?}: {run}", run.state_files());
}

#[test]
fn a_state_directory_that_cannot_be_written_costs_only_the_file() {
    let sshd = Sshd::start();
    let cli = sshd.cli("exec --max-output 1k DEST 'seq 1 100000'");
    // A file where the directory should be stops even root.
    let obstacle = cli.scratch().file("obstacle", "");
    let run = cli.env("XDG_STATE_HOME", obstacle).run();
    let said = run.succeeded();
    assert_eq!(said["streams"]["stdout"]["truncated"], true, "{run}");
    assert!(!said.warnings().is_empty(), "{run}");
}

#[test]
fn the_exact_bytes_go_to_a_file_when_asked_for() {
    let sshd = Sshd::start();
    let scratch = crate::rig::Scratch::new();
    let file = scratch.join("out");
    let line = format!("exec --stdout-file {} DEST 'printf \"a\\000\\377b\"; echo err >&2'", file.display());
    let run = sshd.cli(&line).run();
    assert_eq!(run.succeeded().stderr(), "err\n", "{run}");
    assert_eq!(fs::read(&file).unwrap(), b"a\0\xffb", "{run}");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn a_file_for_the_output_that_cannot_be_made_is_said_before_anything_runs() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --stdout-file /no/such/dir/out DEST true").run();
    let said = run.json();
    assert_eq!((said.exit(), &said["started"]), (73, &"no".into()), "{run}");
}

#[test]
fn binary_output_is_null_and_in_a_file_or_base64() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'printf \"a\\000b\"; echo fine >&2'").run();
    let said = run.succeeded();
    assert_eq!(said["stdout"], Value::Null, "{run}");
    assert_eq!(said["streams"]["stdout"]["encoding"], "binary", "{run}");
    assert_eq!(fs::read(path_of(&said, "stdout")).unwrap(), b"a\0b", "{run}");
    assert_eq!(said.stderr(), "fine\n", "{run}");
    let run = sshd.cli("exec --base64 DEST 'printf \"a\\000b\"'").run();
    assert_eq!(run.succeeded().stdout(), "YQBi", "{run}");
}

#[test]
fn text_that_is_not_utf8_is_shown_as_far_as_it_goes_and_exact_in_a_file() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'printf \"caf\\351\\n\"'").run();
    let said = run.succeeded();
    assert_eq!(said.stdout(), "caf\u{fffd}\n", "{run}");
    assert_eq!(said["streams"]["stdout"]["encoding"], "utf-8-lossy", "{run}");
    assert_eq!(fs::read(path_of(&said, "stdout")).unwrap(), b"caf\xe9\n", "{run}");
}

#[test]
fn a_character_that_comes_in_two_packets_is_one_character() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'printf \"\\303\"; sleep 0.3; printf \"\\251\"'").run();
    let said = run.succeeded();
    assert_eq!((said.stdout(), said["streams"].is_null()), ("é", true), "{run}");
}

#[test]
fn sixty_four_mebibytes_pass_in_little_memory() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST 'yes 0123456789abcdef | head -c 67108864'").run();
    let said = run.succeeded();
    assert_eq!(said["streams"]["stdout"]["bytes"], 67_108_864, "{run}");
    assert!(run.peak_rss_kib > 0 && run.peak_rss_kib < 30 * 1024, "{} KiB", run.peak_rss_kib);
}
