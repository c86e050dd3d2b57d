//! Wildcards, as a shell has them for the name of one file (`glob(7)`): `*`, `?`, `[…]`, and a backslash before what is meant
//! as it stands.

use std::ops::RangeInclusive;

/// Whether the whole name fits.
pub fn fits(name: &[char], pattern: &[char]) -> bool {
    fits_by(one_fits, name, pattern)
}

/// The same of bytes, each of which stands for itself.
pub fn fits_bytes(name: &[u8], pattern: &[u8]) -> bool {
    let chars = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect::<Vec<_>>();
    fits(&chars(name), &chars(pattern))
}

/// Whether the whole text fits a pattern with `*`, for any notion of what else stands for one character: `one` says how much of
/// the pattern does. No more than text times pattern steps, however many stars there are.
pub fn fits_by(one: impl Fn(char, &[char]) -> Option<usize>, text: &[char], pattern: &[char]) -> bool {
    let (mut at, mut want) = (0, 0);
    // Where to go on when it does not fit: behind the last `*`, with one more character given to it.
    let mut again = None;
    while at < text.len() {
        if pattern.get(want) == Some(&'*') {
            want += 1;
            again = Some((at, want));
        } else if let Some(width) = one(text[at], &pattern[want..]) {
            (at, want) = (at + 1, want + width);
        } else if let Some((from, after)) = again {
            again = Some((from + 1, after));
            (at, want) = (from + 1, after);
        } else {
            return false;
        }
    }
    pattern[want..].iter().all(|c| *c == '*')
}

/// How much of the pattern stands for this one character.
fn one_fits(c: char, pattern: &[char]) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match class(&pattern[1..]) {
            Some(class) => {
                let inside = class.members.iter().any(|members| members.contains(&c));
                (inside != class.negated).then_some(1 + class.width)
            }
            // Never closed: an ordinary character.
            None => (c == '[').then_some(1),
        },
        '\\' if pattern.len() > 1 => (pattern[1] == c).then_some(2),
        other => (*other == c).then_some(1),
    }
}

/// One `[…]`.
struct Class {
    negated: bool,
    members: Vec<RangeInclusive<char>>,
    /// Its length without the first bracket, and with the last.
    width: usize,
}

/// What follows a `[`, if it is closed.
fn class(text: &[char]) -> Option<Class> {
    let negated = matches!(text.first(), Some('!' | '^'));
    let mut at = usize::from(negated);
    let mut members = Vec::new();
    loop {
        let low = *text.get(at)?;
        if low == ']' && !members.is_empty() {
            return Some(Class { negated, members, width: at + 1 });
        }
        match (text.get(at + 1), text.get(at + 2)) {
            (Some('-'), Some(high)) if *high != ']' => {
                members.push(low..=*high);
                at += 3;
            }
            _ => {
                members.push(low..=low);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(name: &str, pattern: &str) -> bool {
        fits(&name.chars().collect::<Vec<_>>(), &pattern.chars().collect::<Vec<_>>())
    }

    #[test]
    fn wildcards() {
        for (name, pattern) in [
            ("a.conf", "*.conf"),
            ("a1", "a?"),
            ("a1", "a[0-9]"),
            ("ab", "a[!0-9]"),
            ("a]", "a[]]"),
            ("a-", "a[x-]"),
            ("a[", "a["),
            ("a*", r"a\*"),
        ] {
            assert!(matches(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [("a.conf~", "*.conf"), ("ab", "a[0-9]"), ("a1", "a[^0-9]"), ("ab", r"a\*"), ("a", "a[")]
        {
            assert!(!matches(name, pattern), "{name} {pattern}");
        }
    }

    #[test]
    fn bytes_need_not_be_text() {
        assert!(fits_bytes(b"a\xff.txt", b"a?.t*") && fits_bytes(b"\xff", b"\xff") && !fits_bytes(b"\xfe", b"[\xff]"));
    }
}
