//! `ssh-cli ops`: what is known of keyed operations, and what a person decides about one.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::connection::{self, ConnectionArgs};
use super::output::OutputArgs;
use super::retry::RetryArgs;
use super::values::as_user;
use super::{Surroundings, source, stdin, usage};
use crate::errors::Fault;
use crate::model::ops::{OpsCall, OpsRequest, Verdict, VerdictWord};
use crate::model::request::{Action, Elevation, Method, OutputOptions, SecretSource};

/// As typed.
#[derive(Debug, Args)]
#[command(
    override_usage = "ssh-cli ops COMMAND ...",
    subcommand_value_name = "COMMAND",
    after_help = "`ssh-cli ops help COMMAND` says more about one.",
    after_long_help = "\
  ssh-cli ops list --raw
  ssh-cli ops show web1 deploy-17
  ssh-cli ops cancel web1 deploy-17
  ssh-cli ops resolve web1 deploy-17 --verdict not-done --note 'no trace of it in the log'

DEST with its options has to be that of the call which started the operation: it is part of the operation's name. `started` and
`outcome` in the envelope are those of the ops command; how the operation stands is in `operation` and `ops`."
)]
pub(super) struct OpsArgs {
    #[command(subcommand)]
    command: OpsCommand,
}

#[derive(Debug, Subcommand)]
enum OpsCommand {
    /// List the keyed operations that are recorded here
    ///
    /// The one that changed last comes first. Nobody is contacted, so what a host has done since is not in it: `ops show` asks.
    List,
    /// Say how an operation stands, by our own record and by the host's receipt
    ///
    /// Nothing is started and nothing changed. The host's newest generation is what is shown, in `ops[0].host`.
    Show(Box<AboutArgs>),
    /// Make an operation end, or keep it from ever starting
    ///
    /// What runs gets TERM, and a moment later KILL, with all that it started; the command that started it then tells that it was
    /// cancelled. What has not started never will: the same key answers `cancelled_before_start`. What is over stays as it is,
    /// with the warning `already_done`. A key that is known neither here nor there is `op_not_found`, and nothing is written for it.
    Cancel(Box<AboutArgs>),
    /// Say what became of an operation that nobody can know the end of
    ///
    /// The host is looked at first. An outcome that it has is recorded and told instead, with the warning `resolved_by_itself`; of
    /// what still runs nothing can be said (`resolve_refused`: cancel it first). One verdict can be recorded, and a second one is
    /// `op_already_resolved`.
    Resolve(Box<ResolveArgs>),
    /// Take away what is over and old, here
    ///
    /// Records of operations that ended 120 days ago with their output, and files that a broken call has left. What is unresolved
    /// stays. A host takes its own away by itself.
    Gc,
}

/// Which operation.
#[derive(Debug, Args)]
struct AboutArgs {
    /// `[user@]host[:port]`, `ssh://[user@]host[:port]`, `[v6::addr]:port`, or an alias of the `ssh_config`
    #[arg(value_name = "DEST", value_hint = ValueHint::Hostname)]
    destination: OsString,

    /// The key that the operation was started with
    #[arg(value_name = "KEY")]
    key: String,

    #[command(flatten)]
    elevation: ElevationArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    retry: RetryArgs,
}

/// As whom it ran.
#[derive(Debug, Args)]
#[command(next_help_heading = "Elevation")]
struct ElevationArgs {
    /// The operation ran as this user, by sudo-exec or su-exec [default: with an option below root, else the user who logs in]
    #[arg(long = "as", value_name = "USER")]
    as_user: Option<OsString>,

    /// Look at it through sudo; so do --as and --sudo-password
    #[arg(long)]
    sudo: bool,

    /// Look at it through su; so does --su-password
    #[arg(long)]
    su: bool,

    /// Where the password for sudo is (a SRC); without it sudo is told not to ask
    #[arg(long, value_name = "SRC")]
    sudo_password: Option<OsString>,

    /// Where the password of that user is (a SRC)
    #[arg(long, value_name = "SRC")]
    su_password: Option<OsString>,
}

