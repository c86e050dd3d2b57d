//! The three forms, and what becomes of them when nobody reads.

use super::*;

#[test]
fn no_control_character_leaves_in_json() {
    let json = "\u{1b}[2J\u{7f}\u{9b}2J\u{c2}é\r\n\0";
    for mode in [OutputMode::Json, OutputMode::Ndjson] {
        let said =
            say(&options(mode), None, &[(Stream::Stderr, json.trim_end_matches('\0').as_bytes())], &succeeded(), None);
        assert!(!said.stdout.chars().any(|c| c.is_control() && c != '\n'), "{}", said.stdout);
        assert!(said.stdout.contains("\\u007f") && said.stdout.contains("\\u009b2J"), "{}", said.stdout);
    }
}

#[test]
fn a_warning_told_twice_is_there_once() {
    let warning = Warning::new("stdin_ignored", "a pipe with data was not read");
    for mode in [OutputMode::Json, OutputMode::Ndjson, OutputMode::Raw] {
        let ((out, out_end), (err, err_end)) = (pipe().unwrap(), pipe().unwrap());
        let (stdout, stderr) = (reading(out), reading(err));
        let mut output = Output::on(&options(mode), None, out_end, err_end).unwrap();
        output.warning(&warning);
        let other = Warning::new("operator_quoted", "`|` was quoted");
        let finished = Finished { warnings: vec![warning.clone(), other], ..succeeded() };
        assert_eq!(output.finish(&finished, None, "exec", DELAY), 0);
        let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
        match mode {
            OutputMode::Json => assert_eq!(stdout.matches("stdin_ignored").count(), 1, "{stdout}"),
            OutputMode::Ndjson => assert_eq!(stdout.matches(r#"{"event":"warning","code":"#).count(), 2, "{stdout}"),
            OutputMode::Raw => assert_eq!(
                stderr,
                "ssh-cli: warning: a pipe with data was not read\nssh-cli: warning: `|` was quoted\n"
            ),
        }
    }
}

#[test]
fn events_come_as_they_happen_and_the_result_is_last() {
    let chunks: [(Stream, &[u8]); 5] = [
        (Stream::Stdout, b"a\xe2\x82"),
        (Stream::Stderr, b"\xff"),
        (Stream::Stdout, b"\xac\n"),
        (Stream::Stdout, b"\xe2"),
        (Stream::Stdout, b"\x82"),
    ];
    let said = say(&options(OutputMode::Ndjson), None, &chunks, &succeeded(), None);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines[0], r#"{"event":"attempt","number":1}"#);
    assert_eq!(lines[1], r#"{"event":"stdout","data":"a"}"#);
    assert_eq!(lines[2], r#"{"event":"stderr","data":"/w==","encoding":"base64"}"#);
    assert_eq!(lines[3], r#"{"event":"stdout","data":"€\n"}"#);
    assert_eq!(lines[4], r#"{"event":"stdout","data":"4oI=","encoding":"base64"}"#);
    assert!(
        lines[5].starts_with(r#"{"event":"result","schema_version":1,"#)
            && lines[5].ends_with(r#""stdout":null,"stderr":null}"#)
    );
    assert_eq!((lines.len(), said.code), (6, 0));
    let schema = serde_json::to_value(schema::of::<Event<'static>>()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for line in lines {
        assert!(validator.is_valid(&serde_json::from_str(line).unwrap()), "{line}");
    }
}

#[test]
fn raw_passes_the_bytes_and_says_the_rest_in_words() {
    let chunks: [(Stream, &[u8]); 3] =
        [(Stream::Stdout, b"\x1b[1mout"), (Stream::Stderr, b"err"), (Stream::Stdout, b"\n")];
    let error = SshCliError::new(Fault::ExitStatusMissing, Started::Yes, Effect::Write, false);
    let said = say(&options(OutputMode::Raw), None, &chunks, &succeeded(), Some(&error));
    assert_eq!((said.code, said.stdout.as_str()), (76, "\x1b[1mout\n"));
    let words = "err\nssh-cli: web1 (10.0.0.7:22): the session ended without an exit status\n  hint: network gear";
    assert!(said.stderr.starts_with(words), "{}", said.stderr);
}

#[test]
fn raw_ends_with_the_remote_status_and_adds_nothing_to_it() {
    let remote = |status| SshCliError::new(Fault::RemoteExit { status }, Started::Yes, Effect::Write, false);
    let said = say(&options(OutputMode::Raw), None, &[], &succeeded(), Some(&remote(3)));
    assert_eq!((said.code, said.stderr.as_str()), (3, ""));
    let said = say(&options(OutputMode::Raw), None, &[], &succeeded(), Some(&remote(127)));
    assert!(said.code == 127 && said.stderr.contains("hint: not found there"), "{}", said.stderr);
    let said = say(
        &options(OutputMode::Raw),
        None,
        &[],
        &Finished::not_started(Effect::Write),
        Some(&SshCliError::new(Fault::MissingCommand, Started::No, Effect::Write, false)),
    );
    assert!(
        said.code == 64 && said.stderr.starts_with("ssh-cli: there is no command to run\n  hint: "),
        "{}",
        said.stderr
    );
}

#[test]
fn a_defaulted_form_is_announced_once() {
    let announced = OutputOptions { announce: true, defaulted: true, ..options(OutputMode::Json) };
    let said = say(&announced, None, &[], &succeeded(), None);
    assert_eq!(said.stderr.lines().count(), 1);
    for option in ["--raw", "--stdout-file", "--json"] {
        assert!(said.stderr.contains(option));
    }
}

/// Finishes with a standard output that nobody reads, or that is full.
fn finish_without_stdout(mode: OutputMode, stdout: OwnedFd, error: Option<&SshCliError>) -> (i32, String) {
    let (err, err_end) = pipe().unwrap();
    let stderr = reading(err);
    let output = Output::on(&options(mode), None, stdout, err_end).unwrap();
    let code = output.finish(&succeeded(), error, "exec", DELAY);
    (code, stderr.join().unwrap())
}

#[test]
fn an_envelope_that_nobody_reads_goes_to_stderr() {
    let broken = || OwnedFd::from(pipe().unwrap().1);
    for mode in [OutputMode::Json, OutputMode::Ndjson] {
        let (code, stderr) = finish_without_stdout(mode, broken(), None);
        let json: Value = serde_json::from_str(&stderr).unwrap();
        assert_eq!((code, &json["exit_code"], &json["error"]["code"]), (141, &141.into(), &"interrupted".into()));
        assert_eq!((&json["ok"], &json["outcome"]), (&false.into(), &"succeeded".into()));
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let (code, stderr) = finish_without_stdout(OutputMode::Json, full.into(), None);
    assert!(code == 73 && stderr.contains("stdout_failed"), "{stderr}");
    let error = SshCliError::new(Fault::ExitStatusMissing, Started::Yes, Effect::Write, false);
    let (code, stderr) = finish_without_stdout(OutputMode::Json, broken(), Some(&error));
    assert!(code == 76 && stderr.contains("exit_status_missing"), "{stderr}");
}
