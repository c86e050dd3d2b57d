//! What stands before the program where it runs with another user's rights.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};

use crate::constants::{ELEVATION_ANSWER_SECS, ELEVATION_LAST_WORDS_SECS};
use crate::model::sink::Stream;
use crate::operation::elevate::gate::{Cue, Gate};
use crate::operation::elevate::stopper::password_line;
use crate::operation::elevate::{Dialogue, Elevated};

/// Lets the program through when the rights are there.
pub struct Door {
    gate: Gate,
    /// When its silence is an answer.
    silent_at: Option<Instant>,
    hung_up: bool,
}

/// What is to be done.
pub enum Step {
    /// Send this.
    Send(Bytes),
    /// End the input.
    End,
    /// Send the program.
    Open,
}

impl Door {
    /// For a channel whose words have this nonce.
    pub fn new(elevated: &Elevated, nonce: &str) -> Self {
        Self { gate: Gate::new(elevated, nonce), silent_at: None, hung_up: false }
    }

    /// Nothing more is for it.
    pub fn is_open(&self) -> bool {
        self.gate.is_open()
    }

    /// Takes output in; what is left over comes from behind the door.
    pub fn see(&mut self, stream: Stream, data: Bytes) -> (Vec<Step>, Bytes) {
        let before = self.gate.has_begun();
        let seen = self.gate.see(stream, data);
        if !self.hung_up && self.gate.has_begun() && (!before || !seen.cues.is_empty()) {
            self.wait(ELEVATION_ANSWER_SECS);
        }
        let mut steps = Vec::new();
        for cue in seen.cues {
            match cue {
                Cue::Answer(password) => steps.push(Step::Send(password_line(&password))),
                Cue::HangUp => steps.extend(self.hang_up()),
                Cue::Open => {
                    self.silent_at = None;
                    steps.push(Step::Open);
                }
            }
        }
        (steps, seen.rest)
    }

    /// Done when it was silent for too long.
    pub async fn silence(&self) {
        match self.silent_at {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    /// It was. None: it was told before that there is no more to come, and says nothing to that.
    pub fn unheard(&mut self) -> Option<Step> {
        self.hang_up()
    }

    /// What was said before it.
    pub fn end(self) -> Dialogue {
        self.gate.end()
    }

    fn hang_up(&mut self) -> Option<Step> {
        if self.hung_up {
            return None;
        }
        self.hung_up = true;
        self.wait(ELEVATION_LAST_WORDS_SECS);
        Some(Step::End)
    }

    fn wait(&mut self, seconds: u64) {
        self.silent_at = Some(Instant::now() + Duration::from_secs(seconds));
    }
}
