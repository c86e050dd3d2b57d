//! `ssh-cli check`.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::connection::{self, ConnectionArgs};
use super::output::OutputArgs;
use super::retry::RetryArgs;
use super::{Surroundings, stdin, usage};
use crate::errors::Fault;
use crate::model::request::{Action, CheckRequest, OutputOptions};

/// As typed.
#[derive(Debug, Args)]
#[command(
    override_usage = "ssh-cli check [OPTIONS] DEST",
    after_help = "See `ssh-cli check --help` for more, and `ssh-cli exit-codes`.",
    after_long_help = "\
With the options of the command that does not connect:
  ssh-cli check --raw deploy@web1:2222           a line for each phase, and the host keys with the options that pin them
  ssh-cli check --json web1 | jq .check.auth     what the server accepts, what was tried, and which keys there are
  ssh-cli check --offline web1                   whom the command line means; nobody is called

Exit 0 says that the server lets us in; else it is the exit that the other commands would end with."
)]
pub(super) struct CheckArgs {
    /// `[user@]host[:port]`, `ssh://[user@]host[:port]`, `[v6::addr]:port`, or an alias of the `ssh_config`
    #[arg(value_name = "DEST", value_hint = ValueHint::Hostname)]
    destination: OsString,

    /// Print the resolved target, and touch no network
    #[arg(long)]
    offline: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    retry: RetryArgs,
}

impl CheckArgs {
    /// As meant.
    pub(super) fn into_action(
        self,
        output: &OutputArgs,
        surroundings: &Surroundings,
    ) -> Result<(Action, OutputOptions), Fault> {
        let output = output.to_options(surroundings)?;
        let destination = self.destination.into_string().map_err(|_| usage("DEST is not UTF-8"))?;
        let connection = self.connection.into_options()?;
        stdin::one_reader(&connection::stdin_readers(&connection))?;
        let retry = self.retry.into_options()?;
        Ok((Action::Check(Box::new(CheckRequest { destination, connection, retry, offline: self.offline })), output))
    }
}