/// The verdict.
#[derive(Debug, Args)]
struct ResolveArgs {
    #[command(flatten)]
    about: AboutArgs,

    /// What became of it
    #[arg(long, value_name = "VERDICT")]
    verdict: VerdictArg,

    /// With --verdict done: the exit status that is told from now on [default: 0]
    #[arg(long, value_name = "N")]
    status: Option<u8>,

    /// Why, for whoever reads the record
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum VerdictArg {
    /// It has done its work: the same line answers with --status, and runs nothing
    Done,
    /// It has not, and never will: the host closes it first, then the same line starts it once more
    NotDone,
    /// Nobody will find out: the key is retired, here; allowed where the host cannot be reached
    Abandoned,
}

impl OpsArgs {
    /// As meant.
    pub(super) fn into_action(
        self,
        output: &OutputArgs,
        surroundings: &Surroundings,
    ) -> Result<(Action, OutputOptions), Fault> {
        let output = output.to_options(surroundings)?;
        let request = match self.command {
            OpsCommand::List => OpsRequest::List,
            OpsCommand::Gc => OpsRequest::Collect,
            OpsCommand::Show(about) => OpsRequest::Show(about.into_call()?),
            OpsCommand::Cancel(about) => OpsRequest::Cancel(about.into_call()?),
            OpsCommand::Resolve(resolve) => resolve.into_request()?,
        };
        Ok((Action::Ops(Box::new(request)), output))
    }
}

impl AboutArgs {
    fn into_call(self) -> Result<OpsCall, Fault> {
        let destination = self.destination.into_string().map_err(|_| usage("DEST is not UTF-8"))?;
        let key = self.key.parse().map_err(|error| usage(format!("KEY: {error}")))?;
        let connection = self.connection.into_options()?;
        let elevation = self.elevation.into_elevation()?;
        let mut readers = connection::stdin_readers(&connection);
        if let Some(elevation) = &elevation
            && elevation.password.as_ref().is_some_and(SecretSource::reads_stdin)
        {
            readers.push(match elevation.method {
                Method::Sudo => "--sudo-password",
                Method::Su => "--su-password",
            });
        }
        stdin::one_reader(&readers)?;
        Ok(OpsCall { destination, key, connection, elevation, retry: self.retry.into_options()? })
    }
}

impl ElevationArgs {
    fn into_elevation(self) -> Result<Option<Elevation>, Fault> {
        let su = self.su || self.su_password.is_some();
        let sudo = self.sudo || self.sudo_password.is_some();
        if su && sudo {
            return Err(conflict("sudo and su", "the operation ran through one of them"));
        }
        if !(su || sudo || self.as_user.is_some()) {
            return Ok(None);
        }
        let (method, flag, password) = if su {
            (Method::Su, "--su-password", self.su_password)
        } else {
            (Method::Sudo, "--sudo-password", self.sudo_password)
        };
        let password = password.map(|text| source(flag, &text)).transpose()?;
        let user = self.as_user.map_or_else(|| Ok("root".to_owned()), |user| as_user(&user))?;
        Ok(Some(Elevation { method, user, password, direct: false }))
    }
}

impl ResolveArgs {
    fn into_request(self) -> Result<OpsRequest, Fault> {
        let word = match (self.verdict, self.status) {
            (VerdictArg::Done, status) => VerdictWord::Done(status.unwrap_or(0)),
            (VerdictArg::NotDone | VerdictArg::Abandoned, Some(_)) => {
                return Err(conflict("--status and that --verdict", "only what was done has a status"));
            }
            (VerdictArg::NotDone, None) => VerdictWord::NotDone,
            (VerdictArg::Abandoned, None) => VerdictWord::Abandoned,
        };
        let verdict = Verdict { word, note: self.note.filter(|note| !note.is_empty()) };
        Ok(OpsRequest::Resolve(self.about.into_call()?, verdict))
    }
}

fn conflict(options: &str, why: &str) -> Fault {
    Fault::OptionConflict { options: options.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::{Refused, parse};
    use super::*;
    use crate::model::request::OutputMode;

    fn read(line: &[&str]) -> Result<OpsRequest, Box<Refused>> {
        let words = ["ssh-cli", "ops"].iter().chain(line).map(OsString::from);
        match parse(words, &Surroundings::default())?.action {
            Action::Ops(request) => Ok(*request),
            other => panic!("{line:?}: {other:?}"),
        }
    }

    fn refuse(line: &[&str]) -> Refused {
        match read(line) {
            Err(refused) => *refused,
            Ok(request) => panic!("{line:?} was taken: {request:?}"),
        }
    }

    fn elevation(line: &[&str]) -> Option<Elevation> {
        match read(&[&["show", "h", "k"], line].concat()).unwrap() {
            OpsRequest::Show(call) => call.elevation,
            other => panic!("{line:?}: {other:?}"),
        }
    }

    #[test]
    fn each_verb_is_a_request() {
        let named = |line: &[&str]| read(line).unwrap().name();
        assert_eq!((named(&["list"]), named(&["gc", "--raw"])), ("ops list", "ops gc"));
        assert_eq!((named(&["show", "h", "k"]), named(&["cancel", "h", "k"])), ("ops show", "ops cancel"));
        let OpsRequest::Resolve(call, verdict) =
            read(&["resolve", "-p", "2222", "h", "two words", "--verdict", "done", "--status", "3", "--note", "seen"])
                .unwrap()
        else {
            panic!()
        };
        assert_eq!((&*call.destination, call.key.as_str(), call.connection.port), ("h", "two words", Some(2222)));
        assert_eq!(verdict, Verdict { word: VerdictWord::Done(3), note: Some("seen".into()) });
        let word = |word: &str| match read(&["resolve", "h", "k", "--verdict", word]) {
            Ok(OpsRequest::Resolve(_, verdict)) => verdict.word,
            other => panic!("{other:?}"),
        };
        assert_eq!(word("done"), VerdictWord::Done(0));
        assert_eq!((word("not-done"), word("abandoned")), (VerdictWord::NotDone, VerdictWord::Abandoned));
    }

    #[test]
    fn whoever_it_ran_as_is_found_through_sudo_unless_su_is_named() {
        let of = |line: &[&str]| elevation(line).map(|elevation| (elevation.method, elevation.user));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["--as", "app"]), Some((Method::Sudo, "app".into())));
        assert_eq!(of(&["--sudo-password", "env:PW"]), Some((Method::Sudo, "root".into())));
        assert_eq!(of(&["--su", "--as", "app"]), Some((Method::Su, "app".into())));
        assert_eq!(of(&["--su-password", "env:PW"]), Some((Method::Su, "root".into())));
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        for (line, command, why) in [
            (&["resolve", "h", "k"][..], "ops resolve", "--verdict"),
            (&["resolve", "h", "k", "--verdict", "maybe"], "ops resolve", "abandoned"),
            (&["resolve", "h", "k", "--verdict", "not-done", "--status", "1"], "ops resolve", "status"),
            (&["resolve", "h", "k", "--verdict", "done", "--status", "256"], "ops resolve", "255"),
            (&["show", "h"], "ops show", "KEY"),
            (&["show", "h", "a/b"], "ops show", "no `/`"),
            (&["cancel", "h", "k", "--sudo", "--su"], "ops cancel", "one of them"),
            (&["show", "--password", "stdin", "--sudo-password", "stdin", "h", "k"], "ops show", "both read"),
            (&["list", "h"], "ops list", "h"),
            (&["nothing"], "ops", "nothing"),
            (&[], "ops", "resolve"),
        ] {
            let refused = refuse(line);
            let text = refused.fault.to_string();
            assert!(refused.command == command && text.contains(why), "{line:?}: {}: {text}", refused.command);
        }
        assert_eq!(refuse(&["show", "--raw", "h"]).output.mode, OutputMode::Raw);
    }
}
