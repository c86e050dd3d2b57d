//! A symbolic link on the host.

use super::attributes::{Attributes, Type};
use super::faults::Act;
use super::remote::Denied;
use super::wire::status;
use super::work::{Outcome, Work};
use crate::errors::Fault;
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::local::Meta;
use crate::operation::transfer::part;
use crate::operation::transfer::place::join;
use crate::operation::transfer::place::{name_of, parent_of};

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
    let part = join(parent_of(at), &part::name(name, &work.job.plan.tag));
    let made_at = if there.is_some() { &part[..] } else { at };
    if there.is_some() {
        work.job.parts.borrow_mut().insert(part.clone());
    }
    let answer = remote.symlink(text, made_at);
    work.asked();
    if let Err(denied) = answer.await {
        work.job.parts.borrow_mut().remove(&part);
        return Err(work.explain(denied, at, Act::Make).await);
    }
    work.touched();
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
