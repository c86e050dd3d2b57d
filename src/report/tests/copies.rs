//! What is said of a copy.

use super::*;
use crate::model::transfer::{Direction, Entry, EntryAction, Protocol, Transfer};

fn entries() -> Vec<Entry> {
    vec![
        Entry::new(b"d/fifo\x1b[2J", EntryAction::Skipped, 0).because("fifo"),
        Entry::new(b"kept", EntryAction::Skipped, 0).because("exists"),
        Entry::new(b"d/denied", EntryAction::Failed, 0).because("remote_permission: web1:/d/denied"),
        Entry::new(b".x.12345678.ssh-cli-part", EntryAction::Left, 0).because("not_removed"),
        Entry::new(b"d/\xff", EntryAction::Copied, 3),
        Entry { sha256: Some("ab".into()), ..Entry::new(b"d/hashed", EntryAction::Copied, 4) },
    ]
}

fn copied(entries: Vec<Entry>, skipped: u64, omitted: u64) -> Finished {
    let transfer = Transfer {
        direction: Direction::Download,
        protocol: Some(Protocol::Sftp),
        root: Some("/tmp/x".into()),
        files: 2,
        bytes: 7,
        skipped,
        entries,
        omitted_entries: omitted,
    };
    Finished { remote_exit: None, transfer: Some(transfer), effect: Effect::Read, ..succeeded() }
}

fn partial(failed: u64) -> SshCliError {
    SshCliError::new(Fault::PartialTransfer { failed, total: 9 }, Started::Yes, Effect::Read, false)
}

fn told(options: &OutputOptions, finished: &Finished, error: Option<&SshCliError>, progress: &[&[u8]]) -> Said {
    let ((out, out_end), (err, err_end)) = (pipe().unwrap(), pipe().unwrap());
    let (stdout, stderr) = (reading(out), reading(err));
    let mut output = Output::on(options, None, out_end, err_end).unwrap();
    runtime().block_on(async {
        output.attempt(1);
        for path in progress {
            output.progress(path, 5, Some(10));
        }
        output.drained().await.unwrap();
    });
    let code = output.finish(finished, error, "scp", DELAY);
    Said { code, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

#[test]
fn a_lean_envelope_lists_what_says_more_than_the_counts() {
    let plain = vec![Entry::new(b"", EntryAction::Copied, 7)];
    let said = told(&options(OutputMode::Json), &copied(plain, 0, 0), None, &[]);
    let json = said.json();
    assert_valid(&json);
    assert_eq!(
        json["transfer"].to_string(),
        r#"{"direction":"download","protocol":"sftp","root":"/tmp/x","files":2,"bytes":7,"skipped":0,"entries":[],"omitted_entries":1}"#
    );
    assert_eq!((&json["stdout"], &json["stderr"], &json["streams"]), (&Value::Null, &Value::Null, &Value::Null));
    assert!(said.stdout.ends_with("\"stdout\":null,\"stderr\":null}\n"), "{}", said.stdout);

    let failed = copied(entries(), 3, 10);
    let lean = told(&options(OutputMode::Json), &failed, Some(&partial(3)), &[]).json();
    let paths: Vec<&str> =
        lean["transfer"]["entries"].as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["d/fifo\u{1b}[2J", "kept", "d/denied", ".x.12345678.ssh-cli-part", "d/hashed"]);
    assert_eq!(lean["transfer"]["omitted_entries"], 11);

    let detail = OutputOptions { detail: true, ..options(OutputMode::Json) };
    let whole = told(&detail, &failed, Some(&partial(3)), &[]).json();
    assert_valid(&whole);
    assert_eq!(whole["transfer"]["entries"].as_array().unwrap().len(), 6);
    assert_eq!(whole["transfer"]["entries"][4]["path_base64"], "ZC//");
    assert_eq!(whole["transfer"]["omitted_entries"], 10);
}

#[test]
fn raw_says_nothing_of_a_copy_that_is_whole() {
    let said = told(&options(OutputMode::Raw), &copied(vec![entries().remove(1)], 0, 3), None, &[b"a"]);
    assert_eq!((said.code, &*said.stdout, &*said.stderr), (0, "", ""));
}

#[test]
fn raw_has_a_line_for_each_problem_and_then_the_failure() {
    let said = told(&options(OutputMode::Raw), &copied(entries(), 5, 3), Some(&partial(5)), &[]);
    assert_eq!((said.code, &*said.stdout), (1, ""));
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "ssh-cli: d/fifo\\u{1b}[2J: skipped: fifo",
            "ssh-cli: d/denied: failed: remote_permission: web1:/d/denied",
            "ssh-cli: .x.12345678.ssh-cli-part: left: not_removed",
            "ssh-cli: and 3 more",
        ]
    );
    assert_eq!(lines[4], "ssh-cli: web1 (10.0.0.7:22): 5 of 9 entries were not copied");
    assert!(lines[5].starts_with("  hint: ") && lines.len() == 6, "{}", said.stderr);
}

#[test]
fn the_one_failure_is_told_once() {
    let fault = Fault::NotRegular { path: "web1:/dev/null".into() };
    let error = SshCliError::new(fault, Started::No, Effect::Idempotent, false);
    let entry = Entry::new(b"", EntryAction::Failed, 0).because(format!("{}: {}", error.code(), error.message()));
    let said = told(&options(OutputMode::Raw), &copied(vec![entry], 1, 0), Some(&error), &[]);
    assert_eq!(said.stderr.matches("not a regular file").count(), 1, "{}", said.stderr);
    assert_eq!(said.code, 73);
}

#[test]
fn progress_is_an_event_each_or_a_line_of_standard_error() {
    let whole = copied(Vec::new(), 0, 2);
    let said = told(&options(OutputMode::Ndjson), &whole, None, &[b"a\xff\x1b", b"b"]);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines[1], "{\"event\":\"progress\",\"path\":\"a\u{fffd}\\u001b\",\"bytes\":5,\"total_bytes\":10}");
    assert_eq!(lines.len(), 4);
    assert!(lines[3].ends_with(r#""stdout":null,"stderr":null}"#), "{}", lines[3]);
    // The first is the beginning, and a second has not passed.
    let shown = OutputOptions { bar: true, ..options(OutputMode::Json) };
    let said = told(&shown, &whole, None, &[b"a"]);
    assert_eq!((said.json()["ok"].as_bool(), &*said.stderr), (Some(true), ""));
}
