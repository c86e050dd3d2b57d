//! What an upload reads: a walk through a tree, depth first, in the order of names, in bounded memory.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{Kind, Meta};
use crate::errors::Fault;
use crate::model::copy::Symlinks;

/// A step of the walk.
#[derive(Debug)]
pub enum Found {
    /// Something to copy. A directory comes before what is in it.
    Item(Item),
    /// A directory all of whose entries were given.
    Leave(Item),
    /// Nothing that is copied.
    Skipped {
        /// Below the source's root.
        below: Vec<u8>,
        /// The stable word.
        reason: &'static str,
    },
    /// It cannot be read.
    Failed {
        /// Below the source's root.
        below: Vec<u8>,
        /// Why.
        fault: Fault,
    },
}

/// An entry of the source.
#[derive(Clone, Debug)]
pub struct Item {
    /// Below the source's root, joined by `/`; empty for the root itself.
    pub below: Vec<u8>,
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// As it was when it was looked at.
    pub meta: Meta,
}

impl Item {
    /// Opens a file for reading, and says what it is now. One that has become something else meanwhile is not waited for.
    pub fn open(&self) -> Result<(File, Meta), Fault> {
        Err(Fault::Internal { problem: String::new() })
    }
}

/// A walk.
#[derive(Debug)]
pub struct Walk {}

impl Walk {
    /// Looks at the root. A root that is not there, and a directory without `recursive`, is the error.
    pub fn new(_root: &Path, _recursive: bool, _symlinks: Symlinks) -> Result<Self, Fault> {
        Ok(Self {})
    }
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        None
    }
}
