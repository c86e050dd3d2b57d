//! The `ssh_config` settings that are honoured, and the one place where "the first value wins" is written. The `-o`
//! options of the command line go through it first, then what DEST says, then the files.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use super::AddressFamily;
use super::config::{fits, keyword, list_fits, words};
use super::destination::{Destination, parse_port};
use super::keywords::{self, Treatment};
use super::values::{self, one};
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::request::HostKeyPolicy;

/// The most that `IdentityFile` and `CertificateFile` add up to (readconf.h `SSH_MAX_IDENTITY_FILES`).
const MAX_FILES: usize = 100;

/// What was set, as written: nothing is expanded and no default is filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `User`.
    pub user: Option<String>,
    /// `Port`.
    pub port: Option<u16>,
    /// `HostName`.
    pub host_name: Option<String>,
    /// `HostKeyAlias`.
    pub host_key_alias: Option<String>,
    /// `UserKnownHostsFile`: empty for `none`.
    pub user_known_hosts: Option<Vec<String>>,
    /// `GlobalKnownHostsFile`: empty for `none`.
    pub global_known_hosts: Option<Vec<String>>,
    /// `KnownHostsCommand`.
    pub known_hosts_command: Option<String>,
    /// `RevokedHostKeys`.
    pub revoked_host_keys: Option<String>,
    /// `HashKnownHosts`.
    pub hash_known_hosts: Option<bool>,
    /// `StrictHostKeyChecking`.
    pub host_key_policy: Option<HostKeyPolicy>,
    /// `PubkeyAuthentication`.
    pub pubkey: Option<bool>,
    /// `PasswordAuthentication`.
    pub password: Option<bool>,
    /// `KbdInteractiveAuthentication`.
    pub kbd_interactive: Option<bool>,
    /// `PreferredAuthentications`.
    pub preferred_authentications: Option<String>,
    /// `IdentitiesOnly`.
    pub identities_only: Option<bool>,
    /// `IdentityFile`: adds up. `none` among them.
    pub identity_files: Vec<String>,
    /// `CertificateFile`: adds up.
    pub certificate_files: Vec<String>,
    /// `IdentityAgent`.
    pub identity_agent: Option<String>,
    /// `ConnectTimeout`; zero is `none` or 0, the system's own limit.
    pub connect_timeout: Option<Duration>,
    /// `ConnectionAttempts`.
    pub connection_attempts: Option<u32>,
    /// `ServerAliveInterval`: zero is off.
    pub alive_interval: Option<Duration>,
    /// `ServerAliveCountMax`.
    pub alive_count: Option<u32>,
    /// `ProxyCommand` or `ProxyJump`, whichever came first.
    pub route: Option<Route>,
    /// `KexAlgorithms`.
    pub kex: Option<String>,
    /// `Ciphers`.
    pub ciphers: Option<String>,
    /// `MACs`.
    pub macs: Option<String>,
    /// `HostKeyAlgorithms`.
    pub host_key_algorithms: Option<String>,
    /// `PubkeyAcceptedAlgorithms`.
    pub pubkey_algorithms: Option<String>,
    /// `AddressFamily`.
    pub address_family: Option<AddressFamily>,
    /// `BindAddress`.
    pub bind_address: Option<String>,
    /// `BindInterface`.
    pub bind_interface: Option<String>,
    /// `Compression`.
    pub compression: Option<bool>,
    /// `SendEnv`: patterns, add up.
    pub send_env: Vec<String>,
    /// `SetEnv`: the first line that has any.
    pub set_env: Vec<(String, String)>,
    /// `RekeyLimit`, its data: zero is `default`.
    pub rekey_bytes: Option<u64>,
    /// `RekeyLimit`, its time.
    pub rekey_time: Option<Duration>,
    /// `RefuseConnection`: why there is to be none.
    pub refused: Option<String>,
    /// `Tag`, for `Match tagged`.
    pub tag: Option<String>,
    /// `IgnoreUnknown`.
    pub ignore_unknown: Option<String>,
    /// Where each keyword was met first, for messages.
    places: BTreeMap<&'static str, String>,
}

/// How to get there if not straight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// `ProxyCommand none`.
    Direct,
    /// `ProxyJump none`: no bastions, but a `ProxyCommand` after it counts.
    NoJump,
    /// `ProxyCommand`.
    Command(String),
    /// `ProxyJump`: the hops in order.
    Jump(Vec<String>),
}

/// What became of one keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is honoured, or an earlier value won, or it does not matter here.
    Honoured,
    /// OpenSSH would do something about it, under this name, and we do not.
    Ignored(&'static str),
}

