//! `-v`: what we do, on standard error, one line each.

use std::io::Write;
use std::time::Instant;

use log::{LevelFilter, Log, Metadata, Record};

use crate::errors::clean;

struct Stderr {
    begun: Instant,
}

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // russh writes messages, passwords among them, at its finer levels: those are never let through.
        metadata.target().starts_with("ssh_cli") || metadata.level() <= LevelFilter::Info
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let text = clean(&record.args().to_string());
            let line = format!("ssh-cli: {:8.1}ms {text}\n", self.begun.elapsed().as_secs_f64() * 1000.0);
            // A log that cannot be written must not end what it only reports.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    fn flush(&self) {}
}

/// Logs from now on. `verbosity`: `-v` shows each step, `-vv` more of each.
pub(crate) fn begin(verbosity: u8) {
    let level = match verbosity {
        0 => return,
        1 => LevelFilter::Info,
        2 => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    };
    if log::set_boxed_logger(Box::new(Stderr { begun: Instant::now() })).is_ok() {
        log::set_max_level(level);
    }
}
