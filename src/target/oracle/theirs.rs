//! `ssh -G`, and our settings in its words.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::super::Target;
use super::super::options::{Route, Settings};
use crate::model::request::HostKeyPolicy;

/// What is compared of it. Where a keyword adds up, its values are lines.
const KEYS: [&str; 31] = [
    "hostname",
    "user",
    "port",
    "identityfile",
    "identitiesonly",
    "identityagent",
    "certificatefile",
    "proxyjump",
    "proxycommand",
    "userknownhostsfile",
    "globalknownhostsfile",
    "knownhostscommand",
    "revokedhostkeys",
    "stricthostkeychecking",
    "hostkeyalias",
    "hashknownhosts",
    "preferredauthentications",
    "passwordauthentication",
    "pubkeyauthentication",
    "kbdinteractiveauthentication",
    "connecttimeout",
    "connectionattempts",
    "serveraliveinterval",
    "serveralivecountmax",
    "addressfamily",
    "bindaddress",
    "bindinterface",
    "compression",
    "sendenv",
    "setenv",
    "rekeylimit",
];

/// Lists of algorithms: compared where they are named without a prefix.
const ALGORITHMS: [&str; 5] = ["kexalgorithms", "ciphers", "macs", "hostkeyalgorithms", "pubkeyacceptedalgorithms"];

/// Keyword → value.
#[derive(Clone, Debug)]
pub(in crate::target) struct Printed(pub(in crate::target) BTreeMap<&'static str, String>);

impl Printed {
    pub(in crate::target) fn value(&self, key: &str) -> &str {
        self.0.get(key).map(String::as_str).unwrap_or_default()
    }

    /// What ssh prints, or why it does not.
    pub(super) fn theirs(config: &Path, arguments: Vec<String>, destination: &str) -> Result<Self, String> {
        let mut ssh = Command::new("ssh");
        ssh.env("SHELL", "/bin/sh").env("ORACLE_SET", "set").env_remove("ORACLE_UNSET");
        ssh.arg("-G").arg("-F").arg(config).args(arguments).arg(destination);
        let said = ssh.output().expect("these tests need ssh");
        if !said.status.success() {
            return Err(String::from_utf8_lossy(&said.stderr).into_owned());
        }
        let text = String::from_utf8(said.stdout).unwrap();
        let mut found = BTreeMap::<_, Vec<String>>::new();
        for line in text.lines() {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            if let Some(key) = KEYS.iter().chain(&ALGORITHMS).find(|known| **known == key) {
                found.entry(*key).or_default().push(value.to_owned());
            }
        }
        // After a second pass it repeats them.
        if let Some(names) = found.get_mut("sendenv") {
            let mut once: Vec<String> = Vec::new();
            for name in names.iter() {
                if !once.contains(name) {
                    once.push(name.clone());
                }
            }
            *names = once;
        }
        let mut it = Self(found.into_iter().map(|(key, values)| (key, values.join("\n"))).collect());
        // Its `ask` is our strict, and its files are those that are there.
        if it.value("identityfile").contains("id_dsa") {
            it.0.remove("identityfile");
        }
        for (from, to) in [("ask", "true"), ("yes", "true")] {
            if it.value("stricthostkeychecking") == from {
                it.0.insert("stricthostkeychecking", to.to_owned());
            }
        }
        it.0.retain(|_, value| value != "none");
        // To us 0 is `none`: no limit of its own.
        if it.value("connecttimeout") == "0" {
            it.0.remove("connecttimeout");
        }
        Ok(it)
    }

    /// Our settings in the same words; their defaults where ours are other ones.
    pub(super) fn ours(settings: &Settings, target: &Target) -> Self {
        let mut it = BTreeMap::new();
        let mut put = |key: &'static str, value: String| {
            if value != "none" && !value.is_empty() {
                it.insert(key, value);
            }
        };
        let flag = |value: bool| if value { "yes" } else { "no" }.to_owned();
        let seconds = |time: Duration| time.as_secs().to_string();
        put("hostname", target.host.clone());
        put("user", target.user.clone());
        put("port", target.port.to_string());
        put("identityfile", settings.identity_files.join("\n"));
        put("identitiesonly", flag(target.identities.listed_only));
        put("identityagent", settings.identity_agent.clone().unwrap_or_default());
        put("certificatefile", settings.certificate_files.join("\n"));
        match &settings.route {
            Some(Route::Command(command)) => put("proxycommand", command.clone()),
            Some(Route::Jump(hops)) => put("proxyjump", hops.join(",").replace("ssh://", "")),
            Some(Route::Direct | Route::NoJump) | None => {}
        }
        let paths = |paths: &[std::path::PathBuf]| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        put("userknownhostsfile", paths(&target.host_keys.user_files));
        put("globalknownhostsfile", paths(&target.host_keys.global_files));
        put("knownhostscommand", settings.known_hosts_command.clone().unwrap_or_default());
        put("revokedhostkeys", settings.revoked_host_keys.clone().unwrap_or_default());
        let policy = match target.host_keys.policy {
            HostKeyPolicy::Strict => "true",
            HostKeyPolicy::AcceptNew => "accept-new",
            HostKeyPolicy::Insecure => "false",
        };
        put("stricthostkeychecking", policy.to_owned());
        put("hostkeyalias", settings.host_key_alias.clone().unwrap_or_default().to_ascii_lowercase());
        put("hashknownhosts", flag(target.host_keys.hash_new));
        put("preferredauthentications", target.preferred_authentications.clone().unwrap_or_default().join(","));
        put("passwordauthentication", flag(target.password_enabled));
        put("pubkeyauthentication", target.pubkey_enabled.to_string());
        put("kbdinteractiveauthentication", flag(target.kbd_interactive_enabled));
        put(
            "connecttimeout",
            settings.connect_timeout.filter(|limit| !limit.is_zero()).map(seconds).unwrap_or_default(),
        );
        put("connectionattempts", settings.connection_attempts.unwrap_or(1).to_string());
        put("serveraliveinterval", seconds(settings.alive_interval.unwrap_or_default()));
        put("serveralivecountmax", settings.alive_count.unwrap_or(3).to_string());
        put("addressfamily", format!("{:?}", target.address_family).to_lowercase());
        put("bindaddress", target.bind_address.clone().unwrap_or_default());
        put("bindinterface", target.bind_interface.clone().unwrap_or_default());
        put("compression", flag(target.compression));
        put("sendenv", settings.send_env.join("\n"));
        let pairs = settings.set_env.iter().map(|(name, value)| format!("{name}={value}"));
        put("setenv", pairs.collect::<Vec<_>>().join("\n"));
        let (bytes, time) = (target.rekey_bytes.unwrap_or(0), target.rekey_time.unwrap_or_default());
        put("rekeylimit", format!("{bytes} {}", time.as_secs()));
        let algorithms = &target.algorithms;
        let lists = [&algorithms.kex, &algorithms.ciphers, &algorithms.macs, &algorithms.host_keys, &algorithms.pubkey];
        for (key, list) in ALGORITHMS.into_iter().zip(lists) {
            put(key, list.clone().unwrap_or_default());
        }
        Self(it)
    }

    /// Without the lists of algorithms that were not named, or relative to the defaults: theirs are their own.
    pub(super) fn comparable(mut self, settings: &Self) -> Self {
        self.0.retain(|key, _| !ALGORITHMS.contains(key) || plain(settings.value(key)));
        self
    }
}

fn plain(list: &str) -> bool {
    !list.is_empty() && !list.starts_with(['+', '-', '^'])
}
