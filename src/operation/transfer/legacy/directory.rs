//! A directory on the host: open while it is filled, and given its mode and times after that.

use super::errands::Answer;
use super::spot;
use crate::operation::transfer::local::Meta;

/// What the owner needs to fill it.
const FILL: u32 = 0o700;

/// One that is being filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// Its path there.
    pub path: Vec<u8>,
    /// Nothing stood there before.
    pub is_new: bool,
    /// Its mode before, where it was there.
    before: u32,
    meta: Meta,
}

impl Directory {
    /// From the answer to `enter`: `new`, or what `ls` says of the one that is there.
    pub fn read(answer: &Answer, path: Vec<u8>, meta: Meta) -> Option<Self> {
        if answer.status != 0 {
            return None;
        }
        if answer.text == b"new" {
            return Some(Self { path, is_new: true, before: FILL, meta });
        }
        let found = spot::standing(&answer.text)?;
        Some(Self { path, is_new: false, before: found.mode, meta })
    }

    /// The mode that it gets in the end; none where it stays as it is.
    pub fn last_mode(&self, preserve: bool, umask: u32) -> Option<u32> {
        if preserve {
            return Some(self.meta.mode & 0o777);
        }
        if self.is_new {
            return Some(self.meta.mode & 0o777 & !umask);
        }
        (self.before & FILL != FILL).then_some(self.before)
    }
}

/// Seconds since 1970 as `touch -t` has them, in UTC. What four digits of a year cannot say is the nearest that they can.
pub fn stamp(time: i64) -> String {
    const DAY: i64 = 86_400;
    let time = time.clamp(0, 253_402_300_799);
    let (mut days, second) = (time.div_euclid(DAY), time.rem_euclid(DAY));
    let mut year = 1970;
    let length = |year: i64| if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) { 366 } else { 365 };
    while days >= length(year) {
        days -= length(year);
        year += 1;
    }
    let february = length(year) - 337;
    let mut month = 1;
    for long in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < long {
            break;
        }
        days -= long;
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{:02}{hour:02}{minute:02}.{second:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_touch_has_them() {
        for (time, told) in [
            (0, "197001010000.00"),
            (951_782_399, "200002282359.59"),
            (951_782_400, "200002290000.00"),
            (1_000_000_000, "200109090146.40"),
            (1_735_689_599, "202412312359.59"),
            (4_107_542_400, "210003010000.00"),
            (-5, "197001010000.00"),
            (i64::MAX, "999912312359.59"),
        ] {
            assert_eq!(stamp(time), told);
        }
    }

    #[test]
    fn the_last_mode() {
        let meta = Meta { mode: 0o575, ..Meta::default() };
        let of = |text: &[u8]| Directory::read(&Answer { status: 0, text: text.to_vec() }, Vec::new(), meta).unwrap();
        assert_eq!((of(b"new").last_mode(false, 0o022), of(b"new").last_mode(true, 0o022)), (Some(0o555), Some(0o575)));
        let open = of(b"drwxrwxrwt 2 0 0 4096 Jan 1 00:00 x");
        assert_eq!((open.is_new, open.last_mode(false, 0o022), open.last_mode(true, 0)), (false, None, Some(0o575)));
        assert_eq!(of(b"dr-xr-x--- 2 0 0 4096 Jan 1 00:00 x").last_mode(false, 0o022), Some(0o550));
        assert_eq!(Directory::read(&Answer { status: 1, text: b"new".to_vec() }, Vec::new(), meta), None);
    }
}
