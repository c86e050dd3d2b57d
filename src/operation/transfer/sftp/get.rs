//! One file, from there to here.

use std::cell::RefCell;
use std::io;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::attributes::Attributes;
use super::digest;
use super::faults::Act;
use super::pump::Broke;
use super::remote::violation;
use super::resume::prefix;
use super::stream::stream;
use super::work::{Outcome, Work};
use crate::errors::Fault;
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::local::target::{Incoming, Times, Tree, Wanted};
use crate::operation::transfer::{command, part};

/// Pieces are written together up to so many bytes.
const TOGETHER: usize = 256 * 1024;
/// A file that says nothing of its size is asked for so much first.
const FIRST: u64 = 32 * 1024;
/// While a file of more than this is read it may well change: then its size is asked for once more.
const LONG: u64 = 1 << 20;

/// A file to be fetched.
#[derive(Debug)]
pub struct Ingoing {
    /// Its path there.
    pub path: Vec<u8>,
    /// What is known of it.
    pub known: Attributes,
    /// Where it goes, below the root of the tree.
    pub at: Vec<u8>,
    /// Its path in the report.
    pub below: Vec<u8>,
}

/// Fetches it.
pub async fn get<S: Sink>(work: &Work<'_, '_, S>, tree: &RefCell<Tree>, file: Ingoing) -> Result<Outcome, Fault> {
    let Ingoing { path, known, at, below } = file;
    let options = work.options();
    let mtime = known.times.map_or(0, |(_, mtime)| i64::from(mtime));
    let resume = options.resume && known.size.is_some_and(|size| size > 0);
    let tag = match known.size {
        Some(size) if resume => part::resume_tag(size, mtime),
        _ => work.job.plan.tag.clone(),
    };
    let times = known.times.map(|(atime, mtime)| Times { mtime: mtime.into(), atime: atime.into() });
    let wanted = Wanted { mode: known.bits().unwrap_or(0o644), times, tag: &tag, resume };
    // Opened before anything is made here: what cannot be read leaves no trace.
    let handle = match work.remote.open_to_read(&path).await {
        Ok(handle) => handle,
        Err(denied) => return Err(work.explain(denied, &path, Act::Read).await),
    };
    let begun = tree.borrow_mut().file(&at, &wanted);
    let fetched = match begun {
        Ok(None) => Ok(Outcome::Kept),
        Err(fault) => Err(fault),
        Ok(Some(incoming)) => fill(work, &handle, incoming, &path, &known, &below).await,
    };
    // It was only read, and nobody waits for its end.
    drop(work.remote.close(&handle));
    fetched
}

async fn fill<S: Sink>(
    work: &Work<'_, '_, S>,
    handle: &[u8],
    mut incoming: Incoming,
    path: &[u8],
    known: &Attributes,
    below: &[u8],
) -> Result<Outcome, Fault> {
    work.touched();
    let look = work.remote.fstat(handle);
    let (begin, hash) = proven(work, &mut incoming, path, known).await?;
    let mut writer = Writer { incoming, at: begin, held: Vec::new(), bytes: 0, hash };
    let size = read(work, handle, path, known, begin, look, async |piece| {
        work.moved(below, piece.len());
        writer.take(piece)
    })
    .await?;
    writer.flush()?;
    let Writer { incoming, hash, .. } = writer;
    let sha256 = match hash.filter(|_| work.options().verify) {
        None => None,
        Some(hash) => {
            let ours: [u8; 32] = hash.finalize().into();
            if !digest::is(work, path, size, ours).await? {
                return Err(Fault::VerifyMismatch { path: incoming.shown().to_string_lossy().into_owned() });
            }
            Some(command::hex(&ours))
        }
    };
    incoming.commit(size).await?;
    let action = if begin > 0 { EntryAction::Resumed } else { EntryAction::Copied };
    let mut entry = Entry::new(below, action, size - begin);
    entry.sha256 = sha256;
    Ok(Outcome::Done(entry))
}

