//! Dropbear and tinysshd: both read the keys in the account's home, so both need an account of the tests' own.

use std::fs::File;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::cli::Cli;
use super::sshd::{free_port, greets};
use super::{Account, Scratch, needs, proc, tool, wait};

/// A private Dropbear.
pub struct Dropbear {
    child: Child,
    pub port: u16,
    account: Account,
    pub host_line: String,
    _scratch: Scratch,
}

impl Dropbear {
    /// With a host key of this type (`ed25519`, `rsa`, `ecdsa`). None, said aloud, where it cannot run.
    pub fn start(host_key: &str) -> Option<Self> {
        if needs::no_root() || needs::no_program("dropbear") {
            return None;
        }
        Some(Self::begin(host_key, &Command::new(needs::program("dropbear")?)))
    }

    /// The same with nothing where its SFTP server should be: in a mount namespace of its own.
    pub fn without_sftp(host_key: &str) -> Option<Self> {
        if needs::no_root() || needs::no_program("dropbear") || needs::no_program("unshare") {
            return None;
        }
        let mut command = Command::new("unshare");
        let hidden = "for f in /usr/lib/sftp-server /usr/lib/openssh/sftp-server /usr/libexec/sftp-server; do \
                      [ ! -e $f ] || mount --bind /dev/null $f; done; exec \"$0\" \"$@\"";
        command.args(["-m", "sh", "-c", hidden]).arg(needs::program("dropbear")?);
        Some(Self::begin(host_key, &command))
    }

    fn begin(host_key: &str, dropbear: &Command) -> Self {
        let scratch = Scratch::new();
        let key = scratch.join("host");
        let said = tool("dropbearkey", &["-t", host_key, "-f", key.to_str().unwrap()]);
        let public = said.lines().find(|line| line.starts_with("ssh-") || line.starts_with("ecdsa-")).unwrap();
        let host_line = public.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        for _ in 0..5 {
            let port = free_port();
            let mut command = Command::new(dropbear.get_program());
            let mut child = command
                .args(dropbear.get_args())
                .args(["-F", "-E", "-m", "-p", &format!("127.0.0.1:{port}"), "-P"])
                .arg(scratch.join("pid"))
                .arg("-r")
                .arg(&key)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(File::create(scratch.join("log")).unwrap())
                .spawn()
                .unwrap();
            let up = wait::eventually(Duration::from_secs(10), || child.try_wait().unwrap().is_some() || greets(port));
            if up && child.try_wait().unwrap().is_none() {
                return Self { child, port, account: Account::shared(), host_line, _scratch: scratch };
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("dropbear did not start: {}", std::fs::read_to_string(scratch.join("log")).unwrap_or_default());
    }

    /// As [`super::Sshd::cli`].
    pub fn cli(&self, line: &str) -> Cli {
        let cli = Cli::new(line, &self.account.name, self.port);
        cli.identity(&self.account.key).host_keys(vec![self.host_line.clone()])
    }

    /// Whether a process below the server has this in its command line.
    pub fn runs(&self, part: &str) -> bool {
        i32::try_from(self.child.id()).is_ok_and(|pid| proc::descends(pid, part))
    }
}

impl Drop for Dropbear {
    fn drop(&mut self) {
        if let Ok(pid) = i32::try_from(self.child.id()) {
            proc::kill(proc::descendants(pid));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A private tinysshd. It speaks on its standard input and output, as under inetd; the accepting is done here.
pub struct Tinysshd {
    pub port: u16,
    account: Account,
    host_line: String,
    stop: Arc<AtomicBool>,
    children: Arc<Mutex<Vec<Child>>>,
    acceptor: Option<JoinHandle<()>>,
    _scratch: Scratch,
}

impl Tinysshd {
    /// None, said aloud, where it cannot run.
    pub fn start() -> Option<Self> {
        if needs::no_root() || needs::no_program("tinysshd") {
            return None;
        }
        let scratch = Scratch::new();
        let keys = scratch.join("keys");
        tool("tinysshd-makekey", &["-q", keys.to_str().unwrap()]);
        let host_line = host_line(&keys);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, children) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (stopped, started) = (Arc::clone(&stop), Arc::clone(&children));
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let socket = OwnedFd::from(stream);
                let child = Command::new(needs::program("tinysshd").unwrap())
                    .args(["-q", keys.to_str().unwrap()])
                    .stdin(Stdio::from(socket.try_clone().unwrap()))
                    .stdout(Stdio::from(socket))
                    .stderr(Stdio::null())
                    .spawn();
                started.lock().unwrap().extend(child);
            }
        });
        let account = Account::shared();
        Some(Self { port, account, host_line, stop, children, acceptor: Some(acceptor), _scratch: scratch })
    }

    /// As [`super::Sshd::cli`].
    pub fn cli(&self, line: &str) -> Cli {
        let cli = Cli::new(line, &self.account.name, self.port);
        cli.identity(&self.account.key).host_keys(vec![self.host_line.clone()])
    }
}

impl Drop for Tinysshd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the acceptor, which then looks at the flag.
        let _ = std::net::TcpStream::connect(("127.0.0.1", self.port));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        for child in self.children.lock().unwrap().iter_mut() {
            if let Ok(pid) = i32::try_from(child.id()) {
                proc::kill(proc::descendants(pid));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// tinysshd keeps the bare 32 bytes of its public key in a file; a `known_hosts` line wants them in SSH's wire format
/// (RFC 8709 section 4).
fn host_line(keys: &std::path::Path) -> String {
    use base64::Engine;
    let file: PathBuf = keys.join("ed25519.pk");
    let raw = std::fs::read(file).unwrap();
    let mut blob = Vec::new();
    for part in [b"ssh-ed25519".as_slice(), &raw] {
        blob.extend(u32::try_from(part.len()).unwrap().to_be_bytes());
        blob.extend(part);
    }
    format!("ssh-ed25519 {}", base64::engine::general_purpose::STANDARD.encode(blob))
}
