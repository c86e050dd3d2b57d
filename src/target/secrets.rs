//! `SRC`: getting a secret from where the caller said it is. Nothing here ever asks by itself.

mod child;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use super::identity::KEY_MAX_BYTES;
use super::local::Lookup;
use crate::errors::Fault;
use crate::model::request::SecretSource;
use crate::secret::Secret;

/// The most that a password, passphrase or one-time code may have, in bytes.
const LINE_MAX_BYTES: usize = 64 * 1024;

/// How long a prompt that was interrupted waits for the signal to be told by the process.
const INTERRUPTED: Duration = Duration::from_millis(300);

/// How much of a source is the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Its first line, without the line's end. An environment variable is taken whole.
    Line,
    /// All of it: the text of a key.
    Text,
}

impl Shape {
    fn limit(self) -> usize {
        match self {
            Self::Line => LINE_MAX_BYTES,
            Self::Text => usize::try_from(KEY_MAX_BYTES).unwrap_or(usize::MAX),
        }
    }
}

/// Which secret is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The option it belongs to, as `--password`: for messages.
    pub what: &'a str,
    /// What a person is asked, as `Password of deploy@web1`; `: ` is added.
    pub prompt: &'a str,
    /// How much of the source.
    pub shape: Shape,
}

/// Reads each source once: standard input and descriptors cannot be read twice, and nobody likes to be asked twice.
pub struct SecretStore {
    taken: Mutex<Vec<(SecretSource, Shape, Secret)>>,
    env: Lookup,
}

impl fmt::Debug for SecretStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretStore")
    }
}

impl Default for SecretStore {
    fn default() -> Self {
        Self::new()
    }
}

impl SecretStore {
    /// A store over this process' environment.
    pub fn new() -> Self {
        Self::with_env(Box::new(|name| std::env::var_os(name)))
    }

    /// A store over another environment.
    pub fn with_env(env: Lookup) -> Self {
        Self { taken: Mutex::default(), env }
    }

    /// The secret, read now or remembered. [`Fault::SecretSourceEmpty`] where there is none.
    pub async fn get(&self, source: &SecretSource, ask: Ask<'_>) -> Result<Secret, Fault> {
        let source = &normal(source);
        let mut taken = self.taken.lock().await;
        if let Some((.., secret)) = taken.iter().find(|(s, shape, _)| s == source && *shape == ask.shape) {
            return Ok(secret.clone());
        }
        let spent =
            taken.iter().any(|(s, ..)| s == source) && matches!(source, SecretSource::Stdin | SecretSource::Fd(_));
        let secret = if spent {
            Err("it was already read for another secret".to_owned())
        } else {
            Box::pin(self.read(source, ask)).await
        };
        let secret =
            secret.and_then(|secret| if secret.is_empty() { Err("it is empty".to_owned()) } else { Ok(secret) });
        let empty = |problem| Fault::SecretSourceEmpty { what: ask.what.to_owned(), origin: origin(source), problem };
        let secret = secret.map_err(empty)?;
        taken.push((source.clone(), ask.shape, secret.clone()));
        Ok(secret)
    }

    /// The secret, asked anew where it can be: a one-time code that was used is worth nothing. Standard input and
    /// descriptors give what they gave before.
    pub async fn get_anew(&self, source: &SecretSource, ask: Ask<'_>) -> Result<Secret, Fault> {
        if !matches!(normal(source), SecretSource::Stdin | SecretSource::Fd(_)) {
            self.taken.lock().await.retain(|(s, ..)| s != source);
        }
        self.get(source, ask).await
    }