impl Settings {
    /// Reads the `-o` options in order.
    pub fn from_command_line(options: &[String]) -> Result<(Self, Vec<Warning>), Fault> {
        let mut settings = Self::default();
        let mut warnings = Vec::new();
        for option in options {
            let (word, rest) = keyword(option).unwrap_or_default();
            if rest.is_empty() && ["json", "ndjson", "raw"].iter().any(|mode| option.trim().eq_ignore_ascii_case(mode))
            {
                let mode = option.trim().to_ascii_lowercase();
                return Err(Fault::Usage {
                    message: format!("`-o {mode}` is an ssh_config option; the output form is `--output {mode}`"),
                });
            }
            let place = format!("-o {word}");
            match settings.apply(&word, rest, &place) {
                Ok(Applied::Honoured) => {}
                Ok(Applied::Ignored(name)) => {
                    warnings
                        .push(Warning::new("option_ignored", format!("`-o {name}` is not supported and was ignored")));
                }
                Err(problem) => return Err(Fault::ConfigInvalid { place, problem }),
            }
        }
        Ok((settings, warnings))
    }

    /// Where the keyword, in the manual's spelling, was met first.
    pub fn place<'a>(&'a self, name: &'a str) -> &'a str {
        self.places.get(name).map_or(name, String::as_str)
    }

    /// Takes one keyword (in any case) with the rest of its line. A value that was set before stays; a bad one is
    /// refused all the same.
    pub fn apply(&mut self, keyword: &str, rest: &str, place: &str) -> Result<Applied, String> {
        let mut lower = keyword.to_ascii_lowercase();
        let found = keywords::find(&lower);
        let ignored = self.ignore_unknown.as_deref().is_some_and(|list| list_fits(&lower, &list.to_lowercase()));
        if found.is_none() && !ignored {
            return Err("no such ssh_config keyword; `IgnoreUnknown` before it lets it pass".to_owned());
        }
        if rest.is_empty() {
            return Err("it has no value".to_owned());
        }
        let arguments = words(rest)?;
        let Some(mut known) = found else { return Ok(Applied::Honoured) };
        if let Treatment::Alias(other) = known.treatment {
            other.clone_into(&mut lower);
            known.name = keywords::find(other).map_or(known.name, |known| known.name);
        }
        match known.treatment {
            Treatment::Moot(value) => return value.check(&arguments).map(|()| Applied::Honoured),
            Treatment::Missing(value, harmless) => {
                value.check(&arguments)?;
                let harmless = matches!(&arguments[..], [word] if harmless.contains(&word.to_lowercase().as_str()));
                return Ok(if harmless { Applied::Honoured } else { Applied::Ignored(known.name) });
            }
            Treatment::Honoured | Treatment::Alias(_) => {}
        }
        let line = rest.trim_start_matches([' ', '\t', '\r', '\n', '=']);
        if !self.apply_connection(&lower, &arguments, line)? {
            self.apply_identity(&lower, &arguments, line)?;
        }
        self.places.entry(known.name).or_insert_with(|| place.to_owned());
        Ok(Applied::Honoured)
    }

    /// Checks a line that does not count, because its block does not match.
    pub fn check(&self, keyword: &str, rest: &str) -> Result<(), String> {
        let mut scratch = Self { ignore_unknown: self.ignore_unknown.clone(), ..Self::default() };
        scratch.apply(keyword, rest, "").map(drop)
    }

