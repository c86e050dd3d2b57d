//! From a target to an authenticated session: each bastion in turn, each with its own keys and its own host key check, then the
//! target itself.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use russh::ChannelOpenFailure;
use russh::client::connect_stream;
use tokio::io::BufReader;
use tokio::time::Instant;

use super::auth::{self, Keyring};
use super::carrier::Carrier;
use super::dial;
use super::handler::{Guard, Judge, LinkError, describe, is_violation};
use super::known;
use super::link::Link;
use super::patience::Patience;
use super::proxy::{self, ProxyWitness};
use super::session::Session;
use super::settings;
use super::wire::Wire;
use crate::errors::Fault;
use crate::model::outcome::{Phase, Warning};
use crate::model::timing::{Millis, Timing};
use crate::target::Target;
use crate::target::secrets::SecretStore;

/// One read takes what the kernel has, instead of a few bytes for each packet's length.
const READ_BUFFER_BYTES: usize = 256 * 1024;

/// What is known of a connection, also of one that failed.
#[derive(Debug, Default)]
pub struct Progress {
    /// The address that answered; behind a bastion, the one that was asked for there.
    pub address: Option<String>,
    /// What the server said and showed.
    pub link: Arc<Link>,
    /// The addresses that there are.
    pub addresses: Vec<SocketAddr>,
    /// The method that was accepted.
    pub auth: Option<String>,
    /// What was offered.
    pub tried: Vec<String>,
    /// The methods that the server accepts, as it last said.
    pub accepted: Option<Vec<String>>,
    /// How long the bastions took.
    pub bastions: Duration,
    /// How long each phase took.
    pub timing: Timing,
    /// Worth saying.
    pub warnings: Vec<Warning>,
}

/// Connects and authenticates. `progress` says how far it came, whatever the result.
pub async fn connect(
    target: &Target,
    keyring: &Keyring,
    secrets: &SecretStore,
    patience: &mut Patience,
    progress: &mut Progress,
) -> Result<Session, Fault> {
    let clock = Instant::now();
    let before = bastions(target, keyring, secrets, patience, &mut progress.warnings).await?;
    progress.bastions = clock.elapsed();
    establish(target, keyring, before, secrets, patience, progress).await
}

