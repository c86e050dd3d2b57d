//! `ops gc`: takes away what is over and old, here.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::Told;
use crate::errors::Fault;
use crate::flow::keyed::spool;
use crate::journal::Journal;
use crate::model::moment::Moment;

/// A file that nobody has named by then was left by a call that broke off.
const STRAY_AFTER: Duration = Duration::from_hours(24);

/// The records that have expired, with their output, and files that belong to no record. Told are the operations that are gone.
pub(super) fn collect(state_dir: Option<&Path>) -> Result<Told, Fault> {
    let none = (Vec::new(), Vec::new());
    let Some(state_dir) = state_dir else { return Ok(none) };
    let Some(mut journal) = Journal::open_existing(state_dir)? else { return Ok(none) };
    let before = journal.list()?.operations;
    let collected = journal.collect(Moment::now(), usize::MAX)?;
    spool::remove(state_dir, &collected.spools);
    // What a record that cannot be read has named is not known: then everything stays.
    if let Some(named) = journal.spools()? {
        let strays = spool::remove_strays(state_dir, &named, STRAY_AFTER);
        log::info!("{} files of records, {strays} of nobody", collected.spools.len());
    }
    let gone: BTreeSet<_> = collected.operations.iter().map(|id| (&id.target, &id.key)).collect();
    let gone = before.into_iter().filter(|listing| gone.contains(&(&listing.target, &listing.key)));
    Ok((gone.collect(), Vec::new()))
}
