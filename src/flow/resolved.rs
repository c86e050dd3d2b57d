//! `check --offline`: the target in fields, as `ssh -G` prints it. No secret, and no place of one, is in it.

use serde_json::{Value, json};

use crate::model::request::HostKeyPolicy;
use crate::target::{HostKeyRules, Pin, Target};

/// The target, as an object.
pub(super) fn describe(target: &Target) -> Value {
    let HostKeyRules { policy, pins, lookup_name, user_files, global_files, .. } = &target.host_keys;
    let shown = |paths: &[std::path::PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    let identities: Vec<&str> = target.identities.identities.iter().map(|identity| identity.name.as_str()).collect();
    let pins: Vec<String> = pins
        .iter()
        .map(|pin| match pin {
            Pin::Fingerprint(fingerprint) => fingerprint.clone(),
            Pin::Key { key_type, blob } => format!("{key_type} {}", crate::target::known_hosts::fingerprint(blob)),
        })
        .collect();
    json!({
        "host": target.host,
        "port": target.port,
        "user": target.user,
        "user_source": target.user_source,
        "identities": identities,
        "agent": target.identities.agent.as_ref().map(|path| path.display().to_string()),
        "identities_only": target.identities.listed_only,
        "host_key_policy": match policy {
            HostKeyPolicy::Strict => "strict",
            HostKeyPolicy::AcceptNew => "accept-new",
            HostKeyPolicy::Insecure => "insecure",
        },
        "host_key_name": lookup_name,
        "host_key_pins": pins,
        "known_hosts": shown(user_files),
        "global_known_hosts": shown(global_files),
        "connect_timeout_ms": milliseconds(target.connect_timeout),
        "deadline_ms": target.deadline.map(milliseconds),
        "keepalive_ms": milliseconds(target.keepalive_interval),
        "keepalive_count": target.keepalive_count,
    })
}

fn milliseconds(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
