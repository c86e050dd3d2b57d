//! A keyed operation, from the request to the verdict: what our own record says, what the host says, and what follows from both.
//!
//! | file | what it is |
//! |---|---|
//! | [`account`], [`material`] | whose operation it is, and what is sent for it |
//! | this file | our own record, asked before every attempt; attempts |
//! | [`visit`] | one conversation with the host: look, decide, start or follow |
//! | [`launch`] | the start of a generation |
//! | [`greeting`] | how a conversation begins |
//! | [`host`] | what the host shows, in the words of the table |
//! | [`follow`], [`spool`] | its output, passed on and kept |
//! | [`settle`], [`outcome`] | how it ended, recorded and told |

pub(super) mod account;
pub(super) mod follow;
pub(super) mod greeting;
pub(super) mod host;
mod launch;
mod material;
pub(super) mod outcome;
pub(super) mod settle;
pub(super) mod spool;
mod visit;

use std::path::Path;

use tokio::sync::mpsc;
use tokio::time::Instant;

use self::follow::Passed;
use self::material::{Draft, Material};
use super::means::Means;
use super::prepare;
use super::trip::{Call as Reach, Ended, Trip, nonce, reach, unless_signalled};
use crate::connection::Progress;
use crate::errors::{Caught, Fault};
use crate::journal::decide::{Decision, Remote, Wait};
use crate::journal::{Answer, Call, Journal, Look, Step};
use crate::model::moment::Moment;
use crate::model::operation::{Generation, OperationFacts, OperationState};
use crate::model::outcome::{Outcome, Started};
use crate::model::request::{ExecRequest, KeyedOptions};
use crate::model::sink::Sink;
use crate::model::timing::Millis;
use crate::operation::elevate::Elevated;
use crate::operation::elevate::refusal::Asked;
use crate::target::secrets::SecretStore;

/// How many of the operations that have expired are taken out of the journal by one invocation.
const COLLECT_AT_MOST: usize = 8;

/// Runs one command as the operation that the key names: starts it, follows it, or tells what became of it.
pub(super) async fn keyed<S: Sink>(
    request: &ExecRequest,
    options: &KeyedOptions,
    state_dir: Option<&Path>,
    begun: Instant,
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
) -> Ended {
    let mut trip =
        Trip::new(&request.destination, (begun, request.connection.deadline), request.run.effect, sink, signals);
    trip.name_rights(request.run.elevation.as_ref());
    let mut keyed = Keyed { request, options, trip, wait: None, passed: Passed::default() };
    let fault = match state_dir {
        Some(state_dir) => keyed.go(state_dir).await.err(),
        None => Some(Fault::JournalUnwritable { problem: "there is no home directory to keep it in".to_owned() }),
    };
    let finished = &mut keyed.trip.finished;
    if fault.is_some() && finished.outcome == Outcome::NotStarted && finished.started != Started::No {
        finished.outcome = Outcome::Unknown;
    }
    keyed.trip.end(fault, begun)
}

/// One invocation.
struct Keyed<'a, S> {
    request: &'a ExecRequest,
    options: &'a KeyedOptions,
    trip: Trip<'a, S>,
    /// When `--wait` is over: counted from when there is something to wait for.
    wait: Option<Instant>,
    /// What of its output our caller has.
    passed: Passed,
}

/// What is the same for every attempt.
struct Ready<'r> {
    state_dir: &'r Path,
    reach: Reach,
    material: Material,
    elevated: Option<Elevated>,
    asked: Option<Asked>,
}

/// What one visit came to, where it is no fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visited {
    /// All is told.
    Told,
    /// Our own record has changed meanwhile: it is asked again.
    Overtaken,
}

