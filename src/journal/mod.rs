//! The local memory of keyed operations: what was meant, what was sent, and how it ended.
//!
//! It stands on two rules. What is about to happen is on disk before it can happen; and that something is *not* recorded here is never
//! taken for its not having happened: the receipt on the host is what stands between a command and its second start. So losing the journal
//! is safe, and a damaged one is read as "may have been sent".
//!
//! ```
//! use serde_json::json;
//! use ssh_cli::effect::Effect;
//! use ssh_cli::errors::Fault;
//! use ssh_cli::journal::{Answer, Call, Command, Commit, Journal, Request, Step};
//! use ssh_cli::model::operation::{HostIdentity, OperationId, StartPermission, TargetAccount, Via};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let state = tempfile::tempdir()?;
//! let request = Request { command: Command::Text(b"make install"), effect: Effect::Write, ..Request::default() };
//! let call = Call {
//!     operation: OperationId {
//!         target: TargetAccount::located("deploy", "web1", 22, Via::Nothing),
//!         key: "install-1.2".parse()?,
//!     },
//!     fingerprint: request.fingerprint(),
//!     effect: Effect::Write,
//!     command: "make install".to_owned(),
//! };
//! let mut journal = Journal::open(state.path())?;
//!
//! // Nothing is known of it: here is a permit. The intent goes to disk, and then one connects.
//! let Answer::Permit(permit) = journal.ask(&call)? else { panic!("a new key") };
//! let Step::Taken(committed) = permit.commit_intent(&mut journal)? else { panic!("nobody else is here") };
//!
//! // The host has said who it is, and that it has no receipt. That it is sent goes to disk, and out comes the right to start.
//! # let host = HostIdentity {
//! #     host_key: "ssh-ed25519 SHA256:x".into(), uid: 1000, root: "/r".into(), root_id: "1".into(), node: "web1".into(),
//! #     boot_id: Some("b".into()), pid_namespace: None, version: 1,
//! # };
//! let Step::Taken(go) = committed.dispatch(&mut journal, "3f9a01".parse()?, host)? else { panic!("nobody else is here") };
//! assert_eq!((go.generation().0, go.attempt().as_str()), (1, "3f9a01"));
//!
//! // It is over. What came of it is recorded, once and for good.
//! let done = go.into_permit().record(json!({"remote_exit": 0}));
//! assert!(matches!(journal.commit(&done)?, Commit::Recorded(_)));
//! assert!(matches!(journal.commit(&done)?, Commit::AlreadyThere(_)));
//!
//! // The same line again is answered from here, and contacts nobody.
//! let Answer::Replay(replay) = journal.ask(&call)? else { panic!("it is over") };
//! assert_eq!(replay.output, json!({"remote_exit": 0}));
//!
//! // Another request under the same key is refused.
//! let other = Request { command: Command::Text(b"make uninstall"), ..request };
//! let other = Call { fingerprint: other.fingerprint(), ..call };
//! assert!(matches!(journal.ask(&other)?, Answer::Conflict(Fault::OpKeyMismatch { .. })));
//! # Ok(())
//! # }
//! ```
//!
//! A permit alone starts nothing, and there is no way around the intent:
//!
//! ```compile_fail
//! # use ssh_cli::journal::{Journal, ToolCallPermit};
//! # use ssh_cli::model::operation::HostIdentity;
//! fn at_once(permit: ToolCallPermit<'_>, journal: &mut Journal, host: HostIdentity) {
//!     let _ = permit.dispatch(journal, "3f9a01".parse().unwrap(), host);
//! }
//! ```

#[cfg(test)]
mod damage_tests;
pub mod decide;
mod fingerprint;
mod history;
#[cfg(test)]
mod journal_tests;
mod list;
mod permit;
mod record;
#[cfg(test)]
mod rivals_tests;
mod schema;
mod store;
mod trouble;

pub use fingerprint::{Command, Elevation, Request, Script, key_hash};
pub use history::{Open, Replay, Standing};
pub use list::{Collected, Equal, Listing};
pub use permit::{Answer, Committed, Dispatched, Look, Step, ToolCallPermit};
pub use record::{Completion, Emitted, StreamDigest, Verdict};
pub use store::Commit;

pub use crate::model::operation::{DedupOrigin, SequenceNumber};

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::effect::Effect;
use crate::errors::Fault;
use crate::model::moment::Moment;
use crate::model::operation::{Fingerprint, Generation, OperationId, Origin};
use decide::{Decision, Remote, Wait, Why, decide};
use record::{Acked, Completed, Record, Resolved};
use store::Store;
use trouble::Trouble;

/// What is asked to run, under which key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which operation it is.
    pub operation: OperationId,
    /// What the request comes to.
    pub fingerprint: Fingerprint,
    /// What the caller said repeating it would do.
    pub effect: Effect,
    /// The text of the command, for people.
    pub command: String,
}

/// The log of every keyed operation of this account, in one file.
#[derive(Debug)]
pub struct Journal {
    /// What is wrong with the file, where it cannot be believed.
    store: Result<Store, String>,
}

/// What a person decided about an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution {
    /// It was done, and this is its outcome.
    Done(Value),
    /// It was not done, and its generation can start no more.
    NotDone,
    /// Its key is retired.
    Abandoned,
}

impl Journal {
    /// Opens the journal below this state directory, and makes it where there is none: 0600 in a directory of its own, 0700. Only a call
    /// with a key does that.
    ///
    /// A damaged file is opened: it answers every call with a [`Look`] that gives no permit. One that cannot be opened is
    /// [`Fault::JournalUnwritable`], and nothing was contacted.
    pub fn open(state_dir: &Path) -> Result<Self, Fault> {
        Self::believe(Store::open_or_make(state_dir))
    }

