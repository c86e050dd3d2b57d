//! Keyed operations, seen from both sides: the calls, the receipts that a host keeps, who works there, and a ledger that the command
//! itself writes into, so that nobody's word is taken for how often it ran.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use ssh_cli::journal::key_hash;

use super::cli::Cli;
use super::{Account, Dropbear, Envelope, FaultProxy, Run, Scratch, Sshd, proc, random_hex, wait};

/// What the exec request of a keyed call is known by.
const LOADER: &str = "_prog=;while";

/// A server, and an account that keeps receipts.
pub struct Keeper {
    server: Option<Server>,
    account: Account,
    scratch: Scratch,
}

enum Server {
    OpenSsh(Sshd),
    Dropbear(Dropbear),
}

impl Keeper {
    /// An sshd for an account whose shell reads no file at its start. None, said aloud, without root.
    pub fn start() -> Option<Self> {
        Some(Self::of(Sshd::build().account(Account::spoilt("keyed")?).start()))
    }

    pub fn of(sshd: Sshd) -> Self {
        let account = sshd.account.clone();
        Self::new(Server::OpenSsh(sshd), account)
    }

    /// A Dropbear, for the account that all tests share.
    pub fn dropbear() -> Option<Self> {
        Some(Self::new(Server::Dropbear(Dropbear::start("ed25519")?), Account::shared()))
    }

    fn new(server: Server, account: Account) -> Self {
        let scratch = Scratch::new();
        let lines = match &server {
            Server::OpenSsh(sshd) => sshd.host_lines(),
            Server::Dropbear(dropbear) => vec![dropbear.host_line.clone()],
        };
        // The port is a part of an operation's name unless the host has an alias; and a proxy's is another one each time.
        scratch.file("known_hosts", lines.iter().fold(String::new(), |all, key| all + "keeper " + key + "\n"));
        let ledgers = scratch.dir("ledgers");
        account.owns(&ledgers);
        Self { server: Some(server), account, scratch }
    }

    /// Ends the server: from now on nobody answers there.
    pub fn stop(&mut self) {
        self.server = None;
    }

    pub fn sshd(&self) -> &Sshd {
        match &self.server {
            Some(Server::OpenSsh(sshd)) => sshd,
            _ => panic!("no sshd"),
        }
    }

    /// A proxy before it that does no harm yet.
    pub fn proxy(&self) -> FaultProxy {
        FaultProxy::to(match self.server.as_ref().unwrap() {
            Server::OpenSsh(sshd) => sshd.port,
            Server::Dropbear(dropbear) => dropbear.port,
        })
    }

    /// A command line against it, as the alias `keeper`, with a state directory that it shares with all that name it so.
    pub fn cli(&self, line: &str, state: &str) -> Cli {
        let cli = match self.server.as_ref().unwrap() {
            Server::OpenSsh(sshd) => sshd.cli(line),
            Server::Dropbear(dropbear) => dropbear.cli(line),
        };
        let cli = cli.known_hosts(&self.scratch.join("known_hosts")).option("HostKeyAlias=keeper");
        cli.env("SSH_CLI_STATE_DIR", self.state(state))
    }

    /// The state directory of this name.
    pub fn state(&self, name: &str) -> PathBuf {
        let dir = self.scratch.join(name);
        let _ = fs::DirBuilder::new().mode(0o700).create(&dir);
        dir
    }

    /// Those who listen to a client on the sshd's side now.
    pub fn launchers(&self) -> Vec<i32> {
        let sessions = self.sshd().session_processes();
        sessions.into_iter().filter(|(_, line)| line.contains(LOADER)).map(|(pid, _)| pid).collect()
    }

    /// A directory that the account may write in.
    pub fn ledgers(&self) -> PathBuf {
        self.scratch.join("ledgers")
    }

    /// An operation that writes into a ledger of its own that it begins and that it ends, and does this between.
    pub fn operation(&self, middle: &str) -> Operation<'_> {
        self.operation_ending(middle, 0)
    }

    /// The same with this exit status.
    pub fn operation_ending(&self, middle: &str, status: i32) -> Operation<'_> {
        let key = format!("rig-{}", random_hex(6));
        let ledger = self.ledgers().join(&key);
        let at = ledger.display();
        let command =
            format!("echo begin >>{at}; echo out; echo err >&2; {middle}; echo last; echo end >>{at}; exit {status}");
        Operation {
            hash: key_hash(&key.parse().unwrap()).as_str().to_owned(),
            keeper: self,
            key,
            ledger,
            command,
            options: String::new(),
            status,
            home: self.account.home.clone(),
        }
    }
}

/// One key, and what its command does.
pub struct Operation<'k> {
    keeper: &'k Keeper,
    pub key: String,
    /// What the host knows it by.
    hash: String,
    pub ledger: PathBuf,
    pub command: String,
    /// More options of the call.
    pub options: String,
    pub status: i32,
    /// The home of whose receipts it is.
    home: PathBuf,
}

