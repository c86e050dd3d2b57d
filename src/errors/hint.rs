//! What to do next about a fault: a command to type, or the place to look at. Our own words only.

use super::fault::{Fault, Limit};

/// The hint of a fault: `None` where none is ever given, empty where only the advice for an unknown outcome applies.
#[expect(clippy::too_many_lines, reason = "a row for each fault")]
pub(super) fn hint(fault: &Fault) -> Option<String> {
    let text = match fault {
        Fault::Usage { .. } => "see `ssh-cli --help`, or `ssh-cli help` with the command's name".to_owned(),
        Fault::OptionConflict { .. } => "drop one of them".to_owned(),
        Fault::StdinAmbiguous => "add `--stdin` to send it, or `-n` to say that it is not meant".to_owned(),
        Fault::StdinTooLarge { .. } => "send less, or copy it there first, as a file, with `ssh-cli scp`".to_owned(),
        Fault::MissingCommand => {
            "ssh-cli opens no interactive shell: name a command, as in `ssh-cli exec HOST uptime`, or use ssh"
                .to_owned()
        }
        Fault::ConfigInvalid { place, .. } if place.starts_with('-') => "correct it".to_owned(),
        Fault::ConfigInvalid { .. } => "correct that line, or leave the file out with `-F none`".to_owned(),
        Fault::MatchExecFailed { .. } | Fault::ProxyCommandNotFound { .. } => "run that command by hand".to_owned(),
        Fault::KeyMalformed { .. } => {
            "check it with `ssh-keygen -y -f FILE`; convert it with `ssh-keygen -p -f FILE`".to_owned()
        }
        Fault::OpKeyMismatch { .. } | Fault::OpKeyRetired { .. } => "use a new key for a new request".to_owned(),
        Fault::KeyUnreadable { .. } => {
            "check the path and its permissions; `-i env:NAME` takes the key's text".to_owned()
        }
        Fault::SecretSourceEmpty { .. } => {
            "a source is env:NAME, file:PATH, fd:N, stdin, cmd:COMMAND, askpass or prompt".to_owned()
        }
        Fault::SourceNotFound { .. } => "check the path".to_owned(),
        Fault::ParentMissing { .. } => "check the path; for a copy `--parents` makes the directories on the way".to_owned(),
        Fault::SourceIsDirectory { .. } => "name a file; `ssh-cli scp -r` copies a directory".to_owned(),
        Fault::OpNotFound { .. } => "`ssh-cli ops list` shows the keys known here".to_owned(),
        Fault::HostNotFound { .. } => "check the spelling".to_owned(),
        Fault::DnsTemporary { .. } => "the name server did not answer; try again".to_owned(),
        Fault::ConnectionRefused { .. } => "is the SSH server running on that port? `-p PORT` names another".to_owned(),
        Fault::Unreachable { .. } => "check the network, the route and the firewall".to_owned(),
        Fault::ConnectTimeout { flag, .. } => format!("try again, or give it longer with `{flag}`"),
        Fault::ConnectionLost { .. }
        | Fault::OutputCut { .. }
        | Fault::OpTransportCut
        | Fault::Timeout { confirmed: Some(false), .. }
        | Fault::StdinFailed { .. } => String::new(),
        Fault::RequestIncomplete { .. } | Fault::VerifyMismatch { .. } => "try again".to_owned(),
        Fault::SessionLimit { .. } => {
            "try again when other sessions have ended; the server's MaxSessions sets it".to_owned()
        }
        Fault::NotSsh { .. } => "another service answers on that port: `-p PORT` names the SSH server's".to_owned(),
        Fault::NoCommonAlgorithm { kind, .. } => {
            format!("the server is too old or too strict: update it, or its {kind} list")
        }
        Fault::ForwardingProhibited { .. } => {
            "the bastion's AllowTcpForwarding or PermitOpen has to permit it".to_owned()
        }
        Fault::ExecRefused => {
            "the account may be restricted to a subsystem, or the device may only offer a shell".to_owned()
        }
        Fault::NoSftpServer => "install OpenSSH's sftp-server there; `ssh-cli sudo-exec --stdin-file FILE DEST 'cat >PATH'` needs none".to_owned(),
        Fault::NoTransferProtocol => "install an sftp-server, or scp, on the host".to_owned(),
        Fault::SudoNotFound => "`ssh-cli su-exec` needs no sudo".to_owned(),
        Fault::SuNotFound => "`ssh-cli sudo-exec` needs no su".to_owned(),
        Fault::ReceiptUnsupported { .. } => "run it without `--op`".to_owned(),
        Fault::NoPosixShell { options, .. } => format!("run it without {options}: plain `exec` needs no POSIX shell"),
        Fault::CwdUnavailable { .. } => "check `--cwd` on the host".to_owned(),
        Fault::StagingFailed { .. } => "make room in TMPDIR, or in /tmp, on the host".to_owned(),
        Fault::SftpOnly => {
            "files can be copied: `ssh-cli scp FILE DEST:` puts one there, `ssh-cli scp DEST:FILE .` gets one".to_owned()
        }
        Fault::ServerViolation { .. } => "do not trust this server".to_owned(),
        Fault::HostKeyUnknown { fingerprint, .. } => format!(
            "compare the fingerprint with one from a trusted place, then add `--host-key {fingerprint}`, or \
             `--host-key-policy accept-new` to remember it"
        ),
        Fault::HostKeyChanged { place, .. } => {
            format!("somebody may be in between, or the host was reinstalled: ask its owner before you remove {place}")
        }
        Fault::HostKeyNotPinned { .. } => {
            "a host has a key of each type, and the pin may be of another one: `ssh-cli check DEST` lists them all; if none is the \
             pinned one, do not connect"
                .to_owned()
        }
        Fault::HostKeyRevoked { .. } => "do not connect: whoever holds this key is not to be trusted".to_owned(),
        Fault::AuthFailed { accepted, tried, .. } => auth_failed(accepted, tried),
        Fault::AuthInteractiveRequired { .. } => {
            "`--otp SRC` answers one-time codes, `--password SRC` passwords".to_owned()
        }
        Fault::CertExpired { .. } => "ask the authority for a new certificate".to_owned(),
        Fault::CertPrincipal { .. } => "ask the authority for a certificate that names it".to_owned(),
        Fault::PasswordRequired { .. } => "`--password SRC`, as in `--password env:NAME`".to_owned(),
        Fault::PassphraseRequired { .. } => {
            "`--passphrase SRC`, as in `--passphrase env:NAME`, or load it into ssh-agent".to_owned()
        }
        Fault::PassphraseWrong { .. } => "check `--passphrase`; `ssh-keygen -y -f FILE` tries it".to_owned(),
        Fault::AccountExpired { .. } => "the administrator of the host has to renew the account".to_owned(),
        Fault::PasswordExpired { .. } => "change it by hand with `ssh`, then try again".to_owned(),
        Fault::SudoPasswordRequired => "`--sudo-password SRC`, as in `--sudo-password env:NAME`".to_owned(),
        Fault::SuPasswordRequired => "`--su-password SRC`, as in `--su-password env:NAME`".to_owned(),
        Fault::SudoPasswordWrong | Fault::SuPasswordWrong => "check the password; it was tried once".to_owned(),
        Fault::SudoNotPermitted { .. } => {
            "`sudo -l` on the host lists what is permitted; where that is one program and no shell, `sudo-exec --sudo-direct` runs it"
                .to_owned()
        },
        Fault::SudoRequiresTty => {
            "add `--pty` where a command is run; a copy has no terminal to give".to_owned()
        }
        Fault::SuNotPermitted { .. } => "su may be limited to a group on that host".to_owned(),
        Fault::RemoteExit { status: 127 } => {
            "not found there: a command runs without the login PATH; use a full path, or `--login`".to_owned()
        }
        Fault::RemoteExit { status: 126 } => "found, and not executable for that user".to_owned(),
        Fault::Timeout { limit, confirmed: Some(true) | None, .. } => match limit {
            Limit::Timeout => "give it longer with `--timeout`".to_owned(),
            Limit::Deadline => "give it longer with `--deadline`".to_owned(),
        },
        Fault::ExitStatusMissing => "network gear that never sends one needs `--no-exit-status`".to_owned(),
        Fault::Interrupted { confirmed: Some(false), .. } => "look at the host: something may still run there, or be left there".to_owned(),
        Fault::RemoteExit { .. } | Fault::RemoteSignal { .. } | Fault::Interrupted { .. } => return None,
        Fault::PartialTransfer { .. } => "each is named with its reason, in JSON in `transfer.entries`".to_owned(),
        Fault::NoSpace { .. } => "free some space there".to_owned(),
        Fault::ReadOnly { .. } | Fault::LocalPermission { .. } | Fault::StdoutFailed { .. } => {
            "choose another place, or make that one writable".to_owned()
        }
        Fault::NotRegular { .. } => "name a regular file as the target".to_owned(),
        Fault::IsDirectory { .. } => "name a file in it, or move the directory away".to_owned(),
        Fault::NotADirectory { .. } => "name a directory, or leave the `/` at its end away".to_owned(),
        Fault::OutsideTheTarget { .. } => "name what the link leads to as the target, or remove the link".to_owned(),
        Fault::TransferRefused { .. } => "look at that path on the host".to_owned(),
        Fault::RemotePermission { .. } => "copy as a user who may, with `-l USER` or by `--sudo`, or to another place".to_owned(),
        Fault::JournalUnwritable { .. } => {
            "make it writable, or name another directory in SSH_CLI_STATE_DIR".to_owned()
        }
        Fault::ReceiptUnwritable { .. } => "free some space in that account's home".to_owned(),
        Fault::ReceiptLost { .. }
        | Fault::ReceiptUnreachable { .. }
        | Fault::ExitStatusLost { .. }
        | Fault::DiedWithoutStatus { .. }
        | Fault::ForeignUnknown { .. } => {
            "look at the host, then tell it with `ssh-cli ops resolve DEST KEY`".to_owned()
        }
        Fault::ForeignSilent { .. } => "wait, then run the same line again: another node may be slow".to_owned(),
        Fault::CancelledBeforeStart => "use a new key to run it after all".to_owned(),
        // `--host-key` pins the destination alone.
        Fault::AtHop { fault, hop } if matches!(**fault, Fault::HostKeyUnknown { .. }) => format!(
            "compare the fingerprint with one from a trusted place, then reach {hop} once with `--host-key-policy accept-new`, which \
             remembers it"
        ),
        Fault::AtHop { fault, .. } => return hint(fault),
        Fault::Internal { .. } => "please report it with the command line, without its secrets".to_owned(),
    };
    Some(text)
}

fn auth_failed(accepted: &[String], tried: &[String]) -> String {
    let accepts = |method: &str| accepted.iter().any(|m| m == method);
    let mut next = Vec::new();
    if accepts("publickey") {
        next.push("name the key with `-i FILE`".to_owned());
    }
    if (accepts("password") || accepts("keyboard-interactive")) && !tried.iter().any(|t| t.starts_with("password")) {
        next.push("give a password with `--password SRC`".to_owned());
    }
    next.push("check the user with `-l USER`".to_owned());
    next.join(", or ")
}
