//! A directory of one test's own.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A directory that goes away with the test. Other accounts may enter it: sshd reads the keys in it as the user who logs in.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("ssh-cli-it-").tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self(dir)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file with this content; its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// A directory in it; its path.
    pub fn dir(&self, name: &str) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }
}

/// `n` random bytes in hexadecimal: names that no other test has, and secrets that are found again if they leak.
pub fn random_hex(n: usize) -> String {
    let mut bytes = vec![0; n];
    fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// What `seq 1 N` prints.
pub fn numbers(up_to: u32) -> String {
    (1..=up_to).fold(String::new(), |text, n| text + &n.to_string() + "\n")
}
