//! The small grammars of option values: sizes, durations, secret sources and names. No error repeats a secret.

use std::ffi::OsStr;
use std::str::FromStr;
use std::time::Duration;

use crate::errors::Fault;
use crate::model::request::SecretSource;

/// The longest duration that is taken: ten years. Beyond it lies a typing error, and clocks that overflow.
const LONGEST: Duration = Duration::from_hours(10 * 366 * 24);

/// `90s`, `40m`, `1h30m`, `250ms`; a bare `0` is zero.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total_ms: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let letters = after.len() - after.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, after) = after.split_at(letters);
        if number.is_empty() {
            return Err("a duration is written as 90s, 40m, 1h30m or 250ms".to_owned());
        }
        let unit_ms: u64 = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60 * 1000,
            "h" => 60 * 60 * 1000,
            "d" => 24 * 60 * 60 * 1000,
            "" => return Err(format!("add a unit: {text}s, {text}m or {text}ms")),
            _ => return Err(format!("`{unit}` is no unit: use ms, s, m, h or d")),
        };
        let part = number.parse::<u64>().ok().and_then(|n| n.checked_mul(unit_ms));
        total_ms = part.and_then(|ms| total_ms.checked_add(ms)).ok_or_else(too_long)?;
        rest = after;
    }
    if text.is_empty() {
        return Err("a duration is written as 90s, 40m, 1h30m or 250ms".to_owned());
    }
    let total = Duration::from_millis(total_ms);
    if total > LONGEST { Err(too_long()) } else { Ok(total) }
}

fn too_long() -> String {
    "that is longer than ten years".to_owned()
}

/// A duration where zero would mean that nothing is ever tried.
pub(super) fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("it has to be more than zero; leave the option out for no limit of its own".to_owned()),
        some => Ok(some),
    }
}

/// Bytes: `8192`, `8k`, `12MiB`. As in the GNU tools `k` and `KiB` are 1024, `kB` is 1000.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err("a size is written as 8192, 8k or 12MiB".to_owned());
    }
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return Err(format!("`{unit}` is no unit: use k, m, g, KiB, MiB or GiB")),
    };
    number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(|| "that is too large".to_owned())
}

/// Permission bits in octal, without setuid, setgid and sticky: a copy never sets those.
pub(super) fn mode(text: &str) -> Result<u32, String> {
    let octal = !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    match u32::from_str_radix(text, 8) {
        Ok(mode) if octal && mode <= 0o777 => Ok(mode),
        _ => Err("permission bits are octal, from 0 to 0777, as in 644".to_owned()),
    }
}

/// A TCP port. The text is not repeated: `-psecret` is how other tools take a password.
pub(super) fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port != 0)
}

/// A name that a POSIX shell takes for a variable (POSIX.1-2024, XBD 3.216).
pub(super) fn is_shell_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The text is no SRC. It is not kept: it may be the secret itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret is never given as such; SRC is env:NAME, file:PATH, fd:N, stdin, cmd:COMMAND, askpass or prompt")]
pub struct NotASource;

impl FromStr for SecretSource {
    type Err = NotASource;

    fn from_str(text: &str) -> Result<Self, NotASource> {
        match text {
            "stdin" => return Ok(Self::Stdin),
            "askpass" => return Ok(Self::Askpass),
            "prompt" => return Ok(Self::Prompt),
            _ => {}
        }
        match text.split_once(':').ok_or(NotASource)? {
            (_, "") => Err(NotASource),
            ("env", name) if !name.contains('=') => Ok(Self::Env(name.to_owned())),
            ("file", path) => Ok(Self::File(path.into())),
            ("fd", number) if number.bytes().all(|b| b.is_ascii_digit()) => {
                number.parse().map(Self::Fd).map_err(|_| NotASource)
            }
            ("cmd", command) => Ok(Self::Command(command.to_owned())),
            _ => Err(NotASource),
        }
    }
}

