//! A TCP proxy on loopback that breaks connections on cue.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::wait::pause;

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// How a connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Both ends get a reset.
    Rst,
    /// Both ends get an orderly end of stream.
    Fin,
    /// Nothing more is forwarded; both sockets stay open.
    Silence,
}

/// What the proxy does to connections; also the builder.
#[derive(Clone, Debug, Default)]
struct Faults {
    cut: Option<(Way, u64, Mode)>,
    rate: [Option<u64>; 2],
    delay: [Duration; 2],
    refuse_first: u64,
    stall: Option<(Way, u64, Duration)>,
    noting: bool,
}

/// A proxy, ended with the test.
pub struct FaultProxy {
    pub port: u16,
    target: u16,
    faults: Faults,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    bytes: [AtomicU64; 2],
    connections: AtomicU64,
    /// Where each piece ended that came by; only where that is asked for.
    borders: Mutex<[Vec<u64>; 2]>,
    /// Every live connection: silent ones must stay open, and all must end with the proxy.
    links: Mutex<Vec<std::sync::Weak<Link>>>,
    /// What keeps a silent connection open.
    held: Mutex<Vec<Arc<Link>>>,
}

/// One connection: the client's socket and the server's. A reset needs the very last handle of a socket closed, so there is
/// only ever this one.
struct Link {
    client: TcpStream,
    server: TcpStream,
    broken: AtomicBool,
    silent: AtomicBool,
}

impl FaultProxy {
    /// A proxy before a port of this machine; say what it shall do, then [`FaultProxy::start`].
    pub fn to(target: u16) -> Self {
        Self { port: 0, target, faults: Faults::default(), shared: Arc::default(), acceptor: None }
    }

    /// Cuts each connection when exactly so many bytes went that way; the last of them is still delivered.
    pub fn cut(mut self, way: Way, after: u64, mode: Mode) -> Self {
        self.faults.cut = Some((way, after, mode));
        self
    }

    /// Lets through so many bytes a second.
    pub fn rate(mut self, way: Way, bytes_per_second: u64) -> Self {
        self.faults.rate[way as usize] = Some(bytes_per_second);
        self
    }

    /// Delivers later by so much, at any throughput.
    pub fn delay(mut self, way: Way, by: Duration) -> Self {
        self.faults.delay[way as usize] = by;
        self
    }

    /// Notes where each piece ends that comes by.
    pub fn noting(mut self) -> Self {
        self.faults.noting = true;
        self
    }

    /// Holds this direction up once, when this many bytes have passed: an outage that ends.
    pub fn stall(mut self, way: Way, after: u64, span: Duration) -> Self {
        self.faults.stall = Some((way, after, span));
        self
    }

    /// Resets the first so many connections.
    pub fn refuse_first(mut self, connections: u64) -> Self {
        self.faults.refuse_first = connections;
        self
    }

    pub fn start(mut self) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        self.port = listener.local_addr().unwrap().port();
        let (shared, faults, target) = (Arc::clone(&self.shared), self.faults.clone(), self.target);
        self.acceptor = Some(std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.stop.load(Ordering::SeqCst) {
                    return;
                }
                let number = shared.connections.fetch_add(1, Ordering::SeqCst);
                if number < faults.refuse_first {
                    let _ = SockRef::from(&client).set_linger(Some(Duration::ZERO));
                } else if let Ok(server) = TcpStream::connect(("127.0.0.1", target)) {
                    serve(client, server, &faults, &shared);
                }
            }
        }));
        self
    }

    /// Breaks every connection that there is now.
    pub fn break_now(&self, mode: Mode) {
        for link in self.shared.links.lock().unwrap().iter().filter_map(std::sync::Weak::upgrade) {
            link.cut(mode, &self.shared);
        }
    }

    /// Bytes delivered that way so far.
    pub fn bytes(&self, way: Way) -> u64 {
        self.shared.bytes[way as usize].load(Ordering::SeqCst)
    }

    /// Where the pieces ended that came by, for each way.
    pub fn borders(&self) -> [Vec<u64>; 2] {
        self.shared.borders.lock().unwrap().clone()
    }

    /// Connections accepted so far, the refused ones included.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(acceptor) = self.acceptor.take() {
            // Wakes it, so that it looks at the flag.
            let _ = TcpStream::connect(("127.0.0.1", self.port));
            let _ = acceptor.join();
        }
        for link in self.shared.links.lock().unwrap().drain(..).filter_map(|link| link.upgrade()) {
            link.broken.store(true, Ordering::SeqCst);
            let _ = link.client.shutdown(Shutdown::Both);
            let _ = link.server.shutdown(Shutdown::Both);
        }
        self.shared.held.lock().unwrap().clear();
    }
}

