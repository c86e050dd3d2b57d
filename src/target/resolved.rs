//! A resolved target as a document: what `ssh -G` is to ssh. Names and settings only, never a secret or a key.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::{AddressFamily, Algorithms, Target, secrets};
use crate::model::request::HostKeyPolicy;

/// One target, or one of its bastions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Resolved {
    /// The name as typed.
    pub alias: String,
    /// The host to resolve.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// The remote user.
    pub user: String,
    /// Where the user came from: `option`, `config`, `destination` or `local`.
    pub user_source: &'static str,
    /// The bastions, in the order in which they are passed.
    pub jump: Vec<Resolved>,
    /// The command that connects, instead of TCP.
    pub proxy_command: Option<String>,
    /// The keys to try: files, or the words of a source.
    pub identity_files: Vec<String>,
    /// Certificates beside them.
    pub certificate_files: Vec<String>,
    /// Of the agent's keys, only those that are named.
    pub identities_only: bool,
    /// The agent's socket.
    pub agent: Option<String>,
    /// Where the password comes from, if there is one.
    pub password_source: Option<String>,
    /// Where the passphrase of keys comes from.
    pub passphrase_source: Option<String>,
    /// Where one-time codes come from.
    pub otp_source: Option<String>,
    /// Whether keys are used.
    pub pubkey_authentication: bool,
    /// Whether passwords are used.
    pub password_authentication: bool,
    /// Whether questions of the server are answered.
    pub kbd_interactive_authentication: bool,
    /// The methods, in order, where configured.
    pub preferred_authentications: Option<Vec<String>>,
    /// `strict`, `accept-new` or `insecure`.
    pub host_key_policy: &'static str,
    /// How many host keys are pinned: where there are any, nothing else counts.
    pub host_key_pins: usize,
    /// The name that is looked up in the files.
    pub host_key_name: String,
    /// The user's files of known hosts.
    pub user_known_hosts_files: Vec<String>,
    /// The system's.
    pub global_known_hosts_files: Vec<String>,
    /// A command that knows more.
    pub known_hosts_command: Option<String>,
    /// Keys that are not to be trusted.
    pub revoked_host_keys: Option<String>,
    /// Whether names of new hosts are written hashed.
    pub hash_known_hosts: bool,
    /// The algorithms as configured; null is ours.
    pub algorithms: Algorithms,
    /// Which addresses are used.
    pub address_family: AddressFamily,
    /// The local address.
    pub bind_address: Option<String>,
    /// The local interface.
    pub bind_interface: Option<String>,
    /// Whether compression is asked for.
    pub compression: bool,
    /// The names of the variables that are sent.
    pub send_env: Vec<String>,
    /// How often one connection is tried.
    pub connection_attempts: u32,
    /// Until the channel is open, in milliseconds; 0 is no limit.
    pub connect_timeout_ms: u64,
    /// The whole invocation, in milliseconds.
    pub deadline_ms: Option<u64>,
    /// Between probes, in milliseconds; 0 is off.
    pub keepalive_ms: u64,
    /// So many unanswered probes end the connection; 0 never does.
    pub keepalive_count: u32,
    /// Keys are exchanged anew after so many bytes; null is ours.
    pub rekey_bytes: Option<u64>,
    /// And after so many milliseconds.
    pub rekey_time_ms: Option<u64>,
}

/// The target in words. Secrets are named by where they come from; of variables only the names are told.
pub fn describe(target: &Target) -> Resolved {
    let rules = &target.host_keys;
    let plan = &target.identities;
    let source = |source: &Option<_>| source.as_ref().map(secrets::origin);
    Resolved {
        alias: target.alias.clone(),
        host: target.host.clone(),
        port: target.port,
        user: target.user.clone(),
        user_source: target.user_source,
        jump: target.jump.iter().map(describe).collect(),
        proxy_command: target.proxy_command.clone(),
        identity_files: plan.identities.iter().map(|identity| identity.name.clone()).collect(),
        certificate_files: target.certificate_files.iter().map(|(name, _)| name.clone()).collect(),
        identities_only: plan.listed_only,
        agent: plan.agent.as_deref().map(name),
        password_source: source(&target.password),
        passphrase_source: source(&target.passphrase),
        otp_source: source(&target.otp),
        pubkey_authentication: target.pubkey_enabled,
        password_authentication: target.password_enabled,
        kbd_interactive_authentication: target.kbd_interactive_enabled,
        preferred_authentications: target.preferred_authentications.clone(),
        host_key_policy: match rules.policy {
            HostKeyPolicy::Strict => "strict",
            HostKeyPolicy::AcceptNew => "accept-new",
            HostKeyPolicy::Insecure => "insecure",
        },
        host_key_pins: rules.pins.len(),
        host_key_name: rules.lookup_name.clone(),
        user_known_hosts_files: names(&rules.user_files),
        global_known_hosts_files: names(&rules.global_files),
        known_hosts_command: target.known_hosts_command.clone(),
        revoked_host_keys: target.revoked_host_keys.as_deref().map(name),
        hash_known_hosts: rules.hash_new,
        algorithms: target.algorithms.clone(),
        address_family: target.address_family,
        bind_address: target.bind_address.clone(),
        bind_interface: target.bind_interface.clone(),
        compression: target.compression,
        send_env: target.send_env.iter().map(|(name, _)| name.clone()).collect(),
        connection_attempts: target.connection_attempts,
        connect_timeout_ms: milliseconds(target.connect_timeout),
        deadline_ms: target.deadline.map(milliseconds),
        keepalive_ms: milliseconds(target.keepalive_interval),
        keepalive_count: target.keepalive_count,
        rekey_bytes: target.rekey_bytes,
        rekey_time_ms: target.rekey_time.map(milliseconds),
    }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| name(path)).collect()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Home, options};
    use super::*;
    use crate::model::request::{ConnectionOptions, SecretSource};

    #[test]
    fn a_resolved_target_is_a_document_without_secrets() {
        let home = Home::new();
        home.write("id_ed25519", "the-key-itself", 0o600);
        let options = ConnectionOptions {
            options: ["SetEnv=TOKEN=hunter2", "Ciphers=^aes128-ctr", "RekeyLimit=1G 1h"].map(str::to_owned).to_vec(),
            jump: vec!["jump".into()],
            password: Some(SecretSource::Env("PW".into())),
            ..options()
        };
        let (it, _) = home.resolve("me@Web1:2222", &options).unwrap();
        let document = serde_json::to_value(describe(&it)).unwrap();
        for (key, value) in [
            ("alias", "Web1".into()),
            ("host", "web1".into()),
            ("port", 2222.into()),
            ("user_source", "destination".into()),
            ("host_key_name", "[web1]:2222".into()),
            ("password_source", "env:PW".into()),
            ("rekey_time_ms", 3_600_000.into()),
            ("send_env", serde_json::json!(["TOKEN"])),
            ("identity_files", serde_json::json!([home.ssh("id_ed25519").display().to_string()])),
        ] {
            assert_eq!(document[key], value, "{key}");
        }
        assert_eq!(document["algorithms"]["ciphers"], "^aes128-ctr");
        assert_eq!(document["jump"][0]["host"], "jump");
        let text = document.to_string();
        assert!(!text.contains("hunter2") && !text.contains("the-key-itself"), "{text}");
        let schema = schemars::schema_for!(Resolved);
        assert!(jsonschema::is_valid(schema.as_value(), &document));
    }
}
