//! The conversation of [`super`] on a session channel: what is said goes out in order while everything is heard.

use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::door::{Door, Step};
use super::program::{Prologue, loader, program, reader as reader_of};
use super::request::Request;
use super::wire::{Broken, Event, Heard, Parser, Stream};
use crate::connection::Session;
use crate::connection::channel::{ChannelEvent, ChannelReader, ChannelWriter};
use crate::constants::{SLOW_LINK_BYTES_PER_SEC, START_ANSWER_SECS};
use crate::model::sink::Stream as Side;
use crate::operation::elevate::line::Line;
use crate::operation::elevate::{Dialogue, Elevated};
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
    /// What gives the rights did not.
    Barred(Dialogue),
    /// The channel was closed in order; before HELLO, nothing there was the program.
    Closed,
    /// The host answers, and the program does not: there is none.
    Silent,
    /// What was said is not what the program says.
    Broken(Broken),
    /// The connection is gone, for this reason.
    Lost(String),
}

/// What is sent, in order.
enum Word {
    Bytes(Bytes),
    End,
}

/// One conversation.
pub struct Talk<'a> {
    session: &'a Session,
    reader: ChannelReader,
    mouth: mpsc::UnboundedSender<Word>,
    feeder: JoinHandle<()>,
    /// Until the rights are there.
    door: Option<Door>,
    /// Until it is sent.
    program: Option<String>,
    parser: Parser,
    /// Heard, and not taken apart yet.
    rest: Bytes,
    alive: tokio::time::Interval,
    aside: Vec<u8>,
    greeted: bool,
    /// How long the program may take to greet, and when that is over: what else is said or heard meanwhile changes nothing.
    greeting_within: Duration,
    greeting_by: Instant,
    ended: Option<Over>,
}

impl<'a> Talk<'a> {
    /// Asks for the program and sends it, with other rights as soon as those are there. What it says first is the first thing
    /// heard. The only error is a NUL in the name of a user.
    pub async fn begin(
        session: &'a Session,
        (reader, writer): (ChannelReader, ChannelWriter),
        prologue: &Prologue<'_>,
        elevated: Option<(&Elevated, bool)>,
    ) -> Result<Self, shlex::QuoteError> {
        let program = program(prologue);
        let (request, door) = match elevated {
            None => (loader(&program, prologue.nonce).into_bytes(), None),
            Some((elevated, login)) => {
                let line = Line { elevated, nonce: prologue.nonce, login };
                // What the line needed the words for is done; the program would take them for its own.
                let reader = format!("set --; {}", reader_of(&program, prologue.nonce));
                (line.run(&reader)?, Some(Door::new(elevated, prologue.nonce)))
            }
        };
        // A session that is gone already shows itself to the reader.
        let _ = writer.exec(&request).await;
        let (mouth, mut words) = mpsc::unbounded_channel();
        let feeder = tokio::spawn(async move {
            while let Some(word) = words.recv().await {
                let sent = match word {
                    Word::Bytes(bytes) => writer.send(bytes).await,
                    Word::End => writer.eof().await,
                };
                if sent.is_err() {
                    return;
                }
            }
            let _ = writer.eof().await;
        });
        let mut alive = interval_at(Instant::now() + ALIVE_EVERY, ALIVE_EVERY);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let slowly = program.len() as u64 / SLOW_LINK_BYTES_PER_SEC;
        let greeting_within = Duration::from_secs(START_ANSWER_SECS + slowly);
        let is_barred = door.is_some();
        let mut talk = Self {
            session,
            reader,
            mouth,
            feeder,
            door,
            program: Some(program),
            parser: Parser::new(prologue.nonce),
            rest: Bytes::new(),
            alive,
            aside: Vec::new(),
            greeted: false,
            greeting_within,
            greeting_by: Instant::now() + greeting_within,
            ended: None,
        };
        if !is_barred {
            talk.send_program();
        }
        Ok(talk)
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
        let _ = self.mouth.send(Word::Bytes(bytes));
    }

    fn send_program(&mut self) {
        if let Some(program) = self.program.take() {
            self.greeting_by = Instant::now() + self.greeting_within;
            self.send(program.into());
        }
    }

    /// The offsets from which data is expected next, as an ATTACH asks for it.
    pub fn expect(&mut self, out: u64, err: u64) {
        self.parser.expect(out, err);
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
            let is_barred = self.door.as_ref().is_some_and(|door| !door.is_open());
            let no_greeting = self.greeting_by.saturating_duration_since(Instant::now());
            let event = tokio::select! {
                event = self.reader.next() => event,
                _ = self.alive.tick(), if !is_barred => {
                    self.say(&Request::Alive);
                    continue;
                }
                () = unheard(self.door.as_ref()), if is_barred => {
                    self.unheard();
                    continue;
                }
                () = silence(self.session, no_greeting), if !self.greeted && !is_barred => {
                    self.ended = Some(Over::Silent);
                    continue;
                }
            };
            match event {
                ChannelEvent::Data(stream, data) => {
                    let data = if is_barred { self.past_door(stream, data) } else { data };
                    match stream {
                        Side::Stdout => self.rest = data,
                        Side::Stderr => {
                            let room = ASIDE_BYTES - self.aside.len();
                            self.aside.extend_from_slice(&data[..room.min(data.len())]);
                        }
                    }
                }
                ChannelEvent::Refused => self.ended = Some(Over::Refused),
                ChannelEvent::Closed => self.ended = Some(self.closed()),
                ChannelEvent::Lost(reason) => self.ended = Some(Over::Lost(reason)),
                ChannelEvent::Granted
                | ChannelEvent::Eof
                | ChannelEvent::ExitStatus(_)
                | ChannelEvent::ExitSignal(_) => {}
            }
        }
    }

    /// What of this output comes from behind the door.
    fn past_door(&mut self, stream: Side, data: Bytes) -> Bytes {
        let Some(door) = &mut self.door else { return data };
        let (steps, rest) = door.see(stream, data);
        for step in steps {
            self.take_step(step);
        }
        rest
    }

    fn unheard(&mut self) {
        match self.door.as_mut().and_then(Door::unheard) {
            Some(step) => self.take_step(step),
            None => self.ended = Some(self.closed()),
        }
    }

    fn take_step(&mut self, step: Step) {
        match step {
            Step::Send(bytes) => self.send(bytes),
            Step::End => drop(self.mouth.send(Word::End)),
            Step::Open => self.send_program(),
        }
    }

    fn closed(&mut self) -> Over {
        match self.door.take_if(|door| !door.is_open()) {
            Some(door) => Over::Barred(door.end()),
            None => Over::Closed,
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

async fn unheard(door: Option<&Door>) {
    match door {
        Some(door) => door.silence().await,
        None => std::future::pending().await,
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