/// Starts the two directions of a connection.
fn serve(client: TcpStream, server: TcpStream, faults: &Faults, shared: &Arc<Shared>) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let link = Arc::new(Link { client, server, broken: false.into(), silent: false.into() });
    shared.links.lock().unwrap().push(Arc::downgrade(&link));
    if let Some((_, 0, mode)) = faults.cut {
        link.cut(mode, shared);
    }
    for way in [Way::Up, Way::Down] {
        // Enough chunks for a long delay at a high rate, and an end to what is buffered.
        let (sender, receiver) = sync_channel(1024);
        let (reading, writing, faults, shared) =
            (Arc::clone(&link), Arc::clone(&link), faults.clone(), Arc::clone(shared));
        std::thread::spawn(move || reading.read_all(way, &sender));
        std::thread::spawn(move || writing.write_all(way, &receiver, &faults, &shared));
    }
}

impl Link {
    fn ends(&self, way: Way) -> (&TcpStream, &TcpStream) {
        match way {
            Way::Up => (&self.client, &self.server),
            Way::Down => (&self.server, &self.client),
        }
    }

    /// Reads one direction, noting when each piece came.
    fn read_all(&self, way: Way, out: &SyncSender<(Instant, Vec<u8>)>) {
        let (mut from, _) = self.ends(way);
        let mut buffer = vec![0; 64 * 1024];
        while !self.silent.load(Ordering::SeqCst) {
            match from.read(&mut buffer) {
                Ok(n) if n > 0 && out.send((Instant::now(), buffer[..n].to_vec())).is_ok() => {}
                _ => return,
            }
        }
    }

    /// Delivers one direction: late, slowly, and only so far.
    fn write_all(
        self: &Arc<Self>,
        way: Way,
        pieces: &Receiver<(Instant, Vec<u8>)>,
        faults: &Faults,
        shared: &Arc<Shared>,
    ) {
        let index = way as usize;
        let (_, mut to) = self.ends(way);
        let (delay, rate) = (faults.delay[index], faults.rate[index]);
        let mut done = 0;
        let mut stall = faults.stall.filter(|(stalled, ..)| *stalled == way).map(|(_, after, span)| (after, span));
        for (came, piece) in pieces {
            pause((came + delay).saturating_duration_since(Instant::now()));
            let step = rate.map_or(piece.len(), |rate| usize::try_from(rate / 50).unwrap().max(1));
            let mut rest = &piece[..];
            while !rest.is_empty() && !self.broken.load(Ordering::SeqCst) && !self.silent.load(Ordering::SeqCst) {
                let mut take = step.min(rest.len());
                if let Some((after, span)) = stall {
                    let passed = shared.bytes[index].load(Ordering::SeqCst);
                    if passed >= after {
                        stall = None;
                        pause(span);
                    } else {
                        take = take.min(usize::try_from(after - passed).unwrap());
                    }
                }
                if let Some((_, after, mode)) = faults.cut.filter(|(cut, after, _)| *cut == way && *after > 0) {
                    take = take.min(usize::try_from(after - done).unwrap());
                    if to.write_all(&rest[..take]).is_err() {
                        return;
                    }
                    done += take as u64;
                    shared.bytes[index].fetch_add(take as u64, Ordering::SeqCst);
                    if done == after {
                        self.cut(mode, shared);
                    }
                } else if to.write_all(&rest[..take]).is_ok() {
                    let before = shared.bytes[index].fetch_add(take as u64, Ordering::SeqCst);
                    if faults.noting {
                        shared.borders.lock().unwrap()[index].push(before + take as u64);
                    }
                } else {
                    return;
                }
                rest = &rest[take..];
                if let Some(rate) = rate {
                    pause(Duration::from_micros(take as u64 * 1_000_000 / rate));
                }
            }
        }
        if !self.broken.load(Ordering::SeqCst) && !self.silent.load(Ordering::SeqCst) {
            let _ = to.shutdown(Shutdown::Write);
        }
    }

    fn cut(self: &Arc<Self>, mode: Mode, shared: &Shared) {
        match mode {
            Mode::Silence => {
                shared.held.lock().unwrap().push(Arc::clone(self));
                self.silent.store(true, Ordering::SeqCst);
            }
            Mode::Rst => {
                self.broken.store(true, Ordering::SeqCst);
                for socket in [&self.client, &self.server] {
                    let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
                    // Sends nothing; it wakes the reader, who holds the socket open.
                    let _ = socket.shutdown(Shutdown::Read);
                }
            }
            Mode::Fin => {
                self.broken.store(true, Ordering::SeqCst);
                for socket in [&self.client, &self.server] {
                    let _ = socket.shutdown(Shutdown::Write);
                    // What still comes is read and thrown away: closing over unread bytes would be a reset. Not for ever, though.
                    let _ = socket.set_read_timeout(Some(Duration::from_secs(10)));
                }
            }
        }
    }
}
