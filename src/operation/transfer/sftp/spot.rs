//! Where a file goes on the host: what stands there, and what a link there leads to.

use super::attributes::{Attributes, Type};
use super::faults::Act;
use super::wire::status;
use super::work::Work;
use crate::errors::Fault;
use crate::model::sink::Sink;
use crate::operation::transfer::place::join;
use crate::operation::transfer::place::parent_of;

/// So many links are followed, as Linux does (`path_resolution(7)`).
const LINKS_MAX: usize = 40;

/// A place for a file.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The path, which is no link.
    pub path: Vec<u8>,
    /// The regular file that stands there.
    pub replaced: Option<Attributes>,
}

impl Spot {
    /// One in a directory that was just made.
    pub fn free(path: Vec<u8>) -> Self {
        Self { path, replaced: None }
    }

    /// Looks. Only a regular file is ever replaced.
    pub async fn find<S: Sink>(work: &Work<'_, '_, S>, path: &[u8]) -> Result<Self, Fault> {
        let mut path = path.to_vec();
        for _ in 0..LINKS_MAX {
            let found = match work.remote.lstat(&path).await {
                Ok(found) => found,
                Err(denied) if denied.code() == Some(status::NO_SUCH_FILE) => return Ok(Self::free(path)),
                Err(denied) => return Err(work.explain(denied, &path, Act::Set).await),
            };
            match found.file_type() {
                Some(Type::File) => return Ok(Self { path, replaced: Some(found) }),
                Some(Type::Directory) => return Err(Fault::IsDirectory { path: work.shown(&path) }),
                Some(Type::Symlink) => {
                    let text = match work.remote.readlink(&path).await {
                        Ok(text) => text,
                        Err(denied) => return Err(work.explain(denied, &path, Act::Set).await),
                    };
                    path = if text.starts_with(b"/") { text } else { join(parent_of(&path), &text) };
                }
                Some(Type::Other(_)) | None => return Err(Fault::NotRegular { path: work.shown(&path) }),
            }
        }
        Err(Fault::TransferRefused { path: work.shown(&path), problem: "too many links lead on from it".to_owned() })
    }
}
