//! What sudo permits an account of the tests: a file of its own, which goes with the test.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::{Account, needs, tool};

/// A file in `/etc/sudoers.d`.
pub struct Sudoers(PathBuf);

impl Sudoers {
    /// These lines, with the account's name for `USER`. None, said aloud, where there is no sudo.
    pub fn of(account: &Account, lines: &[&str]) -> Option<Self> {
        if needs::no_program("sudo") || needs::no_program("visudo") {
            return None;
        }
        let path = PathBuf::from("/etc/sudoers.d").join(&account.name);
        // sudo reads no file with a dot in its name: it is looked at before it counts.
        let draft = path.with_extension("draft");
        fs::write(&draft, lines.join("\n").replace("USER", &account.name) + "\n").unwrap();
        fs::set_permissions(&draft, Permissions::from_mode(0o440)).unwrap();
        tool(needs::program("visudo").unwrap().to_str().unwrap(), &["-c", "-q", "-f", draft.to_str().unwrap()]);
        fs::rename(&draft, &path).unwrap();
        Some(Self(path))
    }
}

impl Drop for Sudoers {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