/// The session with the last bastion, where there are any.
pub(super) async fn bastions(
    target: &Target,
    keyring: &Keyring,
    secrets: &SecretStore,
    patience: &mut Patience,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Session>, Fault> {
    let mut before = None;
    for (hop, keyring) in target.jump.iter().zip(keyring.hops()) {
        let mut passing = Progress::default();
        let passed = establish(hop, keyring, before, secrets, patience, &mut passing).await;
        warnings.append(&mut passing.warnings);
        let name = name_of(hop);
        log::info!("bastion {name}: {}", if passed.is_ok() { "passed" } else { "failed" });
        before = Some(passed.map_err(|fault| Fault::AtHop { hop: name, fault: Box::new(fault) })?);
    }
    Ok(before)
}

fn name_of(target: &Target) -> String {
    format!("{}@{}:{}", target.user, target.host, target.port)
}

async fn establish(
    target: &Target,
    keyring: &Keyring,
    before: Option<Session>,
    secrets: &SecretStore,
    patience: &mut Patience,
    progress: &mut Progress,
) -> Result<Session, Fault> {
    let named = format!("{}:{}", target.host, target.port);
    let (carrier, mut witness) = carrier(target, &named, before.as_ref(), patience, progress).await?;
    let met = handshake(target, carrier, patience, progress).await;
    let handle = match (met, &mut witness) {
        (Ok(handle), _) => handle,
        (Err(fault), Some(witness)) => return Err(witness.explain(fault).await),
        (Err(fault), None) => return Err(fault),
    };
    let clock = Instant::now();
    let mut session = Session::new(handle, Arc::clone(&progress.link), name_of(target), witness, before);
    let accepted = auth::authenticate(session.handle_mut(), target, keyring, secrets, patience, progress).await;
    progress.warnings.extend(progress.link.take_warnings());
    let accepted = accepted?;
    log::info!("authenticated by {accepted}");
    progress.auth = Some(accepted);
    progress.timing.auth = Some(Millis(clock.elapsed()));
    Ok(session)
}

/// The stream to speak SSH on: through the bastion before, through a command, or straight.
pub(super) async fn carrier(
    target: &Target,
    named: &str,
    before: Option<&Session>,
    patience: &Patience,
    progress: &mut Progress,
) -> Result<(Carrier, Option<ProxyWitness>), Fault> {
    let clock = Instant::now();
    if let Some(bastion) = before {
        let opened = bastion.forward(&target.host, target.port);
        let stream = patience
            .within(named, Phase::Connect, opened)
            .await?
            .map_err(|refusal| not_forwarded(refusal, bastion, named))?;
        progress.address = Some(named.to_owned());
        progress.timing.connect = Some(Millis(clock.elapsed()));
        return Ok((Carrier::Forwarded(Box::new(stream)), None));
    }
    if let Some(command) = &target.proxy_command {
        let (pipe, witness) = proxy::start(command)?;
        progress.address = Some(named.to_owned());
        log::info!("ProxyCommand started: {command}");
        return Ok((Carrier::Command(pipe), Some(witness)));
    }
    let route = dial::Route::of(target);
    let addresses = patience.within(named, Phase::Resolve, dial::lookup(&target.host, target.port, &route)).await??;
    log::info!("{named}: {} address(es)", addresses.len());
    progress.timing.resolve = Some(Millis(clock.elapsed()));
    progress.addresses.clone_from(&addresses);
    let clock = Instant::now();
    let mut attempt = 1;
    let (stream, address) = loop {
        // `ConnectionAttempts` repeats within the one limit; `--connect-timeout` is over all of them.
        match patience.within(named, Phase::Connect, dial::connect(&addresses, &route)).await? {
            Ok(met) => break met,
            Err(_) if attempt < target.connection_attempts => {
                attempt += 1;
                patience.within(named, Phase::Connect, tokio::time::sleep(Duration::from_secs(1))).await?;
            }
            Err(fault) => return Err(fault),
        }
    };
    log::info!("connected to {address}");
    progress.timing.connect = Some(Millis(clock.elapsed()));
    progress.address = Some(address.to_string());
    Ok((Carrier::Tcp(stream), None))
}

fn not_forwarded(refusal: russh::Error, bastion: &Session, target: &str) -> Fault {
    match refusal {
        russh::Error::ChannelOpenFailure(ChannelOpenFailure::ConnectFailed) => Fault::Unreachable {
            address: target.to_owned(),
            problem: format!("the bastion {} could not connect to it", bastion.name()),
        },
        russh::Error::ChannelOpenFailure(reason) => Fault::ForwardingProhibited {
            hop: bastion.name().to_owned(),
            target: target.to_owned(),
            problem: reason.description().to_owned(),
        },
        _ => Fault::ConnectionLost {
            phase: Phase::Connect,
            problem: format!("to the bastion: {}", bastion.link().end_reason()),
        },
    }
}

type Handle = russh::client::Handle<Guard>;

async fn handshake(
    target: &Target,
    carrier: Carrier,
    patience: &Patience,
    progress: &mut Progress,
) -> Result<Handle, Fault> {
    let clock = Instant::now();
    let named = progress.address.clone().unwrap_or_default();
    let (known, warnings) = patience.within(&named, Phase::Handshake, known::of(target)).await??;
    progress.warnings.extend(warnings);
    let config = settings::config(target, &known)?;
    let link = Arc::clone(&progress.link);
    let judge = Judge { host: target.host.clone(), rules: target.host_keys.clone(), known };
    let lost_after = settings::lost_after(target);
    let wire = BufReader::with_capacity(READ_BUFFER_BYTES, Wire::new(carrier, Arc::clone(&link), lost_after));
    let meeting = connect_stream(Arc::new(config), wire, Guard { link: Arc::clone(&link), judge });
    let address = progress.address.clone().unwrap_or_default();
    let handle = match patience.within(&address, Phase::Handshake, meeting).await {
        Ok(Ok(handle)) => handle,
        Ok(Err(LinkError::Refused(fault))) => return Err(*fault),
        Ok(Err(LinkError::Russh(error))) => return Err(fault(&error, &link, &address)),
        // What has spoken, and not SSH, will not begin to.
        Err(late) => {
            let not_ssh = link.foreign_greeting().map(|got| Fault::NotSsh { address, got });
            return Err(not_ssh.unwrap_or(late));
        }
    };
    if let Some(server) = link.server_id() {
        log::info!("keys exchanged with {server}");
    }
    if let Some(key) = link.host_key_seen() {
        log::info!("host key {}: {}", key.status, key.shown);
    }
    progress.timing.handshake = Some(Millis(clock.elapsed()));
    Ok(handle)
}

fn fault(error: &russh::Error, link: &Link, address: &str) -> Fault {
    if let Some(greeting) = link.foreign_greeting() {
        // sshd says these two in the clear, before any protocol, when it is too busy or has had enough of us for now.
        if greeting.starts_with("Exceeded MaxStartups") || greeting.starts_with("Not allowed at this time") {
            return Fault::ConnectionLost { phase: Phase::Handshake, problem: format!("the server said: {greeting}") };
        }
        return Fault::NotSsh { address: address.to_owned(), got: greeting };
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
            Fault::NotSsh { address: address.to_owned(), got: "no usable SSH version line".to_owned() }
        }
        other if is_violation(other) => Fault::ServerViolation { problem: describe(other), phase: Phase::Handshake },
        other => {
            let problem = link.server_word().map_or_else(|| describe(other), |word| format!("the server said: {word}"));
            Fault::ConnectionLost { phase: Phase::Handshake, problem }
        }
    }
}
