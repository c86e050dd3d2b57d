//! One conversation with the host about one operation: look, decide, start or follow, until there is nothing more to do.

use std::path::Path;

use tokio::time::Instant;

use super::follow::{Followed, Until, follow, unexpected};
use super::greeting::{Greeting, greet, hear};
use super::host::{identity, remote, seen};
use super::settle::output_fault;
use super::spool::Spool;
use super::{Keyed, Ready, Visited};
use crate::connection::Session;
use crate::errors::Fault;
use crate::flow::prepare::nul;
use crate::flow::trip::{Channel, nonce};
use crate::journal::decide::{Decision, Failure, Receipt, Remote, Wait, Why};
use crate::journal::{Answer, Call, Journal, Look, key_hash};
use crate::model::moment::Moment;
use crate::model::operation::{Generation, HostIdentity, OperationState, Reason};
use crate::model::outcome::Started;
use crate::model::sink::Sink;
use crate::operation::durable::program::Prologue;
use crate::operation::durable::request::Request;
use crate::operation::durable::talk::{Over, Said, Talk};
use crate::operation::durable::wire::{End, Event, Flags, NoRoot, Settled, State};

/// A table that goes round and round on what a host says is not followed for ever.
const DECISIONS_AT_MOST: usize = 16;

/// One conversation.
pub(super) struct Visit<'v, 'a, 'c, S> {
    pub(super) keyed: &'v mut Keyed<'a, S>,
    pub(super) journal: &'v mut Journal,
    pub(super) call: &'c Call,
    pub(super) ready: &'v Ready<'v>,
    pub(super) talk: Talk<'v>,
    host_key: String,
    pub(super) host: Option<HostIdentity>,
    /// Whose attempt has the gate of the generation in question.
    pub(super) holder: Option<String>,
    /// The status that a person gave it, where nobody saw one.
    word: Option<u8>,
    /// The output of the generation in question, as far as it is here.
    pub(super) spool: Option<Spool>,
    /// What the host said that explains a refusal.
    pub(super) problem: String,
    /// It may have begun, for all that was known before this conversation.
    pub(super) before: Started,
}

/// What comes after a decision.
pub(super) enum Next {
    /// It is decided again, with this.
    Look(Remote),
    /// The end.
    Done(Visited),
}

/// Speaks with the host.
pub(super) async fn visit<'c, S: Sink>(
    keyed: &mut Keyed<'_, S>,
    journal: &mut Journal,
    call: &'c Call,
    look: Look<'c>,
    ready: &Ready<'_>,
    (session, channel, host_key): (&Session, Channel, String),
) -> Result<Visited, Fault> {
    let nonce = nonce();
    let key_hash = key_hash(&call.operation.key);
    let generation = look.generation().unwrap_or(Generation::FIRST);
    let prologue = Prologue { nonce: &nonce, key_hash: key_hash.as_str(), generation: generation.0 };
    let login = keyed.request.run.login;
    let elevated = ready.elevated.as_ref().map(|elevated| (elevated, login));
    let talk = Talk::begin(session, channel, &prologue, elevated).await.map_err(nul)?;
    let before = keyed.trip.finished.started;
    let mut visit = Visit {
        keyed,
        journal,
        call,
        ready,
        talk,
        host_key,
        host: None,
        holder: None,
        word: None,
        spool: None,
        problem: String::new(),
        before,
    };
    let visited = visit.speak(look).await;
    visit.talk.end();
    visited
}

impl<'c, S: Sink> Visit<'_, '_, 'c, S> {
    async fn speak(&mut self, look: Look<'c>) -> Result<Visited, Fault> {
        let mut remote = self.greet(&look).await?;
        let mut look = look;
        for _ in 0..DECISIONS_AT_MOST {
            let now = Moment::now();
            let wait = match self.keyed.wait {
                Some(at) if at <= Instant::now() => Wait::Over,
                _ => Wait::Open,
            };
            let decision = look.decide(self.host.as_ref(), remote, wait, now);
            log::debug!("{remote:?}: {decision:?}");
            let next = match decision {
                Decision::Go(generation) | Decision::NextGeneration(generation) => {
                    match self.start(look, generation).await? {
                        Some(next) => next,
                        None => return Ok(Visited::Overtaken),
                    }
                }
                Decision::FenceThenGo { fence, .. } => Next::Look(self.fence(fence, &look).await?),
                Decision::Follow => self.attach(remote, Ends::Unknown).await?,
                Decision::FetchDone { .. } => self.attach(remote, Ends::ToBeFetched).await?,
                Decision::StillRunning => {
                    self.keyed.runs_on();
                    Next::Done(Visited::Told)
                }
                Decision::Fail(failure) => return Err(self.fail(&look, remote, failure).await),
                Decision::Begin(_) | Decision::Connect | Decision::Replay | Decision::Unreached(_) => {
                    return Err(internal(&format!("{decision:?} while the host was looked at")));
                }
            };
            match next {
                Next::Done(visited) => return Ok(visited),
                Next::Look(now) => remote = now,
            }
            look = match self.journal.ask(self.call)? {
                Answer::Look(look) => look,
                _ => return Ok(Visited::Overtaken),
            };
        }
        Err(internal("the host's answers lead nowhere"))
    }

