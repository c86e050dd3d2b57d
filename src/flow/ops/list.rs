//! `ops list`: our own record, whole.

use std::path::Path;

use super::Told;
use crate::errors::Fault;
use crate::journal::Journal;
use crate::model::outcome::Warning;

/// Every operation that is recorded here. No journal is made where there is none.
pub(super) fn list(state_dir: Option<&Path>) -> Result<Told, Fault> {
    let Some(mut journal) = state_dir.map(Journal::open_existing).transpose()?.flatten() else {
        return Ok((Vec::new(), Vec::new()));
    };
    let listing = journal.list()?;
    let message = format!("the journal has {} records whose operation cannot be told any more", listing.strays);
    let warning = (listing.strays > 0).then(|| Warning::new("journal_damaged", message));
    Ok((listing.operations, warning.into_iter().collect()))
}
