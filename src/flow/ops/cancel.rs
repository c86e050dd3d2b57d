//! `ops cancel`: what runs is ended, and what has not started never will.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::record::Record;
use super::scene::Scene;
use crate::constants::SIGNAL_GRACE_MS;
use crate::effect::Effect;
use crate::errors::Fault;
use crate::flow::trip::{Trip, unless_signalled};
use crate::journal::Standing;
use crate::model::outcome::{Started, Warning};
use crate::model::sink::Sink;
use crate::operation::durable::request::Request;
use crate::operation::durable::wire::{Fence, Life, Settled, State};

/// How long its end may take to be published, after the signals.
const END_WITHIN: Duration = Duration::from_secs(10);
/// How often it is asked for until then.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// Nothing: it is over, and its outcome is known.
    Over,
    /// Nothing: it is over, and nobody knows how it ended.
    Lost,
    /// Nothing: it can start no more.
    Closed,
    /// This generation is ended, or closed.
    Cancel,
    /// This one is over, and the same line would start the next: that is closed.
    CancelNext,
}

/// By our own record it is over; nobody has to be asked.
pub(super) fn is_over<S: Sink>(trip: &mut Trip<'_, S>, record: &Record) -> bool {
    let is_over = matches!(record.standing, Standing::Completed(_));
    if is_over {
        trip.warn(already_done());
    }
    is_over
}

fn already_done() -> Warning {
    Warning::new("already_done", "the operation was over already: it stays as it is")
}

/// What the state of the newest generation asks for.
fn course(state: &State, effect: Effect) -> Course {
    match (state.settled, state.life) {
        (Some(Settled::Done(_)), _) => Course::Over,
        (None, Life::Done) if state.end.is_some_and(|end| end.status.is_some()) => Course::Over,
        (None, Life::Fenced) if state.fence == Some(Fence::Cancelled) => Course::Closed,
        (Some(Settled::NotDone), _) | (None, Life::Fenced) => Course::CancelNext,
        (None, Life::None | Life::Running | Life::Orphan | Life::Foreign) => Course::Cancel,
        (None, Life::Done | Life::Dead) => match effect {
            Effect::Read | Effect::Idempotent => Course::CancelNext,
            Effect::Write => Course::Lost,
        },
    }
}

impl<S: Sink> Scene<'_, '_, S> {
    pub(super) async fn cancel(&mut self) -> Result<(), Fault> {
        self.find().await?;
        self.refuse_unknown()?;
        self.refuse_another()?;
        let effect = self.record.listing.effect.unwrap_or(Effect::Write);
        let generation = self.state.generation;
        let generation = match course(&self.state, effect) {
            Course::Over => {
                self.trip.warn(already_done());
                return Ok(());
            }
            Course::Lost => {
                self.trip.warn(status_lost());
                return Ok(());
            }
            Course::Closed => return Ok(()),
            Course::Cancel => generation,
            Course::CancelNext => generation.saturating_add(1),
        };
        let refused =
            self.do_ask(Request::Cancel { generation, grace: Duration::from_millis(SIGNAL_GRACE_MS) }).await?;
        if refused.is_some() {
            return Err(Fault::CancelRefused);
        }
        self.see_its_end().await
    }

    async fn see_its_end(&mut self) -> Result<(), Fault> {
        let until = Instant::now() + END_WITHIN;
        loop {
            match self.state.life {
                Life::Running | Life::Orphan | Life::Foreign if Instant::now() < until => {}
                Life::Running | Life::Orphan => return Err(unconfirmed("it runs on")),
                Life::Foreign => return Err(unconfirmed("it belongs to another node, which has not answered")),
                Life::Fenced => return Ok(()),
                Life::Done | Life::Dead | Life::None => break,
            }
            unless_signalled(self.trip.signals, async {
                sleep(LOOK_EVERY).await;
                Ok(())
            })
            .await?;
            self.ask(Request::State { generation: self.state.generation }).await?;
            self.tell();
        }
        match self.state.end {
            Some(end) if end.status.is_none() => self.trip.warn(status_lost()),
            Some(end) if !end.flags.cancelled => self.trip.warn(already_done()),
            Some(_) => {}
            None => self.trip.warn(status_lost()),
        }
        self.trip.finished.started = Started::Yes;
        Ok(())
    }
}

fn status_lost() -> Warning {
    let message = "nothing of the operation runs any more, and nobody saw how it ended: `ssh-cli ops resolve` says what became of it";
    Warning::new("exit_status_lost", message)
}

fn unconfirmed(state: &str) -> Fault {
    Fault::CancelUnconfirmed { state: state.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::durable::wire::{End, Flags};

    fn state(life: Life) -> State {
        State { generation: 1, life, gate: None, end: None, fence: None, settled: None, acknowledged: false }
    }

    fn ended(status: Option<u8>) -> State {
        let flags = Flags { lost: status.is_none(), ..Flags::default() };
        State { end: Some(End { status, out: 0, err: 0, flags }), ..state(Life::Done) }
    }

    #[test]
    fn each_state_has_its_course() {
        let fenced = |fence| State { fence: Some(fence), ..state(Life::Fenced) };
        let settled = |settled| State { settled: Some(settled), ..state(Life::Dead) };
        for (state, write, read) in [
            (state(Life::None), Course::Cancel, Course::Cancel),
            (state(Life::Running), Course::Cancel, Course::Cancel),
            (state(Life::Orphan), Course::Cancel, Course::Cancel),
            (state(Life::Foreign), Course::Cancel, Course::Cancel),
            (state(Life::Dead), Course::Lost, Course::CancelNext),
            (ended(None), Course::Lost, Course::CancelNext),
            (ended(Some(0)), Course::Over, Course::Over),
            (fenced(Fence::Cancelled), Course::Closed, Course::Closed),
            (fenced(Fence::Resolved), Course::CancelNext, Course::CancelNext),
            (fenced(Fence::Broken), Course::CancelNext, Course::CancelNext),
            (settled(Settled::NotDone), Course::CancelNext, Course::CancelNext),
            (settled(Settled::Done(0)), Course::Over, Course::Over),
        ] {
            assert_eq!(course(&state, Effect::Write), write, "{state:?}");
            assert_eq!(course(&state, Effect::Read), read, "{state:?}");
            assert_eq!(course(&state, Effect::Idempotent), read, "{state:?}");
        }
    }
}
