//! The loop around one command: everything that arrives is taken, whatever we wait for at the same time.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::facts::{Ending, Facts, Mark, StopCause};
use super::input::{Due, Feed, feed};
use super::marker::Scanner;
use super::plan::{Plan, Terminal};
use super::stop::Stopping;
use super::waits::{at, at_once, quiet, silence, when};
use crate::connection::Session;
use crate::connection::channel::{ChannelEvent, ChannelReader, ChannelWriter, PtyModes};
use crate::constants::{SLOW_LINK_BYTES_PER_SEC, START_ANSWER_SECS};
use crate::errors::{Caught, Limit};
use crate::model::sink::{Sink, Stream};
use crate::operation::limits::Limits;
use elevated::Threshold;

mod elevated;

/// How long a blocked reader of our output may take while the command is being stopped.
const BLOCKED_OUTPUT_GRACE: Duration = Duration::from_millis(200);

/// How much is kept of what comes before the command in shell mode: the greetings of shell start-up files.
const NOISE_BYTES: usize = 256 * 1024;

/// How long after a limit the news is looked at once more.
const SECOND_LOOK: Duration = Duration::from_millis(20);
/// How long a request of ours may wait for a session that does not write.
const STUCK: Duration = Duration::from_millis(100);

/// Runs the command and reports what was seen. `signals` brings the signals that reach us.
pub async fn run<S: Sink>(
    session: &Session,
    (reader, writer): (ChannelReader, ChannelWriter),
    plan: Plan,
    limits: Limits,
    sink: &mut S,
    signals: &mut mpsc::Receiver<Caught>,
) -> Facts {
    let sent_before = session.link().bytes_sent();
    let mut runner = Runner {
        session,
        reader,
        writer: Arc::new(writer),
        sink,
        signals,
        scanner: plan.nonce.as_deref().filter(|_| !plan.is_direct()).map(Scanner::new),
        threshold: Threshold::of(&plan),
        due: None,
        held: Vec::new(),
        limit: limits.first(),
        limit_looked_again: false,
        answer_within: None,
        answer: None,
        replies: VecDeque::new(),
        stopping: None,
        discard: false,
        quiet: None,
        facts: Facts::default(),
    };
    if runner.request(&plan).await.is_err() {
        runner.facts.ending = Ending::Lost(session.link().end_reason());
    } else {
        runner.follow(plan).await;
    }
    runner.leave();
    runner.facts.request_written = session.link().bytes_sent() > sent_before;
    runner.facts
}

/// Which request a reply belongs to.
enum Asked {
    Pty,
    Exec,
}

struct Runner<'a, S> {
    session: &'a Session,
    reader: ChannelReader,
    writer: Arc<ChannelWriter>,
    sink: &'a mut S,
    signals: &'a mut mpsc::Receiver<Caught>,
    scanner: Option<Scanner>,
    /// What stands between the request and a command with other rights.
    threshold: Option<Threshold<'a>>,
    /// Tells the feeder what is due.
    due: Option<mpsc::UnboundedSender<Due>>,
    /// What came before the start program's mark.
    held: Vec<(Stream, Bytes)>,
    limit: Option<(Instant, Limit, Duration)>,
    limit_looked_again: bool,
    /// How long the start program may take to answer, once its request was granted.
    answer_within: Option<Duration>,
    /// Runs until it has answered; done when the host is there and nothing of ours is.
    answer: Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
    replies: VecDeque<Asked>,
    stopping: Option<Stopping>,
    /// Output is read and dropped: whoever should take it does not.
    discard: bool,
    /// Runs after the command's end while its streams stay open; done when they have been silent for long enough.
    quiet: Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
    facts: Facts,
}

