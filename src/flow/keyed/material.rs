//! What a keyed operation is made of, read whole before anybody is called: the text that starts it, a script, its input.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::constants::{OPERATION_OUTPUT_MAX_BYTES, OPERATION_STDIN_MAX_BYTES, SIGNAL_GRACE_MS};
use crate::errors::Fault;
use crate::flow::prepare::{Script, command_text, nul, open_input};
use crate::flow::trip::blocking;
use crate::journal::{Command, Elevation, Request as Call, Script as ScriptPart};
use crate::model::operation::{Fingerprint, OperationKey, StartPermission};
use crate::model::request::{Method, RemoteCommand, RunOptions, StdinMode};
use crate::operation::durable::request::{Go, Mode, Part, Request, TEXT_MAX_BYTES, fingerprint_word, text};
use crate::secret::Secret;
use crate::shell;
use crate::target::secrets::{Ask, SecretStore, Shape};

/// What the command sees its key as.
const KEY_VARIABLE: &str = "SSH_CLI_OPERATION_KEY";

/// The account's shell as a log-in shell. csh takes `-l` only alone, so there the profile is read by sh.
const LOGIN: &[u8] = br#"case ${SHELL##*/} in
bash|zsh|ksh*|mksh|fish|dash|ash|yash|sh) exec "$SHELL" -l -c "$_sc_c";;
esac
for _sc_p in /etc/profile "$HOME/.profile"; do [ -r "$_sc_p" ] && . "$_sc_p"; done
exec "${SHELL:-/bin/sh}" -c "$_sc_c""#;
/// The same profiles, before a script.
const PROFILES: &[u8] = br#"for _sc_p in /etc/profile "$HOME/.profile"; do [ -r "$_sc_p" ] && . "$_sc_p"; done"#;

/// What the caller gave, read; the secrets are not yet.
#[derive(Debug)]
pub(super) struct Draft<'r> {
    run: &'r RunOptions,
    script: Option<Script>,
    input: Option<Bytes>,
    /// What the request comes to.
    pub(super) fingerprint: Fingerprint,
    /// The command, for people.
    pub(super) shown: String,
}

/// The parts of GO.
#[derive(Debug)]
pub(super) struct Material {
    pub(super) mode: Mode,
    pub(super) text: Secret,
    pub(super) script: Option<Bytes>,
    pub(super) input: Option<Bytes>,
}

impl<'r> Draft<'r> {
    /// Reads it all: what is sent to be kept there is sent whole.
    pub(super) async fn read(run: &'r RunOptions) -> Result<Self, Fault> {
        let stdin = run.stdin.clone();
        let input = blocking(move || read_input(&stdin)).await?;
        let script = match run.script.clone() {
            Some(source) => Some(blocking(move || Script::read(&source)).await?),
            None => None,
        };
        let fingerprint = fingerprint(run, script.as_ref(), input.as_deref());
        let shown = String::from_utf8_lossy(&command_text(&run.command)?).into_owned();
        Ok(Self { run, script, input, fingerprint, shown })
    }

    /// What is sent. The secrets are read here: what they hold is no part of the fingerprint.
    pub(super) async fn finish(self, key: &OperationKey, secrets: &SecretStore) -> Result<Material, Fault> {
        let Self { run, script, input, .. } = self;
        let mut exports: Vec<(&str, Secret)> = vec![(KEY_VARIABLE, Secret::new(key.as_str().as_bytes().to_vec()))];
        for pair in &run.env {
            exports.push((&pair.name, Secret::new(pair.value.as_bytes().to_vec())));
        }
        for pair in &run.secret_env {
            let what = format!("--secret-env {}", pair.name);
            let ask = Ask { what: &what, prompt: &pair.name, shape: Shape::Line };
            exports.push((&pair.name, secrets.get(&pair.source, ask).await?));
        }
        if let Some((name, _)) = exports.iter().find(|(name, _)| name.starts_with('_')) {
            let message = format!("`{name}`: with a key, variables that begin with `_` are ssh-cli's own");
            return Err(Fault::Usage { message });
        }
        let (mode, command, script) = body(run, command_text(&run.command)?, script)?;
        let borrowed: Vec<(&str, &Secret)> = exports.iter().map(|(name, value)| (*name, value)).collect();
        let text = text(&borrowed, run.cwd.as_deref(), &command).map_err(nul)?;
        if text.expose().len() > TEXT_MAX_BYTES {
            let message = format!(
                "the command and its environment come to more than the {TEXT_MAX_BYTES} bytes that can be kept: send the \
                 command as a script"
            );
            return Err(Fault::Usage { message });
        }
        Ok(Material { mode, text, script, input })
    }
}

fn read_input(stdin: &StdinMode) -> Result<Option<Bytes>, Fault> {
    let Some(file) = open_input(stdin)?.file else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(OPERATION_STDIN_MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Fault::SourceNotFound { path: "standard input".to_owned(), problem: error.to_string() })?;
    if bytes.len() as u64 > OPERATION_STDIN_MAX_BYTES {
        return Err(Fault::StdinTooLarge { limit: OPERATION_STDIN_MAX_BYTES });
    }
    Ok(Some(bytes.into()))
}

