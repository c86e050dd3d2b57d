//! A long way on loopback: what comes in goes out later by a fixed time, at any throughput.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};

use crate::Fallible;

/// What one read takes: as much as a socket may hold.
const CHUNK: usize = 256 * 1024;
/// Chunks on their way: 2 GiB/s for 250 ms, and a bound where the far end does not read.
const ON_THEIR_WAY: usize = 2048;

/// The word that makes this program the proxy.
pub const WORD: &str = "--delay";

/// A process of its own, since the clients would have its memory in the figure of their peak. Ended with this.
pub struct DelayProxy {
    pub port: u16,
    process: Child,
}

impl DelayProxy {
    /// Before this port of loopback, `one_way` late in each direction.
    pub fn start(target: u16, one_way: Duration) -> Fallible<Self> {
        let late = one_way.as_micros().to_string();
        let mut command = Command::new(std::env::current_exe()?);
        command.args([WORD, &target.to_string(), &late]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut proxy = Self { port: 0, process: command.spawn()? };
        let said = proxy.process.stdout.take().ok_or("no standard output")?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        proxy.port = line.trim().parse()?;
        Ok(proxy)
    }
}

impl Drop for DelayProxy {
    fn drop(&mut self) {
        // One that has ended by itself is only to be reaped.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The proxy: the port before which it stands, and microseconds. Says on which port, and goes on until it is ended.
pub fn serve(args: &[String]) -> Fallible<()> {
    let [target, late] = args else { return Err("a port and a time are missing".into()) };
    let (target, one_way) = (target.parse::<u16>()?, Duration::from_micros(late.parse()?));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    for client in listener.incoming().flatten() {
        if let Ok(server) = TcpStream::connect(("127.0.0.1", target)) {
            // A connection that cannot be carried shows itself at both ends.
            let _ = carry(&client, &server, one_way);
        }
    }
    Ok(())
}

fn carry(client: &TcpStream, server: &TcpStream, one_way: Duration) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    for (from, to) in [(client, server), (server, client)] {
        let (from, to) = (from.try_clone()?, to.try_clone()?);
        let (sender, receiver) = sync_channel(ON_THEIR_WAY);
        let (empty, used) = channel();
        thread::spawn(move || take(from, &sender, &used, one_way));
        thread::spawn(move || give(to, &receiver, &empty));
    }
    Ok(())
}

/// A buffer, and how much of it is a piece.
type Piece = (Vec<u8>, usize);

/// Notes when each piece is due. Buffers are used again: fresh memory would cost more than the copies, and distance costs nothing.
fn take(mut from: TcpStream, due: &SyncSender<(Instant, Piece)>, used: &Receiver<Vec<u8>>, one_way: Duration) {
    loop {
        let mut buffer = used.try_recv().unwrap_or_else(|_| vec![0; CHUNK]);
        let Ok(length @ 1..) = from.read(&mut buffer) else { return };
        if due.send((Instant::now() + one_way, (buffer, length))).is_err() {
            return;
        }
    }
}

fn give(mut to: TcpStream, due: &Receiver<(Instant, Piece)>, empty: &Sender<Vec<u8>>) {
    for (at, (buffer, length)) in due {
        wait_until(at);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
        // Where nobody takes it any more, it is freed.
        let _ = empty.send(buffer);
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// To the microsecond, where a timer can: a wait for nothing, with a limit.
fn wait_until(at: Instant) {
    while let Some(left) = at.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        let Ok(limit) = Timespec::try_from(left) else { return };
        let _ = poll(&mut [], Some(&limit));
    }
}
