//! Following an operation on the host: what it says goes to our caller and into the spool, until it ends or we do.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::spool::Spool;
use crate::errors::{Caught, Fault, Limit};
use crate::model::sink::{Sink, Stream as Side};
use crate::operation::durable::talk::{Over, Said, Talk};
use crate::operation::durable::wire::{End, Event, Life, Stream};

/// How long a reader who does not read may keep us from hearing that it is enough.
const FOREIGN_PATIENCE: Duration = Duration::from_secs(25);

/// How long we follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// `--wait`.
    pub(super) wait: Option<Instant>,
    /// `--deadline`: of this invocation, not of the operation.
    pub(super) deadline: Option<(Instant, Duration)>,
}

/// Why following ended.
#[derive(Debug)]
pub(super) enum Followed {
    /// It ended, and all its output is here; the sums agree.
    Ended(End),
    /// It ended, and its output is not to be had any more.
    Expired(End),
    /// `--wait` is over, or `--deadline`; the operation goes on.
    Enough(Option<(Limit, Duration)>),
    /// A signal reached us; the operation goes on.
    Signalled(Caught),
    /// Our own output is broken; the operation goes on.
    Output(io::Error),
    /// Our own disk is; the operation goes on.
    Local(Fault),
    /// What the host said changed: its state has to be looked at again.
    Changed(Life),
    /// The program said something else than an end.
    Event(Event),
    /// Nothing more is heard.
    Over(Over),
}

/// Follows. Every byte from the beginning on comes by here once.
pub(super) async fn follow<S: Sink>(
    talk: &mut Talk<'_>,
    spool: &mut Spool,
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
    until: Until,
) -> Followed {
    let mut foreign_since = None;
    loop {
        let said = tokio::select! {
            biased;
            Some(signal) = signals.recv() => return Followed::Signalled(signal),
            said = talk.next() => said,
            limit = over(until) => return Followed::Enough(limit),
        };
        match said {
            Ok(Said::Data(stream, bytes)) => {
                let side = match stream {
                    Stream::Out => Side::Stdout,
                    Stream::Err => Side::Stderr,
                };
                if let Err(fault) = spool.write(side, &bytes) {
                    return Followed::Local(fault);
                }
                if let Some(ended) = pass_on(sink, signals, until, side, bytes).await {
                    return ended;
                }
            }
            Ok(Said::Event(Event::Tick(life))) => match life {
                Life::Running | Life::Orphan => foreign_since = None,
                // It may still show a sign of life: the program looks at its counter.
                Life::Foreign => {
                    let since = *foreign_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > FOREIGN_PATIENCE {
                        return Followed::Changed(life);
                    }
                }
                Life::None | Life::Dead | Life::Done | Life::Fenced => return Followed::Changed(life),
            },
            Ok(Said::Event(Event::End { end, sums, .. })) => return ended(spool, end, sums),
            Ok(Said::Event(event)) => return Followed::Event(event),
            Err(over) => return Followed::Over(over),
        }
    }
}

fn ended(spool: &Spool, end: End, sums: Option<(u32, u32)>) -> Followed {
    if end.flags.expired {
        return Followed::Expired(end);
    }
    let whole = spool.bytes() == (end.out, end.err) && sums.is_none_or(|sums| sums == spool.sums());
    if whole {
        Followed::Ended(end)
    } else {
        // What arrived is not what was written there: it is fetched again.
        Followed::Over(Over::Lost("the output that arrived is not the output there".to_owned()))
    }
}

/// Passes bytes on to our caller, who may be slow: a signal or the end of our time comes first.
async fn pass_on<S: Sink>(
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
    until: Until,
    side: Side,
    bytes: Bytes,
) -> Option<Followed> {
    tokio::select! {
        biased;
        written = sink.write(side, bytes) => written.err().map(Followed::Output),
        Some(signal) = signals.recv() => Some(Followed::Signalled(signal)),
        limit = over(until) => Some(Followed::Enough(limit)),
    }
}

/// Done when our time is.
async fn over(until: Until) -> Option<(Limit, Duration)> {
    let deadline = until.deadline.map(|(at, _)| at);
    let first = match (until.wait, deadline) {
        (Some(wait), Some(deadline)) => wait.min(deadline),
        (Some(at), None) | (None, Some(at)) => at,
        (None, None) => return std::future::pending().await,
    };
    if first > Instant::now() {
        sleep_until(first).await;
    } else {
        // What is there already is heard first: `--wait 0` looks once.
        sleep(Duration::ZERO).await;
    }
    until.deadline.filter(|(at, _)| *at <= Instant::now()).map(|(_, span)| (Limit::Deadline, span))
}
