//! The `ssh_config` settings that are honoured, and the one place where "the first value wins" is written. The `-o`
//! options of the command line go through it first; whatever reads files later only has to call [`Settings::set`] in
//! the order of `ssh_config(5)`.

use std::time::Duration;

use super::destination::parse_port;
use super::keywords;
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::request::HostKeyPolicy;

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
    /// `HashKnownHosts`.
    pub hash_known_hosts: Option<bool>,
    /// `StrictHostKeyChecking`.
    pub host_key_policy: Option<HostKeyPolicy>,
    /// `PubkeyAuthentication`.
    pub pubkey: Option<bool>,
    /// `PasswordAuthentication`.
    pub password: Option<bool>,
    /// `IdentitiesOnly`.
    pub identities_only: Option<bool>,
    /// `IdentityFile`: the one keyword that adds up. `none` among them.
    pub identity_files: Vec<String>,
    /// `IdentityAgent`.
    pub identity_agent: Option<String>,
    /// `ConnectTimeout`; zero is `none` or 0, the system's own limit.
    pub connect_timeout: Option<Duration>,
    /// `ServerAliveInterval`: zero is off.
    pub alive_interval: Option<Duration>,
    /// `ServerAliveCountMax`.
    pub alive_count: Option<u32>,
}

/// What became of one keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is honoured (or an earlier value won).
    Honoured,
    /// OpenSSH knows it, under this name, and we do nothing about it yet.
    Ignored(&'static str),
}

impl Settings {
    /// Reads the `-o` options in order.
    pub fn from_command_line(options: &[String]) -> Result<(Self, Vec<Warning>), Fault> {
        let mut settings = Self::default();
        let mut warnings = Vec::new();
        for option in options {
            let (keyword, rest) = split_keyword(option);
            if rest.is_empty() && ["json", "ndjson", "raw"].iter().any(|mode| option.trim().eq_ignore_ascii_case(mode))
            {
                let mode = option.trim().to_ascii_lowercase();
                return Err(Fault::Usage {
                    message: format!("`-o {mode}` is an ssh_config option; the output form is `--output {mode}`"),
                });
            }
            let applied = arguments(rest).and_then(|arguments| settings.set(keyword, &arguments));
            match applied {
                Ok(Applied::Honoured) => {}
                Ok(Applied::Ignored(name)) => {
                    warnings.push(Warning::new(
                        "option_ignored",
                        format!("`-o {name}` is not supported yet and was ignored"),
                    ));
                }
                Err(problem) => return Err(Fault::ConfigInvalid { place: format!("-o {keyword}"), problem }),
            }
        }
        Ok((settings, warnings))
    }

    /// Takes one keyword (in any case) with its arguments. A value that was set before stays; a bad one is refused all
    /// the same.
    pub fn set(&mut self, keyword: &str, arguments: &[String]) -> Result<Applied, String> {
        let lower = keyword.to_ascii_lowercase();
        let Some(known) = keywords::find(&lower) else {
            return Err("no such ssh_config keyword".to_owned());
        };
        if let Some(why) = known.refused {
            return match arguments {
                [none] if none.eq_ignore_ascii_case("none") => Ok(Applied::Honoured),
                _ => Err(why.to_owned()),
            };
        }
        if arguments.is_empty() {
            return Err("it has no value".to_owned());
        }
        let value = || match arguments {
            [one] if !one.is_empty() => Ok(one.as_str()),
            [_] => Err("its value is empty".to_owned()),
            _ => Err("it takes one value; quote one that holds spaces".to_owned()),
        };
        match lower.as_str() {
            "user" => first(&mut self.user, value()?.to_owned()),
            "port" => first(&mut self.port, parse_port(value()?)?),
            "hostname" => first(&mut self.host_name, value()?.to_owned()),
            "hostkeyalias" => first(&mut self.host_key_alias, value()?.to_owned()),
            "userknownhostsfile" => first(&mut self.user_known_hosts, files(arguments)?),
            "globalknownhostsfile" => first(&mut self.global_known_hosts, files(arguments)?),
            "hashknownhosts" => first(&mut self.hash_known_hosts, yes_no(value()?)?),
            "stricthostkeychecking" => first(&mut self.host_key_policy, policy(value()?)?),
            "pubkeyauthentication" | "dsaauthentication" => first(&mut self.pubkey, pubkey(value()?)?),
            "passwordauthentication" => first(&mut self.password, yes_no(value()?)?),
            "identitiesonly" => first(&mut self.identities_only, yes_no(value()?)?),
            "identityfile" | "identityfile2" => self.identity_files.push(value()?.to_owned()),
            "identityagent" => first(&mut self.identity_agent, value()?.to_owned()),
            "connecttimeout" => first(&mut self.connect_timeout, seconds(value()?)?),
            "serveraliveinterval" => first(&mut self.alive_interval, seconds(value()?)?),
            "serveralivecountmax" => {
                let count = value()?;
                first(&mut self.alive_count, count.parse().map_err(|_| format!("`{count}` is not a count"))?);
            }
            // Nothing here ever asks by itself.
            "batchmode" => _ = yes_no(value()?)?,
            _ => return Ok(Applied::Ignored(known.name)),
        }
        Ok(Applied::Honoured)
    }
}

