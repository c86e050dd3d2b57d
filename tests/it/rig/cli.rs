//! The product, run as a user types it: one line, in a cleared environment, with a limit to how long it may take.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::wait::pause;
use super::{Envelope, FaultProxy, Scratch, proc};

/// What the product finds on its standard input.
#[derive(Clone, Debug)]
pub enum Stdin {
    /// `/dev/null`.
    Null,
    /// A pipe that stays open and silent.
    Open,
    /// A pipe with these bytes, then its end.
    Bytes(Vec<u8>),
    /// A pipe with these bytes that then stays open.
    BytesThenOpen(Vec<u8>),
    /// A regular file, at its beginning.
    File(PathBuf),
}

/// One command line. `DEST` in it stands for the usual connection options and the destination, `OPTIONS` for the options alone, and
/// `DEST:path` for a path there, with the options before the first of them.
pub struct Cli {
    line: String,
    user: String,
    port: u16,
    host: String,
    identity: Option<PathBuf>,
    host_lines: Vec<String>,
    known_hosts: Option<PathBuf>,
    options: Vec<String>,
    envs: Vec<(String, OsString)>,
    stdin: Stdin,
    stdout_closed: bool,
    limit: Duration,
    scratch: Scratch,
}

/// A command line that was started.
pub struct Running {
    child: Child,
    readers: [Option<JoinHandle<Vec<u8>>>; 2],
    // Kept open for as long as the process lives.
    _stdin: Option<std::process::ChildStdin>,
    _waiting: Option<std::io::PipeWriter>,
    since: Instant,
    limit: Duration,
    line: String,
    scratch: Scratch,
    visible: Vec<u8>,
}

/// What came of a command line.
pub struct Run {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub elapsed: Duration,
    /// The most memory seen, in KiB; 0 where it was over before it was looked at.
    pub peak_rss_kib: u64,
    /// What other users could see of it while it ran: arguments and environment.
    pub visible: Vec<u8>,
    line: String,
    /// The home and the state directory that it had.
    pub scratch: Scratch,
}

impl Cli {
    pub fn new(line: &str, user: &str, port: u16) -> Self {
        Self {
            line: line.into(),
            user: user.into(),
            port,
            host: "127.0.0.1".into(),
            identity: None,
            host_lines: Vec::new(),
            known_hosts: None,
            options: Vec::new(),
            envs: Vec::new(),
            stdin: Stdin::Null,
            stdout_closed: false,
            limit: Duration::from_secs(60),
            scratch: Scratch::new(),
        }
    }

    /// The key for `-i`.
    pub fn identity(mut self, key: &Path) -> Self {
        self.identity = Some(key.into());
        self
    }

    /// Without `-i`.
    pub fn no_identity(mut self) -> Self {
        self.identity = None;
        self
    }

    /// The host keys that `known_hosts` will hold, whatever the port turns out to be.
    pub fn host_keys(mut self, lines: Vec<String>) -> Self {
        self.host_lines = lines;
        self
    }

    /// This file instead.
    pub fn known_hosts(mut self, file: &Path) -> Self {
        self.known_hosts = Some(file.into());
        self
    }

    /// One more `-o KEY=VALUE` where the options stand.
    pub fn option(mut self, option: &str) -> Self {
        self.options.push(option.into());
        self
    }

    pub fn user(mut self, user: &str) -> Self {
        self.user = user.into();
        self
    }

    pub fn host(mut self, host: &str) -> Self {
        self.host = host.into();
        self
    }

