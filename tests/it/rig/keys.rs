//! Keys, made by the tools that users make them with.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::account::with_lock;
use super::{Scratch, needs, wait};

/// The types of host key that sshd has here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    Ed25519,
    Ecdsa,
    Rsa,
}

impl HostKind {
    /// As `ssh-keygen -t` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::Ecdsa => "ecdsa",
            Self::Rsa => "rsa",
        }
    }
}

/// Runs a tool that must succeed; its standard output.
pub fn tool(program: &str, args: &[&str]) -> String {
    tool_with_input(program, args, b"")
}

/// The same, with something on its standard input.
pub fn tool_with_input(program: &str, args: &[&str], input: &[u8]) -> String {
    let path = needs::program(program).unwrap_or_else(|| panic!("{program} is not installed"));
    let mut child = Command::new(path)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A tool that does not read its input may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input);
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// A new key pair at `path`, with `path.pub` beside it. `extra` are more words for ssh-keygen, as `-N secret -m PEM`.
pub fn keygen(path: &Path, kind: &str, extra: &[&str]) {
    let mut args = vec!["-q", "-t", kind, "-C", "ssh-cli-test", "-f", path.to_str().unwrap()];
    if kind == "rsa" {
        args.extend(["-b", "2048"]);
    }
    if !extra.contains(&"-N") {
        args.extend(["-N", ""]);
    }
    args.extend(extra);
    tool("ssh-keygen", &args);
}

/// A key pair that all tests share, made by the first one that asks: an RSA key costs more than most tests.
pub fn fixture(name: &str, kind: &str) -> PathBuf {
    with_lock(|state| {
        let (path, fresh) = (state.join(name), state.join(format!("{name}.new")));
        if !path.exists() {
            let _ = fs::remove_file(&fresh);
            keygen(&fresh, kind, &[]);
            fs::rename(fresh.with_extension("new.pub"), path.with_extension("pub")).unwrap();
            fs::rename(fresh, &path).unwrap();
        }
        path
    })
}

/// The `TYPE BASE64` of a key pair.
pub fn public_of(private: &Path) -> String {
    let mut name = private.as_os_str().to_owned();
    name.push(".pub");
    let line = fs::read_to_string(name).unwrap();
    line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// The `SHA256:…` of a key pair.
pub fn fingerprint(private: &Path) -> String {
    tool("ssh-keygen", &["-l", "-f", private.to_str().unwrap()]).split_whitespace().nth(1).unwrap().to_owned()
}

/// A private ssh-agent, ended with the test.
pub struct Agent {
    child: Child,
    scratch: Scratch,
}

impl Agent {
    pub fn start() -> Self {
        let scratch = Scratch::new();
        let child = Command::new(needs::program("ssh-agent").unwrap())
            .args(["-D", "-a"])
            .arg(scratch.join("agent"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let agent = Self { child, scratch };
        wait::until("the agent's socket", Duration::from_secs(10), || agent.socket().exists().then_some(()));
        agent
    }

    /// For `SSH_AUTH_SOCK`.
    pub fn socket(&self) -> PathBuf {
        self.scratch.join("agent")
    }

    pub fn add(&self, key: &Path) {
        let out = Command::new("ssh-add").arg("-q").arg(key).env("SSH_AUTH_SOCK", self.socket()).output().unwrap();
        assert!(out.status.success(), "ssh-add: {}", String::from_utf8_lossy(&out.stderr));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
