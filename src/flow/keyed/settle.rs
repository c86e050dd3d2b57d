//! How an operation ended: recorded once, and told in the same way to everybody who asks.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use super::visit::Visit;
use super::{Keyed, host, outcome, spool};
use crate::errors::{Caught, Fault};
use crate::journal::{Answer, Call, Commit, Completion, Journal, Look, Replay, Resolution};
use crate::model::operation::{AttemptId, DedupOrigin, Generation, OperationState, Origin};
use crate::model::outcome::{Outcome, Started, Warning};
use crate::model::sink::Sink;
use crate::operation::durable::request::Request;
use crate::operation::durable::talk::Said;
use crate::operation::durable::wire::{End, Event};

/// How long we wait to hear that the host knows what it need not keep any more: enough where it is near, and no round trip where
/// it is far. It is told in any case.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_millis(50);

impl<S: Sink> Keyed<'_, S> {
    /// Tells what is recorded. Nobody is contacted.
    pub(super) async fn replay(&mut self, replay: &Replay, call: &Call, state_dir: &Path) -> Result<(), Fault> {
        let Ok(completion) = Completion::from_output(&replay.output) else {
            let problem = format!("the completion of `{}` was recorded by another version", call.operation.key);
            return Err(Fault::JournalUnwritable { problem });
        };
        let told = spool::tell(state_dir, (&completion.stdout, &completion.stderr), self.trip.sink).await;
        if !told.map_err(|error| output_fault(&error))? {
            let message = "the output is not kept here any more; its status and its sizes are";
            self.trip.warn(Warning::new("output_expired", message));
        }
        self.tell(|facts| facts.replayed = true);
        let fault = self.conclude(&completion, Some(replay));
        if fault.is_some() {
            let message = "this is the stored outcome of an earlier call: to try again, use a new key";
            self.trip.warn(Warning::new("replayed_failure", message));
        }
        fault.map_or(Ok(()), Err)
    }

    /// Writes down what a completion says. `replay`: its record, where it could be recorded.
    fn conclude(&mut self, completion: &Completion, replay: Option<&Replay>) -> Option<Fault> {
        self.trip.warn_all(outcome::warnings(completion));
        let (outcome, state, fault) = outcome::judged(completion);
        let finished = &mut self.trip.finished;
        finished.outcome = outcome;
        finished.started = Started::Yes;
        finished.remote_exit = Some(u32::from(completion.remote_exit));
        finished.held_open = completion.held_open;
        self.tell(|facts| {
            facts.state = state;
            facts.remote_exit_known = Some(true);
            if let Some(replay) = replay {
                facts.generation = replay.open.generation;
                facts.completed_at = Some(replay.completed_at);
                facts.attempt = match &replay.origin {
                    Origin::Deduplicated(origin) => origin.attempt.clone(),
                    Origin::Executed | Origin::Operator => {
                        let last = || replay.open.dispatches.last().map(|(_, attempt, _)| attempt.clone());
                        replay.open.gate.clone().or_else(last)
                    }
                };
                facts.origin = Some(replay.origin.clone());
            }
        });
        fault
    }

    /// It goes on without us.
    pub(super) fn runs_on(&mut self) {
        self.trip.finished.outcome = Outcome::Running;
        self.tell(|facts| facts.state = OperationState::Running);
    }
}

