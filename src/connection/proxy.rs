//! `ProxyCommand`: a command whose standard input and output carry the connection (`ssh_config(5)`). Its standard error is kept
//! for the error, and it ends with us.

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::errors::Fault;

/// How much of its standard error is kept: the end, where the reason stands.
const STDERR_BYTES: usize = 4096;
/// How long a command whose connection broke may take to end, so that its status can be told.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// A running command. Dropped, it is killed, and whatever it started with it.
pub(super) struct ProxyCommand {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
}

/// What is left to ask when the connection through it failed.
pub(super) struct ProxyWitness {
    command: String,
    child: Child,
    stderr: Arc<Mutex<Vec<u8>>>,
}

/// Starts it with the user's shell, as ssh does.
pub(super) fn start(command: &str) -> Result<(ProxyCommand, ProxyWitness), Fault> {
    let failed = |problem: String| Fault::ProxyCommandNotFound { command: command.to_owned(), problem };
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into());
    let mut child = Command::new(shell)
        .arg("-c")
        .arg(format!("exec {command}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: Ctrl-C is ours to handle, and the whole of it can be ended.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let (Some(stdin), Some(stdout), Some(mut errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(failed("its standard streams could not be opened".to_owned()));
    };
    let stderr = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&stderr);
    tokio::spawn(async move {
        let mut chunk = vec![0; STDERR_BYTES];
        while let Ok(read @ 1..) = errors.read(&mut chunk).await {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&chunk[..read]);
            let over = kept.len().saturating_sub(STDERR_BYTES);
            kept.drain(..over);
        }
    });
    let witness = ProxyWitness { command: command.to_owned(), child, stderr };
    Ok((ProxyCommand { stdin, stdout }, witness))
}

impl ProxyWitness {
    /// What a failure of the connection means, now that the command can be asked.
    pub(super) async fn explain(&mut self, fault: Fault) -> Fault {
        let (phase, problem) = match fault {
            Fault::ConnectionLost { phase, problem } => (phase, problem),
            other => return other,
        };
        let status = tokio::time::timeout(LAST_WORDS, self.child.wait()).await.ok().and_then(Result::ok);
        let said = {
            let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
            String::from_utf8_lossy(&stderr).trim().to_owned()
        };
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        // 126 and 127 are the shell's: it could not run the command at all.
        if let Some(126 | 127) = status.as_ref().and_then(ExitStatus::code) {
            return Fault::ProxyCommandNotFound { command: self.command.clone(), problem: format!("{problem}{said}") };
        }
        let ended = status.map_or_else(String::new, |status| format!(" ({status})"));
        Fault::ConnectionLost { phase, problem: format!("{problem}; the ProxyCommand `{}`{ended}{said}", self.command) }
    }
}

impl Drop for ProxyWitness {
    fn drop(&mut self) {
        // tokio kills the shell; what it started is in its group.
        if let Some(pid) =
            self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::TERM);
        }
    }
}
