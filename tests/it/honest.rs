//! Claims that a tester found to be false once, and must never be again.

use std::time::Duration;

use crate::rig::{Scratch, Sshd, Way, public_of, wait};

#[test]
fn an_outage_before_the_end_of_the_output_loses_none_of_it() {
    let sshd = Sshd::start();
    // Wherever the outage falls between the last of the output, the status and the end: what was sent before is counted.
    let places: Vec<u64> = (0..16).map(|n| 296_000 + n * 1000).collect();
    std::thread::scope(|scope| {
        for after in places {
            let sshd = &sshd;
            scope.spawn(move || {
                let proxy = sshd.proxy().stall(Way::Down, after, Duration::from_millis(3500)).start();
                let run = sshd.cli("exec --detail DEST 'head -c 300000 /dev/zero'").via(&proxy).run();
                let said = run.succeeded();
                assert_eq!(said["streams"]["stdout"]["bytes"], 300_000, "stalled after {after}: {run}");
            });
        }
    });
}

#[test]
fn a_forced_command_that_swallows_our_words_starts_nothing_that_is_denied() {
    for wrapper in
        ["sh -c \\\"$SSH_ORIGINAL_COMMAND\\\" >/dev/null", "sh -c \\\"$SSH_ORIGINAL_COMMAND\\\" | tr a-z A-Z"]
    {
        let builder = Sshd::build();
        let key = builder.scratch().join("forced");
        crate::rig::keygen(&key, "ed25519", &[]);
        let line = format!("command=\"{wrapper}\" {}\n", public_of(&key));
        let file = builder.scratch().file("forced-keys", line);
        let sshd = builder.line(format!("AuthorizedKeysFile {}", file.display())).start();
        let ledger = sshd.shared_dir().join("ledger");
        let line = format!("exec --cwd / DEST 'echo x >> {}'", ledger.display());
        let run = sshd.cli(&line).identity(&key).run();
        let said = run.json();
        assert_eq!(said["started"], "no", "{run}");
        assert!(!ledger.exists(), "it was denied, and it ran: {run}");
    }
}

#[test]
fn a_raw_run_whose_output_found_no_place_is_no_success() {
    let sshd = Sshd::start();
    for command in ["seq 3", "seq 3; sleep 1", "seq 100000"] {
        let line = sshd.cli(&format!("exec --raw DEST '{command}'"));
        let full = std::process::Command::new("sh")
            .args(["-c", &format!("{} >/dev/full", line.spelled())])
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        assert_eq!(full.status.code(), Some(73), "{command}: {}", String::from_utf8_lossy(&full.stderr));
    }
}

#[test]
fn a_reader_who_does_not_read_holds_nobody_up() {
    let sshd = Sshd::start();
    for options in ["--raw --timeout 1s", "--output ndjson --timeout 1s", "--raw --deadline 2s"] {
        let cli = sshd.cli(&format!("exec {options} DEST 'yes no-reader-here'"));
        let mut child = std::process::Command::new("sh")
            .args(["-c", &format!("exec {}", cli.spelled())])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let ended = wait::eventually(Duration::from_secs(20), || child.try_wait().unwrap().is_some());
        if !ended {
            child.kill().unwrap();
        }
        assert!(ended, "{options}: still there");
        assert!(sshd.is_rid_of("no-reader-here", Duration::from_secs(5)), "{options}");
    }
}

#[test]
fn the_deadline_is_over_whatever_is_waited_for() {
    let sshd = Sshd::start();
    let scratch = Scratch::new();
    let pipe = scratch.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.display();
    for options in [
        "--secret-env 'A=cmd:sleep 30'".to_owned(),
        format!("--stdin-file {pipe}"),
        format!("--script {pipe}"),
        format!("-i {pipe}"),
        format!("--password file:{pipe} -o PubkeyAuthentication=no"),
    ] {
        let run = sshd.cli(&format!("exec --deadline 1s {options} DEST true")).run();
        let said = run.json();
        assert_eq!((said.exit(), &said["started"]), (74, &"no".into()), "{options}: {run}");
        assert!(run.elapsed < Duration::from_secs(5), "{options}: {run}");
    }
}

#[test]
fn what_came_of_a_cut_output_is_kept_beside_its_file() {
    let sshd = Sshd::start();
    let scratch = Scratch::new();
    let file = scratch.file("out", "old");
    let line = format!("exec --stdout-file {} DEST 'seq 200000; sleep 1; kill -9 $PPID'", file.display());
    let run = sshd.cli(&line).run();
    let said = run.failed(76, "connection_lost");
    assert_eq!(std::fs::read(&file).unwrap(), b"old", "{run}");
    assert!(said.warnings().contains(&"stdout_file_partial"), "{run}");
    let part = said["streams"]["stdout"]["path"].as_str().unwrap();
    assert!(std::fs::metadata(part).unwrap().len() > 1_000_000, "{run}");
}
