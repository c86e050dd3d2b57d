//! The command line. clap lives here only: what is typed becomes a [`Request`], and nothing is touched on the way.
//!
//! One file for each command, one for each group of options they share. The structs are what was *typed*; the types of
//! [`crate::model::request`] are what is *meant*. A field's doc comment is its help and its man text.

mod check;
mod completions;
mod connection;
mod exec;
#[cfg_attr(not(test), expect(dead_code, reason = "flattened into the commands together with what it asks for"))]
mod keyed;
mod lenient;
mod operand;
mod output;
mod retry;
mod run;
mod schema;
mod scp;
mod scp_sudo;
#[cfg(test)]
mod scp_tests;
mod stdin;
mod su_exec;
mod sudo_exec;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};

pub use completions::{completion_file_name, completions, shells};
pub use values::NotASource;

use crate::errors::Fault;
use crate::model::request::{Action, OutputOptions, Request, SecretSource};

/// What the command line's defaults depend on, looked up by the caller.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// `SSH_CLI_OUTPUT`.
    pub output_variable: Option<OsString>,
}

/// A command line that was not accepted, with what is needed to say so.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Why.
    pub fault: Fault,
    /// The form in which the caller wants it said.
    pub output: OutputOptions,
    /// The command, where one was recognised; else empty.
    pub command: &'static str,
}

/// Runs commands on other machines and copies files over SSH, once, and says truthfully what happened
#[derive(Debug, Parser)]
#[command(
    name = "ssh-cli",
    bin_name = "ssh-cli",
    version,
    override_usage = "ssh-cli [OPTIONS] COMMAND ...",
    subcommand_value_name = "COMMAND",
    max_term_width = 120,
    after_help = "`ssh-cli help COMMAND` says more about one, `ssh-cli exit-codes` what the exit means.",
    after_long_help = "\
Examples:
  ssh-cli exec web1 uptime
  ssh-cli exec --effect read --retries 2 deploy@web1:2222 'journalctl -u app -n 50'
  ssh-cli exec --password env:WEB_PW --host-key SHA256:... web1 -- systemctl restart app
  ssh-cli sudo-exec --sudo-password env:SUDO_PW web1 -- systemctl restart app
  ssh-cli exec --raw web1 'tar c /etc' >etc.tar
  ssh-cli scp -r site web1:/srv/www
  ssh-cli check web1

Standard output is one JSON document, or with --raw the remote bytes. Exit 0 is success, 1 the remote command's own failure, 74
a failure that may be repeated as it is, 76 an unknown outcome: `ssh-cli exit-codes` has them all."
)]
struct Cli {
    #[command(flatten)]
    output: output::OutputArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one command on another machine
    ///
    /// Connects, runs the command, and says what became of it: one JSON envelope on standard output, or with --raw the
    /// command's own output, live. It opens no interactive shell and asks nothing unless an option says so.
    ///
    /// A missing exit status is an error, never a success, and `started` says whether the command may have begun.
    Exec(Box<exec::ExecArgs>),
    /// Copy files to or from another machine
    ///
    /// Exactly one side is remote, written as host:path. By SFTP, or by the legacy protocol where there is no SFTP; `transfer` in
    /// the envelope says which, where the copy is, and what became of each entry. A file takes its place only when it is whole;
    /// what could not be copied is listed with its reason, and then the copy is not ok.
    Scp(Box<scp::ScpArgs>),
    /// Run one command with another user's rights, by sudo
    ///
    /// As exec, through the host's sudo. The password, where one is needed, is sent only on a prompt that is made up for this run,
    /// and once; the command's input is its own. What stops it is said by name: `sudo_password_required`, `sudo_password_wrong`,
    /// `sudo_not_permitted`, `sudo_requires_tty`, `sudo_not_found`, `account_expired`.
    SudoExec(Box<sudo_exec::SudoExecArgs>),
    /// Run one command with another user's rights, by su
    ///
    /// As exec, through the host's su. The password is sent only when su asks for it, and once. What stops it is said by name:
    /// `su_password_required`, `su_password_wrong`, `su_not_permitted`, `su_not_found`, `account_expired`.
    SuExec(Box<su_exec::SuExecArgs>),
    /// Connect and authenticate, run nothing, and say what each phase came to
    ///
    /// The first thing to run when something does not connect: which phase failed and how long each took, every host key
    /// that the server has and how it stands in `known_hosts`, the algorithms that the server offers, the methods of
    /// authentication that it accepts, and which keys there are on this side. It asks for no session and writes no
    /// `known_hosts`.
    Check(Box<check::CheckArgs>),
    /// Print a JSON Schema, the error codes or tool definitions
    Schema(schema::SchemaArgs),
    /// Print what each exit code means
    ExitCodes,
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

/// The whole definition, for the generators of man pages and completions.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Reads a command line, the program's name first.
pub fn parse(args: impl IntoIterator<Item = OsString>, surroundings: &Surroundings) -> Result<Request, Box<Refused>> {
    let args: Vec<OsString> = args.into_iter().collect();
    let refused = |fault| refused(fault, &args, surroundings);
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            let output = output::options(None, surroundings);
            return Ok(Request { action: Action::Print(error.render().to_string()), output, verbosity: 0 });
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return Err(refused(usage(
                "no command was given: exec, sudo-exec, su-exec, scp, check, schema, exit-codes or completions",
            )));
        }
        Err(error) => {
            let mut refused = refused(usage(in_short(&error)));
            if let (Some(ContextValue::String(option)), "scp") = (error.get(ContextKind::InvalidArg), refused.command)
                && let Some(why) = scp::why_not(option)
            {
                refused.fault = usage(why);
            }
            return Err(refused);
        }
    };
    let verbosity = cli.output.verbosity();
    let (action, output) = cli.command.into_action(&cli.output, surroundings).map_err(refused)?;
    Ok(Request { action, output, verbosity })
}

