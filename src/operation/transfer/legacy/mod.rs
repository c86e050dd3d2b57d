//! The legacy protocol, as OpenSSH's `scp -t` and `scp -f` speak it, where there is no SFTP.
//!
//! | file | what it is |
//! |---|---|
//! | [`record`], [`said`], [`words`] | what the other side may say, why it refuses, and paths as its shell reads them; pure |
//! | [`wire`] | a command's channel, always drained |
//! | [`errands`] | a shell beside it: what the protocol has no word for |
//! | [`sink`] | `scp -t` |
//! | [`upload`], [`turns`], [`put`], [`feed`], [`spot`], [`directory`] | from here to there |
//! | [`download`], [`take`], [`ask`] | from there to here |
//! | [`meter`] | what all of one copy shares |

mod ask;
mod directory;
mod download;
mod errands;
mod feed;
mod meter;
mod put;
mod record;
pub(super) mod said;
mod sink;
mod spot;
mod take;
mod turns;
mod upload;
mod wire;
pub(super) mod words;

use std::time::Duration;

use super::{Broken, Job, Line};
use crate::connection::Patience;
use crate::model::copy::Way;
use crate::model::outcome::Warning;
use crate::model::sink::Sink;
use crate::operation::transfer::ledger::Touched;
use meter::Meter;

/// How long a further channel may take to open and to say its first word.
const AGAIN: Duration = Duration::from_secs(15);

/// The longest command. Dropbear drops one of 9000 bytes and more without a word.
const COMMAND_MAX: usize = 6000;

/// Copies.
pub(super) async fn run<S: Sink>(line: Line<'_>, job: &Job<'_, S>) -> Result<(), Broken> {
    cannot_resume(job);
    let meter = Meter::new(line, job);
    match job.plan.way {
        Way::Upload { sources, target } => upload::upload(&meter, sources, target).await,
        Way::Download { sources, target } => download::download(&meter, sources, target).await,
    }
}

/// Removes the parts that are not finished, each from the list as it is gone.
pub(super) async fn sweep<S: Sink>(line: Line<'_>, job: &Job<'_, S>) {
    let parts: Vec<Vec<u8>> = job.parts.borrow().iter().cloned().collect();
    let mut rest = &parts[..];
    while !rest.is_empty() {
        let mut words = Vec::new();
        let mut count = 0;
        while let Some(part) = rest.get(count) {
            let word = words::literal(part);
            if count > 0 && words.len() + word.len() > COMMAND_MAX / 3 {
                break;
            }
            words.push(b' ');
            words.extend_from_slice(&word);
            count += 1;
        }
        let (some, others) = rest.split_at(count);
        rest = others;
        // What was on its way to the other command may make the file once more.
        let script = [b"rm -f", &words[..], b"; sleep 1; rm -f", &words[..]].concat();
        let command = words::in_sh(&script);
        let patience = Patience::new(Some(super::SWEEP), None);
        let Ok(mut wire) = wire::Wire::start(line, &patience, &command).await else { return };
        if wire.status().await != Some(0) {
            return;
        }
        job.ledger.borrow_mut().touch(Touched::Yes);
        for part in some {
            job.parts.borrow_mut().remove(part);
        }
    }
}

/// Says that `--resume` is not to be had.
fn cannot_resume<S>(job: &Job<'_, S>) {
    if job.plan.options.resume {
        let message = "the legacy protocol cannot continue a file: each is copied from its beginning";
        job.landing.borrow_mut().warnings.push(Warning::new("resume_unsupported", message));
    }
}
