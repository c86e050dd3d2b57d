//! The exit code of the process, from what is known at the end.

use crate::errors::{Fault, SshCliError, exit_codes};
use crate::model::outcome::{Finished, Outcome};

/// The error's, or with `remote_exit` the remote command's own as far as it cannot be mistaken for ours.
pub(super) fn exit_code(finished: &Finished, error: Option<&SshCliError>, remote_exit: bool) -> i32 {
    match (error, error.map(SshCliError::fault)) {
        (Some(_), Some(Fault::RemoteExit { status })) if remote_exit => remote_status(*status),
        (Some(_), Some(Fault::RemoteSignal { signal })) if remote_exit => remote_signal(signal),
        (Some(error), _) => error.exit_code(),
        (None, _) => match finished.outcome {
            Outcome::Succeeded => exit_codes::EX_OK,
            Outcome::Running => exit_codes::EX_TEMPFAIL,
            Outcome::Failed | Outcome::Stopped => exit_codes::EX_REMOTE,
            Outcome::NotStarted | Outcome::Unknown => exit_codes::EX_SOFTWARE,
        },
    }
}

/// 64 to 78 are words of ours, 255 is what ssh says of itself; 130, 141 and 143 say that ssh-cli was signalled.
fn remote_status(status: u32) -> i32 {
    match i32::try_from(status) {
        Ok(exit_codes::EX_SIGINT | exit_codes::EX_SIGPIPE | exit_codes::EX_SIGTERM) => exit_codes::EX_REMOTE,
        Ok(status @ (0..=63 | 79..=254)) => status,
        _ => exit_codes::EX_REMOTE,
    }
}

/// The names of RFC 4254 section 6.10, and those that Linux servers add, with their numbers on Linux.
fn remote_signal(name: &str) -> i32 {
    let names = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
        "TERM",
    ];
    let number = (1..).zip(names).find(|(_, known)| *known == name).map(|(number, _)| number);
    number.map_or(exit_codes::EX_REMOTE, |number| remote_status(128 + number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::Effect;
    use crate::model::outcome::Started;

    fn code(fault: Fault, remote_exit: bool) -> i32 {
        let error = SshCliError::new(fault, Started::Yes, Effect::Write, false);
        exit_code(&Finished::not_started(Effect::Write), Some(&error), remote_exit)
    }

    #[test]
    fn a_remote_status_passes_where_it_is_no_word_of_ours() {
        for status in 1..=300 {
            let passes = matches!(status, 1..=63 | 79..=254) && !matches!(status, 130 | 141 | 143);
            let expected = if passes { i32::try_from(status).unwrap() } else { 1 };
            assert_eq!(code(Fault::RemoteExit { status }, true), expected, "{status}");
            assert_eq!(code(Fault::RemoteExit { status }, false), 1);
        }
        assert_eq!(code(Fault::RemoteExit { status: u32::MAX }, true), 1);
    }

    #[test]
    fn a_remote_signal_is_128_and_its_number() {
        let signal = |name: &str| code(Fault::RemoteSignal { signal: name.into() }, true);
        assert_eq!((signal("KILL"), signal("SEGV"), signal("HUP")), (137, 139, 129));
        assert_eq!((signal("INT"), signal("PIPE"), signal("TERM"), signal("WINCH")), (1, 1, 1, 1));
        assert_eq!(code(Fault::RemoteSignal { signal: "KILL".into() }, false), 1);
    }

    #[test]
    fn any_other_error_keeps_its_own() {
        assert_eq!(code(Fault::ExitStatusMissing, true), 76);
        assert_eq!(code(Fault::SftpOnly, true), 69);
    }
}
