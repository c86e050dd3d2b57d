//! The signals that end us, as a channel.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::errors::Caught;

/// As many as may matter: the first stops the command, the second ends the wait.
const PENDING: usize = 4;

/// Begins to catch SIGHUP, SIGINT and SIGTERM, save those that whoever started us had us ignore (`nohup`, `&`).
pub(crate) fn catch() -> mpsc::Receiver<Caught> {
    let (sender, receiver) = mpsc::channel(PENDING);
    let kinds = [
        (SignalKind::hangup(), Caught::Hup),
        (SignalKind::interrupt(), Caught::Int),
        (SignalKind::terminate(), Caught::Term),
    ];
    let ignored = ignored();
    for (kind, caught) in kinds {
        if ignored & (1 << (kind.as_raw_value() - 1)) != 0 {
            continue;
        }
        match signal(kind) {
            Ok(mut arrivals) => {
                let sender = sender.clone();
                tokio::spawn(async move {
                    while arrivals.recv().await.is_some() {
                        if sender.send(caught).await.is_err() {
                            return;
                        }
                    }
                });
            }
            Err(error) => log::warn!("SIG{} cannot be caught: {error}", caught.name()),
        }
    }
    receiver
}

/// The mask of ignored signals (proc(5), `SigIgn`); none where it cannot be told.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
