//! The order in which a destination is resolved: the command line, the files, the name, the files again where `Match
//! final` asks for it, and then everything that depends on host, port and user.

use std::net::IpAddr;
use std::time::Duration;

use super::config::{self, Reader, Subject, last_hop};
use super::destination::{Destination, check_host, check_user};
use super::expand::{Allowed, Tokens};
use super::local::Local;
use super::options::{self, Settings};
use super::{Algorithms, DEFAULT_PORT, Target, config_invalid, identity, trust};
use crate::constants::{CONNECT_TIMEOUT_SECS, KEEPALIVE_COUNT, KEEPALIVE_SECS};
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::request::ConnectionOptions;

/// Resolves DEST and its bastions.
pub(super) struct Resolver<'a> {
    local: &'a Local,
    reader: Reader<'a>,
    warnings: Vec<Warning>,
    /// How many bastions there are so far.
    pub(super) hops: usize,
    /// Whose own configuration asked for bastions: host as typed, user and port.
    pub(super) expanded: Vec<(String, String, u16)>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(local: &'a Local, reader: Reader<'a>) -> Self {
        Self { local, reader, warnings: Vec::new(), hops: 0, expanded: Vec::new() }
    }

    /// What is worth saying.
    pub(super) fn into_warnings(self) -> Vec<Warning> {
        self.warnings.into_iter().chain(self.reader.warnings).collect()
    }

    /// Resolves one destination, and the bastions on its way.
    pub(super) fn target(&mut self, destination: &str, options: &ConnectionOptions) -> Result<Target, Fault> {
        let typed = Destination::parse(destination)?;
        let (settings, user_source, host) = self.settings(&typed, options)?;
        let local = self.local;
        let port = settings.port.unwrap_or(DEFAULT_PORT);
        let (user, user_source) = user(local, &settings, user_source)?;
        let alias = settings.host_key_alias.as_ref().map(|alias| alias.to_ascii_lowercase());
        let tokens = Tokens {
            local,
            host: &host,
            typed: &typed.host,
            port,
            user: &user,
            alias: alias.as_deref().unwrap_or(&typed.host),
            jump: &last_hop(&settings),
        };
        let (jump, proxy_command) = self.route(&settings, &tokens, options)?;
        let pubkey_enabled = settings.pubkey.unwrap_or(true);
        let (identities, certificate_files) = if pubkey_enabled {
            let (plan, warnings) = identity::plan(&options.identities, &settings, &tokens)?;
            let (certificates, more) = identity::certificates(&settings, &tokens)?;
            self.say(warnings.into_iter().chain(more));
            (plan, certificates)
        } else {
            Default::default()
        };
        Ok(Target {
            alias: typed.host.clone(),
            user_source,
            port,
            jump,
            proxy_command,
            host_key_alias: alias.clone(),
            host_keys: trust::rules(options, &settings, &tokens)?,
            revoked_host_keys: trust::revoked(&settings, &tokens)?,
            known_hosts_command: trust::command(&settings, &tokens)?,
            identities,
            certificate_files,
            pubkey_enabled,
            password_enabled: settings.password.unwrap_or(true),
            kbd_interactive_enabled: settings.kbd_interactive.unwrap_or(true),
            preferred_authentications: settings
                .preferred_authentications
                .as_ref()
                .map(|methods| methods.split(',').map(str::to_owned).collect()),
            address_family: settings.address_family.unwrap_or_default(),
            compression: settings.compression.unwrap_or(false),
            send_env: variables(local, &settings),
            connection_attempts: settings.connection_attempts.unwrap_or(1).max(1),
            rekey_bytes: settings.rekey_bytes.filter(|bytes| *bytes > 0),
            rekey_time: settings.rekey_time.filter(|time| !time.is_zero()),
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
            algorithms: Algorithms {
                kex: settings.kex,
                ciphers: settings.ciphers,
                macs: settings.macs,
                host_keys: settings.host_key_algorithms,
                pubkey: settings.pubkey_algorithms,
            },
            bind_address: settings.bind_address,
            bind_interface: settings.bind_interface,
            host,
            user,
        })
    }

    /// Everything that was set, where the user came from if it is known before the files, and the host after
    /// `HostName`.
    pub(super) fn settings(
        &mut self,
        typed: &Destination,
        options: &ConnectionOptions,
    ) -> Result<(Settings, Option<&'static str>, String), Fault> {
        let (mut settings, warnings) = Settings::from_command_line(&options.options)?;
        self.say(warnings);
        let user_source = early_user(options, &mut settings, typed)?;
        settings.port = options.port.or(settings.port).or(typed.port);
        if !options.jump.is_empty() {
            let refuse = |problem| Fault::Usage { message: format!("`-J`: {problem}") };
            settings.route = Some(options::hops(&options.jump.join(",")).map_err(refuse)?);
        }
        let first = Subject { typed: &typed.host, host: &typed.host, last: false };
        let again = self.reader.read(&options.config, &mut settings, first)?;
        let host = self.host_name(typed, &settings)?;
        if again {
            settings.host_name = Some(host.clone());
            let last = Subject { typed: &typed.host, host: &host, last: true };
            self.reader.read(&options.config, &mut settings, last)?;
        }
        if let Some(why) = &settings.refused {
            return Err(config_invalid(settings.place("RefuseConnection"), format!("RefuseConnection: {why}")));
        }
        Ok((settings, user_source, host))
    }

    fn host_name(&self, typed: &Destination, settings: &Settings) -> Result<String, Fault> {
        let Some(name) = &settings.host_name else { return Ok(canonical(&typed.host)) };
        let invalid = |problem| config_invalid(settings.place("HostName"), format!("HostName: {problem}"));
        // `%h` alone is allowed in it, and means the name as typed.
        let tokens = Tokens {
            local: self.local,
            host: &typed.host,
            typed: &typed.host,
            port: DEFAULT_PORT,
            user: "",
            alias: "",
            jump: "",
        };
        let name = tokens.text(name, Allowed::Host).map_err(invalid)?;
        check_host(&name).map_err(invalid)?;
        Ok(canonical(&name))
    }

    fn say(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}