    /// Through this proxy.
    pub fn via(mut self, proxy: &FaultProxy) -> Self {
        self.port = proxy.port;
        self
    }

    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.envs.push((name.into(), value.into()));
        self
    }

    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Nobody reads its standard output.
    pub fn stdout_closed(mut self) -> Self {
        self.stdout_closed = true;
        self
    }

    /// How long it may take before the test fails.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// A directory of this command line's own, for files that it names.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The words of the line, with `DEST` and `OPTIONS` spelled out.
    fn words(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        let mut reached = false;
        for word in shlex::split(&self.line).unwrap_or_else(|| panic!("unbalanced quotes: {}", self.line)) {
            match &*word {
                "OPTIONS" => words.extend(self.options()),
                "DEST" => {
                    words.extend(self.options());
                    words.extend(["-p".into(), self.port.to_string().into()]);
                    words.push(format!("{}@{}", self.user, self.host).into());
                }
                path if path.starts_with("DEST:") => {
                    if !std::mem::replace(&mut reached, true) {
                        words.extend(self.options());
                        words.extend(["-p".into(), self.port.to_string().into()]);
                    }
                    words.push(format!("{}@{}:{}", self.user, self.host, &path["DEST:".len()..]).into());
                }
                _ => words.push(word.into()),
            }
        }
        words
    }

    /// The whole command line for a POSIX shell. It names files in [`Cli::scratch`], which must live as long.
    pub fn spelled(&self) -> String {
        let words = self.words().into_iter().map(|word| word.into_string().unwrap());
        let words: Vec<String> = std::iter::once(env!("CARGO_BIN_EXE_ssh-cli").into()).chain(words).collect();
        shlex::try_join(words.iter().map(String::as_str)).unwrap()
    }

    fn options(&self) -> Vec<OsString> {
        let known_hosts = self.known_hosts.clone().unwrap_or_else(|| {
            let lines = self.host_lines.iter().map(|key| format!("[{}]:{} {key}\n", self.host, self.port));
            self.scratch.file("known_hosts", lines.collect::<String>())
        });
        let mut words: Vec<OsString> =
            ["-F", "none", "-o", "GlobalKnownHostsFile=/dev/null", "-o"].map(Into::into).into();
        words.push(format!("UserKnownHostsFile={}", known_hosts.display()).into());
        for option in &self.options {
            words.extend(["-o".into(), option.into()]);
        }
        if let Some(key) = &self.identity {
            words.extend(["-i".into(), key.into()]);
        }
        words
    }

    pub fn start(self) -> Running {
        let words = self.words();
        let line = format!("ssh-cli {}", words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "));
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssh-cli"));
        command.args(&words).env_clear().stderr(Stdio::piped());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.scratch.dir("home")).env("XDG_STATE_HOME", self.scratch.dir("state"));
        command.envs(self.envs.iter().map(|(name, value)| (name, value)));
        let mut waiting = None;
        command.stdin(match &self.stdin {
            Stdin::Null => Stdio::null(),
            Stdin::File(path) => File::open(path).unwrap().into(),
            Stdin::BytesThenOpen(bytes) => {
                // There from the beginning: what is looked for is data that waits.
                let (reader, mut writer) = std::io::pipe().unwrap();
                writer.write_all(bytes).unwrap();
                waiting = Some(writer);
                reader.into()
            }
            Stdin::Open | Stdin::Bytes(_) => Stdio::piped(),
        });
        command.stdout(if self.stdout_closed { std::io::pipe().unwrap().1.into() } else { Stdio::piped() });
        let since = Instant::now();
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take();
        if let Stdin::Bytes(bytes) = self.stdin {
            feed(stdin.take(), bytes);
        }
        let readers = [child.stdout.take().map(collect), child.stderr.take().map(collect)];
        let (limit, scratch) = (self.limit, self.scratch);
        Running { child, readers, _stdin: stdin, _waiting: waiting, since, limit, line, scratch, visible: Vec::new() }
    }

    /// Starts it and waits for its end.
    pub fn run(self) -> Run {
        self.start().finish()
    }
}

/// Writes in the background: the product may never read it.
fn feed(stdin: Option<std::process::ChildStdin>, bytes: Vec<u8>) {
    let mut stdin = stdin.unwrap();
    std::thread::spawn(move || {
        let _ = stdin.write_all(&bytes);
    });
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        from.read_to_end(&mut all).unwrap();
        all
    })
}

impl Running {
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Looks at what other users can see of it, now.
    pub fn look(&mut self) {
        self.visible.extend(proc::everything_visible(i32::try_from(self.child.id()).unwrap()));
    }

