//! JSON on one line that is safe to show: DEL and the C1 controls, which JSON lets through and terminals obey, are escaped.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// What `serde_json` writes, with the controls that it would leave in place escaped.
struct TerminalSafe;

impl Formatter for TerminalSafe {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        // C1 controls are C2 80 to C2 9F in UTF-8: without those two bytes there is nothing to escape.
        if !fragment.bytes().any(|byte| byte == 0x7f || byte == 0xc2) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut written = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| is_raw_control(*c)) {
            writer.write_all(&fragment.as_bytes()[written..at])?;
            write!(writer, "\\u{:04x}", u32::from(c))?;
            written = at + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[written..])
    }
}

/// A control character that JSON does not oblige anybody to escape.
const fn is_raw_control(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}')
}

/// One line, with its newline. What is given is ours, and always has a JSON form.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    let mut serializer = Serializer::with_formatter(&mut out, TerminalSafe);
    if let Err(error) = value.serialize(&mut serializer) {
        debug_assert!(false, "no JSON form: {error}");
    }
    out.push(b'\n');
    out
}

/// How many bytes a character takes in a JSON string that [`line`] writes.
pub(super) const fn encoded_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_control_character_is_left() {
        let all: String = ('\0'..='\u{ff}').chain(['\u{ffff}', '😀']).collect();
        let text = String::from_utf8(line(&all)).unwrap();
        assert!(!text.trim_end_matches('\n').chars().any(char::is_control), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), all);
    }

    proptest! {
        #[test]
        fn the_length_is_known_beforehand(text in any::<String>(), low in proptest::collection::vec(0_u8..=255, 0..64)) {
            let text: String = text.chars().chain(low.into_iter().map(char::from)).collect();
            let expected: usize = text.chars().map(encoded_len).sum();
            prop_assert_eq!(line(&text).len(), expected + "\"\"\n".len());
        }
    }
}
