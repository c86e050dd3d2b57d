//! The streams of a run for the envelope, in memory that does not grow with them.

use std::io;
use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;

use super::encoding::{Encoding, Watch};
use super::envelope::{StreamFacts, Streams};
use super::excerpt::Kept;
use super::spill::Spill;
use super::stdout_file::{Placed, StdoutFile};
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::request::OutputOptions;
use crate::model::sink::{Sink, Stream};

/// Takes both streams: the head and the tail of each in memory, the whole beside it where that is wanted.
#[derive(Debug)]
pub struct Capture {
    stdout: Side,
    stderr: Side,
    stdout_file: Option<StdoutFile>,
    warnings: Vec<Warning>,
    options: OutputOptions,
    state_dir: Option<PathBuf>,
    /// A restart of `--stdout-file` that failed, for the next write.
    failure: Option<io::Error>,
}

/// What an envelope shows of the streams.
#[derive(Debug, Default)]
pub(super) struct Captured {
    pub(super) stdout: Option<String>,
    pub(super) stderr: Option<String>,
    pub(super) streams: Option<Streams>,
    /// Found while the streams were taken.
    pub(super) warnings: Vec<Warning>,
    /// The run is over, and its output could not be put where it was wanted.
    pub(super) failure: Option<io::Error>,
}

/// One stream.
#[derive(Debug)]
struct Side {
    kept: Kept,
    watch: Watch,
    spill: Spill,
}

struct Shown {
    text: Option<String>,
    facts: StreamFacts,
    warning: Option<Warning>,
}

impl Capture {
    /// Opens `--stdout-file`; everything else is created when it is needed. `state_dir` is where cut streams are kept.
    pub fn open(options: &OutputOptions, state_dir: Option<&Path>) -> Result<Self, Fault> {
        let stdout_file = options.stdout_file.as_deref().map(StdoutFile::create).transpose()?;
        Ok(Self { stdout_file, ..Self::in_memory(options, state_dir) })
    }

    /// Without `--stdout-file`.
    pub(super) fn in_memory(options: &OutputOptions, state_dir: Option<&Path>) -> Self {
        let limit = usize::try_from(options.max_output).unwrap_or(usize::MAX);
        let side = |stream, spill: bool| Side {
            kept: Kept::new(limit),
            watch: Watch::default(),
            spill: if spill { Spill::below(state_dir, stream) } else { Spill::off(stream) },
        };
        Self {
            // What goes to a file of the caller's is not kept a second time.
            stdout: side(Stream::Stdout, options.spill && options.stdout_file.is_none()),
            stderr: side(Stream::Stderr, options.spill),
            stdout_file: None,
            warnings: Vec::new(),
            options: options.clone(),
            state_dir: state_dir.map(Path::to_owned),
            failure: None,
        }
    }

    fn take(&mut self, stream: Stream, data: &[u8]) -> io::Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        match stream {
            Stream::Stdout => {
                self.stdout.take(data);
                self.stdout_file.as_mut().map_or(Ok(()), |file| file.write(data))
            }
            Stream::Stderr => {
                self.stderr.take(data);
                Ok(())
            }
        }
    }

    /// The end. `ended`: the command's was seen. `held_open` and `detail` bring the facts even of ordinary streams.
    pub(super) fn finish(self, ended: bool, held_open: bool, detail: bool) -> Captured {
        let total = self.stdout.kept.total();
        let asked_for = self.options.stdout_file.clone();
        let placed = self.stdout_file.map_or(Ok(Placed::Nowhere), |file| file.finish(ended, total));
        let (placed, failure) = match placed {
            Ok(placed) => (placed, None),
            Err(error) => (Placed::Nowhere, Some(error)),
        };
        let stdout = match placed {
            Placed::There(path) => Shown {
                text: None,
                facts: StreamFacts {
                    bytes: self.stdout.kept.total(),
                    encoding: self.stdout.watch.encoding(),
                    truncated: false,
                    omitted_bytes: 0,
                    path: Some(path.display().to_string()),
                },
                warning: None,
            },
            Placed::Partly(path) => {
                let mut shown = self.stdout.finish(self.options.base64);
                shown.facts.path = Some(path.display().to_string());
                let message = format!(
                    "the end of the command was not seen: what came is in {}, and {} is as it was",
                    path.display(),
                    asked_for.unwrap_or_default().display()
                );
                shown.warning = Some(Warning::new("stdout_file_partial", message));
                shown
            }
            Placed::Nowhere => self.stdout.finish(self.options.base64),
        };
        let stderr = self.stderr.finish(self.options.base64);
        let worth_saying = held_open || detail || stdout.facts.is_notable() || stderr.facts.is_notable();
        let mut warnings = self.warnings;
        warnings.extend(stdout.warning);
        warnings.extend(stderr.warning);
        Captured {
            stdout: stdout.text,
            stderr: stderr.text,
            streams: worth_saying.then_some(Streams { stdout: stdout.facts, stderr: stderr.facts, held_open }),
            warnings,
            failure,
        }
    }
}

