//! From what was seen to what is claimed. Pure: the rules that make the product honest stand here and are tested without a
//! network.

use super::facts::{Ending, Facts, Mark, StopCause};
use crate::errors::{Caught, Fault};
use crate::model::outcome::{Outcome, Phase, Started, Warning};
use crate::operation::elevate::refusal::{self, Asked};

/// What is claimed about one command.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What became of it.
    pub outcome: Outcome,
    /// Whether it may have begun.
    pub started: Started,
    /// What went wrong.
    pub fault: Option<Fault>,
    /// Its exit status, only where one arrived.
    pub remote_exit: Option<u32>,
    /// Its signal, only where one arrived.
    pub remote_signal: Option<String>,
    /// Something kept the streams open after its end.
    pub held_open: bool,
    /// Worth saying.
    pub warnings: Vec<Warning>,
}

/// What about the request bears on the judgement.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The options that needed the start program in a POSIX shell; empty without it.
    pub shell_options: Vec<&'static str>,
    /// `--no-exit-status`.
    pub no_exit_status: bool,
    /// `--cwd`, for the message.
    pub cwd: String,
    /// The user, for the message.
    pub user: String,
    /// As whom it runs, and by which program.
    pub elevation: Option<Asked>,
}

impl Terms {
    fn is_direct(&self) -> bool {
        self.elevation.as_ref().is_some_and(|asked| asked.direct)
    }
}

/// The text of OpenSSH's `internal-sftp` for a command that it does not run.
const SFTP_ONLY: &[u8] = b"This service allows sftp connections only.";
/// The text of OpenSSH for an account whose password must be changed at a terminal.
const PASSWORD_EXPIRED: &[u8] = b"Password change required but no TTY available.";

/// Judges.
pub fn judge(facts: Facts, terms: &Terms) -> Verdict {
    let started = started(&facts, terms);
    let mut warnings = Vec::new();
    if facts.pty_refused {
        warnings.push(Warning::new("pty_refused", "the server gave no terminal, and the command ran without one"));
    }
    if facts.ending == Ending::LetGo {
        let message = "the command ended, and something that it left behind keeps its output open: what that writes from now on is \
                       not seen";
        warnings.push(Warning::new("held_open", message));
    }
    let (outcome, fault) = conclude(&facts, terms, started, &mut warnings);
    // A text of the server may take the claim back: it accepted the command, and ran something else.
    let started = match fault {
        Some(
            Fault::SftpOnly
            | Fault::PasswordExpired { .. }
            | Fault::SudoPasswordRequired
            | Fault::SudoNotPermitted { .. },
        ) if started != Started::No => Started::Unknown,
        _ => started,
    };
    Verdict {
        outcome,
        started,
        fault,
        remote_exit: facts.exit_status.filter(|_| started != Started::No),
        remote_signal: facts.exit_signal.filter(|_| started != Started::No),
        held_open: facts.ending == Ending::LetGo,
        warnings,
    }
}

/// `No` only where it is certain.
fn started(facts: &Facts, terms: &Terms) -> Started {
    let in_shell = !terms.shell_options.is_empty();
    if facts.refused && !facts.output && !facts.ended() {
        return Started::No;
    }
    if facts.dialogue.as_ref().is_some_and(|dialogue| !dialogue.open) {
        // Nothing of ours was sent but a password, and what has the rights starts nothing without the rest.
        return Started::No;
    }
    if terms.is_direct() {
        return if facts.output || facts.ended() { Started::Yes } else { Started::Unknown };
    }
    match facts.mark {
        // It was told to go, if the word arrived; what it does shows that it did.
        Some(Mark::Start) if facts.output || facts.ended() => return Started::Yes,
        Some(Mark::Start) => return Started::Unknown,
        // The start program said that it ends without starting anything.
        Some(Mark::Cwd | Mark::Short | Mark::Staging) => return Started::No,
        None => {}
    }
    if in_shell {
        // Without its mark it was not told to go, and without that word it starts nothing, whatever ran instead of it.
        return Started::No;
    }
    if facts.granted || facts.output || facts.ended() {
        return Started::Yes;
    }
    if facts.request_written { Started::Unknown } else { Started::No }
}

