//! Standard input: neither waited for, nor eaten, nor lost.

use std::time::Duration;

use crate::rig::{Scratch, Sshd, Stdin};

#[test]
fn an_input_that_never_ends_is_not_waited_for() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST cat").stdin(Stdin::Open).run();
    assert_eq!(run.succeeded().stdout(), "", "{run}");
    assert!(run.elapsed < Duration::from_secs(10), "{run}");
}

#[test]
fn a_loop_over_lines_keeps_its_lines() {
    let sshd = Sshd::start();
    let home = Scratch::new();
    // The product as a shell loop's body: it inherits the loop's input.
    let cli = sshd.cli("exec DEST true");
    let line = cli.spelled();
    let script = format!("printf 'a\\nb\\nc\\n' | while read x; do {line} >/dev/null; echo $x; done");
    let out = std::process::Command::new("sh").arg("-c").arg(script).env("HOME", home.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "a\nb\nc\n", "{out:?}");
}

#[test]
fn waiting_input_that_is_not_ours_is_warned_about_and_left_alone() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec DEST cat").stdin(Stdin::BytesThenOpen(b"data\n".to_vec())).run();
    let said = run.succeeded();
    assert_eq!(said.stdout(), "", "{run}");
    assert_eq!(said.warnings(), ["stdin_ignored"], "{run}");
    let run = sshd.cli("exec -n DEST cat").stdin(Stdin::BytesThenOpen(b"data\n".to_vec())).run();
    assert!(run.succeeded().warnings().is_empty(), "{run}");
}

#[test]
fn a_file_as_input_without_a_word_is_a_usage_error() {
    let sshd = Sshd::start();
    let scratch = Scratch::new();
    let file = scratch.file("input", "data\n");
    let run = sshd.cli("exec DEST cat").stdin(Stdin::File(file.clone())).run();
    let said = run.failed(64, "stdin_ambiguous");
    assert!(said.advice().contains("--stdin"), "{run}");
    let run = sshd.cli("exec -n DEST cat").stdin(Stdin::File(file)).run();
    assert_eq!(run.succeeded().stdout(), "", "{run}");
    let run = sshd.cli("exec DEST cat").stdin(Stdin::File(scratch.file("empty", ""))).run();
    assert!(run.succeeded().warnings().is_empty(), "{run}");
}

#[test]
fn stdin_is_forwarded_with_its_end() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --stdin DEST 'cat; echo end'").stdin(Stdin::Bytes(b"a\nb\n".to_vec())).run();
    assert_eq!(run.succeeded().stdout(), "a\nb\nend\n", "{run}");
    let scratch = Scratch::new();
    let file = scratch.file("input", "from a file\n");
    let run = sshd.cli("exec --stdin DEST cat").stdin(Stdin::File(file)).run();
    assert_eq!(run.succeeded().stdout(), "from a file\n", "{run}");
}

#[test]
fn a_large_input_arrives_whole() {
    let sshd = Sshd::start();
    let bytes: Vec<u8> = (0..8_000_000_u32).map(|i| u8::try_from(i % 251).unwrap()).collect();
    let sum = sha256(&bytes);
    let run = sshd.cli("exec --stdin DEST sha256sum").stdin(Stdin::Bytes(bytes.clone())).run();
    assert_eq!(run.succeeded().stdout(), format!("{sum}  -\n"), "{run}");
    let scratch = Scratch::new();
    let file = scratch.file("input", bytes);
    let run = sshd.cli(&format!("exec --stdin-file {} DEST sha256sum", file.display())).run();
    assert_eq!(run.succeeded().stdout(), format!("{sum}  -\n"), "{run}");
}

#[test]
fn a_command_that_reads_only_a_part_of_its_input_succeeds() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --stdin DEST 'head -c 3'").stdin(Stdin::Bytes(vec![b'x'; 4_000_000])).run();
    assert_eq!(run.succeeded().stdout(), "xxx", "{run}");
}

#[test]
fn an_input_that_stays_open_does_not_hold_a_command_that_ended() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --stdin DEST 'head -n 1'").stdin(Stdin::BytesThenOpen(b"one\n".to_vec())).run();
    assert_eq!(run.succeeded().stdout(), "one\n", "{run}");
    assert!(run.elapsed < Duration::from_secs(10), "{run}");
}

#[test]
fn an_input_file_that_is_not_there_is_said_before_anything_is_tried() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --stdin-file /no/such/file DEST cat").run();
    assert_eq!(run.json().exit(), 66, "{run}");
    assert_eq!(sshd.connections(), 0, "{run}");
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
