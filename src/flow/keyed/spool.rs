//! The output of a completed operation, kept here so that telling it again takes no connection: two files of 0600 in the state
//! directory, whole on the disk before the completion is recorded.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::errors::Fault;
use crate::journal::StreamDigest;
use crate::model::operation::hex;
use crate::model::sink::{Sink, Stream};
use crate::operation::durable::cksum::Cksum;

/// How much of a kept stream is told at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// Where, below the state directory: beside the journal.
const DIRECTORY: &str = "operations";
/// How the name of output on its way begins.
const PART: &str = ".part-";

/// Both streams, as they come.
#[derive(Debug)]
pub(in crate::flow) struct Spool {
    directory: PathBuf,
    out: Half,
    err: Half,
}

#[derive(Debug)]
struct Half {
    file: NamedTempFile,
    sum: Cksum,
    sha256: Sha256,
    bytes: u64,
}

impl Spool {
    /// Begins; the directory is made where it is not there.
    pub(in crate::flow) fn begin(state_dir: &Path) -> Result<Self, Fault> {
        let directory = state_dir.join(DIRECTORY);
        let begin = || -> io::Result<Self> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
            Ok(Self { out: Half::begin(&directory)?, err: Half::begin(&directory)?, directory: directory.clone() })
        };
        begin().map_err(|error| unwritable(&directory, &error))
    }

    /// Takes the next bytes of a stream.
    pub(super) fn write(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), Fault> {
        let half = match stream {
            Stream::Stdout => &mut self.out,
            Stream::Stderr => &mut self.err,
        };
        half.write(bytes).map_err(|error| unwritable(&self.directory, &error))
    }

    /// The `cksum` of each stream so far.
    pub(super) fn sums(&self) -> (u32, u32) {
        (self.out.sum.value(), self.err.sum.value())
    }

    /// How much of each is here.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.out.bytes, self.err.bytes)
    }

    /// Puts both under their names, whole on the disk: standard output first. The same name may be taken by an equal one.
    pub(in crate::flow) fn keep(
        self,
        name: &str,
        truncated: (bool, bool),
    ) -> Result<(StreamDigest, StreamDigest), Fault> {
        let Self { directory, out, err } = self;
        let keep = || -> io::Result<_> {
            let out = out.keep(&directory, &format!("{name}.out"), truncated.0)?;
            let err = err.keep(&directory, &format!("{name}.err"), truncated.1)?;
            File::open(&directory)?.sync_all()?;
            Ok((out, err))
        };
        keep().map_err(|error| unwritable(&directory, &error))
    }
}

