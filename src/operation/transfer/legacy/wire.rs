//! The lines of the legacy protocol: what a server says is believed as little as it can be.

use crate::operation::transfer::local::PERMISSIONS;

/// The longest line.
pub const LINE_MAX: usize = 8192;

/// A line, after it was taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A file of so many bytes follows.
    File {
        /// Its permission bits.
        mode: u32,
        /// Its bytes.
        size: u64,
        /// Its name.
        name: Vec<u8>,
    },
    /// A directory begins.
    Directory {
        /// Its permission bits.
        mode: u32,
        /// Its name.
        name: Vec<u8>,
    },
    /// A directory ends.
    End,
    /// The times of what follows, in seconds since 1970.
    Times {
        /// Changed.
        mtime: i64,
        /// Read.
        atime: i64,
    },
    /// Something is wrong with an entry; the rest goes on.
    Warning(Vec<u8>),
    /// Something is wrong with all of it.
    Fatal(Vec<u8>),
}

/// Why a line has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken(pub &'static str);

/// Takes a line apart, the line feed taken off.
pub fn parse(line: &[u8]) -> Result<Line, Broken> {
    let (kind, rest) = line.split_first().ok_or(Broken("an empty line"))?;
    match kind {
        1 => Ok(Line::Warning(rest.to_vec())),
        2 => Ok(Line::Fatal(rest.to_vec())),
        b'E' if rest.is_empty() => Ok(Line::End),
        b'T' => times(rest).ok_or(Broken("a line of times that are none")),
        b'C' => {
            let (mode, size, name) = entry(rest).ok_or(Broken("a line of a file that is none"))?;
            Ok(Line::File { mode, size, name })
        }
        b'D' => {
            let (mode, _, name) = entry(rest).ok_or(Broken("a line of a directory that is none"))?;
            Ok(Line::Directory { mode, name })
        }
        _ => Err(Broken("a line that is none of the protocol's")),
    }
}

fn entry(rest: &[u8]) -> Option<(u32, u64, Vec<u8>)> {
    let mut parts = rest.splitn(3, |b| *b == b' ');
    let (mode, size, name) = (parts.next()?, parts.next()?, parts.next()?);
    let octal = (3..=6).contains(&mode.len()) && mode.iter().all(|b| (b'0'..=b'7').contains(b));
    let mode = octal.then(|| mode.iter().fold(0, |mode, b| mode << 3 | u32::from(b - b'0')))?;
    Some((mode & PERMISSIONS, number(size)?, name.to_vec()))
}

fn times(rest: &[u8]) -> Option<Line> {
    let mut parts = rest.split(|b| *b == b' ');
    let (mtime, _, atime, _) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let second = |text| i64::try_from(number(text)?).ok();
    parts.next().is_none().then_some(Line::Times { mtime: second(mtime)?, atime: second(atime)? })
}

/// Digits, and no more than a file can have bytes.
fn number(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let number = digits.then(|| std::str::from_utf8(text).ok()?.parse::<u64>().ok()).flatten()?;
    (number <= i64::MAX.unsigned_abs()).then_some(number)
}

/// The line of a file.
pub fn file(mode: u32, size: u64, name: &[u8]) -> Vec<u8> {
    [format!("C{:04o} {size} ", mode & PERMISSIONS).as_bytes(), name, b"\n"].concat()
}

/// The line of a directory.
pub fn directory(mode: u32, name: &[u8]) -> Vec<u8> {
    [format!("D{:04o} 0 ", mode & PERMISSIONS).as_bytes(), name, b"\n"].concat()
}

/// The line of times.
pub fn times_of(mtime: i64, atime: i64) -> Vec<u8> {
    format!("T{} 0 {} 0\n", mtime.max(0), atime.max(0)).into_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let told = |line: Vec<u8>| parse(line.strip_suffix(b"\n").unwrap()).unwrap();
        let name = b"a b\xff".to_vec();
        assert_eq!(told(file(0o104_755, 7, &name)), Line::File { mode: 0o755, size: 7, name: name.clone() });
        assert_eq!(told(directory(0o700, &name)), Line::Directory { mode: 0o700, name });
        assert_eq!(told(times_of(5, -1)), Line::Times { mtime: 5, atime: 0 });
        assert_eq!(parse(b"E"), Ok(Line::End));
        assert_eq!(parse(b"\x01scp: no"), Ok(Line::Warning(b"scp: no".to_vec())));
    }

    #[test]
    fn lies_are_no_lines() {
        for line in [
            &b""[..],
            b"C0644 -1 a",
            b"C0644 99999999999999999999 a",
            b"C0644 9223372036854775808 a",
            b"C0844 1 a",
            b"C 1 a",
            b"C0644 1",
            b"E1",
            b"T1 0 1",
            b"T1 0 1 0 9",
            b"hello",
            b"C00000000644 1 a",
        ] {
            assert!(parse(line).is_err(), "{}", String::from_utf8_lossy(line));
        }
        // Setuid and its like never pass.
        assert_eq!(parse(b"C6755 0 a"), Ok(Line::File { mode: 0o755, size: 0, name: b"a".to_vec() }));
    }

    proptest! {
        #[test]
        fn no_line_is_too_strange(line: Vec<u8>) {
            let _ = parse(&line);
        }
    }
}
