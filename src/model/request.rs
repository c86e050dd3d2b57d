//! What the caller means, after the command line was read and before anything was touched.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::copy::CopyRequest;
use super::operation::OperationKey;
use super::ops::OpsRequest;
use crate::effect::Effect;

/// One invocation.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to do.
    pub action: Action,
    /// How to say what happened.
    pub output: OutputOptions,
    /// `-v`, counted.
    pub verbosity: u8,
}

/// What to do.
#[derive(Clone, Debug)]
pub enum Action {
    /// Run one command.
    Exec(Box<ExecRequest>),
    /// Copy files.
    Copy(Box<CopyRequest>),
    /// Connect, and run nothing.
    Check(Box<CheckRequest>),
    /// Ask about keyed operations, or decide about one.
    Ops(Box<OpsRequest>),
    /// Print a JSON Schema, the error table or the tool definitions.
    Schema(SchemaTopic),
    /// Print the table of exit codes.
    ExitCodes,
    /// Print a completion script for this shell.
    Completions(String),
    /// Print this text (help or version) as it is, and end with 0.
    Print(String),
}

impl Action {
    /// The name of the command, as in the envelope.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exec(request) => match &request.run.elevation {
                None => "exec",
                Some(elevation) => elevation.method.command(),
            },
            Self::Copy(_) => "scp",
            Self::Check(_) => "check",
            Self::Ops(request) => request.name(),
            Self::Schema(_) => "schema",
            Self::ExitCodes => "exit-codes",
            Self::Completions(_) => "completions",
            Self::Print(_) => "help",
        }
    }
}

/// What `ssh-cli schema` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaTopic {
    /// The envelope.
    Envelope,
    /// One line of `--output ndjson`.
    Event,
    /// Every error code.
    Errors,
    /// Tool definitions for an agent.
    Tools,
}

/// `exec`, as meant.
#[derive(Clone, Debug)]
pub struct ExecRequest {
    /// DEST as typed.
    pub destination: String,
    /// How to get there.
    pub connection: ConnectionOptions,
    /// What to run, and how.
    pub run: RunOptions,
    /// Whether to try again by ourselves.
    pub retry: RetryOptions,
}

/// `check`, as meant.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// DEST as typed.
    pub destination: String,
    /// How to get there.
    pub connection: ConnectionOptions,
    /// Whether to try again by ourselves.
    pub retry: RetryOptions,
    /// `--offline`: say whom this would call, and call nobody.
    pub offline: bool,
}

/// `--retries` and its companions, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryOptions {
    /// `--retries`: 0 is off.
    pub retries: u32,
    /// `--retry-base`.
    pub base: Option<Duration>,
    /// `--retry-max-delay`.
    pub max_delay: Option<Duration>,
    /// `--retry-wait`.
    pub wait: Option<Duration>,
}

/// Options of every command that connects.
#[derive(Clone, Debug)]
pub struct ConnectionOptions {
    /// `-F`.
    pub config: ConfigFile,
    /// `-o KEY=VALUE`, in order.
    pub options: Vec<String>,
    /// `-l`.
    pub user: Option<String>,
    /// `-p`.
    pub port: Option<u16>,
    /// `-i`, in order.
    pub identities: Vec<IdentitySource>,
    /// `-J`, split at commas.
    pub jump: Vec<String>,
    /// `--password`.
    pub password: Option<SecretSource>,
    /// `--passphrase`.
    pub passphrase: Option<SecretSource>,
    /// `--otp`.
    pub otp: Option<SecretSource>,
    /// `--host-key-policy`.
    pub host_key_policy: Option<HostKeyPolicy>,
    /// `--host-key`, as typed: `SHA256:…` or `TYPE BASE64`.
    pub host_key_pins: Vec<String>,
    /// `--connect-timeout`.
    pub connect_timeout: Option<Duration>,
    /// `--deadline`.
    pub deadline: Option<Duration>,
    /// `--keepalive`: zero turns it off.
    pub keepalive: Option<Duration>,
}

/// `-F`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigFile {
    /// The user's, then the system's.
    Default,
    /// `none`: no file at all.
    None,
    /// This file alone.
    File(PathBuf),
}

/// `--host-key-policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKeyPolicy {
    /// Only keys that are known.
    Strict,
    /// Unknown hosts are added, changed ones refused.
    AcceptNew,
    /// Nothing is checked.
    Insecure,
}

/// `-i`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentitySource {
    /// A key file.
    File(PathBuf),
    /// The key's text.
    Secret(SecretSource),
}

