//! SFTP, version 3 (draft-ietf-secsh-filexfer-02): a client of our own, and what drives it.
//!
//! | file | what it is |
//! |---|---|
//! | [`wire`], [`attributes`], [`frames`] | packets, pure |
//! | [`client`] | requests and answers on one channel |
//! | [`remote`], [`extensions`] | the operations, one function each, and what a server can do beyond them |
//! | [`window`] | how much is asked for before it is answered |
//! | [`faults`] | from a status to what is wrong |
//! | [`work`] | what all of one copy shares |
//! | [`upload`], [`put`], [`pump`], [`feed`], [`spot`], [`directory`], [`link`], [`resume`] | from here to there |
//! | [`download`], [`find`], [`listing`], [`level`], [`get`], [`print`] | from there to here |
//! | [`lanes`] | many files on their way at once |
//! | [`stream`], [`digest`] | a file there, read in order |

mod attributes;
mod client;
mod digest;
mod directory;
mod download;
mod extensions;
mod faults;
mod feed;
mod find;
mod frames;
mod get;
mod lanes;
mod level;
mod link;
mod listing;
mod print;
mod pump;
mod put;
mod remote;
mod resume;
mod spot;
mod stream;
mod upload;
mod window;
mod wire;
mod work;

#[cfg(test)]
mod wire_tests;

use std::rc::Rc;

use super::{Broken, Job, Line, part};
use crate::model::copy::Way;
use crate::model::sink::Sink;
use crate::operation::transfer::ledger::Touched;
use remote::{Beginning, Denied};
pub use remote::{PATH_MOST, Remote};
use wire::status;
use work::Work;

/// What may be on its way while parts are removed.
const SWEEPING: usize = 64 * 1024;

/// Copies.
pub(super) async fn run<S: Sink>(line: Line<'_>, job: &Job<'_, S>) -> Result<(), Broken> {
    let work = Work::begin(line, job).await?;
    match job.plan.way {
        Way::Upload { sources, target } => Ok(upload::upload(&work, sources, target).await?),
        Way::Download { sources, target } => Ok(download::download(&work, sources, target).await?),
    }
}

/// Removes the parts that are not finished, each from the list as it is gone.
pub(super) async fn sweep<S: Sink>(line: Line<'_>, job: &Job<'_, S>) {
    let (kept, parts) = job.parts.take().into_iter().partition(|path| job.is_resumable(path));
    *job.parts.borrow_mut() = parts;
    let kept: std::collections::BTreeSet<_> = kept;
    for path in kept {
        job.ledger.borrow_mut().left(&path, part::RESUMABLE);
    }
    if job.parts.borrow().is_empty() && job.stage.borrow().is_none() {
        return;
    }
    // The channel of the copy first: there may be no other (`MaxSessions 1`), and it is open.
    let kept = job.remote.take();
    if let Some(remote) = &kept {
        remote.client().forget();
        remove(job, remote).await;
    }
    drop(kept);
    // What other rights wrote cannot be removed without them, and whoever has them removes it himself.
    if job.parts.borrow().is_empty() || line.rights.is_some() {
        return;
    }
    let patience = crate::connection::Patience::new(Some(super::SWEEP), None);
    let Ok(channel) = line.session.open_channel(&patience, line.address).await else { return };
    if let Ok((remote, _)) = Beginning::on(channel).await.ready(SWEEPING).await {
        remove(job, &Rc::new(remote)).await;
    }
}

async fn remove<S: Sink>(job: &Job<'_, S>, remote: &Remote) {
    let parts: Vec<_> = job.parts.borrow().iter().cloned().collect();
    let answers: Vec<_> = parts.iter().map(|part| remote.remove(part)).collect();
    for (part, answer) in parts.iter().zip(answers) {
        match answer.await {
            Ok(()) => job.ledger.borrow_mut().touch(Touched::Yes),
            // It was never made, or has got its name already.
            Err(denied) if denied.code() == Some(status::NO_SUCH_FILE) => {}
            Err(Denied::Status(_)) => continue,
            Err(Denied::Fault(_)) => return,
        }
        job.parts.borrow_mut().remove(part);
    }
    let stage = job.stage.borrow().clone();
    if let Some(stage) = stage {
        match remote.rmdir(&stage).await {
            Ok(()) => {}
            Err(denied) if denied.code() == Some(status::NO_SUCH_FILE) => {}
            Err(_) => return,
        }
        job.stage.take();
    }
}
