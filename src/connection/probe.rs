//! The host keys that a server has beside the one that it showed: one connection for each type, ended as soon as the key was
//! seen, as ssh-keyscan(1) does it.

use std::net::SocketAddr;
use std::sync::Arc;

use russh::client::{Handler, connect_stream};
use russh::keys::{Algorithm, PublicKeyOrCertificate};

use super::auth::Keyring;
use super::carrier::Carrier;
use super::dial::{self, Route};
use super::handler::ServerKey;
use super::link::Link;
use super::patience::Patience;
use super::reach::{Progress, bastions, carrier};
use super::session::Session;
use super::settings;
use super::wire::Wire;
use crate::model::outcome::Phase;
use crate::target::Target;
use crate::target::secrets::SecretStore;

/// Looks at the keys of every type that the server offers (`offered`: its signature algorithms) but `seen`, at the address that
/// `progress` names. One that does not show itself in time is left out.
pub async fn other_keys(
    (target, keyring, secrets): (&Target, &Keyring, &SecretStore),
    progress: &Progress,
    patience: &mut Patience,
) -> Vec<ServerKey> {
    let seen = progress.link.server_key();
    let offered = progress.link.offers().map(|offers| offers.host_keys).unwrap_or_default();
    let is_offered = |algorithm: &Algorithm| offered.iter().any(|name| name == algorithm.as_str());
    let mut wanted = settings::host_key_types();
    for (_, algorithms) in &mut wanted {
        algorithms.retain(is_offered);
    }
    wanted.retain(|(name, list)| !list.is_empty() && seen.as_ref().is_none_or(|key| key.key_type != *name));
    // Nobody is asked for a second one-time code to see a key.
    if wanted.is_empty() || target.jump.iter().any(|hop| hop.otp.is_some()) {
        return Vec::new();
    }
    let Ok(before) = bastions(target, keyring, secrets, patience, &mut Vec::new()).await else { return Vec::new() };
    let mut keys = Vec::new();
    for (_, algorithms) in wanted {
        keys.extend(look(target, algorithms, before.as_ref(), progress.address.as_deref(), patience).await);
    }
    if let Some(bastion) = before {
        bastion.close().await;
    }
    keys
}

/// The key that the server shows when it may use these algorithms.
async fn look(
    target: &Target,
    algorithms: Vec<Algorithm>,
    before: Option<&Session>,
    address: Option<&str>,
    patience: &Patience,
) -> Option<ServerKey> {
    let named = address?;
    let (carrier, _witness) = match named.parse::<SocketAddr>() {
        // The same machine, where a name has several.
        Ok(address) if before.is_none() && target.proxy_command.is_none() => {
            let route = Route::of(target);
            let stream = patience.within(named, Phase::Connect, dial::connect(&[address], &route)).await;
            (Carrier::Tcp(stream.ok()?.ok()?.0), None)
        }
        _ => carrier(target, named, before, patience, &mut Progress::default()).await.ok()?,
    };
    let link = Arc::new(Link::default());
    let config = Arc::new(settings::only_host_keys(target, algorithms).ok()?);
    let wire = Wire::new(carrier, Arc::clone(&link), None);
    let meeting = Box::pin(connect_stream(config, wire, Peek { link: Arc::clone(&link) }));
    // It ends with a refusal of ours, or with a failure of theirs: the link knows what was seen.
    let _ = patience.within(named, Phase::Handshake, meeting).await;
    link.server_key()
}

/// Takes note of the key, and goes.
struct Peek {
    link: Arc<Link>,
}

impl Handler for Peek {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        self.link.shown(shown);
        Ok(false)
    }
}
