//! Fault → code, class, phase and exit. One match without a wildcard: a new fault does not compile until it is placed.

use super::exit_codes as exit;
use super::fault::{Caught, Fault};
use crate::model::outcome::{Class, Phase};

/// How a fault ends the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Always with this code.
    Code(i32),
    /// With 74 where repeating is safe, else with 76: what was started, the effect and the key decide.
    Transient,
}

/// One row of the error table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The stable word.
    pub code: &'static str,
    /// Its class; a transient fault that may have started something is shown as unknown.
    pub class: Class,
    /// Where it happened.
    pub phase: Phase,
    /// How it ends the process.
    pub exit: Exit,
}

const fn row(code: &'static str, class: Class, phase: Phase, exit: Exit) -> Row {
    Row { code, class, phase, exit }
}

const fn permanent(code: &'static str, phase: Phase, exit: i32) -> Row {
    row(code, Class::Permanent, phase, Exit::Code(exit))
}

const fn transient(code: &'static str, phase: Phase) -> Row {
    row(code, Class::Transient, phase, Exit::Transient)
}

/// Stopped by us: seen to end, not seen to end, or before it began.
const fn stopped(code: &'static str, confirmed: Option<bool>) -> Row {
    match confirmed {
        Some(true) => row(code, Class::Cancelled, Phase::Run, Exit::Code(exit::EX_REMOTE)),
        Some(false) => row(code, Class::Unknown, Phase::Run, Exit::Transient),
        // It never began, and may do better another time.
        None => row(code, Class::Transient, Phase::Local, Exit::Transient),
    }
}

const fn reconcile(code: &'static str) -> Row {
    row(code, Class::Unknown, Phase::Run, Exit::Code(exit::EX_PROTOCOL))
}

