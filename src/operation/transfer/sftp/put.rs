//! One file, from here to there: written beside its place, and moved there once all of it is known to have arrived.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;

use super::attributes::Attributes;
use super::digest;
use super::faults::Act;
use super::feed::Feed;
use super::pump::{Broke, Lane, pump};
use super::remote::Denied;
use super::resume::{self, Part};
use super::spot::Spot;
use super::wire::{open, status};
use super::work::{Outcome, Work};
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::local::Meta;
use crate::operation::transfer::place::name_of;
use crate::operation::transfer::{command, part};

/// A file of which less than this is left is not worth further channels.
const STRIPED: u64 = 8 << 20;

/// A file to be sent.
#[derive(Debug)]
pub struct Outgoing {
    /// What is read.
    pub feed: Feed,
    /// What is known of it; nothing of a stream.
    pub meta: Option<Meta>,
    /// Where it goes.
    pub spot: Spot,
    /// Its path in the report.
    pub below: Vec<u8>,
}

/// The file that is written: a part, or with `--in-place` the target itself.
struct Writing {
    path: Vec<u8>,
    is_part: bool,
    handle: Bytes,
    resumed: bool,
}

/// Sends it.
pub async fn put<S: Sink>(work: &Work<'_, '_, S>, file: Outgoing) -> Result<Outcome, Fault> {
    let Outgoing { feed, meta, spot, below } = file;
    let options = work.options();
    if options.no_clobber && spot.replaced.is_some() {
        return Ok(Outcome::Kept);
    }
    let feed = RefCell::new(feed);
    // What is told is told of the file that was to be, not of the part.
    let named = |part: &[u8], fault: Fault| fault.about(&work.shown(part), &work.shown(&spot.path));
    let writing = match begin(work, &feed, meta, &spot).await {
        Ok(writing) => writing,
        Err((part, fault)) => return Err(named(&part, fault)),
    };
    let begun_at = feed.borrow().at();
    let whole = async {
        fill(work, &writing, &feed, &below).await?;
        let hash = finish(work, &writing, &feed, meta, &spot).await?;
        Ok(hash)
    };
    match whole.await {
        Ok(sha256) => {
            let bytes = feed.borrow().at() - begun_at;
            let action = if writing.resumed { EntryAction::Resumed } else { EntryAction::Copied };
            let mut entry = Entry::new(&below, action, bytes);
            entry.sha256 = sha256.map(|hash| command::hex(&hash));
            Ok(Outcome::Done(entry))
        }
        Err(fault) => {
            give_up(work, &writing, &fault).await;
            Err(named(&writing.path, fault))
        }
    }
}

/// The permission bits that are set in the end, where they are not left to the host.
fn final_mode<S: Sink>(work: &Work<'_, '_, S>, meta: Option<Meta>, spot: &Spot) -> Option<u32> {
    let options = work.options();
    let kept = if options.in_place { None } else { spot.replaced.as_ref().and_then(Attributes::bits) };
    let preserved = meta.filter(|_| options.preserve && (spot.replaced.is_none() || !options.in_place));
    options.mode.map(|mode| mode & 0o777).or(kept).or(preserved.map(|meta| meta.mode & 0o777))
}

/// The part of this tag.
async fn part_of<S: Sink>(work: &Work<'_, '_, S>, spot: &Spot, tag: &str) -> Result<Vec<u8>, Fault> {
    let name = name_of(&spot.path).ok_or_else(|| Fault::IsDirectory { path: work.shown(&spot.path) })?;
    Ok(work.part(&spot.path, name, tag).await)
}

