//! A source as the shell on the host is to read it.

use super::quoted;
use crate::errors::Fault;

/// A path in the home directory, spelled as such for a shell.
pub fn home(path: &[u8]) -> &[u8] {
    path.strip_prefix(b"~/").unwrap_or(path)
}

/// A source for the shell there, which expands it: all but its wildcards, and a `~` that begins it, is quoted.
pub fn pattern(path: &[u8]) -> Result<Vec<u8>, Fault> {
    if path.is_empty() {
        return Ok(b".".to_vec());
    }
    let mut out = Vec::new();
    let mut plain = Vec::new();
    let mut bytes = path.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'~' if at == 0 => out.push(b'~'),
            // Up to the first slash it names an account.
            b'/' if out == b"~" && plain.is_empty() => out.push(b'/'),
            b'\\' => plain.push(bytes.next().map_or(b'\\', |(_, next)| *next)),
            b'*' | b'?' | b'[' | b']' => {
                if !plain.is_empty() {
                    out.extend(quoted(&std::mem::take(&mut plain))?);
                }
                out.push(*byte);
            }
            _ => plain.push(*byte),
        }
    }
    if !plain.is_empty() {
        out.extend(quoted(&plain)?);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_expands_wildcards_and_nothing_else() {
        let told = |path: &[u8]| String::from_utf8(pattern(path).unwrap()).unwrap();
        assert_eq!(told(b""), ".");
        assert_eq!(told(b"/etc/*.conf"), "/etc/*.conf");
        assert_eq!(told(b"a b/$(x)*"), "'a b/$(x)'*");
        assert_eq!(told(b"~/x y"), "~/'x y'");
        assert_eq!(told(br"a\*b"), "'a*b'");
        assert!(pattern(b"a\0b").is_err());
    }
}
