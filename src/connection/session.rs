//! From a target to an authenticated session with an open channel.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use russh::ChannelOpenFailure;
use russh::client::{Handle, connect_stream};
use tokio::io::BufReader;
use tokio::time::Instant;

use super::auth::{self, Keyring};
use super::channel::{self, ChannelReader, ChannelWriter};
use super::dial;
use super::handler::{Guard, Judge, LinkError, describe};
use super::link::Link;
use super::patience::Patience;
use super::settings;
use super::wire::Wire;
use crate::errors::Fault;
use crate::model::outcome::{Phase, Warning};
use crate::model::timing::{Millis, Timing};
use crate::target::Target;
use crate::target::secrets::SecretStore;

/// One read takes what the kernel has, instead of a few bytes for each packet's length.
const READ_BUFFER_BYTES: usize = 256 * 1024;
/// How long the farewell may take before the process ends without it.
const FAREWELL: Duration = Duration::from_millis(250);

/// What is known of a connection, also of one that failed.
#[derive(Debug, Default)]
pub struct Progress {
    /// The addresses that there are.
    pub addresses: Vec<SocketAddr>,
    /// The address that answered.
    pub address: Option<SocketAddr>,
    /// What the server said and showed.
    pub link: Arc<Link>,
    /// The method that was accepted.
    pub auth: Option<String>,
    /// What was offered.
    pub tried: Vec<String>,
    /// The methods that the server accepts, as it last said.
    pub accepted: Option<Vec<String>>,
    /// How long each phase took.
    pub timing: Timing,
    /// Worth saying.
    pub warnings: Vec<Warning>,
}

/// An authenticated connection.
pub struct Session {
    handle: Handle<Guard>,
    link: Arc<Link>,
}

/// Connects and authenticates. `progress` says how far it came, whatever the result.
pub async fn connect(
    target: &Target,
    keyring: &Keyring,
    secrets: &SecretStore,
    patience: &mut Patience,
    progress: &mut Progress,
) -> Result<Session, Fault> {
    let named = format!("{}:{}", target.host, target.port);
    let keepalive =
        Some((target.keepalive_interval, target.keepalive_count)).filter(|(interval, _)| !interval.is_zero());
    let lost_after = keepalive.filter(|(_, count)| *count > 0).map(|(interval, count)| interval.saturating_mul(count));

    let clock = Instant::now();
    let addresses = patience.within(&named, Phase::Resolve, dial::lookup(&target.host, target.port)).await??;
    log::info!("{named}: {} address(es)", addresses.len());
    progress.timing.resolve = Some(Millis(clock.elapsed()));
    progress.addresses.clone_from(&addresses);

    let clock = Instant::now();
    let (stream, address) = patience.within(&named, Phase::Connect, dial::connect(&addresses, lost_after)).await??;
    progress.timing.connect = Some(Millis(clock.elapsed()));
    log::info!("connected to {address}");
    progress.address = Some(address);

    let clock = Instant::now();
    let (known, warnings) = target.host_keys.load();
    progress.warnings.extend(warnings);
    let config = settings::config(&known.known_types(), !known.authorities().is_empty(), keepalive);
    let link = Arc::clone(&progress.link);
    let judge = Judge { host: target.host.clone(), rules: target.host_keys.clone(), known };
    let wire = BufReader::with_capacity(READ_BUFFER_BYTES, Wire::new(stream, Arc::clone(&link), lost_after));
    let handshake = connect_stream(Arc::new(config), wire, Guard { link: Arc::clone(&link), judge });
    let met = patience.within(&named, Phase::Handshake, handshake).await;
    let handle = match met {
        Ok(Ok(handle)) => handle,
        Ok(Err(LinkError::Refused(fault))) => return Err(*fault),
        Ok(Err(LinkError::Russh(error))) => return Err(handshake_fault(&error, &link, address)),
        // What has spoken, and not SSH, will not begin to.
        Err(late) => return Err(not_ssh(&link, address).unwrap_or(late)),
    };
    if let Some(server) = link.server_id() {
        log::info!("keys exchanged with {server}");
    }
    if let Some(key) = link.host_key_seen() {
        log::info!("host key {}: {}", key.status, key.shown);
    }
    progress.timing.handshake = Some(Millis(clock.elapsed()));

    let clock = Instant::now();
    let mut session = Session { handle, link };
    let accepted = auth::authenticate(&mut session.handle, target, keyring, secrets, patience, progress).await;
    progress.warnings.extend(progress.link.take_warnings());
    let accepted = accepted?;
    log::info!("authenticated by {accepted}");
    progress.auth = Some(accepted);
    progress.timing.auth = Some(Millis(clock.elapsed()));
    Ok(session)
}

fn not_ssh(link: &Link, address: SocketAddr) -> Option<Fault> {
    link.foreign_greeting().map(|got| Fault::NotSsh { address: address.to_string(), got })
}

fn handshake_fault(error: &russh::Error, link: &Link, address: SocketAddr) -> Fault {
    if let Some(greeting) = link.foreign_greeting() {
        // sshd says these two in the clear, before any protocol, when it is too busy or has had enough of us for now.
        if greeting.starts_with("Exceeded MaxStartups") || greeting.starts_with("Not allowed at this time") {
            return Fault::ConnectionLost { phase: Phase::Handshake, problem: format!("the server said: {greeting}") };
        }
        return Fault::NotSsh { address: address.to_string(), got: greeting };
    }
    match error {
        russh::Error::NoCommonAlgo { kind, ours, theirs } => Fault::NoCommonAlgorithm {
            kind: match kind {
                russh::AlgorithmKind::Kex => "key exchange",
                russh::AlgorithmKind::Key => "host key algorithm",
                russh::AlgorithmKind::Cipher => "cipher",
                russh::AlgorithmKind::Compression => "compression",
                russh::AlgorithmKind::Mac => "MAC",
            }
            .to_owned(),
            ours: ours.join(","),
            theirs: theirs.join(","),
        },
        russh::Error::Version => {
            Fault::NotSsh { address: address.to_string(), got: "no usable SSH version line".to_owned() }
        }
        other => {
            let problem = link.server_word().map_or_else(|| describe(other), |word| format!("the server said: {word}"));
            Fault::ConnectionLost { phase: Phase::Handshake, problem }
        }
    }
}

impl Session {
    /// What the server said and showed.
    pub fn link(&self) -> &Link {
        &self.link
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

    /// Says goodbye and gives the session a moment to send it.
    pub async fn close(self) {
        if self.handle.disconnect(russh::Disconnect::ByApplication, "", "").await.is_ok() {
            // How it ends is of no interest any more.
            let _ = tokio::time::timeout(FAREWELL, self.handle).await;
        }
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
