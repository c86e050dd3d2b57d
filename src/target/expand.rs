//! `~`, `${NAME}` and `%` tokens (`ssh_config(5)`, TOKENS and ENVIRONMENT VARIABLES): which are allowed depends on the
//! keyword.

use std::fmt::Write as _;
use std::path::PathBuf;

use sha1::{Digest, Sha1};

use super::local::Local;

/// What the `%` tokens stand for.
#[derive(Clone, Copy)]
pub(super) struct Tokens<'a> {
    /// The local side: `%d`, `%i`, `%L`, `%l`, `%u`.
    pub(super) local: &'a Local,
    /// `%h`: the host name after `HostName`.
    pub(super) host: &'a str,
    /// `%n`: the host as typed.
    pub(super) typed: &'a str,
    /// `%p`.
    pub(super) port: u16,
    /// `%r`: the remote user.
    pub(super) user: &'a str,
    /// `%k`: `HostKeyAlias`, else the host as typed.
    pub(super) alias: &'a str,
    /// `%j`: the last hop of `ProxyJump`, or nothing.
    pub(super) jump: &'a str,
}

/// What a keyword allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// `HostName`: `%%` and `%h`.
    Host,
    /// `ProxyCommand` and `ProxyJump`: `%%`, `%h`, `%n`, `%p`, `%r`.
    Proxy,
    /// `Match exec`: all of the connection's, and the shell sees to variables.
    Command,
    /// Files and sockets: all of the connection's, and `${NAME}`.
    File,
}

impl Allowed {
    const fn tokens(self) -> &'static str {
        match self {
            Self::Host => "h",
            Self::Proxy => "hnpr",
            Self::Command | Self::File => "CdhijkLlnpru",
        }
    }
}

