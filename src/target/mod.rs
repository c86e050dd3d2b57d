//! From DEST and the connection options to a [`Target`]: everything that can be known about a connection before the
//! network is touched. Local only; what `ssh -G` is to ssh.
//!
//! Precedence, written once, in [`resolve_for`]: a flag of its own (`-l`, `-p`, `-J`), then `-o`, then DEST, then the
//! user's file, then the system's, then the default. This is what OpenSSH does with options that stand before the
//! destination: the first value wins.
//!
//! Bastions are resolved like DEST, each with its own `Host` blocks. As with ssh, what the command line says about DEST
//! does not reach them: `-o`, `-l`, `-p`, `-i`, `--password`, `--otp` and `--host-key` are DEST's alone. `-F`,
//! `--host-key-policy`, `--passphrase`, `--connect-timeout`, `--deadline` and `--keepalive` are about this invocation,
//! and hold for every hop.

mod config;
pub mod destination;
mod expand;
pub mod identity;
mod jump;
mod keywords;
pub mod known_hosts;
pub mod local;
pub mod options;
#[cfg(test)]
mod oracle;
pub mod resolved;
mod resolver;
pub mod secrets;
#[cfg(test)]
mod tests;
mod trust;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use config::Reader;
pub use expand::known_hosts_argv;
pub use identity::IdentityPlan;
pub use known_hosts::{HostKeyRules, Pin};
use local::Local;
pub use resolved::describe;
use resolver::Resolver;

use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::request::{ConnectionOptions, IdentitySource, SecretSource};

/// The port of SSH (RFC 4253 section 4.1).
const DEFAULT_PORT: u16 = 22;

/// Whom to call, and how.
#[derive(Clone, Debug)]
pub struct Target {
    /// The name as typed, without user and port.
    pub alias: String,
    /// The remote user.
    pub user: String,
    /// Where it came from: `option` (`-l`), `config` (`User`), `destination` or `local`.
    pub user_source: &'static str,
    /// The host to resolve: `HostName` applied, lower-case, without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// The bastions, in the order in which they are passed: the first is called straight, or by its own
    /// `proxy_command`. Those that a bastion's own configuration asks for are among them, so that theirs is empty.
    pub jump: Vec<Target>,
    /// `ProxyCommand`, its tokens expanded: for the user's shell, and never together with `jump`.
    pub proxy_command: Option<String>,
    /// `HostKeyAlias`: what tells the host from others, wherever it is reached.
    pub host_key_alias: Option<String>,
    /// How its host key is judged.
    pub host_keys: HostKeyRules,
    /// `RevokedHostKeys`: a file of keys, or a KRL, that are not to be trusted.
    pub revoked_host_keys: Option<PathBuf>,
    /// `KnownHostsCommand`: words for [`known_hosts_argv`].
    pub known_hosts_command: Option<String>,
    /// The keys to try and the agent to ask; empty without `pubkey_enabled`.
    pub identities: IdentityPlan,
    /// `CertificateFile`: the names and the texts; empty without `pubkey_enabled`.
    pub certificate_files: Vec<(String, Vec<u8>)>,
    /// `PubkeyAuthentication`.
    pub pubkey_enabled: bool,
    /// `PasswordAuthentication`.
    pub password_enabled: bool,
    /// `KbdInteractiveAuthentication`.
    pub kbd_interactive_enabled: bool,
    /// `PreferredAuthentications`, in order; ours where it is not set.
    pub preferred_authentications: Option<Vec<String>>,
    /// The algorithms, as configured.
    pub algorithms: Algorithms,
    /// `AddressFamily`.
    pub address_family: AddressFamily,
    /// `BindAddress`.
    pub bind_address: Option<String>,
    /// `BindInterface`.
    pub bind_interface: Option<String>,
    /// `Compression`.
    pub compression: bool,
    /// The variables to ask the server to set: `SetEnv`, then what `SendEnv` names of ours.
    pub send_env: Vec<(String, String)>,
    /// `ConnectionAttempts`: at least 1.
    pub connection_attempts: u32,
    /// `RekeyLimit`, its data: ours where it is not set.
    pub rekey_bytes: Option<u64>,
    /// `RekeyLimit`, its time.
    pub rekey_time: Option<Duration>,
    /// `--connect-timeout`, else `ConnectTimeout`: zero is no limit.
    pub connect_timeout: Duration,
    /// `--deadline`.
    pub deadline: Option<Duration>,
    /// `--keepalive`, else `ServerAliveInterval`: zero is off.
    pub keepalive_interval: Duration,
    /// `ServerAliveCountMax`: this many unanswered probes end the connection; 0 never does.
    pub keepalive_count: u32,
    /// `--password`.
    pub password: Option<SecretSource>,
    /// `--passphrase`.
    pub passphrase: Option<SecretSource>,
    /// `--otp`.
    pub otp: Option<SecretSource>,
}

impl Target {
    /// From now on no host key is written down, whatever the policy.
    pub fn remember_nothing(&mut self) {
        self.host_keys.remember = false;
        self.jump.iter_mut().for_each(Self::remember_nothing);
    }
}

/// Lists of algorithms as configured, with OpenSSH's `+`, `-` or `^` in front; `None` is ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Algorithms {
    /// `KexAlgorithms`.
    pub kex: Option<String>,
    /// `Ciphers`.
    pub ciphers: Option<String>,
    /// `MACs`.
    pub macs: Option<String>,
    /// `HostKeyAlgorithms`.
    pub host_keys: Option<String>,
    /// `PubkeyAcceptedAlgorithms`.
    pub pubkey: Option<String>,
}

/// `AddressFamily`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AddressFamily {
    /// Whatever the name resolves to.
    #[default]
    Any,
    /// IPv4.
    Inet,
    /// IPv6.
    Inet6,
}

/// Resolves DEST for the account that runs us.
pub fn resolve(destination: &str, options: &ConnectionOptions) -> Result<(Target, Vec<Warning>), Fault> {
    resolve_for(&Local::of_this_process(), destination, options)
}

/// Resolves DEST for this account. Reads configuration and key files, and runs the commands of `Match exec`; asks for no
/// secret and touches no network.
pub fn resolve_for(
    local: &Local,
    destination: &str,
    options: &ConnectionOptions,
) -> Result<(Target, Vec<Warning>), Fault> {
    let mut resolver = Resolver::new(local, Reader::new(local, variables_with_secrets(options)));
    let target = resolver.target(destination, options)?;
    Ok((target, resolver.into_warnings()))
}

fn config_invalid(place: &str, problem: impl Into<String>) -> Fault {
    Fault::ConfigInvalid { place: place.to_owned(), problem: problem.into() }
}

/// The variables that the caller named as the source of a secret.
fn variables_with_secrets(options: &ConnectionOptions) -> Vec<String> {
    let keys = options.identities.iter().filter_map(|identity| match identity {
        IdentitySource::Secret(source) => Some(source),
        IdentitySource::File(_) => None,
    });
    let sources = [&options.password, &options.passphrase, &options.otp].into_iter().flatten().chain(keys);
    let name = |source: &SecretSource| match source {
        SecretSource::Env(name) => Some(name.clone()),
        _ => None,
    };
    sources.filter_map(name).collect()
}
