//! A private OpenSSH server.

use std::fs::{self, File};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::cli::Cli;
use super::proxy::FaultProxy;
use super::{Account, HostKind, Scratch, fixture, needs, proc, public_of, random_hex, tool, wait};

/// What a test wants of the server before it starts.
pub struct Builder {
    account: Account,
    host_keys: Vec<PathBuf>,
    lines: Vec<String>,
    authorized: Vec<String>,
    scratch: Scratch,
}

/// A running sshd. It, its sessions and what they left behind end with the test.
pub struct Sshd {
    child: Child,
    pub port: u16,
    pub account: Account,
    scratch: Scratch,
    host_keys: Vec<PathBuf>,
    marker: String,
}

impl Sshd {
    /// With an ed25519 and an RSA host key, for the shared account.
    pub fn start() -> Self {
        Self::build().start()
    }

    pub fn build() -> Builder {
        let host_keys = [HostKind::Ed25519, HostKind::Rsa].map(host_key).to_vec();
        let scratch = Scratch::new();
        Builder { account: Account::shared(), host_keys, lines: Vec::new(), authorized: Vec::new(), scratch }
    }

    /// The product's command line against this server; `DEST` in it stands for the usual options and the destination.
    pub fn cli(&self, line: &str) -> Cli {
        Cli::new(line, &self.account.name, self.port).identity(&self.account.key).host_keys(self.host_lines())
    }

    /// The `TYPE BASE64` of each host key.
    pub fn host_lines(&self) -> Vec<String> {
        self.host_keys.iter().map(|key| public_of(key)).collect()
    }

    /// The host keys' private files, in the order in which they were asked for.
    pub fn host_keys(&self) -> &[PathBuf] {
        &self.host_keys
    }

    /// The server's directory, for the files that the test made before it started.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// A proxy before this server that does no harm yet.
    pub fn proxy(&self) -> FaultProxy {
        FaultProxy::to(self.port)
    }

    /// A directory that the account may write in, and the test may read.
    pub fn shared_dir(&self) -> PathBuf {
        let dir = self.scratch.dir("shared");
        self.account.owns(&dir);
        dir
    }

    /// Living processes that belong to this server's sessions, even those that outlived them: pid and command line.
    pub fn session_processes(&self) -> Vec<(i32, String)> {
        proc::command_lines(&self.marker)
    }

    /// Whether a session's process with this in its command line lives.
    pub fn runs(&self, part: &str) -> bool {
        self.session_processes().iter().any(|(_, line)| line.contains(part))
    }

    /// Waits until a session's process is there whose command line begins so.
    pub fn wait_until_runs(&self, begin: &str) {
        let there = || self.session_processes().iter().any(|(_, line)| line.starts_with(begin)).then_some(());
        wait::until(&format!("the remote process {begin}"), Duration::from_secs(15), there);
    }

    /// Whether none is left within `limit`.
    pub fn is_rid_of(&self, part: &str, limit: Duration) -> bool {
        wait::eventually(limit, || !self.runs(part))
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        // The first was the rig's own, to see whether it is up.
        self.log().matches("Connection from").count() - 1
    }

    /// What the server logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.scratch.join("log")).unwrap_or_default()
    }
}

/// The private file of the host key of this kind that all tests share.
fn host_key(kind: HostKind) -> PathBuf {
    fixture(&format!("host-{}", kind.name()), kind.name())
}

impl Builder {
    pub fn account(mut self, account: Account) -> Self {
        self.account = account;
        self
    }

    pub fn host_kinds(mut self, kinds: &[HostKind]) -> Self {
        self.host_keys = kinds.iter().map(|kind| host_key(*kind)).collect();
        self
    }

    /// A line of `sshd_config`; it wins over the rig's own.
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// One more key that may log in, by its private file.
    pub fn authorize(mut self, private: &Path) -> Self {
        self.authorized.push(public_of(private));
        self
    }

