//! The values of `ssh_config(5)`: how each kind is written. A problem is told in words, without the keyword: that is
//! for whoever knows where it stands.

use std::time::Duration;

use super::AddressFamily;
use crate::model::request::HostKeyPolicy;

/// The only word, and not an empty one.
pub(super) fn one(arguments: &[String]) -> Result<&str, String> {
    match arguments {
        [] => Err("it has no value".to_owned()),
        [one] if !one.is_empty() => Ok(one),
        [_] => Err("its value is empty".to_owned()),
        _ => Err("it takes one value; quote one that holds spaces".to_owned()),
    }
}

/// File names, or `none` alone, which is no file.
pub(super) fn files(arguments: &[String]) -> Result<Vec<String>, String> {
    /// readconf.h `SSH_MAX_HOSTS_FILES`.
    const MAX: usize = 32;
    let none = arguments.iter().any(|word| word.eq_ignore_ascii_case("none"));
    match arguments {
        [_] if none => Ok(Vec::new()),
        _ if none => Err("`none` stands alone".to_owned()),
        _ if arguments.iter().any(String::is_empty) => Err("a file name is empty".to_owned()),
        _ if arguments.len() > MAX => Err(format!("it takes no more than {MAX} files")),
        _ => Ok(arguments.to_vec()),
    }
}

pub(super) fn yes_no(word: &str) -> Result<bool, String> {
    match word.to_ascii_lowercase().as_str() {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err(format!("`{word}` is neither `yes` nor `no`")),
    }
}

/// `Compression` knows these two spellings only.
pub(super) fn compression(word: &str) -> Result<bool, String> {
    match word.to_ascii_lowercase().as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("`{word}` is neither `yes` nor `no`")),
    }
}

/// `unbound` and `host-bound` choose a protocol extension (OpenSSH PROTOCOL, publickey-hostbound-v00), not whether keys
/// are used.
pub(super) fn pubkey(word: &str) -> Result<bool, String> {
    match word.to_ascii_lowercase().as_str() {
        "unbound" | "host-bound" => Ok(true),
        _ => yes_no(word),
    }
}

/// `ask` is strict here: nobody is asked.
pub(super) fn policy(word: &str) -> Result<HostKeyPolicy, String> {
    match word.to_ascii_lowercase().as_str() {
        "yes" | "true" | "ask" => Ok(HostKeyPolicy::Strict),
        "accept-new" => Ok(HostKeyPolicy::AcceptNew),
        "no" | "off" | "false" => Ok(HostKeyPolicy::Insecure),
        _ => Err(format!("`{word}` is none of `yes`, `accept-new`, `no`, `off` and `ask`")),
    }
}

pub(super) fn address_family(word: &str) -> Result<AddressFamily, String> {
    match word.to_ascii_lowercase().as_str() {
        "any" => Ok(AddressFamily::Any),
        "inet" => Ok(AddressFamily::Inet),
        "inet6" => Ok(AddressFamily::Inet6),
        _ => Err(format!("`{word}` is none of `any`, `inet` and `inet6`")),
    }
}

/// OpenSSH keeps it in an int.
pub(super) fn count(word: &str) -> Result<u32, String> {
    let number = word.parse::<u32>().ok().filter(|number| i32::try_from(*number).is_ok());
    number.ok_or_else(|| format!("`{word}` is not a count"))
}

/// A time of `sshd_config(5)` TIME FORMATS: seconds, or `1h30m`; `none` is zero.
pub(super) fn seconds(word: &str) -> Result<Duration, String> {
    let bad = || format!("`{word}` is not a time such as `15` or `1m30s`");
    if word == "none" {
        return Ok(Duration::ZERO);
    }
    let mut total = 0_u64;
    let mut rest = word;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let count: u64 = rest[..digits].parse().map_err(|_| bad())?;
        let mut unit = rest[digits..].chars();
        let scale = match unit.next().map(|c| c.to_ascii_lowercase()) {
            None | Some('s') => 1,
            Some('m') => 60,
            Some('h') => 60 * 60,
            Some('d') => 24 * 60 * 60,
            Some('w') => 7 * 24 * 60 * 60,
            Some(_) => return Err(bad()),
        };
        total = count.checked_mul(scale).and_then(|part| total.checked_add(part)).ok_or_else(bad)?;
        rest = unit.as_str();
    }
    // OpenSSH keeps times in an int.
    if word.is_empty() || total > 0x7fff_ffff { Err(bad()) } else { Ok(Duration::from_secs(total)) }
}

/// `RekeyLimit`: bytes as `1G`, or `default`, which is zero; then perhaps a time, or `none`, which is no time.
pub(super) fn rekey(arguments: &[String]) -> Result<(u64, Option<Duration>), String> {
    let (bytes, time) = match arguments {
        [bytes] => (bytes, None),
        [bytes, time] => (bytes, Some(time)),
        _ => return Err("it takes an amount of data and perhaps a time".to_owned()),
    };
    let bytes = if bytes == "default" { 0 } else { scaled(bytes)? };
    if (1..16).contains(&bytes) {
        return Err(format!("`{bytes}` is too small an amount"));
    }
    let time = time.filter(|time| *time != "none").map(|time| seconds(time)).transpose()?;
    Ok((bytes, time))
}

/// `512`, `1G`, `1.5M`: powers of 1024 (`scan_scaled(3)`).
fn scaled(word: &str) -> Result<u64, String> {
    let bad = || format!("`{word}` is not an amount of data such as `1G`");
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale: u64 = match word[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        "p" => 1 << 50,
        "e" => 1 << 60,
        _ => return Err(bad()),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let decimal = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !decimal(whole) || !decimal(part) || part.len() > 15 {
        return Err(bad());
    }
    let whole = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(scale)).ok_or_else(bad)?;
    let places = u32::try_from(part.len()).unwrap_or_default();
    let part = u128::from(part.parse::<u64>().map_err(|_| bad())?) * u128::from(scale) / 10_u128.pow(places);
    let total = u64::try_from(part).ok().and_then(|part| whole.checked_add(part)).ok_or_else(bad)?;
    // OpenSSH keeps it in a signed number.
    if i64::try_from(total).is_ok() { Ok(total) } else { Err(bad()) }
}

/// A comma-separated list of algorithm names, with OpenSSH's `+`, `-` or `^` before it. Which names there are is for
/// whoever uses them.
pub(super) fn algorithms(word: &str) -> Result<String, String> {
    let names = word.strip_prefix(['+', '-', '^']).unwrap_or(word);
    let name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic());
    if names.split(',').all(name) { Ok(word.to_owned()) } else { Err(format!("`{word}` is not a list of algorithms")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_times_of_a_rekey_limit() {
        let rekey = |text: &str| rekey(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(rekey("1G"), Ok((1 << 30, None)));
        assert_eq!(rekey("1.5k 1h"), Ok((1536, Some(Duration::from_hours(1)))));
        assert_eq!(rekey("default none"), Ok((0, None)));
        assert_eq!(rekey("16"), Ok((16, None)));
        for bad in ["15", "1x", "-1", "1..5", "", "9999999999G", "1G x", "1G 1h 2h", "none"] {
            assert!(rekey(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lists_of_algorithms() {
        for good in ["a", "+a,b", "-*", "^a@b.c"] {
            assert_eq!(algorithms(good).as_deref(), Ok(good));
        }
        for bad in ["", "+", "a,,b", "a,"] {
            assert!(algorithms(bad).is_err(), "{bad}");
        }
    }
}