/// The first value wins (`ssh_config(5)`).
fn first<T>(slot: &mut Option<T>, value: T) {
    slot.get_or_insert(value);
}

/// `KEY=VALUE`, `KEY VALUE` or `KEY = VALUE`: the keyword and the rest.
pub(super) fn split_keyword(line: &str) -> (&str, &str) {
    let line = line.trim();
    let end = line.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(line.len());
    let (keyword, rest) = line.split_at(end);
    let rest = rest.trim_start();
    (keyword, rest.strip_prefix('=').unwrap_or(rest).trim_start())
}

/// Words separated by white space; quotes and backslashes as in OpenSSH's `argv_split`; a `#` that begins a word ends
/// the line.
pub(super) fn arguments(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none_or(|c| *c == '#') {
            return Ok(words);
        }
        let mut word = String::new();
        let mut quote = None;
        while let Some(c) = chars.next_if(|c| quote.is_some() || !c.is_whitespace()) {
            match (c, quote) {
                ('\\', _) => {
                    match chars.next_if(|c| matches!(c, '\'' | '"' | '\\') || (quote.is_none() && *c == ' ')) {
                        Some(escaped) => word.push(escaped),
                        None => word.push('\\'),
                    }
                }
                ('"' | '\'', None) => quote = Some(c),
                (c, Some(q)) if c == q => quote = None,
                (c, _) => word.push(c),
            }
        }
        if quote.is_some() {
            return Err("a quote is not closed".to_owned());
        }
        words.push(word);
    }
}

fn files(arguments: &[String]) -> Result<Vec<String>, String> {
    let none = arguments.iter().any(|word| word.eq_ignore_ascii_case("none"));
    match arguments {
        [_] if none => Ok(Vec::new()),
        _ if none => Err("`none` stands alone".to_owned()),
        _ if arguments.iter().any(String::is_empty) => Err("a file name is empty".to_owned()),
        _ => Ok(arguments.to_vec()),
    }
}

fn yes_no(word: &str) -> Result<bool, String> {
    match word.to_ascii_lowercase().as_str() {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err(format!("`{word}` is neither `yes` nor `no`")),
    }
}

/// `unbound` and `host-bound` choose a protocol extension (OpenSSH PROTOCOL, publickey-hostbound-v00), not whether keys
/// are used.
fn pubkey(word: &str) -> Result<bool, String> {
    match word.to_ascii_lowercase().as_str() {
        "unbound" | "host-bound" => Ok(true),
        _ => yes_no(word),
    }
}

/// `ask` is strict here: nobody is asked.
fn policy(word: &str) -> Result<HostKeyPolicy, String> {
    match word.to_ascii_lowercase().as_str() {
        "yes" | "true" | "ask" => Ok(HostKeyPolicy::Strict),
        "accept-new" => Ok(HostKeyPolicy::AcceptNew),
        "no" | "off" | "false" => Ok(HostKeyPolicy::Insecure),
        _ => Err(format!("`{word}` is none of `yes`, `accept-new`, `no`, `off` and `ask`")),
    }
}

