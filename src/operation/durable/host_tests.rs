//! A host in a directory: the program run by its loader in any shell, with a home of its own, and a client that speaks to it.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::cksum::Cksum;
use super::program::{Prologue, loader, program};
use super::request::{Go, Mode, Part, Request, text};
use super::wire::{Broken, End, Event, Heard, Hello, Life, Parser, State, Stream};
use crate::secret::Secret;

/// Longer than anything here takes, on a machine that is busy too.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Looks until there is an answer.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        pause(Duration::from_millis(5));
    }
}

/// Between two looks, or until a random moment. Never for luck.
#[allow(clippy::disallowed_methods, reason = "the one place in these tests that may sleep")]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Says aloud that a test cannot run here.
pub fn skip(why: &str) {
    assert!(std::env::var_os("SSH_CLI_TESTS_REQUIRE_ALL").is_none(), "cannot run here: {why}");
    let line = format!("SKIPPED ({why}): {}\n", std::thread::current().name().unwrap_or("a test"));
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(list) = std::env::var_os("SSH_CLI_TESTS_SKIPPED") {
        let _ = fs::OpenOptions::new().append(true).open(list).and_then(|mut list| list.write_all(line.as_bytes()));
    }
}

pub fn found(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Unlike any other in this process, and in those that run beside it.
pub fn unlike_any(digits: usize) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let mix = format!("{}.{n}.{now}", std::process::id());
    format!("{:08x}{:08x}", Cksum::of(mix.as_bytes()), Cksum::of(mix.repeat(2).as_bytes()))[..digits].to_owned()
}

pub struct Host {
    scratch: tempfile::TempDir,
    pub home: PathBuf,
    pub path: std::ffi::OsString,
    boot: String,
}

impl Host {
    pub fn new() -> Self {
        let scratch = tempfile::Builder::new().prefix("ssh-cli-receipt-").tempdir().unwrap();
        let home = scratch.path().join("home");
        fs::create_dir(&home).unwrap();
        Self { scratch, home, path: std::env::var_os("PATH").unwrap(), boot: String::new() }
    }

    /// One whose `sh` is this shell. None, said aloud, where it is not installed.
    pub fn of_shell(name: &str) -> Option<Self> {
        let Some(shell) = found(name) else {
            skip(&format!("needs {name}"));
            return None;
        };
        let mut host = Self::new();
        let bin = host.scratch.path().join("bin");
        fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(shell, bin.join("sh")).unwrap();
        let path = std::env::split_paths(&host.path).collect::<Vec<_>>();
        host.path = std::env::join_paths(std::iter::once(bin).chain(path)).unwrap();
        Some(host)
    }

    /// It has been rebooted.
    pub fn reboot(&mut self) {
        self.boot = format!("{}-booted-again", unlike_any(8));
    }

    pub fn receipts(&self) -> PathBuf {
        self.home.join(".local/state/ssh-cli/ops1")
    }

    pub fn generation(&self, key: &str, generation: u32) -> PathBuf {
        self.receipts().join(format!("k/{key}.{generation}"))
    }

    pub fn program(&self, nonce: &str, key: &str, generation: u32) -> String {
        let home = self.home.to_str().unwrap();
        program(&Prologue { nonce, key_hash: key, generation })
            .replacen("_home0=\n", &format!("_home0={home}\n"), 1)
            .replacen("_bid0=\n", &format!("_bid0={}\n", self.boot), 1)
    }

