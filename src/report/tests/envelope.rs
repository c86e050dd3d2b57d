//! The fields of the envelope, and the schemas of all that is printed.

use super::*;

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
fn held_open_brings_the_facts() {
    let finished = Finished { held_open: true, ..succeeded() };
    let json = say(&options(OutputMode::Json), None, &[(Stream::Stdout, b"x")], &finished, None).json();
    assert_eq!((&json["streams"]["held_open"], &json["streams"]["stdout"]["bytes"]), (&true.into(), &1.into()));
    assert_valid(&json);
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
        if tool["name"] == "ssh_scp" {
            assert!(validator.is_valid(&serde_json::json!({"paths": ["a", "h:b"], "mode": "0644", "recursive": true})));
            for wrong in
                [r#"{"paths": ["a"]}"#, r#"{"paths": ["a", "h:b"], "mode": "1777"}"#, r#"{"destination": "h"}"#]
            {
                assert!(!validator.is_valid(&serde_json::from_str(wrong).unwrap()), "{wrong}");
            }
            continue;
        }
        if tool["name"] == "ssh_check" {
            assert!(validator.is_valid(&serde_json::json!({"destination": "h", "offline": true})));
            assert!(!validator.is_valid(&serde_json::json!({"destination": "h", "command": "x"})));
            continue;
        }
        if let Some(verb) = tool["name"].as_str().unwrap().strip_prefix("ssh_ops_") {
            let about = serde_json::json!({"destination": "h", "key": "k"});
            let decided = serde_json::json!({"destination": "h", "key": "k", "verdict": "done", "status": 3});
            let taken =
                (validator.is_valid(&serde_json::json!({})), validator.is_valid(&about), validator.is_valid(&decided));
            assert_eq!(taken, (verb == "list", verb == "show" || verb == "cancel", verb == "resolve"), "{verb}");
            continue;
        }
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
