//! The tables: a log for each operation, read whole and only believed whole.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::fingerprint::{call_hash, operation_hash, row_sum};
use super::history::{Admission, Standing, admit};
use super::record::{Emitted, Event, Record, SCHEMA_VERSION, Verdict};
use super::schema::{self, Layout};
use super::trouble::Trouble;
use crate::effect::Effect;
use crate::model::moment::Moment;
use crate::model::operation::{Fingerprint, OperationId, SequenceNumber};

/// An open file.
#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
    layout: Layout,
}

/// The log of one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Log {
    pub(super) events: Vec<Event>,
    /// The sum of the last row; empty where there is none.
    sum: String,
    /// The newest version of its records.
    schema: u32,
}

impl Log {
    /// The number of the next event.
    pub(super) fn next(&self) -> SequenceNumber {
        SequenceNumber(self.events.len() as u64)
    }
}

/// What became of a step that was to be put on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// It is on disk; the number is that of its last record.
    Recorded(SequenceNumber),
    /// The same was on disk before.
    AlreadyThere(SequenceNumber),
    /// Another process went on meanwhile, and what it recorded stands. Nothing was written: ask again.
    Overtaken,
}

impl Store {
    pub(super) fn open_or_make(state_dir: &Path) -> Result<Self, Trouble> {
        let (connection, layout) = schema::open_or_make(state_dir)?;
        Ok(Self { connection, layout })
    }

    pub(super) fn open_existing(state_dir: &Path) -> Result<Option<Self>, Trouble> {
        let opened = schema::open_existing(state_dir)?;
        Ok(opened.map(|(connection, layout)| Self { connection, layout }))
    }

    /// The log of an operation, as it is at one moment.
    pub(super) fn load(&mut self, operation: &OperationId) -> Result<Log, Trouble> {
        self.read(|transaction| load(transaction, operation))
    }

    /// Reads in one transaction, so that the tables fit each other.
    pub(super) fn read<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>) -> Result<T, Trouble> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        work(&transaction)
    }

    /// Writes in one transaction, which nobody else can come between. An error undoes it.
    pub(super) fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>) -> Result<T, Trouble> {
        if self.layout == Layout::Newer {
            return Err(Trouble::Unwritable("a newer version of ssh-cli has written it".to_owned()));
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    /// Reads, decides and adds, under one lock. All of the step is added, or nothing.
    pub(super) fn commit(&mut self, emitted: &Emitted, at: Moment) -> Result<Commit, Trouble> {
        self.write(|transaction| {
            let mut log = load(transaction, &emitted.operation)?;
            if log.schema > SCHEMA_VERSION {
                return Err(Trouble::Unwritable("a newer version of ssh-cli has written this record".to_owned()));
            }
            let before = log.next();
            let mut commit = Commit::Overtaken;
            for record in &emitted.records {
                match admit(&Standing::read(&log.events), record) {
                    Admission::Append => {
                        commit = Commit::Recorded(log.next());
                        append(transaction, &emitted.operation, &mut log, record, at)?;
                    }
                    Admission::AlreadyThere(seq) => commit = Commit::AlreadyThere(seq),
                    // Under the lock nothing can come between two records of one step.
                    Admission::Overtaken if log.next() == before => return Ok(Commit::Overtaken),
                    Admission::Overtaken | Admission::Impossible => {
                        return Err(Trouble::Bug(format!(
                            "{} of {:?} does not follow",
                            record.kind(),
                            emitted.operation
                        )));
                    }
                    Admission::Damaged => return Err(Trouble::Damaged("the record of this key".to_owned())),
                    Admission::Contradicts => {
                        let problem = format!("{:?} is completed, and now with another outcome", emitted.operation);
                        return Err(Trouble::Bug(problem));
                    }
                }
            }
            Ok(commit)
        })
    }
}

/// Every row has to follow from the one before, and the last one has to be the one that the other table names.
pub(super) fn load(connection: &Connection, operation: &OperationId) -> Result<Log, Trouble> {
    let name = operation_hash(operation);
    let head = connection
        .prepare("SELECT target, key, events, sum FROM operations WHERE operation = ?1")?
        .query_row([&name], head)
        .optional()?;
    let mut log = Log::default();
    let mut statement = connection
        .prepare("SELECT seq, schema, time, kind, json, sum FROM events WHERE operation = ?1 ORDER BY seq")?;
    let mut rows = statement.query([&name])?;
    while let Some(row) = rows.next()? {
        take(&mut log, &name, row)?;
    }
    match head {
        None if log.events.is_empty() => Ok(log),
        Some((target, key, events, sum))
            if target == operation.target.as_str()
                && key == operation.key.as_str()
                && events == log.next().0
                && events > 0
                && sum == log.sum =>
        {
            Ok(log)
        }
        _ => Err(Trouble::Damaged("a part of a record is missing".to_owned())),
    }
}

fn head(row: &Row<'_>) -> rusqlite::Result<(String, String, u64, String)> {
    Ok((row.get(0)?, row.get(1)?, unsigned(row, 2)?, row.get(3)?))
}

fn take(log: &mut Log, name: &str, row: &Row<'_>) -> Result<(), Trouble> {
    let (seq, schema, time) = (unsigned(row, 0)?, unsigned(row, 1)?, unsigned(row, 2)?);
    let (kind, json, sum): (String, String, String) = (row.get(3)?, row.get(4)?, row.get(5)?);
    if seq != log.next().0 || sum != row_sum(&log.sum, name, [seq, schema, time], &kind, &json) {
        return Err(Trouble::Damaged(format!("record {seq} is not what was written")));
    }
    let record: Record = serde_json::from_str(&json)
        .map_err(|error| Trouble::Damaged(format!("record {seq} cannot be read: {error}")))?;
    if record.kind() != kind {
        return Err(Trouble::Damaged(format!("record {seq} is of two kinds")));
    }
    log.sum = sum;
    log.schema = log.schema.max(u32::try_from(schema).unwrap_or(u32::MAX));
    log.events.push(Event { seq: SequenceNumber(seq), at: Moment(time), record });
    Ok(())
}

fn append(
    transaction: &Transaction<'_>,
    operation: &OperationId,
    log: &mut Log,
    record: &Record,
    at: Moment,
) -> Result<(), Trouble> {
    let bug = |error: &dyn std::fmt::Display| Trouble::Bug(format!("a record cannot be written down: {error}"));
    let name = operation_hash(operation);
    let seq = log.next();
    let json = serde_json::to_string(record).map_err(|error| bug(&error))?;
    let sum = row_sum(&log.sum, &name, [seq.0, u64::from(SCHEMA_VERSION), at.0], record.kind(), &json);
    let signed = |number: u64| i64::try_from(number).map_err(|error| bug(&error));
    transaction.prepare("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?.execute(params![
        name,
        signed(seq.0)?,
        SCHEMA_VERSION,
        signed(at.0)?,
        record.kind(),
        json,
        sum
    ])?;
    transaction
        .prepare(
            "INSERT INTO operations VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (operation) DO UPDATE SET events = excluded.events, sum = excluded.sum",
        )?
        .execute(params![name, operation.target.as_str(), operation.key.as_str(), signed(seq.0 + 1)?, sum])?;
    claim(transaction, operation, &name, record, signed(at.0)?)?;
    log.sum = sum;
    log.schema = log.schema.max(SCHEMA_VERSION);
    log.events.push(Event { seq, at, record: record.clone() });
    Ok(())
}

