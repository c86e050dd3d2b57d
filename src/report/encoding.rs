//! What kind of bytes a stream is made of, watched as they pass: chunk borders may lie anywhere.

use schemars::JsonSchema;
use serde::Serialize;

/// What the bytes of a whole stream are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Encoding {
    /// All of it is UTF-8, without a NUL.
    #[serde(rename = "utf-8")]
    Utf8,
    /// Some of it is not UTF-8, and is shown as U+FFFD.
    #[serde(rename = "utf-8-lossy")]
    Utf8Lossy,
    /// There is a NUL in it: it is no text.
    #[serde(rename = "binary")]
    Binary,
}

/// Watches a stream. A chunk costs one pass for NUL and one for UTF-8, none once the verdict is in.
#[derive(Debug, Default)]
pub(super) struct Watch {
    has_nul: bool,
    is_invalid: bool,
    /// The beginning of a character that the last chunk did not finish.
    pending: [u8; 4],
    pending_len: usize,
}

impl Watch {
    /// The next bytes.
    pub(super) fn feed(&mut self, data: &[u8]) {
        if self.has_nul {
            return;
        }
        // The standard library looks for a byte a word at a time.
        self.has_nul = data.contains(&0);
        if !self.has_nul && !self.is_invalid {
            self.check_utf8(data);
        }
    }

    fn check_utf8(&mut self, mut data: &[u8]) {
        while let (1.., [next, rest @ ..]) = (self.pending_len, data) {
            self.pending[self.pending_len] = *next;
            self.pending_len += 1;
            data = rest;
            match std::str::from_utf8(&self.pending[..self.pending_len]) {
                Ok(_) => self.pending_len = 0,
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return self.is_invalid = true,
            }
        }
        let Err(error) = std::str::from_utf8(data) else { return };
        let rest = &data[error.valid_up_to()..];
        match error.error_len() {
            None => {
                self.pending[..rest.len()].copy_from_slice(rest);
                self.pending_len = rest.len();
            }
            Some(_) => self.is_invalid = true,
        }
    }

    /// The verdict on what has passed so far, were it all.
    pub(super) fn encoding(&self) -> Encoding {
        match (self.has_nul, self.is_invalid || self.pending_len > 0) {
            (true, _) => Encoding::Binary,
            (false, true) => Encoding::Utf8Lossy,
            (false, false) => Encoding::Utf8,
        }
    }
}

/// How many bytes at the end begin a character that the next bytes may finish.
pub(super) fn unfinished(data: &[u8]) -> usize {
    match std::str::from_utf8(data) {
        Err(error) if error.error_len().is_none() => data.len() - error.valid_up_to(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(data: &[u8]) -> Encoding {
        match (data.contains(&0), std::str::from_utf8(data)) {
            (true, _) => Encoding::Binary,
            (false, Err(_)) => Encoding::Utf8Lossy,
            (false, Ok(_)) => Encoding::Utf8,
        }
    }

    fn in_chunks<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Encoding {
        let mut watch = Watch::default();
        chunks.for_each(|chunk| watch.feed(chunk));
        watch.encoding()
    }

    #[test]
    fn a_character_may_be_cut_anywhere() {
        for size in 1..8 {
            assert_eq!(in_chunks("aé€😀z".as_bytes().chunks(size)), Encoding::Utf8, "{size}");
        }
    }

    #[test]
    fn an_unfinished_end_is_lossy() {
        assert_eq!(in_chunks([&b"a\xe2"[..], b"\x82"].into_iter()), Encoding::Utf8Lossy);
        assert_eq!(in_chunks([&b"a\xe2"[..], b"b"].into_iter()), Encoding::Utf8Lossy);
        assert_eq!(
            (unfinished(b"a\xe2\x82"), unfinished(b"a"), unfinished(b"\xff"), unfinished(b"\xffa\xe2")),
            (2, 0, 0, 0)
        );
    }

    #[test]
    fn nul_wins_over_invalid() {
        assert_eq!(in_chunks([&b"\xff"[..], b"a\0"].into_iter()), Encoding::Binary);
        assert_eq!(in_chunks([&b"\0"[..], b"\xff"].into_iter()), Encoding::Binary);
        assert_eq!(in_chunks(std::iter::empty()), Encoding::Utf8);
    }

    proptest! {
        #[test]
        fn chunks_change_nothing(
            data in proptest::collection::vec(prop_oneof![Just(0xe2_u8), Just(0x82), Just(0xac), Just(b'a'), 1_u8..=255], 0..64),
            size in 1_usize..9,
        ) {
            prop_assert_eq!(in_chunks(data.chunks(size)), whole(&data));
        }
    }
}
