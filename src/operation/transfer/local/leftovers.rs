//! Temporary files of ours that stay here when a copy ends, and why.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

/// Told where a file is given up, which may be in the middle of anything; taken by whoever keeps the ledger.
#[derive(Clone, Debug, Default)]
pub struct Leftovers(Rc<RefCell<Vec<(PathBuf, &'static str)>>>);

impl Leftovers {
    /// One stays.
    pub fn note(&self, path: PathBuf, reason: &'static str) {
        self.0.borrow_mut().push((path, reason));
    }

    /// Those that were told since the last time.
    pub fn take(&self) -> Vec<(PathBuf, &'static str)> {
        self.0.take()
    }
}
