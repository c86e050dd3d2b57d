//! Where a copy goes. Pure: the same rule for both directions.
//!
//! A target that names no entry of its own (empty, `.`, `..`, or with a `/` at its end) means *into it*. Otherwise the target is
//! the final name of a directory source, merged with what is there, so that repeating a copy gives the same tree. A file goes
//! into a directory that exists, or becomes the target.

use crate::errors::Fault;

/// What stands at the target now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Missing,
    /// A directory, or a link to one.
    Directory,
    /// Anything else.
    Other,
}

/// Where one source goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It becomes the target.
    Itself,
    /// It goes into the target under its own name.
    Into,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// The target has to be a directory, and is something else.
    NotADirectory,
    /// The target has to be a directory, and is not there.
    Missing,
    /// The source has no name of its own, and is a file: it needs one.
    Nameless,
}

impl NoPlace {
    /// As a fault. `target`: as it is shown; `inside`: the same of what would have gone into it.
    pub fn fault(self, target: String, inside: String) -> Fault {
        match self {
            Self::NotADirectory => Fault::NotADirectory { path: target },
            Self::Missing => Fault::ParentMissing { path: inside },
            Self::Nameless => Fault::IsDirectory { path: target },
        }
    }
}

/// What is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// A directory, else a file.
    pub is_directory: bool,
    /// It has a name of its own; `.`, `/` and standard input have none.
    pub has_name: bool,
    /// It is one of several.
    pub among_several: bool,
}

/// Whether this target, as typed, names no entry of its own.
pub fn means_into(target: &[u8]) -> bool {
    let last = target.rsplit(|b| *b == b'/').next().unwrap_or_default();
    matches!(last, b"" | b"." | b"..") || target == b"~"
}

/// The path without the slashes at its end, where there are some: what is no directory is not there with them.
pub fn bare(path: &[u8]) -> Option<&[u8]> {
    let end = path.iter().rposition(|b| *b != b'/')? + 1;
    (end < path.len()).then(|| &path[..end])
}

/// The last component of a path as a name for a copy of it; none for `.`, `..`, `/` and the empty path.
pub fn name_of(path: &[u8]) -> Option<&[u8]> {
    let end = path.iter().rposition(|b| *b != b'/').map_or(0, |at| at + 1);
    let last = path[..end].rsplit(|b| *b == b'/').next().unwrap_or_default();
    (!matches!(last, b"" | b"." | b"..")).then_some(last)
}

/// The directory that a path lies in, `.` where it says none.
pub fn parent_of(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|b| *b != b'/').map_or(0, |at| at + 1);
    match path[..end].iter().rposition(|b| *b == b'/') {
        None if end == 0 && !path.is_empty() => b"/",
        None => b".",
        Some(0) => b"/",
        Some(at) => &path[..at],
    }
}

/// A path below another; an empty one adds nothing.
pub fn join(above: &[u8], below: &[u8]) -> Vec<u8> {
    let mut path = above.to_vec();
    if below.is_empty() {
        return path;
    }
    if !path.is_empty() && !path.ends_with(b"/") {
        path.push(b'/');
    }
    path.extend_from_slice(below);
    path
}

/// Where this source goes. `may_make`: `--parents`, a target that has to be a directory may be made.
pub fn place(target: &[u8], standing: Standing, subject: Subject, may_make: bool) -> Result<Place, NoPlace> {
    let into = means_into(target) || subject.among_several;
    match standing {
        Standing::Other if into || subject.is_directory => return Err(NoPlace::NotADirectory),
        Standing::Missing if into && !may_make => return Err(NoPlace::Missing),
        _ => {}
    }
    let goes_into = into || (standing == Standing::Directory && !subject.is_directory);
    match (goes_into, subject.has_name) {
        (false, _) => Ok(Place::Itself),
        (true, true) => Ok(Place::Into),
        // The content of `.` goes into the target, which is what the target means anyway.
        (true, false) if subject.is_directory => Ok(Place::Itself),
        (true, false) => Err(NoPlace::Nameless),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Subject = Subject { is_directory: false, has_name: true, among_several: false };
    const DIRECTORY: Subject = Subject { is_directory: true, has_name: true, among_several: false };

    #[test]
    fn a_file_goes_into_a_directory_that_exists() {
        assert_eq!(place(b"t", Standing::Directory, FILE, false), Ok(Place::Into));
        assert_eq!(place(b"t", Standing::Missing, FILE, false), Ok(Place::Itself));
        assert_eq!(place(b"t", Standing::Other, FILE, false), Ok(Place::Itself));
        assert_eq!(place(b"t/", Standing::Other, FILE, false), Err(NoPlace::NotADirectory));
        assert_eq!(place(b"t/", Standing::Missing, FILE, false), Err(NoPlace::Missing));
        assert_eq!(place(b"t/", Standing::Missing, FILE, true), Ok(Place::Into));
        assert_eq!(place(b"", Standing::Directory, FILE, false), Ok(Place::Into));
    }

    #[test]
    fn copying_a_directory_twice_gives_the_same_tree() {
        for standing in [Standing::Missing, Standing::Directory] {
            assert_eq!(place(b"t", standing, DIRECTORY, false), Ok(Place::Itself));
        }
        assert_eq!(place(b"t/", Standing::Directory, DIRECTORY, false), Ok(Place::Into));
        assert_eq!(place(b".", Standing::Directory, DIRECTORY, false), Ok(Place::Into));
        assert_eq!(place(b"t", Standing::Other, DIRECTORY, false), Err(NoPlace::NotADirectory));
    }

    #[test]
    fn several_need_a_directory() {
        let several = Subject { among_several: true, ..FILE };
        assert_eq!(place(b"t", Standing::Directory, several, false), Ok(Place::Into));
        assert_eq!(place(b"t", Standing::Missing, several, false), Err(NoPlace::Missing));
        assert_eq!(place(b"t", Standing::Other, several, false), Err(NoPlace::NotADirectory));
        assert_eq!(
            place(b"t", Standing::Directory, Subject { among_several: true, ..DIRECTORY }, false),
            Ok(Place::Into)
        );
    }

    #[test]
    fn what_has_no_name() {
        let dot = Subject { has_name: false, ..DIRECTORY };
        assert_eq!(place(b"t/", Standing::Directory, dot, false), Ok(Place::Itself));
        let stdin = Subject { has_name: false, ..FILE };
        assert_eq!(place(b"t", Standing::Directory, stdin, false), Err(NoPlace::Nameless));
        assert_eq!(place(b"t", Standing::Missing, stdin, false), Ok(Place::Itself));
    }

    #[test]
    fn names() {
        for (path, name) in [(&b"a/b"[..], &b"b"[..]), (b"a/b///", b"b"), (b"b", b"b"), (b"/b\xff", b"b\xff")] {
            assert_eq!(name_of(path), Some(name));
        }
        for path in [&b""[..], b"/", b".", b"..", b"a/..", b"a/./", b"///"] {
            assert_eq!(name_of(path), None, "{}", String::from_utf8_lossy(path));
        }
        assert_eq!((bare(b"a//"), bare(b"a"), bare(b"/")), (Some(&b"a"[..]), None, None));
        assert!(means_into(b"") && means_into(b"a/") && means_into(b"a/..") && means_into(b"~") && !means_into(b"a"));
    }
}