impl<S: Sink> Keyed<'_, S> {
    /// The error is what the caller is told; everything else about the end is written down before.
    async fn go(&mut self, state_dir: &Path) -> Result<(), Fault> {
        let run = &self.request.run;
        if let Some(warning) = prepare::guard_stdin(&run.stdin)? {
            self.trip.warn(warning);
        }
        if let Some(warning) = prepare::command_warnings(run) {
            self.trip.warn(warning);
        }
        outcome::refuse_file_name(self.options.key.as_str())?;
        let target = self.trip.resolve(&self.request.destination, &self.request.connection).await?;
        let draft = self.trip.local(Draft::read(run)).await?;
        let call = Call {
            operation: account::operation(&target, run.elevation.as_ref(), &self.options.key),
            fingerprint: draft.fingerprint.clone(),
            effect: run.effect,
            command: draft.shown.clone(),
        };
        self.trip.finished.operation = Some(unknown(&call));
        let mut journal = Journal::open(state_dir)?;
        if self.ask(&mut journal, &call, state_dir).await?.is_none() {
            return Ok(());
        }
        collect(&mut journal, state_dir);
        let ready = self.ready(state_dir, target, draft).await?;
        loop {
            let attempt = self.trip.begin_attempt();
            self.passed = self.passed.again(self.trip.sink.is_spent());
            let Some(look) = self.ask(&mut journal, &call, state_dir).await? else { return Ok(()) };
            let fault = match self.attempt(&mut journal, &call, look, &ready).await {
                Ok(Visited::Told) => return Ok(()),
                Ok(Visited::Overtaken) => continue,
                Err(fault) => fault,
            };
            self.trip.looks_again(fault, attempt, self.request.retry).await?;
        }
    }

    /// What our own record says: the right to look at the host, or everything that there is to tell. What is meant is on disk
    /// when this returns.
    async fn ask<'c>(
        &mut self,
        journal: &mut Journal,
        call: &'c Call,
        state_dir: &Path,
    ) -> Result<Option<Look<'c>>, Fault> {
        let mut answer = journal.ask(call)?;
        loop {
            answer = match answer {
                Answer::Look(look) => {
                    self.remember(&look);
                    return Ok(Some(look));
                }
                Answer::Replay(replay) => {
                    self.replay(&replay, call, state_dir).await?;
                    return Ok(None);
                }
                Answer::Conflict(fault) | Answer::Retired(fault) => return Err(fault),
                Answer::Permit(permit) => {
                    let equal = if self.options.dedupe { journal.find_equal(call)? } else { None };
                    if let Some(equal) = equal {
                        journal.commit(&permit.record_deduplicated(equal.output, equal.origin))?;
                        journal.ask(call)?
                    } else {
                        match permit.commit_intent(journal)? {
                            Step::Taken(committed) => {
                                let look = committed.into_look();
                                self.remember(&look);
                                return Ok(Some(look));
                            }
                            Step::Overtaken(answer) => answer,
                        }
                    }
                }
            };
        }
    }

    /// What is known before anybody was called in this attempt.
    fn remember(&mut self, look: &Look<'_>) {
        let before = look.decide(None, Remote::NotReached, Wait::Open, Moment::now());
        let started = match before {
            Decision::Unreached(started) => started,
            _ => Started::Unknown,
        };
        let finished = &mut self.trip.finished;
        finished.started = finished.started.or_earlier(started);
        let generation = look.generation().unwrap_or(Generation::FIRST);
        self.tell(|facts| {
            facts.generation = generation;
            if started != Started::No {
                facts.state = OperationState::Cut;
            }
        });
    }

    /// Changes what is told of the operation.
    fn tell(&mut self, change: impl FnOnce(&mut OperationFacts)) {
        if let Some(facts) = &mut self.trip.finished.operation {
            change(facts);
        }
    }

    /// The local part: keys, secrets and sources are read before anybody is called.
    async fn ready<'r>(
        &mut self,
        state_dir: &'r Path,
        target: crate::target::Target,
        draft: Draft<'_>,
    ) -> Result<Ready<'r>, Fault> {
        let secrets = SecretStore::new();
        let stop_nonce = nonce();
        let means = Means::read(self.request.run.elevation.as_ref(), &target.user, &secrets, &stop_nonce);
        let Means { elevated, asked } = self.trip.local(means).await?;
        let material = self.trip.local(draft.finish(&self.options.key, &secrets)).await?;
        let reach = self.trip.call(target, secrets).await?;
        Ok(Ready { state_dir, reach, material, elevated, asked })
    }

    async fn attempt<'c>(
        &mut self,
        journal: &mut Journal,
        call: &'c Call,
        look: Look<'c>,
        ready: &Ready<'_>,
    ) -> Result<Visited, Fault> {
        let mut progress = Progress::default();
        let mut patience = ready.reach.patience();
        // On the heap: what authentication may need is large, and most runs need little of it.
        let reaching = Box::pin(reach(&ready.reach, &mut patience, &mut progress));
        let reached = unless_signalled(self.trip.signals, reaching).await;
        self.trip.learn(&progress);
        let (session, channel, clock) = reached?;
        let host_key = progress.link.host_key_seen().map(|seen| seen.shown).unwrap_or_default();
        let visited = visit::visit(self, journal, call, look, ready, (&session, channel, host_key)).await;
        self.trip.finished.timing.run = Some(Millis(clock.elapsed()));
        session.leave().await;
        visited
    }
}

/// Takes out of the journal what no host remembers any more.
fn collect(journal: &mut Journal, state_dir: &Path) {
    match journal.collect(Moment::now(), COLLECT_AT_MOST) {
        Ok(collected) => spool::remove(state_dir, &collected.spools),
        Err(fault) => log::info!("what has expired stays in the journal: {fault}"),
    }
}

/// What is told of it before anything is known.
fn unknown(call: &Call) -> OperationFacts {
    OperationFacts {
        key: call.operation.key.clone(),
        generation: Generation::FIRST,
        attempt: None,
        fingerprint: Some(call.fingerprint.clone()),
        state: OperationState::Refused,
        replayed: false,
        attached: false,
        completed_at: None,
        origin: None,
        remote_exit_known: None,
        isolation: None,
        evidence: None,
    }
}
