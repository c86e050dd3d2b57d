//! `ssh-cli scp`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::connection::{self, ConnectionArgs};
use super::operand::{Operand, Remote, is_same};
use super::output::OutputArgs;
use super::retry::RetryArgs;
use super::run::EffectArg;
use super::scp_sudo::{self, SudoArgs};
use super::values::{mode, positive_duration};
use super::{Surroundings, stdin, usage};
use crate::effect::Effect;
use crate::errors::Fault;
use crate::model::copy::{
    CopyOptions, CopyRequest, LocalSource, LocalTarget, ProgressChoice, ProtocolChoice, RemotePath, Sudo, Symlinks, Way,
};
use crate::model::request::{Action, OutputMode, OutputOptions};

/// As typed.
#[derive(Debug, Args)]
#[command(
    override_usage = "ssh-cli scp [OPTIONS] SOURCE... TARGET",
    after_help = "See `ssh-cli scp --help` for more, and `ssh-cli exit-codes`.",
    after_long_help = "\
Exactly one side is remote: [user@]host:path, or scp://[user@]host[:port]/path with %XX for odd bytes and + for a blank, where the
path begins at the home, and a second slash makes it absolute. A word with a slash before its first colon is local: ./a:b
  ssh-cli scp app.conf deploy@web1:/etc/app/     into that directory
  ssh-cli scp -r site web1:/srv/www              /srv/www becomes the copy of site, each time again
  ssh-cli scp -r site web1:/srv/                 the copy is /srv/site
  ssh-cli scp --verify 'web1:/var/log/*.gz' logs/
  tar c etc | ssh-cli scp - web1:etc.tar         our standard input; as a target, - needs --raw
  ssh-cli scp --sudo --owner root --mode 0440 app web1:/etc/sudoers.d/

-p is the port, as for every command here; times and modes are kept with --preserve.
Exit 74 may be repeated as it is: a copy that is made twice is made once."
)]
pub(super) struct ScpArgs {
    /// What is copied, in any number, and last where it goes; exactly one side is remote, as `[user@]host:path`
    ///
    /// A trailing `/` on TARGET means into it. Otherwise it is the final name of a directory, merged if it is there, and a file goes
    /// into a directory that exists. Remote sources may be patterns. `-` is standard input as a source, standard output as a target.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    paths: Vec<OsString>,

    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    copy: CopyArgs,
    #[command(flatten)]
    sudo: SudoArgs,
    #[command(flatten)]
    retry: RetryArgs,
}

/// How a copy is made.
#[derive(Debug, Args)]
#[command(next_help_heading = "Copy")]
struct CopyArgs {
    /// Copy directories, with all that is in them
    #[arg(short = 'r', long)]
    recursive: bool,

    /// Keep modification times, in whole seconds, and permission bits
    #[arg(long)]
    preserve: bool,

    /// Compare the SHA-256 of both sides before a file takes its place
    #[arg(long)]
    verify: bool,

    /// Continue what an earlier attempt began, where it is proven to be the beginning of the same file
    ///
    /// Then an unfinished part also stays after a failure, beside the target, and is listed as left.
    #[arg(long)]
    resume: bool,

    /// How the two sides speak
    #[arg(long, value_name = "PROTOCOL", default_value = "auto")]
    protocol: ProtocolArg,

    /// The permission bits of the files that are written, from 0 to 0777 [default: those of a file that is replaced, else of the source]
    #[arg(long, value_name = "OCTAL", value_parser = mode)]
    mode: Option<u32>,

    /// Make the directories on the way to TARGET
    #[arg(long)]
    parents: bool,

    /// Leave a file that is there as it is
    #[arg(long)]
    no_clobber: bool,

    /// Write into the target itself
    ///
    /// By default a file is written beside its target, and takes its place when it is whole; only regular files are replaced, and
    /// they keep their mode and group. In place a failure leaves a part of it.
    #[arg(long)]
    in_place: bool,

    /// What becomes of a symbolic link among the sources
    #[arg(long, value_name = "HOW", default_value = "follow")]
    symlinks: SymlinksArg,

    /// When standard error says how far it is
    ///
    /// A line that is drawn anew, and erased at the end; a line each second where standard error is no terminal. Not in ndjson, which
    /// has events.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    progress: ProgressArg,

    /// Limit of the copy; what is not finished then is removed
    #[arg(long, value_name = "DUR", value_parser = positive_duration)]
    timeout: Option<Duration>,

    /// What copying a second time would do [default: idempotent for an upload, read for a download]
    #[arg(long, value_name = "EFFECT")]
    effect: Option<EffectArg>,
}