/// Opens what is written. The error comes with the path that it may be about.
async fn begin<S: Sink>(
    work: &Work<'_, '_, S>,
    feed: &RefCell<Feed>,
    meta: Option<Meta>,
    spot: &Spot,
) -> Result<Writing, (Vec<u8>, Fault)> {
    let options = work.options();
    let usual = meta.map_or(0o666, |meta| meta.mode & 0o777);
    let resumable = meta.filter(|_| options.resume);
    if options.in_place {
        let path = spot.path.clone();
        let told = |fault| (spot.path.clone(), fault);
        if let (Some(meta), Some(there)) = (resumable, &spot.replaced)
            && let Some(handle) = resume::at(work, feed, meta, &path, there).await.map_err(told)?
        {
            return Ok(Writing { path, is_part: false, handle, resumed: true });
        }
        // What is beyond its end is cut off in the end: in the beginning it may be what is read, where both sides are one.
        let flags = open::WRITE | open::CREATE;
        let handle = make(work, &path, flags, usual).await.map_err(told)?;
        return Ok(Writing { path, is_part: false, handle, resumed: false });
    }
    let told = |fault| (spot.path.clone(), fault);
    let mut path = part_of(work, spot, &work.job.plan.tag).await.map_err(told)?;
    if let Some(meta) = resumable {
        let kept = part_of(work, spot, &part::resume_tag(meta.size, meta.mtime)).await.map_err(told)?;
        match resume::part(work, feed, meta, &kept, &path).await {
            Ok(Part::Continue(handle)) => {
                work.job.parts.borrow_mut().insert(kept.clone());
                return Ok(Writing { path: kept, is_part: true, handle, resumed: true });
            }
            Ok(Part::None) => path = kept,
            // Somebody else's is left alone.
            Ok(Part::Foreign) => {}
            Err(fault) => return Err((kept, fault)),
        }
    }
    // What may become narrower in the end is not open to others before; what may have to be continued can be opened until then.
    let settled = options.mode.is_some() || spot.replaced.is_some();
    let mode = if settled { 0o600 } else { opened_with(usual, resumable.is_some()) };
    work.job.parts.borrow_mut().insert(path.clone());
    match make(work, &path, open::WRITE | open::CREATE | open::EXCLUSIVE, mode).await {
        Ok(handle) => Ok(Writing { path, is_part: true, handle, resumed: false }),
        Err(fault) => {
            // It is not ours, where it is there at all; without a connection nobody knows.
            if !matches!(fault, Fault::ConnectionLost { .. }) {
                work.job.parts.borrow_mut().remove(&path);
            }
            Err((path, fault))
        }
    }
}

/// The bits of a part until it is whole.
fn opened_with(usual: u32, resumable: bool) -> u32 {
    if resumable { usual | 0o600 } else { usual }
}

async fn make<S: Sink>(work: &Work<'_, '_, S>, path: &[u8], flags: u32, mode: u32) -> Result<Bytes, Fault> {
    let answer = work.remote.open(path, flags, Some(mode));
    work.asked();
    match answer.await {
        Ok(handle) => {
            work.touched();
            Ok(handle)
        }
        // The directory refuses a new file, and the file itself an open one.
        Err(denied) if flags & open::EXCLUSIVE == 0 => Err(work.explain(denied, path, Act::Write).await),
        Err(denied) => Err(work.explain(denied, path, Act::Make).await),
    }
}

/// Writes all of it.
async fn fill<S: Sink>(
    work: &Work<'_, '_, S>,
    writing: &Writing,
    feed: &RefCell<Feed>,
    below: &[u8],
) -> Result<(), Fault> {
    let first = Lane { remote: Rc::clone(&work.remote), handle: writing.handle.clone() };
    let left = feed.borrow().size().map_or(0, |size| size.saturating_sub(feed.borrow().at()));
    let stripes = if left >= STRIPED { work.stripes() } else { &[] };
    let more = stripes.iter().map(|stripe| async {
        let remote = stripe.clone().await?;
        // What a further channel cannot open, the others write without it.
        let handle = remote.open(&writing.path, open::WRITE, None).await.ok()?;
        Some(Lane { remote, handle })
    });
    let (pumped, joined) = pump(work, first, more.collect(), feed, below).await;
    for lane in &joined {
        let closed = lane.remote.close(&lane.handle).await;
        if let (Ok(()), Err(denied)) = (&pumped, closed) {
            return Err(work.explain(denied, &writing.path, Act::Write).await);
        }
    }
    match pumped {
        Ok(()) => Ok(()),
        Err(Broke::Here(fault)) => Err(fault),
        Err(Broke::There(denied)) => Err(work.explain(denied, &writing.path, Act::Write).await),
    }
}

