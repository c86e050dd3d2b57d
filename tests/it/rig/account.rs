//! Whom the tests log in as.
//!
//! As root: an unprivileged account of the tests' own, made by the first test that needs it and kept (`tests/run
//! --remove-accounts` takes it away). Its password and key are in a directory that only root can read. As anybody else:
//! the current user, by a key, and what needs more is skipped.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::keys::{keygen, tool, tool_with_input};
use super::scratch::random_hex;
use super::{needs, public_of};

/// The accounts all begin with this, so that they are found again.
const PREFIX: &str = "sshclitest";

#[derive(Clone, Debug)]
pub struct Account {
    pub name: String,
    pub home: PathBuf,
    /// Only known where we made the account.
    pub password: Option<String>,
    /// A private key that may log in; our own account's `authorized_keys` names it too.
    pub key: PathBuf,
    uid: u32,
    gid: u32,
}

impl Account {
    /// The account for tests that do not care about the shell: bash where there is one.
    pub fn shared() -> Self {
        if needs::is_root() {
            return Self::made(PREFIX, if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" });
        }
        let key = super::fixture("user-ed25519", "ed25519");
        let uid = rustix::process::getuid().as_raw();
        let entry = tool("getent", &["passwd", &uid.to_string()]);
        let fields: Vec<&str> = entry.trim().split(':').collect();
        Self {
            name: fields[0].into(),
            home: fields[5].into(),
            password: None,
            key,
            uid,
            gid: rustix::process::getgid().as_raw(),
        }
    }

    /// An account with this login shell. None, said aloud, where the shell is not installed or we may not make accounts.
    pub fn with_shell(shell: &str) -> Option<Self> {
        if needs::no_root() {
            return None;
        }
        // The words after the program's name: busybox is a shell only when it is called as one.
        let Some(path) = needs::program(shell) else {
            needs::skip(&format!("needs {shell}"));
            return None;
        };
        let path = if shell == "busybox" { busybox_shell() } else { path };
        Some(Self::made(&format!("{PREFIX}-{shell}"), path.to_str().unwrap()))
    }

    /// An account of its own, for a test that spoils it.
    pub fn spoilt(name: &str) -> Option<Self> {
        Self::spoilt_with(name, "/bin/sh")
    }

    /// The same with this login shell.
    pub fn spoilt_with(name: &str, shell: &str) -> Option<Self> {
        if needs::no_root() {
            return None;
        }
        Some(Self::made(&format!("{PREFIX}-{name}"), shell))
    }

    /// Its password; only where we made it.
    pub fn password(&self) -> &str {
        self.password.as_deref().unwrap()
    }

    /// Gives a file or directory to this account.
    pub fn owns(&self, path: &Path) {
        if needs::is_root() {
            chown(path, Some(self.uid), Some(self.gid)).unwrap();
        }
    }

    fn made(name: &str, shell: &str) -> Self {
        with_lock(|state| {
            let (key, secret) = (state.join(format!("{name}-key")), state.join(format!("{name}-password")));
            let known = std::process::Command::new("getent").args(["passwd", name]).output().unwrap().status.success();
            // The password is written last: where it is, the rest is.
            if !known || !secret.exists() {
                if !known {
                    tool("useradd", &["-m", "-s", shell, "-c", "ssh-cli tests", name]);
                }
                let password = format!("pw-{}", random_hex(12));
                tool_with_input("chpasswd", &[], format!("{name}:{password}\n").as_bytes());
                for old in [key.clone(), key.with_extension("pub")] {
                    let _ = fs::remove_file(old);
                }
                keygen(&key, "ed25519", &[]);
                let home = home_of(name);
                let meta = fs::metadata(&home).unwrap();
                let ssh = home.join(".ssh");
                fs::create_dir_all(&ssh).unwrap();
                let list = ssh.join("authorized_keys");
                fs::write(&list, public_of(&key) + "\n").unwrap();
                for (path, mode) in [(&ssh, 0o700), (&list, 0o600)] {
                    chown(path, Some(meta.uid()), Some(meta.gid())).unwrap();
                    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
                }
                fs::write(&secret, password).unwrap();
            }
            let home = home_of(name);
            let meta = fs::metadata(&home).unwrap();
            let password = Some(fs::read_to_string(secret).unwrap());
            Self { name: name.into(), home, password, key, uid: meta.uid(), gid: meta.gid() }
        })
    }
}

/// Runs something while no other test process does, with the directory that the tests share. It is private: whoever could
/// write in it could choose the keys that log in.
pub fn with_lock<T>(work: impl FnOnce(&Path) -> T) -> T {
    let uid = rustix::process::geteuid().as_raw();
    let state = std::env::temp_dir().join(format!("ssh-cli-tests.{uid}"));
    // Made by another test at the same moment, or by an earlier run: whose it is, is asked below.
    let _ = DirBuilder::new().mode(0o700).create(&state);
    let meta = fs::symlink_metadata(&state).unwrap();
    assert!(
        meta.is_dir() && meta.uid() == uid && meta.mode() & 0o777 == 0o700,
        "{} is not ours alone",
        state.display()
    );
    let lock = File::create(state.join("lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    work(&state)
}

fn home_of(name: &str) -> PathBuf {
    tool("getent", &["passwd", name]).trim().split(':').nth(5).unwrap().into()
}

/// busybox decides what it is by the name it is called by, so it needs a link named `sh` where a user can reach it.
fn busybox_shell() -> PathBuf {
    let dir = PathBuf::from("/usr/local/lib/ssh-cli-tests");
    fs::create_dir_all(&dir).unwrap();
    let link = dir.join("sh");
    if !link.exists() {
        let _ = std::os::unix::fs::symlink(needs::program("busybox").unwrap(), &link);
    }
    link
}
