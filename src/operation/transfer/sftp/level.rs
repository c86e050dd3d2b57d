//! A directory on the host that is being gone through, and what is asked of the next of its entries meanwhile: an entry that
//! takes a question would else take a way there and back.

use std::cell::Cell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;

use tokio::sync::oneshot;

use super::attributes::{Attributes, Type};
use super::find::is_name;
use super::lanes::Lanes;
use super::listing::Listing;
use super::remote::{Answer, PATH_MOST, Remote};
use super::wire::Name;
use crate::operation::transfer::place::join;

/// So many entries are looked at ahead.
const ENTRIES: usize = 64;
/// So many directories are listed ahead, in the whole tree: each may be full of names.
const OPEN: usize = 8;

/// What was asked of an entry before it was its turn.
pub enum Ahead {
    /// Nothing.
    Nothing,
    /// What its link leads to.
    Behind(Pin<Box<dyn Future<Output = Answer<Attributes>>>>),
    /// Its listing, as a directory.
    Opened(oneshot::Receiver<Answer<Listing>>),
}

/// What may be asked ahead.
pub struct Asking {
    /// Whether links are followed.
    pub follow: bool,
    /// How many directories are listed ahead.
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
    /// One that was waited for.
    first: Option<Name>,
    next: VecDeque<(Name, Ahead)>,
}

impl Level {
    /// One that was opened. `enters`: directories in it are gone through, too.
    pub fn new(listing: Listing, path: Vec<u8>, at: Vec<u8>, real: Vec<u8>, enters: bool) -> Self {
        Self { path, at, real, listing, enters, first: None, next: VecDeque::new() }
    }

    /// Looks at what is next, as far as it is here, and asks about it as far as there is room.
    pub fn look_ahead(&mut self, remote: &Rc<Remote>, asking: &Asking, lanes: &mut Lanes<'_>) {
        while self.next.len() < ENTRIES
            && let Some(name) = self.first.take().or_else(|| self.listing.at_hand())
        {
            self.next.push_back((name, Ahead::Nothing));
        }
        for (name, ahead) in &mut self.next {
            let is_long = self.path.len() + name.name.len() >= PATH_MOST;
            if !matches!(ahead, Ahead::Nothing) || is_long || !is_name(&name.name) {
                continue;
            }
            let path = || join(&self.path, &name.name);
            match name.attributes.file_type() {
                Some(Type::Symlink) if asking.follow => *ahead = Ahead::Behind(Box::pin(remote.stat(&path()))),
                Some(Type::Directory) if self.enters && asking.open.get() < OPEN => {
                    asking.open.set(asking.open.get() + 1);
                    let (sender, opened) = oneshot::channel();
                    let (remote, handle) = (Rc::clone(remote), remote.opendir(&path()));
                    // It goes on while something else is waited for.
                    lanes.start(0, async move {
                        let listing = handle.await.map(|handle| Listing::of(&remote, handle));
                        // Nobody waits for it where the copy has ended.
                        drop(sender.send(listing));
                        Ok(())
                    });
                    *ahead = Ahead::Opened(opened);
                }
                _ => {}
            }
        }
    }

    /// The next entry that was looked at.
    pub fn next(&mut self, asking: &Asking) -> Option<(Name, Ahead)> {
        let next = self.next.pop_front();
        if let Some((_, Ahead::Opened(_))) = next {
            asking.open.set(asking.open.get().saturating_sub(1));
        }
        next
    }

    /// Waits for more of them. False: there are no more.
    pub async fn more(&mut self, remote: &Remote) -> Answer<bool> {
        self.first = self.listing.next(remote).await?;
        Ok(self.first.is_some())
    }
}
