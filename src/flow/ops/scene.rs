//! One conversation with the host about one operation: its newest generation, and what is said about that.

use std::time::Duration;

use tokio::time::timeout;

use super::facts;
use super::record::Record;
use super::{Ready, is_of_the_way};
use crate::connection::Session;
use crate::errors::Fault;
use crate::flow::keyed::follow::unexpected;
use crate::flow::keyed::greeting::{Greeting, greet, hear};
use crate::flow::keyed::host::identity;
use crate::flow::prepare::nul;
use crate::flow::trip::{Channel, Trip, nonce};
use crate::journal::key_hash;
use crate::model::operation::{Generation, HostIdentity};
use crate::model::outcome::{Phase, Started};
use crate::model::sink::Sink;
use crate::operation::durable::program::Prologue;
use crate::operation::durable::request::Request;
use crate::operation::durable::talk::{Over, Said, Talk};
use crate::operation::durable::wire::{Event, Fence, Life, NoRoot, Settled, State};

/// A host whose generations have no end is not followed for ever.
const GENERATIONS_AT_MOST: u32 = 256;
/// How long an answer may take: of an operation on another node the program watches the signs of life first.
const ANSWER_WITHIN: Duration = Duration::from_secs(90);

/// What there is to be seen.
pub(super) struct Scene<'s, 'a, S> {
    pub(super) trip: &'s mut Trip<'a, S>,
    pub(super) record: &'s mut Record,
    pub(super) talk: Talk<'s>,
    pub(super) host: HostIdentity,
    /// How the generation in question stands.
    pub(super) state: State,
}

impl<'s, 'a, S: Sink> Scene<'s, 'a, S> {
    pub(super) async fn begin(
        trip: &'s mut Trip<'a, S>,
        record: &'s mut Record,
        ready: &'s Ready,
        (session, channel, host_key): (&'s Session, Channel, String),
    ) -> Result<Self, Fault> {
        let (nonce, key_hash) = (nonce(), key_hash(&record.id.key));
        let generation = record.generation().0;
        let prologue = Prologue { nonce: &nonce, key_hash: key_hash.as_str(), generation };
        let elevated = ready.elevated.as_ref().map(|elevated| (elevated, false));
        let mut talk = Talk::begin(session, channel, &prologue, elevated).await.map_err(nul)?;
        let greeting = greet(&mut talk, trip.signals, trip.deadline, ready.asked.as_ref()).await?;
        let (kind, problem) = match greeting {
            Greeting::Here(hello, state) => {
                return Ok(Self { trip, record, talk, host: identity(&hello, host_key), state });
            }
            Greeting::NoRoot(kind, problem) => (kind, problem),
            Greeting::Nobody(problem) => (NoRoot::Unsupported, problem),
        };
        Err(match (record.may_have_started(), kind) {
            (true, _) => {
                let evidence = record.evidence(None).map(|evidence| format!("{evidence}: ")).unwrap_or_default();
                Fault::ReceiptUnreachable { evidence: evidence + &problem }
            }
            (false, NoRoot::Unsupported) => Fault::ReceiptUnsupported { problem },
            (false, NoRoot::Unwritable) => Fault::ReceiptUnwritable { problem },
        })
    }

    /// Says goodbye.
    pub(super) fn end(self) {
        self.talk.end();
    }

    pub(super) fn generation(&self) -> Generation {
        Generation(self.state.generation)
    }

    /// Looks for the newest generation, and tells how it stands. Others may have gone on since our record was written.
    pub(super) async fn find(&mut self) -> Result<(), Fault> {
        for _ in 0..GENERATIONS_AT_MOST {
            if !may_be_followed(&self.state) {
                self.tell();
                return Ok(());
            }
            let here = self.state.clone();
            self.ask(Request::State { generation: here.generation.saturating_add(1) }).await?;
            if self.state.life == Life::None {
                self.state = here;
                self.tell();
                return Ok(());
            }
        }
        Err(Fault::ServerViolation { problem: "its generations have no end".to_owned(), phase: Phase::Run })
    }

    /// What is known now is what the caller is told.
    pub(super) fn tell(&mut self) {
        facts::tell(self.trip, self.record, Some((&self.host, &self.state)));
    }

    /// A key that is known on neither side.
    pub(super) fn refuse_unknown(&self) -> Result<(), Fault> {
        if self.state.life == Life::None && !self.record.is_there() {
            return Err(Fault::OpNotFound { key: self.record.id.key.to_string() });
        }
        Ok(())
    }

    /// Nothing is done to the operation of somebody who had the same name for something else.
    pub(super) fn refuse_another(&self) -> Result<(), Fault> {
        if self.record.is_of_another_request(&self.state) {
            return Err(Fault::OpKeyMismatch { key: self.record.id.key.to_string() });
        }
        Ok(())
    }

    /// Says something that may change the operation, and waits for how it stands then. `Some`: what was refused.
    pub(super) async fn do_ask(&mut self, request: Request<'_>) -> Result<Option<String>, Fault> {
        let before = self.trip.finished.started;
        self.trip.finished.started = before.or_earlier(Started::Unknown);
        let answer = self.ask(request).await?;
        self.trip.finished.started = Started::Yes;
        self.tell();
        Ok(answer)
    }

    /// Says something, and waits for how the operation stands then. `Some`: what was refused.
    pub(super) async fn ask(&mut self, request: Request<'_>) -> Result<Option<String>, Fault> {
        self.talk.say(&request);
        let mut refused = None;
        loop {
            let hearing = hear(&mut self.talk, self.trip.signals, self.trip.deadline);
            let Ok(heard) = timeout(ANSWER_WITHIN, hearing).await else {
                return Err(lost("the program on the host does not answer"));
            };
            match heard? {
                Ok(Said::Event(Event::State(state))) => {
                    self.state = state;
                    return Ok(refused);
                }
                Ok(Said::Event(Event::Refused { why, .. })) if why == "unwritable" => {
                    let problem = "the directory for receipts in the account's home cannot be written".to_owned();
                    return Err(Fault::ReceiptUnwritable { problem });
                }
                Ok(Said::Event(Event::Refused { why, .. })) => refused = Some(why),
                Ok(Said::Event(Event::Tick(_))) => {}
                Ok(Said::Event(event)) => return Err(cut(unexpected(&event))),
                Ok(Said::Data(..)) => return Err(lost("output that was not asked for")),
                Err(over) => return Err(cut(over)),
            }
        }
    }
}

/// The next generation may be the one that counts.
fn may_be_followed(state: &State) -> bool {
    match (state.settled, state.life) {
        (Some(Settled::NotDone), _) | (None, Life::Dead) => true,
        (None, Life::Fenced) => state.fence != Some(Fence::Cancelled),
        (None, Life::Done) => state.end.is_some_and(|end| end.flags.lost),
        _ => false,
    }
}

pub(super) fn cut(over: Over) -> Fault {
    match over {
        Over::Lost(problem) => lost(&problem),
        Over::Closed => lost("the program on the host has ended"),
        over => lost(&format!("{over:?}")),
    }
}

pub(super) fn lost(problem: &str) -> Fault {
    Fault::ConnectionLost { phase: Phase::Run, problem: problem.to_owned() }
}

/// The host was not seen: what is of the way there.
pub(super) fn is_unseen(fault: &Fault) -> bool {
    is_of_the_way(fault.row().phase)
}
