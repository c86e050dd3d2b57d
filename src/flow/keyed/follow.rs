//! Following an operation on the host: what it says goes to our caller and into the spool, until it ends or we do.

use std::io;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::spool::Spool;
use crate::errors::{Caught, Fault};
use crate::model::sink::{Sink, Stream as Side};
use crate::operation::durable::talk::{Over, Said, Talk};
use crate::operation::durable::wire::{End, Event, State, Stream};

/// How far output was passed on to our caller: what a sink has that cannot take it back is not given to it twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::flow) struct Passed {
    /// So much of each stream is left out before any is passed on.
    skip: [u64; 2],
    /// So much of each came by.
    seen: [u64; 2],
}

impl Passed {
    /// Anything was.
    pub(super) fn is_any(self) -> bool {
        self.seen != [0, 0]
    }

    /// The same again, from the beginning: for a sink that has it, or for one that forgot it.
    pub(super) fn again(self, has_it: bool) -> Self {
        let have = |stream: usize| self.seen[stream].max(self.skip[stream]);
        Self { skip: if has_it { [have(0), have(1)] } else { [0, 0] }, seen: [0, 0] }
    }

    /// What of these bytes is new to the sink.
    fn news(&mut self, stream: Stream, mut bytes: Bytes) -> Bytes {
        let at = stream as usize;
        let known = self.skip[at].saturating_sub(self.seen[at]).min(bytes.len() as u64);
        self.seen[at] += bytes.len() as u64;
        bytes.advance(usize::try_from(known).unwrap_or(bytes.len()));
        bytes
    }
}

/// How long we follow.
#[derive(Clone, Copy, Debug)]
pub(in crate::flow) struct Until {
    /// `--wait`; none where the end is there to be fetched.
    pub(in crate::flow) wait: Option<Instant>,
    /// `--deadline`: of this invocation, not of the operation.
    pub(in crate::flow) deadline: Option<Instant>,
}

/// Why following ended.
#[derive(Debug)]
pub(in crate::flow) enum Followed {
    /// It ended. Where its bytes are there still, all of them are here, and the sums agree.
    Ended(End),
    /// Our time is over; the operation goes on.
    Enough,
    /// A signal reached us; the operation goes on.
    Signalled(Caught),
    /// Our own output is broken; the operation goes on.
    Output(io::Error),
    /// Our own disk is; the operation goes on.
    Local(Fault),
    /// There is nothing to follow (any more).
    Stands(State),
    /// What arrived is not what was written there.
    Differs,
    /// Nothing more is heard.
    Over(Over),
}

/// Follows. Every byte from the beginning on comes by here once.
pub(in crate::flow) async fn follow<S: Sink>(
    talk: &mut Talk<'_>,
    spool: &mut Spool,
    passed: &mut Passed,
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
    until: Until,
) -> Followed {
    loop {
        let said = tokio::select! {
            biased;
            Some(signal) = signals.recv() => return Followed::Signalled(signal),
            said = talk.next() => said,
            () = over(until) => return Followed::Enough,
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
                let news = passed.news(stream, bytes);
                if !news.is_empty()
                    && let Some(ended) = pass_on(sink, signals, until, side, news).await
                {
                    return ended;
                }
            }
            // A sign of life.
            Ok(Said::Event(Event::Tick(_))) => {}
            Ok(Said::Event(Event::End { end, sums, .. })) => return ended(spool, end, sums),
            Ok(Said::Event(Event::State(state))) => return Followed::Stands(state),
            Ok(Said::Event(event)) => return Followed::Over(unexpected(&event)),
            Err(over) => return Followed::Over(over),
        }
    }
}

/// What the program says only where it is not asked for it.
pub(in crate::flow) fn unexpected(event: &Event) -> Over {
    Over::Lost(format!("the program on the host said what it was not asked: {event:?}"))
}

fn ended(spool: &Spool, end: End, sums: Option<(u32, u32)>) -> Followed {
    let whole = spool.bytes() == (end.out, end.err) && sums.is_none_or(|sums| sums == spool.sums());
    if end.flags.expired || whole { Followed::Ended(end) } else { Followed::Differs }
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
        () = over(until) => Some(Followed::Enough),
    }
}

/// Done when our time is.
async fn over(until: Until) {
    let first = match (until.wait, until.deadline) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sink_has_is_not_given_to_it_twice() {
        let mut passed = Passed::default();
        assert_eq!(passed.news(Stream::Out, Bytes::from_static(b"abc")), "abc");
        let mut again = passed.again(true);
        assert_eq!(again.news(Stream::Out, Bytes::from_static(b"ab")), "");
        assert_eq!(again.news(Stream::Out, Bytes::from_static(b"cd")), "d");
        assert_eq!(again.news(Stream::Err, Bytes::from_static(b"x")), "x");
        // Cut once more, before it came so far as the first time.
        let mut third = passed.again(true).again(true);
        assert_eq!(third.news(Stream::Out, Bytes::from_static(b"abcd")), "d");
        let mut forgotten = passed.again(false);
        assert_eq!(forgotten.news(Stream::Out, Bytes::from_static(b"abc")), "abc");
        assert!(passed.is_any() && !Passed::default().is_any());
    }
}
