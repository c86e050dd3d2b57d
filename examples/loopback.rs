//! See ssh-cli work on this machine alone: `cargo run --release --example loopback`.
//!
//! Starts a throw-away SSH server in this process (fresh keys, a free port of 127.0.0.1), runs `ssh-cli exec` against it twice,
//! once with a command that succeeds and once with one that fails, and shows each command line with what it printed. Needs no
//! sshd, touches no file outside a temporary directory, and leaves nothing behind. Exits with 0 only if both said what they
//! should.

use std::error::Error;
use std::mem::discriminant;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use russh::keys::ssh_key::LineEnding;
use russh::keys::{Algorithm, HashAlg, PrivateKey, PublicKey};
use russh::server::{Auth, ChannelOpenHandle, Config, Handle, Handler, Msg, Session, VerifiedPublicKey, run_stream};
use russh::{Channel, ChannelId, ChannelMsg, ChannelReadHalf, Sig};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let program = ssh_cli_program()?;
    let scratch = tempfile::tempdir()?;
    let host_key = PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519)?;
    let user_key = PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519)?;
    let identity = scratch.path().join("id_ed25519");
    user_key.write_openssh_file(&identity, LineEnding::LF)?;
    let pin = host_key.fingerprint(HashAlg::Sha256).to_string();

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port().to_string();
    let config =
        Config { keys: vec![host_key], nodelay: true, auth_rejection_time: Duration::ZERO, ..Config::default() };
    tokio::spawn(serve(listener, Arc::new(config), user_key.public_key().clone()));

    let identity = identity.to_str().ok_or("the temporary directory's name is not UTF-8")?;
    let options = ["exec", "-F", "none", "-i", identity, "--host-key", &pin, "-p", &port, "demo@127.0.0.1"];
    let shown = |command| [&options[..], &[command]].concat();
    let works = run(&program, &shown(r#"uname -sr; echo "$USER is here""#)).await?;
    let fails = run(&program, &shown("echo 'nothing of that name' >&2; exit 3")).await?;

    let as_told = works["ok"] == true && fails["ok"] == false && fails["remote_exit"] == 3;
    println!("{}", if as_told { "Both said what happened." } else { "That is not what happened!" });
    Ok(if as_told { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one command line, shows it with what it printed and its exit code, and reads the envelope.
async fn run(program: &Path, args: &[&str]) -> Result<serde_json::Value, Box<dyn Error>> {
    println!("$ ssh-cli {}", shlex::try_join(args.iter().copied())?);
    let output = Command::new(program)
        .args(args)
        // Somebody may have chosen another form of output for all of their command lines.
        .env_remove("SSH_CLI_OUTPUT")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .await?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    println!("exit code {}\n", output.status.code().map_or_else(|| "none".to_owned(), |code| code.to_string()));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The program beside this example: `target/PROFILE/ssh-cli` for `target/PROFILE/examples/loopback`. Where cargo runs the
/// example, it builds the program first (at once, if nothing changed).
fn ssh_cli_program() -> Result<PathBuf, Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let profile_dir = own.parent().and_then(Path::parent).ok_or("this example is not in a target directory")?;
    let program = profile_dir.join("ssh-cli");
    if let (Some(cargo), Some(target_dir), Some(name)) =
        (std::env::var_os("CARGO"), profile_dir.parent(), profile_dir.file_name())
    {
        let profile = if name == "debug" { "dev".as_ref() } else { name };
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let status = std::process::Command::new(cargo)
            // This example is named too, so that the libraries have the features they were just built with: else they are
            // built once more.
            .args(["build", "--bin", "ssh-cli", "--example", "loopback", "--manifest-path", manifest, "--profile"])
            .arg(profile)
            .arg("--target-dir")
            .arg(target_dir)
            .stdin(Stdio::null())
            .status()?;
        if !status.success() {
            return Err("ssh-cli did not build".into());
        }
    }
    if program.exists() { Ok(program) } else { Err(format!("{} is not there", program.display()).into()) }
}

/// Takes connections until this process ends.
async fn serve(listener: TcpListener, config: Arc<Config>, user_key: PublicKey) {
    while let Ok((stream, _)) = listener.accept().await {
        let connection = Connection { user_key: user_key.clone(), user: String::new(), channel: None };
        let config = Arc::clone(&config);
        tokio::spawn(async move {
            match run_stream(config, stream, connection).await {
                // How it ends is the client's business.
                Ok(session) => drop(session.await),
                Err(error) => eprintln!("server: {error}"),
            }
        });
    }
}

/// One client: who it is, and the channel that it opened.
struct Connection {
    user_key: PublicKey,
    user: String,
    channel: Option<Channel<Msg>>,
}

impl Handler for Connection {
    type Error = russh::Error;

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        user.clone_into(&mut self.user);
        let known = key.public_key.key_data() == self.user_key.key_data();
        Ok(if known { Auth::Accept } else { Auth::reject() })
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.channel = Some(channel);
        reply.accept().await;
        Ok(())
    }

    async fn exec_request(&mut self, id: ChannelId, text: &[u8], session: &mut Session) -> Result<(), Self::Error> {
        let Some(channel) = self.channel.take_if(|channel| channel.id() == id) else {
            return session.channel_failure(id);
        };
        match start(&String::from_utf8_lossy(text), &self.user) {
            Ok(child) => {
                session.channel_success(id)?;
                // In a task of its own: the session must be free to send.
                tokio::spawn(attend(child, channel, session.handle()));
                Ok(())
            }
            Err(_) => session.channel_failure(id),
        }
    }
}

/// Starts the command as sshd does: the text goes to a shell. Its process group is its own, so that signals reach all of it.
fn start(text: &str, user: &str) -> std::io::Result<Child> {
    Command::new("sh")
        .args(["-c", text])
        .env("USER", user)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// Carries the streams of one command, then says how it ended.
async fn attend(mut child: Child, channel: Channel<Msg>, handle: Handle) -> Result<(), Box<dyn Error + Send + Sync>> {
    let id = channel.id();
    let (from_client, to_client) = channel.split();
    let stdin = child.stdin.take().expect("it is piped");
    let group = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())).expect("it was just started");
    let listening = tokio::spawn(listen(from_client, stdin, group));

    let mut stdout = child.stdout.take().expect("it is piped");
    let mut stderr = child.stderr.take().expect("it is piped");
    let (mut to_stdout, mut to_stderr) = (to_client.make_writer(), to_client.make_writer_ext(Some(1)));
    tokio::try_join!(tokio::io::copy(&mut stdout, &mut to_stdout), tokio::io::copy(&mut stderr, &mut to_stderr))?;
    let status = child.wait().await?;
    listening.abort();

    if let Some(code) = status.code() {
        to_client.exit_status(code.cast_unsigned()).await?;
    } else {
        let name = SIGNALS.iter().find(|(_, signal)| status.signal() == Some(signal.as_raw())).map(|(name, _)| name);
        let name = name.cloned().unwrap_or_else(|| Sig::Custom("OTHER".to_owned()));
        let sent = handle.exit_signal_request(id, name, status.core_dumped(), String::new(), String::new()).await;
        sent.map_err(|()| "the client is gone")?;
    }
    to_client.eof().await?;
    to_client.close().await?;
    Ok(())
}

/// The signals that can be asked for and told of (RFC 4254 section 6.10).
const SIGNALS: [(Sig, Signal); 7] = [
    (Sig::HUP, Signal::HUP),
    (Sig::INT, Signal::INT),
    (Sig::TERM, Signal::TERM),
    (Sig::KILL, Signal::KILL),
    (Sig::QUIT, Signal::QUIT),
    (Sig::ABRT, Signal::ABORT),
    (Sig::SEGV, Signal::SEGV),
];

/// Takes what the client sends until the command has ended: its input, the end of it, and signals. A client that goes away
/// takes the command with it.
async fn listen(mut from_client: ChannelReadHalf, mut stdin: ChildStdin, group: Pid) {
    // Of any length: a command that does not read its input must not hold up the connection.
    let (sender, mut queue) = mpsc::unbounded_channel::<Bytes>();
    let mut sender = Some(sender);
    tokio::spawn(async move {
        while let Some(data) = queue.recv().await {
            if stdin.write_all(&data).await.is_err() {
                break;
            }
        }
    });
    while let Some(message) = from_client.wait().await {
        match message {
            ChannelMsg::Data { data } => drop(sender.as_ref().map(|sender| sender.send(data))),
            ChannelMsg::Eof => sender = None,
            ChannelMsg::Signal { signal } => {
                if let Some((_, number)) = SIGNALS.iter().find(|(name, _)| discriminant(name) == discriminant(&signal))
                {
                    let _ = kill_process_group(group, *number);
                }
            }
            _ => {}
        }
    }
    let _ = kill_process_group(group, Signal::KILL);
}
