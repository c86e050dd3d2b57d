//! The head and the tail of a stream, within a limit that counts bytes *as encoded in JSON*.
//!
//! Every kept byte encodes to at least one, so as many raw bytes as the limit are enough to decide at the end, and only what is
//! kept is ever counted: a stream of any length costs its copies into two small buffers.

use super::json::encoded_len;

/// The beginning and the end of what has passed. Holds at most twice the limit.
#[derive(Debug)]
pub(super) struct Kept {
    limit: usize,
    total: u64,
    /// The first `limit` bytes.
    head: Vec<u8>,
    /// At least the last half of `limit` bytes, where there are so many, and at most `limit` bytes.
    tail: Vec<u8>,
}

/// What is shown of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// Head, marker line and tail; or all of it.
    pub(super) text: String,
    /// Bytes of the stream that the text leaves out.
    pub(super) omitted: u64,
}

impl Kept {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, total: 0, head: Vec::new(), tail: Vec::new() }
    }

    /// The next bytes.
    pub(super) fn push(&mut self, data: &[u8]) {
        self.total += data.len() as u64;
        let room = self.limit - self.head.len();
        self.head.extend_from_slice(&data[..data.len().min(room)]);
        let half = self.limit / 2;
        let last = &data[data.len().saturating_sub(half)..];
        let held = self.tail.len() + last.len();
        if held > half * 2 {
            self.tail.drain(..(held - half).min(self.tail.len()));
        }
        self.tail.extend_from_slice(last);
    }

    /// How many bytes have passed.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The limit, in bytes as encoded.
    pub(super) fn limit(&self) -> u64 {
        self.limit as u64
    }

    /// All of the stream, while it is no longer than the limit.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        (self.total == self.head.len() as u64).then_some(&self.head[..])
    }

    /// All of the stream as text, where that is within the limit as encoded. What is not UTF-8 becomes U+FFFD.
    pub(super) fn whole_text(&self) -> Option<String> {
        let text = String::from_utf8_lossy(self.whole()?);
        (text.chars().map(encoded_len).sum::<usize>() <= self.limit).then(|| text.into_owned())
    }

    /// The head and the tail, each within half the limit, and a marker line in between that says how much is missing, and
    /// `elsewhere` where that can be found. For a stream that is too long as a whole.
    pub(super) fn excerpt(&self, elsewhere: Option<&str>) -> Excerpt {
        let half = self.limit / 2;
        let (head, head_bytes) = head(&self.head, self.limit - half);
        let (tail, tail_bytes) = tail(&self.tail[self.tail.len().saturating_sub(half)..], half);
        let omitted = self.total - (head_bytes + tail_bytes) as u64;
        let seam = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        let elsewhere = elsewhere.map(|place| format!("; {place}")).unwrap_or_default();
        Excerpt { text: format!("{head}{seam}[... {omitted} bytes omitted{elsewhere} ...]\n{tail}"), omitted }
    }
}

/// Characters with the bytes they stand for; an invalid sequence is one U+FFFD.
fn characters(data: &[u8]) -> impl Iterator<Item = (char, usize)> {
    data.utf8_chunks().flat_map(|chunk| {
        let invalid = chunk.invalid().len();
        let replaced = (invalid > 0).then_some((char::REPLACEMENT_CHARACTER, invalid));
        chunk.valid().chars().map(|c| (c, c.len_utf8())).chain(replaced)
    })
}

/// The longest beginning within the budget, and its length in bytes of the stream. It ends with a line, unless that would give
/// away more than half of it.
fn head(data: &[u8], budget: usize) -> (String, usize) {
    let (mut text, mut bytes, mut encoded) = (String::new(), 0, 0);
    let mut line_end = (0, 0);
    for (c, raw) in characters(data) {
        encoded += encoded_len(c);
        if encoded > budget {
            break;
        }
        text.push(c);
        bytes += raw;
        if c == '\n' {
            line_end = (text.len(), bytes);
        }
    }
    if line_end.1 * 2 >= bytes {
        text.truncate(line_end.0);
        bytes = line_end.1;
    }
    (text, bytes)
}

