//! Stopping a command: which signals, in which order, and how long its end is waited for.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::facts::StopCause;
use crate::connection::channel::StopSignal;
use crate::constants::{SIGNAL_GRACE_MS, STOP_CONFIRM_MS, STOP_STEP_MS};

/// The rest of a stop.
#[derive(Debug)]
pub(super) struct Stopping {
    steps: VecDeque<(StopSignal, Duration)>,
    next_at: Instant,
    /// What is stopped by way of a second channel may need so much longer, once: that has to be let in first.
    longer: Option<Duration>,
}

impl Stopping {
    /// A signal to us: TERM, and 700 ms. Everything else: INT, TERM, KILL.
    pub(super) fn for_cause(cause: &StopCause) -> Self {
        let step = Duration::from_millis(STOP_STEP_MS);
        let confirm = Duration::from_millis(STOP_CONFIRM_MS);
        let longer = (!matches!(cause, StopCause::Signal(_))).then_some(confirm);
        let steps = match cause {
            StopCause::Signal(_) => vec![(StopSignal::Term, Duration::from_millis(SIGNAL_GRACE_MS))],
            StopCause::Limit(..) | StopCause::Output(_) | StopCause::Input(_) => {
                vec![(StopSignal::Int, step), (StopSignal::Term, step), (StopSignal::Kill, confirm)]
            }
        };
        Self { steps: steps.into(), next_at: Instant::now(), longer }
    }

    /// When the next step is due.
    pub(super) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// After the last signal, while the second channel still works at it: waits once more. False where that was done.
    pub(super) fn waits_longer(&mut self) -> bool {
        let Some(longer) = self.longer.take() else { return false };
        self.next_at = Instant::now() + longer;
        true
    }

    /// The signal to send now; `None` when the end was not seen in time.
    pub(super) fn step(&mut self) -> Option<StopSignal> {
        let (signal, wait) = self.steps.pop_front()?;
        self.next_at = Instant::now() + wait;
        Some(signal)
    }
}
