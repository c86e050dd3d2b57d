//! Text that somebody else chose, made safe to show.

/// The longest text that is shown of what a server said, in characters.
const SHOWN_CHARS: usize = 2000;

/// Control characters (C0, DEL, C1), bidirectional overrides and other invisible format characters become visible escapes;
/// newlines and tabs become spaces; what is over 2,000 characters is cut.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (n, c) in text.chars().enumerate() {
        if n == SHOWN_CHARS {
            out.push('…');
            break;
        }
        match c {
            '\n' | '\t' => out.push(' '),
            '\r' => {}
            c if c.is_control() || is_invisible(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn escapes_become_visible() {
        assert_eq!(clean("a\x1b[2Jb\u{9b}c\u{202e}d\x7f"), "a\\u{1b}[2Jb\\u{9b}c\\u{202e}d\\u{7f}");
    }

    #[test]
    fn lines_become_one() {
        assert_eq!(clean("one\r\ntwo\tthree"), "one two three");
    }

    #[test]
    fn endless_text_is_cut() {
        assert_eq!(clean(&"x".repeat(100_000)).chars().count(), 2001);
    }
}
