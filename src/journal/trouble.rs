//! Two kinds of trouble with the file, which are told apart: it cannot be used, or what it says cannot be believed.

use rusqlite::ErrorCode;

use crate::errors::Fault;

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It cannot be opened, locked, read or written here and now.
    Unwritable(String),
    /// It is there, and is not what was written: whatever it lacks may have been in it.
    Damaged(String),
    /// A bug of ours.
    Bug(String),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Unwritable("another process holds it, and does not let go".to_owned())
            }
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::OutOfMemory
                | ErrorCode::NoLargeFileSupport,
            ) => Self::Unwritable(error.to_string()),
            _ => Self::Damaged(error.to_string()),
        }
    }
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Unwritable(problem) => Self::JournalUnwritable { problem },
            Trouble::Damaged(problem) => Self::JournalUnwritable { problem: format!("it is damaged: {problem}") },
            Trouble::Bug(problem) => Self::Internal { problem },
        }
    }
}