    pub fn command(&self, program: &str, nonce: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(loader(program, nonce)).env("PATH", &self.path).env("SHELL", "/bin/sh");
        command.env_remove("LC_ALL").env_remove("BASH_ENV").env("HOME", "/nonexistent").current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A connection, as far as HELLO and the state of this generation.
    pub fn call(&self, key: &str, generation: u32) -> Call {
        let mut call = self.dial(key, generation);
        match call.hear() {
            Some(Event::Hello(hello)) => call.hello = Some(hello),
            other => panic!("no HELLO but {other:?}: {:?}", String::from_utf8_lossy(call.parser.noise())),
        }
        match call.hear() {
            Some(Event::State(state)) => call.state = Some(state),
            other => panic!("no STATE but {other:?}"),
        }
        call
    }

    /// A connection of which nothing is known yet.
    pub fn dial(&self, key: &str, generation: u32) -> Call {
        let nonce = format!("n{}", unlike_any(12));
        let program = self.program(&nonce, key, generation);
        let mut call = Call::of(self.command(&program, &nonce).spawn().unwrap(), &nonce);
        call.write(program.as_bytes());
        call
    }

    /// Starts it, as a client does, and follows to the end.
    pub fn run(&self, job: &Job) -> Told {
        let mut call = self.call(&job.key, job.generation);
        call.go(job);
        call.told()
    }

    /// Attaches from the beginning.
    pub fn attach(&self, key: &str, generation: u32) -> Told {
        let mut call = self.call(key, generation);
        call.say(&Request::Attach { generation, out: 0, err: 0 });
        call.told()
    }

    pub fn state(&self, key: &str, generation: u32) -> State {
        self.call(key, generation).state.clone().unwrap()
    }
}

/// What a client wants to have done.
#[derive(Clone)]
pub struct Job {
    pub key: String,
    pub generation: u32,
    pub attempt: String,
    pub fingerprint: &'static str,
    pub deadline: Option<Duration>,
    pub grace: Duration,
    pub cap_bytes: u64,
    pub mode: Mode,
    pub cwd: Option<&'static str>,
    pub exports: Vec<(&'static str, String)>,
    pub command: String,
    pub script: Option<Vec<u8>>,
    pub input: Option<Vec<u8>>,
}

impl Job {
    pub fn new(command: &str) -> Self {
        Self {
            key: unlike_any(16),
            generation: 1,
            attempt: unlike_any(16),
            fingerprint: "0123456789ab",
            deadline: None,
            grace: Duration::from_millis(700),
            cap_bytes: 256 << 20,
            mode: Mode::User,
            cwd: None,
            exports: Vec::new(),
            command: command.to_owned(),
            script: None,
            input: None,
        }
    }

    /// The same request by another invocation.
    pub fn again(&self) -> Self {
        Self { attempt: unlike_any(16), ..self.clone() }
    }

    /// The line and all that follows it.
    pub fn bytes(&self) -> Vec<u8> {
        let secrets: Vec<_> =
            self.exports.iter().map(|(name, value)| (*name, Secret::new(value.clone().into_bytes()))).collect();
        let exports: Vec<_> = secrets.iter().map(|(name, value)| (*name, value)).collect();
        let text = text(&exports, self.cwd.map(OsStr::new), self.command.as_bytes()).unwrap();
        let go = Go {
            generation: self.generation,
            attempt: &self.attempt,
            fingerprint: self.fingerprint,
            deadline: self.deadline,
            grace: self.grace,
            cap_bytes: self.cap_bytes,
            mode: self.mode,
            text: Part::of(text.expose()),
            script: self.script.as_deref().map(Part::of),
            input: self.input.as_deref().map(Part::of),
        };
        let parts = [Some(text.expose()), self.script.as_deref(), self.input.as_deref()];
        parts.into_iter().flatten().fold(Request::Go(go).line().into_bytes(), |all, part| [&all[..], part].concat())
    }
}

/// How a conversation went on after the request.
#[derive(Debug)]
pub struct Told {
    pub said: Vec<Event>,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
}

impl Told {
    pub fn end(&self) -> &End {
        self.said
            .iter()
            .find_map(|event| match event {
                Event::End { end, .. } => Some(end),
                _ => None,
            })
            .unwrap_or_else(|| panic!("no end: {self:?}"))
    }

    pub fn started(&self) -> bool {
        self.said.iter().any(|event| matches!(event, Event::Started { .. }))
    }

    pub fn life(&self) -> Option<Life> {
        self.said.iter().find_map(|event| match event {
            Event::State(state) => Some(state.life),
            _ => None,
        })
    }