impl Command {
    fn into_action(
        self,
        output: &output::OutputArgs,
        surroundings: &Surroundings,
    ) -> Result<(Action, OutputOptions), Fault> {
        match self {
            Self::Exec(exec) => exec.into_action(output, surroundings),
            Self::Scp(scp) => scp.into_action(output, surroundings),
            Self::SudoExec(exec) => exec.into_action(output, surroundings),
            Self::SuExec(exec) => exec.into_action(output, surroundings),
            Self::Check(check) => check.into_action(output, surroundings),
            Self::Schema(schema) => Ok((schema.into_action(), output.to_options(surroundings)?)),
            Self::ExitCodes => Ok((Action::ExitCodes, output.to_options(surroundings)?)),
            Self::Completions(completions) => Ok((completions.into_action(), output.to_options(surroundings)?)),
        }
    }
}

fn refused(fault: Fault, args: &[OsString], surroundings: &Surroundings) -> Box<Refused> {
    let mut definition = command();
    definition.build();
    let glance = lenient::glance(&definition, args.get(1..).unwrap_or_default());
    let variable = surroundings.output_variable.as_deref().and_then(output::mode_word);
    let output = output::options(glance.mode.or(variable), surroundings);
    let command = match glance.command.as_deref() {
        Some("exec") => "exec",
        Some("scp") => "scp",
        Some("sudo-exec") => "sudo-exec",
        Some("su-exec") => "su-exec",
        Some("check") => "check",
        Some("schema") => "schema",
        Some("exit-codes") => "exit-codes",
        Some("completions") => "completions",
        _ => "",
    };
    Box::new(Refused { fault, output, command })
}

/// clap's complaint and its suggestion, without the usage that follows it.
fn in_short(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let told: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        // The way to send it to the command is the last thing a mistyped option needs.
        .filter(|line| !line.is_empty() && !line.starts_with("tip: to pass"))
        .collect();
    let told = told.join("; ").replace(":; ", ": ").replace("; [", " [");
    told.strip_prefix("error: ").unwrap_or(&told).to_owned()
}

fn usage(message: impl Into<String>) -> Fault {
    Fault::Usage { message: message.into() }
}

/// A SRC. The message names the option and the forms, never what was typed.
fn source(flag: &str, text: &OsStr) -> Result<SecretSource, Fault> {
    text.to_str().ok_or(NotASource).and_then(str::parse).map_err(|error: NotASource| usage(format!("{flag}: {error}")))
}
