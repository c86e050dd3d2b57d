//! The remote bytes, live, on the matching streams; what we say ourselves goes to standard error, in words.

use std::io;

use bytes::Bytes;

use super::live::Live;
use crate::errors::{Caught, Fault, SshCliError, clean};
use crate::model::outcome::{Finished, TargetFacts, Warning};
use crate::model::sink::{Sink, Stream};

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
}

impl Raw {
    pub(super) fn on(stdout: Live, stderr: Live) -> Self {
        Self { stdout, stderr, in_line: false, spent: false, warned: Vec::new() }
    }

    /// Waits until everything is written; standard output's failure is told, standard error's would have no place to go.
    pub(super) async fn drained(&mut self) -> io::Result<()> {
        let _ = self.stderr.drained().await;
        self.stdout.drained().await
    }

    /// The end of both streams: what could not be given to the thread of standard error, and whether standard output went out.
    pub(super) fn close(&mut self) -> (Vec<u8>, io::Result<()>) {
        let (_, ended) = self.stdout.join();
        let (left, _) = self.stderr.join();
        (left.into_iter().flatten().collect(), ended)
    }

    /// Our last words: warnings that were not told when they were found, and the failure.
    pub(super) fn last_lines(&self, finished: &Finished, error: Option<&SshCliError>) -> String {
        let untold = finished.warnings.iter().filter(|warning| !self.warned.contains(warning)).map(warning_line);
        let text: String = untold.chain(error.and_then(|error| paragraph(&finished.target, error))).collect();
        if self.in_line && !text.is_empty() { format!("\n{text}") } else { text }
    }
}

fn warning_line(warning: &Warning) -> String {
    format!("ssh-cli: warning: {}\n", clean(&warning.message))
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

    fn attempt(&mut self, _number: u32) {}

    fn is_spent(&self) -> bool {
        self.spent
    }

    fn warning(&mut self, warning: &Warning) {
        let line_break = if self.in_line { "\n" } else { "" };
        self.stderr.post(format!("{line_break}{}", warning_line(warning)).into());
        self.in_line = false;
        self.warned.push(warning.clone());
    }
}
