//! What became of each entry of a copy, in bounded memory, and what that comes to.

use crate::constants::{TRANSFER_NOTABLE_ENTRIES, TRANSFER_PLAIN_ENTRIES};
use crate::errors::{Fault, SshCliError};
use crate::model::outcome::Started;
use crate::model::transfer::{Direction, Entry, EntryAction, Protocol, Transfer};

/// Collects entries.
#[derive(Debug, Default)]
pub struct Ledger {
    notable: Vec<Entry>,
    plain: Vec<Entry>,
    omitted: u64,
    files: u64,
    bytes: u64,
    skipped: u64,
    total: u64,
    /// The first failure, as long as all have its code.
    only_fault: Option<Fault>,
    mixed: bool,
    /// Something was written down that ends the whole copy.
    ended: bool,
    touched: Touched,
}

/// How far the target has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    /// Nothing was asked for that would change it.
    #[default]
    No,
    /// Something was asked for, and the answer is not here.
    Asked,
    /// It has changed.
    Yes,
}

impl Ledger {
    /// Something arrived as it was asked for.
    pub fn done(&mut self, entry: Entry) {
        self.total += 1;
        if matches!(entry.action, EntryAction::Copied | EntryAction::Resumed) {
            self.files += 1;
            self.bytes += entry.bytes;
        }
        self.keep(entry);
    }

    /// Something was left out on purpose, or because it is nothing that can be copied.
    pub fn skipped(&mut self, path: &[u8], reason: impl Into<String>) {
        self.total += 1;
        self.skipped += 1;
        self.mixed = true;
        self.keep(Entry::new(path, EntryAction::Skipped, 0).because(reason));
    }

    /// Something stays as it is there because the caller said so (`--no-clobber`): that is no failure.
    pub fn kept(&mut self, path: &[u8], reason: impl Into<String>) {
        self.total += 1;
        self.keep(Entry::new(path, EntryAction::Skipped, 0).because(reason));
    }

    /// Something could not be copied; a lie of the server is refused. The fault's code and sentence are its reason.
    pub fn failed(&mut self, path: &[u8], bytes: u64, fault: Fault) {
        let action = match fault {
            Fault::ServerViolation { .. } => EntryAction::Refused,
            _ => EntryAction::Failed,
        };
        let error = SshCliError::new(fault.clone(), Started::No, crate::effect::Effect::Read, false);
        self.total += 1;
        self.skipped += 1;
        self.keep(Entry::new(path, action, bytes).because(format!("{}: {}", error.code(), error.message())));
        match &self.only_fault {
            None => self.only_fault = Some(fault),
            Some(first) if first.row().code == fault.row().code => {}
            Some(_) => self.mixed = true,
        }
    }

    /// The same, where the rest of the copy may go on; the error is the fault of one that may not.
    pub fn settle_failure(&mut self, path: &[u8], fault: Fault) -> Result<(), Fault> {
        let is_final = is_final(&fault);
        // A lost connection says nothing about the file; and what ends the copy is met again by everybody whom it goes through.
        let says_nothing = matches!(fault, Fault::ConnectionLost { .. }) || (is_final && self.ended);
        if !says_nothing {
            self.failed(path, 0, fault.clone());
        }
        if !is_final {
            return Ok(());
        }
        self.ended = true;
        Err(fault)
    }

    /// Something of ours that could not be removed.
    pub fn left(&mut self, path: &[u8], reason: impl Into<String>) {
        self.keep(Entry::new(path, EntryAction::Left, 0).because(reason));
    }

    /// The target was asked to change, or has changed.
    pub fn touch(&mut self, touched: Touched) {
        self.touched = self.touched.max(touched);
    }

    /// Whether the target may have changed.
    pub fn started(&self) -> Started {
        match self.touched {
            Touched::No => Started::No,
            Touched::Asked => Started::Unknown,
            Touched::Yes => Started::Yes,
        }
    }

    /// What the copy comes to, where nothing ended it early: nothing wrong, the one thing that is wrong with all of it, or a
    /// part of it missing.
    pub fn verdict(&self) -> Option<Fault> {
        if self.skipped == 0 {
            return None;
        }
        match &self.only_fault {
            Some(fault) if !self.mixed && self.skipped == self.total => Some(fault.clone()),
            _ => Some(Fault::PartialTransfer { failed: self.skipped, total: self.total }),
        }
    }

    /// The report: those first that were not plainly copied.
    pub fn into_transfer(self, direction: Direction, protocol: Option<Protocol>, root: Option<String>) -> Transfer {
        let Self { mut notable, plain, omitted, files, bytes, skipped, .. } = self;
        notable.extend(plain);
        Transfer { direction, protocol, root, files, bytes, skipped, entries: notable, omitted_entries: omitted }
    }

