//! `ops resolve`: a person's word on an operation that nobody can know the end of.
//!
//! The host is asked first, and whatever it knows is worth more. A verdict is on the host before it is here, so that a call that breaks
//! off between the two can be repeated.

use std::path::Path;

use super::outcome::conclude;
use super::record::Record;
use super::scene::{Scene, is_unseen};
use crate::errors::Fault;
use crate::flow::trip::Trip;
use crate::journal::{Completion, Resolution, Standing, StreamDigest};
use crate::model::operation::Origin;
use crate::model::ops::{Verdict, VerdictWord};
use crate::model::outcome::Warning;
use crate::model::sink::Sink;
use crate::operation::durable::request::{Request, Resolution as Word};
use crate::operation::durable::wire::{End, Fence, Life, Settled, State};

/// What the host knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knows {
    /// How it ended.
    End(End),
    /// It was cancelled before it started.
    Cancelled,
    /// What a person has said.
    Settled(Settled),
    /// It has not started, and never will.
    Closed,
    /// It runs.
    Runs(&'static str),
    /// Nothing that would keep a person from deciding.
    Nothing,
}

fn knows(state: &State) -> Knows {
    match (state.end, state.settled) {
        (Some(end), settled) if end.flags.operator => {
            return Knows::Settled(settled.unwrap_or(Settled::Done(end.status.unwrap_or_default())));
        }
        (Some(end), _) if end.status.is_some() => return Knows::End(end),
        (_, Some(settled)) => return Knows::Settled(settled),
        _ => {}
    }
    match state.life {
        Life::Running => Knows::Runs("it runs"),
        Life::Orphan => Knows::Runs("something of it still runs"),
        Life::Fenced if state.fence == Some(Fence::Cancelled) => Knows::Cancelled,
        Life::Fenced => Knows::Closed,
        Life::None | Life::Dead | Life::Foreign | Life::Done => Knows::Nothing,
    }
}

/// By our own record: true where the outcome is known, and was told; an error where a person has decided before.
pub(super) fn is_decided<S: Sink>(trip: &mut Trip<'_, S>, record: &Record, verdict: &Verdict) -> Result<bool, Fault> {
    match &record.standing {
        Standing::None if verdict.word == VerdictWord::Abandoned => {
            Err(Fault::OpNotFound { key: record.id.key.to_string() })
        }
        Standing::None | Standing::Open(_) => Ok(false),
        Standing::Damaged { problem } => Err(Fault::JournalUnwritable { problem: format!("it is damaged: {problem}") }),
        Standing::Completed(replay) if replay.origin != Origin::Operator => {
            let Ok(completion) = Completion::from_output(&replay.output) else {
                let problem = "the outcome was recorded by another version".to_owned();
                return Err(Fault::JournalUnwritable { problem });
            };
            trip.warn(by_itself());
            conclude(trip, &completion).map(|()| true)
        }
        Standing::Completed(_) | Standing::NotDone(_) | Standing::Abandoned(_) => Err(record.already_resolved()),
    }
}

/// Only who gives it up need not have asked the host.
pub(super) fn may_be_unseen(verdict: &Verdict, fault: &Fault) -> bool {
    verdict.word == VerdictWord::Abandoned && is_unseen(fault)
}

pub(super) fn by_itself() -> Warning {
    let message = "the operation has an outcome of its own, which is worth more than a verdict: it is what is told";
    Warning::new("resolved_by_itself", message)
}

impl<S: Sink> Scene<'_, '_, S> {
    pub(super) async fn resolve(&mut self, verdict: &Verdict, state_dir: Option<&Path>) -> Result<(), Fault> {
        self.find().await?;
        self.refuse_unknown()?;
        self.refuse_another()?;
        let mut said = false;
        loop {
            match (knows(&self.state), verdict.word) {
                (Knows::End(end), _) => return self.own_outcome(&end, state_dir).await,
                (Knows::Cancelled, _) => {
                    self.trip.warn(by_itself());
                    return Err(Fault::CancelledBeforeStart);
                }
                (Knows::Settled(settled), word) => return self.settled(settled, word, said, verdict),
                (Knows::Closed, VerdictWord::NotDone) => {
                    return self.settled(Settled::NotDone, verdict.word, true, verdict);
                }
                (Knows::Runs(_), VerdictWord::Abandoned) => {
                    self.trip.warn(Warning::new("still_running", "the operation still runs, and goes on"));
                    return self.recorded(Resolution::Abandoned, verdict);
                }
                (Knows::Runs(how), _) => return Err(Fault::ResolveRefused { state: how.to_owned() }),
                (Knows::Closed | Knows::Nothing, VerdictWord::Abandoned) => {
                    return self.recorded(Resolution::Abandoned, verdict);
                }
                (Knows::Closed | Knows::Nothing, _) if said => {
                    return Err(Fault::ResolveRefused { state: "the host did not take it".to_owned() });
                }
                (Knows::Nothing, VerdictWord::NotDone) => self.say(Word::NotDone).await?,
                (Knows::Closed | Knows::Nothing, VerdictWord::Done(status)) => self.say(Word::Done(status)).await?,
            }
            said = true;
        }
    }