/// A time of `sshd_config(5)` TIME FORMATS: seconds, or `1h30m`; `none` is zero.
fn seconds(word: &str) -> Result<Duration, String> {
    let bad = || format!("`{word}` is not a time such as `15` or `1m30s`");
    if word.eq_ignore_ascii_case("none") {
        return Ok(Duration::ZERO);
    }
    let mut total = 0_u64;
    let mut rest = word;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let count: u64 = rest[..digits].parse().map_err(|_| bad())?;
        let mut unit = rest[digits..].chars();
        let scale = match unit.next().map(|c| c.to_ascii_lowercase()) {
            None | Some('s') => 1,
            Some('m') => 60,
            Some('h') => 60 * 60,
            Some('d') => 24 * 60 * 60,
            Some('w') => 7 * 24 * 60 * 60,
            Some(_) => return Err(bad()),
        };
        total = count.checked_mul(scale).and_then(|part| total.checked_add(part)).ok_or_else(bad)?;
        rest = unit.as_str();
    }
    // OpenSSH keeps times in an int.
    if word.is_empty() || total > 0x7fff_ffff { Err(bad()) } else { Ok(Duration::from_secs(total)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[&str]) -> Result<(Settings, Vec<Warning>), Fault> {
        Settings::from_command_line(&options.iter().map(|o| (*o).to_owned()).collect::<Vec<_>>())
    }

    fn settings(options: &[&str]) -> Settings {
        let (settings, warnings) = read(options).unwrap();
        assert_eq!(warnings, []);
        settings
    }

    fn problem(option: &str) -> (String, String) {
        match read(&[option]) {
            Err(Fault::ConfigInvalid { place, problem }) => (place, problem),
            other => panic!("{option}: {other:?}"),
        }
    }

    #[test]
    fn the_first_value_wins_and_a_later_bad_one_is_still_refused() {
        assert_eq!(settings(&["Port=2", "port=3"]).port, Some(2));
        assert!(read(&["Port=2", "port=x"]).is_err());
    }

    #[test]
    fn identity_files_add_up() {
        assert_eq!(settings(&["IdentityFile=a", "IDENTITYFILE b"]).identity_files, ["a", "b"]);
    }

    #[test]
    fn forms_of_key_and_value() {
        for form in ["User=x", "user x", "USER = x", " User\tx ", "User=\"x\"", "User='x'", "User=x # me"] {
            assert_eq!(settings(&[form]).user.as_deref(), Some("x"), "{form}");
        }
        assert_eq!(settings(&["User=\"a b\""]).user.as_deref(), Some("a b"));
        assert_eq!(settings(&[r"User=a\ b"]).user.as_deref(), Some("a b"));
        assert_eq!(settings(&["User==x"]).user.as_deref(), Some("=x"));
        let files = settings(&[r#"UserKnownHostsFile=a "b c" d"#]).user_known_hosts.unwrap();
        assert_eq!(files, ["a", "b c", "d"]);
        assert_eq!(settings(&["UserKnownHostsFile none"]).user_known_hosts, Some(vec![]));
    }

    #[test]
    fn values_are_checked() {
        for (option, place, word) in [
            ("Port=0", "-o Port", "not a port"),
            ("Port=22=23", "-o Port", "not a port"),
            ("Port", "-o Port", "no value"),
            ("User=", "-o User", "no value"),
            ("User=\"\"", "-o User", "empty"),
            ("User=a b", "-o User", "one value"),
            ("User=\"a", "-o User", "not closed"),
            ("UserKnownHostsFile=none a", "-o UserKnownHostsFile", "alone"),
            ("StrictHostKeyChecking=maybe", "-o StrictHostKeyChecking", "accept-new"),
            ("PasswordAuthentication=1", "-o PasswordAuthentication", "neither"),
            ("ConnectTimeout=5x", "-o ConnectTimeout", "not a time"),
            ("ConnectTimeout=-1", "-o ConnectTimeout", "not a time"),
            ("ServerAliveCountMax=-1", "-o ServerAliveCountMax", "not a count"),
            ("Frobnicate=1", "-o Frobnicate", "no such"),
            ("yaml", "-o yaml", "no such"),
            ("ProxyCommand=nc %h %p", "-o ProxyCommand", "not supported"),
            ("ProxyJump=b", "-o ProxyJump", "not supported"),
            ("RevokedHostKeys=/f", "-o RevokedHostKeys", "not supported"),
        ] {
            let (got_place, problem) = problem(option);
            assert_eq!(got_place, place);
            assert!(problem.contains(word), "{option}: {problem}");
        }
    }

    #[test]
    fn words_mean_what_openssh_means() {
        for (word, policy) in [
            ("yes", HostKeyPolicy::Strict),
            ("ask", HostKeyPolicy::Strict),
            ("Accept-New", HostKeyPolicy::AcceptNew),
            ("no", HostKeyPolicy::Insecure),
            ("off", HostKeyPolicy::Insecure),
        ] {
            assert_eq!(settings(&[&format!("StrictHostKeyChecking={word}")]).host_key_policy, Some(policy));
        }
        assert_eq!(settings(&["PubkeyAuthentication=host-bound"]).pubkey, Some(true));
        assert_eq!(settings(&["ConnectTimeout=1m30s"]).connect_timeout, Some(Duration::from_secs(90)));
        assert_eq!(settings(&["ConnectTimeout=none"]).connect_timeout, Some(Duration::ZERO));
        assert_eq!(settings(&["ServerAliveInterval=0"]).alive_interval, Some(Duration::ZERO));
        assert_eq!(settings(&["ProxyCommand=none", "BatchMode=yes"]), Settings::default());
    }

    #[test]
    fn what_is_known_but_not_honoured_warns() {
        let (_, warnings) = read(&["ciphers=aes128-ctr", "ForwardAgent yes"]).unwrap();
        let names: Vec<_> = warnings.iter().map(|w| (w.code, w.message.split('`').nth(1).unwrap())).collect();
        assert_eq!(names, [("option_ignored", "-o Ciphers"), ("option_ignored", "-o ForwardAgent")]);
    }

    #[test]
    fn the_output_form_is_another_option() {
        for mode in ["json", "ndjson", "raw", "JSON"] {
            let Err(Fault::Usage { message }) = read(&[mode]) else { panic!("{mode}") };
            assert!(message.contains(&format!("--output {}", mode.to_lowercase())), "{message}");
        }
    }
}