    fn keep(&mut self, entry: Entry) {
        let (list, room) = if entry.is_plain() {
            (&mut self.plain, TRANSFER_PLAIN_ENTRIES)
        } else {
            (&mut self.notable, TRANSFER_NOTABLE_ENTRIES)
        };
        if list.len() < room { list.push(entry) } else { self.omitted += 1 }
    }
}

/// Whether it ends the whole copy, whatever else there is to be copied.
fn is_final(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::ConnectionLost { .. }
            | Fault::NoSpace { .. }
            | Fault::ReadOnly { .. }
            | Fault::StdoutFailed { .. }
            | Fault::Internal { .. }
            | Fault::Interrupted { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(path: &str, bytes: u64) -> Entry {
        Entry::new(path.as_bytes(), EntryAction::Copied, bytes)
    }

    fn denied(path: &str) -> Fault {
        Fault::RemotePermission { path: path.to_owned() }
    }

    #[test]
    fn a_whole_copy_is_no_fault() {
        let mut ledger = Ledger::default();
        ledger.done(Entry::new(b"", EntryAction::Created, 0));
        ledger.done(copied("a", 3));
        ledger.kept(b"b", "exists");
        assert_eq!(ledger.verdict(), None);
        let transfer = ledger.into_transfer(Direction::Upload, Some(Protocol::Sftp), None);
        assert_eq!((transfer.files, transfer.bytes, transfer.skipped, transfer.entries.len()), (1, 3, 0, 3));
        assert_eq!(transfer.entries[0].path, "b", "what was not plainly copied comes first");
    }

    #[test]
    fn one_file_fails_by_its_own_name_and_a_part_of_many_is_a_part() {
        let mut one = Ledger::default();
        one.failed(b"a", 0, denied("a"));
        assert_eq!(one.verdict(), Some(denied("a")));
        one.failed(b"b", 0, denied("b"));
        assert_eq!(one.verdict(), Some(denied("a")), "all of them for the same reason");
        one.failed(b"c", 0, Fault::NoSpace { path: "c".into() });
        assert_eq!(one.verdict(), Some(Fault::PartialTransfer { failed: 3, total: 3 }));
        let mut some = Ledger::default();
        some.done(copied("a", 1));
        some.failed(b"b", 0, denied("b"));
        assert_eq!(some.verdict(), Some(Fault::PartialTransfer { failed: 1, total: 2 }));
        let mut skipped = Ledger::default();
        skipped.skipped(b"fifo", "fifo");
        assert_eq!(skipped.verdict(), Some(Fault::PartialTransfer { failed: 1, total: 1 }));
    }

    #[test]
    fn what_ends_the_copy_is_told_once() {
        let mut ledger = Ledger::default();
        let full = || Fault::NoSpace { path: "tree/5".into() };
        assert_eq!(ledger.settle_failure(b"5", full()), Err(full()));
        assert_eq!(ledger.settle_failure(b"", full()), Err(full()));
        let transfer = ledger.into_transfer(Direction::Upload, None, None);
        assert_eq!((transfer.skipped, transfer.entries.len(), &*transfer.entries[0].path), (1, 1, "5"));
    }

    #[test]
    fn however_many_entries_there_are_the_memory_is_bounded() {
        let mut ledger = Ledger::default();
        for n in 0..10_000_u64 {
            ledger.done(copied(&n.to_string(), 1));
            ledger.failed(n.to_string().as_bytes(), 0, denied("x"));
        }
        let transfer = ledger.into_transfer(Direction::Download, None, None);
        assert_eq!(transfer.entries.len(), TRANSFER_PLAIN_ENTRIES + TRANSFER_NOTABLE_ENTRIES);
        assert_eq!(transfer.omitted_entries + transfer.entries.len() as u64, 20_000);
        assert_eq!((transfer.files, transfer.skipped), (10_000, 10_000));
    }

    #[test]
    fn a_server_that_lies_is_refused() {
        let mut ledger = Ledger::default();
        ledger.failed(
            b"..",
            0,
            Fault::ServerViolation { problem: "a path".into(), phase: crate::model::outcome::Phase::Transfer },
        );
        let transfer = ledger.into_transfer(Direction::Download, None, None);
        assert_eq!(transfer.entries[0].action, EntryAction::Refused);
        assert!(transfer.entries[0].reason.as_deref().unwrap().starts_with("server_violation: "));
    }

    #[test]
    fn what_was_touched_stays_touched() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.started(), Started::No);
        ledger.touch(Touched::Asked);
        assert_eq!(ledger.started(), Started::Unknown);
        ledger.touch(Touched::Yes);
        ledger.touch(Touched::Asked);
        assert_eq!(ledger.started(), Started::Yes);
    }
}
