//! `ssh-cli schema` and `ssh-cli exit-codes`: what programs read before they read an envelope.

use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::envelope::Envelope;
use super::json;
use super::ndjson::Event;
use super::tools;
use crate::errors::exit_codes::{EX_IOERR, EX_PROTOCOL, TABLE};
use crate::errors::{Exit, samples};
use crate::model::outcome::{Class, Phase};
use crate::model::request::{OutputMode, SchemaTopic};

/// JSON always; indented for people in raw mode, else on one line.
pub fn schema(topic: SchemaTopic, mode: OutputMode) -> String {
    match topic {
        SchemaTopic::Envelope => print(&of::<Envelope>(), mode),
        SchemaTopic::Event => print(&of::<Event<'static>>(), mode),
        SchemaTopic::Errors => print(&errors(), mode),
        SchemaTopic::Tools => print(&tools::tools(), mode),
    }
}

/// A table in raw mode, else a JSON array.
pub fn exit_codes(mode: OutputMode) -> String {
    if mode != OutputMode::Raw {
        return print(&TABLE, mode);
    }
    let mut text = String::from("exit  name         again    meaning\n");
    for row in TABLE {
        let _ = writeln!(text, "{:>4}  {:<11}  {:<7}  {}", row.exit, row.name, row.reinvoke, row.meaning);
    }
    text
}

/// The schema of what is written: a field that is always written is required, also where it may be null.
pub(super) fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// One way for a failure to end.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct ErrorRow {
    code: &'static str,
    class: Class,
    phase: Phase,
    /// Where there are two: the first while repeating is safe, else the second.
    exit: Vec<i32>,
}

pub(super) fn errors() -> Vec<ErrorRow> {
    let mut rows = Vec::new();
    for fault in samples::all() {
        let row = fault.row();
        let exit = match row.exit {
            Exit::Code(code) => vec![code],
            Exit::Transient => vec![EX_IOERR, EX_PROTOCOL],
        };
        let row = ErrorRow { code: row.code, class: row.class, phase: row.phase, exit };
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

fn print(value: &impl Serialize, mode: OutputMode) -> String {
    let text = match mode {
        OutputMode::Raw => serde_json::to_string_pretty(value).unwrap_or_default() + "\n",
        OutputMode::Json | OutputMode::Ndjson => String::from_utf8_lossy(&json::line(value)).into_owned(),
    };
    debug_assert!(text.len() > 1, "no JSON form");
    text
}
