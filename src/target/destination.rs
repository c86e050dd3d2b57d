//! DEST: `[user@]host`, `[user@]host:port`, `ssh://[user@]host[:port]`, `[v6::addr]:port`, a bare IPv6 address, or an
//! alias.

use std::net::Ipv6Addr;

use crate::errors::Fault;

/// DEST, taken apart. What it does not say is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The user before the last `@`.
    pub user: Option<String>,
    /// The host name, address or alias, without brackets, in the case in which it was typed.
    pub host: String,
    /// The port.
    pub port: Option<u16>,
}

impl Destination {
    /// Takes DEST apart. Everything that OpenSSH refuses in a host or user (ssh.c `valid_hostname`, `valid_ruser`) is
    /// [`Fault::Usage`], because both may end up in somebody's command line.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        // Never repeat what was typed here: it may hold a password.
        let refuse = |problem: String| Fault::Usage { message: format!("the destination is not usable: {problem}") };
        if text.starts_with('-') {
            return Err(refuse(format!("`{text}` begins with `-`, as an option does")));
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(refuse("it holds white space or a control character".to_owned()));
        }
        let (uri, rest) = match strip_scheme(text) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if !uri && let Some((scheme, _)) = rest.split_once("://") {
            return Err(refuse(format!("`{scheme}://` is not `ssh://`")));
        }
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        let place = if uri { without_path(place).map_err(&refuse)? } else { place };
        let user = match user {
            Some(user) if uri => Some(uri_user(user).map_err(&refuse)?),
            user => user.map(str::to_owned),
        };
        if let Some(user) = &user {
            check_user(user).map_err(&refuse)?;
        }
        let (host, port) = host_and_port(place).map_err(&refuse)?;
        check_host(host).map_err(&refuse)?;
        Ok(Self { user, host: host.to_owned(), port })
    }
}

fn strip_scheme(text: &str) -> Option<&str> {
    let head = text.get(..6)?;
    head.eq_ignore_ascii_case("ssh://").then(|| &text[6..])
}

/// An URI may end with `/`; anything behind it would be a path, and there is nothing that it could mean.
fn without_path(place: &str) -> Result<&str, String> {
    match place.split_once('/') {
        Some((place, "")) => Ok(place),
        Some(_) => Err("`ssh://` takes no path".to_owned()),
        None => Ok(place),
    }
}

/// The user of an URI, percent-decoded (RFC 3986 section 2.1). OpenSSH reads `user:password` as one strange user;
/// refusing it is kinder, since the password is already in the process list.
fn uri_user(raw: &str) -> Result<String, String> {
    if raw.contains(':') {
        return Err("a password cannot be given in it; use `--password SRC`".to_owned());
    }
    if raw.contains('@') {
        return Err("an `@` in the user of an `ssh://` destination is written `%40`".to_owned());
    }
    let mut decoded = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            decoded.push(*first);
            continue;
        }
        let hex = |at: usize| rest.get(at).and_then(|b| char::from(*b).to_digit(16));
        let (Some(high), Some(low)) = (hex(0), hex(1)) else {
            return Err("a `%` in its user is not followed by two hexadecimal digits".to_owned());
        };
        decoded.extend(u8::try_from(high * 16 + low));
        rest = &rest[2..];
    }
    String::from_utf8(decoded).map_err(|_| "its user is not UTF-8".to_owned())
}

fn host_and_port(place: &str) -> Result<(&str, Option<u16>), String> {
    if let Some(inside) = place.strip_prefix('[') {
        let Some((host, rest)) = inside.split_once(']') else {
            return Err("a `[` is not closed".to_owned());
        };
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(parse_port(port)?))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err("only `:PORT` may follow `]`".to_owned()),
        };
    }
    match place.split_once(':') {
        None => Ok((place, None)),
        Some((host, port)) if !port.contains(':') => Ok((host, Some(parse_port(port)?))),
        Some(_) if is_ipv6(place) => Ok((place, None)),
        Some(_) => Err("it has several `:` and is no IPv6 address; a port goes as in `[::1]:2222`".to_owned()),
    }
}

/// With or without a zone (RFC 4007 section 11).
fn is_ipv6(text: &str) -> bool {
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    address.parse::<Ipv6Addr>().is_ok()
}

/// A TCP port: decimal, 1 to 65535.
pub(super) fn parse_port(text: &str) -> Result<u16, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<u16>() {
        Ok(port) if digits && port > 0 => Ok(port),
        _ => Err(format!("`{text}` is not a port from 1 to 65535")),
    }
}

/// ssh.c `valid_ruser`, and not empty.
pub(super) fn check_user(user: &str) -> Result<(), String> {
    if user.is_empty() {
        return Err("its user is empty".to_owned());
    }
    if user.starts_with('-') {
        return Err("its user begins with `-`".to_owned());
    }
    if let Some(c) = user.chars().find(|c| c.is_control() || "'`\";&<>|(){}".contains(*c)) {
        return Err(format!("its user holds {}", shown(c)));
    }
    let dash_after_space = user.chars().zip(user.chars().skip(1)).any(|(a, b)| a.is_whitespace() && b == '-');
    if dash_after_space || user.ends_with('\\') {
        return Err("its user could be taken apart by a shell".to_owned());
    }
    Ok(())
}

