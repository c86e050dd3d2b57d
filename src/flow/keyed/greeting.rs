//! The beginning of a conversation with a host: who it is, or why there is nobody to talk to.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::follow::unexpected;
use crate::errors::{Caught, Fault, Limit};
use crate::model::outcome::Phase;
use crate::operation::durable::talk::{Over, Said, Talk};
use crate::operation::durable::wire::{Event, Hello, NoRoot, State};
use crate::operation::elevate::refusal::{self, Asked};

/// What came of it.
#[derive(Debug)]
pub(in crate::flow) enum Greeting {
    /// The host, and how the generation stands that was asked for.
    Here(Hello, State),
    /// The program runs, and can keep nothing there; what is in the way.
    NoRoot(NoRoot, String),
    /// The program did not run; what answered instead.
    Nobody(String),
}

/// Waits for what the host says next; a signal or the end of our time comes first.
pub(in crate::flow) async fn hear(
    talk: &mut Talk<'_>,
    signals: &mut mpsc::Receiver<Caught>,
    deadline: Option<(Instant, Duration)>,
) -> Result<Result<Said, Over>, Fault> {
    let over = async {
        match deadline {
            Some((at, span)) => {
                tokio::time::sleep_until(at).await;
                span
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        Some(signal) = signals.recv() => Err(Fault::Interrupted { signal, confirmed: None }),
        said = talk.next() => Ok(said),
        after = over => Err(Fault::Timeout { limit: Limit::Deadline, after, confirmed: None }),
    }
}

/// What the host says of itself, and of the generation that the prologue named. `asked`: whose rights were asked for.
pub(in crate::flow) async fn greet(
    talk: &mut Talk<'_>,
    signals: &mut mpsc::Receiver<Caught>,
    deadline: Option<(Instant, Duration)>,
    asked: Option<&Asked>,
) -> Result<Greeting, Fault> {
    let mut host = None;
    loop {
        let over = match (hear(talk, signals, deadline).await?, &host) {
            (Ok(Said::Event(Event::Hello(hello))), None) => {
                host = Some(hello);
                continue;
            }
            (Ok(Said::Event(Event::State(state))), Some(hello)) => return Ok(Greeting::Here(hello.clone(), state)),
            (Ok(Said::Event(Event::NoRoot(kind, why))), _) => return Ok(Greeting::NoRoot(kind, no_root(kind, &why))),
            (Ok(Said::Event(event)), _) => unexpected(&event),
            (Ok(Said::Data(..)), _) => continue,
            (Err(over), _) => over,
        };
        let problem = match over {
            // Nothing was asked of it yet.
            Over::Lost(problem) => return Err(Fault::ConnectionLost { phase: Phase::Channel, problem }),
            Over::Barred(dialogue) => {
                if refusal::needs_terminal(&dialogue) {
                    "su gives its rights only on a terminal here, and a keyed operation has none".to_owned()
                } else {
                    match asked.and_then(|asked| refusal::refusal(&dialogue, asked)) {
                        Some(fault) => return Err(fault),
                        None => format!("the account's shell did not run it: {}", talk.noise()),
                    }
                }
            }
            Over::Refused => "the server runs no commands".to_owned(),
            Over::Closed => format!("the account's shell did not run the program: {}", talk.noise()),
            Over::Silent => format!("the program did not answer: {}", talk.noise()),
            Over::Broken(broken) => format!("what answered is not the program: {broken:?}"),
        };
        return Ok(Greeting::Nobody(problem));
    }
}

fn no_root(kind: NoRoot, why: &str) -> String {
    let text = match (kind, why) {
        (_, "home") => "the account has no home directory there",
        (_, "owner") => "the directory for receipts, or one above it, is not the account's alone",
        (_, "symlink") => "the file system of the account's home has no symbolic links",
        (_, "uid") => "the account's number could not be found out",
        (NoRoot::Unwritable, _) => "the directory for receipts in the account's home cannot be written",
        (NoRoot::Unsupported, why) => return format!("the host has no place for receipts: {why}"),
    };
    text.to_owned()
}
