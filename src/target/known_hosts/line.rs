//! One line of a `known_hosts` file (sshd(8), `SSH_KNOWN_HOSTS` FILE FORMAT).

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// What the `@` word before a line makes of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// None: a host key.
    Plain,
    /// `@cert-authority`: it signs the certificates of these hosts.
    Authority,
    /// `@revoked`: never to be accepted.
    Revoked,
}

/// A whole line.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) marker: Marker,
    pub(super) hosts: &'a [u8],
    pub(super) key_type: String,
    pub(super) blob: Vec<u8>,
}

/// `None` for an empty line and a comment; the problem, in words, for a broken one. Bytes, because a comment may be in
/// any encoding.
pub(super) fn parse(line: &[u8]) -> Result<Option<Line<'_>>, String> {
    let (first, rest) = word(line);
    if first.is_empty() || first.starts_with(b"#") {
        return Ok(None);
    }
    let (marker, hosts, rest) = if first.starts_with(b"@") {
        let marker = match first {
            b"@cert-authority" => Marker::Authority,
            b"@revoked" => Marker::Revoked,
            other => return Err(format!("`{}` is no marker", shown(other))),
        };
        let (hosts, rest) = word(rest);
        (marker, hosts, rest)
    } else {
        (Marker::Plain, first, rest)
    };
    if hosts.is_empty() {
        return Err("it names no host".to_owned());
    }
    if hosts.starts_with(b"@") {
        return Err("it has two markers".to_owned());
    }
    let (key_type, rest) = word(rest);
    let (key, _comment) = word(rest);
    if key_type.is_empty() || key_type.starts_with(b"#") {
        return Err("it has no key".to_owned());
    }
    let key_type = str::from_utf8(key_type).map_err(|_| "its key type is not text".to_owned())?;
    if key.is_empty() {
        return Err(format!("it has no key after `{key_type}`"));
    }
    let blob = BASE64.decode(key).map_err(|_| "its key is not base64".to_owned())?;
    match inner_type(&blob) {
        Some(inner) if inner == key_type.as_bytes() => {}
        Some(inner) => return Err(format!("it says `{key_type}` and its key says `{}`", shown(inner))),
        None => return Err("its key is cut short".to_owned()),
    }
    Ok(Some(Line { marker, hosts, key_type: key_type.to_owned(), blob }))
}

/// The next word and what follows. A carriage return separates too: it only stands at the end of a line.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let space = |b: &u8| matches!(b, b' ' | b'\t' | b'\r');
    let start = text.iter().position(|b| !space(b)).unwrap_or(text.len());
    let text = &text[start..];
    text.split_at(text.iter().position(space).unwrap_or(text.len()))
}

/// The first string of a key blob: its type (RFC 4253 section 6.6).
pub(super) fn inner_type(blob: &[u8]) -> Option<&[u8]> {
    let (length, rest) = blob.split_first_chunk::<4>()?;
    rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().take(40).collect()
}
