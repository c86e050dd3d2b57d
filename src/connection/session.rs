//! An authenticated session, and what it was reached through.

use std::sync::Arc;
use std::time::Duration;

use russh::client::{Handle, Msg};
use russh::{ChannelOpenFailure, ChannelStream};

use super::channel::{self, ChannelReader, ChannelWriter};
use super::handler::Guard;
use super::link::Link;
use super::patience::Patience;
use super::proxy::ProxyWitness;
use crate::errors::Fault;
use crate::model::outcome::Phase;

/// How long the farewell may take before the process ends without it.
const FAREWELL: Duration = Duration::from_millis(250);

/// An authenticated connection. Dropped, it is gone, and what it was reached through after it.
pub struct Session {
    handle: Handle<Guard>,
    link: Arc<Link>,
    name: String,
    // Held, not used: without them the connection ends.
    _proxy: Option<ProxyWitness>,
    before: Option<Box<Session>>,
}

impl Session {
    pub(super) fn new(
        handle: Handle<Guard>,
        link: Arc<Link>,
        name: String,
        proxy: Option<ProxyWitness>,
        before: Option<Session>,
    ) -> Self {
        Self { handle, link, name, _proxy: proxy, before: before.map(Box::new) }
    }

    pub(super) fn handle_mut(&mut self) -> &mut Handle<Guard> {
        &mut self.handle
    }

    /// `user@host:port`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What the server said and showed.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// A connection from there to another host (RFC 4254 section 7.2).
    pub(super) async fn forward(&self, host: &str, port: u16) -> Result<ChannelStream<Msg>, russh::Error> {
        let opened = self.handle.channel_open_direct_tcpip(host, u32::from(port), "127.0.0.1", 0).await?;
        Ok(opened.into_stream())
    }

    /// Opens a session channel (RFC 4254 section 6.1).
    pub async fn open_channel(
        &self,
        patience: &Patience,
        address: &str,
    ) -> Result<(ChannelReader, ChannelWriter), Fault> {
        match patience.within(address, Phase::Channel, self.handle.channel_open_session()).await? {
            Ok(channel) => Ok(channel::split(channel, Arc::clone(&self.link))),
            Err(russh::Error::ChannelOpenFailure(reason)) => Err(open_fault(&reason)),
            Err(_) => Err(Fault::ConnectionLost { phase: Phase::Channel, problem: self.link.end_reason() }),
        }
    }

    /// Asks the server for a sign of life and waits for it. The error: the connection is gone.
    pub async fn ping(&self) -> Result<(), channel::SessionEnded> {
        self.handle.send_ping().await?;
        // russh also returns when the session ends before the answer.
        if self.handle.is_closed() { Err(channel::SessionEnded) } else { Ok(()) }
    }

    /// Goes without a goodbye, from the last hop first, when all that was said has been handed to the kernel: sshd drops what it
    /// has not passed on to the command when it reads `SSH_MSG_DISCONNECT`, and passes it on when the stream just ends. No
    /// channel of it may be held any more.
    pub async fn leave(self) {
        let parting = async {
            let mut next = Some(Box::new(self));
            while let Some(session) = next {
                let Session { handle, link, before, _proxy, .. } = *session;
                drop(handle);
                link.rests().await;
                next = before;
            }
        };
        let _ = tokio::time::timeout(FAREWELL, parting).await;
    }

    /// Says goodbye, to the last hop first, and gives the sessions a moment to send it.
    pub async fn close(self) {
        let farewell = async {
            let mut next = Some(Box::new(self));
            while let Some(session) = next {
                let Session { handle, before, _proxy, .. } = *session;
                if handle.disconnect(russh::Disconnect::ByApplication, "", "").await.is_ok() {
                    // How it ends is of no interest any more.
                    let _ = handle.await;
                }
                next = before;
            }
        };
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
    }
}

/// A channel that the server does not open: for lack of room, which passes, or by its rules, which stay.
fn open_fault(reason: &ChannelOpenFailure) -> Fault {
    let problem = reason.description().to_owned();
    match reason {
        // sshd answers `MaxSessions` with the last of these: a session that it does not open now may be opened when another
        // has ended.
        ChannelOpenFailure::ResourceShortage
        | ChannelOpenFailure::ConnectFailed
        | ChannelOpenFailure::AdministrativelyProhibited => Fault::SessionLimit { problem },
        ChannelOpenFailure::UnknownChannelType | ChannelOpenFailure::Other { .. } => Fault::ExecRefused,
    }
}