/// `--as`: a name of a user, or sudo's `#UID`. It stands between quotes on the way there, so it may hold none, nor what any of the
/// login shells reads inside of them.
pub(super) fn as_user(name: &OsStr) -> Result<String, Fault> {
    let allowed = |c: char| c.is_alphanumeric() || "._-+@#$".contains(c);
    match name.to_str() {
        Some(name) if !name.is_empty() && !name.starts_with('-') && name.chars().all(allowed) => Ok(name.to_owned()),
        _ => Err(super::usage("--as takes the name of a user")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_units_and_add_up() {
        let ms = |text| duration(text).map(|d| d.as_millis());
        assert_eq!(ms("90s"), Ok(90_000));
        assert_eq!(ms("40m"), Ok(2_400_000));
        assert_eq!(ms("1h30m"), Ok(5_400_000));
        assert_eq!(ms("250ms"), Ok(250));
        assert_eq!(ms("1d"), Ok(86_400_000));
        assert_eq!(ms("0"), Ok(0));
        assert_eq!(ms("0s"), Ok(0));
    }

    #[test]
    fn a_bare_number_asks_for_a_unit() {
        assert_eq!(duration("90"), Err("add a unit: 90s, 90m or 90ms".to_owned()));
        assert!(duration("1h30").unwrap_err().contains("add a unit"));
    }

    #[test]
    fn durations_refuse_the_rest_without_overflow() {
        for text in
            ["", "s", "-5s", "1.5s", "1 s", "5 ", "5x", "99999999999999999999s", "18446744073709551615h", "4000d"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(positive_duration("0").is_err());
        assert!(positive_duration("0ms").is_err());
        assert!(positive_duration("1ms").is_ok());
    }

    #[test]
    fn sizes_take_units() {
        for (text, bytes) in
            [("0", 0), ("8192", 8192), ("8k", 8192), ("8K", 8192), ("8KiB", 8192), ("8kB", 8000), ("12MiB", 12 << 20)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "k", "-1", "1.5k", "8 k", "8x", "99999999999999999999", "18446744073709551615k"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn modes_are_octal_and_never_more_than_permissions() {
        for (text, bits) in [("644", 0o644), ("0755", 0o755), ("0", 0), ("00777", 0o777)] {
            assert_eq!(mode(text), Ok(bits), "{text}");
        }
        for text in ["", "8", "-1", "+644", "1000", "4755", "0o644", "u+x", "6 4", "77777777777777"] {
            assert!(mode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_source_form_is_read() {
        let read = |text: &str| text.parse::<SecretSource>();
        assert_eq!(read("env:PW"), Ok(SecretSource::Env("PW".into())));
        assert_eq!(read("file:/a:b"), Ok(SecretSource::File("/a:b".into())));
        assert_eq!(read("fd:3"), Ok(SecretSource::Fd(3)));
        assert_eq!(read("stdin"), Ok(SecretSource::Stdin));
        assert_eq!(read("cmd:pass show x"), Ok(SecretSource::Command("pass show x".into())));
        assert_eq!(read("askpass"), Ok(SecretSource::Askpass));
        assert_eq!(read("prompt"), Ok(SecretSource::Prompt));
    }

    #[test]
    fn a_source_error_lists_the_forms_and_keeps_the_value_to_itself() {
        for text in
            ["hunter2", "env:", "fd:x", "fd:+3", "fd:99999999999", "env:A=hunter2", "", ":", "STDIN", "hunter:2"]
        {
            let error = text.parse::<SecretSource>().unwrap_err().to_string();
            assert!(error.contains("env:NAME") && !error.contains("hunter"), "{text}");
        }
    }

    #[test]
    fn names_are_shell_names() {
        assert!(is_shell_name("_A1") && is_shell_name("a"));
        for bad in ["", "1A", "A-B", "A B", "Ä", "A=B"] {
            assert!(!is_shell_name(bad), "{bad}");
        }
    }
}