/// `SRC`: where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// `env:NAME`.
    Env(String),
    /// `file:PATH`.
    File(PathBuf),
    /// `fd:N`.
    Fd(u32),
    /// `stdin`: its first line.
    Stdin,
    /// `cmd:COMMAND`: the first line of its output.
    Command(String),
    /// `askpass`: what `SSH_ASKPASS` names.
    Askpass,
    /// `prompt`: the terminal.
    Prompt,
}

impl SecretSource {
    /// True where reading the secret reads our standard input, so that nothing else can.
    pub const fn reads_stdin(&self) -> bool {
        matches!(self, Self::Stdin | Self::Fd(0))
    }
}

/// COMMAND.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteCommand {
    /// The remote shell's text, byte for byte.
    Text(OsString),
    /// An argument vector, to be quoted.
    Argv(Vec<OsString>),
    /// None: with `--script` there may be no arguments.
    Nothing,
}

/// What becomes of standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StdinMode {
    /// Closed at once, ours is not read. `guard`: look whether it was probably meant (off with `-n`).
    Closed {
        /// Refuse a file, warn about a pipe with data.
        guard: bool,
    },
    /// `--stdin`: ours is forwarded.
    Inherit,
    /// `--stdin-file`.
    File(PathBuf),
}

/// `--script`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptSource {
    /// `-`.
    Stdin,
    /// A local file.
    File(PathBuf),
}

/// `--env NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvPair {
    /// A shell name: letters, digits, `_`, not a digit first.
    pub name: String,
    /// Any bytes but NUL.
    pub value: OsString,
}

/// `--secret-env NAME=SRC`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretEnvPair {
    /// As in [`EnvPair`].
    pub name: String,
    /// Where its value comes from.
    pub source: SecretSource,
}

/// Options of the commands that run something.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// COMMAND.
    pub command: RemoteCommand,
    /// `--stdin`, `--stdin-file`, `-n`.
    pub stdin: StdinMode,
    /// `--script`.
    pub script: Option<ScriptSource>,
    /// `--cwd`.
    pub cwd: Option<OsString>,
    /// `--env`.
    pub env: Vec<EnvPair>,
    /// `--secret-env`.
    pub secret_env: Vec<SecretEnvPair>,
    /// `--login`.
    pub login: bool,
    /// `--pty`.
    pub pty: bool,
    /// `--timeout`.
    pub timeout: Option<Duration>,
    /// `--no-exit-status`.
    pub no_exit_status: bool,
    /// `--effect`.
    pub effect: Effect,
    /// `sudo-exec` and `su-exec`: as another user.
    pub elevation: Option<Elevation>,
    /// `--op`: the run is a keyed operation.
    pub keyed: Option<KeyedOptions>,
}

/// As whom a command runs, and how it gets there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elevation {
    /// By which program.
    pub method: Method,
    /// `--as`: who runs the command.
    pub user: String,
    /// `--sudo-password` or `--su-password`.
    pub password: Option<SecretSource>,
    /// `--sudo-direct`: no shell of ours in between.
    pub direct: bool,
}

/// The program that gives another user's rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `sudo`.
    Sudo,
    /// `su`.
    Su,
}

impl Method {
    /// The command of ours that uses it.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Sudo => "sudo-exec",
            Self::Su => "su-exec",
        }
    }
}

/// `--op` and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedOptions {
    /// `--op`.
    pub key: OperationKey,
    /// `--wait`: zero starts and looks once; none follows it to its end.
    pub wait: Option<Duration>,
    /// `--dedupe`.
    pub dedupe: bool,
}

/// `--output` and what belongs to it.
#[derive(Clone, Debug)]
pub struct OutputOptions {
    /// The form.
    pub mode: OutputMode,
    /// Nobody chose the form: it followed from what stdout is.
    pub defaulted: bool,
    /// It was defaulted where a person may be looking: stdout is no terminal, stderr is one. A line there says so.
    pub announce: bool,
    /// `--detail`.
    pub detail: bool,
    /// `--max-output`: bytes of one stream in the envelope, as encoded in JSON.
    pub max_output: u64,
    /// Not `--no-spill`.
    pub spill: bool,
    /// `--base64`.
    pub base64: bool,
    /// `--stdout-file`.
    pub stdout_file: Option<PathBuf>,
    /// `--remote-exit`, or raw.
    pub remote_exit: bool,
    /// How far a copy has come is shown on standard error.
    pub bar: bool,
}

impl OutputOptions {
    /// One envelope, as if nothing had been said of it.
    pub fn plain() -> Self {
        Self {
            mode: OutputMode::Json,
            defaulted: true,
            announce: false,
            detail: false,
            max_output: 0,
            spill: false,
            base64: false,
            stdout_file: None,
            remote_exit: false,
            bar: false,
        }
    }
}

/// `--output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// One document at the end.
    Json,
    /// One event a line, as it happens.
    Ndjson,
    /// The remote bytes.
    Raw,
}
