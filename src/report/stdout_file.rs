//! `--stdout-file`: the exact bytes, in place only once the command's end was seen.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::errors::Fault;

/// The file while it is written.
#[derive(Debug)]
pub(super) struct StdoutFile {
    /// As typed.
    path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    /// A new file beside `target`, to be renamed over it. Dropped, it is gone.
    Beside { new: NamedTempFile, target: PathBuf },
    /// A device or a pipe: there is nothing to replace.
    Through(File),
}

impl StdoutFile {
    /// Opens the place before anything runs: a typing error must not cost a run. A replaced file keeps its mode, a new one is
    /// 0600, and a symbolic link is followed.
    pub(super) fn create(path: &Path) -> Result<Self, Fault> {
        Self::open(path).map_err(|error| {
            let path = path.display().to_string();
            match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fault::ParentMissing { path },
                io::ErrorKind::IsADirectory => Fault::IsDirectory { path },
                io::ErrorKind::ReadOnlyFilesystem => Fault::ReadOnly { path },
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Fault::NoSpace { path },
                _ => Fault::LocalPermission { path, problem: error.to_string() },
            }
        })
    }

    fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if let (Ok(theirs), Ok(ours)) = (rustix::fs::stat(path), rustix::fs::fstat(rustix::stdio::stdout()))
            && (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)
            && path != Path::new("/dev/null")
        {
            return Err(io::Error::other(
                "it is standard output, where the envelope goes; `--raw` gives the bytes there",
            ));
        }
        let old = match fs::metadata(path) {
            Ok(old) if old.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(old) if !old.is_file() => {
                // A named pipe that nobody reads is an error, not a wait.
                let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
                let through = File::options().write(true).custom_flags(flags).open(path)?;
                return Ok(Self { path: path.to_owned(), bytes: Bytes::Through(through) });
            }
            Ok(old) => Some(old),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let target = match (&old, fs::read_link(path)) {
            (Some(_), _) => fs::canonicalize(path)?,
            // A link to what is not there yet stays one.
            (None, Ok(link)) => path.parent().unwrap_or(Path::new("")).join(link),
            (None, Err(_)) => path.to_owned(),
        };
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let new = tempfile::Builder::new().prefix(".ssh-cli-").suffix(".part").tempfile_in(parent).map_err(
            // tempfile's own message repeats the path of the temporary file.
            |error| io::Error::from(error.kind()),
        )?;
        if let Some(old) = old {
            // A file that may not be written is not replaced either, as with a shell's `>`.
            File::options().append(true).open(&target)?;
            new.as_file().set_permissions(old.permissions())?;
        }
        Ok(Self { path: path.to_owned(), bytes: Bytes::Beside { new, target } })
    }

    /// The next bytes.
    pub(super) fn write(&mut self, data: &[u8]) -> io::Result<()> {
        match &mut self.bytes {
            Bytes::Beside { new, .. } => new.as_file_mut().write_all(data),
            Bytes::Through(file) => super::live::write_whole(file, data),
        }
    }

    /// Begins anew.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        match &mut self.bytes {
            Bytes::Beside { new, .. } => {
                new.as_file().set_len(0)?;
                new.as_file_mut().rewind()
            }
            Bytes::Through(_) => Ok(()),
        }
    }

    /// The bytes go where they cannot be taken back from.
    pub(super) fn is_final(&self) -> bool {
        matches!(self.bytes, Bytes::Through(_))
    }

    /// The end. Where that of the command was not seen, the path is as it was before, and what came is kept beside it: nobody
    /// may take a part for the whole, and nobody wants to lose it.
    pub(super) fn finish(self, ended: bool, bytes: u64) -> io::Result<Placed> {
        match self.bytes {
            Bytes::Beside { new, target } if ended => new.persist(target).map_err(|error| error.error).map(drop)?,
            Bytes::Beside { new, .. } if bytes > 0 => {
                return new.keep().map(|(_, path)| Placed::Partly(path)).map_err(|error| error.error);
            }
            Bytes::Through(_) if ended => {}
            _ => return Ok(Placed::Nowhere),
        }
        Ok(Placed::There(self.path))
    }
}

/// Where the bytes are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// At the path that was asked for.
    There(PathBuf),
    /// As far as they came, in a file beside it.
    Partly(PathBuf),
    Nowhere,
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn write(path: &Path, ended: bool) -> Option<PathBuf> {
        let mut file = StdoutFile::create(path).unwrap();
        file.write(b"ne").unwrap();
        file.write(b"w\0\xff").unwrap();
        match file.finish(ended, 5).unwrap() {
            Placed::There(path) => Some(path),
            Placed::Partly(part) => {
                assert_eq!(fs::read(&part).unwrap(), b"new\0\xff");
                fs::remove_file(part).unwrap();
                None
            }
            Placed::Nowhere => panic!("lost"),
        }
    }

    #[test]
    fn a_new_file_is_private_and_exact() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        assert_eq!(write(&path, true).as_deref(), Some(&*path));
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"new\0\xff".to_vec(), 0o600));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_old_file_stays_until_the_end_was_seen_and_lends_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("out"), dir.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("out", &link).unwrap();
        assert_eq!(write(&link, false), None);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(write(&link, true).as_deref(), Some(&*link));
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"new\0\xff".to_vec(), 0o640));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_place_that_cannot_be_is_told_at_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let fault = |path: &str| StdoutFile::create(&dir.path().join(path)).unwrap_err();
        assert!(matches!(fault("no/such"), Fault::ParentMissing { .. }));
        assert!(matches!(fault("file/x"), Fault::ParentMissing { .. }));
        assert!(matches!(fault(""), Fault::IsDirectory { .. }));
    }

    #[test]
    fn a_device_is_written_through() {
        assert_eq!(write(Path::new("/dev/null"), true).as_deref(), Some(Path::new("/dev/null")));
    }
}
