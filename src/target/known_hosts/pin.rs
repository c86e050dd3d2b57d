//! `--host-key`: a key that the caller knows from elsewhere.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

use super::line::inner_type;
use crate::errors::Fault;

/// The length of a SHA-256 digest, in bytes.
const SHA256_BYTES: usize = 32;

/// One pinned key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pin {
    /// `SHA256:…`, as [`fingerprint`] writes it.
    Fingerprint(String),
    /// The key itself.
    Key {
        /// Its type.
        key_type: String,
        /// Its blob (RFC 4253 section 6.6).
        blob: Vec<u8>,
    },
}

/// `SHA256:` and the base64 of the digest without padding, as OpenSSH shows it.
pub fn fingerprint(blob: &[u8]) -> String {
    format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(blob)))
}

impl Pin {
    /// Reads `SHA256:…` or `TYPE BASE64` (a line of a `.pub` file: a comment may follow).
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let refuse = |problem: &str| Fault::Usage { message: format!("`--host-key {text}`: {problem}") };
        if let Some(digest) = text.strip_prefix("SHA256:") {
            let digest = digest.trim_end_matches('=');
            return match STANDARD_NO_PAD.decode(digest) {
                Ok(bytes) if bytes.len() == SHA256_BYTES => Ok(Self::Fingerprint(format!("SHA256:{digest}"))),
                _ => Err(refuse("that is not the base64 of a SHA-256 digest")),
            };
        }
        if text.starts_with("MD5:") {
            return Err(refuse("MD5 fingerprints prove nothing; `ssh-keygen -l -f FILE` shows the SHA256 one"));
        }
        let mut words = text.split_whitespace();
        let (Some(key_type), Some(key)) = (words.next(), words.next()) else {
            return Err(refuse("it is `SHA256:…`, or a key's type and base64 in one argument"));
        };
        let blob = STANDARD.decode(key).map_err(|_| refuse("the key is not base64"))?;
        if inner_type(&blob) != Some(key_type.as_bytes()) {
            return Err(refuse("the key is of another type than it says, or cut short"));
        }
        Ok(Self::Key { key_type: key_type.to_owned(), blob })
    }

    /// Whether it is this key.
    pub fn accepts(&self, blob: &[u8]) -> bool {
        match self {
            Self::Fingerprint(pinned) => *pinned == fingerprint(blob),
            Self::Key { blob: pinned, .. } => pinned == blob,
        }
    }
}
