//! `ssh-cli sudo-exec`.

use std::ffi::OsString;

use clap::Args;

use super::exec::{CallArgs, Elevating};
use super::output::OutputArgs;
use super::values::as_user;
use super::{Surroundings, source};
use crate::errors::Fault;
use crate::model::request::{Action, Elevation, Method, OutputOptions};

/// As typed.
#[derive(Debug, Args)]
#[command(
    override_usage = "ssh-cli sudo-exec [OPTIONS] DEST [--] COMMAND...",
    after_help = "See `ssh-cli sudo-exec --help` for more, and `ssh-cli exit-codes`.",
    after_long_help = "\
  ssh-cli sudo-exec web1 -- systemctl restart app                    where sudo asks for no password
  ssh-cli sudo-exec --sudo-password env:PW web1 'id; cat /etc/shadow | wc -l'
  ssh-cli sudo-exec --as postgres --cwd / web1 -- psql -c 'select 1'
  ssh-cli sudo-exec --sudo-direct web1 -- /usr/bin/systemctl reload nginx

COMMAND is run by `sh` with the rights of --as: one word is its text, several words are one argument vector. Sudo's log shows a
loader of ours as the command; with --sudo-direct it shows COMMAND."
)]
pub(super) struct SudoExecArgs {
    #[command(flatten)]
    elevate: SudoArgs,
    #[command(flatten)]
    call: CallArgs,
}

/// How sudo is used.
#[derive(Debug, Args)]
#[command(next_help_heading = "Elevation")]
struct SudoArgs {
    /// Who runs the command there
    #[arg(long = "as", value_name = "USER", default_value = "root")]
    as_user: OsString,

    /// Where the password for sudo is (a SRC); without it sudo is told not to ask
    ///
    /// It is sent once, and only when sudo shows a prompt that is made up for this run. Where sudo does not ask, nobody gets it.
    #[arg(long, value_name = "SRC")]
    sudo_password: Option<OsString>,

    /// Let sudo start the program itself, without a shell, where that is all it permits
    ///
    /// COMMAND is a program and its arguments. Without a shell of ours there is no --script, --cwd, --env, --secret-env or
    /// --login, a program that says nothing may be `started: "unknown"`, and one that is stopped is reported as possibly running.
    #[arg(long)]
    sudo_direct: bool,
}

impl SudoExecArgs {
    /// As meant.
    pub(super) fn into_action(
        self,
        output: &OutputArgs,
        surroundings: &Surroundings,
    ) -> Result<(Action, OutputOptions), Fault> {
        let SudoArgs { as_user: user, sudo_password, sudo_direct } = self.elevate;
        let flag = "--sudo-password";
        let elevation = Elevation {
            method: Method::Sudo,
            user: as_user(&user)?,
            password: sudo_password.map(|text| source(flag, &text)).transpose()?,
            direct: sudo_direct,
        };
        self.call.into_action(Some(Elevating { elevation, flag }), output, surroundings)
    }
}