    pub(super) fn state_dir(&self) -> &Path {
        self.ready.state_dir
    }

    pub(super) async fn hear(&mut self) -> Result<Result<Said, Over>, Fault> {
        hear(&mut self.talk, self.keyed.trip.signals, self.keyed.trip.deadline).await
    }

    /// What the host says of itself, and of the generation that was asked for.
    async fn greet(&mut self, look: &Look<'_>) -> Result<Remote, Fault> {
        let trip = &mut self.keyed.trip;
        match greet(&mut self.talk, trip.signals, trip.deadline, self.ready.asked.as_ref()).await? {
            Greeting::Here(hello, state) => {
                self.host = Some(identity(&hello, self.host_key.clone()));
                Ok(self.sees(&state, look, false))
            }
            Greeting::NoRoot(kind, problem) => {
                self.problem = problem;
                Ok(match kind {
                    NoRoot::Unsupported => Remote::NoHello,
                    NoRoot::Unwritable => Remote::RootUnusable,
                })
            }
            Greeting::Nobody(problem) => {
                self.problem = problem;
                Ok(Remote::NoHello)
            }
        }
    }

    fn sees(&mut self, state: &State, look: &Look<'_>, silent: bool) -> Remote {
        self.holder = state.gate.as_ref().map(|(attempt, _)| attempt.clone());
        self.word = match state.settled {
            Some(Settled::Done(status)) => Some(status),
            Some(Settled::NotDone) | None => None,
        };
        remote(state, &self.call.fingerprint, look.open(), silent, Moment::now())
    }

    /// Follows what somebody started.
    async fn attach(&mut self, remote: Remote, ends: Ends) -> Result<Next, Fault> {
        let Remote::Seen { generation, .. } = remote else { return Err(internal("nothing was seen to be followed")) };
        self.keyed.trip.finished.started = Started::Yes;
        let holder = self.holder.as_deref().and_then(|attempt| attempt.parse().ok());
        self.keyed.tell(|facts| {
            facts.attached = true;
            facts.generation = generation;
            facts.attempt = holder;
            facts.state = OperationState::Cut;
        });
        self.talk.expect(0, 0);
        self.talk.say(&Request::Attach { generation: generation.0, out: 0, err: 0 });
        self.goes_on(generation, ends).await
    }

    /// Follows from the beginning.
    pub(super) async fn goes_on(&mut self, generation: Generation, ends: Ends) -> Result<Next, Fault> {
        let mut spool = Spool::begin(self.ready.state_dir)?;
        if self.keyed.passed.is_any() {
            // Our caller has it from an earlier look in this conversation.
            self.keyed.passed = self.keyed.passed.again(true);
        }
        let wait = self.keyed.options.wait.filter(|_| ends == Ends::Unknown);
        if let Some(span) = wait
            && self.keyed.wait.is_none()
        {
            self.keyed.wait = Instant::now().checked_add(span);
        }
        let wait = self.keyed.wait.filter(|_| ends == Ends::Unknown);
        let until = Until { wait, deadline: self.keyed.trip.deadline.map(|(at, _)| at) };
        let trip = &mut self.keyed.trip;
        let (sink, signals) = (&mut *trip.sink, &mut *trip.signals);
        let followed = follow(&mut self.talk, &mut spool, &mut self.keyed.passed, sink, signals, until).await;
        self.spool = Some(spool);
        match followed {
            Followed::Ended(end) if end.status.is_none() && self.word.is_none() => {
                Ok(Next::Look(Remote::Seen { generation, receipt: Receipt::StatusLost }))
            }
            Followed::Ended(End { status: None, out, err, flags }) => {
                let end = End { status: self.word, out, err, flags: Flags { lost: false, operator: true, ..flags } };
                self.complete(generation, &end).await.map(|()| Next::Done(Visited::Told))
            }
            Followed::Ended(end) => self.complete(generation, &end).await.map(|()| Next::Done(Visited::Told)),
            Followed::Stands(state) => {
                let silent = state.life == crate::operation::durable::wire::Life::Foreign;
                match self.journal.ask(self.call)? {
                    Answer::Look(look) => Ok(Next::Look(self.sees(&state, &look, silent))),
                    _ => Ok(Next::Done(Visited::Overtaken)),
                }
            }
            Followed::Enough => {
                self.keyed.runs_on();
                Ok(Next::Done(Visited::Told))
            }
            Followed::Signalled(signal) => Err(self.leaves(Fault::Interrupted { signal, confirmed: None })),
            Followed::Output(error) => Err(self.leaves(output_fault(&error))),
            Followed::Local(fault) => Err(self.leaves(fault)),
            Followed::Differs => {
                Err(self.cut(&Over::Lost("the output that arrived is not what was written there".to_owned())))
            }
            Followed::Over(over) => Err(self.cut(&over)),
        }
    }

