//! The private sshd, and the command lines of both clients against it.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Fallible;
use crate::client::{Client, ends_within};

/// A private sshd, its keys and the options with which both clients reach it.
pub struct Server {
    child: Child,
    pub port: u16,
    options: Vec<String>,
    pub dir: tempfile::TempDir,
}

const OURS: &str = env!("CARGO_BIN_EXE_ssh-cli");
const ALONE: [&str; 6] = ["-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes"];

impl Server {
    pub fn start() -> Fallible<Self> {
        let dir = tempfile::tempdir()?;
        let path = |name: &str| dir.path().join(name).display().to_string();
        for name in ["host", "user"] {
            let made =
                Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &path(name)]).status()?;
            if !made.success() {
                return Err("ssh-keygen failed".into());
            }
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        fs::write(path("known_hosts"), format!("[127.0.0.1]:{port} {}", fs::read_to_string(path("host.pub"))?))?;
        let settings = [
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}",
                path("host"),
                path("user.pub")
            ),
            "PidFile none\nStrictModes no\nUsePAM no\nUseDNS no\nPrintMotd no\nPermitRootLogin yes".to_owned(),
            // An elsewhere to call home: bash reads ~/.bashrc for sshd's commands, and some take longer than all the rest.
            format!("SetEnv HOME={}\nPermitUserRC no", dir.path().display()),
            // The same for both, so that the programs are compared and not the algorithms they prefer.
            "KexAlgorithms curve25519-sha256\nCiphers aes128-gcm@openssh.com\nSubsystem sftp internal-sftp\n"
                .to_owned(),
        ];
        fs::write(path("sshd_config"), settings.join("\n"))?;
        if rustix::process::geteuid().is_root() {
            // Where sshd gives up its privileges; a package's start script makes it otherwise.
            fs::create_dir_all("/run/sshd")?;
        }
        let log = File::create(path("log"))?;
        let child = Command::new(sshd_program()?)
            .args(["-D", "-e", "-f", &path("sshd_config")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let mut options = vec!["-F".to_owned(), "none".into(), "-i".into(), path("user")];
        for option in [
            format!("UserKnownHostsFile={}", path("known_hosts")),
            "GlobalKnownHostsFile=/dev/null".into(),
            // Whatever port it is reached through.
            format!("HostKeyAlias=[127.0.0.1]:{port}"),
        ] {
            options.extend(["-o".into(), option]);
        }
        let server = Self { child, port, options, dir };
        server.wait_until_it_listens(port)?;
        Ok(server)
    }

    fn wait_until_it_listens(&self, port: u16) -> Fallible<()> {
        for _ in 0..100 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(());
            }
            if ends_within(&self.child, Duration::from_millis(50))? {
                break;
            }
        }
        Err(format!("sshd did not start: {}", fs::read_to_string(self.dir.path().join("log"))?).into())
    }

    pub fn ssh(&self, command: &str) -> Client {
        self.client("ssh", &ALONE, self.port, &["127.0.0.1", command])
    }

    pub fn ours(&self, options: &[&str], command: &str) -> Client {
        self.ours_at(self.port, options, command)
    }

    /// The same through this port.
    pub fn ours_at(&self, port: u16, options: &[&str], command: &str) -> Client {
        self.client(OURS, &[&["exec"], options].concat(), port, &["127.0.0.1", command])
    }

    /// OpenSSH's `scp`, through this port.
    pub fn scp(&self, port: u16, paths: &[&str]) -> Client {
        self.client("scp", &[&["-q", "-r"], &ALONE[..]].concat(), port, paths)
    }

    /// Ours.
    pub fn our_scp(&self, port: u16, paths: &[&str]) -> Client {
        self.client(OURS, &["scp", "-r"], port, paths)
    }

    fn client(&self, program: &str, words: &[&str], port: u16, rest: &[&str]) -> Client {
        let mut command = Command::new(program);
        // The port's option has another letter in scp.
        command.args(words).args(&self.options).args(["-o", &format!("Port={port}")]).args(rest);
        command.env_remove("SSH_CLI_OUTPUT").env("XDG_STATE_HOME", self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Client { command, expected_exits: &[0] }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its sessions have ended with their clients.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// sshd insists on its full path, and is rarely in a user's PATH.
fn sshd_program() -> Fallible<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from));
    places.map(|dir| dir.join("sshd")).find(|file| file.is_file()).ok_or_else(|| "sshd is not installed".into())
}
