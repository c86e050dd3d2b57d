//! The options of every command that connects.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::values::{duration, port, positive_duration};
use super::{source, usage};
use crate::errors::Fault;
use crate::model::request::{ConfigFile, ConnectionOptions, HostKeyPolicy, IdentitySource, SecretSource};

/// As typed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(super) struct ConnectionArgs {
    /// `ssh_config` to read instead of the user's and the system's; `none` reads none
    #[arg(short = 'F', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,

    /// One `ssh_config` option, as in OpenSSH; repeatable, and stronger than the file
    #[arg(short = 'o', long = "option", value_name = "KEY=VALUE")]
    options: Vec<String>,

    /// The remote user [default: from the config, else the local user]
    #[arg(short = 'l', long, value_name = "USER")]
    user: Option<String>,

    /// The port [default: from the config, else 22]
    #[arg(short = 'p', long, value_name = "PORT", visible_short_alias = 'P')]
    port: Option<OsString>,

    /// Only this key; repeatable
    ///
    /// A key file, or a SRC that holds the key's text, as `env:DEPLOY_KEY`. Without it: the keys of the config, the agent and
    /// the default files.
    #[arg(short = 'i', long = "identity", value_name = "FILE|SRC", value_hint = ValueHint::FilePath)]
    identities: Vec<OsString>,

    /// Bastions to go through, in this order [default: `ProxyJump`, `ProxyCommand`]
    #[arg(short = 'J', long, value_name = "DEST[,DEST...]")]
    jump: Option<String>,

    /// Where the password comes from; nothing is ever asked for without it
    ///
    /// SRC is `env:NAME`, `file:PATH`, `fd:N`, `stdin` (its first line), `cmd:COMMAND` (the first line of its output), `askpass` (what
    /// `SSH_ASKPASS` names) or `prompt` (needs a terminal). The secret itself is never an argument.
    #[arg(long, value_name = "SRC")]
    password: Option<OsString>,

    /// Where the passphrase of an encrypted key comes from (a SRC, as for --password)
    #[arg(long, value_name = "SRC")]
    passphrase: Option<OsString>,

    /// Where a one-time code comes from (a SRC, as for --password); asked anew at each attempt
    #[arg(long, value_name = "SRC")]
    otp: Option<OsString>,

    /// How the host key is judged [default: `StrictHostKeyChecking`, else strict]
    #[arg(long, value_name = "POLICY")]
    host_key_policy: Option<HostKeyPolicyArg>,

    /// Accept exactly this host key for DEST, and write nothing; repeatable
    #[arg(long = "host-key", value_name = "SHA256:...|\"TYPE BASE64\"")]
    host_keys: Vec<String>,

    /// Limit of one attempt, until the channel is open, all hops together [default: 15s]
    ///
    /// Waiting for a person or for a cmd: source is not counted.
    #[arg(long, value_name = "DUR", value_parser = positive_duration)]
    connect_timeout: Option<Duration>,

    /// Limit of the whole invocation, retries and waits included; when it is over the run ends as by --timeout
    #[arg(long, value_name = "DUR", value_parser = positive_duration)]
    deadline: Option<Duration>,

    /// A silent connection is probed this often, and lost after three unanswered probes; 0 turns it off [default: 15s]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    keepalive: Option<Duration>,
}

/// How the host key is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HostKeyPolicyArg {
    /// Only keys that are known
    Strict,
    /// A key seen for the first time is remembered, a changed one refused
    AcceptNew,
    /// Nothing is checked: whoever answers gets the session
    Insecure,
}

impl ConnectionArgs {
    /// `-p` was given, and what follows it is no port.
    pub(super) fn port_is_none(&self) -> bool {
        self.port.as_deref().is_some_and(|text| read_port(text).is_err())
    }

