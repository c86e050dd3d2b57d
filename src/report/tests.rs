use std::fs;
use std::io::{Read, pipe};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread::JoinHandle;

use serde_json::Value;

use super::*;
use crate::effect::Effect;
use crate::errors::samples;
use crate::model::outcome::{Started, TargetDetail, TargetFacts};
use crate::model::timing::{Millis, Timing};

const DELAY: Duration = Duration::from_millis(123);

fn options(mode: OutputMode) -> OutputOptions {
    OutputOptions {
        mode,
        defaulted: false,
        announce: false,
        detail: false,
        max_output: 8192,
        spill: true,
        base64: false,
        stdout_file: None,
        remote_exit: mode == OutputMode::Raw,
    }
}

fn succeeded() -> Finished {
    let more = TargetDetail { host: Some("web1.example.org".into()), port: Some(22), ..TargetDetail::default() };
    Finished {
        outcome: Outcome::Succeeded,
        started: Started::Yes,
        remote_exit: Some(0),
        target: TargetFacts {
            destination: "web1".into(),
            user: "deploy".into(),
            address: Some("10.0.0.7:22".into()),
            more,
        },
        attempts: 1,
        timing: Timing {
            total: Millis(Duration::from_micros(812_449)),
            auth: Some(Millis(Duration::from_millis(3))),
            ..Timing::default()
        },
        ..Finished::not_started(Effect::Write)
    }
}

struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Said {
    fn json(&self) -> Value {
        assert_eq!((self.stdout.matches('\n').count(), self.stdout.ends_with('\n')), (1, true), "{}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap()
    }
}

fn reading(mut reader: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        String::from_utf8_lossy(&all).into_owned()
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A run with these chunks, and what its end says.
fn say(
    options: &OutputOptions,
    state_dir: Option<&Path>,
    chunks: &[(Stream, &[u8])],
    finished: &Finished,
    error: Option<&SshCliError>,
) -> Said {
    let ((out, out_end), (err, err_end)) = (pipe().unwrap(), pipe().unwrap());
    let (stdout, stderr) = (reading(out), reading(err));
    let mut output = Output::on(options, state_dir, out_end, err_end).unwrap();
    runtime().block_on(async {
        output.attempt(1);
        for (stream, data) in chunks {
            output.write(*stream, Bytes::copy_from_slice(data)).await.unwrap();
        }
        output.drained().await.unwrap();
    });
    let code = output.finish(finished, error, "exec", DELAY);
    Said { code, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

fn say_json(options: &OutputOptions, state_dir: Option<&Path>, chunks: &[(Stream, &[u8])]) -> Value {
    let said = say(options, state_dir, chunks, &succeeded(), None);
    assert_eq!(said.stderr, "");
    let json = said.json();
    assert_valid(&json);
    json
}

fn assert_valid(envelope: &Value) {
    let schema = serde_json::to_value(schema::of::<Envelope>()).unwrap();
    let errors: Vec<String> =
        jsonschema::validator_for(&schema).unwrap().iter_errors(envelope).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}: {envelope}");
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

const ALWAYS: [&str; 17] = [
    "schema_version",
    "command",
    "ok",
    "exit_code",
    "outcome",
    "started",
    "effect",
    "retryable",
    "remote_exit",
    "remote_signal",
    "error",
    "retry",
    "operation",
    "warnings",
    "target",
    "attempts",
    "timing_ms",
];

#[test]
fn an_ordinary_envelope_is_lean() {
    let uptime = b" 21:48:33 up 42 days,  3:07,  1 user,  load average: 0.08, 0.03, 0.01\n";
    let said = say(&options(OutputMode::Json), None, &[(Stream::Stdout, uptime)], &succeeded(), None);
    let json = said.json();
    assert!(said.stdout.len() <= 450, "{} bytes: {}", said.stdout.len(), said.stdout);
    assert_eq!(
        (said.code, json["ok"].as_bool(), json["stdout"].as_str()),
        (0, Some(true), str::from_utf8(uptime).ok())
    );
    assert_eq!(keys(&json), [&ALWAYS[..], &["stdout", "stderr"]].concat());
    assert_eq!(keys(&json["target"]), ["destination", "user", "address"]);
    assert_eq!(json["timing_ms"].to_string(), r#"{"total":812.4}"#);
    assert_valid(&json);
}

#[test]
fn detail_and_an_early_failure_show_the_whole_target() {
    let detail = OutputOptions { detail: true, ..options(OutputMode::Json) };
    let json = say_json(&detail, None, &[]);
    assert_eq!(json["target"]["host"], "web1.example.org");
    assert_eq!(json["timing_ms"]["auth"], 3.0);
    assert_eq!(keys(&json), [&ALWAYS[..], &["streams", "stdout", "stderr"]].concat());

    let refused = Fault::ConnectionRefused { address: "10.0.0.7:22".into() };
    let error = SshCliError::new(refused, Started::No, Effect::Write, false);
    let finished = Finished { outcome: Outcome::NotStarted, started: Started::No, remote_exit: None, ..succeeded() };
    let said = say(&options(OutputMode::Json), None, &[], &finished, Some(&error));
    let json = said.json();
    assert_eq!((said.code, &json["target"]["port"]), (74, &22.into()));
    assert_eq!(json["retry"].to_string(), r#"{"policy":"retry","key":null,"max_retries":2,"delay_ms":123}"#);
    assert_eq!(json["stdout"], "");
}

#[test]
fn every_failure_has_a_valid_envelope_and_74_is_retryable() {
    for fault in samples::all() {
        for started in [Started::No, Started::Yes, Started::Unknown] {
            for effect in [Effect::Read, Effect::Write] {
                let error = SshCliError::new(fault.clone(), started, effect, false);
                let finished = Finished { started, ..Finished::not_started(effect) };
                let said = say(&options(OutputMode::Json), None, &[], &finished, Some(&error));
                let json = said.json();
                assert_valid(&json);
                assert_eq!(json["exit_code"], said.code);
                assert_eq!(json["retryable"], said.code == 74, "{json}");
                assert_eq!(json["retry"].is_object(), said.code == 74, "{json}");
                assert_eq!((&json["ok"], &json["target"]), (&Value::Bool(false), &Value::Null), "{json}");
                assert_eq!(json["error"]["code"], error.code());
            }
        }
    }
}

#[test]
fn errors_carry_their_facts() {
    let fault = Fault::HostKeyUnknown {
        host: "h\x1b".into(),
        key_type: "ssh-ed25519".into(),
        fingerprint: "SHA256:x".into(),
        known_types: String::new(),
    };
    let error = SshCliError::new(fault, Started::No, Effect::Write, false);
    let said = say(&options(OutputMode::Json), None, &[], &succeeded(), Some(&error));
    let details = &said.json()["error"]["details"];
    assert_eq!((&details["fingerprint"], &details["host"]), (&"SHA256:x".into(), &"h\\u{1b}".into()));
    assert_eq!(said.code, 77);
}

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
fn a_long_stream_is_cut_and_kept_whole_elsewhere() {
    let state = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..50_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
    let chunks: Vec<(Stream, &[u8])> = data.chunks(32 * 1024).map(|chunk| (Stream::Stdout, chunk)).collect();
    let json = say_json(&options(OutputMode::Json), Some(state.path()), &chunks);
    let facts = &json["streams"]["stdout"];
    let path = PathBuf::from(facts["path"].as_str().unwrap());
    assert_eq!(fs::read(&path).unwrap(), data);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        (&facts["bytes"], &facts["encoding"], &facts["truncated"]),
        (&data.len().into(), &"utf-8".into(), &true.into())
    );
    let text = json["stdout"].as_str().unwrap();
    let marker = format!("[... {} bytes omitted; whole stream: {} ...]\n", facts["omitted_bytes"], path.display());
    let (head, tail) = text.split_once(&marker).unwrap();
    assert!(
        head.starts_with("line 0\n")
            && head.ends_with('\n')
            && tail.starts_with("line ")
            && tail.ends_with("line 49999\n")
    );
    assert_eq!((head.len() + tail.len()) as u64 + facts["omitted_bytes"].as_u64().unwrap(), data.len() as u64);
    assert!(text.replace(&marker, "").replace('\n', "\\n").len() <= 8192);
    assert_eq!(json["streams"]["stderr"]["path"], Value::Null);
}

#[test]
fn without_a_place_a_cut_stream_is_cut_and_it_is_said() {
    let data = [b'x'; 10_000];
    let json = say_json(&options(OutputMode::Json), None, &[(Stream::Stdout, &data)]);
    assert_eq!(json["warnings"][0]["code"], "spill_failed");
    assert_eq!(json["streams"]["stdout"]["path"], Value::Null);
    let no_spill = OutputOptions { spill: false, ..options(OutputMode::Json) };
    let json = say_json(&no_spill, None, &[(Stream::Stdout, &data)]);
    assert_eq!(json["warnings"].to_string(), "[]");
    assert!(json["stdout"].as_str().unwrap().contains("\n[... 1808 bytes omitted ...]\n"));
}

#[test]
fn escapes_count_against_the_limit() {
    let state = tempfile::tempdir().unwrap();
    let json = say_json(&options(OutputMode::Json), Some(state.path()), &[(Stream::Stderr, &[1; 3000])]);
    let facts = &json["streams"]["stderr"];
    assert_eq!((&facts["bytes"], &facts["truncated"]), (&3000.into(), &true.into()));
    assert_eq!(fs::read(facts["path"].as_str().unwrap()).unwrap(), [1; 3000]);
}

#[test]
fn what_is_no_utf8_is_shown_as_far_as_it_goes_and_kept_exactly() {
    let state = tempfile::tempdir().unwrap();
    let chunks: [(Stream, &[u8]); 2] = [(Stream::Stdout, b"caf\xe9 \xe2"), (Stream::Stdout, b"\x82\xac\n")];
    let json = say_json(&options(OutputMode::Json), Some(state.path()), &chunks);
    let facts = &json["streams"]["stdout"];
    assert_eq!((&json["stdout"], &facts["encoding"]), (&"caf\u{fffd} €\n".into(), &"utf-8-lossy".into()));
    assert_eq!(fs::read(facts["path"].as_str().unwrap()).unwrap(), b"caf\xe9 \xe2\x82\xac\n");
    assert_eq!(facts["truncated"], false);
}

#[test]
fn binary_is_null_or_base64() {
    let state = tempfile::tempdir().unwrap();
    let chunks: [(Stream, &[u8]); 2] = [(Stream::Stdout, b"a\0"), (Stream::Stdout, b"\xff")];
    let json = say_json(&options(OutputMode::Json), Some(state.path()), &chunks);
    let facts = &json["streams"]["stdout"];
    assert_eq!(
        (&json["stdout"], &facts["encoding"], &facts["omitted_bytes"]),
        (&Value::Null, &"binary".into(), &3.into())
    );
    assert_eq!(fs::read(facts["path"].as_str().unwrap()).unwrap(), b"a\0\xff");

    let base64 = OutputOptions { base64: true, ..options(OutputMode::Json) };
    let json = say_json(&base64, Some(state.path()), &chunks);
    let facts = &json["streams"]["stdout"];
    assert_eq!((&json["stdout"], &facts["encoding"], &facts["path"]), (&"YQD/".into(), &"binary".into(), &Value::Null));

    let small = OutputOptions { max_output: 3, ..base64 };
    let json = say_json(&small, Some(state.path()), &chunks);
    assert_eq!(json["stdout"], Value::Null);
    assert!(json["streams"]["stdout"]["path"].is_string());
}

#[test]
fn held_open_brings_the_facts() {
    let finished = Finished { held_open: true, ..succeeded() };
    let json = say(&options(OutputMode::Json), None, &[(Stream::Stdout, b"x")], &finished, None).json();
    assert_eq!((&json["streams"]["held_open"], &json["streams"]["stdout"]["bytes"]), (&true.into(), &1.into()));
    assert_valid(&json);
}

#[test]
fn a_stdout_file_has_the_bytes_and_the_envelope_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    let to_file = OutputOptions { stdout_file: Some(path.clone()), max_output: 2, ..options(OutputMode::Json) };
    let json = say_json(&to_file, Some(dir.path()), &[(Stream::Stdout, b"a\0bc"), (Stream::Stderr, b"e")]);
    assert_eq!(fs::read(&path).unwrap(), b"a\0bc");
    assert_eq!((&json["stdout"], &json["stderr"]), (&Value::Null, &"e".into()));
    assert_eq!(
        (&json["streams"]["stdout"]["path"], &json["streams"]["stdout"]["bytes"]),
        (&path.to_str().into(), &4.into())
    );

    let lost = SshCliError::new(Fault::ExitStatusMissing, Started::Yes, Effect::Write, false);
    let finished = Finished { outcome: Outcome::Unknown, remote_exit: None, ..succeeded() };
    let json = say(&to_file, Some(dir.path()), &[(Stream::Stdout, b"zz")], &finished, Some(&lost)).json();
    assert_eq!(
        (fs::read(&path).unwrap(), &json["stdout"], &json["exit_code"]),
        (b"a\0bc".to_vec(), &"zz".into(), &76.into())
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
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

#[test]
fn a_gigabyte_costs_two_small_buffers() {
    let mut capture = Capture::in_memory(&OutputOptions { spill: false, ..options(OutputMode::Json) }, None);
    let chunk = Bytes::from(b"0123456789abcdef\n".repeat(1927));
    let started = std::time::Instant::now();
    runtime().block_on(async {
        for _ in 0..4_000 {
            capture.write(Stream::Stdout, chunk.clone()).await.unwrap();
        }
    });
    let captured = capture.finish(true, false, false);
    assert_eq!(captured.streams.unwrap().stdout.bytes, 4_000 * chunk.len() as u64);
    assert!(captured.stdout.unwrap().len() < 8192 + 100);
    // 125 MiB: even an unoptimised build is far below this.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn schemas_and_tables_are_json() {
    use crate::model::request::SchemaTopic;
    for topic in [SchemaTopic::Envelope, SchemaTopic::Event, SchemaTopic::Errors, SchemaTopic::Tools] {
        let line = schema(topic, OutputMode::Json);
        assert_eq!(line.lines().count(), 1);
        let pretty = schema(topic, OutputMode::Raw);
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), serde_json::from_str::<Value>(&pretty).unwrap());
    }
    let errors: Value = serde_json::from_str(&schema(SchemaTopic::Errors, OutputMode::Json)).unwrap();
    for fault in samples::all() {
        assert!(errors.as_array().unwrap().iter().any(|row| row["code"] == fault.row().code), "{fault:?}");
    }
    let codes: Value = serde_json::from_str(&exit_codes(OutputMode::Json)).unwrap();
    assert_eq!(codes.as_array().unwrap().len(), 18);
    assert!(exit_codes(OutputMode::Raw).contains("  74  IOERR        yes      transient"));
    let tools: Value = serde_json::from_str(&schema(SchemaTopic::Tools, OutputMode::Json)).unwrap();
    for tool in tools.as_array().unwrap() {
        assert_eq!(keys(tool), ["name", "description", "input_schema"]);
        let validator = jsonschema::validator_for(&tool["input_schema"]).unwrap();
        assert!(
            validator.is_valid(&serde_json::json!({"destination": "h", "command": ["ls", "-l"], "timeout": "1h30m"}))
        );
        assert!(!validator.is_valid(&serde_json::json!({"destination": "h"})));
        assert!(!validator.is_valid(&serde_json::json!({"destination": "h", "command": "x", "timeout": "90"})));
    }
}

#[test]
fn the_schema_requires_what_is_always_there() {
    let schema = serde_json::to_value(schema::of::<Envelope>()).unwrap();
    let required: Vec<&str> = schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(required, [&ALWAYS[..], &["stdout", "stderr"]].concat());
}
