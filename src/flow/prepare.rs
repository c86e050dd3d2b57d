//! What can be settled before the network is touched: the local files, the secrets that are sent, the text of the request.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use bytes::Bytes;

use super::means::Means;
use super::trip::blocking;
use crate::constants::SCRIPT_MAX_BYTES;
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::request::{Method, RemoteCommand, RunOptions, ScriptSource, StdinMode};
use crate::operation::elevate::Elevated;
use crate::operation::elevate::line::Line;
use crate::operation::exec::verdict::Terms;
use crate::operation::exec::{Input, Plan, Terminal, start};
use crate::secret::Secret;
use crate::shell;
use crate::target::Target;
use crate::target::secrets::{Ask, SecretStore, Shape};

/// What fits into one packet (RFC 4253 section 6.1, and the 256 KiB that OpenSSH allows).
const COMMAND_MAX_BYTES: usize = 250_000;

/// A request in bytes, and what its judgement needs to know.
pub(super) struct Prepared {
    request: Vec<u8>,
    prelude: Bytes,
    nonce: Option<String>,
    pty: bool,
    elevated: Option<Elevated>,
    env: Vec<(String, String)>,
    input: Source,
    pub(super) terms: Terms,
}

/// The caller's input, and where it began if it can be read again from there.
pub(super) struct Source {
    pub(super) file: Option<File>,
    begin: Option<u64>,
}

impl Prepared {
    /// The plan of one attempt. The error: the input cannot be duplicated, or brought back to where it began.
    pub(super) fn plan(&self) -> std::io::Result<Plan> {
        let input = match &self.input.file {
            None => Input::Closed,
            Some(file) => {
                if let Some(begin) = self.input.begin {
                    (&*file).seek(SeekFrom::Start(begin))?;
                }
                Input::File(file.try_clone()?)
            }
        };
        Ok(Plan {
            request: self.request.clone(),
            prelude: self.prelude.clone(),
            nonce: self.nonce.clone(),
            terminal: if self.pty { Terminal::Asked } else { Terminal::No },
            elevated: self.elevated.clone(),
            env: self.env.clone(),
            input,
        })
    }

    /// The same on a terminal of ours, where su insists on one. It has no way for the command's input.
    pub(super) fn plan_for_terminal(&self) -> Option<Plan> {
        let possible = !self.pty && self.input.file.is_none();
        possible.then(|| self.plan().ok()).flatten().map(|plan| Plan { terminal: Terminal::Ours, ..plan })
    }

    /// Whether a second attempt would send the same input.
    pub(super) fn is_repeatable(&self) -> bool {
        self.input.file.is_none() || self.input.begin.is_some()
    }
}

/// Looks at our standard input where nothing would read it: a file was probably meant, and is an error; a pipe with data
/// waiting is worth a warning.
pub(super) fn guard_stdin(stdin: &StdinMode) -> Result<Option<Warning>, Fault> {
    if *stdin != (StdinMode::Closed { guard: true }) {
        return Ok(None);
    }
    let ours = std::io::stdin();
    let fd = ours.as_fd();
    let Ok(stat) = rustix::fs::fstat(fd) else { return Ok(None) };
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    if kind.is_file() && stat.st_size > 0 {
        let at_start = rustix::fs::seek(fd, rustix::fs::SeekFrom::Current(0)) == Ok(0);
        return if at_start { Err(Fault::StdinAmbiguous) } else { Ok(None) };
    }
    if kind.is_fifo() && rustix::io::ioctl_fionread(fd).is_ok_and(|waiting| waiting > 0) {
        let message =
            "data waits on standard input, and it is not read; `--stdin` sends it, `-n` says that it is not meant";
        return Ok(Some(Warning::new("stdin_ignored", message)));
    }
    Ok(None)
}

/// What the command line shows that may not be what was meant.
pub(super) fn command_warnings(run: &RunOptions) -> Option<Warning> {
    let RemoteCommand::Argv(words) = &run.command else { return None };
    let quoted = shell::operators(words);
    if quoted.is_empty() || run.script.is_some() {
        return None;
    }
    let message = format!(
        "{} was quoted, and reaches the command as a word: several words are one argument vector; for the remote shell's \
         operators, quote the whole command as one word",
        quoted.join(" ")
    );
    Some(Warning::new("operator_quoted", message))
}

