//! SOURCE and TARGET of a copy: which side a word names, and what is at that side's end of it.
//!
//! The grammar is that of OpenSSH's scp(1): `[user@]host:path` where a colon stands before any slash, or an `scp:` URI
//! (misc.c `colon`, `parse_uri`). Whom `host` means is for `target` to say.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::usage;
use crate::errors::Fault;
use crate::model::copy::RemotePath;

/// One word, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// `-`: our standard input or output.
    Stream,
    /// A path on this machine.
    Here(PathBuf),
    /// A path on another.
    There(Remote),
}

/// A path on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remote {
    /// Whom to call, as a DEST.
    pub(super) destination: String,
    /// What there.
    pub(super) path: RemotePath,
}

impl Operand {
    /// Reads one word.
    pub(super) fn read(word: OsString) -> Result<Self, Fault> {
        let bytes = word.as_bytes();
        if bytes.is_empty() {
            return Err(usage("SOURCE or TARGET is empty; `.` is the directory that we are in"));
        }
        if bytes == b"-" {
            return Ok(Self::Stream);
        }
        if let Some((scheme, rest)) = scheme_of(bytes) {
            return if scheme.eq_ignore_ascii_case(b"scp") {
                uri(rest).map(Self::There)
            } else {
                Err(usage("a remote path is `[user@]host:path` or `scp://[user@]host[:port]/path`"))
            };
        }
        match colon(bytes) {
            Some(at) => host_and_path(&bytes[..at], &bytes[at + 1..]).map(Self::There),
            None => Ok(Self::Here(word.into())),
        }
    }
}

/// `scp://` and its likes. A host that is called so has paths that begin with one slash.
fn scheme_of(word: &[u8]) -> Option<(&[u8], &[u8])> {
    ["scp", "ssh", "sftp"].iter().find_map(|scheme| {
        let (head, rest) = word.split_at_checked(scheme.len())?;
        head.eq_ignore_ascii_case(scheme.as_bytes()).then_some((head, rest.strip_prefix(b"://")?))
    })
}

/// Where the host ends: the first colon, or the first behind brackets, unless it is the first character or a slash comes before.
fn colon(word: &[u8]) -> Option<usize> {
    if word.first() == Some(&b':') {
        return None;
    }
    let mut brackets = word.first() == Some(&b'[');
    for (at, byte) in word.iter().enumerate() {
        match (byte, word.get(at + 1)) {
            (b'@', Some(b'[')) => brackets = true,
            (b']', Some(b':')) if brackets => return Some(at + 1),
            (b':', _) if !brackets => return Some(at),
            (b'/', _) => return None,
            _ => {}
        }
    }
    None
}

fn host_and_path(host: &[u8], path: &[u8]) -> Result<Remote, Fault> {
    let destination = std::str::from_utf8(host).ok().filter(|host| is_one_word(host)).ok_or_else(|| {
        usage(
            "what stands before the `:` is no host: it begins with `-`, or holds white space, a control character or bytes that are \
             not UTF-8; a local file of that name is written `./NAME`",
        )
    })?;
    if let Some(port) = port_in_front_of(path) {
        let rest = String::from_utf8_lossy(&path[port.len() + 1..]).into_owned();
        return Err(usage(format!(
            "a port goes before it, as in `-p {port} {destination}:{rest}`, or into `scp://{destination}:{port}/PATH`; a path that \
             begins so is written `./{port}:{rest}`"
        )));
    }
    Ok(Remote { destination: destination.to_owned(), path: RemotePath(path.to_vec()) })
}

/// What may be part of somebody's command line.
fn is_one_word(host: &str) -> bool {
    !host.starts_with('-') && !host.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// `web1:2222:/etc/motd`: DEST takes a port there, so that it will be typed here too.
fn port_in_front_of(path: &[u8]) -> Option<&str> {
    let end = path.iter().position(|byte| !byte.is_ascii_digit())?;
    let is_port = (1..=5).contains(&end) && matches!(path[end..], [b':', b'/' | b'~', ..]);
    if is_port { std::str::from_utf8(&path[..end]).ok() } else { None }
}

/// What follows `scp://`: `[user@]host[:port][/path]`. The path is relative to the home, and begins with a second slash where it
/// is not; `+` in it is a blank, as OpenSSH decodes it.
fn uri(rest: &[u8]) -> Result<Remote, Fault> {
    let wrong = |problem: &str| usage(format!("`scp://` {problem}"));
    // A user may hold an encoded slash, but no plain one.
    let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
    let (authority, path) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
    let authority = std::str::from_utf8(authority)
        .ok()
        .filter(|authority| is_one_word(authority))
        .ok_or_else(|| wrong("is followed by no host"))?;
    if authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
        return Err(wrong("takes no password; use `--password SRC`"));
    }
    let path = decoded(path)
        .ok_or_else(|| wrong("has a `%` in its path without two hexadecimal digits; `%` itself is `%25`"))?;
    if path.contains(&0) {
        return Err(wrong("has a NUL in its path"));
    }
    Ok(Remote { destination: format!("ssh://{authority}"), path: RemotePath(path) })
}

/// Percent-decoded (RFC 3986 section 2.1), and `+` for a blank.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(*rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => *other,
        });
    }
    Some(out)
}

/// Whether two DESTs are one machine, one user and one port, as far as that can be told from what was typed.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    parts(one) == parts(other)
}