/// The user that the command line names; `Match user` in the files sees it.
fn early_user(
    options: &ConnectionOptions,
    settings: &mut Settings,
    typed: &Destination,
) -> Result<Option<&'static str>, Fault> {
    if let Some(user) = &options.user {
        let refuse = |problem| Fault::Usage { message: format!("`-l` does not name a usable user: {problem}") };
        check_user(user).map_err(refuse)?;
        settings.user = Some(user.clone());
        return Ok(Some("option"));
    }
    if settings.user.is_some() {
        return Ok(Some("config"));
    }
    settings.user.clone_from(&typed.user);
    Ok(typed.user.as_ref().map(|_| "destination"))
}

fn user(local: &Local, settings: &Settings, source: Option<&'static str>) -> Result<(String, &'static str), Fault> {
    if let Some(user) = &settings.user {
        check_user(user).map_err(|problem| config_invalid(settings.place("User"), format!("User: {problem}")))?;
        return Ok((user.clone(), source.unwrap_or("config")));
    }
    match &local.user {
        Some(user) => Ok((user.clone(), "local")),
        None => Err(Fault::Usage { message: format!("uid {} has no name here: say `-l USER`", local.uid) }),
    }
}

/// `SetEnv`, and what `SendEnv` names of ours; where both name one, `SetEnv` counts.
fn variables(local: &Local, settings: &Settings) -> Vec<(String, String)> {
    let mut pairs = settings.set_env.clone();
    for (name, value) in &local.variables {
        let wanted = settings.send_env.iter().any(|pattern| config::fits(name, pattern));
        if wanted && !pairs.iter().any(|(known, _)| known == name) {
            pairs.push((name.clone(), value.clone()));
        }
    }
    pairs
}

/// Names are lower-case from here on, and addresses in their one spelling (ssh.c): `known_hosts` is searched for that. The
/// zone of an IPv6 address is an interface, and those differ by case.
fn canonical(host: &str) -> String {
    let (address, zone) = host.split_once('%').map_or((host, None), |(address, zone)| (address, Some(zone)));
    match (address.parse::<IpAddr>(), zone) {
        (Ok(address), None) => address.to_string(),
        (Ok(IpAddr::V6(address)), Some(zone)) => format!("{address}%{zone}"),
        _ => host.to_ascii_lowercase(),
    }
}
