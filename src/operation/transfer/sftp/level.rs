//! A directory on the host that is being gone through, and what is asked of the next of its entries meanwhile: an entry that
//! takes a question would else take a way there and back.

use std::cell::Cell;
use std::collections::VecDeque;
use std::pin::Pin;

use bytes::Bytes;

use super::attributes::{Attributes, Type};
use super::find::is_name;
use super::listing::Listing;
use super::remote::{Answer, PATH_MOST, Remote};
use super::wire::Name;
use crate::operation::transfer::place::join;

/// So many entries are looked at ahead.
const ENTRIES: usize = 64;
/// So many directories are open ahead, in the whole tree: a server has a limit of its own.
const OPEN: usize = 32;

type Asked<T> = Pin<Box<dyn Future<Output = Answer<T>>>>;

/// What was asked of an entry before it was its turn.
pub enum Ahead {
    /// Nothing.
    Nothing,
    /// What its link leads to.
    Behind(Asked<Attributes>),
    /// To open it, as a directory.
    Opened(Asked<Bytes>),
}

/// What may be asked ahead.
pub struct Asking {
    /// Whether links are followed.
    pub follow: bool,
    /// How many directories are open ahead.
    pub open: Cell<usize>,
}

/// A directory that is being gone through.
pub struct Level {
    /// Its path there.
    pub path: Vec<u8>,
    /// Its place in the tree.
    pub at: Vec<u8>,
    /// Its path without links, where links are followed.
    pub real: Vec<u8>,
    listing: Listing,
    /// What is below it may be entered.
    enters: bool,
    next: VecDeque<(Name, Ahead)>,
}

impl Level {
    /// One that was opened. `enters`: directories in it are gone through, too.
    pub fn new(listing: Listing, path: Vec<u8>, at: Vec<u8>, real: Vec<u8>, enters: bool) -> Self {
        Self { path, at, real, listing, enters, next: VecDeque::new() }
    }

    /// The next entry; none when there are no more.
    pub async fn next(&mut self, remote: &Remote, asking: &Asking) -> Answer<Option<(Name, Ahead)>> {
        if self.next.is_empty() {
            let Some(name) = self.listing.next(remote).await? else { return Ok(None) };
            self.ask(remote, asking, name);
        }
        while self.next.len() < ENTRIES
            && let Some(name) = self.listing.at_hand()
        {
            self.ask(remote, asking, name);
        }
        let next = self.next.pop_front();
        if let Some((_, Ahead::Opened(_))) = next {
            asking.open.set(asking.open.get().saturating_sub(1));
        }
        Ok(next)
    }

    fn ask(&mut self, remote: &Remote, asking: &Asking, name: Name) {
        let path = || join(&self.path, &name.name);
        let is_one = is_name(&name.name) && self.path.len() + name.name.len() < PATH_MOST;
        let ahead = match name.attributes.file_type() {
            Some(Type::Symlink) if is_one && asking.follow => Ahead::Behind(Box::pin(remote.stat(&path()))),
            Some(Type::Directory) if is_one && self.enters && asking.open.get() < OPEN => {
                asking.open.set(asking.open.get() + 1);
                Ahead::Opened(Box::pin(remote.opendir(&path())))
            }
            _ => Ahead::Nothing,
        };
        self.next.push_back((name, ahead));
    }
}