    /// Tells the host.
    async fn say(&mut self, resolution: Word) -> Result<(), Fault> {
        let generation = self.state.generation;
        match self.do_ask(Request::Resolve { generation, resolution }).await? {
            None => Ok(()),
            Some(why) if why == "foreign" => Err(Fault::ResolveRefused { state: "it runs on another node".to_owned() }),
            // What it stands for came with the refusal, and is judged next.
            Some(why) => {
                log::info!("the host refused the verdict: {why}");
                Ok(())
            }
        }
    }

    /// The host has a person's word. `said`: ours, as far as we know.
    fn settled(&mut self, there: Settled, word: VerdictWord, said: bool, verdict: &Verdict) -> Result<(), Fault> {
        let (agrees, resolution) = match there {
            Settled::NotDone => (word == VerdictWord::NotDone, Resolution::NotDone),
            Settled::Done(status) => {
                let output = self.done_with(status).to_output();
                (word == VerdictWord::Done(status), Resolution::Done(output))
            }
        };
        if agrees && (said || self.record.is_open()) {
            return self.recorded(resolution, verdict);
        }
        let how = match there {
            Settled::NotDone => "it was not done".to_owned(),
            Settled::Done(status) => format!("it was done, with status {status}"),
        };
        if self.record.is_open() {
            let note = Some("recorded on the host by `ops resolve`".to_owned());
            self.record.resolve(self.generation(), resolution, note)?;
            self.tell();
        }
        Err(Fault::OpAlreadyResolved { key: self.record.id.key.to_string(), verdict: how })
    }

    /// What is told from now on.
    fn done_with(&self, status: u8) -> Completion {
        let stream = |bytes, truncated| StreamDigest { bytes, truncated, sha256: None, spool: None };
        let end = self.state.end.filter(|end| end.flags.lost);
        let flags = end.map(|end| end.flags).unwrap_or_default();
        Completion {
            remote_exit: status,
            cancelled: false,
            timed_out: false,
            held_open: false,
            stdout: stream(end.map_or(0, |end| end.out), flags.out_cut),
            stderr: stream(end.map_or(0, |end| end.err), flags.err_cut),
        }
    }

    /// Puts the verdict into our own record, where there is one.
    fn recorded(&mut self, resolution: Resolution, verdict: &Verdict) -> Result<(), Fault> {
        let generation = self.generation();
        self.record.resolve(generation, resolution, verdict.note.clone())?;
        self.tell();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::durable::wire::Flags;

    fn state(life: Life) -> State {
        State { generation: 1, life, gate: None, end: None, fence: None, settled: None, acknowledged: false }
    }

    #[test]
    fn an_end_that_was_seen_is_worth_more_than_a_word() {
        let ended = |status: Option<u8>, flags| {
            let end = End { status, out: 0, err: 0, flags };
            (end, State { end: Some(end), ..state(Life::Done) })
        };
        let (end, done) = ended(Some(3), Flags::default());
        assert_eq!(knows(&done), Knows::End(end));
        // A word that came too late for it.
        assert_eq!(knows(&State { settled: Some(Settled::Done(0)), ..done }), Knows::End(end));
        let (_, lost) = ended(None, Flags { lost: true, ..Flags::default() });
        assert_eq!(knows(&lost), Knows::Nothing);
        let (_, by_word) = ended(Some(3), Flags { operator: true, ..Flags::default() });
        assert_eq!(knows(&by_word), Knows::Settled(Settled::Done(3)));
        let settled = State { settled: Some(Settled::Done(7)), ..lost };
        assert_eq!(knows(&settled), Knows::Settled(Settled::Done(7)));
    }

    #[test]
    fn what_runs_or_never_will_is_no_matter_for_a_verdict() {
        let fenced = |fence| State { fence: Some(fence), ..state(Life::Fenced) };
        assert!(matches!(knows(&state(Life::Running)), Knows::Runs(_)));
        assert!(matches!(knows(&state(Life::Orphan)), Knows::Runs(_)));
        assert_eq!(knows(&fenced(Fence::Cancelled)), Knows::Cancelled);
        assert_eq!((knows(&fenced(Fence::Resolved)), knows(&fenced(Fence::Broken))), (Knows::Closed, Knows::Closed));
        for life in [Life::None, Life::Dead, Life::Foreign] {
            assert_eq!(knows(&state(life)), Knows::Nothing, "{life:?}");
        }
    }
}
