//! Listeners that are no SSH server, in the ways that real machines are not.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Cli;
use super::wait::pause;

/// What it does to whoever connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Says nothing, ever.
    Mute,
    /// Lines that are allowed before the version (RFC 4253 section 4.2), without end, one every 20 ms.
    Drip,
    /// The same as fast as they are taken.
    Flood,
    /// A web server.
    Http,
    /// A version, then a packet that claims to be 4 GiB long.
    HugePacket,
    /// A version, then no key exchange.
    HalfMute,
    /// Terminal escapes where the version should be, then the end.
    Escapes,
    /// The end, at once.
    Hangup,
}

/// The listener, ended with the test.
pub struct FakeServer {
    pub port: u16,
    stop: Arc<AtomicBool>,
    connections: Arc<AtomicU64>,
    acceptor: Option<JoinHandle<()>>,
}

impl FakeServer {
    pub fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stop = Arc::new(AtomicBool::new(false));
        let connections = Arc::new(AtomicU64::new(0));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&connections));
        let acceptor = std::thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                count.fetch_add(1, Ordering::SeqCst);
                // Held here too, so that it stays open for as long as the listener lives.
                open.extend(
                    (!matches!(manner, Manner::Hangup | Manner::Http | Manner::Escapes)).then(|| stream.try_clone()),
                );
                let stopped = Arc::clone(&stopped);
                std::thread::spawn(move || behave(manner, stream, &stopped));
            }
        });
        Self { port, stop, connections, acceptor: Some(acceptor) }
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    /// As [`super::Sshd::cli`].
    pub fn cli(&self, line: &str) -> Cli {
        Cli::new(line, "nobody", self.port)
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn behave(manner: Manner, mut stream: TcpStream, stop: &AtomicBool) {
    // The other side hangs up on us at some point; that is what most of these wait for.
    let _ = match manner {
        Manner::Mute | Manner::Hangup => Ok(()),
        Manner::Drip => endless(&mut stream, Duration::from_millis(20), stop),
        Manner::Flood => endless(&mut stream, Duration::ZERO, stop),
        Manner::Http => stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        Manner::HugePacket => stream.write_all(b"SSH-2.0-x\r\n\xff\xff\xff\xff\x04\x14").and_then(|()| {
            while !stop.load(Ordering::SeqCst) {
                stream.write_all(&[0; 4096])?;
            }
            Ok(())
        }),
        Manner::HalfMute => stream.write_all(b"SSH-2.0-x\r\n"),
        Manner::Escapes => stream.write_all(b"\x1b]0;pwned\x07\x1b[31mgo away\x1b[0m\r\n"),
    };
}

fn endless(stream: &mut TcpStream, between: Duration, stop: &AtomicBool) -> std::io::Result<()> {
    while !stop.load(Ordering::SeqCst) {
        stream.write_all(b"this is not a version line\r\n")?;
        pause(between);
    }
    Ok(())
}
