//! The remote bytes, live, on the matching streams; what we say ourselves goes to standard error, in words.

use std::io;
use std::time::Instant;

use bytes::Bytes;

use super::bar::Bar;
use super::live::Live;
use crate::errors::{Caught, Fault, SshCliError, clean};
use crate::model::outcome::{Finished, TargetFacts, Warning};
use crate::model::sink::{Sink, Stream};
use crate::model::transfer::{Entry, EntryAction, Transfer};

/// Passes bytes on.
#[derive(Debug)]
pub struct Raw {
    stdout: Live,
    stderr: Live,
    /// Our own lines begin at the start of one.
    in_line: bool,
    /// Bytes of the command were passed on.
    spent: bool,
    warned: Vec<Warning>,
    bar: Option<Bar>,
}

impl Raw {
    pub(super) fn on(stdout: Live, stderr: Live, bar: Option<Bar>) -> Self {
        Self { stdout, stderr, in_line: false, spent: false, warned: Vec::new(), bar }
    }

    /// Waits until everything is written; standard output's failure is told, standard error's would have no place to go.
    pub(super) async fn drained(&mut self) -> io::Result<()> {
        self.erase_bar();
        let _ = self.stderr.drained().await;
        self.stdout.drained().await
    }

    /// The end of both streams: what could not be given to the thread of standard error, and whether standard output went out.
    pub(super) fn close(&mut self) -> (Vec<u8>, io::Result<()>) {
        self.erase_bar();
        let (_, ended) = self.stdout.join();
        let (left, _) = self.stderr.join();
        (left.into_iter().flatten().collect(), ended)
    }

    /// Our last words: warnings that were not told when they were found, and the failure.
    pub(super) fn last_lines(&self, finished: &Finished, error: Option<&SshCliError>) -> String {
        let untold = finished.warnings.iter().filter(|warning| !self.warned.contains(warning)).map(warning_line);
        let entries = finished.transfer.iter().flat_map(|transfer| problems(transfer, error));
        let failure = error.and_then(|error| paragraph(&finished.target, error));
        let text: String = untold.chain(entries).chain(failure).collect();
        if self.in_line && !text.is_empty() { format!("\n{text}") } else { text }
    }

    /// What is said next begins where the bar did.
    fn erase_bar(&mut self) {
        if let Some(erased) = self.bar.as_mut().and_then(Bar::clear) {
            self.stderr.post(erased);
        }
    }
}

fn warning_line(warning: &Warning) -> String {
    format!("ssh-cli: warning: {}\n", clean(&warning.message))
}

/// The entries of a copy that are not as they were asked for, a line each. One that the failure itself tells is not told twice.
fn problems(transfer: &Transfer, error: Option<&SshCliError>) -> Vec<String> {
    let told = error.map(|error| format!("{}: {}", error.code(), error.message()));
    let counts = |entry: &&Entry| !entry.action.is_plain() && entry.action != EntryAction::Left;
    let listed = transfer.entries.iter().filter(counts).filter(|entry| !stays_as_asked(entry)).count() as u64;
    let mut lines: Vec<String> = transfer
        .entries
        .iter()
        .filter(|entry| !entry.action.is_plain() && !stays_as_asked(entry))
        .filter(|entry| listed > 1 || entry.reason.is_none() || entry.reason != told)
        .map(|entry| entry_line(transfer, entry))
        .collect();
    if transfer.skipped > listed {
        lines.push(format!("ssh-cli: and {} more\n", transfer.skipped - listed));
    }
    lines
}

/// `--no-clobber`.
fn stays_as_asked(entry: &Entry) -> bool {
    entry.action == EntryAction::Skipped && entry.reason.as_deref() == Some("exists")
}

fn entry_line(transfer: &Transfer, entry: &Entry) -> String {
    let place = match (&*entry.path, &transfer.root) {
        ("", Some(root)) => root,
        ("", None) => "the target",
        (path, _) => path,
    };
    let action = match entry.action {
        EntryAction::Copied => "copied",
        EntryAction::Resumed => "resumed",
        EntryAction::Created => "created",
        EntryAction::Linked => "linked",
        EntryAction::Skipped => "skipped",
        EntryAction::Failed => "failed",
        EntryAction::Refused => "refused",
        EntryAction::Left => "left",
    };
    let reason = entry.reason.as_ref().map(|reason| format!(": {}", clean(reason))).unwrap_or_default();
    format!("ssh-cli: {}: {action}{reason}\n", clean(place))
}

/// What, where, and what to type. A remote status is the command's own affair: the exit tells it, and the command will have
/// said the rest.
pub(super) fn paragraph(target: &TargetFacts, error: &SshCliError) -> Option<String> {
    let hint = error.hint();
    match error.fault() {
        Fault::RemoteExit { .. } if hint.is_none() => return None,
        // Nobody reads on, as after `| head`: 141 says it.
        Fault::Interrupted { signal: Caught::Pipe, .. } => return None,
        _ => {}
    }
    let place = match (target.destination.as_str(), target.address.as_deref()) {
        ("", _) => String::new(),
        (destination, None) => format!("{}: ", clean(destination)),
        (destination, Some(address)) if destination == address => format!("{}: ", clean(destination)),
        (destination, Some(address)) => format!("{} ({}): ", clean(destination), clean(address)),
    };
    let hint = hint.map(|hint| format!("  hint: {hint}\n")).unwrap_or_default();
    Some(format!("ssh-cli: {place}{}\n{hint}", error.message()))
}

impl Sink for Raw {
    async fn write(&mut self, stream: Stream, data: Bytes) -> io::Result<()> {
        self.spent = true;
        match stream {
            Stream::Stdout => self.stdout.room().await?.send(data),
            Stream::Stderr => {
                let room = self.stderr.room().await?;
                self.in_line = data.last().map_or(self.in_line, |last| *last != b'\n');
                room.send(data);
            }
        }
        Ok(())
    }

    fn attempt(&mut self, _number: u32) {
        if let Some(bar) = &mut self.bar {
            bar.restart();
        }
    }

    fn is_spent(&self) -> bool {
        self.spent
    }

    fn progress(&mut self, path: &[u8], bytes: u64, total_bytes: Option<u64>) {
        if let Some(line) = self.bar.as_mut().and_then(|bar| bar.line(path, bytes, total_bytes, Instant::now())) {
            self.stderr.offer(line);
        }
    }

    fn warning(&mut self, warning: &Warning) {
        self.erase_bar();
        let line_break = if self.in_line { "\n" } else { "" };
        self.stderr.post(format!("{line_break}{}", warning_line(warning)).into());
        self.in_line = false;
        self.warned.push(warning.clone());
    }
}
