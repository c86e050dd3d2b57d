//! `ssh-cli su-exec`.

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
    override_usage = "ssh-cli su-exec [OPTIONS] DEST [--] COMMAND...",
    after_help = "See `ssh-cli su-exec --help` for more, and `ssh-cli exit-codes`.",
    after_long_help = "\
  ssh-cli su-exec --su-password env:ROOT_PW web1 'id; uptime'
  ssh-cli su-exec --as deploy --login root@web1 'cd app && make'    root needs no password

COMMAND is run by the shell of the user of --as: one word is its text, several words are one argument vector. Where su insists
on a terminal it gets one, and both streams are in `stdout`, with the warning `streams_merged`."
)]
pub(super) struct SuExecArgs {
    #[command(flatten)]
    elevate: SuArgs,
    #[command(flatten)]
    call: CallArgs,
}

/// How su is used.
#[derive(Debug, Args)]
#[command(next_help_heading = "Elevation")]
struct SuArgs {
    /// Who runs the command there
    #[arg(long = "as", value_name = "USER", default_value = "root")]
    as_user: OsString,

    /// Where the password of that user is (a SRC)
    ///
    /// It is sent once, and only when su asks for a password.
    #[arg(long, value_name = "SRC")]
    su_password: Option<OsString>,
}

impl SuExecArgs {
    /// As meant.
    pub(super) fn into_action(
        self,
        output: &OutputArgs,
        surroundings: &Surroundings,
    ) -> Result<(Action, OutputOptions), Fault> {
        let SuArgs { as_user: user, su_password } = self.elevate;
        let flag = "--su-password";
        let elevation = Elevation {
            method: Method::Su,
            user: as_user(&user)?,
            password: su_password.map(|text| source(flag, &text)).transpose()?,
            direct: false,
        };
        self.call.into_action(Some(Elevating { elevation, flag }), output, surroundings)
    }
}
