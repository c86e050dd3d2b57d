//! Paths as a shell on the host reads them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::shell;

/// One word that stands for exactly this path, and is no option.
pub fn literal(path: &[u8]) -> Vec<u8> {
    quoted(&plain(path))
}

/// A path that does not begin like an option.
fn plain(path: &[u8]) -> Vec<u8> {
    match path {
        [] => b".".to_vec(),
        [b'-', ..] => [b"./", path].concat(),
        path => path.to_vec(),
    }
}

/// Any text as one word. A NUL is in no path: the command line has none.
pub fn quoted(text: &[u8]) -> Vec<u8> {
    shell::quote(OsStr::from_bytes(text)).unwrap_or_default()
}

/// A script for the POSIX shell, whatever shell the account has.
pub fn in_sh(script: &[u8]) -> Vec<u8> {
    [b"exec sh -c ", &quoted(script)[..]].concat()
}

/// A source as it was typed: wildcards, and a `~` at its beginning, are the host's to resolve; nothing else means anything.
pub fn pattern(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len() + 8);
    let (home, rest) = path.split_at(home(path));
    out.extend_from_slice(home);
    let mut rest = if home.is_empty() { plain(rest) } else { rest.to_vec() };
    if !home.is_empty() && !rest.is_empty() {
        // In quotes it would end nobody's name.
        out.push(rest.remove(0));
    }
    let mut bytes = rest.iter().copied().peekable();
    let mut held = Vec::new();
    let flush = |held: &mut Vec<u8>, out: &mut Vec<u8>| {
        if !held.is_empty() {
            out.extend_from_slice(&quoted(held));
            held.clear();
        }
    };
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => held.push(bytes.next().unwrap_or(byte)),
            // What stands between brackets is safe as it is, save what is quoted.
            b'*' | b'?' | b'[' | b']' | b'!' | b'^' | b'-' => {
                flush(&mut held, &mut out);
                out.push(byte);
            }
            byte => held.push(byte),
        }
    }
    flush(&mut held, &mut out);
    out
}

/// Whether it has wildcards.
pub fn is_pattern(path: &[u8]) -> bool {
    let mut bytes = path.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'*' | b'?' | b'[' => return true,
            _ => {}
        }
    }
    false
}

/// The same without the backslashes that take the meaning from what follows them.
pub fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut bytes = path.iter();
    while let Some(byte) = bytes.next() {
        out.push(if *byte == b'\\' { *bytes.next().unwrap_or(byte) } else { *byte });
    }
    out
}

/// How much of the beginning is somebody's home: `~` or `~name`.
pub fn home(path: &[u8]) -> usize {
    if !path.starts_with(b"~") {
        return 0;
    }
    let end = path.iter().position(|b| *b == b'/').unwrap_or(path.len());
    let is_name = path[1..end].iter().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(b));
    if is_name { end } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn read_back(word: &[u8], dir: &std::path::Path) -> Vec<Vec<u8>> {
        let script = [b"printf '%s\\0' ", word].concat();
        let out = Command::new("sh").arg("-c").arg(OsStr::from_bytes(&script)).current_dir(dir).output().unwrap();
        out.stdout.split(|b| *b == 0).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn only_wildcards_mean_something() {
        let dir = tempfile::TempDir::new().unwrap();
        for name in ["a1", "a2", "b c", "$(touch evil)", "*", "-rf", "it's"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let all = |path: &str| read_back(&pattern(path.as_bytes()), dir.path());
        assert_eq!(all("a[0-9]"), [b"a1", b"a2"]);
        assert_eq!(all("a[!1]"), [b"a2"]);
        assert_eq!(all("b c"), [b"b c"]);
        assert_eq!(all("$(touch evil)"), [b"$(touch evil)"]);
        assert_eq!(all("$(touch *)"), [b"$(touch evil)"]);
        assert_eq!(all(r"\*"), [b"*"]);
        assert_eq!(all("-rf"), [b"./-rf"]);
        assert_eq!(all("it's"), [b"it's"]);
        assert_eq!(all("x;id"), [b"x;id"]);
        assert_eq!(all("x\nid"), [b"x\nid"]);
        assert_eq!(all("~;id"), [b"~;id"]);
        assert_eq!(all("~/x y"), [[std::env::var("HOME").unwrap().as_bytes(), b"/x y"].concat()]);
        assert!(!dir.path().join("evil").exists());
    }

    #[test]
    fn what_is_a_pattern() {
        assert!(is_pattern(b"a*") && is_pattern(b"[a") && !is_pattern(br"a\*") && !is_pattern(b"a b]"));
        assert_eq!((home(b"~"), home(b"~root/x"), home(b"~a b"), home(b"x~")), (1, 5, 0, 0));
        assert_eq!(literal(b""), b".");
    }
}
