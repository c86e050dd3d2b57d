//! An SSH server that answers one command as it was told to: what a real one cannot be made to do.

use std::net::TcpListener;
use std::sync::Arc;

use russh::server::{Auth, Config, Handle, Handler, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelOpenFailure, Disconnect, Sig};
use tokio::sync::oneshot;

use super::{Cli, fixture, public_of};

/// What the server does when the command comes. `output` is sent first, where there is any.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Shown before authentication.
    pub banner: Option<String>,
    /// The session channel is not opened.
    pub refuse_channel: bool,
    /// The command is refused.
    pub refuse_exec: bool,
    pub output: &'static str,
    /// The status; none is sent where there is none.
    pub status: Option<u32>,
    /// The signal's name and message (RFC 4254 section 6.10).
    pub signal: Option<(&'static str, &'static str)>,
    /// More output, after the status.
    pub late_output: &'static str,
    /// The connection is ended where the streams and the channel should be.
    pub vanish: bool,
    /// Nothing more is said, and the channel stays open.
    pub hang: bool,
}

/// The server, ended with the test.
pub struct FakeSsh {
    pub port: u16,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl FakeSsh {
    pub fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let key = russh::keys::load_secret_key(fixture("host-ed25519", "ed25519"), None).unwrap();
        let config = Config {
            keys: vec![key],
            nodelay: true,
            // Nobody guesses passwords here.
            auth_rejection_time: std::time::Duration::ZERO,
            ..Config::default()
        };
        let config = Arc::new(config);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let accepting = accept(listener, config, script);
                tokio::select! { () = accepting => {}, _ = stopped => {} }
            });
        });
        Self { port, stop: Some(stop), thread: Some(thread) }
    }

    /// As [`super::Sshd::cli`]; any key may log in.
    pub fn cli(&self, line: &str) -> Cli {
        let host = public_of(&fixture("host-ed25519", "ed25519"));
        Cli::new(line, "anybody", self.port).identity(&fixture("user-ed25519", "ed25519")).host_keys(vec![host])
    }
}

impl Drop for FakeSsh {
    fn drop(&mut self) {
        self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, config: Arc<Config>, script: Script) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    while let Ok((stream, _)) = listener.accept().await {
        let connection = Connection { script: script.clone() };
        let config = Arc::clone(&config);
        tokio::spawn(async move {
            if let Ok(session) = russh::server::run_stream(config, stream, connection).await {
                // It ends when the client goes; how is the client's business.
                let _ = session.await;
            }
        });
    }
}

struct Connection {
    script: Script,
}

impl Handler for Connection {
    type Error = russh::Error;

    async fn authentication_banner(&mut self) -> Result<Option<String>, Self::Error> {
        Ok(self.script.banner.clone())
    }

    async fn auth_publickey(&mut self, _: &str, _: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        Ok(Auth::Accept)
    }

    async fn channel_open_session(
        &mut self,
        _: Channel<Msg>,
        reply: russh::server::ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        if self.script.refuse_channel {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
        } else {
            reply.accept().await;
        }
        Ok(())
    }

    async fn exec_request(&mut self, channel: ChannelId, _: &[u8], session: &mut Session) -> Result<(), Self::Error> {
        if self.script.refuse_exec {
            return session.channel_failure(channel);
        }
        session.channel_success(channel)?;
        // In a task of its own: the session's loop must be free to send.
        tokio::spawn(perform(self.script.clone(), session.handle(), channel));
        Ok(())
    }
}

/// Plays the script. A failed send means that the client is gone.
async fn perform(script: Script, to: Handle, channel: ChannelId) -> Option<()> {
    if !script.output.is_empty() {
        to.data(channel, script.output).await.ok()?;
    }
    if let Some(status) = script.status {
        to.exit_status_request(channel, status).await.ok()?;
    }
    if let Some((name, message)) = script.signal {
        let name = if name == "KILL" { Sig::KILL } else { Sig::Custom(name.into()) };
        to.exit_signal_request(channel, name, false, message.into(), String::new()).await.ok()?;
    }
    if !script.late_output.is_empty() {
        to.data(channel, script.late_output).await.ok()?;
    }
    if script.vanish {
        to.disconnect(Disconnect::ByApplication, "gone".into(), String::new()).await.ok()?;
    } else if !script.hang {
        to.eof(channel).await.ok()?;
        to.close(channel).await.ok()?;
    }
    Some(())
}
