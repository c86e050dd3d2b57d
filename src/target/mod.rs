//! From DEST and the connection options to a [`Target`]: everything that can be known about a connection before the
//! network is touched. Local only; what `ssh -G` is to ssh.
//!
//! Precedence, written once, in [`resolve_for`]: a flag of its own (`-l`, `-p`), then `-o`, then DEST, then the
//! default. This is what OpenSSH does with options that stand before the destination: the first value wins.

pub mod destination;
mod expand;
pub mod identity;
mod keywords;
pub mod known_hosts;
pub mod local;
pub mod options;
pub mod secrets;
#[cfg(test)]
mod tests;

use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::time::Duration;

use destination::{Destination, check_host, check_user};
use expand::Tokens;
pub use identity::IdentityPlan;
#[cfg(test)]
use identity::KeyText;
pub use known_hosts::{HostKeyRules, Pin};
use local::Local;
use options::Settings;

use crate::constants::{CONNECT_TIMEOUT_SECS, KEEPALIVE_COUNT, KEEPALIVE_SECS};
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::request::{ConfigFile, ConnectionOptions, HostKeyPolicy, SecretSource};

/// The port of SSH (RFC 4253 section 4.1).
const DEFAULT_PORT: u16 = 22;

/// Whom to call, and how.
#[derive(Clone, Debug)]
pub struct Target {
    /// The remote user.
    pub user: String,
    /// Where it came from: `option` (`-l`), `config` (`-o User`), `destination` or `local`.
    pub user_source: &'static str,
    /// The host to resolve: `HostName` applied, lower-case, without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// How its host key is judged.
    pub host_keys: HostKeyRules,
    /// The keys to try and the agent to ask; empty without `pubkey_enabled`.
    pub identities: IdentityPlan,
    /// `PubkeyAuthentication`.
    pub pubkey_enabled: bool,
    /// `PasswordAuthentication`.
    pub password_enabled: bool,
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
    /// The bastions, in the order in which they are passed.
    pub jump: Vec<Target>,
    /// `ProxyCommand`, ready for the shell.
    pub proxy_command: Option<String>,
    /// Lists of algorithms as configured.
    pub algorithms: Algorithms,
    /// `PreferredAuthentications`.
    pub preferred_authentications: Option<Vec<String>>,
    /// `KbdInteractiveAuthentication`.
    pub kbd_interactive_enabled: bool,
    /// `AddressFamily`.
    pub address_family: AddressFamily,
    /// `BindAddress`.
    pub bind_address: Option<String>,
    /// `BindInterface`.
    pub bind_interface: Option<String>,
    /// `Compression`.
    pub compression: bool,
    /// `SetEnv`, then what `SendEnv` names.
    pub send_env: Vec<(String, String)>,
    /// `ConnectionAttempts`.
    pub connection_attempts: u32,
    /// `RekeyLimit`, in bytes.
    pub rekey_bytes: Option<u64>,
    /// `RekeyLimit`, in time.
    pub rekey_time: Option<Duration>,
    /// `CertificateFile`: name and text.
    pub certificate_files: Vec<(String, Vec<u8>)>,
    /// `RevokedHostKeys`.
    pub revoked_host_keys: Option<PathBuf>,
    /// `KnownHostsCommand`.
    pub known_hosts_command: Option<String>,
    /// The host as typed.
    pub alias: String,
}

/// Lists of algorithms as `ssh_config` has them, with their `+`, `-` or `^`; none where nothing is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressFamily {
    /// Both.
    #[default]
    Any,
    /// IPv4 only.
    Inet,
    /// IPv6 only.
    Inet6,
}

impl Target {
    /// From now on no host key is written down, whatever the policy.
    pub fn remember_nothing(&mut self) {
        self.host_keys.remember = false;
        self.jump.iter_mut().for_each(Self::remember_nothing);
    }
}

/// Resolves DEST for the account that runs us.
pub fn resolve(destination: &str, options: &ConnectionOptions) -> Result<(Target, Vec<Warning>), Fault> {
    resolve_for(&Local::of_this_process(), destination, options)
}

