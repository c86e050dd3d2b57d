//! `--script`: a local script runs there, whole or not at all.

use std::time::Duration;

use crate::rig::{Cli, Mode, Scratch, Sshd, Stdin, Way};

/// `exec --script FILE DEST` and these arguments, with a script of this text; the directory lives as long as the second.
fn script(sshd: &Sshd, options: &str, text: &str, arguments: &str) -> (Cli, Scratch) {
    let scratch = Scratch::new();
    let file = scratch.file("script", text);
    (sshd.cli(&format!("exec --script {} {options} DEST {arguments}", file.display())), scratch)
}

#[test]
fn a_script_arrives_byte_for_byte() {
    let sshd = Sshd::start();
    let text = "echo \"a!b\" 'c$d' \"e'f\"\ncat <<'END'\nno `expansion` $here \\n é\nEND\n";
    let (cli, _scratch) = script(&sshd, "", text, "");
    let run = cli.run();
    assert_eq!(run.succeeded().stdout(), "a!b c$d e'f\nno `expansion` $here \\n é\n", "{run}");
}

#[test]
fn a_script_may_come_by_standard_input() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --script - DEST one two").stdin(Stdin::Bytes(b"echo $# $2; cat".to_vec())).run();
    assert_eq!(run.succeeded().stdout(), "2 two\n", "{run}");
}

#[test]
fn the_words_of_the_command_are_the_scripts_arguments() {
    let sshd = Sshd::start();
    let (cli, _scratch) = script(&sshd, "", "printf '%s|' \"$#\" \"$@\"\n", r#"'a b' '' --timeout "it's""#);
    let run = cli.run();
    assert_eq!(run.succeeded().stdout(), "4|a b||--timeout|it's|", "{run}");
}

#[test]
fn a_script_runs_with_the_interpreter_that_it_names() {
    let sshd = Sshd::start();
    let (cli, _scratch) = script(&sshd, "", "#!/bin/bash\na=(1 2 3); echo ${#a[@]} \"$1\"\n", "'x y'");
    let run = cli.run();
    assert_eq!(run.succeeded().stdout(), "3 x y\n", "{run}");
    let (cli, _scratch) = script(&sshd, "", "#!/usr/bin/env -S awk -f\nBEGIN { print ARGV[1] }\n", "word");
    let run = cli.run();
    assert_eq!(run.succeeded().stdout(), "word\n", "{run}");
}

#[test]
fn a_scripts_status_is_the_commands() {
    let sshd = Sshd::start();
    let (cli, _scratch) = script(&sshd, "", "echo before\nexit 7\n", "");
    let run = cli.run();
    assert_eq!(run.failed(1, "remote_exit")["remote_exit"], 7, "{run}");
}

#[test]
fn a_scripts_input_is_closed_or_a_file() {
    let sshd = Sshd::start();
    let text = "echo start\ncat\necho end\n";
    let (cli, _scratch) = script(&sshd, "", text, "");
    let run = cli.run();
    assert_eq!(run.succeeded().stdout(), "start\nend\n", "the script is not its own input: {run}");
    let scratch = Scratch::new();
    let data = scratch.file("data", "x\0y\n");
    let (cli, _other) = script(&sshd, &format!("--stdin-file {}", data.display()), "cat | od -An -c | tr -d ' '\n", "");
    let run = cli.run();
    assert_eq!(run.succeeded().stdout(), "x\\0y\\n\n", "{run}");
}

#[test]
fn a_large_script_arrives_whole() {
    let sshd = Sshd::start();
    let text = format!("{}echo end\n", "# a line that does nothing, of which there are many\n".repeat(20_000));
    let (cli, _scratch) = script(&sshd, "", &text, "");
    let run = cli.run();
    assert_eq!(run.succeeded().stdout(), "end\n", "{run}");
}

#[test]
fn a_script_that_is_cut_on_the_way_runs_not_a_line() {
    let sshd = Sshd::start();
    let dir = sshd.shared_dir();
    let padding = "# padding\n".repeat(20_000);
    for (n, (after, mode)) in
        [(20_000, Mode::Rst), (90_000, Mode::Rst), (20_000, Mode::Fin), (90_000, Mode::Fin)].into_iter().enumerate()
    {
        let file = dir.join(n.to_string());
        let text = format!("echo x >> {}\n{padding}echo y >> {}\n", file.display(), file.display());
        let proxy = sshd.proxy().cut(Way::Up, after, mode).start();
        let (cli, _scratch) = script(&sshd, "", &text, "");
        let run = cli.via(&proxy).run();
        let said = run.json();
        assert!(matches!(said.exit(), 74 | 76), "{run}");
        drop(proxy);
        let began = crate::rig::wait::eventually(Duration::from_millis(1500), || file.exists());
        assert!(!began, "a script that was cut began to run: {run}");
    }
}

#[test]
fn a_script_that_is_not_there_is_said_before_anything_is_tried() {
    let sshd = Sshd::start();
    let run = sshd.cli("exec --script /no/such/script DEST").run();
    assert_eq!(run.json().exit(), 66, "{run}");
    assert_eq!(sshd.connections(), 0, "{}", sshd.log());
}
