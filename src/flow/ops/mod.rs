//! `ops`: what is known of keyed operations, and what a person decides about one. Nothing is started here.
//!
//! | file | what it is |
//! |---|---|
//! | [`list`], [`collect`] | what takes our own record alone |
//! | this file | one operation: our own record of it, then attempts to reach its host |
//! | [`record`] | our own record of it |
//! | [`scene`] | one conversation with the host: its newest generation |
//! | [`facts`] | both, as they are told |
//! | [`cancel`], [`resolve`], [`outcome`] | what is done about it |

mod cancel;
mod collect;
mod facts;
mod list;
mod outcome;
mod record;
mod resolve;
mod scene;
mod show;

use std::path::Path;

use tokio::sync::mpsc;
use tokio::time::Instant;

use self::record::Record;
use self::scene::Scene;
use super::keyed::account;
use super::means::Means;
use super::trip::{Call as Reach, Channel, Ended, Trip, nonce, reach, unless_signalled};
use crate::connection::{Progress, Session};
use crate::errors::{Caught, Fault, clean};
use crate::journal::Resolution;
use crate::model::operation::OperationListing;
use crate::model::ops::{OpsCall, OpsRequest, Verdict};
use crate::model::outcome::{Class, Outcome, Phase, Started, Warning};
use crate::model::sink::Sink;
use crate::model::timing::Millis;
use crate::operation::elevate::Elevated;
use crate::operation::elevate::refusal::Asked;
use crate::target::Target;
use crate::target::secrets::SecretStore;

/// What our own record alone answers.
type Told = (Vec<OperationListing>, Vec<Warning>);

/// Does what is asked about operations. `state_dir`: where the journal is; none without a home.
pub async fn ops<S: Sink>(
    request: &OpsRequest,
    state_dir: Option<&Path>,
    begun: Instant,
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
) -> Ended {
    let (call, verb) = match request {
        OpsRequest::List => return here(list::list(state_dir), request, begun, sink, signals),
        OpsRequest::Collect => return here(collect::collect(state_dir), request, begun, sink, signals),
        OpsRequest::Show(call) => (call, Verb::Show),
        OpsRequest::Cancel(call) => (call, Verb::Cancel),
        OpsRequest::Resolve(call, verdict) => (call, Verb::Resolve(verdict)),
    };
    let limits = (begun, call.connection.deadline);
    let mut trip = Trip::new(&call.destination, limits, request.effect(), sink, signals);
    trip.name_rights(call.elevation.as_ref());
    let mut errand = Errand { call, verb, state_dir, trip, met: false };
    let result = errand.go().await;
    let finished = &mut errand.trip.finished;
    match &result {
        Ok(()) => finished.outcome = Outcome::Succeeded,
        // What became of the operation is what is told.
        Err(_) if finished.outcome != Outcome::NotStarted => {}
        Err(_) if finished.started == Started::No => {}
        Err(fault) => {
            finished.outcome = match fault.row().class {
                Class::Transient | Class::Unknown => Outcome::Unknown,
                Class::Permanent | Class::Remote | Class::Cancelled => Outcome::Failed,
            }
        }
    }
    errand.trip.end(result.err(), begun)
}

/// What took no connection.
fn here<S: Sink>(
    told: Result<Told, Fault>,
    request: &OpsRequest,
    begun: Instant,
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
) -> Ended {
    let mut trip = Trip::new("", (begun, None), request.effect(), sink, signals);
    let fault = match told {
        Ok((operations, warnings)) => {
            trip.warn_all(warnings);
            trip.finished.ops = Some(operations);
            trip.finished.outcome = Outcome::Succeeded;
            None
        }
        Err(fault) => Some(fault),
    };
    trip.end(fault, begun)
}

/// What is asked about one operation.
#[derive(Clone, Copy, Debug)]
enum Verb<'a> {
    Show,
    Cancel,
    Resolve(&'a Verdict),
}

