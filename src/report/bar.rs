//! How far a copy has come, for people: one line of standard error, drawn anew and erased at the end.
//!
//! There is nothing in it but text, blanks and carriage returns, so that any terminal shows it. Where standard error is no
//! terminal, each is a line of its own, and they are rare.

use std::fmt::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::errors::clean;

/// Where there is nothing to erase a line with.
const EVERY: Duration = Duration::from_secs(1);
/// Where a terminal does not say how wide it is.
const COLUMNS: usize = 80;
/// The part of the line that fills.
const CELLS: usize = 20;

/// Makes the lines.
#[derive(Debug)]
pub(super) struct Bar {
    /// The terminal, asked for its width each time; none where it is no terminal.
    terminal: Option<OwnedFd>,
    /// When it began, and how much was there then.
    begun: Option<(Instant, u64)>,
    last: Option<Instant>,
    /// What is drawn, and not erased yet, in columns.
    drawn: usize,
}

impl Bar {
    pub(super) fn on(stderr: impl AsFd) -> Self {
        let terminal = rustix::termios::isatty(&stderr).then(|| stderr.as_fd().try_clone_to_owned().ok()).flatten();
        Self { terminal, begun: None, last: None, drawn: 0 }
    }

    /// What is to be written to say so; none where it is too early for that.
    pub(super) fn line(&mut self, path: &[u8], bytes: u64, total: Option<u64>, now: Instant) -> Option<Bytes> {
        let (begun, at_first) = *self.begun.get_or_insert((now, bytes));
        let rate = per_second(bytes.saturating_sub(at_first), now.duration_since(begun));
        let facts = facts(bytes, total, rate);
        let name = clean(&String::from_utf8_lossy(path));
        let Some(terminal) = &self.terminal else {
            let is_early = now.duration_since(self.last.unwrap_or(begun)) < EVERY;
            return if is_early {
                None
            } else {
                self.last = Some(now);
                Some(format!("ssh-cli: {} {name}\n", facts.trim_end()).into())
            };
        };
        let columns = rustix::termios::tcgetwinsize(terminal).map_or(0, |size| usize::from(size.ws_col));
        let room = if columns == 0 { COLUMNS } else { columns } - 1;
        let meter = total.map(|total| meter(bytes, total)).unwrap_or_default();
        // The name has what is left; the meter is what a narrow terminal can do without.
        let head = if facts.len() + meter.len() + 8 < room { format!("{meter}{facts}") } else { facts };
        let text = format!("{}{}", fitting_start(&head, room), fitting_end(&name, room.saturating_sub(head.len())));
        let mut out = self.erase().unwrap_or_default();
        out.push_str(&text);
        self.drawn = room;
        Some(out.into())
    }

    /// What is to be written before anything else is.
    pub(super) fn clear(&mut self) -> Option<Bytes> {
        self.erase().map(Into::into)
    }

    /// A further attempt begins anew.
    pub(super) fn restart(&mut self) {
        self.begun = None;
    }

    /// Over all of the line: how wide a character of a name is drawn is the terminal's affair.
    fn erase(&mut self) -> Option<String> {
        let drawn = std::mem::take(&mut self.drawn);
        (drawn > 0).then(|| format!("\r{}\r", " ".repeat(drawn)))
    }
}

fn per_second(bytes: u64, span: Duration) -> Option<u64> {
    let ms = span.as_millis();
    if ms < 200 { None } else { u64::try_from(u128::from(bytes) * 1000 / ms).ok() }
}

/// ` 45%  12.3 MiB of 27.0 MiB  3.1 MiB/s  0:04  `
fn facts(bytes: u64, total: Option<u64>, rate: Option<u64>) -> String {
    let mut text = String::new();
    if let Some(total) = total {
        let _ = write!(text, "{:>3}%  {} of {}", percent(bytes, total), size(bytes), size(total));
    } else {
        text.push_str(&size(bytes));
    }
    if let Some(rate) = rate {
        let _ = write!(text, "  {}/s", size(rate));
    }
    if let (Some(total), Some(rate @ 1..)) = (total, rate) {
        let left = total.saturating_sub(bytes).div_ceil(rate);
        let _ = write!(text, "  {}:{:02}", left / 60, left % 60);
    }
    text + "  "
}

