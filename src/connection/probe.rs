//! The host keys that a server has beside the one that it showed: one connection for each type, ended as soon as the key was
//! seen, as ssh-keyscan(1) does it.

use std::net::SocketAddr;
use std::sync::Arc;

use russh::client::{Config, Handler, connect_stream};
use russh::keys::PublicKeyOrCertificate;
use tokio::io::{AsyncRead, AsyncWrite};

use super::carrier::Carrier;
use super::dial::{self, Route};
use super::handler::ServerKey;
use super::link::Link;
use super::patience::Patience;
use super::settings;
use super::wire::Wire;
use crate::model::outcome::Phase;
use crate::target::Target;

/// Looks at the keys of every type that the server offers (`offered`: its signature algorithms) but `seen`. One that does not show
/// itself in time is left out.
pub async fn other_keys(
    target: &Target,
    addresses: &[SocketAddr],
    offered: &[String],
    seen: Option<&str>,
    patience: &Patience,
) -> Vec<ServerKey> {
    let mut keys = Vec::new();
    for (key_type, mut algorithms) in settings::host_key_types() {
        algorithms.retain(|algorithm| offered.iter().any(|name| name == algorithm.as_str()));
        if algorithms.is_empty() || seen == Some(key_type) {
            continue;
        }
        let look = async {
            let link = Arc::new(Link::default());
            let (stream, _) = dial::connect(addresses, &Route::of(target)).await.ok()?;
            let config = settings::only_host_keys(target, algorithms).ok()?;
            look(Wire::new(Carrier::Tcp(stream), Arc::clone(&link), None), link, config).await
        };
        match patience.within("", Phase::Handshake, look).await {
            Ok(key) => keys.extend(key),
            Err(_late) => break,
        }
    }
    keys
}

/// The key that a server shows to this configuration.
async fn look<T>(wire: T, link: Arc<Link>, config: Config) -> Option<ServerKey>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // It ends with a refusal of ours, or with a failure of theirs: the link knows what was seen.
    let _ = Box::pin(connect_stream(Arc::new(config), wire, Peek { link: Arc::clone(&link) })).await;
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
