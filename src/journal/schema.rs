//! The file: how it is made, and what is asked of it before it is believed.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::trouble::Trouble;
use crate::constants::{JOURNAL_BUSY_MS, JOURNAL_LOOK_MS};

/// Its directory, below the state directory: one of its own, so that closing it to others closes nothing else.
const DIRECTORY_NAME: &str = "operations";

/// The name of the file in it.
const FILE_NAME: &str = "journal.sqlite3";

/// "sshj", in the header of the file: it is ours.
const APPLICATION_ID: i64 = 0x7373_686a;

/// The version of the tables.
const LAYOUT_VERSION: i64 = 1;

/// `events` is only ever added to; expiry takes whole operations away. `operations` counts the events of each and holds the sum of the last:
/// what is missing in one of the two tables is missed by the other.
const TABLES: &str = "
CREATE TABLE events (
  operation TEXT NOT NULL, seq INTEGER NOT NULL, schema INTEGER NOT NULL, time INTEGER NOT NULL,
  kind TEXT NOT NULL, json TEXT NOT NULL, sum TEXT NOT NULL,
  PRIMARY KEY (operation, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE operations (
  operation TEXT NOT NULL PRIMARY KEY, target TEXT NOT NULL, key TEXT NOT NULL, events INTEGER NOT NULL, sum TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE claims (
  call TEXT NOT NULL, operation TEXT NOT NULL, time INTEGER NOT NULL,
  PRIMARY KEY (call, operation)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER events_stay_as_they_are BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
";

/// Opens the file and makes it where there is none.
pub(super) fn open_or_make(state_dir: &Path) -> Result<(Connection, Layout), Trouble> {
    let directory = &state_dir.join(DIRECTORY_NAME);
    make_directory(directory).map_err(|error| Trouble::Unwritable(told(directory, &error)))?;
    let path = directory.join(FILE_NAME);
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(directory, &path)?,
        Err(error) => return Err(Trouble::Unwritable(told(&path, &error))),
        Ok(_) => {}
    }
    open(&path)
}

/// Opens the file; none where there is none.
pub(super) fn open_existing(state_dir: &Path) -> Result<Option<(Connection, Layout)>, Trouble> {
    let path = path(state_dir);
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Trouble::Unwritable(told(&path, &error))),
        Ok(_) => open(&path).map(Some),
    }
}

/// Which tables the file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Those of this version.
    Ours,
    /// Those of a later one: they may be read.
    Newer,
}

fn make_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    if fs::metadata(directory)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Makes the file beside its place, whole, and then gives it its name: one that is there and empty was cut, and is not a new one.
fn make(directory: &Path, path: &Path) -> Result<(), Trouble> {
    let unwritable = |error: &io::Error| Trouble::Unwritable(told(directory, error));
    // tempfile creates with O_EXCL and 0600.
    let new = tempfile::Builder::new()
        .prefix("journal-")
        .suffix(".new")
        .tempfile_in(directory)
        .map_err(|error| unwritable(&error))?;
    let mut connection = Connection::open_with_flags(new.path(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    set_up(&mut connection)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", LAYOUT_VERSION)?;
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)?;
    match new.persist_noclobber(path) {
        // Another process was quicker: its file is as good.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(unwritable(&error.error)),
        Ok(_) => {}
    }
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(|error| unwritable(&error))
}

fn open(path: &Path) -> Result<(Connection, Layout), Trouble> {
    let metadata = fs::metadata(path).map_err(|error| Trouble::Unwritable(told(path, &error)))?;
    if !metadata.is_file() {
        return Err(Trouble::Unwritable(format!("{} is no regular file", path.display())));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(path, private).map_err(|error| Trouble::Unwritable(told(path, &error)))?;
    }
    if metadata.len() == 0 {
        return Err(Trouble::Damaged(format!("{} is empty", path.display())));
    }
    // SQLite falls back to reading where it may not write; a write then says so.
    let mut connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    set_up(&mut connection)?;
    let layout = verify(&connection)?;
    Ok((connection, layout))
}

/// Waits a moment for whoever holds the file, and says whether to look again. The library's own waits grow to a tenth of a second, and among
/// many that commit one after the other such a sleeper may never find it free.
#[expect(clippy::disallowed_methods, reason = "SQLite waits in its own thread, which is ours, and for no network")]
fn look_again(looks: i32) -> bool {
    std::thread::sleep(Duration::from_millis(JOURNAL_LOOK_MS));
    u64::try_from(looks).is_ok_and(|looks| looks < JOURNAL_BUSY_MS / JOURNAL_LOOK_MS)
}

/// What has to be said to each connection.
fn set_up(connection: &mut Connection) -> Result<(), rusqlite::Error> {
    connection.busy_handler(Some(look_again))?;
    connection.pragma_update(None, "trusted_schema", "OFF")?;
    connection.pragma_update(None, "cell_size_check", "ON")?;
    // A commit is on the disk when it returns, and with `fullfsync` not only in the disk's own memory (macOS).
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", "ON")
}

/// The fields of the header that a stray bit could change into something that still opens, and reads differently.
fn verify(connection: &Connection) -> Result<Layout, Trouble> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let word = |name| connection.pragma_query_value(None, name, |row| row.get::<_, String>(0));
    if number("application_id")? != APPLICATION_ID {
        return Err(Trouble::Damaged("the file is no journal of ours".to_owned()));
    }
    // No write-ahead log: it needs memory that processes share, which a home on NFS does not have.
    for (name, expected) in [("encoding", "UTF-8"), ("journal_mode", "delete")] {
        let found = word(name)?;
        if found != expected {
            return Err(Trouble::Damaged(format!("its {name} is {found}")));
        }
    }
    match number("user_version")? {
        LAYOUT_VERSION => Ok(Layout::Ours),
        version if version > LAYOUT_VERSION => Ok(Layout::Newer),
        version => Err(Trouble::Damaged(format!("its version is {version}"))),
    }
}

fn told(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Where the file is, below this state directory.
pub(super) fn path(state_dir: &Path) -> PathBuf {
    state_dir.join(DIRECTORY_NAME).join(FILE_NAME)
}