impl Side {
    fn take(&mut self, data: &[u8]) {
        self.watch.feed(data);
        let before = self.kept.whole();
        match before {
            // While all of it is still at hand, nothing is written: most streams end before they are cut.
            Some(before) if self.spill.is_idle() => {
                if (before.len() + data.len()) as u64 > self.kept.limit() {
                    self.spill.write(before);
                    self.spill.write(data);
                }
            }
            _ => self.spill.write(data),
        }
        self.kept.push(data);
    }

    fn finish(mut self, base64: bool) -> Shown {
        let encoding = self.watch.encoding();
        let total = self.kept.total();
        let (text, omitted) = match (encoding, self.kept.whole_text()) {
            (Encoding::Utf8, Some(text)) => (Some(text), 0),
            (Encoding::Binary, _) => {
                match self.kept.whole().filter(|_| base64).map(|all| BASE64_STANDARD.encode(all)) {
                    Some(text) if text.len() as u64 <= self.kept.limit() => (Some(text), 0),
                    _ => {
                        self.keep_whole();
                        (None, total)
                    }
                }
            }
            (Encoding::Utf8Lossy, Some(text)) => {
                self.keep_whole();
                (Some(text), 0)
            }
            (_, None) => {
                self.keep_whole();
                let excerpt = self.kept.excerpt(self.spill.place().as_deref());
                (Some(excerpt.text), excerpt.omitted)
            }
        };
        let facts = StreamFacts {
            bytes: total,
            encoding,
            truncated: omitted > 0,
            omitted_bytes: omitted,
            path: self.spill.path().map(|path| path.display().to_string()),
        };
        Shown { text, facts, warning: self.spill.warning() }
    }

    /// For a stream that turned out at its end not to be shown as it is.
    fn keep_whole(&mut self) {
        if let (true, Some(all)) = (self.spill.is_idle(), self.kept.whole()) {
            self.spill.write(all);
        }
    }
}

impl Sink for Capture {
    async fn write(&mut self, stream: Stream, data: Bytes) -> io::Result<()> {
        self.take(stream, &data)
    }

    /// What an earlier attempt gave is not part of this one's output.
    fn attempt(&mut self, number: u32) {
        if number == 1 {
            return;
        }
        self.stdout.spill.discard();
        self.stderr.spill.discard();
        let anew = Self::in_memory(&self.options, self.state_dir.as_deref());
        (self.stdout, self.stderr) = (anew.stdout, anew.stderr);
        self.failure = self.stdout_file.as_mut().and_then(|file| file.restart().err());
    }

    fn is_spent(&self) -> bool {
        self.stdout_file.as_ref().is_some_and(StdoutFile::is_final) && self.stdout.kept.total() > 0
    }

    fn warning(&mut self, warning: &Warning) {
        self.warnings.push(warning.clone());
    }
}
