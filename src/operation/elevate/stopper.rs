//! The end of a command that is not ours to signal: sshd signals as the account, and the command runs as somebody else. So it
//! is asked for through the same program, on a second channel of the same session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::gate::{Cue, Gate};
use super::line::Line;
use super::{Elevated, Place};
use crate::connection::channel::{ChannelEvent, ChannelWriter, PtyModes, SessionEnded, StopSignal};
use crate::connection::{Patience, Session};
use crate::model::sink::Stream;
use crate::operation::exec::marker::{Scanner, Word};

/// How long a server may take to open the channel.
const OPENING: Duration = Duration::from_secs(3);

const GONE: [Word<()>; 1] = [(b"gone;", ())];

/// What has to be stopped, and how it is reached.
#[derive(Clone, Debug)]
pub struct Stopper {
    /// By whom and as whom.
    pub elevated: Elevated,
    /// Where it runs.
    pub place: Place,
    /// The program needed a terminal.
    pub terminal: bool,
}

impl Stopper {
    /// Passes the signals on until there are no more. `is_gone` becomes true when nothing is left of the group.
    pub async fn run(self, session: &Session, signals: mpsc::UnboundedReceiver<StopSignal>, is_gone: Arc<AtomicBool>) {
        if self.pass_on(session, signals, &is_gone).await.is_err() {
            log::info!("the second channel ended");
        }
    }

    async fn pass_on(
        &self,
        session: &Session,
        mut signals: mpsc::UnboundedReceiver<StopSignal>,
        is_gone: &AtomicBool,
    ) -> Result<(), SessionEnded> {
        let nonce = &self.elevated.stop_nonce;
        let line = Line { elevated: &self.elevated, nonce, login: false };
        let Ok(request) = line.stop(self.place) else { return Ok(()) };
        let patience = Patience::new(Some(OPENING), None);
        let (mut reader, writer) = match session.open_channel(&patience, "").await {
            Ok(channel) => channel,
            Err(fault) => {
                log::info!("no second channel to stop the command by: {fault}");
                return Ok(());
            }
        };
        if self.terminal {
            writer.request_pty(PtyModes::Raw).await?;
        }
        writer.exec(&request).await?;
        let mut gate = Gate::new(&self.elevated, nonce);
        let mut gone = Scanner::of(nonce, &GONE);
        loop {
            tokio::select! {
                event = reader.next() => match event {
                    ChannelEvent::Data(stream, data) => {
                        let rest = if gate.is_open() {
                            data
                        } else {
                            let seen = gate.see(stream, data);
                            answer(&writer, seen.cues).await?;
                            seen.rest
                        };
                        if stream == Stream::Stdout {
                            gone.pass(rest);
                            if gone.take().is_some() {
                                is_gone.store(true, Ordering::Relaxed);
                                return Ok(());
                            }
                        }
                    }
                    ChannelEvent::Closed | ChannelEvent::Lost(_) | ChannelEvent::Refused => return Ok(()),
                    _ => {}
                },
                Some(signal) = signals.recv(), if gate.is_open() => {
                    log::info!("asking for SIG{} with the same rights", signal.name());
                    writer.send(format!("{}\n", signal.name()).into()).await?;
                }
            }
        }
    }
}

async fn answer(writer: &ChannelWriter, cues: Vec<Cue>) -> Result<(), SessionEnded> {
    for cue in cues {
        match cue {
            Cue::Answer(password) => writer.send(password_line(&password)).await?,
            Cue::HangUp => writer.eof().await?,
            Cue::Open => {}
        }
    }
    Ok(())
}

/// The password as a line, wiped when it was sent.
pub fn password_line(password: &crate::secret::Secret) -> Bytes {
    let mut line = zeroize::Zeroizing::new(Vec::with_capacity(password.expose().len() + 1));
    line.extend_from_slice(password.expose());
    line.push(b'\n');
    Bytes::from_owner(line)
}
