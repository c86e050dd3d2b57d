//! The options that say which host keys are trusted.

use std::path::PathBuf;

use super::expand::Tokens;
use super::options::Settings;
use super::{DEFAULT_PORT, HostKeyRules, Pin, config_invalid};
use crate::errors::Fault;
use crate::model::request::{ConnectionOptions, HostKeyPolicy};

/// The files that `ssh_config(5)` gives as defaults.
const USER_FILES: [&str; 2] = ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"];
const GLOBAL_FILES: [&str; 2] = ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"];

/// How the host key is judged.
pub(super) fn rules(
    options: &ConnectionOptions,
    settings: &Settings,
    tokens: &Tokens<'_>,
) -> Result<HostKeyRules, Fault> {
    let host = tokens.host.to_ascii_lowercase();
    let (lookup_name, portless_name) = match &settings.host_key_alias {
        Some(alias) if alias.contains(|c: char| c.is_whitespace() || c.is_control()) => {
            let problem = "HostKeyAlias: it holds white space or a control character";
            return Err(config_invalid(settings.place("HostKeyAlias"), problem));
        }
        Some(alias) => (alias.to_ascii_lowercase(), None),
        None if tokens.port == DEFAULT_PORT => (host, None),
        None => (format!("[{host}]:{}", tokens.port), Some(host)),
    };
    // Without a home there is no default file below it.
    let defaults = |files: &[&str]| files.iter().filter_map(|file| tokens.plain_path(file).ok()).collect();
    let user_files = match &settings.user_known_hosts {
        Some(files) => paths(settings, "UserKnownHostsFile", files, |file| tokens.path(file))?,
        None => defaults(&USER_FILES),
    };
    let global_files = match &settings.global_known_hosts {
        Some(files) => paths(settings, "GlobalKnownHostsFile", files, |file| tokens.plain_path(file))?,
        None => defaults(&GLOBAL_FILES),
    };
    Ok(HostKeyRules {
        remember: true,
        policy: options.host_key_policy.or(settings.host_key_policy).unwrap_or(HostKeyPolicy::Strict),
        pins: options.host_key_pins.iter().map(|pin| Pin::parse(pin)).collect::<Result<_, _>>()?,
        lookup_name,
        portless_name,
        user_files,
        global_files,
        hash_new: settings.hash_known_hosts.unwrap_or(false),
    })
}

fn paths(
    settings: &Settings,
    keyword: &str,
    files: &[String],
    path: impl Fn(&str) -> Result<PathBuf, String>,
) -> Result<Vec<PathBuf>, Fault> {
    let paths: Result<Vec<_>, _> = files.iter().map(|file| path(file)).collect();
    paths.map_err(|problem| config_invalid(settings.place(keyword), format!("{keyword}: {problem}")))
}

/// `RevokedHostKeys`.
pub(super) fn revoked(settings: &Settings, tokens: &Tokens<'_>) -> Result<Option<PathBuf>, Fault> {
    let file = settings.revoked_host_keys.as_deref().filter(|file| !file.eq_ignore_ascii_case("none"));
    let invalid = |problem| config_invalid(settings.place("RevokedHostKeys"), format!("RevokedHostKeys: {problem}"));
    file.map(|file| tokens.path(file)).transpose().map_err(invalid)
}

/// `KnownHostsCommand`.
pub(super) fn command(settings: &Settings, tokens: &Tokens<'_>) -> Result<Option<String>, Fault> {
    let command = settings.known_hosts_command.as_deref().filter(|command| !command.eq_ignore_ascii_case("none"));
    let invalid =
        |problem| config_invalid(settings.place("KnownHostsCommand"), format!("KnownHostsCommand: {problem}"));
    command.map(|command| tokens.known_hosts_command(command)).transpose().map_err(invalid)
}
