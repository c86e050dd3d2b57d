//! `ssh-cli exec`.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::connection::{self, ConnectionArgs};
use super::keyed::KeyedArgs;
use super::output::{CaptureArgs, OutputArgs};
use super::retry::RetryArgs;
use super::run::RunArgs;
use super::{Surroundings, keyed, stdin, usage};
use crate::errors::Fault;
use crate::model::request::{Action, Elevation, ExecRequest, OutputOptions, SecretSource};

/// As typed.
#[derive(Debug, Args)]
#[command(
    override_usage = "ssh-cli exec [OPTIONS] DEST [--] COMMAND...",
    after_help = "See `ssh-cli exec --help` for more, and `ssh-cli exit-codes`.",
    after_long_help = "\
One word of COMMAND is text for the remote shell; several words are one argument vector, quoted word by word:
  ssh-cli exec web1 'uptime | cut -c1-10'        a pipe there
  ssh-cli exec web1 -- grep -r 'two words' /etc  what was typed is what runs
  ssh-cli exec --script ./probe.sh web1 eth0     a local script with an argument
  ssh-cli exec --timeout 40m --effect read web1 'make check'

Exit 74 may be repeated as it is, 76 needs a look at the host first: `ssh-cli exit-codes`."
)]
pub(super) struct ExecArgs {
    #[command(flatten)]
    call: CallArgs,
}

/// What every command that runs something takes.
#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// `[user@]host[:port]`, `ssh://[user@]host[:port]`, `[v6::addr]:port`, or an alias of the `ssh_config`
    #[arg(value_name = "DEST", value_hint = ValueHint::Hostname)]
    destination: OsString,

    /// The command; our options end at its first word
    ///
    /// One word is text for the remote shell, several are quoted as one argument vector. Put `--` before a first word that
    /// begins with a dash.
    #[arg(value_name = "COMMAND", trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,

    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    keyed: KeyedArgs,
    #[command(flatten)]
    retry: RetryArgs,
    #[command(flatten)]
    capture: CaptureArgs,
}

impl ExecArgs {
    /// As meant.
    pub(super) fn into_action(
        self,
        output: &OutputArgs,
        surroundings: &Surroundings,
    ) -> Result<(Action, OutputOptions), Fault> {
        self.call.into_action(None, output, surroundings)
    }
}

/// Another user's rights, and the option that reads our standard input for them.
pub(super) struct Elevating {
    pub(super) elevation: Elevation,
    pub(super) flag: &'static str,
}

impl CallArgs {
    /// As meant.
    pub(super) fn into_action(
        self,
        elevating: Option<Elevating>,
        output: &OutputArgs,
        surroundings: &Surroundings,
    ) -> Result<(Action, OutputOptions), Fault> {
        let output = output.to_capture_options(self.capture, surroundings)?;
        let destination = self.destination.into_string().map_err(|_| usage("DEST is not UTF-8"))?;
        let connection = self.connection.into_options()?;
        let mut readers = connection::stdin_readers(&connection);
        if let Some(Elevating { elevation, flag }) = &elevating {
            let reads = elevation.password.as_ref().is_some_and(SecretSource::reads_stdin);
            readers.extend(reads.then_some(*flag));
        }
        stdin::check(&self.run.stdin_wishes(), &readers)?;
        let elevation = elevating.map(|elevating| elevating.elevation);
        let mut run = self.run.into_options(self.command, !readers.is_empty(), elevation)?;
        run.keyed = self.keyed.into_options(run.pty, run.effect)?;
        if run.keyed.is_some() {
            keyed::refuse_unkept(&run)?;
        }
        let retry = self.retry.into_options()?;
        Ok((Action::Exec(Box::new(ExecRequest { destination, connection, run, retry })), output))
    }
}