impl Tokens<'_> {
    /// A file name with everything expanded; the problem, in words, otherwise.
    pub(super) fn path(&self, text: &str) -> Result<PathBuf, String> {
        // First the `~` and then the rest, as OpenSSH does: a variable's value is taken as it is.
        let (home, rest) = self.home(text)?;
        let rest = self.text(rest, Allowed::File)?;
        Ok(match home {
            None => PathBuf::from(rest),
            Some(home) if rest.is_empty() => home,
            Some(home) => home.join(rest),
        })
    }

    /// A file name in which only `~` means something (`GlobalKnownHostsFile`, `Include`).
    pub(super) fn plain_path(&self, text: &str) -> Result<PathBuf, String> {
        Ok(match self.home(text)? {
            (None, rest) => PathBuf::from(rest),
            (Some(home), "") => home,
            (Some(home), rest) => home.join(rest),
        })
    }

    /// The home directory that a `~` in front names, and what follows its `/`.
    fn home<'t>(&self, text: &'t str) -> Result<(Option<PathBuf>, &'t str), String> {
        let Some(rest) = text.strip_prefix('~') else { return Ok((None, text)) };
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let home = if name.is_empty() { self.local.home.as_deref() } else { self.local.home_of(name) };
        let home = home.ok_or_else(|| format!("no home directory is known for `~{name}`"))?;
        Ok((Some(home.to_owned()), rest.trim_start_matches('/')))
    }

    /// `%` tokens, and `${NAME}` where a file is meant.
    pub(super) fn text(&self, text: &str, allowed: Allowed) -> Result<String, String> {
        self.expand(text, allowed == Allowed::File, |token| match token {
            '%' => Ok("%".to_owned()),
            token if allowed.tokens().contains(token) => self.token(token),
            token => Err(self.refusal(token)),
        })
    }

    /// `KnownHostsCommand` up to the tokens that are known only when there is a key: `%%`, `%f`, `%H`, `%I`, `%K` and
    /// `%t` stay for [`known_hosts_argv`]. Each word is quoted, so that nothing that was put in can take it apart.
    pub(super) fn known_hosts_command(&self, text: &str) -> Result<String, String> {
        let words = super::config::words(text)?;
        let word = |word: &String| {
            let word = self.expand(word, true, |token| match token {
                '%' | 'f' | 'H' | 'I' | 'K' | 't' => Ok(format!("%{token}")),
                token if Allowed::File.tokens().contains(token) => Ok(self.token(token)?.replace('%', "%%")),
                token => Err(self.refusal(token)),
            })?;
            Ok(format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")))
        };
        Ok(words.iter().map(word).collect::<Result<Vec<_>, String>>()?.join(" "))
    }

    fn expand(
        &self,
        text: &str,
        variables: bool,
        mut token: impl FnMut(char) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['%', '$']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(named) = rest.strip_prefix("${").filter(|_| variables) {
                let (name, after) = named.split_once('}').ok_or("a `${` is not closed")?;
                let value = self.local.env_as_set(name).ok_or_else(|| format!("the variable `{name}` is not set"))?;
                out.push_str(&value.into_string().map_err(|_| format!("the variable `{name}` is not UTF-8"))?);
                rest = after;
            } else if let Some(after) = rest.strip_prefix('$') {
                out.push('$');
                rest = after;
            } else {
                let letter = rest.chars().nth(1).ok_or("a single `%` at its end")?;
                out.push_str(&token(letter)?);
                rest = &rest[1 + letter.len_utf8()..];
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    fn refusal(&self, token: char) -> String {
        match self.token(token) {
            Ok(_) => format!("`%{token}` cannot be used in it"),
            Err(problem) => problem,
        }
    }

    fn token(&self, token: char) -> Result<String, String> {
        Ok(match token {
            'C' => self.connection_hash(),
            'd' => self.local.home.as_deref().ok_or("no home directory is known")?.display().to_string(),
            'h' => self.host.to_owned(),
            'i' => self.local.uid.to_string(),
            'j' => self.jump.to_owned(),
            'k' => self.alias.to_owned(),
            'L' => self.local.hostname.split('.').next().unwrap_or_default().to_owned(),
            'l' => self.local.hostname.clone(),
            'n' => self.typed.to_owned(),
            'p' => self.port.to_string(),
            'r' => self.user.to_owned(),
            'u' => self.local.user.clone().ok_or("no local user name is known")?,
            'H' | 'I' | 'K' | 'T' | 't' | 'f' => return Err(format!("`%{token}` cannot be used in it")),
            other => return Err(format!("`%{other}` is no token")),
        })
    }

    /// `%C`: the hash of `%l%h%p%r%j` (`%j` since OpenSSH 9.6, which changes nothing without a jump).
    fn connection_hash(&self) -> String {
        let Self { local, host, port, user, jump, .. } = self;
        let digest = Sha1::digest(format!("{}{host}{port}{user}{jump}", local.hostname));
        digest.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

/// The words of [`super::Target::known_hosts_command`], with `%f`, `%H`, `%I`, `%K` and `%t` as `token` gives them.
pub fn known_hosts_argv(command: &str, token: impl Fn(char) -> String) -> Result<Vec<String>, String> {
    let word = |word: &String| {
        let mut out = String::new();
        let mut chars = word.chars();
        while let Some(c) = chars.next() {
            match c {
                '%' => match chars.next().ok_or("a single `%` at its end")? {
                    '%' => out.push('%'),
                    letter => out.push_str(&token(letter)),
                },
                c => out.push(c),
            }
        }
        Ok(out)
    };
    super::config::words(command)?.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::local::tests::local;
    use super::*;

    fn tokens(local: &Local) -> Tokens<'_> {
        Tokens { local, host: "h.example", typed: "h", port: 2222, user: "deploy", alias: "h", jump: "" }
    }

    #[test]
    fn files_are_expanded() {
        let local = local(Path::new("/home/me"), &[("KEYS", "/k"), ("EMPTY", ""), ("TILDE", "~")]);
        let tokens = tokens(&local);
        let path = |text: &str| tokens.path(text).map(|p| p.display().to_string());
        assert_eq!(path("~/.ssh/id"), Ok("/home/me/.ssh/id".into()));
        assert_eq!(path("~"), Ok("/home/me".into()));
        assert_eq!(path("~other/x"), Ok("/home/other/x".into()));
        assert_eq!(path("%d/%u-%h-%n-%p-%r-%i%%"), Ok("/home/me/me-h.example-h-2222-deploy-1000%".into()));
        assert_eq!(path("~/%h${EMPTY}"), Ok("/home/me/h.example".into()));
        assert_eq!(path("${TILDE}/x"), Ok("~/x".into()));
        assert_eq!(path("%l.%L.%k%j"), Ok("localhost.localhost.h".into()));
        assert_eq!(path("${KEYS}/a$b"), Ok("/k/a$b".into()));
        assert_eq!(path("a~b"), Ok("a~b".into()));
        for (bad, word) in [
            ("~ghost/x", "ghost"),
            ("%q", "no token"),
            ("%f", "cannot be used"),
            ("x%", "single"),
            ("${NO}", "not set"),
            ("${", "closed"),
        ] {
            assert!(path(bad).unwrap_err().contains(word), "{bad}");
        }
        assert_eq!(tokens.plain_path("~/%h").unwrap(), Path::new("/home/me/%h"));
    }

    #[test]
    fn each_keyword_has_its_tokens() {
        let local = local(Path::new("/home/me"), &[]);
        let text = |text: &str, allowed| tokens(&local).text(text, allowed);
        assert_eq!(text("%h.%%", Allowed::Host), Ok("h.example.%".into()));
        assert_eq!(text("nc ${X} %h %p %r %n", Allowed::Proxy), Ok("nc ${X} h.example 2222 deploy h".into()));
        assert!(text("%r", Allowed::Host).unwrap_err().contains("cannot be used"));
        assert!(text("%d", Allowed::Proxy).unwrap_err().contains("cannot be used"));
        // `printf %s localhosth.example2222deploy | sha1sum`
        let hash = text("%C", Allowed::Command).unwrap();
        assert_eq!(hash, "c6be576c85a035a69869818b9ee0c3813c7aa813");
    }

    #[test]
    fn a_known_hosts_command_cannot_be_taken_apart_by_what_is_put_in() {
        let local = local(Path::new("/home/a \"b\" 50%"), &[]);
        let command = tokens(&local).known_hosts_command("'/bin/find it' --home %d %H %t 100%% x%%H").unwrap();
        let argv = known_hosts_argv(&command, |token| format!("<{token}>")).unwrap();
        assert_eq!(argv, ["/bin/find it", "--home", "/home/a \"b\" 50%", "<H>", "<t>", "100%", "x%H"]);
        assert!(tokens(&local).known_hosts_command("x %q").is_err());
    }
}
