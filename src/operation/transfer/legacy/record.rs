//! One line of the protocol, read strictly. Whatever does not fit is a violation.

use crate::operation::transfer::local::PERMISSIONS;
use crate::operation::transfer::local::target::Times;

/// The longest line.
pub const LINE_MAX: usize = 8192;

/// What `scp -f` says next. Its first byte is not part of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// `C`: a file.
    File(Head),
    /// `D`: a directory is entered.
    Directory(Head),
    /// `E`: it is left.
    End,
    /// `T`: times of what follows.
    Times(Times),
}

/// What is said of a file or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Permission bits.
    pub mode: u32,
    /// Bytes.
    pub size: u64,
    /// Its name, which may be anything but a line break.
    pub name: Vec<u8>,
}

/// Reads a line.
pub fn record(first: u8, rest: &[u8]) -> Option<Record> {
    match first {
        b'C' => head(rest).map(Record::File),
        b'D' => head(rest).map(Record::Directory),
        b'E' => rest.is_empty().then_some(Record::End),
        b'T' => times(rest).map(Record::Times),
        _ => None,
    }
}

/// `MODE SIZE NAME`.
fn head(rest: &[u8]) -> Option<Head> {
    let mut fields = rest.splitn(3, |b| *b == b' ');
    let (mode, size, name) = (fields.next()?, fields.next()?, fields.next()?);
    let octal = (4..=6).contains(&mode.len()) && mode.iter().all(|b| (b'0'..=b'7').contains(b));
    let mode = octal.then(|| mode.iter().fold(0, |mode, digit| mode * 8 + u32::from(digit - b'0')))?;
    Some(Head { mode: mode & PERMISSIONS, size: number(size)?, name: name.to_vec() })
}

/// `MTIME 0 ATIME 0`: seconds and microseconds.
fn times(rest: &[u8]) -> Option<Times> {
    let fields: Vec<&[u8]> = rest.split(|b| *b == b' ').collect();
    let [mtime, mtime_micros, atime, atime_micros] = fields[..] else { return None };
    let micros = |field: &[u8]| number(field).filter(|micros| *micros < 1_000_000);
    micros(mtime_micros)?;
    micros(atime_micros)?;
    Some(Times { mtime: i64::try_from(number(mtime)?).ok()?, atime: i64::try_from(number(atime)?).ok()? })
}

/// Digits only, and no more than a file can have.
fn number(field: &[u8]) -> Option<u64> {
    let digits = !field.is_empty() && field.len() <= 19 && field.iter().all(u8::is_ascii_digit);
    let number: u64 = std::str::from_utf8(field).ok().filter(|_| digits)?.parse().ok()?;
    i64::try_from(number).is_ok().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_openssh() {
        let file = Record::File(Head { mode: 0o644, size: 12, name: b"a b".to_vec() });
        assert_eq!(record(b'C', b"0644 12 a b"), Some(file));
        let directory = Record::Directory(Head { mode: 0o755, size: 0, name: b"..".to_vec() });
        assert_eq!(record(b'D', b"0755 0 .."), Some(directory), "whether it may be so is asked elsewhere");
        assert_eq!(record(b'E', b""), Some(Record::End));
        assert_eq!(record(b'T', b"12 0 34 0"), Some(Record::Times(Times { mtime: 12, atime: 34 })));
        let setuid = Record::File(Head { mode: 0o755, size: i64::MAX as u64, name: b"x".to_vec() });
        assert_eq!(record(b'C', b"4755 9223372036854775807 x"), Some(setuid));
    }

    #[test]
    fn what_does_not_fit() {
        for (first, rest) in [
            (b'C', &b"0644 12"[..]),
            (b'C', b"644 12 x"),
            (b'C', b"0648 12 x"),
            (b'C', b"0644 -1 x"),
            (b'C', b"0644 +1 x"),
            (b'C', b"0644 9223372036854775808 x"),
            (b'C', b"0644  12 x"),
            (b'C', b" 0644 12 x"),
            (b'C', b"00000000000644 12 x"),
            (b'E', b" "),
            (b'T', b"1 0 2"),
            (b'T', b"1 0 2 0 3"),
            (b'T', b"-1 0 2 0"),
            (b'T', b"1 1000000 2 0"),
            (b'X', b""),
            (0, b""),
        ] {
            assert_eq!(record(first, rest), None, "{}", String::from_utf8_lossy(rest));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(first in any::<u8>(), rest in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = record(first, &rest);
        }

        #[test]
        fn nor_do_those_that_almost_fit(line in "[0-7]{0,8} ?[0-9+-]{0,22} ?[ -~]{0,20}", first in "[CDET]") {
            if let Some(Record::File(head) | Record::Directory(head)) = record(first.as_bytes()[0], line.as_bytes()) {
                prop_assert!(head.mode <= 0o777 && i64::try_from(head.size).is_ok());
            }
        }
    }
}
