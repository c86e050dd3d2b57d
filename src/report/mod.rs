//! What the caller gets to see: one envelope, events, or the remote bytes; and the exit code.
//!
//! An [`Output`] takes the command's output while it runs and says at the end what happened. It decides nothing: the facts are
//! [`Finished`] and the error's.

mod bar;
mod capture;
mod check;
mod details;
mod encoding;
mod envelope;
mod excerpt;
mod json;
mod live;
mod ndjson;
mod ops;
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
use std::time::{Duration, Instant};

use bytes::Bytes;

pub use capture::Capture;
pub use encoding::Encoding;
pub use envelope::{Envelope, ErrorObject, RetryAdvice, RetryObject, SCHEMA_VERSION, StreamFacts, Streams};
pub use ndjson::{Event, Ndjson};
pub use raw::Raw;
pub use schema::{exit_codes, schema};

use bar::Bar;
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
/// The same of a copy, which has no streams to keep.
const ANNOUNCEMENT_OF_A_COPY: &str = "ssh-cli: standard output is no terminal, so it is JSON: --raw says in words what went wrong, \
                                      --json silences this line\n";

/// Where the output goes.
#[derive(Debug)]
pub struct Output {
    form: Form,
    options: OutputOptions,
    /// How far a copy has come, on standard error; in raw mode it is among what goes there anyway.
    bar: Option<Box<(Bar, Live)>>,
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
        let shown = || options.bar.then(|| Bar::on(&stderr));
        let mut bar = None;
        let form = match options.mode {
            OutputMode::Json => {
                bar = shown().map(|bar| Box::new((bar, Live::on(&stderr))));
                Form::Json(Box::new(capture))
            }
            OutputMode::Ndjson => Form::Ndjson(Box::new(Ndjson::on(Live::on(&stdout)))),
            OutputMode::Raw => Form::Raw(Box::new(Raw::on(Live::on(&stdout), Live::on(&stderr), shown()))),
        };
        let copy = |descriptor: std::os::fd::BorrowedFd<'_>| descriptor.try_clone_to_owned().ok().map(File::from);
        Self { form, options: options.clone(), bar, stdout: copy(stdout.as_fd()), stderr: copy(stderr.as_fd()) }
    }

    /// Waits until what was taken so far is written, so that [`Output::finish`] need not: a reader may be slow. To be called
    /// when the run is over; nothing can be written afterwards.
    pub async fn drained(&mut self) -> io::Result<()> {
        if let Some((bar, live)) = self.bar.as_deref_mut() {
            if let Some(erased) = bar.clear() {
                live.post(erased);
            }
            let _ = live.drained().await;
        }
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
        let Self { form, options, bar, stdout, stderr } = self;
        if let Some((mut bar, mut live)) = bar.map(|both| *both) {
            let erased = bar.clear();
            let (left, _) = live.join();
            let _ = write(stderr.as_ref(), &left.into_iter().chain(erased).flatten().collect::<Vec<u8>>());
        }
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
                        let line = if command == "scp" { ANNOUNCEMENT_OF_A_COPY } else { ANNOUNCEMENT };
                        let _ = write(stderr.as_ref(), line.as_bytes());
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
                let report = match (&finished.check, &finished.ops) {
                    (Some(check), _) => check::text(check),
                    (None, Some(operations)) => ops::text(command, operations, columns(stdout.as_ref())),
                    (None, None) => String::new(),
                };
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
            Form::Json(capture) => {
                if let Some((bar, _)) = self.bar.as_deref_mut() {
                    bar.restart();
                }
                capture.attempt(number);
            }
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

    fn progress(&mut self, path: &[u8], bytes: u64, total_bytes: Option<u64>) {
        match &mut self.form {
            Form::Json(_) => {
                if let Some((bar, live)) = self.bar.as_deref_mut()
                    && let Some(line) = bar.line(path, bytes, total_bytes, Instant::now())
                {
                    live.offer(line);
                }
            }
            Form::Ndjson(ndjson) => ndjson.progress(path, bytes, total_bytes),
            Form::Raw(raw) => raw.progress(path, bytes, total_bytes),
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

/// How wide the terminal is; none where it is none.
fn columns(file: Option<&File>) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(file?).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

fn write(file: Option<&File>, data: &[u8]) -> io::Result<()> {
    file.map_or(Err(io::ErrorKind::BrokenPipe.into()), |file| write_whole(file, data))
}