impl<S: Sink> Runner<'_, S> {
    async fn request(&mut self, plan: &Plan) -> Result<(), crate::connection::channel::SessionEnded> {
        if plan.terminal != Terminal::No {
            let modes = match plan.terminal {
                Terminal::Ours => PtyModes::Raw,
                _ if plan.nonce.is_some() => PtyModes::Transparent,
                _ => PtyModes::Default,
            };
            self.writer.request_pty(modes).await?;
            self.replies.push_back(Asked::Pty);
        }
        for (name, value) in &plan.env {
            self.writer.set_env(name, value).await?;
        }
        self.writer.exec(&plan.request).await?;
        self.replies.push_back(Asked::Exec);
        Ok(())
    }

    async fn follow(&mut self, plan: Plan) {
        let length = plan.prelude.len() as u64 / SLOW_LINK_BYTES_PER_SEC;
        self.answer_within = plan.nonce.as_ref().map(|_| Duration::from_secs(START_ANSWER_SECS + length));
        self.answers_after_threshold();
        let due = plan.nonce.is_some().then(|| {
            let (tell, due) = mpsc::unbounded_channel();
            self.due = Some(tell);
            due
        });
        if self.threshold.is_none() {
            self.tell(Due::Program);
        }
        let parts = Feed { prelude: plan.prelude, due, input: plan.input, pty: plan.terminal == Terminal::Asked };
        let mut feeder = tokio::spawn(feed(Arc::clone(&self.writer), parts));
        let mut feeding = true;
        while !self.is_over() {
            let stop_at = self.stopping.as_ref().map(Stopping::next_at);
            let limit_at = self.limit.map(|(at, ..)| at);
            tokio::select! {
                event = self.reader.next(), if self.facts.ending == Ending::Open => self.take(event).await,
                Some(signal) = self.signals.recv() => self.signalled(signal).await,
                () = at(limit_at), if self.stopping.is_none() => self.limit_is_over().await,
                () = when(&mut self.answer), if self.answer.is_some() => self.unanswered().await,
                () = at(stop_at), if stop_at.is_some() => self.stop_step().await,
                () = when(&mut self.quiet), if self.quiet.is_some() => self.let_go().await,
                () = Threshold::stopped(&mut self.threshold) => {}
                fed = &mut feeder, if feeding => {
                    feeding = false;
                    if let Ok(Err(error)) = fed {
                        self.stop(StopCause::Input(error)).await;
                    }
                }
            }
        }
        feeder.abort();
        if !matches!(self.facts.ending, Ending::Closed | Ending::Lost(_)) {
            // Whether the session still takes it or not: the connection is closed next.
            let _ = tokio::time::timeout(STUCK, self.writer.close()).await;
        }
    }

    /// The command has ended and everything it wrote is here, or nothing more can be seen of it.
    fn is_over(&self) -> bool {
        match self.facts.ending {
            Ending::Open | Ending::Closed if self.is_being_stopped() => false,
            Ending::Open => self.facts.refused || (self.facts.ended() && self.facts.eof),
            _ => true,
        }
    }

    async fn take(&mut self, event: ChannelEvent) {
        if !matches!(event, ChannelEvent::Data(..)) {
            log::debug!("channel: {event:?}");
        }
        match event {
            ChannelEvent::Data(stream, data) => {
                self.quiet = None;
                self.output(stream, data).await;
            }
            ChannelEvent::Granted | ChannelEvent::Refused => {
                let granted = matches!(event, ChannelEvent::Granted);
                match self.replies.pop_front() {
                    Some(Asked::Pty) => self.facts.pty_refused = !granted,
                    Some(Asked::Exec) if granted => {
                        self.facts.granted = true;
                        self.await_answer();
                    }
                    Some(Asked::Exec) => self.facts.refused = true,
                    None => {}
                }
            }
            // A server that sends several is not believed twice.
            ChannelEvent::ExitStatus(status) => {
                if !self.facts.ended() {
                    self.facts.exit_status = Some(status);
                }
            }
            ChannelEvent::ExitSignal(signal) => {
                if !self.facts.ended() {
                    self.facts.exit_signal = Some(signal);
                }
            }
            ChannelEvent::Eof => self.facts.eof = true,
            ChannelEvent::Closed => self.facts.ending = Ending::Closed,
            ChannelEvent::Lost(reason) => self.facts.ending = Ending::Lost(reason),
        }
        if self.facts.ended() && !self.facts.eof && self.quiet.is_none() && !self.stops_elevated() {
            self.quiet = Some(Box::pin(quiet(self.session)));
        }
    }

    async fn output(&mut self, stream: Stream, data: Bytes) {
        let data = self.past_threshold(stream, data).await;
        self.told(stream, data).await;
    }

    /// What comes from the start program and the command.
    async fn told(&mut self, stream: Stream, data: Bytes) {
        if data.is_empty() {
            return;
        }
        let Some(scanner) = &mut self.scanner else { return self.deliver(stream, data).await };
        if self.facts.mark == Some(Mark::Start) {
            return self.deliver(stream, data).await;
        }
        let (before, after) = match stream {
            Stream::Stdout => scanner.pass(data),
            Stream::Stderr => (data, Bytes::new()),
        };
        self.facts.mark = scanner.found();
        match self.facts.mark {
            None => self.hold(stream, before),
            Some(Mark::Start) => {
                self.tell(Due::Word);
                self.release().await;
                self.deliver(stream, before).await;
                self.deliver(stream, after).await;
            }
            // The start program says why it gives up.
            Some(Mark::Cwd | Mark::Short | Mark::Staging) => self.facts.aside.add(&after),
        }
    }

    fn tell(&self, due: Due) {
        if let Some(feeder) = &self.due {
            // A feeder that is gone has nothing to send.
            let _ = feeder.send(due);
        }
    }

    /// What the account's shell says on its way is part of the output, as it is without us.
    async fn release(&mut self) {
        for (stream, noise) in std::mem::take(&mut self.held) {
            self.deliver(stream, noise).await;
        }
    }

    /// Keeps what comes before the command: noise if it still starts, else the words of whatever answered instead of it.
    fn hold(&mut self, stream: Stream, noise: Bytes) {
        self.facts.aside.add(&noise);
        let held: usize = self.held.iter().map(|(_, noise)| noise.len()).sum();
        if !noise.is_empty() && held + noise.len() <= NOISE_BYTES {
            self.held.push((stream, noise));
        }
    }

    async fn deliver(&mut self, stream: Stream, data: Bytes) {
        if data.is_empty() {
            return;
        }
        self.facts.output = true;
        match stream {
            Stream::Stdout => self.facts.stdout_opening.add(&data),
            Stream::Stderr => self.facts.stderr_opening.add(&data),
        }
        if self.discard {
            return;
        }
        let limit_at = self.limit.map(|(at, ..)| at);
        let stopping = self.stopping.is_some();
        tokio::select! {
            biased;
            written = self.sink.write(stream, data) => {
                if let Err(error) = written {
                    self.discard = true;
                    self.stop(StopCause::Output(error)).await;
                }
            }
            // Somebody holds our output up. Nothing else can be read meanwhile, so these come first.
            Some(signal) = self.signals.recv() => {
                self.discard = true;
                self.signalled(signal).await;
            }
            () = at(limit_at), if !stopping => {
                self.discard = true;
                self.limit_is_over().await;
            }
            () = sleep(BLOCKED_OUTPUT_GRACE), if stopping => self.discard = true,
        }
    }

    async fn signalled(&mut self, signal: Caught) {
        if self.stopping.is_some() {
            // The second one: at once.
            self.facts.ending = Ending::GaveUp;
            return;
        }
        self.stop(StopCause::Signal(signal)).await;
    }

    /// The streams were silent, and the probe was answered. What the server sent before its answer has arrived, but may still
    /// wait to be taken: the answer is told by another way.
    async fn let_go(&mut self) {
        self.quiet = None;
        match tokio::task::unconstrained(at_once(self.reader.next())).await {
            Some(event) => self.take(event).await,
            None => self.facts.ending = Ending::LetGo,
        }
    }

    /// The host answers, and the start program does not: there is none.
    async fn unanswered(&mut self) {
        self.answer = None;
        if self.facts.mark.is_some() {
            return;
        }
        match tokio::task::unconstrained(at_once(self.reader.next())).await {
            Some(event) => {
                self.take(event).await;
                self.await_answer();
            }
            None => self.unheard().await,
        }
    }

    fn await_answer(&mut self) {
        let session = self.session;
        self.answer = self.answer_within.map(|span| Box::pin(silence(session, span)) as _);
    }

    async fn limit_is_over(&mut self) {
        if !self.limit_looked_again {
            // A process that was stopped itself finds its timers over before the news that arrived meanwhile.
            self.limit_looked_again = true;
            self.limit = self.limit.map(|(_, limit, span)| (Instant::now() + SECOND_LOOK, limit, span));
            return;
        }
        let Some((_, limit, span)) = self.limit.take() else { return };
        if self.facts.ended() {
            // It ended by itself; what still writes is something it left behind.
            self.facts.ending = Ending::LetGo;
            return;
        }
        self.stop(StopCause::Limit(limit, span)).await;
    }

    async fn stop(&mut self, cause: StopCause) {
        if self.stopping.is_some() {
            return;
        }
        self.stopping = Some(Stopping::for_cause(&cause));
        self.facts.stopped = Some(cause);
        if self.turn_back() {
            // Nothing began, and without our input nothing will.
            self.facts.ending = Ending::GaveUp;
            return;
        }
        self.stop_step().await;
    }

    async fn stop_step(&mut self) {
        let step = self.stopping.as_mut().and_then(Stopping::step);
        let ours = step.is_none_or(|signal| self.signal_elevated(signal));
        match step {
            Some(signal) if ours && !self.facts.ended() => {
                log::info!("asking the server for SIG{signal:?}");
                // A session that is gone shows itself to the reader, and one that is stuck must not keep us.
                let _ = tokio::time::timeout(STUCK, self.writer.signal(signal)).await;
            }
            Some(_) => {}
            None if self.is_being_stopped() && self.stopping.as_mut().is_some_and(Stopping::waits_longer) => {}
            None => {
                self.reach_after_all().await;
                self.facts.ending = Ending::GaveUp;
            }
        }
    }
}
