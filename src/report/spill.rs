//! A stream kept whole beside the envelope: 0600, in a 0700 directory, for a day. Never a reason to fail.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::constants::{SPILL_KEEP_HOURS, SPILL_MAX_BYTES};
use crate::model::outcome::Warning;
use crate::model::sink::Stream;

const PREFIX: &str = "ssh-cli-";
const SUFFIX: &str = ".spill";
const RANDOM_CHARS: usize = 16;
/// Expired files removed by one run, and names looked at for it: a full directory must not slow a run down.
const MAX_REMOVED: usize = 64;
const MAX_LOOKED_AT: usize = 4096;

/// The place for one stream; nothing is created before the first byte.
#[derive(Debug)]
pub(super) struct Spill {
    stream: Stream,
    limit: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Not wanted.
    Off,
    /// Nothing was written yet. No directory: nobody knows a place.
    Idle(Option<PathBuf>),
    Open {
        file: File,
        path: PathBuf,
        written: u64,
        cut: bool,
    },
    Failed(String),
}

impl Spill {
    /// For a stream that is kept in the envelope only.
    pub(super) const fn off(stream: Stream) -> Self {
        Self { stream, limit: 0, state: State::Off }
    }

    /// Below this state directory.
    pub(super) fn below(state_dir: Option<&Path>, stream: Stream) -> Self {
        Self { stream, limit: SPILL_MAX_BYTES, state: State::Idle(state_dir.map(|dir| dir.join("spill"))) }
    }

    /// True where the first byte is still to come.
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle(_))
    }

    /// Keeps the next bytes, up to the limit; a failure is remembered, not returned.
    pub(super) fn write(&mut self, data: &[u8]) {
        if let State::Idle(dir) = &self.state {
            self.state = open(dir.as_deref(), self.stream);
        }
        let State::Open { file, path, written, cut } = &mut self.state else { return };
        let room = usize::try_from(self.limit - *written).unwrap_or(usize::MAX);
        let kept = &data[..data.len().min(room)];
        *cut |= kept.len() < data.len();
        match file.write_all(kept) {
            Ok(()) => *written += kept.len() as u64,
            Err(error) => {
                // A part of a stream would pass for the whole.
                let _ = fs::remove_file(path);
                self.state = State::Failed(error.to_string());
            }
        }
    }

    /// Drops what was kept: the stream begins anew.
    pub(super) fn discard(&mut self) {
        if let Some(path) = self.path() {
            // One that stays is removed when it expires.
            let _ = fs::remove_file(path);
        }
    }

    /// The file, where there is one.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.state {
            State::Open { path, .. } => Some(path),
            _ => None,
        }
    }

    /// What the marker line says of the file.
    pub(super) fn place(&self) -> Option<String> {
        match &self.state {
            State::Open { path, cut: false, .. } => Some(format!("whole stream: {}", path.display())),
            State::Open { path, written, .. } => Some(format!("its first {written} bytes: {}", path.display())),
            _ => None,
        }
    }

    /// What is worth saying.
    pub(super) fn warning(&self) -> Option<Warning> {
        let name = name(self.stream);
        match &self.state {
            State::Failed(problem) => Some(Warning::new(
                "spill_failed",
                format!("{name} was cut, and the whole of it could not be kept: {problem}"),
            )),
            State::Open { written, cut: true, .. } => {
                Some(Warning::new("spill_truncated", format!("only the first {written} bytes of {name} were kept")))
            }
            _ => None,
        }
    }
}

const fn name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

fn open(dir: Option<&Path>, stream: Stream) -> State {
    let Some(dir) = dir else { return State::Failed("there is no state directory".to_owned()) };
    match create(dir, stream) {
        Ok((file, path)) => State::Open { file, path, written: 0, cut: false },
        Err(error) => State::Failed(format!("{}: {error}", dir.display())),
    }
}

fn create(dir: &Path, stream: Stream) -> io::Result<(File, PathBuf)> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if fs::metadata(dir)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
    }
    remove_expired(dir, SystemTime::now());
    // tempfile creates with O_EXCL and 0600.
    let file = tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", name(stream)))
        .suffix(SUFFIX)
        .rand_bytes(RANDOM_CHARS)
        .tempfile_in(dir)?;
    file.keep().map_err(|error| error.error)
}

/// Removes what is older than a day, and is ours by its name. Whatever fails is left for the next run.
fn remove_expired(dir: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let keep = Duration::from_secs(SPILL_KEEP_HOURS * 60 * 60);
    let expired = entries.take(MAX_LOOKED_AT).flatten().filter(|entry| {
        let old = || {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            now.duration_since(metadata.modified().ok()?).ok()
        };
        entry.file_name().to_str().is_some_and(is_ours) && old().is_some_and(|age| age > keep)
    });
    expired.take(MAX_REMOVED).for_each(|entry| {
        let _ = fs::remove_file(entry.path());
    });
}

fn is_ours(file_name: &str) -> bool {
    let middle = file_name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    middle.and_then(|middle| middle.split_once('-')).is_some_and(|(stream, random)| {
        matches!(stream, "stdout" | "stderr")
            && random.len() == RANDOM_CHARS
            && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn nothing_is_created_before_the_first_byte() {
        let state = tempfile::tempdir().unwrap();
        let spill = Spill::below(Some(state.path()), Stream::Stdout);
        assert!(spill.is_idle() && spill.path().is_none() && spill.warning().is_none());
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_file_is_private_and_whole() {
        let state = tempfile::tempdir().unwrap();
        let mut spill = Spill::below(Some(&state.path().join("deep/er")), Stream::Stderr);
        spill.write(b"one ");
        spill.write(b"two");
        let path = spill.path().unwrap();
        assert_eq!(fs::read(path).unwrap(), b"one two");
        assert_eq!((mode(path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert!(is_ours(path.file_name().unwrap().to_str().unwrap()), "{path:?}");
        assert_eq!(spill.place().unwrap(), format!("whole stream: {}", path.display()));
    }

    #[test]
    fn what_is_over_the_limit_is_left_out_with_a_warning() {
        let state = tempfile::tempdir().unwrap();
        let mut spill = Spill { limit: 5, ..Spill::below(Some(state.path()), Stream::Stdout) };
        spill.write(b"123");
        spill.write(b"45");
        assert!(spill.warning().is_none());
        spill.write(b"6");
        assert_eq!(fs::read(spill.path().unwrap()).unwrap(), b"12345");
        assert_eq!(spill.warning().unwrap().code, "spill_truncated");
        assert!(spill.place().unwrap().starts_with("its first 5 bytes: "));
    }

    #[test]
    fn an_unwritable_place_is_a_warning() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join("spill"), "a file").unwrap();
        for dir in [Some(state.path()), None] {
            let mut spill = Spill::below(dir, Stream::Stdout);
            spill.write(b"x");
            spill.write(b"y");
            assert_eq!(spill.path(), None);
            assert_eq!(spill.warning().unwrap().code, "spill_failed");
        }
    }

    #[test]
    fn only_expired_files_of_ours_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let ours = format!("ssh-cli-stdout-{}.spill", "a".repeat(16));
        for name in [&ours, "ssh-cli-stdout-short.spill", "notes.txt", "ssh-cli-other-aaaaaaaaaaaaaaaa.spill"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        remove_expired(dir.path(), SystemTime::now());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
        remove_expired(dir.path(), SystemTime::now() + Duration::from_secs(25 * 60 * 60));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
        assert!(!dir.path().join(ours).exists());
    }
}