    /// Opens the journal where there is one.
    pub fn open_existing(state_dir: &Path) -> Result<Option<Self>, Fault> {
        match Store::open_existing(state_dir).transpose() {
            None => Ok(None),
            Some(opened) => Self::believe(opened).map(Some),
        }
    }

    /// Where the file is, below this state directory.
    pub fn path(state_dir: &Path) -> PathBuf {
        schema::path(state_dir)
    }

    fn believe(opened: Result<Store, Trouble>) -> Result<Self, Fault> {
        match opened {
            Ok(store) => Ok(Self { store: Ok(store) }),
            Err(Trouble::Damaged(problem)) => Ok(Self { store: Err(problem) }),
            Err(trouble) => Err(trouble.into()),
        }
    }

    /// What the log says to a call. Nothing is written.
    pub fn ask<'c>(&mut self, call: &'c Call) -> Result<Answer<'c>, Fault> {
        let (standing, next) = self.standing_and_next(&call.operation)?;
        let local = standing.local(&call.fingerprint);
        let key = || call.operation.key.to_string();
        match (decide(local, Remote::NotAsked, call.effect, Wait::Open), standing) {
            (Decision::Begin(generation), _) => Ok(Answer::Permit(ToolCallPermit::new(call, generation, next))),
            (Decision::Replay, Standing::Completed(replay)) => Ok(Answer::Replay(replay)),
            (Decision::Connect, Standing::Open(open)) => Ok(Answer::Look(Look { call, open: Ok(open), next })),
            (Decision::Connect, Standing::Damaged { problem }) => {
                Ok(Answer::Look(Look { call, open: Err(problem), next }))
            }
            (Decision::Fail(failure), _) if failure.why == Why::KeyMismatch => {
                Ok(Answer::Conflict(Fault::OpKeyMismatch { key: key() }))
            }
            (Decision::Fail(failure), _) if failure.why == Why::KeyRetired => {
                Ok(Answer::Retired(Fault::OpKeyRetired { key: key() }))
            }
            (decision, _) => Err(Fault::Internal { problem: format!("{decision:?} before anything was asked") }),
        }
    }

    /// How an operation stands.
    pub fn standing(&mut self, operation: &OperationId) -> Result<Standing, Fault> {
        Ok(self.standing_and_next(operation)?.0)
    }

    fn standing_and_next(&mut self, operation: &OperationId) -> Result<(Standing, SequenceNumber), Fault> {
        let damaged = |problem| Ok((Standing::Damaged { problem }, SequenceNumber(0)));
        let store = match &mut self.store {
            Ok(store) => store,
            Err(problem) => return damaged(problem.clone()),
        };
        match store.load(operation) {
            Ok(log) => Ok((Standing::read(&log.events), log.next())),
            Err(Trouble::Damaged(problem)) => damaged(problem),
            Err(trouble) => Err(trouble.into()),
        }
    }

    fn sound(&mut self) -> Result<&mut Store, Fault> {
        match &mut self.store {
            Ok(store) => Ok(store),
            Err(problem) => Err(Trouble::Damaged(problem.clone()).into()),
        }
    }

    /// Puts a step on disk: it is there when this returns. All of it, or nothing.
    ///
    /// A completion is recorded once. An equal one changes nothing, a different one is [`Fault::Internal`], and one of a generation that is
    /// over by other means comes too late.
    pub fn commit(&mut self, emitted: &Emitted) -> Result<Commit, Fault> {
        self.commit_at(emitted, Moment::now())
    }

    fn commit_at(&mut self, emitted: &Emitted, at: Moment) -> Result<Commit, Fault> {
        Ok(self.sound()?.commit(emitted, at)?)
    }

    /// Forgets a call that was meant, and of which nothing was ever sent: its key belongs to another request there. False: more than
    /// that is recorded.
    pub fn forget(&mut self, call: &Call) -> Result<bool, Fault> {
        let forgotten = self.sound()?.write(|transaction| {
            let log = store::load(transaction, &call.operation)?;
            let is_idle = match Standing::read(&log.events) {
                Standing::Open(open) => {
                    open.generation == Generation::FIRST
                        && open.fingerprint == call.fingerprint
                        && open.dispatches.is_empty()
                        && open.gate.is_none()
                        && open.needs.is_none()
                }
                _ => false,
            };
            if is_idle {
                store::remove(transaction, &call.operation)?;
            }
            Ok(is_idle)
        })?;
        Ok(forgotten)
    }

    /// The host was told that the outcome of this generation is kept here.
    pub fn acknowledge(&mut self, operation: &OperationId, generation: Generation) -> Result<Commit, Fault> {
        let record = Record::Acked(Acked { generation });
        self.commit(&Emitted { operation: operation.clone(), records: vec![record] })
    }

    /// What a person decided about this generation. [`Commit::Overtaken`]: it has an outcome, or was decided about, already.
    pub fn resolve(
        &mut self,
        operation: &OperationId,
        generation: Generation,
        resolution: Resolution,
        note: Option<String>,
    ) -> Result<Commit, Fault> {
        if self.standing(operation)? == Standing::None {
            return Err(Fault::OpNotFound { key: operation.key.to_string() });
        }
        let (verdict, output) = match resolution {
            Resolution::Done(output) => (Verdict::Done, Some(output)),
            Resolution::NotDone => (Verdict::NotDone, None),
            Resolution::Abandoned => (Verdict::Abandoned, None),
        };
        let mut records = vec![Record::Resolved(Resolved { generation, verdict, note })];
        records
            .extend(output.map(|output| Record::Completed(Completed { generation, output, origin: Origin::Operator })));
        self.commit(&Emitted { operation: operation.clone(), records })
    }
}
