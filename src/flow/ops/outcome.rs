//! An outcome that the operation turned out to have: recorded as the call would that started it, and told.

use std::io;
use std::path::Path;

use bytes::Bytes;

use super::resolve::by_itself;
use super::scene::{Scene, cut, lost};
use crate::errors::{Fault, Limit};
use crate::flow::keyed::follow::{Followed, Passed, Until, follow};
use crate::flow::keyed::outcome::{completion, expired, judged, spool_name};
use crate::flow::keyed::settle;
use crate::flow::keyed::spool::Spool;
use crate::flow::trip::Trip;
use crate::journal::{Completion, StreamDigest};
use crate::model::outcome::{Started, Warning};
use crate::model::sink::{Sink, Stream};
use crate::operation::durable::request::Request;
use crate::operation::durable::wire::End;

/// Its output is kept for the call that asks for it, and told to nobody here.
struct Deaf;

impl Sink for Deaf {
    async fn write(&mut self, _stream: Stream, _data: Bytes) -> io::Result<()> {
        Ok(())
    }

    fn attempt(&mut self, _number: u32) {}

    fn warning(&mut self, _warning: &Warning) {}
}

/// Tells what a completion says. The error is what the command itself came to.
pub(super) fn conclude<S: Sink>(trip: &mut Trip<'_, S>, completion: &Completion) -> Result<(), Fault> {
    let (outcome, _, fault) = judged(completion);
    let finished = &mut trip.finished;
    finished.outcome = outcome;
    finished.started = Started::Yes;
    finished.remote_exit = Some(u32::from(completion.remote_exit));
    fault.map_or(Ok(()), Err)
}

impl<S: Sink> Scene<'_, '_, S> {
    /// It ended by itself, and the host knows how.
    pub(super) async fn own_outcome(&mut self, end: &End, state_dir: Option<&Path>) -> Result<(), Fault> {
        self.trip.warn(by_itself());
        let generation = self.generation();
        let (end, streams) = match state_dir {
            Some(state_dir) if self.record.is_open() && !end.flags.expired => self.fetched(state_dir).await?,
            _ => (*end, expired(end)),
        };
        let Some(completion) = completion(&end, streams) else {
            return Err(Fault::Internal { problem: "an end without a status was taken for an outcome".to_owned() });
        };
        let holder = self.state.gate.as_ref().map(|(attempt, _)| attempt.as_str());
        self.record.complete(generation, |journal, call, look| {
            settle::commit(journal, call, look, (generation, holder), &end, &completion)
        })?;
        self.tell();
        conclude(self.trip, &completion)
    }

    /// Its output, kept here.
    async fn fetched(&mut self, state_dir: &Path) -> Result<(End, (StreamDigest, StreamDigest)), Fault> {
        let mut spool = Spool::begin(state_dir)?;
        let until = Until { wait: None, deadline: self.trip.deadline.map(|(at, _)| at) };
        self.talk.expect(0, 0);
        self.talk.say(&Request::Attach { generation: self.state.generation, out: 0, err: 0 });
        let mut passed = Passed::default();
        match follow(&mut self.talk, &mut spool, &mut passed, &mut Deaf, self.trip.signals, until).await {
            Followed::Ended(end) if end.flags.expired => Ok((end, expired(&end))),
            Followed::Ended(end) => {
                let name = spool_name(&self.record.id, self.generation());
                Ok((end, spool.keep(&name, (end.flags.out_cut, end.flags.err_cut))?))
            }
            Followed::Enough => {
                let after = self.trip.deadline.map(|(_, span)| span).unwrap_or_default();
                Err(Fault::Timeout { limit: Limit::Deadline, after, confirmed: None })
            }
            Followed::Signalled(signal) => Err(Fault::Interrupted { signal, confirmed: None }),
            Followed::Local(fault) => Err(fault),
            Followed::Output(error) => Err(lost(&error.to_string())),
            Followed::Stands(_) | Followed::Differs => {
                Err(lost("the output that arrived is not what was written there"))
            }
            Followed::Over(over) => Err(cut(over)),
        }
    }
}