/// All was written: size, mode, group, times, the disk, and then the name.
async fn finish<S: Sink>(
    work: &Work<'_, '_, S>,
    writing: &Writing,
    feed: &RefCell<Feed>,
    meta: Option<Meta>,
    spot: &Spot,
) -> Result<Option<[u8; 32]>, Fault> {
    let (remote, handle) = (&work.remote, &writing.handle);
    let sent = feed.borrow().at();
    // Whether it was is seen by the size.
    let cut =
        (!writing.is_part).then(|| remote.fsetstat(handle, &Attributes { size: Some(sent), ..Attributes::default() }));
    let look = remote.fstat(handle);
    let mut wish = Attributes { permissions: final_mode(work, meta, spot), ..Attributes::default() };
    // What it was opened with beyond that is taken off, whatever the umask there has left of it.
    let narrowed = meta.map(|meta| meta.mode & 0o777).filter(|usual| {
        let opened = opened_with(*usual, work.options().resume);
        writing.is_part && wish.permissions.is_none() && opened != *usual
    });
    if let Some(meta) = meta.filter(|_| work.options().preserve) {
        let second = |time: i64| u32::try_from(time.max(0)).unwrap_or(u32::MAX);
        wish.times = Some((second(meta.atime), second(meta.mtime)));
    }
    // Who owns it comes before who may read it. All else goes out at once: what concerns one file is done in order
    // (section 3.1 of the draft).
    let mut seen = None;
    let mut look = Some(look);
    let replaced = spot.replaced.as_ref().filter(|_| writing.is_part);
    if (replaced.is_some() || narrowed.is_some() || work.owner.is_asked_for())
        && let Some(asked) = look.take()
    {
        let found = asked.await;
        if let Ok(found) = &found {
            settle_owner(work, writing, (replaced, &spot.path), found).await?;
            if let (Some(usual), Some(bits)) = (narrowed, found.bits()) {
                wish.permissions = Some(bits & usual);
            }
        }
        seen = Some(found);
    }
    let settled = (!wish.is_empty()).then(|| remote.fsetstat(handle, &wish));
    let synced = remote.fsync(handle);
    let closed = remote.close(handle);
    let found = match (seen, look) {
        (Some(found), _) => found,
        (None, Some(look)) => look.await,
        (None, None) => Ok(Attributes::default()),
    };
    if let Some(cut) = cut
        && let Err(Denied::Fault(fault)) = cut.await
    {
        return Err(fault);
    }
    let size = match found {
        Ok(found) => found.size,
        Err(denied) => return Err(work.explain(denied, &writing.path, Act::Write).await),
    };
    if let Some(settled) = settled
        && let Err(denied) = settled.await
    {
        return Err(work.explain(denied, &spot.path, Act::Set).await);
    }
    if let Some(synced) = synced
        && let Err(denied) = synced.await
        && denied.code() != Some(status::OP_UNSUPPORTED)
    {
        return Err(work.explain(denied, &writing.path, Act::Write).await);
    }
    if let Err(denied) = closed.await {
        return Err(work.explain(denied, &writing.path, Act::Write).await);
    }
    if size.is_some_and(|size| size != sent) {
        return Err(Fault::VerifyMismatch { path: work.shown(&spot.path) });
    }
    let hash = feed.borrow().sha256();
    if let Some(hash) = &hash
        && !digest::is(work, &writing.path, sent, *hash).await?
    {
        return Err(Fault::VerifyMismatch { path: work.shown(&spot.path) });
    }
    if writing.is_part {
        rename(work, writing, spot).await?;
    }
    Ok(hash)
}