/// ssh.c `valid_hostname`, and not empty. Brackets, `@` and `/` cannot be part of a name either: they are left over
/// from a form that we did not understand.
pub(super) fn check_host(host: &str) -> Result<(), String> {
    if host.is_empty() {
        return Err("its host is empty".to_owned());
    }
    if host.starts_with('-') {
        return Err("its host begins with `-`".to_owned());
    }
    let bad = |c: &char| c.is_control() || c.is_whitespace() || "'`\"$\\;&<>|(){},[]@/".contains(*c);
    match host.chars().find(bad) {
        Some(c) => Err(format!("its host holds {}", shown(c))),
        None => Ok(()),
    }
}

fn shown(c: char) -> String {
    if c.is_control() { "a control character".to_owned() } else { format!("`{c}`") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> (Option<String>, String, Option<u16>) {
        let d = Destination::parse(text).unwrap();
        (d.user, d.host, d.port)
    }

    fn refused(text: &str) -> String {
        match Destination::parse(text) {
            Err(Fault::Usage { message }) => message,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn every_form_of_the_grammar() {
        let some = |u: &str| Some(u.to_owned());
        assert_eq!(parsed("web1"), (None, "web1".into(), None));
        assert_eq!(parsed("Web1.Example"), (None, "Web1.Example".into(), None));
        assert_eq!(parsed("me@web1"), (some("me"), "web1".into(), None));
        assert_eq!(parsed("me@web1:2222"), (some("me"), "web1".into(), Some(2222)));
        assert_eq!(parsed("a@b@web1"), (some("a@b"), "web1".into(), None));
        assert_eq!(parsed(r"DOM\me@web1"), (some(r"DOM\me"), "web1".into(), None));
        assert_eq!(parsed("ssh://web1"), (None, "web1".into(), None));
        assert_eq!(parsed("SSH://me@web1:65535/"), (some("me"), "web1".into(), Some(65535)));
        assert_eq!(parsed("ssh://a%40b@web1"), (some("a@b"), "web1".into(), None));
        assert_eq!(parsed("ssh://[::1]:5"), (None, "::1".into(), Some(5)));
        assert_eq!(parsed("[2001:db8::7]:22"), (None, "2001:db8::7".into(), Some(22)));
        assert_eq!(parsed("me@[::1]"), (some("me"), "::1".into(), None));
        assert_eq!(parsed("::1"), (None, "::1".into(), None));
        assert_eq!(parsed("me@fe80::1%eth0"), (some("me"), "fe80::1%eth0".into(), None));
        assert_eq!(parsed("10.0.0.7:1"), (None, "10.0.0.7".into(), Some(1)));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, word) in [
            ("", "empty"),
            ("-oProxyCommand=x", "begins with `-`"),
            ("me@-oProxyCommand=x", "host begins with `-`"),
            ("a b", "white space"),
            ("a\u{1b}b", "control"),
            ("a\nb", "control"),
            ("@web1", "user is empty"),
            ("me@", "host is empty"),
            ("me@:22", "host is empty"),
            ("web1:", "not a port"),
            ("web1:0", "not a port"),
            ("web1:65536", "not a port"),
            ("web1:+22", "not a port"),
            ("web1:ssh", "not a port"),
            ("a:b:c", "several `:`"),
            ("[::1", "not closed"),
            ("[::1]22", "may follow"),
            ("[]:22", "host is empty"),
            ("ssh://", "host is empty"),
            ("ssh://web1/path", "no path"),
            ("ssh://a@@web1", "%40"),
            ("ssh://a%zz@web1", "hexadecimal"),
            ("ssh://a%4@web1", "hexadecimal"),
            ("ssh://a%00@web1", "control"),
            ("ssh://%2dx@web1", "user begins with `-`"),
            ("ssh://a%ff@web1", "UTF-8"),
            ("ssh://a%20-o@web1", "taken apart"),
            ("scp://web1", "not `ssh://`"),
            ("a;b@web1", "`;`"),
            (r"a\@web1", "taken apart"),
            ("web1;id", "`;`"),
            ("$(id)", "`$`"),
            ("web1,web2", "`,`"),
            ("web1/x", "`/`"),
        ] {
            let message = refused(text);
            assert!(message.contains(word), "{text:?}: {message}");
        }
    }

    #[test]
    fn a_password_in_an_uri_is_not_repeated() {
        assert!(!refused("ssh://me:hunter2@web1").contains("hunter2"));
    }

    proptest! {
        #[test]
        fn nothing_panics_and_what_passes_is_clean(text in "\\PC{0,40}|[-@:/%\\[\\]a-f0-9\\\\ ]{0,24}|ssh://[@:%a-f0-9/\\[\\]]{0,20}") {
            if let Ok(d) = Destination::parse(&text) {
                prop_assert!(!d.host.is_empty() && !d.host.starts_with('-'));
                prop_assert!(d.user.is_none_or(|u| !u.is_empty() && !u.starts_with('-')));
                prop_assert!(d.port != Some(0));
            }
        }
    }
}
