//! The text of configuration files: read once, within bounds, and only where nobody else could have written it.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The most that is read of one file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// What became of a file.
#[derive(Clone)]
pub(super) enum Load {
    Text(Rc<[u8]>),
    Missing(String),
    Unreadable(String),
    /// It can be read, and must not be used.
    Refused(String),
}

/// What was read before. A pipe (`-F /dev/stdin`) could not be read twice.
#[derive(Default)]
pub(super) struct Sources {
    read: Vec<(PathBuf, Load)>,
}

impl Sources {
    /// Reads a file. `owner`: it has to belong to this user or to root, and be writable for nobody else.
    pub(super) fn load(&mut self, path: &Path, owner: Option<u32>) -> Load {
        if let Some((_, load)) = self.read.iter().find(|(known, _)| known == path) {
            return load.clone();
        }
        let load = match File::open(path).and_then(|file| Ok((file.metadata()?, file))) {
            Ok((metadata, file)) => match owner.and_then(|owner| problem(path, &metadata, owner)) {
                Some(problem) => Load::Refused(problem),
                None => text(file, &metadata),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Load::Missing(error.to_string()),
            Err(error) => Load::Unreadable(error.to_string()),
        };
        self.read.push((path.to_owned(), load.clone()));
        load
    }
}

/// One name for a file, whatever links lead to it.
pub(super) fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn text(file: File, metadata: &Metadata) -> Load {
    // `Include conf.d/*` may meet one; OpenSSH finds nothing in it.
    if metadata.is_dir() {
        return Load::Text(Rc::from([]));
    }
    let mut text = Vec::new();
    match file.take(MAX_BYTES + 1).read_to_end(&mut text) {
        Ok(_) if text.len() as u64 > MAX_BYTES => Load::Refused(format!("it is over {} KiB", MAX_BYTES / 1024)),
        Ok(_) => Load::Text(text.into()),
        Err(error) => Load::Unreadable(error.to_string()),
    }
}

/// Whoever can write it can make us run commands (readconf.c "Bad owner or permissions").
fn problem(path: &Path, metadata: &Metadata, owner: u32) -> Option<String> {
    if metadata.uid() != 0 && metadata.uid() != owner {
        return Some(format!("it belongs to another user (uid {})", metadata.uid()));
    }
    let mode = metadata.mode() & 0o7777;
    (mode & 0o022 != 0)
        .then(|| format!("its mode {mode:04o} lets other users write it; `chmod go-w {}`", path.display()))
}