/// One invocation about one operation.
struct Errand<'a, S> {
    call: &'a OpsCall,
    verb: Verb<'a>,
    state_dir: Option<&'a Path>,
    trip: Trip<'a, S>,
    /// The host has answered as one that keeps receipts.
    met: bool,
}

/// What is the same for every attempt.
struct Ready {
    reach: Reach,
    elevated: Option<Elevated>,
    asked: Option<Asked>,
}

impl<S: Sink> Errand<'_, S> {
    async fn go(&mut self) -> Result<(), Fault> {
        let target = self.trip.resolve(&self.call.destination, &self.call.connection).await?;
        let id = account::operation(&target, self.call.elevation.as_ref(), &self.call.key);
        let mut record = Record::open(self.state_dir, id)?;
        facts::tell(&mut self.trip, &mut record, None);
        let is_answered = match self.verb {
            Verb::Show => false,
            Verb::Cancel => cancel::is_over(&mut self.trip, &record),
            Verb::Resolve(verdict) => resolve::is_decided(&mut self.trip, &record, verdict)?,
        };
        if is_answered {
            return Ok(());
        }
        let visited = self.visit(target, &mut record).await;
        match (visited, self.verb) {
            (Err(fault), Verb::Resolve(verdict)) if !self.met && resolve::may_be_unseen(verdict, &fault) => {
                let message = format!("the host was not looked at: {fault}");
                self.trip.warn(Warning::new("host_not_seen", clean(&message)));
                let generation = record.generation();
                record.resolve(generation, Resolution::Abandoned, verdict.note.clone())?;
                facts::tell(&mut self.trip, &mut record, None);
                Ok(())
            }
            (visited, _) => visited,
        }
    }

    /// Reaches the host, as often as the caller allows.
    async fn visit(&mut self, target: Target, record: &mut Record) -> Result<(), Fault> {
        let ready = self.ready(target).await?;
        loop {
            let attempt = self.trip.begin_attempt();
            let Err(fault) = self.attempt(&ready, record).await else { return Ok(()) };
            self.trip.looks_again(fault, attempt, self.call.retry).await?;
        }
    }

    /// The local part: secrets and keys are read before anybody is called.
    async fn ready(&mut self, target: Target) -> Result<Ready, Fault> {
        let secrets = SecretStore::new();
        let stop_nonce = nonce();
        let means = Means::read(self.call.elevation.as_ref(), &target.user, &secrets, &stop_nonce);
        let Means { elevated, asked } = self.trip.local(means).await?;
        let reach = self.trip.call(target, secrets).await?;
        Ok(Ready { reach, elevated, asked })
    }

    async fn attempt(&mut self, ready: &Ready, record: &mut Record) -> Result<(), Fault> {
        let mut progress = Progress::default();
        let mut patience = ready.reach.patience();
        // On the heap: what authentication may need is large.
        let reaching = Box::pin(reach(&ready.reach, &mut patience, &mut progress));
        let reached = unless_signalled(self.trip.signals, reaching).await;
        self.trip.learn(&progress);
        let (session, channel, clock) = reached?;
        let host_key = progress.link.host_key_seen().map(|seen| seen.shown).unwrap_or_default();
        let done = self.act(ready, record, (&session, channel, host_key)).await;
        self.trip.finished.timing.run = Some(Millis(clock.elapsed()));
        session.close().await;
        done
    }

    async fn act(
        &mut self,
        ready: &Ready,
        record: &mut Record,
        reached: (&Session, Channel, String),
    ) -> Result<(), Fault> {
        let mut scene = Scene::begin(&mut self.trip, record, ready, reached).await?;
        self.met = true;
        let done = match self.verb {
            Verb::Show => scene.show().await,
            Verb::Cancel => scene.cancel().await,
            Verb::Resolve(verdict) => scene.resolve(verdict, self.state_dir).await,
        };
        scene.end();
        done
    }
}

/// The fault is one of the way there, and not of ours.
const fn is_of_the_way(phase: Phase) -> bool {
    !matches!(phase, Phase::Usage | Phase::Config | Phase::Local | Phase::Transfer)
}