fn parts(destination: &str) -> (Option<Vec<u8>>, &str, Option<&str>) {
    let bare = destination.strip_prefix("ssh://");
    let (user, place) =
        bare.unwrap_or(destination).rsplit_once('@').map_or((None, bare.unwrap_or(destination)), |(u, p)| (Some(u), p));
    let user = user.map(|user| bare.and_then(|_| decoded(user.as_bytes())).unwrap_or_else(|| user.as_bytes().to_vec()));
    match place.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
        Some((host, port)) => (user, host, port.strip_prefix(':')),
        None => place.split_once(':').map_or((user.clone(), place, None), |(host, port)| (user, host, Some(port))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use proptest::prelude::*;

    use super::*;

    fn there(word: &str) -> (String, Vec<u8>) {
        match Operand::read(word.into()) {
            Ok(Operand::There(remote)) => (remote.destination, remote.path.0),
            other => panic!("{word:?}: {other:?}"),
        }
    }

    fn refused(word: &str) -> String {
        match Operand::read(word.into()) {
            Err(Fault::Usage { message }) => message,
            other => panic!("{word:?}: {other:?}"),
        }
    }

    #[test]
    fn a_colon_before_any_slash_makes_a_path_remote() {
        for (word, destination, path) in [
            ("web1:", "web1", ""),
            ("web1:a b", "web1", "a b"),
            ("web1:/etc/motd", "web1", "/etc/motd"),
            ("me@web1:~/x", "me@web1", "~/x"),
            ("a@b@web1:x:y", "a@b@web1", "x:y"),
            ("[::1]:x", "[::1]", "x"),
            ("me@[fe80::1%eth0]:/x:y", "me@[fe80::1%eth0]", "/x:y"),
            ("web1:*.log", "web1", "*.log"),
            ("web1:2222", "web1", "2222"),
            ("web1:2222:x", "web1", "2222:x"),
            ("web1:./2222:/x", "web1", "./2222:/x"),
            ("C:\\x", "C", "\\x"),
        ] {
            assert_eq!(there(word), (destination.to_owned(), path.as_bytes().to_vec()), "{word}");
        }
    }

    #[test]
    fn everything_else_is_here() {
        for word in ["a", "./a:b", "/x:y", ":a", "dir/a:b", "me@web1/x:y", "[x]y:z", "[::1", "-x", "~/a", ".", "a b"] {
            assert_eq!(Operand::read(word.into()), Ok(Operand::Here(word.into())), "{word}");
        }
        assert_eq!(Operand::read("-".into()), Ok(Operand::Stream));
        let odd = OsString::from_vec(b"a\xff\n".to_vec());
        assert_eq!(Operand::read(odd.clone()), Ok(Operand::Here(odd.into())));
        let odd = OsString::from_vec(b"web1:a\xff\n".to_vec());
        let remote = Remote { destination: "web1".into(), path: RemotePath(b"a\xff\n".to_vec()) };
        assert_eq!(Operand::read(odd), Ok(Operand::There(remote)));
    }

    #[test]
    fn an_uri_is_read_as_openssh_reads_it() {
        for (word, destination, path) in [
            ("scp://web1", "ssh://web1", ""),
            ("scp://web1/", "ssh://web1", ""),
            ("scp://web1/a", "ssh://web1", "a"),
            ("scp://me@web1:2222//etc/motd", "ssh://me@web1:2222", "/etc/motd"),
            ("scp://a%40b@[::1]:22/a+b%20c%2fd%FF", "ssh://a%40b@[::1]:22", "a b c/d"),
            ("SCP://web1/a?b#c:d", "ssh://web1", "a?b#c:d"),
        ] {
            let path = if path.starts_with("a b") { b"a b c/d\xff".to_vec() } else { path.as_bytes().to_vec() };
            assert_eq!(there(word), (destination.to_owned(), path), "{word}");
        }
        for (word, part) in [
            ("scp://web1/a%", "%25"),
            ("scp://web1/a%2", "%25"),
            ("scp://web1/a%zz", "%25"),
            ("scp://web1/%00", "NUL"),
            ("scp://we b1/a", "no host"),
            ("ssh://web1/a", "scp://"),
            ("sftp://web1/a", "scp://"),
        ] {
            assert!(refused(word).contains(part), "{word}: {}", refused(word));
        }
    }

    #[test]
    fn what_is_no_host_is_refused_with_the_way_to_name_a_file() {
        for word in ["a b:c", "-oProxyCommand=x:y", "a\tb:c", "a\u{1b}[31m:c"] {
            let message = refused(word);
            assert!(message.contains("./NAME") && !message.contains('\u{1b}'), "{word:?}: {message}");
        }
        assert!(!refused("scp://me:hunter2@web1/x").contains("hunter2"));
        assert!(matches!(Operand::read(OsString::from_vec(b"h\xff:x".to_vec())), Err(Fault::Usage { .. })));
        assert!(refused("").contains("empty"));
    }

    #[test]
    fn a_port_in_the_path_is_asked_about() {
        let message = refused("me@web1:2222:/etc/motd");
        assert!(message.contains("-p 2222 me@web1:/etc/motd") && message.contains("./2222:/etc/motd"), "{message}");
    }

    #[test]
    fn the_same_machine_in_two_spellings() {
        for (one, other, same) in [
            ("web1", "web1", true),
            ("me@web1", "ssh://me@web1", true),
            ("[::1]", "ssh://[::1]", true),
            ("a@b@web1", "ssh://a%40b@web1", true),
            ("web1", "me@web1", false),
            ("web1", "web2", false),
            ("web1", "ssh://web1:22", false),
            ("ssh://web1:23", "ssh://web1:22", false),
        ] {
            assert_eq!(is_same(one, other), same, "{one} {other}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics_and_no_host_is_an_option(word in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(Operand::There(remote)) = Operand::read(OsString::from_vec(word)) {
                prop_assert!(!remote.destination.starts_with('-') && !remote.destination.contains(char::is_whitespace));
            }
        }
    }
}