/// Resolves DEST for this account. Reads key files; asks for no secret and touches no network.
pub fn resolve_for(
    local: &Local,
    destination: &str,
    options: &ConnectionOptions,
) -> Result<(Target, Vec<Warning>), Fault> {
    let typed = Destination::parse(destination)?;
    let (settings, mut warnings) = Settings::from_command_line(&options.options)?;
    warnings.extend(config(local, &options.config)?);
    if !options.jump.is_empty() {
        return Err(config_invalid("-J", "not supported yet"));
    }
    let port = options.port.or(settings.port).or(typed.port).unwrap_or(DEFAULT_PORT);
    let (user, user_source) = user(local, options, &settings, &typed)?;
    let alias = settings.host_key_alias.as_deref();
    let tokens =
        |host| Tokens { local, host, typed: &typed.host, port, user: &user, alias: alias.unwrap_or(&typed.host) };
    let host = match &settings.host_name {
        None => lower_case(&typed.host),
        Some(name) => {
            let name = tokens(&typed.host).text(name).map_err(|problem| config_invalid("-o HostName", problem))?;
            check_host(&name).map_err(|problem| config_invalid("-o HostName", problem))?;
            lower_case(&name)
        }
    };
    let tokens = tokens(&host);
    let host_keys = host_key_rules(options, &settings, &tokens)?;
    let pubkey_enabled = settings.pubkey.unwrap_or(true);
    let identities = if pubkey_enabled {
        let (plan, more) = identity::plan(&options.identities, &settings, &tokens)?;
        warnings.extend(more);
        plan
    } else {
        IdentityPlan::default()
    };
    let target = Target {
        user_source,
        port,
        host_keys,
        identities,
        pubkey_enabled,
        password_enabled: settings.password.unwrap_or(true),
        connect_timeout: options
            .connect_timeout
            .or(settings.connect_timeout.filter(|limit| !limit.is_zero()))
            .unwrap_or(Duration::from_secs(CONNECT_TIMEOUT_SECS)),
        deadline: options.deadline,
        keepalive_interval: options
            .keepalive
            .or(settings.alive_interval)
            .unwrap_or(Duration::from_secs(KEEPALIVE_SECS)),
        keepalive_count: settings.alive_count.unwrap_or(KEEPALIVE_COUNT),
        password: options.password.clone(),
        passphrase: options.passphrase.clone(),
        otp: options.otp.clone(),
        jump: Vec::new(),
        proxy_command: None,
        algorithms: Algorithms::default(),
        preferred_authentications: None,
        kbd_interactive_enabled: true,
        address_family: AddressFamily::Any,
        bind_address: None,
        bind_interface: None,
        compression: false,
        send_env: Vec::new(),
        connection_attempts: 1,
        rekey_bytes: None,
        rekey_time: None,
        certificate_files: Vec::new(),
        revoked_host_keys: None,
        known_hosts_command: None,
        alias: typed.host.clone(),
        host,
        user,
    };
    Ok((target, warnings))
}

fn config_invalid(place: &str, problem: impl Into<String>) -> Fault {
    Fault::ConfigInvalid { place: place.to_owned(), problem: problem.into() }
}

/// The place of the `ssh_config` files. They are not read yet: the user's is named, one that was asked for is refused.
fn config(local: &Local, config: &ConfigFile) -> Result<Option<Warning>, Fault> {
    match config {
        ConfigFile::None => Ok(None),
        ConfigFile::File(path) => {
            let place = path.display().to_string();
            Err(config_invalid(&place, "ssh_config files are not supported yet; use -F none and -o"))
        }
        ConfigFile::Default => {
            let file = local.home.as_ref().map(|home| home.join(".ssh/config")).filter(|file| file.exists());
            let warn = |file: PathBuf| {
                let message = format!("{} was not read: ssh_config files are not supported yet", file.display());
                Warning::new("config_not_read", message)
            };
            Ok(file.map(warn))
        }
    }
}

fn user(
    local: &Local,
    options: &ConnectionOptions,
    settings: &Settings,
    typed: &Destination,
) -> Result<(String, &'static str), Fault> {
    if let Some(user) = &options.user {
        let refuse = |problem| Fault::Usage { message: format!("`-l` does not name a usable user: {problem}") };
        check_user(user).map_err(refuse)?;
        return Ok((user.clone(), "option"));
    }
    if let Some(user) = &settings.user {
        check_user(user).map_err(|problem| config_invalid("-o User", problem))?;
        return Ok((user.clone(), "config"));
    }
    if let Some(user) = &typed.user {
        return Ok((user.clone(), "destination"));
    }
    match &local.user {
        Some(user) => Ok((user.clone(), "local")),
        None => Err(Fault::Usage { message: format!("uid {} has no name here: say `-l USER`", local.uid) }),
    }
}

/// Host names are lower-case from here on (ssh.c); the zone of an IPv6 address is an interface, and those differ by
/// case.
fn lower_case(host: &str) -> String {
    match host.split_once('%') {
        Some((address, zone)) if address.parse::<Ipv6Addr>().is_ok() => {
            format!("{}%{zone}", address.to_ascii_lowercase())
        }
        _ => host.to_ascii_lowercase(),
    }
}

fn host_key_rules(
    options: &ConnectionOptions,
    settings: &Settings,
    tokens: &Tokens<'_>,
) -> Result<HostKeyRules, Fault> {
    let host = tokens.host.to_ascii_lowercase();
    let (lookup_name, portless_name) = match &settings.host_key_alias {
        Some(alias) if alias.contains(|c: char| c.is_whitespace() || c.is_control()) => {
            return Err(config_invalid("-o HostKeyAlias", "it holds white space or a control character"));
        }
        Some(alias) => (alias.to_ascii_lowercase(), None),
        None if tokens.port == DEFAULT_PORT => (host, None),
        None => (format!("[{host}]:{}", tokens.port), Some(host)),
    };
    let files = |place: &str, set: &Option<Vec<String>>, defaults: &[&str]| match set {
        Some(files) => {
            let paths: Result<Vec<_>, _> = files.iter().map(|file| tokens.path(file)).collect();
            paths.map_err(|problem| config_invalid(place, problem))
        }
        // Without a home there is no default file below it.
        None => Ok(defaults.iter().filter_map(|file| tokens.path(file).ok()).collect()),
    };
    let user_defaults = ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"];
    let global_defaults = ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"];
    Ok(HostKeyRules {
        policy: options.host_key_policy.or(settings.host_key_policy).unwrap_or(HostKeyPolicy::Strict),
        pins: options.host_key_pins.iter().map(|pin| Pin::parse(pin)).collect::<Result<_, _>>()?,
        lookup_name,
        portless_name,
        user_files: files("-o UserKnownHostsFile", &settings.user_known_hosts, &user_defaults)?,
        global_files: files("-o GlobalKnownHostsFile", &settings.global_known_hosts, &global_defaults)?,
        hash_new: settings.hash_known_hosts.unwrap_or(false),
        remember: true,
    })
}
