//! A secret as a type: wiped when dropped, never printed.

use std::fmt;

use bytes::Bytes;
use zeroize::Zeroizing;

/// Bytes that must not be shown. There is no `Display`, `Debug` is redacted, and the memory is zeroed on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes the bytes over; the caller's copy is the caller's to wipe.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes, for the one place that sends them.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, for whoever takes them over to send them: wiped when they are sent.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self.0)
    }

    /// The bytes as text, where a protocol wants text (RFC 4252 section 8: UTF-8).
    pub fn expose_str(&self) -> Result<&str, std::str::Utf8Error> {
        std::str::from_utf8(&self.0)
    }

    /// True where there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Secret::new(b"hunter2".to_vec())), "Secret(redacted)");
    }
}
