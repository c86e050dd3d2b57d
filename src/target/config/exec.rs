//! The commands of `Match exec`.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::super::local::Local;
use crate::errors::clean;

/// How long one command may take: nothing else happens meanwhile.
const LIMIT: Duration = Duration::from_secs(10);

/// After its end: how long for its standard error. Something that it left behind may hold it open.
const DRAIN: Duration = Duration::from_millis(200);

/// How much of its standard error is told, in bytes.
const STDERR_MAX_BYTES: u64 = 4 * 1024;

/// Runs commands, each once.
pub(super) struct Commands {
    shell: OsString,
    withheld: Vec<String>,
    limit: Duration,
    ran: Vec<(String, Ran)>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ran {
    /// Its exit status.
    pub(super) status: i32,
    /// The beginning of its standard error, cleaned; only where it failed.
    pub(super) said: String,
}

impl Commands {
    /// With the user's shell.
    pub(super) fn new(local: &Local, withheld: Vec<String>) -> Self {
        let shell = local.env("SHELL").unwrap_or_else(|| "/bin/sh".into());
        Self { shell, withheld, limit: LIMIT, ran: Vec::new() }
    }

    /// Runs it, or remembers how it ended; the problem where it has no exit status.
    pub(super) fn run(&mut self, command: &str) -> Result<Ran, String> {
        if let Some((_, ran)) = self.ran.iter().find(|(known, _)| known == command) {
            return Ok(ran.clone());
        }
        let ran = self.run_now(command)?;
        self.ran.push((command.to_owned(), ran.clone()));
        Ok(ran)
    }

    fn run_now(&self, command: &str) -> Result<Ran, String> {
        let mut shell = Command::new(&self.shell);
        shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // A group of its own, so that its children can be ended with it.
        shell.process_group(0);
        for name in &self.withheld {
            shell.env_remove(name);
        }
        let cannot = |error: io::Error| format!("{} cannot be run: {error}", self.shell.display());
        let mut child = shell.spawn().map_err(cannot)?;
        let group = Pid::from_child(&child);
        let said = child.stderr.take().map(beginning);
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait()));
        let Ok(status) = ended.recv_timeout(self.limit) else {
            let _ = kill_process_group(group, Signal::KILL);
            return Err(format!("it did not end within {} s", self.limit.as_secs_f32()));
        };
        let status = status.map_err(|error| format!("its end was not seen: {error}"))?;
        let said = || {
            let said = said.and_then(|said| said.recv_timeout(DRAIN).ok()).unwrap_or_default();
            clean(String::from_utf8_lossy(&said).trim())
        };
        match status.code() {
            Some(0) => Ok(Ran { status: 0, said: String::new() }),
            Some(code) => Ok(Ran { status: code, said: said() }),
            None => {
                let said = said();
                Err(if said.is_empty() { status.to_string() } else { format!("{status}: {said}") })
            }
        }
    }
}

/// The beginning of a stream, once it is there; the rest is read too, so that the writer is never stuck.
fn beginning(mut stream: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stream.by_ref().take(STDERR_MAX_BYTES).read_to_end(&mut text);
        let _ = sender.send(text);
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Instant;

    use super::super::super::local::tests::local;
    use super::*;

    fn commands(vars: &[(&str, &str)], withheld: &[&str]) -> Commands {
        Commands::new(&local(Path::new("/"), vars), withheld.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn statuses_and_what_was_said() {
        let mut it = commands(&[], &[]);
        assert_eq!(it.run("exit 0"), Ok(Ran { status: 0, said: String::new() }));
        assert_eq!(it.run("echo out; echo err >&2; exit 3"), Ok(Ran { status: 3, said: "err".into() }));
        assert_eq!(it.run("no-such-command-here").unwrap().status, 127);
        assert!(it.run("kill -TERM $$").unwrap_err().contains("signal"));
        assert_eq!(it.run("read x").unwrap().status, 1, "there is nothing to read");
    }

    #[test]
    fn each_runs_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("count");
        let mut it = commands(&[], &[]);
        for _ in 0..3 {
            it.run(&format!("echo x >> {}", file.display())).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), "x\n");
    }

    #[test]
    fn one_that_does_not_end_is_ended() {
        let mut it = commands(&[], &[]);
        it.limit = Duration::from_millis(200);
        let begun = Instant::now();
        assert!(it.run("sleep 30 & sleep 30").unwrap_err().contains("did not end"));
        // One that leaves something behind that holds its standard error is not waited for.
        assert_eq!(it.run("sleep 30 & exit 1").unwrap().status, 1);
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn secrets_of_the_environment_are_not_passed_on() {
        let run = |withheld: &[&str]| commands(&[], withheld).run("test -n \"$CARGO_MANIFEST_DIR\"").unwrap().status;
        assert_eq!((run(&[]), run(&["CARGO_MANIFEST_DIR"])), (0, 1));
    }

    #[test]
    fn the_users_shell_runs_it() {
        let mut it = commands(&[("SHELL", "/nonexistent/shell")], &[]);
        assert!(it.run("exit 0").unwrap_err().contains("/nonexistent/shell cannot be run"));
    }
}