impl Half {
    fn begin(directory: &Path) -> io::Result<Self> {
        let file = tempfile::Builder::new().prefix(PART).tempfile_in(directory)?;
        Ok(Self { file, sum: Cksum::default(), sha256: Sha256::new(), bytes: 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.sum.add(bytes);
        self.sha256.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn keep(self, directory: &Path, name: &str, truncated: bool) -> io::Result<StreamDigest> {
        let Self { file, sha256, bytes, .. } = self;
        let sha256 = Some(hex(&sha256.finalize()));
        if bytes == 0 {
            return Ok(StreamDigest { bytes, truncated, sha256, spool: None });
        }
        file.as_file().sync_all()?;
        file.persist(directory.join(name)).map_err(|error| error.error)?;
        Ok(StreamDigest { bytes, truncated, sha256, spool: Some(format!("{DIRECTORY}/{name}")) })
    }
}

/// Tells what is kept of both streams. The error is the sink's. False: some of it is not here any more.
pub(super) async fn tell<S: Sink>(
    state_dir: &Path,
    (out, err): (&StreamDigest, &StreamDigest),
    sink: &mut S,
) -> io::Result<bool> {
    let mut whole = true;
    for (stream, kept) in [(Stream::Stdout, out), (Stream::Stderr, err)] {
        whole &= match file_of(state_dir, kept) {
            Some(file) => tell_file(file, stream, sink).await?,
            None => kept.bytes == 0,
        };
    }
    Ok(whole)
}

/// Removes what completions that are gone have named.
pub(in crate::flow) fn remove(state_dir: &Path, spools: &[String]) {
    for path in spools.iter().filter_map(|spool| path_of(state_dir, spool)) {
        if let Err(error) = fs::remove_file(&path) {
            log::debug!("{}: {error}", path.display());
        }
    }
}

/// Removes what broken calls have left beside it: parts, and output that no completion names, untouched for so long. How many files.
pub(in crate::flow) fn remove_strays(state_dir: &Path, named: &BTreeSet<String>, untouched_for: Duration) -> u64 {
    let named: BTreeSet<&OsStr> = named.iter().filter_map(|spool| Path::new(spool).file_name()).collect();
    let Ok(entries) = fs::read_dir(state_dir.join(DIRECTORY)) else { return 0 };
    let mut removed = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_stray = is_part(&name) || (is_output(&name) && !named.contains(&*name));
        let untouched = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
        if is_stray && untouched.is_some_and(|span| span >= untouched_for) {
            match fs::remove_file(entry.path()) {
                Ok(()) => removed += 1,
                Err(error) => log::debug!("{}: {error}", entry.path().display()),
            }
        }
    }
    removed
}

/// Of output on its way, or of a journal that was being made.
fn is_part(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(PART.as_bytes()) || (name.starts_with(b"journal-") && name.ends_with(b".new"))
}

fn is_output(name: &OsStr) -> bool {
    matches!(Path::new(name).extension().and_then(OsStr::to_str), Some("out" | "err"))
}

/// The name was written by us, and yet nothing leads out of the directory.
fn path_of(state_dir: &Path, spool: &str) -> Option<PathBuf> {
    Some(state_dir.join(DIRECTORY).join(Path::new(spool).file_name()?))
}

fn file_of(state_dir: &Path, kept: &StreamDigest) -> Option<File> {
    File::open(path_of(state_dir, kept.spool.as_deref()?)?).ok()
}

async fn tell_file<S: Sink>(mut file: File, stream: Stream, sink: &mut S) -> io::Result<bool> {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        match file.read(&mut chunk) {
            Ok(0) => return Ok(true),
            Ok(read) => {
                chunk.truncate(read);
                sink.write(stream, Bytes::from(chunk)).await?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                log::warn!("kept output: {error}");
                return Ok(false);
            }
        }
    }
}

fn unwritable(directory: &Path, error: &io::Error) -> Fault {
    Fault::JournalUnwritable { problem: format!("{}: {error}", directory.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::outcome::Warning;

    #[derive(Default)]
    struct Ears(Vec<(Stream, Vec<u8>)>);

    impl Sink for Ears {
        async fn write(&mut self, stream: Stream, data: Bytes) -> io::Result<()> {
            self.0.push((stream, data.to_vec()));
            Ok(())
        }
        fn attempt(&mut self, _number: u32) {}
        fn warning(&mut self, _warning: &Warning) {}
    }

    #[tokio::test]
    async fn what_is_kept_is_told_again() {
        let state = tempfile::tempdir().unwrap();
        let mut spool = Spool::begin(state.path()).unwrap();
        spool.write(Stream::Stdout, b"out").unwrap();
        spool.write(Stream::Stdout, b"put").unwrap();
        assert_eq!((spool.bytes(), spool.sums()), ((6, 0), (Cksum::of(b"output"), Cksum::of(b""))));
        let (out, err) = spool.keep("k.1", (false, true)).unwrap();
        assert_eq!((out.bytes, out.truncated, err.truncated), (6, false, true));
        assert_eq!((out.spool.as_deref(), err.spool.as_deref()), (Some("operations/k.1.out"), None));
        let mut ears = Ears::default();
        assert!(tell(state.path(), (&out, &err), &mut ears).await.unwrap());
        assert_eq!(ears.0, [(Stream::Stdout, b"output".to_vec())]);
        let names: Vec<_> =
            fs::read_dir(state.path().join(DIRECTORY)).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["k.1.out"], "nothing else is left");
        remove(state.path(), &[out.spool.clone().unwrap()]);
        assert!(!tell(state.path(), (&out, &err), &mut ears).await.unwrap());
    }

    #[test]
    fn what_nobody_names_goes_when_it_is_old() {
        let state = tempfile::tempdir().unwrap();
        let directory = state.path().join(DIRECTORY);
        fs::create_dir(&directory).unwrap();
        let there = ["a.1.out", "b.1.err", ".part-x", "journal-x.new", "journal.sqlite3", "note.txt"];
        for name in there {
            fs::write(directory.join(name), "x").unwrap();
        }
        let named = BTreeSet::from(["operations/a.1.out".to_owned()]);
        assert_eq!(remove_strays(state.path(), &named, Duration::from_secs(3600)), 0, "they are new");
        assert_eq!(remove_strays(state.path(), &named, Duration::ZERO), 3);
        let mut left: Vec<_> = fs::read_dir(&directory).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["a.1.out", "journal.sqlite3", "note.txt"]);
        assert_eq!(remove_strays(&state.path().join("none"), &named, Duration::ZERO), 0);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join(DIRECTORY), "in the way").unwrap();
        let fault = Spool::begin(state.path()).unwrap_err();
        assert!(matches!(fault, Fault::JournalUnwritable { .. }), "{fault}");
    }
}
