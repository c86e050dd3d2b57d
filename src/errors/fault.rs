//! Every way an invocation can fail: one variant for one fact, and its sentence beside it.

use std::time::Duration;

use thiserror::Error;

use crate::model::outcome::Phase;

/// Which of our own limits ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `--timeout`.
    Timeout,
    /// `--deadline`.
    Deadline,
}

impl Limit {
    /// The flag that set it.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Timeout => "--timeout",
            Self::Deadline => "--deadline",
        }
    }
}

/// A signal that ends us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// Hang-up.
    Hup,
    /// Ctrl-C.
    Int,
    /// Whoever reads our stdout went away.
    Pipe,
    /// A request to end.
    Term,
}

impl Caught {
    /// Its name, without `SIG`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hup => "HUP",
            Self::Int => "INT",
            Self::Pipe => "PIPE",
            Self::Term => "TERM",
        }
    }
}

/// The fact of a failure. Names, paths and texts in it may come from the server: [`super::SshCliError::message`] cleans them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "each sentence says what its fields are")]
pub enum Fault {
    // The command line.
    #[error("{message}")]
    Usage { message: String },
    #[error("{options} cannot be combined: {why}")]
    OptionConflict { options: String, why: String },
    #[error("standard input is a file that nothing would read")]
    StdinAmbiguous,
    #[error("standard input is over the {limit} bytes that can be kept")]
    StdinTooLarge { limit: u64 },
    #[error("there is no command to run")]
    MissingCommand,
    // Configuration.
    #[error("{place}: {problem}")]
    ConfigInvalid { place: String, problem: String },
    #[error("`Match exec` failed: {command}: {problem}")]
    MatchExecFailed { command: String, problem: String },
    #[error("the ProxyCommand could not be run: {command}: {problem}")]
    ProxyCommandNotFound { command: String, problem: String },
    #[error("the key in {source_name} is malformed: {problem}")]
    KeyMalformed { source_name: String, problem: String },
    #[error("the operation key `{key}` was used for another request")]
    OpKeyMismatch { key: String },
    #[error("the operation key `{key}` was retired as abandoned")]
    OpKeyRetired { key: String },
    // Local sources.
    #[error("the key {path} cannot be read: {problem}")]
    KeyUnreadable { path: String, problem: String },
    #[error("{what}: no secret in {origin}: {problem}")]
    SecretSourceEmpty { what: String, origin: String, problem: String },
    #[error("{path} cannot be read: {problem}")]
    SourceNotFound { path: String, problem: String },
    #[error("{path} is a directory")]
    SourceIsDirectory { path: String },
    #[error("no operation `{key}` is known here for that target")]
    OpNotFound { key: String },
    // Getting there.
    #[error("the host name {host} does not exist")]
    HostNotFound { host: String },
    #[error("the host name {host} could not be resolved: {problem}")]
    DnsTemporary { host: String, problem: String },
    #[error("{address} refused the connection")]
    ConnectionRefused { address: String },
    #[error("{address} cannot be reached: {problem}")]
    Unreachable { address: String, problem: String },
    #[error("no session on {address} within {} of {}", Span(*.after), .flag)]
    ConnectTimeout { address: String, after: Duration, flag: &'static str, phase: Phase },
    #[error("the connection was lost: {problem}")]
    ConnectionLost { phase: Phase, problem: String },
    #[error("the server opens no more sessions: {problem}")]
    SessionLimit { problem: String },
    #[error("{address} does not speak SSH: {got}")]
    NotSsh { address: String, got: String },
    #[error("no {kind} in common: ours are {ours}; theirs are {theirs}")]
    NoCommonAlgorithm { kind: String, ours: String, theirs: String },
    #[error("{hop} refuses to forward to {target}: {problem}")]
    ForwardingProhibited { hop: String, target: String, problem: String },
    #[error("the server refused to run a command")]
    ExecRefused,
    #[error("the server offers neither SFTP nor the legacy copy protocol")]
    NoTransferProtocol,
    #[error("there is no sftp-server program on the host, and with other rights nothing else copies")]
    NoSftpServer,
    #[error("there is no sudo on the host")]
    SudoNotFound,
    #[error("there is no su on the host")]
    SuNotFound,
    #[error("no receipt can be kept on this host: {problem}")]
    ReceiptUnsupported { problem: String },
    #[error("no POSIX shell answered on this host, and {options} needs one{}", if .said.is_empty() { String::new() } else { format!("; it said: {said}") })]
    NoPosixShell { options: String, said: String },
    #[error("the directory {path} cannot be entered on the host: {problem}")]
    CwdUnavailable { path: String, problem: String },
    #[error("a part of the request did not arrive whole on the host: {problem}")]
    RequestIncomplete { problem: String },
    #[error("the script could not be stored on the host: {problem}")]
    StagingFailed { problem: String },
    #[error("this account allows SFTP only")]
    SftpOnly,
    #[error("the server broke the protocol: {problem}")]
    ServerViolation { problem: String, phase: Phase },
    // Refusals.
    #[error("the host key of {host} is not known: {key_type} {fingerprint}{}", if .known_types.is_empty() { String::new() } else { format!("; known of it: {known_types}") })]
    HostKeyUnknown { host: String, key_type: String, fingerprint: String, known_types: String },
    #[error("the host key of {host} has changed: {place} holds another {key_type} key than {fingerprint}")]
    HostKeyChanged { host: String, key_type: String, fingerprint: String, place: String },
    #[error("the host key of {host} is not one of those pinned by --host-key: it is {key_type} {fingerprint}")]
    HostKeyNotPinned { host: String, key_type: String, fingerprint: String },
    #[error("the host key of {host} is revoked in {place}: {key_type} {fingerprint}")]
    HostKeyRevoked { host: String, key_type: String, fingerprint: String, place: String },
    #[error("{user} was not accepted: {reason}")]
    AuthFailed { user: String, reason: String, tried: Vec<String>, accepted: Vec<String> },
    #[error("the server asks something that no option answers: {prompt}")]
    AuthInteractiveRequired { prompt: String },
    #[error("the certificate of {subject} has expired or is not valid yet: {detail}")]
    CertExpired { subject: String, detail: String, phase: Phase },
    #[error("the certificate of {subject} does not name it: {detail}")]
    CertPrincipal { subject: String, detail: String, phase: Phase },
    #[error("{user} needs a password, and none was given")]
    PasswordRequired { user: String },
    #[error("the key {path} is encrypted, and no passphrase was given")]
    PassphraseRequired { path: String },
    #[error("the passphrase does not open the key {path}")]
    PassphraseWrong { path: String },
    #[error("the account {user} is not valid any more: it has expired, or is locked")]
    AccountExpired { user: String },
    #[error("the password of {user} has expired and must be changed at a terminal")]
    PasswordExpired { user: String },
    #[error("sudo asks for a password, and none was given")]
    SudoPasswordRequired,
    #[error("sudo did not accept the password")]
    SudoPasswordWrong,
    #[error("sudo does not permit this: {problem}")]
    SudoNotPermitted { problem: String },
    #[error("sudo insists on a terminal")]
    SudoRequiresTty,
    #[error("su asks for a password, and none was given")]
    SuPasswordRequired,
    #[error("su did not accept the password")]
    SuPasswordWrong,
    #[error("su does not permit this: {problem}")]
    SuNotPermitted { problem: String },
    // The run.
    #[error("the command ended with status {status}")]
    RemoteExit { status: u32 },
    #[error("the command was ended by SIG{signal}")]
    RemoteSignal { signal: String },
    #[error("{} of {} is over; {}", .limit.flag(), Span(*.after), stopped(*.confirmed))]
    Timeout { limit: Limit, after: Duration, confirmed: Option<bool> },
    #[error("our side of standard input failed: {problem}; {}", stopped(*.confirmed))]
    StdinFailed { problem: String, confirmed: Option<bool> },
    #[error("the session ended without an exit status")]
    ExitStatusMissing,
    #[error("the command ended, and the connection was lost before its output was whole: {problem}")]
    OutputCut { problem: String },
    #[error("SIG{} ended ssh-cli{}", .signal.name(), match .confirmed { Some(true) => "; the remote side was stopped", Some(false) => "; the remote side was not seen to stop", None => "" })]
    Interrupted { signal: Caught, confirmed: Option<bool> },
    // Copies.
    #[error("{failed} of {total} entries were not copied")]
    PartialTransfer { failed: u64, total: u64 },
    #[error("no space left for {path}")]
    NoSpace { path: String },
    #[error("{path} is on a read-only file system")]
    ReadOnly { path: String },
    #[error("the directory of {path} does not exist")]
    ParentMissing { path: String },
    #[error("{path} is not a regular file, and only those are replaced")]
    NotRegular { path: String },
    #[error("{path} is a directory")]
    IsDirectory { path: String },
    #[error("{path} is not a directory")]
    NotADirectory { path: String },
    #[error("{path} is a link, or behind one, that leads out of the target")]
    OutsideTheTarget { path: String },
    #[error("{path}: {problem}")]
    TransferRefused { path: String, problem: String },
    #[error("{path} may not be written here: {problem}")]
    LocalPermission { path: String, problem: String },
    #[error("{path}: permission denied by the host")]
    RemotePermission { path: String },
    #[error("{path} differs after the copy")]
    VerifyMismatch { path: String },
    // Local ends.
    #[error("standard output cannot be written: {problem}")]
    StdoutFailed { problem: String },
    #[error("the journal cannot be written: {problem}")]
    JournalUnwritable { problem: String },
    // Keyed operations.
    #[error("the receipt cannot be written on the host: {problem}")]
    ReceiptUnwritable { problem: String },
    #[error("the connection was lost while the operation ran")]
    OpTransportCut,
    #[error("the host's receipt of this operation is gone: {evidence}")]
    ReceiptLost { evidence: String },
    #[error("the host's receipt cannot be reached: {evidence}")]
    ReceiptUnreachable { evidence: String },
    #[error("the operation ended, and its status was lost: {evidence}")]
    ExitStatusLost { evidence: String },
    #[error("the operation died without leaving a status: {evidence}")]
    DiedWithoutStatus { evidence: String },
    #[error("the operation runs, or ran, on another node: {evidence}")]
    ForeignUnknown { evidence: String },
    #[error("the operation runs on another node, which shows no sign of life yet: {evidence}")]
    ForeignSilent { evidence: String },
    #[error("the operation was cancelled before it started")]
    CancelledBeforeStart,
    #[error("bastion {hop}: {fault}")]
    AtHop { hop: String, fault: Box<Fault> },
    // Ourselves.
    #[error("this is a bug in ssh-cli: {problem}")]
    Internal { problem: String },
}

/// What became of a command or a copy that we stopped; `None`: it had not begun.
const fn stopped(confirmed: Option<bool>) -> &'static str {
    match confirmed {
        Some(true) => "the remote side was stopped",
        Some(false) => "the remote side was told to stop, and was not seen to",
        None => "nothing had begun there",
    }
}

/// A duration as a person would type it.
pub(super) struct Span(pub(super) Duration);

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = self.0.as_millis();
        match ms {
            0..1000 => write!(f, "{ms}ms"),
            _ if !ms.is_multiple_of(1000) => write!(f, "{:.1}s", self.0.as_secs_f64()),
            _ => write!(f, "{}s", ms / 1000),
        }
    }
}

impl Fault {
    /// The same of another path, where it is about this one: what is told names the file that somebody asked for.
    #[must_use]
    pub fn about(mut self, this: &str, other: &str) -> Self {
        if let Self::SourceNotFound { path, .. }
        | Self::SourceIsDirectory { path }
        | Self::NoSpace { path }
        | Self::ReadOnly { path }
        | Self::ParentMissing { path }
        | Self::NotRegular { path }
        | Self::IsDirectory { path }
        | Self::NotADirectory { path }
        | Self::TransferRefused { path, .. }
        | Self::LocalPermission { path, .. }
        | Self::RemotePermission { path }
        | Self::VerifyMismatch { path } = &mut self
            && path == this
        {
            other.clone_into(path);
        }
        self
    }
}
