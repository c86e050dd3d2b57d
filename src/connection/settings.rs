//! russh's configuration: what was measured to be fast, and the host key algorithms ordered by what is known of the host.

use std::borrow::Cow;
use std::time::Duration;

use russh::client::Config;
use russh::keys::{Algorithm, EcdsaCurve, HashAlg};
use russh::{Limits, Preferred, SshId, compression};

use super::algorithms;

use crate::constants::CHANNEL_WINDOW_BYTES;
use crate::errors::Fault;
use crate::target::Target;
use crate::target::known_hosts::{KnownHosts, Pin};

/// AES-GCM counts blocks, not bytes (RFC 5647 section 7.1 with 2^32 blocks and room to spare); chacha20's 1 GiB is not reached
/// before, since rekeying by time comes every hour in any case.
const REKEY_BYTES: usize = 1 << 30;
/// An hour (RFC 4253 section 9).
const REKEY_TIME: Duration = Duration::from_hours(1);

/// The host key algorithms that are offered, in OpenSSH's order, without SHA-1.
const HOST_KEY_ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
];

/// How long a connection may give no sign of life; none where probes are off.
pub(super) fn lost_after(target: &Target) -> Option<Duration> {
    let (interval, count) = (target.keepalive_interval, target.keepalive_count);
    (!interval.is_zero() && count > 0).then(|| interval.saturating_mul(count))
}

/// The configuration for one connection to this target, of which this is known.
pub(super) fn config(target: &Target, known: &KnownHosts) -> Result<Config, Fault> {
    let configured = &target.algorithms;
    let order = algorithms::host_keys(&host_key_order(&wanted_types(target, known)), configured.host_keys.as_deref())?;
    let mut config = Config {
        client_id: SshId::Standard(Cow::Borrowed(concat!("SSH-2.0-ssh-cli_", env!("CARGO_PKG_VERSION")))),
        window_size: CHANNEL_WINDOW_BYTES,
        maximum_packet_size: 32_768,
        channel_buffer_size: 100,
        nodelay: true,
        inactivity_timeout: None,
        limits: limits(target),
        preferred: Preferred {
            kex: Cow::Owned(algorithms::kex_list(configured.kex.as_deref())?),
            key: Cow::Owned(order.clone()),
            cipher: Cow::Owned(algorithms::ciphers(configured.ciphers.as_deref())?),
            mac: Cow::Owned(algorithms::macs(configured.macs.as_deref())?),
            compression: Cow::Borrowed(if target.compression { &COMPRESSED } else { &PLAIN }),
            ..Preferred::DEFAULT
        },
        ..Config::default()
    };
    if !known.authorities().is_empty() {
        config.preferred.host_key_certificates = Cow::Owned(order);
    }
    if !target.keepalive_interval.is_zero() {
        config.keepalive_interval = Some(target.keepalive_interval);
        config.keepalive_max = target.keepalive_count as usize;
    }
    Ok(config)
}

/// `Compression no`, the default, and `yes`: delayed until the user is known, as in OpenSSH.
const PLAIN: [compression::Name; 1] = [compression::NONE];
const COMPRESSED: [compression::Name; 2] = [compression::ZLIB_LEGACY, compression::NONE];

fn limits(target: &Target) -> Limits {
    let bytes = target.rekey_bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(REKEY_BYTES);
    Limits {
        rekey_write_limit: bytes,
        rekey_read_limit: bytes,
        rekey_time_limit: target.rekey_time.unwrap_or(REKEY_TIME),
    }
}

/// The configuration of a connection that is only to show a key of these algorithms.
pub(super) fn only_host_keys(target: &Target, algorithms: Vec<Algorithm>) -> Result<Config, Fault> {
    let mut config = config(target, &KnownHosts::default())?;
    config.preferred.key = Cow::Owned(algorithms);
    Ok(config)
}

/// The host key algorithms by the key type that `known_hosts` has for them.
pub(super) fn host_key_types() -> Vec<(&'static str, Vec<Algorithm>)> {
    let mut types: Vec<(&'static str, Vec<Algorithm>)> = Vec::new();
    for algorithm in HOST_KEY_ALGORITHMS {
        let name = match &algorithm {
            Algorithm::Ed25519 => "ssh-ed25519",
            Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 } => "ecdsa-sha2-nistp256",
            Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 } => "ecdsa-sha2-nistp384",
            Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 } => "ecdsa-sha2-nistp521",
            _ => "ssh-rsa",
        };
        match types.iter_mut().find(|(known, _)| *known == name) {
            Some((_, algorithms)) => algorithms.push(algorithm),
            None => types.push((name, vec![algorithm])),
        }
    }
    types
}

/// The types to ask for first: those that are pinned, else those that are known.
fn wanted_types(target: &Target, known: &KnownHosts) -> Vec<String> {
    let pinned = target.host_keys.pins.iter().filter_map(|pin| match pin {
        Pin::Key { key_type, .. } => Some(key_type.clone()),
        Pin::Fingerprint(_) => None,
    });
    let pinned: Vec<String> = pinned.collect();
    if pinned.is_empty() { known.known_types() } else { pinned }
}

/// Known types first, so that the server shows the key that can be checked; the order is else kept.
fn host_key_order(known_types: &[String]) -> Vec<Algorithm> {
    let is_known = |algorithm: &Algorithm| {
        let name = match algorithm {
            Algorithm::Rsa { .. } => "ssh-rsa",
            other => other.as_str(),
        };
        known_types.iter().any(|known| known == name)
    };
    let (mut order, rest): (Vec<_>, Vec<_>) = HOST_KEY_ALGORITHMS.into_iter().partition(is_known);
    order.extend(rest);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_known_by_its_rsa_key_is_asked_for_that_first() {
        let order = host_key_order(&["ssh-rsa".to_owned()]);
        assert_eq!(order[0], Algorithm::Rsa { hash: Some(HashAlg::Sha512) });
        assert_eq!(order[1], Algorithm::Rsa { hash: Some(HashAlg::Sha256) });
        assert_eq!(order[2], Algorithm::Ed25519);
        assert_eq!(order.len(), HOST_KEY_ALGORITHMS.len());
    }

    #[test]
    fn every_algorithm_has_its_key_type() {
        let types = host_key_types();
        assert_eq!(types.iter().map(|(_, algorithms)| algorithms.len()).sum::<usize>(), HOST_KEY_ALGORITHMS.len());
        for (name, algorithms) in types {
            assert!(algorithms.iter().all(|a| a.as_str() == name || name == "ssh-rsa"), "{name}: {algorithms:?}");
        }
    }

    #[test]
    fn sha1_is_never_offered() {
        assert!(!HOST_KEY_ALGORITHMS.contains(&Algorithm::Rsa { hash: None }));
    }
}
