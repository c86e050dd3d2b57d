//! A directory on the host: made before what is in it, and given its mode and times after that.

use std::rc::Rc;

use tokio::sync::OnceCell;

use super::attributes::{Attributes, Type};
use super::faults::Act;
use super::remote::Denied;
use super::work::Work;
use crate::errors::Fault;
use crate::model::sink::Sink;
use crate::operation::transfer::local::Meta;
use crate::operation::transfer::place::parent_of;

/// What the owner needs to fill it.
const FILLABLE: u32 = 0o700;

/// One that is being filled.
#[derive(Debug)]
pub struct Directory {
    path: Vec<u8>,
    above: Option<Rc<Directory>>,
    meta: Meta,
    made: OnceCell<Result<bool, Fault>>,
}

impl Directory {
    /// One in another.
    pub fn new(path: Vec<u8>, above: Option<Rc<Directory>>, meta: Meta) -> Self {
        Self { path, above, meta, made: OnceCell::new() }
    }

    /// Makes it, once, whoever asks first. True where it was not there before.
    pub async fn made<S: Sink>(&self, work: &Work<'_, '_, S>) -> Result<bool, Fault> {
        let made = self.made.get_or_init(|| async {
            if let Some(above) = &self.above {
                // Boxed: a directory is in a directory.
                Box::pin(above.made(work)).await?;
            }
            let is_new = make(work, &self.path, Some((self.meta.mode & 0o777) | FILLABLE)).await?;
            if is_new {
                work.give(&self.path, None).await?;
            }
            Ok(is_new)
        });
        made.await.clone()
    }

    /// Whether something is to be set in the end.
    pub fn is_touched_last<S: Sink>(&self, work: &Work<'_, '_, S>) -> bool {
        work.options().preserve || self.meta.mode & FILLABLE != FILLABLE
    }

    /// Its path there.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// Whether this one decides, where another source was merged into the same directory after it.
    pub fn outlasts_later<S: Sink>(&self, work: &Work<'_, '_, S>) -> bool {
        // Without --preserve only the one that made it has something to set.
        !work.options().preserve && matches!(self.made.get(), Some(Ok(true)))
    }

    /// Sets what is to be set. The error ends the whole copy.
    pub async fn end<S: Sink>(&self, work: &Work<'_, '_, S>) -> Result<(), Fault> {
        let Some(Ok(is_new)) = self.made.get() else { return Ok(()) };
        let mut wish = Attributes::default();
        if work.options().preserve {
            let second = |time: i64| u32::try_from(time.max(0)).unwrap_or(u32::MAX);
            wish.permissions = Some(self.meta.mode & 0o777);
            wish.times = Some((second(self.meta.atime), second(self.meta.mtime)));
        } else if *is_new {
            // What the umask there has left of it.
            let now = work.remote.stat(&self.path).await.ok().and_then(|now| now.bits()).unwrap_or(0o777);
            wish.permissions = Some(now & self.meta.mode);
        } else {
            return Ok(());
        }
        match work.remote.setstat(&self.path, &wish).await {
            Ok(()) => Ok(()),
            Err(Denied::Fault(fault)) => Err(fault),
            Err(denied) => {
                let fault = work.explain(denied, &self.path, Act::Set).await;
                let below = String::from_utf8_lossy(&self.path).into_owned();
                work.settle(below.as_bytes(), Err(fault))
            }
        }
    }

    /// Makes a directory and those on the way to it.
    pub async fn make_all<S: Sink>(work: &Work<'_, '_, S>, path: &[u8]) -> Result<(), Fault> {
        let mut missing = vec![path];
        while let Some(last) = missing.last().copied() {
            match work.remote.stat(last).await {
                Ok(found) if found.file_type() == Some(Type::Directory) => break,
                Ok(_) => return Err(Fault::NotADirectory { path: work.shown(last) }),
                Err(Denied::Fault(fault)) => return Err(fault),
                Err(_) if matches!(last, b"." | b"/") => break,
                Err(_) => missing.push(parent_of(last)),
            }
        }
        missing.pop();
        for path in missing.into_iter().rev() {
            make(work, path, None).await?;
        }
        Ok(())
    }
}

/// True where it was not there before.
async fn make<S: Sink>(work: &Work<'_, '_, S>, path: &[u8], mode: Option<u32>) -> Result<bool, Fault> {
    let answer = work.remote.mkdir(path, mode);
    work.asked();
    let denied = match answer.await {
        Ok(()) => {
            work.touched();
            return Ok(true);
        }
        Err(Denied::Fault(fault)) => return Err(fault),
        Err(denied) => denied,
    };
    // Version 3 has no word for "it is there".
    match work.remote.stat(path).await {
        Ok(found) if found.file_type() == Some(Type::Directory) => Ok(false),
        Ok(_) => Err(Fault::NotADirectory { path: work.shown(path) }),
        Err(Denied::Fault(fault)) => Err(fault),
        Err(_) => Err(work.explain(denied, path, Act::Make).await),
    }
}
