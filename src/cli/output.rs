//! The output options, and how the form is chosen.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, ValueHint};

use super::values::size;
use super::{Surroundings, usage};
use crate::constants::MAX_OUTPUT_BYTES;
use crate::errors::Fault;
use crate::model::request::{OutputMode, OutputOptions};

/// Of every command; may stand before it, too.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// The form of the output [default: raw when standard output is a terminal, else json]
    ///
    /// `SSH_CLI_OUTPUT` sets another default.
    #[arg(long, value_name = "FORM", global = true)]
    output: Option<OutputModeArg>,

    /// Short for --output json
    #[arg(long, global = true)]
    json: bool,

    /// Short for --output raw
    #[arg(long, global = true)]
    raw: bool,

    /// Every field of the envelope
    #[arg(long, global = true)]
    detail: bool,

    /// Log to standard error; repeat it for more
    #[arg(short = 'v', long, action = ArgAction::Count, global = true)]
    verbose: u8,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputModeArg {
    /// One JSON document at the end
    Json,
    /// One JSON event a line, as it happens
    Ndjson,
    /// The remote bytes, live; failures in words on standard error
    Raw,
}

impl From<OutputModeArg> for OutputMode {
    fn from(mode: OutputModeArg) -> Self {
        match mode {
            OutputModeArg::Json => Self::Json,
            OutputModeArg::Ndjson => Self::Ndjson,
            OutputModeArg::Raw => Self::Raw,
        }
    }
}

/// What becomes of the streams; of the commands that run something.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct CaptureArgs {
    /// The most of each stream in the envelope, as encoded; the head and the tail are kept, cut at lines [default: 8KiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_output: Option<u64>,

    /// Do not keep a cut stream whole in the state directory
    #[arg(long)]
    no_spill: bool,

    /// Write the exact bytes of standard output here, in place once the run has ended; implies --json
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    stdout_file: Option<PathBuf>,

    /// Put a stream with NUL bytes into the envelope as base64, where it fits; implies --json
    #[arg(long)]
    base64: bool,

    /// End with the remote status: 1-63 and 79-254 pass, signals as 128+n, all else that is not 0 is 1
    ///
    /// 130, 141 and 143 become 1: they say that ssh-cli itself was signalled. --raw implies this option.
    #[arg(long)]
    remote_exit: bool,
}

impl OutputArgs {
    /// `-v`, counted.
    pub(super) const fn verbosity(&self) -> u8 {
        self.verbose
    }

    /// As meant, for a command that prints what it knows.
    pub(super) fn to_options(&self, surroundings: &Surroundings) -> Result<OutputOptions, Fault> {
        let chosen = match (self.output, self.json, self.raw) {
            (_, true, true) => return Err(conflict("--json and --raw", ONE_FORM)),
            (Some(OutputModeArg::Ndjson | OutputModeArg::Raw), true, _) => {
                return Err(conflict("--output and --json", ONE_FORM));
            }
            (Some(OutputModeArg::Json | OutputModeArg::Ndjson), _, true) => {
                return Err(conflict("--output and --raw", ONE_FORM));
            }
            (Some(mode), _, _) => Some(mode.into()),
            (None, true, _) => Some(OutputMode::Json),
            (None, _, true) => Some(OutputMode::Raw),
            (None, false, false) => None,
        };
        let chosen = match (chosen, surroundings.output_variable.as_deref()) {
            (None, Some(word)) if !word.is_empty() => Some(
                mode_word(word)
                    .ok_or_else(|| usage("SSH_CLI_OUTPUT can be json, ndjson or raw, and is something else"))?,
            ),
            (chosen, _) => chosen,
        };
        Ok(OutputOptions { detail: self.detail, ..options(chosen, surroundings) })
    }

    /// As meant, for a command that runs something.
    pub(super) fn to_capture_options(
        &self,
        capture: CaptureArgs,
        surroundings: &Surroundings,
    ) -> Result<OutputOptions, Fault> {
        let mut options = self.to_options(surroundings)?;
        let json_only = match (&capture.stdout_file, capture.base64) {
            (Some(_), _) => Some(("--stdout-file", "only the envelope leaves standard output to a file")),
            (None, true) => Some(("--base64", "it is a form of the envelope's streams")),
            (None, false) => None,
        };
        match json_only {
            Some(_) if options.defaulted => {
                options.mode = OutputMode::Json;
                options.remote_exit = false;
            }
            Some((flag, why)) if options.mode != OutputMode::Json => {
                let form = if options.mode == OutputMode::Raw { "raw" } else { "ndjson" };
                return Err(conflict(&format!("{flag} and {form} output"), why));
            }
            _ => {}
        }
        if capture.stdout_file.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            return Err(usage("--stdout-file is empty"));
        }
        options.max_output = capture.max_output.unwrap_or(MAX_OUTPUT_BYTES);
        options.spill = !capture.no_spill;
        options.base64 = capture.base64;
        options.stdout_file = capture.stdout_file;
        options.remote_exit |= capture.remote_exit;
        Ok(options)
    }
}

const ONE_FORM: &str = "the output has one form";

fn conflict(options: &str, why: &str) -> Fault {
    Fault::OptionConflict { options: options.to_owned(), why: why.to_owned() }
}

/// The word of a form.
pub(super) fn mode_word(word: &OsStr) -> Option<OutputMode> {
    OutputModeArg::from_str(word.to_str()?, true).ok().map(Into::into)
}

/// The options that follow from the form alone. `None`: nobody chose, and the surroundings decide.
pub(super) fn options(chosen: Option<OutputMode>, surroundings: &Surroundings) -> OutputOptions {
    let default = if surroundings.stdout_is_terminal { OutputMode::Raw } else { OutputMode::Json };
    let mode = chosen.unwrap_or(default);
    let defaulted = chosen.is_none();
    OutputOptions {
        mode,
        defaulted,
        announce: defaulted && !surroundings.stdout_is_terminal && surroundings.stderr_is_terminal,
        detail: false,
        max_output: MAX_OUTPUT_BYTES,
        spill: true,
        base64: false,
        stdout_file: None,
        remote_exit: mode == OutputMode::Raw,
        bar: false,
    }
}
