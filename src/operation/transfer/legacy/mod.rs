//! The legacy protocol of `scp -t` and `scp -f`, for hosts without SFTP (OpenSSH's `scp(1)`, `-O`). It has no names for what it does
//! beyond files and directories, and the server runs ahead; so what it says is taken for no more than it is.
//!
//! | file | what it is |
//! |---|---|
//! | [`wire`] | its lines, pure |
//! | [`talk`] | one scp on the host, spoken with |
//! | [`pull`], [`pattern`], [`fate`] | from there to here |
//! | [`push`], [`host`], [`install`] | from here to there: under a name of ours, and then, by a command, to its place |

mod fate;
mod host;
mod install;
mod pattern;
mod pull;
mod push;
mod talk;
mod wire;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::{Broken, Job, Line, SWEEP, command};
use crate::errors::Fault;
use crate::model::copy::Way;
use crate::model::sink::Sink;
use crate::shell;

/// Copies.
pub(super) async fn run<S: Sink>(line: Line<'_>, job: &Job<'_, S>) -> Result<(), Broken> {
    match job.plan.way {
        Way::Upload { sources, target } => push::push(line, job, sources, target).await,
        Way::Download { sources, target } => pull::pull(line, job, sources, target).await,
    }
}

/// Removes the parts that are not finished, each from the list as it is gone.
pub(super) async fn sweep<S: Sink>(line: Line<'_>, job: &Job<'_, S>) {
    let parts: Vec<Vec<u8>> = job.parts.borrow().iter().cloned().collect();
    for some in parts.chunks(install::BATCH) {
        let mut program = b"rm -f --".to_vec();
        for part in some {
            let Ok(part) = quoted(part) else { continue };
            program.push(b' ');
            program.extend_from_slice(&part);
        }
        let said = command::sh(line, &program, SWEEP).await;
        if said.is_ok_and(|said| said.is_some_and(|said| said.status == Some(0))) {
            for part in some {
                job.parts.borrow_mut().remove(part);
            }
        }
    }
}

/// Whether it ends the whole copy, whatever else there is to be copied.
fn is_final(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::ConnectionLost { .. }
            | Fault::NoSpace { .. }
            | Fault::ReadOnly { .. }
            | Fault::StdoutFailed { .. }
            | Fault::Internal { .. }
            | Fault::Interrupted { .. }
    )
}

fn quoted(word: &[u8]) -> Result<Vec<u8>, Fault> {
    shell::quote(OsStr::from_bytes(word))
        .map_err(|_| Fault::Usage { message: "a NUL byte cannot be part of a path".to_owned() })
}