fn conclude(facts: &Facts, terms: &Terms, started: Started, warnings: &mut Vec<Warning>) -> (Outcome, Option<Fault>) {
    if let Some(cause) = &facts.stopped {
        return stopped(facts, cause, started);
    }
    if facts.refused && started == Started::No {
        return (Outcome::NotStarted, Some(Fault::ExecRefused));
    }
    let unknown = |fault| match started {
        Started::No => (Outcome::NotStarted, Some(fault)),
        _ => (Outcome::Unknown, Some(fault)),
    };
    let said = || String::from_utf8_lossy(facts.aside.bytes()).trim().to_owned();
    match facts.mark {
        Some(Mark::Cwd) => return unknown(Fault::CwdUnavailable { path: terms.cwd.clone(), problem: said() }),
        Some(Mark::Short) => {
            return unknown(Fault::RequestIncomplete { problem: "the script was cut short".to_owned() });
        }
        Some(Mark::Staging) => return unknown(Fault::StagingFailed { problem: said() }),
        Some(Mark::Start) | None => {}
    }
    if let Ending::Lost(reason) = &facts.ending {
        if !facts.ended() {
            let phase = if started == Started::No { Phase::Channel } else { Phase::Run };
            return unknown(Fault::ConnectionLost { phase, problem: reason.clone() });
        }
        if !facts.eof {
            return (Outcome::Unknown, Some(Fault::OutputCut { problem: reason.clone() }));
        }
    }
    if let (Some(dialogue), Some(asked)) = (&facts.dialogue, &terms.elevation)
        && !dialogue.open
        && let Some(refused) = refusal::refusal(dialogue, asked)
    {
        return (Outcome::NotStarted, Some(refused));
    }
    if !terms.shell_options.is_empty() && facts.mark.is_none() && started == Started::No {
        return (
            Outcome::NotStarted,
            Some(Fault::NoPosixShell { options: terms.shell_options.join(", "), said: said() }),
        );
    }
    if let Some(signal) = &facts.exit_signal {
        return (Outcome::Failed, Some(Fault::RemoteSignal { signal: signal.clone() }));
    }
    match facts.exit_status {
        Some(0) => (Outcome::Succeeded, None),
        Some(status) => match refused_in_text(facts, terms) {
            Some(refused) => (Outcome::Unknown, Some(refused)),
            None => (Outcome::Failed, Some(Fault::RemoteExit { status })),
        },
        None if terms.no_exit_status && facts.ending == Ending::Closed => {
            let message = "the server sent no exit status; the orderly close was taken for success, as asked";
            warnings.push(Warning::new("exit_status_missing", message));
            (Outcome::Succeeded, None)
        }
        None => (Outcome::Unknown, Some(Fault::ExitStatusMissing)),
    }
}

/// We stopped it: seen to end, with both streams, or not.
fn stopped(facts: &Facts, cause: &StopCause, started: Started) -> (Outcome, Option<Fault>) {
    // The end of the program that gave the rights says nothing of what it started.
    let gone = facts.dialogue.is_none() || facts.group_gone;
    let confirmed = facts.ended() && facts.drained() && gone;
    let outcome = match (started, confirmed) {
        (Started::No, _) => Outcome::NotStarted,
        (_, true) => Outcome::Stopped,
        (_, false) => Outcome::Unknown,
    };
    let known = if started == Started::No { None } else { Some(confirmed) };
    let fault = match cause {
        StopCause::Limit(limit, after) => Fault::Timeout { limit: *limit, after: *after, confirmed: known },
        StopCause::Signal(signal) => Fault::Interrupted { signal: *signal, confirmed: known },
        StopCause::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Fault::Interrupted { signal: Caught::Pipe, confirmed: known }
        }
        StopCause::Output(error) => Fault::StdoutFailed { problem: error.to_string() },
        StopCause::Input(error) => Fault::StdinFailed { problem: error.to_string(), confirmed: known },
    };
    (outcome, Some(fault))
}

/// What a server that accepted the command says instead of running it.
fn refused_in_text(facts: &Facts, terms: &Terms) -> Option<Fault> {
    let says = |opening: &[u8], text: &[u8]| opening.windows(text.len()).any(|window| window == text);
    if facts.exit_status != Some(1) {
        return None;
    }
    if terms.is_direct() && facts.stdout_opening.bytes().is_empty() {
        return refusal::claimed(facts.stderr_opening.bytes());
    }
    if facts.stdout_opening.bytes().starts_with(SFTP_ONLY) {
        return Some(Fault::SftpOnly);
    }
    if facts.stdout_opening.bytes().is_empty() && says(facts.stderr_opening.bytes(), PASSWORD_EXPIRED) {
        return Some(Fault::PasswordExpired { user: terms.user.clone() });
    }
    None
}
