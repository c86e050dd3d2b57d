//! Patterns of `ssh_config(5)`, PATTERNS: `*`, `?`, and lists of them with `!`.

use crate::wildcard::fits_by;

/// Whether the whole text fits: `*` is anything, `?` any one character (match.c `match_pattern`).
pub(in crate::target) fn fits(text: &str, pattern: &str) -> bool {
    let one = |c, pattern: &[char]| pattern.first().filter(|want| **want == '?' || **want == c).map(|_| 1);
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    fits_by(one, &text, &pattern)
}

/// A comma-separated list: one has to fit, and none of those with `!` may (match.c `match_pattern_list`).
pub(in crate::target) fn list_fits(text: &str, list: &str) -> bool {
    let mut positive = false;
    for pattern in list.split(',') {
        match pattern.strip_prefix('!') {
            Some(pattern) if fits(text, pattern) => return false,
            Some(_) => {}
            None => positive |= fits(text, pattern),
        }
    }
    positive
}

/// The same for host names: case does not matter (match.c `match_hostname`).
pub(super) fn host_fits(host: &str, list: &str) -> bool {
    list_fits(&host.to_ascii_lowercase(), &list.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (text, pattern) in
            [("", ""), ("", "*"), ("web1", "web?"), ("web1", "*"), ("web1", "w*1"), ("a.b.c", "*.c"), ("aab", "*a*b**")]
        {
            assert!(fits(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [("", "?"), ("web", "web?"), ("web1", "WEB1"), ("web1", ""), ("a.b.c", "*.b"), ("a", "")]
        {
            assert!(!fits(text, pattern), "{text} {pattern}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_takes_no_time() {
        assert!(!fits(&"a".repeat(2_000), &format!("{}b", "*a".repeat(300))));
    }

    #[test]
    fn lists() {
        assert!(list_fits("a", "b,a") && !list_fits("a", "!a,*") && !list_fits("a", "*,!a"));
        assert!(!list_fits("a", "!b"), "negation alone fits nothing");
        assert!(host_fits("WEB1", "web*") && host_fits("web1", "WEB1"));
    }
}