/// How the two sides speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProtocolArg {
    /// SFTP, and the legacy protocol where there is none
    Auto,
    /// SFTP
    Sftp,
    /// The legacy protocol, that of `scp -O`
    Scp,
}

/// What becomes of a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SymlinksArg {
    /// What it leads to is copied
    Follow,
    /// It is copied as a link
    Keep,
    /// It is left out, and listed
    Skip,
}

/// When it is shown how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProgressArg {
    /// Where standard error is a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ProgressArg {
    /// Whether there is one on a standard error that is a terminal, or is not.
    const fn shows_on(self, terminal: bool) -> bool {
        match self {
            Self::Auto => terminal,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

impl ScpArgs {
    /// As meant.
    pub(super) fn into_action(
        self,
        output: &OutputArgs,
        surroundings: &Surroundings,
    ) -> Result<(Action, OutputOptions), Fault> {
        let mut output = output.to_options(surroundings)?;
        // OpenSSH's scp preserves with it, and it took the word that follows.
        if self.connection.port_is_none() {
            return Err(usage(
                "--port takes a number from 1 to 65535; -p is the port here, and --preserve keeps times and modes",
            ));
        }
        let connection = self.connection.into_options()?;
        let (destination, way) = sides(self.paths)?;
        let sudo = self.sudo.into_options()?;
        self.copy.fit(&way, output.mode)?;
        self.copy.fit_sudo(&way, sudo.as_ref())?;
        let mut readers = connection::stdin_readers(&connection);
        if scp_sudo::reads_stdin(sudo.as_ref()) {
            readers.push("--sudo-password");
        }
        if reads_stdin(&way) {
            readers.push("the source -");
        }
        stdin::one_reader(&readers)?;
        // Bytes and a bar on one terminal would spoil each other.
        let collides = writes_stdout(&way) && surroundings.stdout_is_terminal;
        output.bar = output.mode != OutputMode::Ndjson
            && self.copy.progress.shows_on(surroundings.stderr_is_terminal)
            && !collides;
        let options = self.copy.into_options(&way, sudo);
        let retry = self.retry.into_options()?;
        Ok((Action::Copy(Box::new(CopyRequest { destination, way, options, connection, retry })), output))
    }
}

impl CopyArgs {
    /// Refuses what could not be honoured on that way.
    fn fit(&self, way: &Way, form: OutputMode) -> Result<(), Fault> {
        if reads_stdin(way) && self.resume {
            return conflict("--resume and the source -", "standard input cannot be read from its middle");
        }
        if !writes_stdout(way) {
            return Ok(());
        }
        if form != OutputMode::Raw {
            let why = "standard output is the envelope's then; add --raw, or name a file";
            return conflict(
                if form == OutputMode::Json {
                    "the target - and json output"
                } else {
                    "the target - and ndjson output"
                },
                why,
            );
        }
        let of_files = [
            ("-r", self.recursive),
            ("--preserve", self.preserve),
            ("--resume", self.resume),
            ("--mode", self.mode.is_some()),
            ("--parents", self.parents),
            ("--no-clobber", self.no_clobber),
            ("--in-place", self.in_place),
            ("--symlinks keep", self.symlinks == SymlinksArg::Keep),
        ];
        match of_files.iter().find(|(_, given)| *given) {
            Some((flag, _)) => {
                conflict(&format!("{flag} and the target -"), "standard output takes the bytes of one file")
            }
            None => Ok(()),
        }
    }

    /// The same of what cannot be had with other rights.
    fn fit_sudo(&self, way: &Way, sudo: Option<&Sudo>) -> Result<(), Fault> {
        let Some(sudo) = sudo else { return Ok(()) };
        if self.protocol == ProtocolArg::Scp {
            return conflict("--sudo and --protocol scp", "with other rights the host is spoken to by SFTP alone");
        }
        if self.resume {
            return conflict("--sudo and --resume", "nothing stays of a copy that failed, so nothing can be continued");
        }
        let owned = [("--owner", sudo.owner.is_some()), ("--group", sudo.group.is_some())];
        match (way, owned.iter().find(|(_, given)| *given)) {
            (Way::Download { .. }, Some((flag, _))) => {
                conflict(&format!("{flag} and a local TARGET"), "what is written here is this account's own")
            }
            _ => Ok(()),
        }
    }

    fn into_options(self, way: &Way, sudo: Option<Sudo>) -> CopyOptions {
        let by_direction = match way {
            Way::Upload { .. } => Effect::Idempotent,
            Way::Download { .. } => Effect::Read,
        };
        CopyOptions {
            recursive: self.recursive,
            preserve: self.preserve,
            verify: self.verify,
            resume: self.resume,
            protocol: match self.protocol {
                ProtocolArg::Auto => ProtocolChoice::Auto,
                ProtocolArg::Sftp => ProtocolChoice::Sftp,
                ProtocolArg::Scp => ProtocolChoice::Scp,
            },
            mode: self.mode,
            parents: self.parents,
            no_clobber: self.no_clobber,
            in_place: self.in_place,
            symlinks: match self.symlinks {
                SymlinksArg::Follow => Symlinks::Follow,
                SymlinksArg::Keep => Symlinks::Keep,
                SymlinksArg::Skip => Symlinks::Skip,
            },
            progress: match self.progress {
                ProgressArg::Auto => ProgressChoice::Auto,
                ProgressArg::Always => ProgressChoice::Always,
                ProgressArg::Never => ProgressChoice::Never,
            },
            timeout: self.timeout,
            effect: self.effect.map_or(by_direction, Into::into),
            sudo,
        }
    }
}

/// What is said of an option that other commands have, and this one has a reason not to.
pub(super) fn why_not(option: &str) -> Option<&'static str> {
    match option {
        "--op" | "--idempotency-key" => Some(
            "scp takes no --op: a copy that is made twice is the same as one, so the same line is run again without a key",
        ),
        "--sudo-direct" => Some("scp takes no --sudo-direct: what stages and installs there is begun by a shell"),
        _ => None,
    }
}

/// Which side is remote, and what is on each.
fn sides(paths: Vec<OsString>) -> Result<(String, Way), Fault> {
    let mut operands = paths.into_iter().map(Operand::read).collect::<Result<Vec<_>, _>>()?;
    let Some(target) = operands.pop().filter(|_| !operands.is_empty()) else {
        return Err(usage(
            "a copy has SOURCE and TARGET, as in `ssh-cli scp FILE web1:DIR/` or `ssh-cli scp web1:FILE .`",
        ));
    };
    match target {
        Operand::There(target) => upload(operands, target),
        Operand::Here(path) => download(operands, LocalTarget::Path(path)),
        Operand::Stream => download(operands, LocalTarget::Stdout),
    }
}

fn upload(sources: Vec<Operand>, target: Remote) -> Result<(String, Way), Fault> {
    let sources: Vec<LocalSource> = sources
        .into_iter()
        .map(|source| match source {
            Operand::Here(path) => Ok(LocalSource::Path(path)),
            Operand::Stream => Ok(LocalSource::Stdin),
            Operand::There(_) => Err(usage(
                "both sides are remote: copy here first, then there, as in `ssh-cli scp web1:FILE .` and `ssh-cli scp FILE web2:`; a \
                 local file with a colon in its name is written `./NAME`",
            )),
        })
        .collect::<Result<_, _>>()?;
    if sources.contains(&LocalSource::Stdin) {
        if sources.len() > 1 {
            return Err(usage("`-` has no name beside other sources: copy it by itself"));
        }
        if target.path.0.is_empty() || target.path.0.ends_with(b"/") {
            return Err(usage("standard input has no name: name the file that it becomes, as in `web1:DIR/NAME`"));
        }
    }
    Ok((target.destination, Way::Upload { sources, target: target.path }))
}

fn download(sources: Vec<Operand>, target: LocalTarget) -> Result<(String, Way), Fault> {
    let mut destination: Option<String> = None;
    let mut paths: Vec<RemotePath> = Vec::with_capacity(sources.len());
    for source in sources {
        let Operand::There(remote) = source else {
            let problem =
                if destination.is_some() { "a local source among remote ones" } else { "neither side is remote" };
            return Err(usage(format!(
                "{problem}: a remote path is `[user@]host:path`, as in `ssh-cli scp FILE web1:DIR/` or `ssh-cli scp web1:FILE .`"
            )));
        };
        match &destination {
            Some(first) if !is_same(first, &remote.destination) => {
                return Err(usage("all sources have to be on one machine, as one user: copy from each by itself"));
            }
            Some(_) => {}
            None => destination = Some(remote.destination),
        }
        paths.push(remote.path);
    }
    if target == LocalTarget::Stdout && paths.len() > 1 {
        return Err(usage("standard output takes one file: copy each by itself"));
    }
    let destination = destination.ok_or_else(|| usage("there is no SOURCE"))?;
    Ok((destination, Way::Download { sources: paths, target }))
}

fn reads_stdin(way: &Way) -> bool {
    matches!(way, Way::Upload { sources, .. } if sources.contains(&LocalSource::Stdin))
}

fn writes_stdout(way: &Way) -> bool {
    matches!(way, Way::Download { target: LocalTarget::Stdout, .. })
}

fn conflict(options: &str, why: &str) -> Result<(), Fault> {
    Err(Fault::OptionConflict { options: options.to_owned(), why: why.to_owned() })
}