    /// As meant.
    pub(super) fn into_options(self) -> Result<ConnectionOptions, Fault> {
        self.options.iter().try_for_each(|option| refuse_output_mode(option))?;
        if self.user.as_deref() == Some("") {
            return Err(usage("--user is empty"));
        }
        let policy = self.host_key_policy.map(|policy| match policy {
            HostKeyPolicyArg::Strict => HostKeyPolicy::Strict,
            HostKeyPolicyArg::AcceptNew => HostKeyPolicy::AcceptNew,
            HostKeyPolicyArg::Insecure => HostKeyPolicy::Insecure,
        });
        if policy == Some(HostKeyPolicy::Insecure) && !self.host_keys.is_empty() {
            return Err(Fault::OptionConflict {
                options: "--host-key and --host-key-policy insecure".to_owned(),
                why: "one accepts a single key, the other any".to_owned(),
            });
        }
        Ok(ConnectionOptions {
            config: self.config.map_or(ConfigFile::Default, |path| match path {
                none if none.as_os_str() == "none" => ConfigFile::None,
                path => ConfigFile::File(path),
            }),
            options: self.options,
            user: self.user,
            port: self.port.as_deref().map(read_port).transpose()?,
            identities: self.identities.into_iter().map(identity).collect::<Result<_, _>>()?,
            jump: self.jump.map(|list| split_jump(&list)).transpose()?.unwrap_or_default(),
            password: self.password.map(|src| source("--password", &src)).transpose()?,
            passphrase: self.passphrase.map(|src| source("--passphrase", &src)).transpose()?,
            otp: self.otp.map(|src| source("--otp", &src)).transpose()?,
            host_key_policy: policy,
            host_key_pins: self.host_keys,
            connect_timeout: self.connect_timeout,
            deadline: self.deadline,
            keepalive: self.keepalive,
        })
    }
}

/// Every second tool takes `-o json` for its output: say what it is here.
fn refuse_output_mode(option: &str) -> Result<(), Fault> {
    match option.to_ascii_lowercase().as_str() {
        mode @ ("json" | "ndjson" | "raw") => {
            Err(usage(format!("-o takes an ssh_config option, as -o KEY=VALUE; for the output type `--output {mode}`")))
        }
        _ => Ok(()),
    }
}

fn read_port(text: &OsStr) -> Result<u16, Fault> {
    text.to_str().and_then(port).ok_or_else(|| usage("--port takes a number from 1 to 65535"))
}

/// A path, unless it begins as a SRC does. A file of such a name is reached as `./env:name`.
fn identity(text: OsString) -> Result<IdentitySource, Fault> {
    let is_source =
        |text: &str| text == "stdin" || ["env:", "file:", "fd:", "cmd:"].iter().any(|prefix| text.starts_with(prefix));
    match text.to_str() {
        Some(src) if is_source(src) => source("--identity", OsStr::new(src)).map(IdentitySource::Secret),
        Some("") => Err(usage("--identity is empty")),
        _ => Ok(IdentitySource::File(text.into())),
    }
}

fn split_jump(list: &str) -> Result<Vec<String>, Fault> {
    let hops: Vec<String> = list.split(',').map(|hop| hop.trim().to_owned()).collect();
    if hops.iter().any(String::is_empty) {
        return Err(usage("--jump has an empty hop: it takes DEST[,DEST...]"));
    }
    Ok(hops)
}

/// The options that read our standard input.
pub(super) fn stdin_readers(options: &ConnectionOptions) -> Vec<&'static str> {
    let reads = |source: &Option<SecretSource>| source.as_ref().is_some_and(SecretSource::reads_stdin);
    let identity = |id: &&IdentitySource| matches!(id, IdentitySource::Secret(source) if source.reads_stdin());
    let mut readers = vec!["--identity"; options.identities.iter().filter(identity).count()];
    let secrets = [("--password", &options.password), ("--passphrase", &options.passphrase), ("--otp", &options.otp)];
    readers.extend(secrets.into_iter().filter(|(_, source)| reads(source)).map(|(flag, _)| flag));
    readers
}