    /// The server's directory, for files that the lines name.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    pub fn start(self) -> Sshd {
        if needs::is_root() {
            // Where privileges are separated from; a package's init script makes it otherwise.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        // Somebody may take a port between our look and sshd's bind: then another one.
        let mut builder = self;
        for _ in 0..5 {
            match builder.try_start() {
                Ok(sshd) => return sshd,
                Err(back) => builder = *back,
            }
        }
        panic!("sshd did not start: {}", fs::read_to_string(builder.scratch.join("log")).unwrap_or_default());
    }

    fn try_start(self) -> Result<Sshd, Box<Self>> {
        let port = free_port();
        let marker = format!("SSH_CLI_RIG={}", random_hex(8));
        let config = self.scratch.file("sshd_config", self.config(port, &marker));
        let log = File::create(self.scratch.join("log")).unwrap();
        let mut child = Command::new(needs::program("sshd").expect("openssh-server is not installed"))
            .args(["-D", "-e", "-f"])
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .spawn()
            .unwrap();
        let listening = format!("listening on 127.0.0.1 port {port}.");
        let ready = wait::eventually(Duration::from_secs(20), || {
            let said = fs::read_to_string(self.scratch.join("log")).unwrap_or_default();
            said.contains(&listening) || child.try_wait().unwrap().is_some()
        });
        if !ready || child.try_wait().unwrap().is_some() || !greets(port) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Box::new(self));
        }
        let Self { account, host_keys, scratch, .. } = self;
        Ok(Sshd { child, port, account, scratch, host_keys, marker })
    }

    /// `sshd_config`: the first value of a keyword wins, so the test's lines stand first.
    fn config(&self, port: u16, marker: &str) -> String {
        let mut authorized = self.authorized.clone();
        authorized.push(public_of(&self.account.key));
        let list = self.scratch.file("authorized_keys", authorized.join("\n") + "\n");
        let mut lines = self.lines.clone();
        lines.extend(self.host_keys.iter().map(|key| format!("HostKey {}", key.display())));
        lines.push(format!("Port {port}\nSetEnv {marker}\nAuthorizedKeysFile {}", list.display()));
        lines.push(format!("UsePAM {}", if needs::is_root() { "yes" } else { "no" }));
        lines.push(FIXED_LINES.into());
        if knows_penalties() {
            // Tests fail on purpose, all from one address.
            lines.push("PerSourcePenalties no".into());
        }
        lines.join("\n") + "\n"
    }
}

const FIXED_LINES: &str = "ListenAddress 127.0.0.1
PidFile none
StrictModes no
KbdInteractiveAuthentication no
PasswordAuthentication yes
LogLevel VERBOSE
MaxStartups 2000
MaxSessions 100
UseDNS no
PrintMotd no
Subsystem sftp internal-sftp";

impl Drop for Sshd {
    fn drop(&mut self) {
        let Ok(pid) = i32::try_from(self.child.id()) else { return };
        // Connections have left the daemon's process group and session, so they are found as its children; first the daemon, so
        // that there are no new ones.
        let family = proc::descendants(pid);
        let _ = self.child.kill();
        let _ = self.child.wait();
        proc::kill(family);
        proc::kill(self.session_processes().into_iter().map(|(pid, _)| pid));
        if std::thread::panicking() {
            eprintln!("--- sshd's log\n{}---", self.log());
        }
    }
}

/// A port that nobody listened on a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Whether an SSH server answers there.
pub fn greets(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut banner = [0; 4];
    stream.read_exact(&mut banner).is_ok() && &banner == b"SSH-"
}

/// OpenSSH 9.8 brought penalties, and an older server refuses to start on the word.
fn knows_penalties() -> bool {
    let version = Command::new("ssh").arg("-V").output().unwrap().stderr;
    let version = String::from_utf8_lossy(&version).into_owned();
    let mut numbers =
        version.trim_start_matches("OpenSSH_").split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (9, 8))
}

/// Makes a host certificate for a host key: what `ssh-keygen -s` writes beside the public key.
pub fn certify_host(ca: &Path, key: &Path, principals: &str, validity: &str) {
    let public = format!("{}.pub", key.display());
    let words = ["-q", "-s", ca.to_str().unwrap(), "-I", "rig", "-h", "-n", principals, "-V", validity, &public];
    tool("ssh-keygen", &words);
}
