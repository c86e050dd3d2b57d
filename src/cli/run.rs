//! The options of the commands that run something, and COMMAND.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::values::{is_shell_name, positive_duration};
use super::{source, usage};
use crate::effect::Effect;
use crate::errors::Fault;
use crate::model::request::{Elevation, EnvPair, RemoteCommand, RunOptions, ScriptSource, SecretEnvPair, StdinMode};

/// As typed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub(super) struct RunArgs {
    /// Send our standard input to the command, and its end
    #[arg(long)]
    stdin: bool,

    /// Send this file to the command's standard input; `-` is --stdin
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    stdin_file: Option<PathBuf>,

    /// Our standard input is not meant: neither refuse a file there nor warn about waiting data
    ///
    /// Without --stdin the command's standard input is closed at once. A regular file with data on ours is then a usage error,
    /// since it was probably meant, and waiting data in a pipe brings a warning.
    #[arg(short = 'n')]
    no_stdin: bool,

    /// Run this local script with `sh`, or with what its `#!` line names; `-` is standard input
    ///
    /// It arrives whole and its length is checked before its first line runs. COMMAND becomes its arguments.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    script: Option<PathBuf>,

    /// Quote even a single word for the remote shell (for `"$@"` in scripts)
    #[arg(long)]
    argv: bool,

    /// The directory to run in; needs a POSIX shell there
    #[arg(long, value_name = "DIR")]
    cwd: Option<OsString>,

    /// Set a variable for the command; repeatable; needs a POSIX shell there
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,

    /// Set a variable from a SRC; repeatable. It never appears in the command's text
    #[arg(long, value_name = "NAME=SRC")]
    secret_env: Vec<OsString>,

    /// Run through a login shell, with its PATH; needs a POSIX shell there
    #[arg(long)]
    login: bool,

    /// Ask for a terminal there; both streams become one
    #[arg(long)]
    pty: bool,

    /// Limit of the run; then INT, TERM and KILL to the command, and a report whether it stopped
    #[arg(long, value_name = "DUR", value_parser = positive_duration)]
    timeout: Option<Duration>,

    /// For gear that never sends an exit status: an orderly end is success, with a warning
    #[arg(long)]
    no_exit_status: bool,

    /// What running it a second time would do
    ///
    /// It decides whether a connection that was lost in the middle may be answered by running it again (exit 74) or not (76).
    #[arg(long, value_name = "EFFECT", default_value = "write")]
    effect: EffectArg,
}

/// What running it a second time would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum EffectArg {
    /// Nothing: it only looks
    Read,
    /// Nothing more than the first time
    Idempotent,
    /// It again
    Write,
}

impl From<EffectArg> for Effect {
    fn from(effect: EffectArg) -> Self {
        match effect {
            EffectArg::Read => Self::Read,
            EffectArg::Idempotent => Self::Idempotent,
            EffectArg::Write => Self::Write,
        }
    }
}

impl RunArgs {
    /// As meant, with COMMAND's words. `stdin_taken`: an option of another group reads our standard input.
    pub(super) fn into_options(
        self,
        words: Vec<OsString>,
        stdin_taken: bool,
        elevation: Option<Elevation>,
    ) -> Result<RunOptions, Fault> {
        if elevation.as_ref().is_some_and(|elevation| elevation.direct) {
            self.refuse_shell_options(&words)?;
        }
        if self.cwd.as_ref().is_some_and(|dir| dir.is_empty()) {
            return Err(usage("--cwd is empty"));
        }
        let env = self.env.iter().map(|pair| env_pair(pair)).collect::<Result<Vec<_>, _>>()?;
        let secret_env = self.secret_env.iter().map(|pair| secret_env_pair(pair)).collect::<Result<Vec<_>, _>>()?;
        refuse_twice(
            env.iter().map(|pair| pair.name.as_str()).chain(secret_env.iter().map(|pair| pair.name.as_str())),
        )?;
        let script = self.script.map(|path| match path {
            dash if dash.as_os_str() == "-" => ScriptSource::Stdin,
            path => ScriptSource::File(path),
        });
        let reads_ours = stdin_taken
            || script == Some(ScriptSource::Stdin)
            || secret_env.iter().any(|pair| pair.source.reads_stdin());
        let stdin = match self.stdin_file {
            Some(dash) if dash.as_os_str() == "-" => StdinMode::Inherit,
            Some(path) => StdinMode::File(path),
            None if self.stdin => StdinMode::Inherit,
            None => StdinMode::Closed { guard: !self.no_stdin && !reads_ours },
        };
        Ok(RunOptions {
            command: command(words, script.is_some(), self.argv)?,
            stdin,
            script,
            cwd: self.cwd,
            env,
            secret_env,
            login: self.login,
            pty: self.pty,
            timeout: self.timeout,
            elevation,
            keyed: None,
            no_exit_status: self.no_exit_status,
            effect: self.effect.into(),
        })
    }

