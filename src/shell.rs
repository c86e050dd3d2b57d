//! From an argv to text that a POSIX shell reads back as exactly that argv.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use shlex::QuoteError;

/// Several words as one command line, each quoted (POSIX.1-2017, Shell Command Language, section 2.2). Bytes outside UTF-8
/// pass unchanged. An argument vector cannot hold a NUL, and one made by hand that does is the error.
pub fn join<S: AsRef<OsStr>>(words: &[S]) -> Result<Vec<u8>, QuoteError> {
    shlex::bytes::Quoter::new().join(words.iter().map(|word| word.as_ref().as_bytes()))
}

/// One word, as [`join`] quotes it.
pub fn quote(word: &OsStr) -> Result<Vec<u8>, QuoteError> {
    join(&[word])
}

/// The words that a shell would have read as operators, had they not been quoted: worth a warning.
pub fn operators(words: &[OsString]) -> Vec<String> {
    const OPERATORS: [&str; 7] = ["|", "||", "&&", ";", ">", ">>", "<"];
    words.iter().filter_map(|w| w.to_str()).filter(|w| OPERATORS.contains(w)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn plain_words_stay_readable() {
        assert_eq!(join(&["ls", "-la", "/var/log"]).unwrap(), b"ls -la /var/log");
    }

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        let words =
            ["a b", "", "it's", "$HOME `id` \"x\" \\ !y", "tab\there", "new\nline", "ünï", "*?[a]~{b}", "-n", "a=b"];
        let mut script = b"printf '%s\\0' ".to_vec();
        script.extend_from_slice(&join(&words).unwrap());
        let out = Command::new("sh").arg("-c").arg(OsStr::from_bytes(&script)).output().unwrap();
        let got: Vec<&[u8]> = out.stdout.strip_suffix(b"\0").unwrap().split(|b| *b == 0).collect();
        assert_eq!(got, words.map(str::as_bytes));
    }

    #[test]
    fn bytes_outside_utf8_pass_unchanged() {
        let word = OsStr::from_bytes(b"\xff'\xfe");
        let back = shlex::bytes::split(&quote(word).unwrap()).unwrap();
        assert_eq!(back, [b"\xff'\xfe"]);
    }

    #[test]
    fn only_whole_words_are_operators() {
        let words = ["a|b", "|", "&&", ">file", ";"].map(OsString::from);
        assert_eq!(operators(&words), ["|", "&&", ";"]);
    }
}
