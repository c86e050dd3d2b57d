//! Our own record of one operation.

use std::path::Path;

use crate::errors::Fault;
use crate::journal::decide::{Decision, Wait};
use crate::journal::{Answer, Call, Commit, Journal, Look, Resolution, Standing, Step};
use crate::model::moment::Moment;
use crate::model::operation::{
    Evidence, Fingerprint, Generation, HostIdentity, OperationId, OperationListing, Recorded, Seen,
};
use crate::operation::durable::request::fingerprint_word;
use crate::operation::durable::wire::State;

use super::super::keyed::host;

/// What is recorded, where anything is.
pub(super) struct Record {
    pub(super) id: OperationId,
    pub(super) standing: Standing,
    pub(super) listing: OperationListing,
    journal: Option<Journal>,
}

impl Record {
    /// Nothing is made where nothing is.
    pub(super) fn open(state_dir: Option<&Path>, id: OperationId) -> Result<Self, Fault> {
        let journal = state_dir.map(Journal::open_existing).transpose()?.flatten();
        let listing = OperationListing::bare(id.clone(), Recorded::Absent);
        let mut record = Self { id, standing: Standing::None, listing, journal };
        record.read()?;
        Ok(record)
    }

    fn read(&mut self) -> Result<(), Fault> {
        if let Some(journal) = &mut self.journal {
            self.standing = journal.standing(&self.id)?;
            self.listing = journal.listing(&self.id)?;
        }
        Ok(())
    }

    /// Something is recorded, readable or not.
    pub(super) fn is_there(&self) -> bool {
        self.standing != Standing::None
    }

    /// It is recorded, and has neither an outcome nor a verdict.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.standing, Standing::Open(_))
    }

    /// The last one that was meant; the first one where nothing is recorded.
    pub(super) fn generation(&self) -> Generation {
        self.standing.open().map_or(Generation::FIRST, |open| open.generation)
    }

    pub(super) fn fingerprint(&self) -> Option<&Fingerprint> {
        self.standing.open().map(|open| &open.fingerprint)
    }

    /// Whether it may have begun, by this record.
    pub(super) fn may_have_started(&self) -> bool {
        match &self.standing {
            Standing::None => false,
            Standing::Open(open) => !open.dispatches.is_empty() || open.gate.is_some() || open.needs.is_some(),
            _ => true,
        }
    }

    /// The gate there was taken for another request than ours.
    pub(super) fn is_of_another_request(&self, state: &State) -> bool {
        match (&state.gate, self.fingerprint()) {
            (Some((_, theirs)), Some(ours)) => *theirs != fingerprint_word(ours),
            _ => false,
        }
    }

    /// The request, as far as it is recorded.
    fn call(&self) -> Option<Call> {
        let open = self.standing.open()?;
        Some(Call {
            operation: self.id.clone(),
            fingerprint: open.fingerprint.clone(),
            effect: open.effect,
            command: open.command.clone(),
        })
    }

    /// What the same line would do about this state of the host; none where it would not ask.
    pub(super) fn decide(&mut self, host: &HostIdentity, state: &State) -> Option<Decision> {
        self.with_look(|look| {
            let now = Moment::now();
            let fingerprint = look.open()?.fingerprint.clone();
            let remote = host::remote(state, &fingerprint, look.open(), false, now);
            Some(look.decide(Some(host), remote, Wait::Open, now))
        })
        .flatten()
    }

    /// What speaks for a verdict.
    pub(super) fn evidence(&mut self, seen_there: Option<(&HostIdentity, &State)>) -> Option<Evidence> {
        self.with_look(|look| {
            let now = Moment::now();
            let seen = match (seen_there, look.open()) {
                (Some((_, state)), Some(open)) => {
                    host::seen(host::remote(state, &open.fingerprint, Some(open), false, now))
                }
                _ => Seen::NoAnswer,
            };
            look.evidence(seen_there.map(|(host, _)| host), seen, now)
        })
    }

    fn with_look<T>(&mut self, work: impl FnOnce(&Look<'_>) -> T) -> Option<T> {
        let call = self.call()?;
        match self.journal.as_mut()?.ask(&call) {
            Ok(Answer::Look(look)) => Some(work(&look)),
            _ => None,
        }
    }

    /// Records a verdict on this generation, once.
    pub(super) fn resolve(
        &mut self,
        generation: Generation,
        resolution: Resolution,
        note: Option<String>,
    ) -> Result<(), Fault> {
        self.catch_up(generation)?;
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let committed = journal.resolve(&self.id, generation, resolution, note)?;
        self.read()?;
        match committed {
            Commit::Recorded(_) | Commit::AlreadyThere(_) => Ok(()),
            Commit::Overtaken => Err(self.already_resolved()),
        }
    }

    /// Records an outcome that the host has. False: another process was quicker.
    pub(super) fn complete(
        &mut self,
        generation: Generation,
        commit: impl FnOnce(&mut Journal, &Call, Look<'_>) -> Result<Commit, Fault>,
    ) -> Result<(), Fault> {
        self.catch_up(generation)?;
        if let (Some(call), Some(journal)) = (self.call(), &mut self.journal)
            && let Answer::Look(look) = journal.ask(&call)?
            && commit(journal, &call, look)? == Commit::Overtaken
        {
            log::info!("the operation was settled otherwise in the meantime");
        }
        self.read()
    }

    /// Others have gone on to a newer generation there, which is then what a verdict is about.
    fn catch_up(&mut self, generation: Generation) -> Result<(), Fault> {
        let Some(call) = self.call().filter(|_| self.is_open() && self.generation() < generation) else {
            return Ok(());
        };
        let Some(journal) = &mut self.journal else { return Ok(()) };
        if let Answer::Look(look) = journal.ask(&call)?
            && let Step::Overtaken(_) = look.permit(generation)?.commit_intent(journal)?
        {
            log::info!("another process has gone on with the operation meanwhile");
        }
        self.read()
    }

    /// What stands already.
    pub(super) fn already_resolved(&self) -> Fault {
        let verdict = match &self.standing {
            Standing::Completed(_) => match self.listing.remote_exit {
                Some(status) => format!("it was done, with status {status}"),
                None => "it was done".to_owned(),
            },
            Standing::NotDone(_) => "it was not done".to_owned(),
            Standing::Abandoned(_) => "it was given up".to_owned(),
            Standing::None | Standing::Open(_) | Standing::Damaged { .. } => "by another process".to_owned(),
        };
        Fault::OpAlreadyResolved { key: self.id.key.to_string(), verdict }
    }
}
