//! What the caller gets to see: one envelope, events, or the remote bytes; and the exit code.
//!
//! An [`Output`] takes the command's output while it runs and says at the end what happened. It decides nothing: the facts are
//! [`Finished`] and the error's.

mod capture;
mod check;
mod details;
mod encoding;
mod envelope;
mod excerpt;
mod json;
mod live;
mod ndjson;
mod raw;
mod schema;
mod spill;
mod status;
mod stdout_file;
#[cfg(test)]
mod tests;
mod tools;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;

pub use capture::Capture;
pub use encoding::Encoding;
pub use envelope::{Envelope, ErrorObject, RetryAdvice, RetryObject, SCHEMA_VERSION, StreamFacts, Streams};
pub use ndjson::{Event, Ndjson};
pub use raw::Raw;
pub use schema::{exit_codes, schema};

use capture::Captured;
use envelope::EnvelopeInput;
use live::{Live, write_whole};

use crate::errors::{Caught, Fault, SshCliError, exit_codes as exit};
use crate::model::outcome::{Finished, Outcome, Warning};
use crate::model::request::{OutputMode, OutputOptions};
use crate::model::sink::{Sink, Stream};

/// Told once where nobody chose the form, and a person may wonder.
const ANNOUNCEMENT: &str = "ssh-cli: standard output is no terminal, so it is JSON: --raw gives the plain bytes, \
                            --stdout-file PATH keeps them in a file, --json silences this line\n";

/// Where the output goes.
#[derive(Debug)]
pub struct Output {
    form: Form,
    options: OutputOptions,
    /// Copies of our own descriptors; none where there are none left.
    stdout: Option<File>,
    stderr: Option<File>,
}

/// In which form.
#[derive(Debug)]
enum Form {
    Json(Box<Capture>),
    Ndjson(Box<Ndjson>),
    Raw(Box<Raw>),
}

impl Output {
    /// On our standard output and error. `state_dir` is where cut streams are kept. Fails only where `--stdout-file` cannot be:
    /// then [`Output::without_file`] can still tell it.
    pub fn open(options: &OutputOptions, state_dir: Option<&Path>) -> Result<Self, Fault> {
        Self::on(options, state_dir, io::stdout(), io::stderr())
    }

    /// For an invocation that runs nothing.
    pub fn without_file(options: &OutputOptions) -> Self {
        let capture = Capture::in_memory(options, None);
        Self::with(options, capture, io::stdout(), io::stderr())
    }

    fn on(
        options: &OutputOptions,
        state_dir: Option<&Path>,
        stdout: impl AsFd,
        stderr: impl AsFd,
    ) -> Result<Self, Fault> {
        Ok(Self::with(options, Capture::open(options, state_dir)?, stdout, stderr))
    }

    fn with(options: &OutputOptions, capture: Capture, stdout: impl AsFd, stderr: impl AsFd) -> Self {
        let form = match options.mode {
            OutputMode::Json => Form::Json(Box::new(capture)),
            OutputMode::Ndjson => Form::Ndjson(Box::new(Ndjson::on(Live::on(&stdout)))),
            OutputMode::Raw => Form::Raw(Box::new(Raw::on(Live::on(&stdout), Live::on(&stderr)))),
        };
        let copy = |descriptor: std::os::fd::BorrowedFd<'_>| descriptor.try_clone_to_owned().ok().map(File::from);
        Self { form, options: options.clone(), stdout: copy(stdout.as_fd()), stderr: copy(stderr.as_fd()) }
    }

    /// Waits until what was taken so far is written, so that [`Output::finish`] need not: a reader may be slow. To be called
    /// when the run is over; nothing can be written afterwards.
    pub async fn drained(&mut self) -> io::Result<()> {
        match &mut self.form {
            Form::Json(_) => Ok(()),
            Form::Ndjson(ndjson) => ndjson.drained().await,
            Form::Raw(raw) => raw.drained().await,
        }
    }