/// Reads and renders everything that the run needs from here.
pub(super) async fn prepare(
    run: &RunOptions,
    target: &Target,
    secrets: &SecretStore,
    (nonce, stop_nonce): (&str, &str),
) -> Result<Prepared, Fault> {
    let stdin = run.stdin.clone();
    let input = blocking(move || open_input(&stdin)).await?;
    let env = target.send_env.clone();
    let shell_options = shell_options(run);
    let Means { elevated, asked } = Means::read(run.elevation.as_ref(), &target.user, secrets, stop_nonce).await?;
    let terms = Terms {
        no_exit_status: run.no_exit_status,
        cwd: run.cwd.as_deref().map(|cwd| cwd.to_string_lossy().into_owned()).unwrap_or_default(),
        user: target.user.clone(),
        shell_options,
        elevation: asked,
    };
    if let Some(elevated) = elevated.as_ref().filter(|elevated| elevated.direct) {
        let line = Line { elevated, nonce, login: false };
        let request = line.direct(&direct_words(&run.command)?).map_err(nul)?;
        let nonce = Some(nonce.to_owned());
        let elevated = Some(elevated.clone());
        return whole(Prepared { request, prelude: Bytes::new(), nonce, pty: run.pty, elevated, env, input, terms });
    }
    if terms.shell_options.is_empty() {
        let request = command_text(&run.command)?;
        let (prelude, pty) = (Bytes::new(), run.pty);
        return whole(Prepared { request, prelude, nonce: None, pty, elevated: None, env, input, terms });
    }
    let names = run.env.iter().map(|pair| &pair.name).chain(run.secret_env.iter().map(|pair| &pair.name));
    if let Some(name) = names.into_iter().find(|name| name.starts_with("_sc")) {
        return Err(Fault::Usage { message: format!("`{name}`: variables that begin with `_sc` are ssh-cli's own") });
    }
    let mut exports: Vec<(&str, Secret)> =
        run.env.iter().map(|pair| (pair.name.as_str(), Secret::new(pair.value.as_bytes().to_vec()))).collect();
    for pair in &run.secret_env {
        let what = format!("--secret-env {}", pair.name);
        exports.push((
            &pair.name,
            secrets.get(&pair.source, Ask { what: &what, prompt: &pair.name, shape: Shape::Line }).await?,
        ));
    }
    let script = match run.script.clone() {
        Some(source) => Some(blocking(move || Script::read(&source)).await?),
        None => None,
    };
    let words = command_text(&run.command)?;
    let body = match &script {
        Some(script) => start::Body::Script {
            bytes: script.text.len(),
            interpreter: (&script.interpreter.0, script.interpreter.1.as_deref()),
            name: &script.name,
            arguments: &words,
        },
        None => start::Body::Command(&words),
    };
    let sudo = elevated.as_ref().is_some_and(|elevated| elevated.method == Method::Sudo);
    let start = start::Start {
        nonce,
        cwd: run.cwd.as_deref(),
        exports,
        // su's own login has been through the profiles.
        login: run.login && (elevated.is_none() || sudo),
        pty: run.pty,
        detach: elevated.is_some() && input.file.is_none(),
        shell: if sudo { start::Shell::Posix } else { start::Shell::Account },
        body,
    };
    let mut prelude = start::program(&start).map_err(nul)?;
    let request = match &elevated {
        None => start::loader(&prelude, nonce),
        Some(elevated) => {
            let line = Line { elevated, nonce, login: run.login };
            line.run(&start::reader(&prelude, nonce)).map_err(nul)?
        }
    };
    if let Some(script) = script {
        prelude.extend_from_slice(&script.text);
    }
    let nonce = Some(nonce.to_owned());
    Ok(Prepared { request, prelude: prelude.into(), nonce, pty: run.pty, elevated, env, input, terms })
}

/// A request that the server can take.
fn whole(prepared: Prepared) -> Result<Prepared, Fault> {
    let length = prepared.request.len();
    if length > COMMAND_MAX_BYTES {
        let message =
            format!("the command has {length} bytes, and a request can carry {COMMAND_MAX_BYTES}: send it as a script");
        return Err(Fault::Usage { message });
    }
    Ok(prepared)
}

/// A program and its arguments, for nobody reads them as text.
fn direct_words(command: &RemoteCommand) -> Result<Vec<OsString>, Fault> {
    match command {
        RemoteCommand::Argv(words) => Ok(words.clone()),
        RemoteCommand::Text(word) => Ok(vec![word.clone()]),
        RemoteCommand::Nothing => Err(Fault::MissingCommand),
    }
}

pub(super) fn nul(_: shlex::QuoteError) -> Fault {
    Fault::Usage { message: "a NUL byte cannot be part of a command or of an environment".to_owned() }
}

/// The options that plain exec cannot serve. `--pty` alone can: it is a request of its own.
fn shell_options(run: &RunOptions) -> Vec<&'static str> {
    let table = [
        (run.script.is_some(), "--script"),
        (run.cwd.is_some(), "--cwd"),
        (!run.env.is_empty(), "--env"),
        (!run.secret_env.is_empty(), "--secret-env"),
        (run.login, "--login"),
        (run.elevation.as_ref().is_some_and(|elevation| elevation.method == Method::Sudo), "sudo-exec"),
        (run.elevation.as_ref().is_some_and(|elevation| elevation.method == Method::Su), "su-exec"),
    ];
    table.into_iter().filter_map(|(given, name)| given.then_some(name)).collect()
}