impl Material {
    /// The line that starts it, and what is sent after it.
    pub(super) fn go(&self, permission: &impl StartPermission, timeout: Option<Duration>) -> (String, Vec<Bytes>) {
        let part = |bytes: &Option<Bytes>| bytes.as_deref().map(Part::of);
        let line = Request::Go(Go {
            generation: permission.generation().0,
            attempt: permission.attempt().as_str(),
            fingerprint: &fingerprint_word(permission.fingerprint()),
            deadline: timeout,
            grace: Duration::from_millis(SIGNAL_GRACE_MS),
            cap_bytes: OPERATION_OUTPUT_MAX_BYTES,
            mode: self.mode,
            text: Part::of(self.text.expose()),
            script: part(&self.script),
            input: part(&self.input),
        })
        .line();
        let text = self.text.clone().into_bytes();
        let parts = [Some(text), self.script.clone(), self.input.clone()];
        (line, parts.into_iter().flatten().filter(|part| !part.is_empty()).collect())
    }
}

/// How it is run, the command's text, and what has to be a file there.
fn body(run: &RunOptions, words: Vec<u8>, script: Option<Script>) -> Result<(Mode, Vec<u8>, Option<Bytes>), Fault> {
    // sudo's own shell is that of the caller; what it runs is the text of a POSIX shell, as without a key.
    let sudo = run.elevation.as_ref().is_some_and(|elevation| elevation.method == Method::Sudo);
    let Some(script) = script else {
        // Half of what fits: it is quoted, and the environment has to fit beside it.
        let is_long = words.len() > TEXT_MAX_BYTES / 2;
        return Ok(match (run.login, is_long) {
            (false, false) => (if sudo { Mode::Sh } else { Mode::User }, words, None),
            (false, true) => (Mode::File, Vec::new(), Some(words.into())),
            (true, false) => (Mode::Sh, [b"_sc_c=", &quoted(&words)?[..], b"\n", LOGIN].concat(), None),
            (true, true) => {
                return Err(Fault::Usage {
                    message: "--login with a key takes a command of at most 50,000 bytes: send it as a script"
                        .to_owned(),
                });
            }
        });
    };
    let (program, argument) = &script.interpreter;
    let mut command = Vec::new();
    if run.login {
        command.extend_from_slice(PROFILES);
        command.push(b'\n');
    }
    command.extend_from_slice(b"exec ");
    command.extend_from_slice(&shell::quote(program).map_err(nul)?);
    if let Some(argument) = argument {
        command.push(b' ');
        command.extend_from_slice(&shell::quote(argument).map_err(nul)?);
    }
    command.extend_from_slice(b" \"$1\" ");
    command.extend_from_slice(&words);
    Ok((Mode::Sh, command, Some(script.text.into())))
}

fn quoted(words: &[u8]) -> Result<Vec<u8>, Fault> {
    shell::quote(OsStr::from_bytes(words)).map_err(nul)
}

fn fingerprint(run: &RunOptions, script: Option<&Script>, input: Option<&[u8]>) -> Fingerprint {
    let interpreter = script.map(|script| {
        let (program, argument) = &script.interpreter;
        let argument: Option<&OsString> = argument.as_ref();
        let mut line = program.clone().into_vec();
        if let Some(argument) = argument {
            line.push(b' ');
            line.extend_from_slice(argument.as_bytes());
        }
        line
    });
    let words: Vec<&[u8]> = match &run.command {
        RemoteCommand::Argv(words) => words.iter().map(|word| word.as_bytes()).collect(),
        _ => Vec::new(),
    };
    let env: Vec<(&str, &[u8])> = run.env.iter().map(|pair| (pair.name.as_str(), pair.value.as_bytes())).collect();
    let secret_env: Vec<&str> = run.secret_env.iter().map(|pair| pair.name.as_str()).collect();
    let elevation = run.elevation.as_ref().map(|elevation| Elevation {
        means: match elevation.method {
            Method::Sudo => "sudo",
            Method::Su => "su",
        },
        user: &elevation.user,
    });
    Call {
        command: match &run.command {
            RemoteCommand::Text(text) => Command::Text(text.as_bytes()),
            RemoteCommand::Argv(_) => Command::Argv(&words),
            RemoteCommand::Nothing => Command::Nothing,
        },
        script: script
            .zip(interpreter.as_deref())
            .map(|(script, interpreter)| ScriptPart { bytes: &script.text, interpreter }),
        cwd: run.cwd.as_deref().map(OsStr::as_bytes),
        env: &env,
        secret_env: &secret_env,
        login: run.login,
        elevation,
        stdin_sha256: input.map(|input| Sha256::digest(input).into()),
        effect: run.effect,
    }
    .fingerprint()
}