impl<S: Sink> Visit<'_, '_, '_, S> {
    /// It ended, with a status: that is recorded, told, and acknowledged.
    pub(super) async fn complete(&mut self, generation: Generation, end: &End) -> Result<(), Fault> {
        let streams = if end.flags.expired {
            let message = "the output is not on the host any more; its status and its sizes are";
            self.keyed.trip.warn(Warning::new("output_expired", message));
            outcome::expired(end)
        } else {
            let name = outcome::spool_name(&self.call.operation, generation);
            let spool = self.spool.take().map_or_else(|| spool::Spool::begin(self.state_dir()), Ok)?;
            spool.keep(&name, (end.flags.out_cut, end.flags.err_cut))?
        };
        let Some(completion) = outcome::completion(end, streams) else {
            return Err(Fault::Internal { problem: "an end without a status was taken for a completion".to_owned() });
        };
        let replay = self.record(generation, end, &completion)?;
        let fault = self.keyed.conclude(&completion, replay.as_deref());
        if replay.is_some() {
            self.acknowledge(generation).await;
        }
        fault.map_or(Ok(()), Err)
    }

    /// Puts it on disk. None where the journal cannot be trusted: then it is told, and will be fetched again.
    fn record(
        &mut self,
        generation: Generation,
        end: &End,
        completion: &Completion,
    ) -> Result<Option<Box<Replay>>, Fault> {
        match self.journal.ask(self.call)? {
            Answer::Look(look) if look.damage().is_some() => {
                let message = "the journal is damaged: the outcome was fetched and told, and could not be recorded";
                self.keyed.trip.warn(Warning::new("journal_damaged", message));
                return Ok(None);
            }
            Answer::Look(look) => {
                let holder = self.holder.as_deref();
                let committed = commit(self.journal, self.call, look, (generation, holder), end, completion)?;
                if committed == Commit::Overtaken {
                    log::info!("the operation was settled otherwise in the meantime");
                }
            }
            // Another process was quicker, and it saw the same.
            Answer::Replay(replay) => return Ok(Some(replay)),
            Answer::Conflict(fault) | Answer::Retired(fault) => return Err(fault),
            Answer::Permit(_) => return Ok(None),
        }
        match self.journal.ask(self.call)? {
            Answer::Replay(replay) => Ok(Some(replay)),
            _ => Ok(None),
        }
    }

    /// Says that the host need not keep it for us. Where that does not arrive, it keeps it longer.
    async fn acknowledge(&mut self, generation: Generation) {
        self.talk.say(&Request::Ack { generation: generation.0 });
        let heard = timeout(ACKNOWLEDGED_WITHIN, async {
            loop {
                match self.talk.next().await {
                    Ok(Said::Event(Event::Acked { .. })) => return true,
                    Ok(Said::Event(Event::Tick(_)) | Said::Data(..)) => {}
                    Ok(Said::Event(_)) | Err(_) => return false,
                }
            }
        });
        let heard = tokio::select! {
            biased;
            _ = self.keyed.trip.signals.recv() => false,
            heard = heard => heard.unwrap_or(false),
        };
        if heard && let Err(fault) = self.journal.acknowledge(&self.call.operation, generation) {
            log::info!("{fault}");
        }
    }
}

/// Records how a generation ended. `holder`: whose attempt had its gate.
pub(in crate::flow) fn commit(
    journal: &mut Journal,
    call: &Call,
    look: Look<'_>,
    (generation, holder): (Generation, Option<&str>),
    end: &End,
    completion: &Completion,
) -> Result<Commit, Fault> {
    let output = completion.to_output();
    let operation = &call.operation;
    if end.flags.operator {
        let note = Some("recorded on the host by `ops resolve`".to_owned());
        return journal.resolve(operation, generation, Resolution::Done(output), note);
    }
    let is_ours = holder.is_some_and(|attempt| host::is_ours(attempt, look.open()));
    let permit = look.permit(generation)?;
    let emitted = if is_ours {
        permit.record(output)
    } else {
        let attempt = holder.and_then(|attempt| attempt.parse::<AttemptId>().ok());
        let (target, key) = (operation.target.clone(), operation.key.clone());
        permit.record_deduplicated(output, DedupOrigin { target, key, seq: None, generation, attempt })
    };
    journal.commit(&emitted)
}

/// Our own output is broken.
pub(super) fn output_fault(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Fault::Interrupted { signal: Caught::Pipe, confirmed: None },
        _ => Fault::StdoutFailed { problem: error.to_string() },
    }
}
