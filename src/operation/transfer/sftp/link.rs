//! A symbolic link on the host.

use super::attributes::{Attributes, Type};
use super::faults::Act;
use super::remote::{Denied, violation};
use super::wire::status;
use super::work::{Outcome, Work};
use crate::errors::Fault;
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::local::Meta;
use crate::operation::transfer::part;
use crate::operation::transfer::place::{join, name_of, parent_of};

/// Makes it, in the place of a file or a link that stands there. `free`: nothing does.
pub async fn make<S: Sink>(
    work: &Work<'_, '_, S>,
    text: &[u8],
    at: &[u8],
    free: bool,
    meta: Meta,
    below: &[u8],
) -> Result<Outcome, Fault> {
    let remote = &work.remote;
    let there = match if free { None } else { Some(remote.lstat(at).await) } {
        None => None,
        Some(Ok(found)) => found.file_type(),
        Some(Err(denied)) if denied.code() == Some(status::NO_SUCH_FILE) => None,
        Some(Err(denied)) => return Err(work.explain(denied, at, Act::Set).await),
    };
    match there {
        Some(_) if work.options().no_clobber => return Ok(Outcome::Kept),
        Some(Type::Directory) => return Err(Fault::IsDirectory { path: work.shown(at) }),
        Some(Type::Other(_)) => return Err(Fault::NotRegular { path: work.shown(at) }),
        Some(Type::File | Type::Symlink) | None => {}
    }
    let name = name_of(at).ok_or_else(|| Fault::IsDirectory { path: work.shown(at) })?;
    let part = if there.is_some() { work.part(at, name, &work.job.plan.tag).await } else { Vec::new() };
    let made_at = if there.is_some() { &part[..] } else { at };
    if there.is_some() {
        work.job.parts.borrow_mut().insert(part.clone());
    }
    if let Err(denied) = link(work, text, made_at).await {
        work.job.parts.borrow_mut().remove(&part);
        return Err(work.explain(denied, made_at, Act::Make).await.about(&work.shown(made_at), &work.shown(at)));
    }
    work.give(made_at, None).await?;
    if work.options().preserve {
        let second = |time: i64| u32::try_from(time.max(0)).unwrap_or(u32::MAX);
        let times = Some((second(meta.atime), second(meta.mtime)));
        // Where the server cannot, the link is there all the same; so are links on file systems that keep no times of them.
        if let Some(set) = remote.lsetstat(made_at, &Attributes { times, ..Attributes::default() })
            && let Err(Denied::Fault(fault)) = set.await
        {
            return Err(fault);
        }
    }
    if there.is_some() {
        if let Err(denied) = remote.rename(&part, at).await {
            let fault = work.explain(denied, at, Act::Make).await;
            if remote.remove(&part).await.is_ok() {
                work.job.parts.borrow_mut().remove(&part);
            }
            return Err(fault);
        }
        work.job.parts.borrow_mut().remove(&part);
    }
    Ok(Outcome::Done(Entry::new(below, EntryAction::Linked, 0)))
}

/// Makes it, and looks at what was made.
async fn link<S: Sink>(work: &Work<'_, '_, S>, text: &[u8], at: &[u8]) -> Result<(), Denied> {
    let remote = &work.remote;
    let text_first = *work.text_first.get_or_try_init(|| takes_text_first(work, parent_of(at))).await?;
    let made = remote.symlink(text, at, text_first);
    work.asked();
    let seen = remote.readlink(at);
    made.await?;
    work.touched();
    let seen = match seen.await {
        // It was looked at before it was there: not every server does one after the other.
        Err(denied) if denied.code() == Some(status::NO_SUCH_FILE) => remote.readlink(at).await,
        seen => seen,
    };
    match seen {
        Ok(said) if said != text => {
            // One that says something else was not asked for.
            let _ = remote.remove(at).await;
            let problem = format!("the host made a link that says `{}`", String::from_utf8_lossy(&said));
            Err(Denied::Fault(Fault::TransferRefused { path: work.shown(at), problem }))
        }
        Err(Denied::Fault(fault)) => Err(fault.into()),
        // A server that reads no links has made one.
        Ok(_) | Err(Denied::Status(_)) => Ok(()),
    }
}

/// Whether the server takes what a link says first, as OpenSSH's and most others do, or its path, as the draft has it (section
/// 6.10). No name tells: a link between two names of ours does, and whichever comes into being harms nobody.
async fn takes_text_first<S: Sink>(work: &Work<'_, '_, S>, directory: &[u8]) -> Result<bool, Denied> {
    let remote = &work.remote;
    // The part of a part: no file that is copied has such a one.
    let tag = &work.job.plan.tag;
    let [one, other] = [&b"a"[..], b"b"].map(|name| join(directory, &part::name(&part::name(name, tag), tag)));
    work.job.parts.borrow_mut().extend([one.clone(), other.clone()]);
    let forget = |path: &[u8]| {
        work.job.parts.borrow_mut().remove(path);
    };
    work.asked();
    if let Err(denied) = remote.symlink(&one, &other, true).await {
        forget(&one);
        forget(&other);
        return Err(denied);
    }
    work.touched();
    let looks = (remote.lstat(&one), remote.lstat(&other));
    let (one_is, other_is) = (looks.0.await.is_ok(), looks.1.await.is_ok());
    for (path, is_there) in [(&one, one_is), (&other, other_is)] {
        if !is_there || remote.remove(path).await.is_ok() {
            forget(path);
        }
    }
    match (one_is, other_is) {
        (false, true) => Ok(true),
        (true, false) => Ok(false),
        _ => Err(Denied::Fault(violation("it says that it has made a link, and it has not"))),
    }
}
