//! A run in miniature: chunks in, what is said out.

mod copies;
mod envelope;
mod forms;
mod keyed;
mod streams;

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
        bar: false,
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