/// Who was asked for, else who owned what is replaced.
async fn settle_owner<S: Sink>(
    work: &Work<'_, '_, S>,
    writing: &Writing,
    (replaced, target): (Option<&Attributes>, &[u8]),
    found: &Attributes,
) -> Result<(), Fault> {
    let before = replaced.and_then(|replaced| replaced.owner).or(found.owner);
    let Some(owner) = before.and_then(|before| work.owner.over(before)) else {
        return match replaced {
            Some(replaced) => keep_group(work, writing, (replaced, target), found).await,
            None => Ok(()),
        };
    };
    let wish = Attributes { owner: Some(owner), ..Attributes::default() };
    match work.remote.fsetstat(&writing.handle, &wish).await {
        Ok(()) => Ok(()),
        Err(denied) => Err(work.explain(denied, &writing.path, Act::Set).await),
    }
}

/// A replaced file keeps its group, and its owner where this account may give files away.
async fn keep_group<S: Sink>(
    work: &Work<'_, '_, S>,
    writing: &Writing,
    (replaced, target): (&Attributes, &[u8]),
    found: &Attributes,
) -> Result<(), Fault> {
    let (Some(before), Some(now)) = (replaced.owner, found.owner) else { return Ok(()) };
    if before == now {
        return Ok(());
    }
    let mut tries = vec![before];
    if before.0 != now.0 {
        tries.push((now.0, before.1));
    }
    for owner in tries.into_iter().filter(|owner| *owner != now) {
        let wish = Attributes { owner: Some(owner), ..Attributes::default() };
        match work.remote.fsetstat(&writing.handle, &wish).await {
            Ok(()) => return Ok(()),
            Err(Denied::Fault(fault)) => return Err(fault),
            Err(Denied::Status(_)) => {}
        }
    }
    if before.1 != now.1 {
        let message = format!("the group of {} could not be kept", work.shown(target));
        work.job.landing.borrow_mut().warnings.push(Warning::new("group_not_kept", message));
    }
    Ok(())
}

async fn rename<S: Sink>(work: &Work<'_, '_, S>, writing: &Writing, spot: &Spot) -> Result<(), Fault> {
    let answer = work.remote.rename(&writing.path, &spot.path);
    work.asked();
    match answer.await {
        Ok(()) => {
            work.touched();
            work.job.parts.borrow_mut().remove(&writing.path);
            Ok(())
        }
        Err(Denied::Status(_)) if spot.replaced.is_some() && !work.remote.rename_replaces() => {
            let problem = "the host's SFTP server cannot replace a file in one step; --in-place writes into it";
            Err(Fault::TransferRefused { path: work.shown(&spot.path), problem: problem.to_owned() })
        }
        Err(denied) => Err(work.explain(denied, &spot.path, Act::Make).await),
    }
}

/// Removes what was written, unless it is to be continued.
async fn give_up<S: Sink>(work: &Work<'_, '_, S>, writing: &Writing, fault: &Fault) {
    if !work.remote.client().is_usable() || !writing.is_part {
        return;
    }
    // Perhaps it is closed already.
    let closed = work.remote.close(&writing.handle);
    if work.is_resumable(&writing.path) && !matches!(fault, Fault::VerifyMismatch { .. }) {
        work.job.parts.borrow_mut().remove(&writing.path);
        work.job.ledger.borrow_mut().left(&writing.path, part::RESUMABLE);
        let _ = closed.await;
        return;
    }
    let removed = work.remote.remove(&writing.path);
    let _ = closed.await;
    if removed.await.is_ok() {
        work.job.parts.borrow_mut().remove(&writing.path);
    }
}
