//! The file names that an `Include` pattern stands for (`glob(7)`): `*`, `?` and `[…]` in any part of the path, in
//! alphabetical order, hidden files only where the pattern says the dot. Written here because it is all that is needed.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::pattern::fits_by;

/// The most files that one pattern may name.
const MAX_FILES: usize = 1_000;

/// The files; those of a pattern without wildcards only if it exists. A directory that cannot be read has none.
pub(super) fn files(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let name = part.as_os_str().to_string_lossy();
        if name.contains(['*', '?', '[']) {
            found = found.iter().flat_map(|directory| entries(directory, &name)).take(MAX_FILES).collect();
        } else {
            for path in &mut found {
                path.push(part);
            }
        }
    }
    found.retain(|path| path.exists());
    found
}

fn entries(directory: &Path, pattern: &str) -> Vec<PathBuf> {
    let pattern: Vec<char> = pattern.chars().collect();
    let here = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let Ok(read) = here.read_dir() else { return Vec::new() };
    let mut names: Vec<String> = read
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.') || pattern.first() == Some(&'.'))
        .filter(|name| fits_by(one_fits, &name.chars().collect::<Vec<_>>(), &pattern))
        .collect();
    names.sort_unstable();
    names.iter().map(|name| directory.join(name)).collect()
}

/// How much of the pattern stands for this one character.
fn one_fits(c: char, pattern: &[char]) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match class(&pattern[1..]) {
            Some(class) => {
                let inside = class.members.iter().any(|members| members.contains(&c));
                (inside != class.negated).then_some(1 + class.width)
            }
            // Never closed: an ordinary character.
            None => (c == '[').then_some(1),
        },
        '\\' if pattern.len() > 1 => (pattern[1] == c).then_some(2),
        other => (*other == c).then_some(1),
    }
}

/// One `[…]`.
struct Class {
    negated: bool,
    members: Vec<RangeInclusive<char>>,
    /// Its length without the first bracket, and with the last.
    width: usize,
}

/// What follows a `[`, if it is closed.
fn class(text: &[char]) -> Option<Class> {
    let negated = matches!(text.first(), Some('!' | '^'));
    let mut at = usize::from(negated);
    let mut members = Vec::new();
    loop {
        let low = *text.get(at)?;
        if low == ']' && !members.is_empty() {
            return Some(Class { negated, members, width: at + 1 });
        }
        match (text.get(at + 1), text.get(at + 2)) {
            (Some('-'), Some(high)) if *high != ']' => {
                members.push(low..=*high);
                at += 3;
            }
            _ => {
                members.push(low..=low);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(name: &str, pattern: &str) -> bool {
        fits_by(one_fits, &name.chars().collect::<Vec<_>>(), &pattern.chars().collect::<Vec<_>>())
    }

    #[test]
    fn wildcards() {
        for (name, pattern) in [
            ("a.conf", "*.conf"),
            ("a1", "a?"),
            ("a1", "a[0-9]"),
            ("ab", "a[!0-9]"),
            ("a]", "a[]]"),
            ("a-", "a[x-]"),
            ("a[", "a["),
            ("a*", r"a\*"),
        ] {
            assert!(matches(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [("a.conf~", "*.conf"), ("ab", "a[0-9]"), ("a1", "a[^0-9]"), ("ab", r"a\*"), ("a", "a[")]
        {
            assert!(!matches(name, pattern), "{name} {pattern}");
        }
    }

    #[test]
    fn files_in_order_and_in_any_part_of_the_path() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b/x.conf", "a/x.conf", "a/y.conf", "a/.hidden.conf", "c/other"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let found = |pattern: &str| {
            let files = files(&dir.path().join(pattern));
            let names = files.iter().map(|file| file.strip_prefix(dir.path()).unwrap().display().to_string());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("a/*.conf"), "a/x.conf a/y.conf");
        assert_eq!(found("*/x.conf"), "a/x.conf b/x.conf");
        assert_eq!(found("a/.*.conf"), "a/.hidden.conf");
        assert_eq!(found("c/other"), "c/other");
        assert_eq!(found("c/missing"), "");
        assert_eq!(found("none/*"), "");
    }
}