impl Operation<'_> {
    /// More options.
    pub fn with(mut self, options: &str) -> Self {
        self.options = options.into();
        self
    }

    /// The receipts are another account's.
    pub fn kept_by(mut self, account: &Account) -> Self {
        self.home.clone_from(&account.home);
        self
    }

    /// The call, always the same line.
    pub fn cli(&self) -> Cli {
        self.cli_from("state")
    }

    /// The same from another state directory.
    pub fn cli_from(&self, state: &str) -> Cli {
        self.cli_with("exec", "", state)
    }

    /// The same with more options, by another command.
    pub fn cli_with(&self, verb: &str, more: &str, state: &str) -> Cli {
        let command = shlex::try_quote(&self.command).unwrap();
        self.keeper
            .cli(&format!("{verb} --op {} --max-output 1MiB {} {more} DEST {command}", self.key, self.options), state)
    }

    pub fn run(&self) -> Run {
        self.cli().run()
    }

    /// What the command wrote down.
    pub fn lines(&self) -> Vec<String> {
        fs::read_to_string(&self.ledger).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    pub fn starts(&self) -> usize {
        self.lines().iter().filter(|line| *line == "begin").count()
    }

    pub fn wait_until_it_began(&self) {
        wait::until("the command to begin", Duration::from_secs(15), || (self.starts() > 0).then_some(()));
    }

    /// The registers of all its generations: what decides there.
    pub fn registers(&self) -> BTreeMap<String, String> {
        let mut registers = BTreeMap::new();
        for dir in self.generations() {
            for name in ["gate", "done", "settled", "ack"] {
                if let Ok(text) = fs::read_link(dir.join(name)) {
                    let generation = dir.file_name().unwrap().to_string_lossy().into_owned();
                    registers.insert(format!("{generation}/{name}"), text.to_string_lossy().into_owned());
                }
            }
        }
        registers
    }

    /// The same once the host has heard that the outcome was collected.
    pub fn acknowledged(&self) -> BTreeMap<String, String> {
        wait::until("the acknowledgement to arrive", Duration::from_secs(15), || {
            Some(self.registers()).filter(|all| all.keys().any(|name| name.ends_with("/ack")))
        })
    }

    fn generations(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.home.join(".local/state/ssh-cli/ops1/k")) else { return Vec::new() };
        let ours = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&self.hash));
        entries.flatten().map(|entry| entry.path()).filter(ours).collect()
    }

    /// Who keeps it on the host now, with this in their command line (` sup `, ` wrap `, ` run `): pids.
    pub fn keepers(&self, role: &str) -> Vec<i32> {
        let ours = format!("ssh-cli {}", self.hash);
        proc::with_words(|line| line.contains(&ours) && line.contains(role))
    }

    /// The command itself.
    pub fn commands(&self) -> Vec<i32> {
        let ours = self.ledger.display().to_string();
        proc::with_words(|line| line.contains(&ours) && !line.contains("_prog") && !line.contains("--op"))
    }

    /// Waits until nobody is left on the host who could start or keep it.
    pub fn wait_until_quiet(&self, limit: Duration) -> bool {
        wait::eventually(limit, || self.keepers("").is_empty() && self.commands().is_empty())
    }

    /// The same line again, until it is not told to repeat it: at most four times.
    pub fn settle(&self, context: &str) -> Run {
        for _ in 0..4 {
            let run = self.run();
            if ![74, 75].contains(&run.code()) {
                return run;
            }
        }
        panic!("four times, and no outcome: {context}: {:?} {:?}", self.lines(), self.registers());
    }

    /// It is told that it ran, and it did, once, to its end.
    pub fn ran_once(&self, run: &Run, context: &str) {
        let said = run.json();
        let exit = i64::from(self.status != 0);
        assert!(said.exit() == exit && said["remote_exit"] == self.status, "{context}: {run}");
        assert_eq!(self.lines(), ["begin", "end"], "{context}: {run}");
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        for pid in self.keepers("").into_iter().chain(self.commands()).filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        for generation in self.generations() {
            let _ = fs::remove_dir_all(generation);
        }
    }
}

/// What every reader of an outcome must agree about.
pub fn outcome(said: &Envelope) -> (i64, String, String, String) {
    let rest = format!("{} {} {}", said["outcome"], said["remote_exit"], said["operation"]["generation"]);
    (said.exit(), rest, said.stdout().to_owned(), said.stderr().to_owned())
}

/// Sends a signal to processes that may be gone.
pub fn signal(pids: &[i32], signal: Signal) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        let _ = kill_process(pid, signal);
    }
}

/// Does so many things, some at once.
pub fn each<T: Sync>(things: &[T], at_once: usize, work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(thing) = things.get(next.fetch_add(1, Ordering::SeqCst)) {
                    work(thing);
                }
            });
        }
    });
}