fn percent(bytes: u64, total: u64) -> u64 {
    let share = u128::from(bytes.min(total)) * 100 / u128::from(total.max(1));
    if total == 0 { 100 } else { u64::try_from(share).unwrap_or(100) }
}

fn meter(bytes: u64, total: u64) -> String {
    let full = usize::try_from(percent(bytes, total)).unwrap_or(100) * CELLS / 100;
    format!("[{}{}] ", "#".repeat(full), "-".repeat(CELLS - full))
}

/// As a person would say it.
fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut scaled = u128::from(bytes) * 10;
    let mut unit = "B";
    for next in units {
        if scaled < 10_240 {
            break;
        }
        (scaled, unit) = (scaled / 1024, next);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{}.{} {unit}", scaled / 10, scaled % 10) }
}

fn fitting_start(text: &str, room: usize) -> String {
    text.chars().take(room).collect()
}

/// The end of a path says more than its beginning. A character outside of ASCII may be two columns wide.
fn fitting_end(text: &str, room: usize) -> String {
    let width = |c: char| if c.is_ascii() { 1 } else { 2 };
    if text.chars().map(width).sum::<usize>() <= room {
        return text.to_owned();
    }
    let Some(mut left) = room.checked_sub(3) else { return String::new() };
    let mut kept: Vec<char> = Vec::new();
    for c in text.chars().rev() {
        match left.checked_sub(width(c)) {
            Some(rest) => left = rest,
            None => break,
        }
        kept.push(c);
    }
    format!("...{}", kept.iter().rev().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: Option<Bytes>) -> String {
        line.map(|line| String::from_utf8(line.to_vec()).unwrap()).unwrap_or_default()
    }

    #[test]
    fn without_a_terminal_it_is_a_line_each_second() {
        let mut bar = Bar::on(std::io::pipe().unwrap().1);
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        assert_eq!(said(bar.line(b"a", 0, Some(4 << 20), at(0))), "");
        assert_eq!(said(bar.line(b"a", 1 << 20, Some(4 << 20), at(900))), "");
        let line = said(bar.line(b"d/\x1b[2J\n\xff", 1 << 20, Some(4 << 20), at(1000)));
        assert_eq!(line, "ssh-cli:  25%  1.0 MiB of 4.0 MiB  1.0 MiB/s  0:03 d/\\u{1b}[2J \u{fffd}\n");
        assert_eq!(said(bar.line(b"a", 2 << 20, None, at(1500))), "");
        assert_eq!(said(bar.line(b"a", 2 << 20, None, at(2000))), "ssh-cli: 2.0 MiB  1.0 MiB/s a\n");
        assert!(bar.clear().is_none());
    }

    #[test]
    fn sizes_and_shares() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1 << 30, "1.0 GiB"), (u64::MAX, "15.9 EiB")]
        {
            assert_eq!(size(bytes), text);
        }
        assert_eq!((percent(0, 0), percent(1, 3), percent(5, 3), percent(u64::MAX, u64::MAX)), (100, 33, 100, 100));
        assert_eq!(meter(1, 2), "[##########----------] ");
    }

    #[test]
    fn a_name_is_cut_at_its_beginning() {
        assert_eq!(fitting_end("abc", 3), "abc");
        assert_eq!(fitting_end("abcdefgh", 6), "...fgh");
        assert_eq!(fitting_end("äöü", 5), "...ü");
        assert_eq!(fitting_end("äöü", 2), "");
        assert_eq!(fitting_end("", 0), "");
    }
}
