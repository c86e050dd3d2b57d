//! The file names that an `Include` pattern stands for (`glob(7)`): `*`, `?` and `[…]` in any part of the path, in
//! alphabetical order, hidden files only where the pattern says the dot. Written here because it is all that is needed.

use std::path::{Path, PathBuf};

use crate::wildcard;

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
        .filter(|name| wildcard::fits(&name.chars().collect::<Vec<_>>(), &pattern))
        .collect();
    names.sort_unstable();
    names.iter().map(|name| directory.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