/// How much of the file is here already, and is proven to be its beginning; the rest of what is here is dropped.
async fn proven<S: Sink>(
    work: &Work<'_, '_, S>,
    incoming: &mut Incoming,
    path: &[u8],
    known: &Attributes,
) -> Result<(u64, Option<Sha256>), Fault> {
    let fresh = || work.options().verify.then(Sha256::new);
    let here = incoming.begins_at();
    if here == 0 {
        return Ok((0, fresh()));
    }
    if known.size.is_some_and(|size| here <= size) {
        let unreadable = |error: io::Error| crate::operation::transfer::local::fault(incoming.shown(), &error);
        let ours = prefix(incoming.held(), here).await.map_err(unreadable)?;
        // Reading it back would take as long as fetching it.
        if let Some(ours) = ours
            && let Some(theirs) = command::sha256(work.line(), path, here).await?
            && theirs == <[u8; 32]>::from(ours.clone().finalize())
        {
            return Ok((here, Some(ours)));
        }
    }
    incoming.restart()?;
    Ok((0, fresh()))
}

/// Reads the file from there on, as long as it is, and returns how long that is.
pub async fn read<S: Sink>(
    work: &Work<'_, '_, S>,
    handle: &[u8],
    path: &[u8],
    known: &Attributes,
    begin: u64,
    look: impl Future<Output = super::remote::Answer<Attributes>>,
    mut take: impl AsyncFnMut(Bytes) -> Result<(), Fault>,
) -> Result<u64, Fault> {
    let said = known.size.filter(|size| *size > 0);
    // One that says nothing, as in `/proc`, is read until it ends.
    let first = said.map_or(FIRST, |size| size.saturating_sub(begin));
    let got = told(work, path, stream(work, handle, begin, first, &mut take).await).await?;
    let mut at = begin + got;
    let found = told(work, path, look.await.map_err(Broke::There)).await?;
    let Some(size) = found.size else {
        if got == first {
            at += told(work, path, stream(work, handle, at, u64::MAX, &mut take).await).await?;
        }
        return Ok(at);
    };
    if got == first && (said.is_none() || at < size) {
        // It has grown since it was listed.
        let rest = if size > at { size - at } else { u64::MAX };
        at += told(work, path, stream(work, handle, at, rest, &mut take).await).await?;
    }
    if (at == size && at < LONG) || (said.is_none() && size == 0) {
        return Ok(at);
    }
    let now = told(work, path, work.remote.fstat(handle).await.map_err(Broke::There)).await?.size;
    match now {
        Some(now) if now == at => Ok(at),
        Some(now) if now == size && at < size => {
            Err(violation(format!("{}: {at} bytes came, and the server says it has {now}", work.shown(path))))
        }
        _ => {
            let now = now.map_or_else(|| "an unknown size".to_owned(), |now| format!("{now} bytes"));
            let problem = format!("it changed while it was read: {at} bytes came, and now it has {now}");
            Err(Fault::SourceNotFound { path: work.shown(path), problem })
        }
    }
}

async fn told<S: Sink, T>(work: &Work<'_, '_, S>, path: &[u8], result: Result<T, Broke>) -> Result<T, Fault> {
    match result {
        Ok(value) => Ok(value),
        Err(Broke::Here(fault)) => Err(fault),
        Err(Broke::There(denied)) => Err(work.explain(denied, path, Act::Read).await),
    }
}

/// Writes what comes, many pieces at once.
struct Writer {
    incoming: Incoming,
    /// Where the pieces that are held go.
    at: u64,
    held: Vec<Bytes>,
    bytes: usize,
    hash: Option<Sha256>,
}

impl Writer {
    fn take(&mut self, piece: Bytes) -> Result<(), Fault> {
        if let Some(hash) = &mut self.hash {
            hash.update(&piece);
        }
        self.bytes += piece.len();
        self.held.push(piece);
        if self.bytes < TOGETHER { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), Fault> {
        let held = std::mem::take(&mut self.held);
        self.incoming.write_at(self.at, &held)?;
        self.at += std::mem::take(&mut self.bytes) as u64;
        Ok(())
    }
}