/// An operation that may answer for an equal one claims its call when it is meant, and lets go of it when it is given up.
fn claim(
    transaction: &Transaction<'_>,
    operation: &OperationId,
    name: &str,
    record: &Record,
    at: i64,
) -> Result<(), Trouble> {
    match record {
        Record::Intent(intent) if intent.effect != Effect::Write => {
            transaction.prepare("INSERT OR IGNORE INTO claims VALUES (?1, ?2, ?3)")?.execute(params![
                call_hash(operation, &intent.fingerprint),
                name,
                at
            ])?;
        }
        Record::Resolved(resolved) if resolved.verdict == Verdict::Abandoned => {
            transaction.prepare("DELETE FROM claims WHERE operation = ?1")?.execute([name])?;
        }
        _ => {}
    }
    Ok(())
}

/// Those that claim the same call, the oldest first. One whose row is damaged is left out: it answers for nobody.
pub(super) fn claimants(
    connection: &Connection,
    operation: &OperationId,
    fingerprint: &Fingerprint,
) -> Result<Vec<OperationId>, Trouble> {
    let mut statement = connection.prepare(
        "SELECT operations.target, operations.key FROM claims JOIN operations USING (operation) \
         WHERE claims.call = ?1 ORDER BY claims.time, claims.operation",
    )?;
    let rows = statement.query_map([call_hash(operation, fingerprint)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut claimants = Vec::new();
    for row in rows {
        let (target, key): (String, String) = row?;
        claimants.extend(named(&target, &key));
    }
    Ok(claimants)
}

/// Every operation that has a row in the table of operations.
pub(super) fn operations(connection: &Connection) -> Result<Vec<OperationId>, Trouble> {
    let mut statement = connection.prepare("SELECT target, key FROM operations")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut operations = Vec::new();
    for row in rows {
        let (target, key): (String, String) = row?;
        let bad = || Trouble::Damaged("an operation has no name".to_owned());
        operations.push(named(&target, &key).ok_or_else(bad)?);
    }
    Ok(operations)
}

/// How many logs there are that the table of operations does not name.
pub(super) fn strays(connection: &Connection) -> Result<u64, Trouble> {
    let sql = "SELECT count(DISTINCT operation) FROM events WHERE operation NOT IN (SELECT operation FROM operations)";
    Ok(connection.query_row(sql, [], |row| unsigned(row, 0))?)
}

/// Takes all of an operation away.
pub(super) fn remove(transaction: &Transaction<'_>, operation: &OperationId) -> Result<(), Trouble> {
    let name = operation_hash(operation);
    for table in ["claims", "events", "operations"] {
        transaction.prepare(&format!("DELETE FROM {table} WHERE operation = ?1"))?.execute([&name])?;
    }
    Ok(())
}

fn named(target: &str, key: &str) -> Option<OperationId> {
    let value = serde_json::json!({"target": target, "key": key});
    serde_json::from_value(value).ok()
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}