pub(super) fn command_text(command: &RemoteCommand) -> Result<Vec<u8>, Fault> {
    match command {
        RemoteCommand::Text(text) => Ok(text.clone().into_vec()),
        RemoteCommand::Argv(words) => shell::join(words).map_err(nul),
        RemoteCommand::Nothing => Ok(Vec::new()),
    }
}

pub(super) fn open_input(stdin: &StdinMode) -> Result<Source, Fault> {
    let file = match stdin {
        StdinMode::Closed { .. } => return Ok(Source { file: None, begin: None }),
        StdinMode::Inherit => own_stdin()?,
        StdinMode::File(path) => open(path)?,
    };
    let regular = file.metadata().is_ok_and(|meta| meta.is_file());
    let begin = if regular { (&file).stream_position().ok() } else { None };
    Ok(Source { file: Some(file), begin })
}

/// Our standard input, as a file of its own.
pub(super) fn own_stdin() -> Result<File, Fault> {
    let copy = std::io::stdin().as_fd().try_clone_to_owned();
    Ok(File::from(copy.map_err(|error| unreadable(Path::new("standard input"), &error))?))
}

/// Opens a local source for reading; a directory is none.
fn open(path: &Path) -> Result<File, Fault> {
    let file = File::open(path).map_err(|e| unreadable(path, &e))?;
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        return Err(Fault::SourceIsDirectory { path: path.display().to_string() });
    }
    Ok(file)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Fault {
    Fault::SourceNotFound { path: path.display().to_string(), problem: error.to_string() }
}

/// A script, read whole.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) text: Vec<u8>,
    name: String,
    /// The `#!` line, split as the kernel does: the program and at most one argument.
    pub(super) interpreter: (OsString, Option<OsString>),
}

impl Script {
    pub(super) fn read(source: &ScriptSource) -> Result<Self, Fault> {
        let (mut file, path) = match source {
            ScriptSource::File(path) => (open(path)?, path.as_path()),
            ScriptSource::Stdin => (own_stdin()?, Path::new("standard input")),
        };
        let mut text = Vec::new();
        Read::by_ref(&mut file).take(SCRIPT_MAX_BYTES + 1).read_to_end(&mut text).map_err(|e| unreadable(path, &e))?;
        if text.len() as u64 > SCRIPT_MAX_BYTES {
            return Err(match source {
                ScriptSource::Stdin => Fault::StdinTooLarge { limit: SCRIPT_MAX_BYTES },
                ScriptSource::File(_) => Fault::SourceNotFound {
                    path: path.display().to_string(),
                    problem: format!("a script may have {SCRIPT_MAX_BYTES} bytes"),
                },
            });
        }
        let name = match source {
            ScriptSource::File(path) => safe_name(path),
            ScriptSource::Stdin => "script".to_owned(),
        };
        Ok(Self { interpreter: interpreter(&text), text, name })
    }
}

/// The script's name on the other side: what people will see in its messages, and nothing that a shell could misread.
fn safe_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kept: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).take(64).collect();
    if kept.is_empty() || kept.starts_with(['-', '.']) { format!("script{kept}") } else { kept }
}

fn interpreter(text: &[u8]) -> (OsString, Option<OsString>) {
    let plain = || (OsString::from("sh"), None);
    let Some(line) = text.strip_prefix(b"#!") else { return plain() };
    let line = line.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii();
    let mut words = line.splitn(2, |b| *b == b' ' || *b == b'\t');
    let Some(program) = words.next().filter(|program| !program.is_empty()) else { return plain() };
    let argument = words.next().map(<[u8]>::trim_ascii).filter(|argument| !argument.is_empty());
    (OsStr::from_bytes(program).to_owned(), argument.map(|argument| OsStr::from_bytes(argument).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> (String, Option<String>) {
        let (program, argument) = interpreter(text.as_bytes());
        (program.into_string().unwrap(), argument.map(|a| a.into_string().unwrap()))
    }

    #[test]
    fn the_interpreter_line_is_split_as_the_kernel_does() {
        assert_eq!(split("echo hi\n"), ("sh".into(), None));
        assert_eq!(split("#!/bin/bash\n"), ("/bin/bash".into(), None));
        assert_eq!(split("#! /usr/bin/env  -S python3 -u \nx"), ("/usr/bin/env".into(), Some("-S python3 -u".into())));
        assert_eq!(split("#!\n"), ("sh".into(), None));
    }

    #[test]
    fn a_scripts_name_is_harmless() {
        assert_eq!(safe_name(Path::new("/tmp/de ploy;$(x).sh")), "de_ploy___x_.sh");
        assert_eq!(safe_name(Path::new("-rf")), "script-rf");
        assert_eq!(safe_name(Path::new("..")), "script");
    }
}
