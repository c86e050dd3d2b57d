//! The exit codes, named as in `sysexits.h`. Callers script against these numbers.

use schemars::JsonSchema;
use serde::Serialize;

/// Done.
pub const EX_OK: i32 = 0;
/// The remote command failed or was stopped; a copy that is not whole.
pub const EX_REMOTE: i32 = 1;
/// Bad command line.
pub const EX_USAGE: i32 = 64;
/// Malformed key material; a key re-used for a different request.
pub const EX_DATAERR: i32 = 65;
/// A source, key file or secret is not there or not readable.
pub const EX_NOINPUT: i32 = 66;
/// The host name does not exist.
pub const EX_NOHOST: i32 = 68;
/// This server cannot do this.
pub const EX_UNAVAILABLE: i32 = 69;
/// A bug in ssh-cli.
pub const EX_SOFTWARE: i32 = 70;
/// A destination, or our journal, cannot be written.
pub const EX_CANTCREAT: i32 = 73;
/// Transient network or SSH failure, and repeating is safe.
pub const EX_IOERR: i32 = 74;
/// Nothing failed: the keyed operation still runs.
pub const EX_TEMPFAIL: i32 = 75;
/// The exchange broke off and the outcome is unknown.
pub const EX_PROTOCOL: i32 = 76;
/// Refused by the server's word.
pub const EX_NOPERM: i32 = 77;
/// Bad `ssh_config`.
pub const EX_CONFIG: i32 = 78;
/// SIGHUP reached us.
pub const EX_SIGHUP: i32 = 129;
/// SIGINT reached us.
pub const EX_SIGINT: i32 = 130;
/// Our reader went away.
pub const EX_SIGPIPE: i32 = 141;
/// SIGTERM reached us.
pub const EX_SIGTERM: i32 = 143;

/// One row of `ssh-cli exit-codes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExitCodeRow {
    /// The exit code.
    pub exit: i32,
    /// Its name in `sysexits.h`, or the signal; empty where it has neither.
    pub name: &'static str,
    /// What it says.
    pub meaning: &'static str,
    /// What the caller does: `no`, `yes` (at most 2 times, full jitter), or `collect`.
    pub reinvoke: &'static str,
}

/// The whole table, in numeric order.
pub const TABLE: [ExitCodeRow; 18] = [
    row(EX_OK, "OK", "done", "no"),
    row(EX_REMOTE, "", "the remote command failed or was stopped; a copy that is not whole", "no"),
    row(EX_USAGE, "USAGE", "bad command line", "no"),
    row(EX_DATAERR, "DATAERR", "malformed key material; a key re-used for a different request", "no"),
    row(EX_NOINPUT, "NOINPUT", "a source, key file or secret is not there or not readable", "no"),
    row(EX_NOHOST, "NOHOST", "the host name does not exist", "no"),
    row(EX_UNAVAILABLE, "UNAVAILABLE", "this server cannot do this", "no"),
    row(EX_SOFTWARE, "SOFTWARE", "a bug in ssh-cli", "no"),
    row(EX_CANTCREAT, "CANTCREAT", "a destination, or our journal, cannot be written", "no"),
    row(EX_IOERR, "IOERR", "transient network or SSH failure, and repeating is safe", "yes"),
    row(
        EX_TEMPFAIL,
        "TEMPFAIL",
        "nothing failed: the keyed operation still runs; the same line collects it",
        "collect",
    ),
    row(EX_PROTOCOL, "PROTOCOL", "the exchange broke off and the outcome is unknown: a person must decide", "no"),
    row(EX_NOPERM, "NOPERM", "authentication, host key, elevation or remote permission refused", "no"),
    row(EX_CONFIG, "CONFIG", "bad ssh_config", "no"),
    row(EX_SIGHUP, "SIGHUP", "ended by SIGHUP; the envelope says whether the remote was stopped", "no"),
    row(EX_SIGINT, "SIGINT", "ended by SIGINT; the envelope says whether the remote was stopped", "no"),
    row(
        EX_SIGPIPE,
        "SIGPIPE",
        "our reader went away; the envelope, on stderr, says whether the remote was stopped",
        "no",
    ),
    row(EX_SIGTERM, "SIGTERM", "ended by SIGTERM; the envelope says whether the remote was stopped", "no"),
];

const fn row(exit: i32, name: &'static str, meaning: &'static str, reinvoke: &'static str) -> ExitCodeRow {
    ExitCodeRow { exit, name, meaning, reinvoke }
}