    async fn read(&self, source: &SecretSource, ask: Ask<'_>) -> Result<Secret, String> {
        let Ask { prompt, shape, .. } = ask;
        match source {
            SecretSource::Env(name) => {
                let value = (self.env)(name).ok_or("the variable is not set")?;
                let bytes = std::os::unix::ffi::OsStringExt::into_vec(value);
                if bytes.len() > shape.limit() { Err(too_long(shape)) } else { Ok(Secret::new(bytes)) }
            }
            SecretSource::File(path) => {
                let path = path.clone();
                blocking(move || read_from(&File::open(path)?, shape)).await
            }
            SecretSource::Fd(number) => {
                // Opening it again by name is the way that needs no `unsafe`; a pipe and a here-document allow it, a
                // socket not.
                let path = format!("/dev/fd/{number}");
                blocking(move || read_from(&File::open(path)?, shape)).await
            }
            SecretSource::Stdin => blocking(move || read_from(rustix::stdio::stdin(), shape)).await,
            SecretSource::Command(command) => child::output(child::shell(command), shape).await,
            SecretSource::Askpass => {
                let program =
                    (self.env)("SSH_ASKPASS").filter(|program| !program.is_empty()).ok_or("SSH_ASKPASS is not set")?;
                child::output(child::askpass(&program, &format!("{prompt}: ")), shape).await
            }
            SecretSource::Prompt => {
                let prompt = format!("{prompt}: ");
                let asked = move || {
                    File::open("/dev/tty")
                        .map_err(|error| io::Error::other(format!("there is no terminal: {error}")))?;
                    rpassword::prompt_password(prompt).map(|line| Secret::new(line.into_bytes()))
                };
                let terminal = Terminal::now();
                let answer = blocking(asked).await;
                drop(terminal);
                if answer.as_ref().is_err_and(|problem| problem.contains("nterrupted")) {
                    // Ctrl-C: the signal is on its way to whoever ends us, and is the better answer.
                    tokio::time::sleep(INTERRUPTED).await;
                }
                answer
            }
        }
    }
}

/// The terminal's settings, put back when a prompt is left in any way: one that a signal cut short leaves the echo off.
struct Terminal(Option<(File, rustix::termios::Termios)>);

impl Terminal {
    fn now() -> Self {
        let tty = File::options().read(true).write(true).open("/dev/tty").ok();
        Self(tty.and_then(|tty| rustix::termios::tcgetattr(&tty).ok().map(|settings| (tty, settings))))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some((tty, settings)) = &self.0 {
            // There is nobody left to tell.
            let _ = rustix::termios::tcsetattr(tty, rustix::termios::OptionalActions::Now, settings);
        }
    }
}

/// `fd:0` is standard input: one source, not two.
fn normal(source: &SecretSource) -> SecretSource {
    match source {
        SecretSource::Fd(0) => SecretSource::Stdin,
        other => other.clone(),
    }
}

/// The source as it was typed.
pub fn origin(source: &SecretSource) -> String {
    match source {
        SecretSource::Env(name) => format!("env:{name}"),
        SecretSource::File(path) => format!("file:{}", path.display()),
        SecretSource::Fd(number) => format!("fd:{number}"),
        SecretSource::Stdin => "stdin".to_owned(),
        SecretSource::Command(command) => format!("cmd:{command}"),
        SecretSource::Askpass => "askpass".to_owned(),
        SecretSource::Prompt => "prompt".to_owned(),
    }
}

async fn blocking(read: impl FnOnce() -> io::Result<Secret> + Send + 'static) -> Result<Secret, String> {
    match spawn_blocking(read).await {
        Ok(Ok(secret)) => Ok(secret),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panicked) => Err(panicked.to_string()),
    }
}

fn too_long(shape: Shape) -> String {
    format!("it is over {} KiB", shape.limit() / 1024)
}

/// One line is read byte by byte: what follows it belongs to somebody else, the remote command's standard input
/// perhaps.
fn read_from(fd: impl AsFd, shape: Shape) -> io::Result<Secret> {
    let limit = shape.limit();
    // Never grown, so that no copy is left behind in freed memory.
    let mut bytes = Vec::with_capacity(limit + 1);
    match shape {
        Shape::Text => {
            let file = File::from(fd.as_fd().try_clone_to_owned()?);
            file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
        }
        Shape::Line => {
            let mut byte = [0];
            while bytes.len() <= limit && !bytes.ends_with(b"\n") {
                match rustix::io::read(&fd, &mut byte) {
                    Ok(0) => break,
                    Ok(_) => bytes.push(byte[0]),
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            trim_line_end(&mut bytes);
        }
    }
    if bytes.len() > limit { Err(io::Error::other(too_long(shape))) } else { Ok(Secret::new(bytes)) }
}

/// Without the line's end, `\n` or `\r\n`.
fn trim_line_end(line: &mut Vec<u8>) {
    if line.ends_with(b"\n") {
        line.pop();
    }
    if line.ends_with(b"\r") {
        line.pop();
    }
}

#[cfg(test)]
mod tests;