    /// `--sudo-direct` has no shell that could do any of this.
    fn refuse_shell_options(&self, words: &[OsString]) -> Result<(), Fault> {
        let table = [
            (self.script.is_some(), "--script"),
            (self.cwd.is_some(), "--cwd"),
            (!self.env.is_empty(), "--env"),
            (!self.secret_env.is_empty(), "--secret-env"),
            (self.login, "--login"),
        ];
        if let Some((_, option)) = table.into_iter().find(|(given, _)| *given) {
            return Err(Fault::OptionConflict {
                options: format!("--sudo-direct and {option}"),
                why: "without a shell of ours nothing there can do it".to_owned(),
            });
        }
        match words {
            [word] if !self.argv && !is_program(word) => Err(usage(
                "with --sudo-direct no shell reads COMMAND: give the program and its arguments as words of their own, or \
                 --argv for a program with such a name",
            )),
            _ => Ok(()),
        }
    }

    /// Everything of this group that wants to be, or to read, standard input.
    pub(super) fn stdin_wishes(&self) -> StdinWishes {
        let reads = |pair: &&OsString| {
            pair.to_str().and_then(|pair| pair.split_once('=')).is_some_and(|(_, src)| src == "stdin" || src == "fd:0")
        };
        StdinWishes {
            forward: self.stdin,
            file: self.stdin_file.as_ref().map(|path| path.as_os_str() == "-"),
            refused: self.no_stdin,
            script: self.script.as_ref().map(|path| path.as_os_str() == "-"),
            secrets: self.secret_env.iter().filter(reads).count(),
        }
    }
}

/// What was asked of standard input, before it is known to make sense.
pub(super) struct StdinWishes {
    /// `--stdin`.
    pub(super) forward: bool,
    /// `--stdin-file`, and whether it is `-`.
    pub(super) file: Option<bool>,
    /// `-n`.
    pub(super) refused: bool,
    /// `--script`, and whether it is `-`.
    pub(super) script: Option<bool>,
    /// How many `--secret-env` read it.
    pub(super) secrets: usize,
}

/// One word is text for the remote shell, several are an argument vector; `""` is what an unset variable leaves behind.
fn command(mut words: Vec<OsString>, script: bool, argv: bool) -> Result<RemoteCommand, Fault> {
    let blank = |word: &OsString| word.as_bytes().iter().all(u8::is_ascii_whitespace);
    match words.len() {
        0 if script => Ok(RemoteCommand::Nothing),
        0 => Err(Fault::MissingCommand),
        1 if !script && !argv => match words.remove(0) {
            word if blank(&word) => Err(Fault::MissingCommand),
            word => Ok(RemoteCommand::Text(word)),
        },
        _ => Ok(RemoteCommand::Argv(words)),
    }
}

/// One word that a shell would read as one word.
fn is_program(word: &OsStr) -> bool {
    word.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || b"/._+-@:,=%".contains(byte) || !byte.is_ascii())
}

fn env_pair(pair: &OsStr) -> Result<EnvPair, Fault> {
    let (name, value) = split_pair("--env NAME=VALUE", pair)?;
    Ok(EnvPair { name, value: OsString::from_vec(value.to_vec()) })
}

fn secret_env_pair(pair: &OsStr) -> Result<SecretEnvPair, Fault> {
    let (name, value) = split_pair("--secret-env NAME=SRC", pair)?;
    Ok(SecretEnvPair { source: source("--secret-env", OsStr::from_bytes(value))?, name })
}

/// The message names neither half: either may be a secret in the wrong place.
fn split_pair<'a>(form: &str, pair: &'a OsStr) -> Result<(String, &'a [u8]), Fault> {
    let bytes = pair.as_bytes();
    let split = bytes.iter().position(|b| *b == b'=').map(|at| (&bytes[..at], &bytes[at + 1..]));
    let (name, value) = split.ok_or_else(|| usage(format!("{form}: there is no `=`")))?;
    match std::str::from_utf8(name) {
        Ok(name) if is_shell_name(name) => Ok((name.to_owned(), value)),
        _ => Err(usage(format!("{form}: a name is letters, digits and `_`, and does not begin with a digit"))),
    }
}

fn refuse_twice<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Fault::OptionConflict {
                options: format!("two values for {name} (--env, --secret-env)"),
                why: "a variable has one value".to_owned(),
            });
        }
    }
    Ok(())
}