impl Fault {
    /// The fault's row in the table.
    #[expect(clippy::too_many_lines, reason = "a row for each fault")]
    pub fn row(&self) -> Row {
        match self {
            Self::Usage { .. } => permanent("usage", Phase::Usage, exit::EX_USAGE),
            Self::OptionConflict { .. } => permanent("option_conflict", Phase::Usage, exit::EX_USAGE),
            Self::StdinAmbiguous => permanent("stdin_ambiguous", Phase::Usage, exit::EX_USAGE),
            Self::StdinTooLarge { .. } => permanent("stdin_too_large", Phase::Usage, exit::EX_USAGE),
            Self::MissingCommand => permanent("missing_command", Phase::Usage, exit::EX_USAGE),
            Self::ConfigInvalid { .. } => permanent("config_invalid", Phase::Config, exit::EX_CONFIG),
            Self::MatchExecFailed { .. } => permanent("match_exec_failed", Phase::Config, exit::EX_CONFIG),
            Self::ProxyCommandNotFound { .. } => permanent("proxy_command_not_found", Phase::Config, exit::EX_CONFIG),
            Self::KeyMalformed { .. } => permanent("key_malformed", Phase::Config, exit::EX_DATAERR),
            Self::OpKeyMismatch { .. } => permanent("op_key_mismatch", Phase::Journal, exit::EX_DATAERR),
            Self::OpKeyRetired { .. } => permanent("op_key_retired", Phase::Journal, exit::EX_DATAERR),
            Self::KeyUnreadable { .. } => permanent("key_unreadable", Phase::Local, exit::EX_NOINPUT),
            Self::SecretSourceEmpty { .. } => permanent("secret_source_empty", Phase::Local, exit::EX_NOINPUT),
            Self::SourceNotFound { .. } => permanent("source_not_found", Phase::Local, exit::EX_NOINPUT),
            Self::SourceIsDirectory { .. } => permanent("source_is_directory", Phase::Local, exit::EX_NOINPUT),
            Self::OpNotFound { .. } => permanent("op_not_found", Phase::Local, exit::EX_NOINPUT),
            Self::HostNotFound { .. } => permanent("host_not_found", Phase::Resolve, exit::EX_NOHOST),
            Self::DnsTemporary { .. } => transient("dns_temporary", Phase::Resolve),
            Self::ConnectionRefused { .. } => transient("connection_refused", Phase::Connect),
            Self::Unreachable { .. } => transient("unreachable", Phase::Connect),
            Self::ConnectTimeout { phase, .. } => transient("connect_timeout", *phase),
            Self::ConnectionLost { phase, .. } => transient("connection_lost", *phase),
            Self::SessionLimit { .. } => transient("session_limit", Phase::Channel),
            Self::NotSsh { .. } => permanent("not_ssh", Phase::Handshake, exit::EX_UNAVAILABLE),
            Self::NoCommonAlgorithm { .. } => permanent("no_common_algorithm", Phase::Handshake, exit::EX_UNAVAILABLE),
            Self::ForwardingProhibited { .. } => {
                permanent("forwarding_prohibited", Phase::Connect, exit::EX_UNAVAILABLE)
            }
            Self::ExecRefused => permanent("exec_refused", Phase::Channel, exit::EX_UNAVAILABLE),
            Self::NoTransferProtocol | Self::NoSftpServer => {
                permanent("no_transfer_protocol", Phase::Transfer, exit::EX_UNAVAILABLE)
            }
            Self::SudoNotFound => permanent("sudo_not_found", Phase::Elevate, exit::EX_UNAVAILABLE),
            Self::SuNotFound => permanent("su_not_found", Phase::Elevate, exit::EX_UNAVAILABLE),
            Self::ReceiptUnsupported { .. } => permanent("receipt_unsupported", Phase::Journal, exit::EX_UNAVAILABLE),
            Self::NoPosixShell { .. } => permanent("no_posix_shell", Phase::Channel, exit::EX_UNAVAILABLE),
            Self::CwdUnavailable { .. } => permanent("cwd_unavailable", Phase::Channel, exit::EX_UNAVAILABLE),
            Self::RequestIncomplete { .. } => transient("request_incomplete", Phase::Channel),
            Self::StagingFailed { .. } => permanent("staging_failed", Phase::Channel, exit::EX_UNAVAILABLE),
            Self::SftpOnly => permanent("sftp_only", Phase::Run, exit::EX_UNAVAILABLE),
            Self::ServerViolation { phase, .. } => permanent("server_violation", *phase, exit::EX_UNAVAILABLE),
            Self::HostKeyUnknown { .. } => permanent("host_key_unknown", Phase::HostKey, exit::EX_NOPERM),
            Self::HostKeyChanged { .. } | Self::HostKeyNotPinned { .. } => {
                permanent("host_key_changed", Phase::HostKey, exit::EX_NOPERM)
            }
            Self::HostKeyRevoked { .. } => permanent("host_key_revoked", Phase::HostKey, exit::EX_NOPERM),
            Self::AuthFailed { .. } => permanent("auth_failed", Phase::Auth, exit::EX_NOPERM),
            Self::AuthInteractiveRequired { .. } => {
                permanent("auth_interactive_required", Phase::Auth, exit::EX_NOPERM)
            }
            Self::CertExpired { phase, .. } => permanent("cert_expired", *phase, exit::EX_NOPERM),
            Self::CertPrincipal { phase, .. } => permanent("cert_principal", *phase, exit::EX_NOPERM),
            Self::PasswordRequired { .. } => permanent("password_required", Phase::Auth, exit::EX_NOPERM),
            Self::PassphraseRequired { .. } => permanent("passphrase_required", Phase::Auth, exit::EX_NOPERM),
            Self::PassphraseWrong { .. } => permanent("passphrase_wrong", Phase::Auth, exit::EX_NOPERM),
            Self::AccountExpired { .. } => permanent("account_expired", Phase::Auth, exit::EX_NOPERM),
            Self::PasswordExpired { .. } => permanent("password_expired", Phase::Run, exit::EX_NOPERM),
            Self::SudoPasswordRequired => permanent("sudo_password_required", Phase::Elevate, exit::EX_NOPERM),
            Self::SudoPasswordWrong => permanent("sudo_password_wrong", Phase::Elevate, exit::EX_NOPERM),
            Self::SudoNotPermitted { .. } => permanent("sudo_not_permitted", Phase::Elevate, exit::EX_NOPERM),
            Self::SudoRequiresTty => permanent("sudo_requires_tty", Phase::Elevate, exit::EX_NOPERM),
            Self::SuPasswordRequired => permanent("su_password_required", Phase::Elevate, exit::EX_NOPERM),
            Self::SuPasswordWrong => permanent("su_password_wrong", Phase::Elevate, exit::EX_NOPERM),
            Self::SuNotPermitted { .. } => permanent("su_not_permitted", Phase::Elevate, exit::EX_NOPERM),
            Self::RemoteExit { .. } => row("remote_exit", Class::Remote, Phase::Run, Exit::Code(exit::EX_REMOTE)),
            Self::RemoteSignal { .. } => row("remote_signal", Class::Remote, Phase::Run, Exit::Code(exit::EX_REMOTE)),
            Self::Timeout { confirmed, .. } => stopped("timeout", *confirmed),
            Self::StdinFailed { confirmed, .. } => stopped("stdin_failed", *confirmed),
            Self::ExitStatusMissing => row("exit_status_missing", Class::Unknown, Phase::Run, Exit::Transient),
            Self::OutputCut { .. } => row("output_cut", Class::Unknown, Phase::Run, Exit::Transient),
            Self::Interrupted { signal, .. } => {
                row("interrupted", Class::Cancelled, Phase::Local, Exit::Code(interrupted(*signal)))
            }
            Self::PartialTransfer { .. } => permanent("partial_transfer", Phase::Transfer, exit::EX_REMOTE),
            Self::NoSpace { .. } => permanent("no_space", Phase::Transfer, exit::EX_CANTCREAT),
            Self::ReadOnly { .. } => permanent("read_only", Phase::Transfer, exit::EX_CANTCREAT),
            Self::ParentMissing { .. } => permanent("parent_missing", Phase::Transfer, exit::EX_CANTCREAT),
            Self::NotRegular { .. } => permanent("not_regular", Phase::Transfer, exit::EX_CANTCREAT),
            Self::IsDirectory { .. } => permanent("is_directory", Phase::Transfer, exit::EX_CANTCREAT),
            Self::NotADirectory { .. } => permanent("not_a_directory", Phase::Transfer, exit::EX_CANTCREAT),
            Self::OutsideTheTarget { .. } => permanent("outside_the_target", Phase::Transfer, exit::EX_CANTCREAT),
            Self::TransferRefused { .. } => permanent("transfer_refused", Phase::Transfer, exit::EX_CANTCREAT),
            Self::LocalPermission { .. } => permanent("local_permission", Phase::Transfer, exit::EX_CANTCREAT),
            Self::RemotePermission { .. } => permanent("remote_permission", Phase::Transfer, exit::EX_NOPERM),
            Self::VerifyMismatch { .. } => transient("verify_mismatch", Phase::Transfer),
            Self::StdoutFailed { .. } => permanent("stdout_failed", Phase::Local, exit::EX_CANTCREAT),
            Self::JournalUnwritable { .. } => permanent("journal_unwritable", Phase::Journal, exit::EX_CANTCREAT),
            Self::ReceiptUnwritable { .. } => permanent("receipt_unwritable", Phase::Journal, exit::EX_CANTCREAT),
            Self::OpTransportCut => transient("op_transport_cut", Phase::Run),
            Self::ReceiptLost { .. } => reconcile("receipt_lost"),
            Self::ReceiptUnreachable { .. } => reconcile("receipt_unreachable"),
            Self::ExitStatusLost { .. } => reconcile("exit_status_lost"),
            Self::DiedWithoutStatus { .. } => reconcile("died_without_status"),
            Self::ForeignUnknown { .. } => reconcile("foreign_unknown"),
            Self::ForeignSilent { .. } => transient("foreign_silent", Phase::Run),
            Self::CancelledBeforeStart => {
                row("cancelled_before_start", Class::Cancelled, Phase::Run, Exit::Code(exit::EX_REMOTE))
            }
            Self::AtHop { fault, .. } => fault.row(),
            Self::Internal { .. } => permanent("internal", Phase::Local, exit::EX_SOFTWARE),
        }
    }
}

const fn interrupted(signal: Caught) -> i32 {
    match signal {
        Caught::Hup => exit::EX_SIGHUP,
        Caught::Int => exit::EX_SIGINT,
        Caught::Pipe => exit::EX_SIGPIPE,
        Caught::Term => exit::EX_SIGTERM,
    }
}
