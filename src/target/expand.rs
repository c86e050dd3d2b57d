//! `~`, `${NAME}` and `%` tokens in file names (`ssh_config(5)`, TOKENS and ENVIRONMENT VARIABLES).

use std::path::PathBuf;

use super::local::Local;

/// What the `%` tokens stand for.
pub(super) struct Tokens<'a> {
    /// The local side: `%d`, `%u`, `%i`.
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
}

impl Tokens<'_> {
    /// A file name with everything expanded; the problem, in words, otherwise.
    pub(super) fn path(&self, text: &str) -> Result<PathBuf, String> {
        let text = self.text(text)?;
        let Some(rest) = text.strip_prefix('~') else { return Ok(PathBuf::from(text)) };
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let home = if name.is_empty() { self.local.home.as_deref() } else { self.local.home_of(name) };
        match home {
            Some(home) if rest.is_empty() => Ok(home.to_owned()),
            Some(home) => Ok(home.join(rest)),
            None => Err(format!("no home directory is known for `~{name}`")),
        }
    }

    /// `${NAME}` and `%` tokens only.
    pub(super) fn text(&self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['%', '$']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(named) = rest.strip_prefix("${") {
                let (name, after) = named.split_once('}').ok_or("a `${` is not closed")?;
                let value = self.local.env(name).ok_or_else(|| format!("the variable `{name}` is not set"))?;
                out.push_str(&value.into_string().map_err(|_| format!("the variable `{name}` is not UTF-8"))?);
                rest = after;
            } else if let Some(after) = rest.strip_prefix('$') {
                out.push('$');
                rest = after;
            } else {
                let token = rest.chars().nth(1).ok_or("a single `%` at its end")?;
                out.push_str(&self.token(token)?);
                rest = &rest[1 + token.len_utf8()..];
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    fn token(&self, token: char) -> Result<String, String> {
        Ok(match token {
            '%' => "%".to_owned(),
            'd' => self.local.home.as_deref().ok_or("no home directory is known")?.display().to_string(),
            'h' => self.host.to_owned(),
            'i' => self.local.uid.to_string(),
            'k' => self.alias.to_owned(),
            'n' => self.typed.to_owned(),
            'p' => self.port.to_string(),
            'r' => self.user.to_owned(),
            'u' => self.local.user.clone().ok_or("no local user name is known")?,
            'C' | 'H' | 'I' | 'j' | 'K' | 'L' | 'l' | 'T' | 't' | 'f' => {
                return Err(format!("the token `%{token}` is not supported yet"));
            }
            other => return Err(format!("`%{other}` is no token")),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::local::tests::local;
    use super::*;

    #[test]
    fn files_are_expanded() {
        let local = local(Path::new("/home/me"), &[("KEYS", "/k")]);
        let tokens = Tokens { local: &local, host: "h.example", typed: "h", port: 2222, user: "deploy", alias: "h" };
        let path = |text: &str| tokens.path(text).map(|p| p.display().to_string());
        assert_eq!(path("~/.ssh/id"), Ok("/home/me/.ssh/id".into()));
        assert_eq!(path("~"), Ok("/home/me".into()));
        assert_eq!(path("~other/x"), Ok("/home/other/x".into()));
        assert_eq!(path("%d/%u-%h-%n-%p-%r-%i%%"), Ok("/home/me/me-h.example-h-2222-deploy-1000%".into()));
        assert_eq!(path("${KEYS}/a$b"), Ok("/k/a$b".into()));
        assert_eq!(path("a~b"), Ok("a~b".into()));
        for (bad, word) in
            [("~ghost/x", "ghost"), ("%q", "no token"), ("x%", "single"), ("${NO}", "not set"), ("${", "closed")]
        {
            assert!(path(bad).unwrap_err().contains(word), "{bad}");
        }
    }
}
