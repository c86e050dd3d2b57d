//! The run's part that knows of other rights: what comes before they are given, and how what has them is stopped.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{Due, Ending, Plan, Runner, Terminal};
use crate::connection::channel::StopSignal;
use crate::constants::{DIRECT_SILENCE_SECS, ELEVATION_ANSWER_SECS, ELEVATION_LAST_WORDS_SECS};
use crate::model::sink::{Sink, Stream};
use crate::operation::elevate::Elevated;
use crate::operation::elevate::gate::{Cue, Gate, Seen};
use crate::operation::elevate::stopper::{Stopper, password_line};

/// What stands between the request and a command with other rights.
pub(super) struct Threshold<'a> {
    gate: Gate,
    elevated: Elevated,
    terminal: Terminal,
    /// How long the start program may take, once it is its turn.
    program_within: Option<Duration>,
    hung_up: bool,
    stop: Option<Stop<'a>>,
}

/// The second channel.
struct Stop<'a> {
    orders: mpsc::UnboundedSender<StopSignal>,
    is_gone: Arc<AtomicBool>,
    work: Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
}

impl Threshold<'_> {
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let (elevated, nonce) = (plan.elevated.clone()?, plan.nonce.as_deref()?);
        let gate = Gate::new(&elevated, nonce);
        Some(Self { gate, elevated, terminal: plan.terminal, program_within: None, hung_up: false, stop: None })
    }

    /// Works for the second channel, for as long as there is one.
    pub(super) async fn stopped(threshold: &mut Option<Self>) {
        let work = threshold.as_mut().and_then(|threshold| threshold.stop.as_mut()).map(|stop| &mut stop.work);
        match work {
            Some(slot @ Some(_)) => {
                if let Some(work) = slot {
                    work.await;
                }
                *slot = None;
            }
            _ => std::future::pending().await,
        }
    }
}

impl<S: Sink> Runner<'_, S> {
    /// What of this output is for the rest of the run.
    pub(super) async fn past_threshold(&mut self, stream: Stream, data: Bytes) -> Bytes {
        let Some(threshold) = self.threshold.as_mut().filter(|threshold| !threshold.gate.is_open()) else {
            return data;
        };
        let before = threshold.gate.has_begun();
        let seen = threshold.gate.see(stream, data);
        let begins = !before && threshold.gate.has_begun();
        if begins || seen.cues.iter().any(|cue| matches!(cue, Cue::Answer(_))) {
            self.answer_within = Some(Duration::from_secs(ELEVATION_ANSWER_SECS));
            self.await_answer();
        }
        if self.waits_for_second_prompt() && self.answer_within != Some(Duration::from_secs(DIRECT_SILENCE_SECS)) {
            self.answer_within = Some(Duration::from_secs(DIRECT_SILENCE_SECS));
            self.await_answer();
        }
        self.follow_cues(seen).await
    }

    async fn follow_cues(&mut self, seen: Seen) -> Bytes {
        for (stream, noise) in seen.noise {
            self.hold(stream, noise);
        }
        for cue in seen.cues {
            match cue {
                Cue::Answer(password) => self.tell(Due::Line(password_line(&password))),
                Cue::HangUp => self.hang_up(),
                Cue::Open if self.scanner.is_some() => {
                    self.tell(Due::Program);
                    self.answer_within = self.threshold.as_ref().and_then(|threshold| threshold.program_within);
                    self.await_answer();
                }
                Cue::Open => {
                    self.tell(Due::Input);
                    self.answer_within = None;
                    self.answer = None;
                    self.release().await;
                }
            }
        }
        seen.rest
    }

    /// The program gets no more answers. Without a terminal it sees the end of its input, and may still say something.
    fn hang_up(&mut self) {
        let Some(threshold) = &mut self.threshold else { return };
        if threshold.hung_up || threshold.terminal != Terminal::No {
            self.facts.ending = Ending::GaveUp;
            return;
        }
        threshold.hung_up = true;
        self.tell(Due::End);
        self.answer_within = Some(Duration::from_secs(ELEVATION_LAST_WORDS_SECS));
        self.await_answer();
    }

    /// Nothing was said for too long.
    pub(super) async fn unheard(&mut self) {
        match &mut self.threshold {
            Some(threshold) if threshold.gate.waits_for_second_prompt() => {
                let seen = threshold.gate.presume_open();
                self.follow_cues(seen).await;
            }
            Some(threshold) if !threshold.gate.is_open() => self.hang_up(),
            _ => self.facts.ending = Ending::GaveUp,
        }
    }

    fn waits_for_second_prompt(&self) -> bool {
        self.threshold.as_ref().is_some_and(|threshold| threshold.gate.waits_for_second_prompt())
    }

    /// What the start program may take, for when it is its turn.
    pub(super) fn answers_after_threshold(&mut self) {
        if let Some(threshold) = &mut self.threshold {
            threshold.program_within = self.answer_within;
        }
    }

    /// The rights were not given yet: nothing needs to be stopped.
    pub(super) fn turn_back(&self) -> bool {
        self.threshold.as_ref().is_some_and(|threshold| !threshold.gate.is_open() && !self.waits_for_second_prompt())
    }

    /// The command is being stopped with its own rights, whatever became of the program that gave them.
    pub(super) fn stops_elevated(&self) -> bool {
        self.threshold.as_ref().is_some_and(|threshold| threshold.stop.is_some())
    }

    /// Signals a command with other rights. True: sshd is to be asked for the signal too, since there is no second
    /// channel (any more). That reaches the program that gave the rights, which passes it on to the command, though not to what the command
    /// started; and never KILL, which would end it alone, and look like the command's end.
    pub(super) fn signal_elevated(&mut self, signal: StopSignal) -> bool {
        let session = self.session;
        let Some(threshold) = &mut self.threshold else { return true };
        if threshold.stop.is_none()
            && let Some(place) = threshold.gate.place()
        {
            let (orders, signals) = mpsc::unbounded_channel();
            let is_gone = Arc::new(AtomicBool::new(false));
            let terminal = threshold.terminal != Terminal::No;
            let stopper = Stopper { elevated: threshold.elevated.clone(), place, terminal };
            let work = stopper.run(session, signals, Arc::clone(&is_gone));
            threshold.stop = Some(Stop { orders, is_gone, work: Some(Box::pin(work)) });
        }
        let works = threshold.stop.as_ref().is_some_and(|stop| {
            // One that is over takes none.
            let _ = stop.orders.send(signal);
            stop.work.is_some()
        });
        signal != StopSignal::Kill && !works
    }

    /// The second channel still works at it: the end of the program that gave the rights is not the end.
    pub(super) fn is_being_stopped(&self) -> bool {
        let stop = self.threshold.as_ref().and_then(|threshold| threshold.stop.as_ref());
        stop.is_some_and(|stop| stop.work.is_some())
    }

    /// It is not seen to be gone: what sshd can do is all that is left.
    pub(super) fn is_out_of_reach(&self) -> bool {
        let stop = self.threshold.as_ref().and_then(|threshold| threshold.stop.as_ref());
        stop.is_some_and(|stop| !stop.is_gone.load(Ordering::Relaxed))
    }

    /// Writes down what the threshold knows.
    pub(super) fn leave(&mut self) {
        if let Some(threshold) = self.threshold.take() {
            self.facts.group_gone = threshold.stop.is_some_and(|stop| stop.is_gone.load(Ordering::Relaxed));
            self.facts.dialogue = Some(threshold.gate.end());
        }
    }
}
