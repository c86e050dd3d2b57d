//! The options of `scp` for another user's rights.

use std::ffi::{OsStr, OsString};

use clap::Args;

use super::values::as_user;
use super::{source, usage};
use crate::errors::Fault;
use crate::model::copy::Sudo;
use crate::model::request::{Elevation, Method, SecretSource};

/// As typed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Elevation")]
pub(super) struct SudoArgs {
    /// Read and write on the host with another user's rights, by its sudo
    ///
    /// Sudo runs the host's own sftp-server, through a shell of ours. Files for the host are staged in a directory there that only
    /// that user can look into, in the directory of TARGET, and each takes its place in one step. A file that is replaced keeps its
    /// owner, group and mode. Nothing is left of a copy that fails: the host removes the staging directory itself.
    #[arg(long)]
    sudo: bool,

    /// Whose rights [default: root]
    #[arg(long = "as", value_name = "USER")]
    as_user: Option<OsString>,

    /// Where the password for sudo is (a SRC); without it sudo is told not to ask
    ///
    /// It is sent once, and only when sudo shows a prompt that is made up for this run. Where sudo does not ask, nobody gets it.
    #[arg(long, value_name = "SRC")]
    sudo_password: Option<OsString>,

    /// Who is to own what is copied, by name or number [default: the owner of a file that is replaced, else USER]
    #[arg(long, value_name = "USER")]
    owner: Option<OsString>,

    /// The group of what is copied, by name or number [default: that of a file that is replaced, else USER's]
    #[arg(long, value_name = "GROUP")]
    group: Option<OsString>,
}

impl SudoArgs {
    /// As meant; none without `--sudo`. The fault of an option that means nothing without it.
    pub(super) fn into_options(self) -> Result<Option<Sudo>, Fault> {
        let Self { sudo, as_user: user, sudo_password, owner, group } = self;
        let more = [
            ("--as", user.is_some()),
            ("--sudo-password", sudo_password.is_some()),
            ("--owner", owner.is_some()),
            ("--group", group.is_some()),
        ];
        if !sudo {
            return match more.iter().find(|(_, given)| *given) {
                Some((flag, _)) => Err(usage(format!("{flag} needs --sudo"))),
                None => Ok(None),
            };
        }
        let elevation = Elevation {
            method: Method::Sudo,
            user: user.as_deref().map_or_else(|| Ok("root".to_owned()), as_user)?,
            password: sudo_password.map(|text| source("--sudo-password", &text)).transpose()?,
            direct: false,
        };
        let owner = owner.as_deref().map(|name| named("--owner", name)).transpose()?;
        let group = group.as_deref().map(|name| named("--group", name)).transpose()?;
        Ok(Some(Sudo { elevation, owner, group }))
    }
}

/// Whether its password is the first line of our standard input.
pub(super) fn reads_stdin(sudo: Option<&Sudo>) -> bool {
    sudo.and_then(|sudo| sudo.elevation.password.as_ref()).is_some_and(SecretSource::reads_stdin)
}

/// The name, or the number, of a user or a group.
fn named(flag: &str, name: &OsStr) -> Result<String, Fault> {
    as_user(name).map_err(|_| usage(format!("{flag} takes one name or number; --owner and --group are two options")))
}