/// The same for the end of the stream.
fn tail(data: &[u8], budget: usize) -> (String, usize) {
    // The data begins anywhere: what may be the rest of a character is not shown as a broken one.
    let inside = data.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xbf)).count();
    let data = &data[inside..];
    let mut encoded: usize = characters(data).map(|(c, _)| encoded_len(c)).sum();
    let (mut skipped, mut at_line) = (0, false);
    for (c, raw) in characters(data) {
        if encoded <= budget {
            break;
        }
        encoded -= encoded_len(c);
        skipped += raw;
        at_line = c == '\n';
    }
    let mut rest = &data[skipped..];
    let line_start = rest.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
    if let (false, Some(start)) = (at_line, line_start)
        && start * 2 <= rest.len()
    {
        rest = &rest[start..];
    }
    (String::from_utf8_lossy(rest).into_owned(), rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(limit: usize, data: &[u8], chunk: usize) -> Kept {
        let mut kept = Kept::new(limit);
        for piece in data.chunks(chunk) {
            kept.push(piece);
            assert!(kept.head.len() <= limit && kept.tail.len() <= limit);
        }
        kept
    }

    fn parts(text: &str) -> (&str, &str) {
        let (head, rest) = text.split_once("[... ").unwrap();
        (head, rest.split_once(" ...]\n").unwrap().1)
    }

    fn encoded(text: &str) -> usize {
        text.chars().map(encoded_len).sum()
    }

    #[test]
    fn what_fits_exactly_is_whole() {
        assert_eq!(kept(8, b"1234567\n", 3).whole_text(), None);
        assert_eq!(kept(9, b"1234567\n", 3).whole_text().as_deref(), Some("1234567\n"));
        assert_eq!(kept(5, b"\x01", 3).whole_text(), None);
        assert_eq!(kept(6, b"\x01", 3).whole_text().as_deref(), Some("\x01"));
    }

    #[test]
    fn lines_stay_whole_and_the_marker_counts() {
        let lines: Vec<String> = (0..1000).map(|n| format!("line {n}\n")).collect();
        let data = lines.concat();
        let excerpt = kept(100, data.as_bytes(), 7).excerpt(Some("whole stream: /s"));
        let (head, tail) = parts(&excerpt.text);
        assert_eq!(head, "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\n");
        assert_eq!(tail, "line 995\nline 996\nline 997\nline 998\nline 999\n");
        assert_eq!(excerpt.omitted, (data.len() - head.len() - tail.len()) as u64);
        assert!(excerpt.text.contains(&format!("[... {} bytes omitted; whole stream: /s ...]\n", excerpt.omitted)));
    }

    #[test]
    fn one_endless_line_is_cut_between_characters() {
        let excerpt = kept(21, "€".repeat(100).as_bytes(), 4).excerpt(None);
        assert_eq!(excerpt.text, "€€€\n[... 282 bytes omitted ...]\n€€€");
    }

    #[test]
    fn nothing_at_all_may_be_kept() {
        assert_eq!(kept(0, b"abc", 2).excerpt(None).text, "[... 3 bytes omitted ...]\n");
        assert_eq!(kept(0, b"", 2).whole_text().as_deref(), Some(""));
    }

    #[test]
    fn a_line_that_begins_at_the_limit_is_kept() {
        let excerpt = kept(20, b"aaaaaaaaaaaaaaaaaaaaaaaaaaaa\nbbbbbbb\n", 64).excerpt(None);
        assert_eq!(parts(&excerpt.text).1, "bbbbbbb\n");
    }

    proptest! {
        #[test]
        fn the_limit_holds_and_every_byte_is_accounted_for(
            data in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'"'), Just(1_u8), Just(0xe2), Just(0x82), Just(0xac), b'a'..=b'z', any::<u8>()], 0..400),
            limit in 0_usize..120,
            chunk in 1_usize..50,
        ) {
            let kept = kept(limit, &data, chunk);
            prop_assert_eq!(kept.total(), data.len() as u64);
            if let Some(text) = kept.whole_text() {
                prop_assert_eq!(&text, &String::from_utf8_lossy(&data));
                prop_assert!(encoded(&text) <= limit);
            } else {
                let excerpt = kept.excerpt(None);
                let (head, tail) = parts(&excerpt.text);
                prop_assert!(encoded(head.strip_suffix('\n').unwrap_or(head)) + encoded(tail) <= limit);
                prop_assert!(excerpt.omitted > 0 && excerpt.omitted <= data.len() as u64);
            }
        }

        #[test]
        fn text_is_never_broken(data in "[a€😀\n]{0,200}", limit in 0_usize..120, chunk in 1_usize..50) {
            let kept = kept(limit, data.as_bytes(), chunk);
            if kept.whole_text().is_none() {
                let excerpt = kept.excerpt(None);
                let (head, tail) = parts(&excerpt.text);
                prop_assert!(data.ends_with(tail) && data.starts_with(head.strip_suffix('\n').unwrap_or(head)));
                prop_assert!(!excerpt.text.contains(char::REPLACEMENT_CHARACTER));
                let seam = head.strip_suffix('\n').filter(|h| !data.starts_with(head) || (h.len() + tail.len()) as u64 + excerpt.omitted == data.len() as u64).unwrap_or(head);
                prop_assert_eq!((seam.len() + tail.len()) as u64 + excerpt.omitted, data.len() as u64);
            }
        }
    }
}
