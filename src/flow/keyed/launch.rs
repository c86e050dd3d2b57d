//! The start of a generation: nothing is sent before it is on our disk that it is, and what the host says to it is recorded.

use super::follow::Passed;
use super::follow::unexpected;
use super::visit::{Ends, Next, Visit, internal};
use crate::errors::Fault;
use crate::flow::trip::nonce;
use crate::journal::decide::{Receipt, Remote};
use crate::journal::{Dispatched, Look, Step};
use crate::model::operation::{AttemptId, Generation, OperationState, StartPermission as _};
use crate::model::outcome::{Phase, Started, Warning};
use crate::model::sink::Sink;
use crate::operation::durable::talk::Said;
use crate::operation::durable::wire::{Event, Fence};

impl<'c, S: Sink> Visit<'_, '_, 'c, S> {
    /// Starts this generation, unless somebody has. None: our own record has changed meanwhile.
    pub(super) async fn start(&mut self, look: Look<'c>, generation: Generation) -> Result<Option<Next>, Fault> {
        if self.keyed.passed.is_any() {
            if self.keyed.trip.sink.is_spent() {
                // Our caller has the output of the generation before, and cannot give it back: the same line goes on.
                return Err(Fault::OpTransportCut);
            }
            self.keyed.passed = Passed::default();
            self.keyed.trip.begin_attempt();
        }
        let Step::Taken(committed) = look.permit(generation)?.commit_intent(self.journal)? else { return Ok(None) };
        let Some(host) = self.host.clone() else {
            return Err(internal("a start on a host that did not say who it is"));
        };
        let attempt = attempt_id()?;
        let Step::Taken(go) = committed.dispatch(self.journal, attempt, host)? else { return Ok(None) };
        let (line, parts) = self.ready.material.go(&go, self.keyed.request.run.timeout);
        self.keyed.trip.finished.started = self.before.or_earlier(Started::Unknown);
        self.keyed.tell(|facts| {
            facts.generation = generation;
            facts.attempt = Some(go.attempt().clone());
            facts.state = OperationState::Cut;
        });
        self.talk.expect(0, 0);
        self.talk.send(line.into());
        for part in parts {
            self.talk.send(part);
        }
        self.launched(&go, generation).await.map(Some)
    }

    /// What the host says to a start.
    async fn launched(&mut self, go: &Dispatched<'_>, generation: Generation) -> Result<Next, Fault> {
        let event = match self.hear().await? {
            Ok(Said::Event(event)) => event,
            Ok(Said::Data(..)) => return Err(internal("output before a word about the start")),
            Err(over) => return Err(self.cut(&over)),
        };
        match event {
            Event::Started { attempt, detached, .. } => {
                self.taken(go, &attempt)?;
                if detached.session_bound {
                    let message =
                        "the host's log-in manager ends what a session leaves behind: the operation may not outlive it";
                    self.keyed.trip.warn(Warning::new("session_bound", message));
                }
                self.keyed.tell(|facts| facts.isolation = Some(detached.isolation));
                self.goes_on(generation, Ends::Unknown).await
            }
            Event::Exists { attempt, .. } => {
                self.taken(go, &attempt)?;
                self.keyed.tell(|facts| facts.attached = true);
                self.goes_on(generation, Ends::Unknown).await
            }
            Event::Mismatch { .. } => {
                self.not_begun(go)?;
                Ok(Next::Look(Remote::Seen { generation, receipt: Receipt::OtherRequest }))
            }
            Event::Fenced { fence, .. } => {
                self.not_begun(go)?;
                let receipt = match fence {
                    Fence::Cancelled => Receipt::FencedByCancel,
                    Fence::Resolved | Fence::Broken => Receipt::FencedByResolve,
                };
                Ok(Next::Look(Remote::Seen { generation, receipt }))
            }
            Event::Refused { why, .. } => self.refused(go, &why),
            Event::Short { part, .. } => {
                self.not_begun(go)?;
                let problem = format!("the {part} did not arrive whole");
                Err(Fault::ConnectionLost { phase: Phase::Channel, problem })
            }
            Event::Unsettled { .. } => Err(Fault::OpTransportCut),
            event => Err(self.cut(&unexpected(&event))),
        }
    }

    /// This attempt has started nothing, and never will.
    fn not_begun(&mut self, go: &Dispatched<'_>) -> Result<(), Fault> {
        self.journal.commit(&go.permit().withdrawn(go.attempt().clone()))?;
        self.keyed.trip.finished.started = self.before;
        if self.before == Started::No {
            self.keyed.tell(|facts| facts.state = OperationState::Refused);
        }
        Ok(())
    }

    fn refused(&mut self, go: &Dispatched<'_>, why: &str) -> Result<Next, Fault> {
        self.not_begun(go)?;
        let path = || self.keyed.request.run.cwd.as_deref().unwrap_or_default().to_string_lossy().into_owned();
        let problem = || match why {
            "nospace" => "there is no space left in the account's home".to_owned(),
            "unwritable" => "the account's home cannot be written".to_owned(),
            why => format!("the start failed there: {why}"),
        };
        match why {
            "cwd" => Err(Fault::CwdUnavailable { path: path(), problem: String::new() }),
            "attempt" | "usage" => Err(internal(&format!("the host did not take the start: {why}"))),
            _ if self.before == Started::No => Err(Fault::ReceiptUnwritable { problem: problem() }),
            _ => {
                self.problem = problem();
                Ok(Next::Look(Remote::RootUnusable))
            }
        }
    }

    /// The host said whose attempt it took.
    fn taken(&mut self, go: &Dispatched<'_>, attempt: &str) -> Result<(), Fault> {
        self.keyed.trip.finished.started = Started::Yes;
        self.holder = Some(attempt.to_owned());
        let attempt: AttemptId =
            attempt.parse().map_err(|_| internal("the host named an attempt that cannot be one"))?;
        self.keyed.tell(|facts| facts.attempt = Some(attempt.clone()));
        self.journal.commit(&go.permit().started(attempt))?;
        Ok(())
    }
}

/// 64 random bits.
fn attempt_id() -> Result<AttemptId, Fault> {
    let digits = nonce();
    digits[..16].parse().map_err(|_| internal("sixteen hex digits are no name of an attempt"))
}
