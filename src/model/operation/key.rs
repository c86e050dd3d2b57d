//! Names: the caller's key, and the short ones that travel.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest key, in characters.
const KEY_MAX_CHARS: usize = 200;

/// The name that the caller gave an operation: 1 to 200 printable characters without `/`. It is never made up here.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct OperationKey(String);

/// Why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    /// There is nothing in it.
    #[error("a key is not empty")]
    Empty,
    /// It is longer than 200 characters.
    #[error("a key has at most 200 characters")]
    TooLong,
    /// It holds a `/`: a path was probably meant.
    #[error("a key holds no `/`: it names the operation, not a file")]
    Slash,
    /// It holds a control character, an invisible one, or white space other than a space inside.
    #[error("a key holds printable characters only, and no space at either end")]
    Unprintable,
}

impl OperationKey {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for OperationKey {
    type Err = BadKey;

    fn from_str(text: &str) -> Result<Self, BadKey> {
        if text.is_empty() {
            return Err(BadKey::Empty);
        }
        if text.chars().count() > KEY_MAX_CHARS {
            return Err(BadKey::TooLong);
        }
        if text.contains('/') {
            return Err(BadKey::Slash);
        }
        if !text.chars().all(is_printable) || text.trim() != text {
            return Err(BadKey::Unprintable);
        }
        Ok(Self(text.to_owned()))
    }
}

/// Two keys that look the same should be the same: nothing that is not seen.
fn is_printable(c: char) -> bool {
    let invisible = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}');
    c == ' ' || !(c.is_control() || c.is_whitespace() || invisible)
}

impl TryFrom<String> for OperationKey {
    type Error = BadKey;

    fn try_from(text: String) -> Result<Self, BadKey> {
        text.parse()
    }
}

impl From<OperationKey> for String {
    fn from(key: OperationKey) -> Self {
        key.0
    }
}

impl fmt::Display for OperationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text is not of the expected form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not {0}")]
pub struct BadName(&'static str);

/// A type for text of a fixed alphabet and length.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $lengths:pat, $alphabet:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String")]
        pub struct $name(String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadName;

            fn from_str(text: &str) -> Result<Self, BadName> {
                let alphabet: fn(u8) -> bool = $alphabet;
                match text.len() {
                    $lengths if text.bytes().all(alphabet) => Ok(Self(text.to_owned())),
                    _ => Err(BadName($what)),
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;

            fn try_from(text: String) -> Result<Self, BadName> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

const fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

name! {
    /// What a key is called in remote paths: 32 hex digits. Only these ever reach one.
    KeyHash, "32 hex digits", 32, is_lower_hex
}

name! {
    /// What a request comes to: SHA-256 over everything that changes what happens, in 64 hex digits.
    Fingerprint, "64 hex digits", 64, is_lower_hex
}

name! {
    /// The random name of one invocation's try to start a generation: 1 to 32 lower-case letters and digits.
    AttemptId, "1 to 32 lower-case letters and digits", 1..=32, |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z')
}

impl KeyHash {
    /// The first half of a SHA-256.
    pub fn of_digest(digest: [u8; 32]) -> Self {
        Self(hex(&digest[..16]))
    }
}

impl Fingerprint {
    /// All of a SHA-256.
    pub fn of_digest(digest: [u8; 32]) -> Self {
        Self(hex(&digest))
    }
}

/// Lower-case hex digits, two for each byte.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_printable_names() {
        for good in ["a", "deploy-2026-12-01", "two words", "größe:1.2,3", "-x", ".", &"ü".repeat(200)] {
            assert_eq!(good.parse::<OperationKey>().map(String::from).as_deref(), Ok(good));
        }
        for (bad, why) in [
            ("", BadKey::Empty),
            (&*"x".repeat(201), BadKey::TooLong),
            ("a/b", BadKey::Slash),
            ("/tmp/key", BadKey::Slash),
            ("a\nb", BadKey::Unprintable),
            ("a\u{1b}[2J", BadKey::Unprintable),
            ("a\u{200b}", BadKey::Unprintable),
            ("a\u{202e}b", BadKey::Unprintable),
            ("a\u{a0}b", BadKey::Unprintable),
            (" a", BadKey::Unprintable),
            ("a ", BadKey::Unprintable),
            ("\0", BadKey::Unprintable),
        ] {
            assert_eq!(bad.parse::<OperationKey>(), Err(why), "{bad:?}");
        }
    }

    #[test]
    fn a_stored_name_is_checked_when_it_is_read() {
        assert!(serde_json::from_str::<OperationKey>("\"a/b\"").is_err());
        assert!(serde_json::from_str::<KeyHash>("\"../../etc/passwd\"").is_err());
        assert!("0123456789abcdef0123456789abcdef".parse::<KeyHash>().is_ok());
        assert!("0123456789ABCDEF0123456789abcdef".parse::<KeyHash>().is_err());
        assert_eq!((KeyHash::of_digest([0xa5; 32]).as_str(), hex(&[0, 0x1f])), (&*"a5".repeat(16), "001f".to_owned()));
        assert!("a:b".parse::<AttemptId>().is_err() && "".parse::<AttemptId>().is_err());
        assert!("k3y".parse::<AttemptId>().is_ok() && "abc".parse::<Fingerprint>().is_err());
    }
}
