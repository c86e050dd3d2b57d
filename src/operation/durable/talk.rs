//! The conversation of [`super`] on a session channel: what is said goes out in order while everything is heard.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::program::{Prologue, loader, program};
use super::request::Request;
use super::wire::{Broken, Event, Heard, Parser, Stream};
use crate::connection::Session;
use crate::connection::channel::{ChannelEvent, ChannelReader, ChannelWriter};
use crate::constants::{SLOW_LINK_BYTES_PER_SEC, START_ANSWER_SECS};
use crate::model::sink::Stream as Side;
use crate::operation::exec::waits::silence;

/// How often the program is told that we are still here; it goes after 45 seconds without.
const ALIVE_EVERY: Duration = Duration::from_secs(10);
/// How much of what the log-in writes to standard error is kept, to tell what answered instead of the program.
const ASIDE_BYTES: usize = 2048;

/// What was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Output of the command; each stream without gaps from where it was asked for.
    Data(Stream, Bytes),
    /// Anything else.
    Event(Event),
}

/// Why nothing more is heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// The server refused to run a command.
    Refused,
    /// The channel was closed in order; before HELLO, nothing there was the program.
    Closed,
    /// The host answers, and the program does not: there is none.
    Silent,
    /// What was said is not what the program says.
    Broken(Broken),
    /// The connection is gone, for this reason.
    Lost(String),
}

/// One conversation.
pub struct Talk<'a> {
    session: &'a Session,
    reader: ChannelReader,
    mouth: mpsc::UnboundedSender<Bytes>,
    feeder: JoinHandle<()>,
    parser: Parser,
    /// Heard, and not taken apart yet.
    rest: Bytes,
    alive: tokio::time::Interval,
    aside: Vec<u8>,
    greeted: bool,
    /// How long the program may take to greet.
    greeting_within: Duration,
    ended: Option<Over>,
}

impl<'a> Talk<'a> {
    /// Asks for the program and sends it. What it says first is the first thing heard.
    pub async fn begin(
        session: &'a Session,
        (reader, writer): (ChannelReader, ChannelWriter),
        prologue: &Prologue<'_>,
    ) -> Self {
        let program = program(prologue);
        // A session that is gone already shows itself to the reader.
        let _ = writer.exec(loader(&program, prologue.nonce).as_bytes()).await;
        let (mouth, mut words) = mpsc::unbounded_channel::<Bytes>();
        let writer = Arc::new(writer);
        let feeder = tokio::spawn(async move {
            while let Some(words) = words.recv().await {
                if writer.send(words).await.is_err() {
                    return;
                }
            }
            let _ = writer.eof().await;
        });
        let mut alive = interval_at(Instant::now() + ALIVE_EVERY, ALIVE_EVERY);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let greeting_within = START_ANSWER_SECS + program.len() as u64 / SLOW_LINK_BYTES_PER_SEC;
        let talk = Self {
            session,
            reader,
            mouth,
            feeder,
            parser: Parser::new(prologue.nonce),
            rest: Bytes::new(),
            alive,
            aside: Vec::new(),
            greeted: false,
            greeting_within: Duration::from_secs(greeting_within),
            ended: None,
        };
        talk.send(program.into());
        talk
    }

    /// Says a line.
    pub fn say(&self, request: &Request<'_>) {
        if let Request::Attach { out, err, .. } = request {
            log::debug!("following from {out} and {err}");
        }
        self.send(request.line().into());
    }

    /// Sends bytes that belong to a line.
    pub fn send(&self, bytes: Bytes) {
        // Where nobody takes it, the connection is gone, and the reader says why.
        let _ = self.mouth.send(bytes);
    }

    /// The offsets from which data is expected next, as an ATTACH asks for it.
    pub fn expect(&mut self, out: u64, err: u64) {
        self.parser.expect(out, err);
    }

    /// How many bytes of each stream are here, counted from their beginning.
    pub fn received(&self) -> (u64, u64) {
        self.parser.received()
    }

    /// What was said before the program, or instead of it.
    pub fn noise(&self) -> String {
        let noise = [self.parser.noise(), &self.aside].concat();
        String::from_utf8_lossy(&noise).trim().to_owned()
    }

    /// What is heard next. After an end it is that again. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Said, Over> {
        loop {
            if let Some(said) = self.taken_apart() {
                return said;
            }
            if let Some(over) = &self.ended {
                return Err(over.clone());
            }
            let event = tokio::select! {
                event = self.reader.next() => event,
                _ = self.alive.tick() => {
                    self.say(&Request::Alive);
                    continue;
                }
                () = silence(self.session, self.greeting_within), if !self.greeted => {
                    self.ended = Some(Over::Silent);
                    continue;
                }
            };
            match event {
                ChannelEvent::Data(Side::Stdout, data) => self.rest = data,
                ChannelEvent::Data(Side::Stderr, data) => {
                    let room = ASIDE_BYTES - self.aside.len();
                    self.aside.extend_from_slice(&data[..room.min(data.len())]);
                }
                ChannelEvent::Refused => self.ended = Some(Over::Refused),
                ChannelEvent::Closed => self.ended = Some(Over::Closed),
                ChannelEvent::Lost(reason) => self.ended = Some(Over::Lost(reason)),
                ChannelEvent::Granted
                | ChannelEvent::Eof
                | ChannelEvent::ExitStatus(_)
                | ChannelEvent::ExitSignal(_) => {}
            }
        }
    }

    /// The next thing in what is here already.
    fn taken_apart(&mut self) -> Option<Result<Said, Over>> {
        let mut left: &[u8] = &self.rest;
        let before = left.len();
        let heard = self.parser.next(&mut left);
        let used = before - left.len();
        let said = match heard {
            Some(Ok(Heard::Data { stream, bytes, .. })) => {
                let data = self.rest.slice(used - bytes.len()..used);
                Some(Ok(Said::Data(stream, data)))
            }
            Some(Ok(Heard::Said(event))) => {
                self.greeted = true;
                Some(Ok(Said::Event(event)))
            }
            Some(Err(broken)) => {
                self.ended = Some(Over::Broken(broken));
                None
            }
            None => None,
        };
        self.rest.advance(used);
        said
    }

    /// Says goodbye; the program goes by itself where that does not arrive.
    pub fn end(self) {
        self.say(&Request::Bye);
    }
}

impl Drop for Talk<'_> {
    fn drop(&mut self) {
        // What was said last may still be on its way: the session is closed after it, or the connection is gone.
        if self.ended.is_some() {
            self.feeder.abort();
        }
    }
}