    /// Whether it is over within this time.
    pub fn ends_within(&mut self, limit: Duration) -> bool {
        super::wait::eventually(limit, || self.child.try_wait().unwrap().is_some())
    }

    pub fn finish(mut self) -> Run {
        let mut peak = 0;
        let status = loop {
            // Before the look at its end: afterwards there is nothing to be seen.
            peak = proc::peak_rss_kib(self.child.id()).unwrap_or(peak).max(peak);
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if self.since.elapsed() > self.limit {
                let _ = self.child.kill();
                let _ = self.child.wait();
                let [stdout, stderr] = self.readers.map(|reader| reader.map_or_else(Vec::new, |r| r.join().unwrap()));
                panic!(
                    "did not end within {:?}: {}\nstdout: {}\nstderr: {}",
                    self.limit,
                    self.line,
                    String::from_utf8_lossy(&stdout),
                    String::from_utf8_lossy(&stderr)
                );
            }
            pause(Duration::from_millis(2));
        };
        let elapsed = self.since.elapsed();
        let [stdout, stderr] = self.readers.map(|reader| reader.map_or_else(Vec::new, |r| r.join().unwrap()));
        let (visible, line, scratch) = (self.visible, self.line, self.scratch);
        Run { status, stdout, stderr, elapsed, peak_rss_kib: peak, visible, line, scratch }
    }
}

impl Run {
    /// The exit status; one that died of a signal fails the test.
    pub fn code(&self) -> i32 {
        assert!(self.status.signal().is_none(), "died of a signal: {self}");
        self.status.code().unwrap()
    }

    /// The one document on standard output, checked against the contract, with nothing on standard error.
    pub fn json(&self) -> Envelope {
        assert!(self.stderr.is_empty(), "something on stderr: {self}");
        Envelope::read(&self.stdout, self.code(), &self.to_string())
    }

    /// The same where standard output was closed, so that the document is on standard error.
    pub fn json_on_stderr(&self) -> Envelope {
        Envelope::read(&self.stderr, self.code(), &self.to_string())
    }

    /// It exited with 0 and said so.
    pub fn succeeded(&self) -> Envelope {
        let envelope = self.json();
        assert!(envelope.exit() == 0, "did not succeed: {self}");
        envelope
    }

    /// It exited so and gave this code.
    pub fn failed(&self, exit: i64, code: &str) -> Envelope {
        let envelope = self.json();
        assert!(envelope.exit() == exit && envelope.error_code() == code, "expected {exit} {code}: {self}");
        envelope
    }

    /// Raw mode: exactly these bytes and this status, and nothing on standard error.
    pub fn raw(&self, stdout: impl AsRef<[u8]>, exit: i32) {
        assert!(
            self.stdout == stdout.as_ref() && self.code() == exit && self.stderr.is_empty(),
            "expected {exit}: {self}"
        );
    }

    /// Neither what it printed nor what could be seen of it holds this; nor does anything that it left in its directories.
    pub fn never_shows(&self, secret: &str) {
        for (what, bytes) in [("stdout", &self.stdout), ("stderr", &self.stderr), ("arguments", &self.visible)] {
            assert!(!holds(bytes, secret.as_bytes()), "the secret is in {what}: {}", self.line);
        }
        for file in files_below(&self.scratch.join("state")).into_iter().chain(files_below(&self.scratch.join("home")))
        {
            assert!(!holds(&fs::read(&file).unwrap(), secret.as_bytes()), "the secret is in {}", file.display());
        }
    }

    /// The files in its state directory.
    pub fn state_files(&self) -> Vec<PathBuf> {
        files_below(&self.scratch.join("state"))
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(4000)]).into_owned();
        write!(f, "{}\n{} after {:?}\n", self.line, self.status, self.elapsed)?;
        write!(f, "--- stdout\n{}\n--- stderr\n{}\n---", shown(&self.stdout), shown(&self.stderr))
    }
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}
