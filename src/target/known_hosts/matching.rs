//! Whether the first field of a `known_hosts` line is about a host (OpenSSH match.c and hostfile.c).

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

/// The length of a SHA-1 digest and of its salt, in bytes.
const SHA1_BYTES: usize = 20;

/// OpenSSH looks at no pattern that is longer, and gives up on the whole list.
const PATTERN_MAX_BYTES: usize = 1023;

/// Whether the field names `host`, which is lower-case. The problem, in words, where the field is a broken hash.
pub(super) fn names(field: &[u8], host: &str) -> Result<bool, String> {
    if field.starts_with(b"|") { hashed(field, host) } else { Ok(listed(field, host.as_bytes())) }
}

/// A comma list: a negated pattern that matches ends it, else one match is enough (match.c `match_pattern_list`).
fn listed(field: &[u8], host: &[u8]) -> bool {
    let mut found = false;
    for pattern in field.split(|b| *b == b',') {
        let (negated, pattern) = match pattern.strip_prefix(b"!") {
            Some(pattern) => (true, pattern),
            None => (false, pattern),
        };
        if pattern.len() > PATTERN_MAX_BYTES {
            return false;
        }
        if wildcard(&pattern.to_ascii_lowercase(), host) {
            if negated {
                return false;
            }
            found = true;
        }
    }
    found
}

/// `*` is any run, `?` any one byte. Two cursors and one way back: linear in practice, never exponential.
pub fn wildcard(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where the last `*` was, and up to where it reaches so far.
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, reach)) = star else { return false };
                star = Some((at, reach + 1));
                p = at + 1;
                t = reach + 1;
            }
        }
    }
    pattern[p..].iter().all(|b| *b == b'*')
}

/// `|1|SALT|HASH`: the HMAC-SHA1 of the name under the salt.
fn hashed(field: &[u8], host: &str) -> Result<bool, String> {
    let bad = || "its hashed host name is broken".to_owned();
    let rest = field.strip_prefix(b"|1|").ok_or_else(bad)?;
    let at = rest.iter().position(|b| *b == b'|').ok_or_else(bad)?;
    let part = |text: &[u8]| BASE64.decode(text).ok().filter(|bytes| bytes.len() == SHA1_BYTES);
    let salt = part(&rest[..at]).ok_or_else(bad)?;
    let hash = part(&rest[at + 1..]).ok_or_else(bad)?;
    Ok(digest(&salt, host) == hash)
}

/// A name, hashed for a new line.
pub(super) fn hash(host: &str) -> String {
    let mut salt = [0; SHA1_BYTES];
    rand::fill(&mut salt);
    format!("|1|{}|{}", BASE64.encode(salt), BASE64.encode(digest(&salt, host)))
}

fn digest(salt: &[u8], host: &str) -> Vec<u8> {
    // HMAC takes a key of any length; the error of this constructor is for other MACs.
    Hmac::<Sha1>::new_from_slice(salt)
        .map(|mut mac| {
            mac.update(host.as_bytes());
            mac.finalize().into_bytes().to_vec()
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// match.c's own, recursive: exponential, and obviously right.
    fn plainly(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|n| plainly(rest, &text[n..])),
            Some((c, rest)) => {
                text.split_first().is_some_and(|(t, tail)| (*c == b'?' || c == t) && plainly(rest, tail))
            }
        }
    }

    proptest! {
        #[test]
        fn the_matcher_agrees_with_the_plain_one(pattern in "[ab*?]{0,9}", text in "[ab]{0,9}") {
            prop_assert_eq!(wildcard(pattern.as_bytes(), text.as_bytes()), plainly(pattern.as_bytes(), text.as_bytes()));
        }

        #[test]
        fn no_field_panics(field in prop::collection::vec(any::<u8>(), 0..60), host in "\\PC{0,20}") {
            let _ = names(&field, &host);
        }
    }

    #[test]
    fn a_hostile_pattern_is_quick() {
        let pattern = "a*".repeat(500) + "b";
        assert!(!wildcard(pattern.as_bytes(), "a".repeat(5000).as_bytes()));
    }

    #[test]
    fn what_is_hashed_is_found_again() {
        let field = hash("[web1]:2222");
        assert_eq!(names(field.as_bytes(), "[web1]:2222"), Ok(true));
        assert_eq!(names(field.as_bytes(), "web1"), Ok(false));
        assert!(names(b"|1|AAAA|AAAA", "web1").is_err());
        assert!(names(b"|2|x|y", "web1").is_err());
    }
}