    pub fn out(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    pub fn err(&self) -> &str {
        std::str::from_utf8(&self.err).unwrap()
    }
}

/// One connection.
pub struct Call {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    pub parser: Parser,
    pub hello: Option<Hello>,
    pub state: Option<State>,
    pieces: Receiver<Vec<u8>>,
    left: Vec<u8>,
    at: (u64, u64),
    pub out: Vec<u8>,
    pub err: Vec<u8>,
}

impl Call {
    fn of(mut child: Child, nonce: &str) -> Self {
        let mut stdout = child.stdout.take().unwrap();
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = vec![0; 65_536];
            while let Ok(length @ 1..) = stdout.read(&mut piece) {
                if sender.send(piece[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        let parser = Parser::new(nonce);
        let (out, err) = (Vec::new(), Vec::new());
        Self { child, stdin, parser, hello: None, state: None, pieces, left: Vec::new(), at: (0, 0), out, err }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The other side may be gone; then there will be no answer.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
        }
    }

    pub fn say(&mut self, request: &Request<'_>) {
        if let Request::Attach { out, err, .. } = request {
            self.parser.expect(*out, *err);
            self.at = (*out, *err);
        }
        self.write(request.line().as_bytes());
    }

    pub fn go(&mut self, job: &Job) {
        self.parser.expect(0, 0);
        self.write(&job.bytes());
    }

    /// The next line; what is data goes to `out` and `err`. None at the end of the connection.
    pub fn hear(&mut self) -> Option<Event> {
        loop {
            let left = std::mem::take(&mut self.left);
            let mut input = &left[..];
            while let Some(heard) = self.parser.next(&mut input) {
                match heard {
                    Ok(Heard::Data { stream: Stream::Out, bytes, .. }) => self.out.extend_from_slice(bytes),
                    Ok(Heard::Data { stream: Stream::Err, bytes, .. }) => self.err.extend_from_slice(bytes),
                    Ok(Heard::Said(event)) => {
                        self.left = input.to_vec();
                        return Some(event);
                    }
                    Err(broken) => panic!("{broken:?}"),
                }
            }
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => self.left = piece,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("silence; so far {:?}", self.out),
            }
        }
    }

    /// The answer to one request: everything up to an END, or a line that ends the matter. Its digests are checked.
    pub fn told(&mut self) -> Told {
        let mut said = Vec::new();
        while let Some(event) = self.hear() {
            let last = match &event {
                Event::Tick(_) => continue,
                Event::Started { .. } | Event::Exists { .. } => false,
                Event::End { end, sums, .. } => {
                    if let (Some(sums), (0, 0)) = (sums, self.at) {
                        assert_eq!(*sums, (Cksum::of(&self.out), Cksum::of(&self.err)), "{event:?}");
                        assert_eq!((end.out, end.err), (self.out.len() as u64, self.err.len() as u64), "{event:?}");
                    }
                    true
                }
                _ => true,
            };
            said.push(event);
            if last {
                break;
            }
        }
        let (out, err) = (std::mem::take(&mut self.out), std::mem::take(&mut self.err));
        Told { said, out, err }
    }

    /// The client is gone; what ran for it is gone too, and was silent on standard error.
    pub fn hang_up(mut self) -> Option<Broken> {
        self.stdin = None;
        let mut err = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut err).unwrap();
        }
        self.child.wait().unwrap();
        assert_eq!(err, "");
        None
    }
}

impl Drop for Host {
    /// Whoever still keeps a receipt here would try to publish into what is gone, for half an hour.
    fn drop(&mut self) {
        let ours = format!("_d={}/", self.home.display());
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environ.split(|b| *b == 0).any(|name| name.starts_with(ours.as_bytes())) {
                signal(pid, Signal::KILL);
            }
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The living processes that have this in their command line, with that.
pub fn processes(part: &str) -> Vec<(i32, String)> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid != std::process::id().cast_signed())
        .filter_map(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            words.contains(part).then_some((pid, words))
        })
        .collect()
}

pub fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// The lines of a file.
pub fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Whether the file is there, without following it.
pub fn there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Everything below a directory.
pub fn tree(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut next = vec![dir.to_owned()];
    while let Some(dir) = next.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() {
                next.push(entry.path());
            }
            all.push(entry.path());
        }
    }
    all
}

/// Whether any file below a directory holds these bytes, in its content or as a link.
pub fn holds(dir: &Path, bytes: &[u8]) -> bool {
    tree(dir).iter().any(|path| {
        if fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_symlink()) {
            return false;
        }
        let link = fs::read_link(path).map(|target| target.as_os_str().as_bytes().to_vec());
        let content = link.or_else(|_| fs::read(path)).unwrap_or_default();
        content.windows(bytes.len()).any(|window| window == bytes)
    })
}