    /// We go, and the operation does not.
    fn leaves(&mut self, fault: Fault) -> Fault {
        self.keyed.runs_on();
        fault
    }

    /// We do not see it any more.
    pub(super) fn cut(&mut self, over: &Over) -> Fault {
        log::info!("nothing more is heard of the operation: {over:?}");
        self.keyed.tell(|facts| facts.state = OperationState::Cut);
        Fault::OpTransportCut
    }

    /// Makes sure that nothing can start in this generation any more.
    async fn fence(&mut self, generation: Generation, look: &Look<'_>) -> Result<Remote, Fault> {
        self.talk.say(&Request::Fence { generation: generation.0 });
        match self.hear().await? {
            Ok(Said::Event(Event::State(state))) => Ok(self.sees(&state, look, false)),
            Ok(Said::Event(Event::Refused { why, .. })) => {
                self.problem = why;
                Ok(Remote::RootUnusable)
            }
            Ok(Said::Event(event)) => Err(self.cut(&unexpected(&event))),
            Ok(Said::Data(..)) => Err(internal("output of a generation that was to be fenced")),
            Err(over) => Err(self.cut(&over)),
        }
    }

    /// It cannot be gone on with.
    async fn fail(&mut self, look: &Look<'_>, remote: Remote, failure: Failure) -> Fault {
        let Failure { why, started } = failure;
        let now = Moment::now();
        let evidence = look.evidence(self.host.as_ref(), seen(remote), now);
        if let Some(damage) = look.damage() {
            damage.clone_into(&mut self.problem);
        }
        let finished = &mut self.keyed.trip.finished;
        finished.started = finished.started.or_earlier(started);
        let state = match why {
            Why::KeyMismatch | Why::KeyRetired | Why::ReceiptUnsupported | Why::ReceiptUnwritable => {
                OperationState::Refused
            }
            Why::JournalDamaged | Why::TransportCut | Why::ForeignSilent => OperationState::Cut,
            Why::CancelledBeforeStart => OperationState::Cancelled,
            Why::Reconcile(_) => OperationState::NeedsReconciliation,
        };
        self.keyed.tell(|facts| facts.state = state);
        if why == Why::KeyMismatch
            && let Err(fault) = self.journal.forget(self.call)
        {
            log::info!("what was meant stays recorded: {fault}");
        }
        if let Why::Reconcile(reason) = why {
            self.keyed.tell(|facts| facts.evidence = Some(evidence.clone()));
            if reason == Reason::ExitStatusLost && !self.keyed.passed.is_any() {
                self.fetch_without_status(remote).await;
            }
            if let Err(fault) = self.note(reason, &evidence) {
                return fault;
            }
        }
        why.fault(&self.call.operation.key, &evidence, &self.problem)
    }

    /// What it wrote is there, although its status is not.
    async fn fetch_without_status(&mut self, remote: Remote) {
        if let Ok(Next::Done(_)) | Err(_) = self.attach(remote, Ends::ToBeFetched).await {
            log::info!("the output of the operation could not be fetched");
        }
    }

    /// Records, once, that a person has to decide.
    fn note(&mut self, reason: Reason, evidence: &crate::model::operation::Evidence) -> Result<(), Fault> {
        let Answer::Look(look) = self.journal.ask(self.call)? else { return Ok(()) };
        let Some(open) = look.open().filter(|open| open.needs.is_none()) else { return Ok(()) };
        let generation = open.generation;
        let permit = look.permit(generation)?;
        self.journal.commit(&permit.needs_reconciliation(reason, evidence))?;
        Ok(())
    }
}

/// Whether there is an end to be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// It may run on for long.
    Unknown,
    /// It has ended.
    ToBeFetched,
}

pub(super) fn internal(problem: &str) -> Fault {
    Fault::Internal { problem: problem.to_owned() }
}