    /// Says what happened, and returns the exit code. `retry_delay` is a full-jitter draw for the next attempt.
    pub fn finish(
        self,
        finished: &Finished,
        error: Option<&SshCliError>,
        command: &'static str,
        retry_delay: Duration,
    ) -> i32 {
        let Self { form, options, stdout, stderr } = self;
        let envelope = |captured: Captured| {
            EnvelopeInput { command, finished, error, retry_delay, options: &options, captured }.into_envelope()
        };
        match form {
            Form::Json(capture) => {
                let ended = matches!(finished.outcome, Outcome::Succeeded | Outcome::Failed | Outcome::Stopped);
                let mut captured = capture.finish(ended, finished.held_open, options.detail);
                let failure = captured.failure.take();
                let mut envelope = envelope(captured);
                if let Some(failure) = failure {
                    envelope.fail(&output_failed(&failure, finished));
                }
                match write(stdout.as_ref(), &json::line(&envelope)) {
                    Ok(()) if options.announce => {
                        let _ = write(stderr.as_ref(), ANNOUNCEMENT.as_bytes());
                    }
                    Ok(()) => {}
                    Err(failure) => {
                        envelope.fail(&output_failed(&failure, finished));
                        let _ = write(stderr.as_ref(), &json::line(&envelope));
                    }
                }
                envelope.exit_code
            }
            Form::Ndjson(mut ndjson) => {
                let (left, ended) = ndjson.close();
                let streams = ndjson.streams(finished.held_open, options.detail);
                let warnings = ndjson.warned().to_vec();
                let mut result = envelope(Captured { streams, warnings, ..Captured::default() });
                let lines = [left, ndjson.last_lines(&result)].concat();
                if let Err(failure) = ended.and_then(|()| write(stdout.as_ref(), &lines)) {
                    result.fail(&output_failed(&failure, finished));
                    let _ = write(stderr.as_ref(), &ndjson.last_lines(&result));
                }
                result.exit_code
            }
            Form::Raw(mut raw) => {
                let (left, ended) = raw.close();
                let report = finished.check.as_ref().map(check::text).unwrap_or_default();
                let ended = ended.and_then(|()| match report.as_bytes() {
                    [] => Ok(()),
                    report => write(stdout.as_ref(), report),
                });
                let failed = ended.err().filter(|_| error.is_none()).map(|failure| output_failed(&failure, finished));
                let error = failed.as_ref().or(error);
                let _ = write(stderr.as_ref(), &[&left[..], raw.last_lines(finished, error).as_bytes()].concat());
                status::exit_code(finished, error, true)
            }
        }
    }
}

impl Sink for Output {
    async fn write(&mut self, stream: Stream, data: Bytes) -> io::Result<()> {
        match &mut self.form {
            Form::Json(capture) => capture.write(stream, data).await,
            Form::Ndjson(ndjson) => ndjson.write(stream, data).await,
            Form::Raw(raw) => raw.write(stream, data).await,
        }
    }

    fn attempt(&mut self, number: u32) {
        match &mut self.form {
            Form::Json(capture) => capture.attempt(number),
            Form::Ndjson(ndjson) => ndjson.attempt(number),
            Form::Raw(raw) => raw.attempt(number),
        }
    }

    fn is_spent(&self) -> bool {
        match &self.form {
            Form::Json(capture) => capture.is_spent(),
            Form::Ndjson(ndjson) => ndjson.is_spent(),
            Form::Raw(raw) => raw.is_spent(),
        }
    }

    fn warning(&mut self, warning: &Warning) {
        match &mut self.form {
            Form::Json(capture) => capture.warning(warning),
            Form::Ndjson(ndjson) => ndjson.warning(warning),
            Form::Raw(raw) => raw.warning(warning),
        }
    }
}

/// Prints a text that is the whole answer, and returns the exit code.
pub fn print(text: &str) -> i32 {
    let stdout = io::stdout().as_fd().try_clone_to_owned().ok().map(File::from);
    match write(stdout.as_ref(), text.as_bytes()) {
        Ok(()) => exit::EX_OK,
        Err(failure) if failure.kind() == io::ErrorKind::BrokenPipe => exit::EX_SIGPIPE,
        Err(_) => exit::EX_CANTCREAT,
    }
}

/// Our own output went nowhere: its reader left, or its disk is full.
fn output_failed(failure: &io::Error, finished: &Finished) -> SshCliError {
    let fault = match failure.kind() {
        io::ErrorKind::BrokenPipe => Fault::Interrupted { signal: Caught::Pipe, confirmed: None },
        _ => Fault::StdoutFailed { problem: failure.to_string() },
    };
    SshCliError::new(fault, finished.started, finished.effect, false)
}

fn write(file: Option<&File>, data: &[u8]) -> io::Result<()> {
    file.map_or(Err(io::ErrorKind::BrokenPipe.into()), |file| write_whole(file, data))
}