    /// Where to go, and how; false for a keyword of another kind.
    fn apply_connection(&mut self, lower: &str, arguments: &[String], line: &str) -> Result<bool, String> {
        let value = || one(arguments);
        match lower {
            "user" => first(&mut self.user, value()?.to_owned()),
            "port" => first(&mut self.port, parse_port(value()?)?),
            "hostname" => first(&mut self.host_name, value()?.to_owned()),
            // The whole line, quotes and `#` included: it is a command's.
            "proxycommand" => match self.route {
                None | Some(Route::NoJump) => self.route = Some(command(line)),
                Some(_) => {}
            },
            "proxyjump" => first(&mut self.route, hops(line)?),
            "connecttimeout" => first(&mut self.connect_timeout, values::seconds(value()?)?),
            "connectionattempts" => first(&mut self.connection_attempts, values::count(value()?)?),
            "serveraliveinterval" => first(&mut self.alive_interval, values::seconds(value()?)?),
            "serveralivecountmax" => first(&mut self.alive_count, values::count(value()?)?),
            "addressfamily" => first(&mut self.address_family, values::address_family(value()?)?),
            "bindaddress" => first(&mut self.bind_address, value()?.to_owned()),
            "bindinterface" => first(&mut self.bind_interface, value()?.to_owned()),
            "compression" => first(&mut self.compression, values::compression(value()?)?),
            "kexalgorithms" => first(&mut self.kex, values::algorithms(value()?)?),
            "ciphers" => first(&mut self.ciphers, values::algorithms(value()?)?),
            "macs" => first(&mut self.macs, values::algorithms(value()?)?),
            "hostkeyalgorithms" => first(&mut self.host_key_algorithms, values::algorithms(value()?)?),
            "rekeylimit" => {
                // The first of each: a later line may add a time.
                let (bytes, time) = values::rekey(arguments)?;
                first(&mut self.rekey_bytes, bytes);
                self.rekey_time = self.rekey_time.or(time);
            }
            "refuseconnection" => first(&mut self.refused, value()?.to_owned()),
            "tag" => first(&mut self.tag, value()?.to_owned()),
            "ignoreunknown" => first(&mut self.ignore_unknown, value()?.to_owned()),
            "sendenv" => self.send_env(arguments)?,
            "setenv" => self.set_env(arguments)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Who we are, and who they have to be.
    fn apply_identity(&mut self, lower: &str, arguments: &[String], line: &str) -> Result<(), String> {
        let value = || one(arguments);
        match lower {
            "hostkeyalias" => first(&mut self.host_key_alias, value()?.to_owned()),
            // A comment instead of files sets nothing.
            "userknownhostsfile" | "globalknownhostsfile" if arguments.is_empty() => {}
            "userknownhostsfile" => first(&mut self.user_known_hosts, values::files(arguments)?),
            "globalknownhostsfile" => first(&mut self.global_known_hosts, values::files(arguments)?),
            "knownhostscommand" => first(&mut self.known_hosts_command, line.to_owned()),
            "revokedhostkeys" => first(&mut self.revoked_host_keys, value()?.to_owned()),
            "hashknownhosts" => first(&mut self.hash_known_hosts, values::yes_no(value()?)?),
            "stricthostkeychecking" => first(&mut self.host_key_policy, values::policy(value()?)?),
            "pubkeyauthentication" => first(&mut self.pubkey, values::pubkey(value()?)?),
            "passwordauthentication" => first(&mut self.password, values::yes_no(value()?)?),
            "kbdinteractiveauthentication" => first(&mut self.kbd_interactive, values::yes_no(value()?)?),
            "preferredauthentications" => first(&mut self.preferred_authentications, value()?.to_owned()),
            "pubkeyacceptedalgorithms" => first(&mut self.pubkey_algorithms, values::algorithms(value()?)?),
            "identitiesonly" => first(&mut self.identities_only, values::yes_no(value()?)?),
            "identityfile" => add(&mut self.identity_files, value()?)?,
            "certificatefile" => add(&mut self.certificate_files, value()?)?,
            "identityagent" => first(&mut self.identity_agent, value()?.to_owned()),
            // `Host`, `Match` and `Include`: whoever reads files has taken them out.
            _ => return Err("it belongs into a file".to_owned()),
        }
        Ok(())
    }

    /// A name with `-` before it takes back what fits it (readconf.c `rm_env`).
    fn send_env(&mut self, arguments: &[String]) -> Result<(), String> {
        for name in arguments {
            if name.is_empty() || name.contains('=') {
                return Err(format!("`{name}` is not the name of a variable"));
            }
            match name.strip_prefix('-') {
                Some(taken) => self.send_env.retain(|known| !fits(known, taken)),
                None if self.send_env.contains(name) => {}
                None => self.send_env.push(name.clone()),
            }
        }
        Ok(())
    }

    fn set_env(&mut self, arguments: &[String]) -> Result<(), String> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in arguments {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(format!("`{pair}` is not NAME=VALUE"));
            };
            if !pairs.iter().any(|(known, _)| known == name) {
                pairs.push((name.to_owned(), value.to_owned()));
            }
        }
        if self.set_env.is_empty() {
            self.set_env = pairs;
        }
        Ok(())
    }
}

fn first<T>(slot: &mut Option<T>, value: T) {
    slot.get_or_insert(value);
}

fn add(files: &mut Vec<String>, file: &str) -> Result<(), String> {
    if files.iter().any(|known| known == file) {
        return Ok(());
    }
    if files.len() == MAX_FILES {
        return Err(format!("there are more than {MAX_FILES} of it"));
    }
    files.push(file.to_owned());
    Ok(())
}

fn command(line: &str) -> Route {
    if line.eq_ignore_ascii_case("none") { Route::Direct } else { Route::Command(line.to_owned()) }
}

/// `ProxyJump`, and `-J`: destinations separated by commas, or `none`. They may still hold tokens.
pub(super) fn hops(line: &str) -> Result<Route, String> {
    let line = line.split('#').next().unwrap_or_default().trim_end();
    if line.eq_ignore_ascii_case("none") {
        return Ok(Route::NoJump);
    }
    let hops: Vec<_> = line.split(',').map(str::to_owned).collect();
    for hop in &hops {
        Destination::parse(hop).map_err(|fault| match fault {
            Fault::Usage { message } => format!("a hop is not usable: {message}"),
            other => other.to_string(),
        })?;
    }
    Ok(Route::Jump(hops))
}
