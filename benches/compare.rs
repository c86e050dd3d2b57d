//! ssh-cli beside OpenSSH's `ssh`, against one private sshd: `cargo bench --bench compare` (`-- --quick` for a first look).
//!
//! Both use the same key exchange and cipher, and take turns, so that what else the machine does meets both. CPU and memory are
//! the client's own, from wait4(2). Ratios are medians of ssh-cli over medians of ssh. Exits with 0 unless something did not run:
//! a missed target is shown, not fatal, for a busy machine misses targets too.

use std::error::Error;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use wait4::Wait4;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Longer than any run here takes; then it hangs.
const RUN_LIMIT: Duration = Duration::from_secs(180);

fn main() -> ExitCode {
    // `cargo bench` says --bench; a test runner that only looks for tests does not.
    if !std::env::args().any(|arg| arg == "--bench") {
        eprintln!("this is run by `cargo bench --bench compare`");
        return ExitCode::SUCCESS;
    }
    let quick = std::env::args().any(|arg| arg == "--quick");
    match compare(if quick { &QUICK } else { &FULL }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How much is measured.
struct Plan {
    exec_runs: usize,
    stream_runs: usize,
    stream_mib: u64,
}

const FULL: Plan = Plan { exec_runs: 21, stream_runs: 5, stream_mib: 1024 };
const QUICK: Plan = Plan { exec_runs: 9, stream_runs: 3, stream_mib: 128 };

fn compare(plan: &Plan) -> Fallible<()> {
    let server = Server::start()?;
    let mib = plan.stream_mib;
    let input = server.dir.path().join("input");
    // Without a block on the disk: reading it costs memory copies only, as reading a pipe would.
    File::create(&input)?.set_len(mib << 20)?;

    println!("{:<28}{:>12}{:>12}{:>9}   target", "", "ssh", "ssh-cli", "ratio");
    let turn = || Ok((server.ssh("true").run()?, server.ours(&[], "true").run()?));
    Pair::of(plan.exec_runs, turn)?.show("exec true", Some(0.35), None);

    let zeros = format!("head -c {mib}M /dev/zero");
    let turn = || Ok((server.ssh(&zeros).run()?, server.ours(&["--raw"], &zeros).run()?));
    Pair::of(plan.stream_runs, turn)?.show(&format!("{mib} MiB of stdout"), Some(1.0), Some(1.0));

    let turn = || {
        let ssh = server.ssh("cat >/dev/null").input(&input);
        let ours = server.ours(&["--stdin"], "cat >/dev/null").input(&input);
        Ok((ssh.run()?, ours.run()?))
    };
    Pair::of(plan.stream_runs, turn)?.show(&format!("{mib} MiB of stdin"), Some(1.0), Some(1.0));

    let long = server.ours(&[], "yes | head -c 64M").run()?;
    show_memory("64 MiB into the envelope", long.peak_mib);
    // 76 where sshd passes no signal on, as to sessions of root: then nobody saw it end.
    let endless = server.ours(&["--timeout", "3s"], "yes").ends_with(&[1, 76]).run()?;
    show_memory("`yes` with --timeout 3s", endless.peak_mib);
    Ok(())
}

/// What one run took.
#[derive(Clone, Copy)]
struct Cost {
    wall_ms: f64,
    cpu_ms: f64,
    peak_mib: f64,
}

/// The medians of both.
struct Pair {
    ssh: Cost,
    ours: Cost,
}

impl Pair {
    /// Takes turns. The first turn warms caches and is not counted.
    fn of(runs: usize, mut turn: impl FnMut() -> Fallible<(Cost, Cost)>) -> Fallible<Self> {
        turn()?;
        let turns = (0..runs).map(|_| turn()).collect::<Fallible<Vec<_>>>()?;
        let (ssh, ours): (Vec<_>, Vec<_>) = turns.into_iter().unzip();
        Ok(Self { ssh: Cost::median(&ssh), ours: Cost::median(&ours) })
    }

    fn show(&self, what: &str, wall_target: Option<f64>, cpu_target: Option<f64>) {
        let rows = [
            ("wall", "ms", self.ssh.wall_ms, self.ours.wall_ms, wall_target),
            ("CPU", "ms", self.ssh.cpu_ms, self.ours.cpu_ms, cpu_target),
            ("memory", "MiB", self.ssh.peak_mib, self.ours.peak_mib, None),
        ];
        for (label, unit, ssh, ours, target) in rows {
            let label = format!("{what}, {label}");
            let ratio = ours / ssh;
            let verdict = target.map_or_else(String::new, |most| verdict(&format!("{most:.2}"), ratio <= most));
            println!("{label:<28}{:>12}{:>12}{ratio:>9.2}   {verdict}", figure(ssh, unit), figure(ours, unit));
        }
    }
}

/// Memory is bounded, however much the command writes.
const MEMORY_TARGET_MIB: f64 = 30.0;

fn show_memory(what: &str, peak_mib: f64) {
    let verdict = verdict(&format!("{MEMORY_TARGET_MIB} MiB"), peak_mib < MEMORY_TARGET_MIB);
    println!("{what:<28}{:>12}{:>12}{:>9}   {verdict}", "", figure(peak_mib, "MiB"), "");
}

fn figure(value: f64, unit: &str) -> String {
    if value < 100.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

fn verdict(most: &str, met: bool) -> String {
    format!("at most {most}: {}", if met { "met" } else { "MISSED" })
}

impl Cost {
    /// The median of each figure by itself.
    fn median(runs: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(figure).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Self { wall_ms: of(|run| run.wall_ms), cpu_ms: of(|run| run.cpu_ms), peak_mib: of(|run| run.peak_mib) }
    }
}

/// One client's command line.
struct Client {
    command: Command,
    expected_exits: &'static [i32],
}

impl Client {
    fn input(mut self, file: &Path) -> Self {
        // A file that is not there shows itself: without input the run would be measured as if it had some.
        self.command.stdin(File::open(file).expect("the input was just made"));
        self
    }

    fn ends_with(mut self, exits: &'static [i32]) -> Self {
        self.expected_exits = exits;
        self
    }

    /// Runs it. The peak of its memory is never reported below that of this process, from which it is forked; that is some 3 MiB.
    fn run(mut self) -> Fallible<Cost> {
        let begun = Instant::now();
        let mut child = self.command.spawn()?;
        if !ends_within(&child, RUN_LIMIT)? {
            child.kill()?;
            child.wait()?;
            return Err(format!("did not end in {RUN_LIMIT:?}: {:?}", self.command).into());
        }
        let wall = begun.elapsed();
        let used = child.wait4()?;
        if !used.status.code().is_some_and(|code| self.expected_exits.contains(&code)) {
            return Err(format!("{}: {:?}", used.status, self.command).into());
        }
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        #[expect(clippy::cast_precision_loss, reason = "no process has 2^53 bytes")]
        let peak_mib = used.rusage.maxrss as f64 / 1_048_576.0;
        Ok(Cost { wall_ms: ms(wall), cpu_ms: ms(used.rusage.utime + used.rusage.stime), peak_mib })
    }
}

/// Waits for its end, without taking note of it.
fn ends_within(child: &Child, limit: Duration) -> Fallible<bool> {
    let pid = Pid::from_raw(child.id().cast_signed()).ok_or("a child has a pid")?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    let limit = Timespec::try_from(limit)?;
    Ok(poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit))? > 0)
}

/// A private sshd, its keys and the options with which both clients reach it.
struct Server {
    child: Child,
    options: Vec<String>,
    dir: tempfile::TempDir,
}

impl Server {
    fn start() -> Fallible<Self> {
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
            "KexAlgorithms curve25519-sha256\nCiphers aes128-gcm@openssh.com\n".to_owned(),
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
        let mut options =
            vec!["-F".to_owned(), "none".into(), "-p".into(), port.to_string(), "-i".into(), path("user")];
        for option in [format!("UserKnownHostsFile={}", path("known_hosts")), "GlobalKnownHostsFile=/dev/null".into()] {
            options.extend(["-o".into(), option]);
        }
        let server = Self { child, options, dir };
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

    fn ssh(&self, command: &str) -> Client {
        let alone = ["-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes"];
        self.client("ssh", &alone, command)
    }

    fn ours(&self, options: &[&str], command: &str) -> Client {
        self.client(env!("CARGO_BIN_EXE_ssh-cli"), &[&["exec"], options].concat(), command)
    }

    fn client(&self, program: &str, words: &[&str], text: &str) -> Client {
        let mut command = Command::new(program);
        command.args(words).args(&self.options).args(["127.0.0.1", text]);
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
