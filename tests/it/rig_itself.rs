//! The rig, proved with OpenSSH's own client: when a test of the product fails, it is not the rig.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::rig::{Account, Dropbear, FakeSsh, FaultProxy, Mode, Script, Sshd, Tinysshd, Way};

/// OpenSSH's client, without questions.
fn ssh(port: u16, user: &str, key: &Path, command: &str) -> Output {
    Command::new("ssh")
        .args([
            "-F",
            "none",
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
        ])
        .args(["-o", "BatchMode=yes", "-i", key.to_str().unwrap(), "-p", &port.to_string()])
        .arg(format!("{user}@127.0.0.1"))
        .arg(command)
        .output()
        .unwrap()
}

#[test]
fn sshd_runs_commands_as_the_account_and_leaves_nothing_behind() {
    let sshd = Sshd::start();
    let out = ssh(sshd.port, &sshd.account.name, &sshd.account.key, "id -un; sleep 301 >/dev/null 2>&1 & echo started");
    assert_eq!(String::from_utf8_lossy(&out.stdout), format!("{}\nstarted\n", sshd.account.name), "{out:?}");
    sshd.wait_until_runs("sleep 301");
    let left = sshd.session_processes();
    drop(sshd);
    for (pid, _) in left {
        let gone = crate::rig::wait::eventually(Duration::from_secs(5), || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            status.is_empty() || status.contains("State:\tZ")
        });
        assert!(gone, "{pid} is left");
    }
}

#[test]
fn dropbear_tinysshd_and_the_in_process_server_answer() {
    let account = Account::shared();
    if let Some(server) = Dropbear::start("ed25519") {
        let out = ssh(server.port, &account.name, &account.key, "echo dropbear");
        assert_eq!(out.stdout, b"dropbear\n", "{out:?}");
    }
    if let Some(server) = Tinysshd::start() {
        let out = ssh(server.port, &account.name, &account.key, "echo tiny; exit 4");
        assert_eq!((&out.stdout[..], out.status.code()), (&b"tiny\n"[..], Some(4)), "{out:?}");
    }
    let server = FakeSsh::start(Script { output: "fake\n", status: Some(3), ..Script::default() });
    let out = ssh(server.port, "anybody", &account.key, "anything");
    assert_eq!((&out.stdout[..], out.status.code()), (&b"fake\n"[..], Some(3)), "{out:?}");
    let server = FakeSsh::start(Script { output: "cut\n", vanish: true, ..Script::default() });
    let out = ssh(server.port, "anybody", &account.key, "anything");
    assert_eq!(out.status.code(), Some(255), "{out:?}");
}

/// A server that sends 1,000 bytes and reads to the end; the port, and what it read.
fn sender() -> (u16, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        // A reset is one of the ends that are looked for.
        let _ = stream.write_all(&[b'x'; 1000]);
        let _ = stream.read_to_end(&mut all);
        all
    });
    (port, server)
}

fn connect(proxy: &FaultProxy) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", proxy.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    stream
}

#[test]
fn a_cut_delivers_exactly_so_many_bytes_and_breaks_as_it_was_told() {
    for (mode, end) in
        [(Mode::Rst, Err(ErrorKind::ConnectionReset)), (Mode::Fin, Ok(())), (Mode::Silence, Err(ErrorKind::WouldBlock))]
    {
        let (port, server) = sender();
        let proxy = FaultProxy::to(port).cut(Way::Down, 123, mode).start();
        let mut client = connect(&proxy);
        let mut got = Vec::new();
        let how = client.read_to_end(&mut got).map(|_| ()).map_err(|why| why.kind());
        assert_eq!((got.len(), how, proxy.bytes(Way::Down)), (123, end, 123), "{mode:?}");
        drop((client, proxy));
        server.join().unwrap();
    }
    for mode in [Mode::Rst, Mode::Fin, Mode::Silence] {
        let (port, server) = sender();
        let proxy = FaultProxy::to(port).cut(Way::Up, 77, mode).start();
        let mut client = connect(&proxy);
        client.write_all(&[b'y'; 500]).unwrap();
        crate::rig::wait::until("the cut", Duration::from_secs(5), || (proxy.bytes(Way::Up) == 77).then_some(()));
        drop(proxy);
        assert_eq!(server.join().unwrap().len(), 77, "{mode:?}");
    }
}

#[test]
fn a_cut_at_nothing_lets_nothing_through() {
    let (port, server) = sender();
    let proxy = FaultProxy::to(port).cut(Way::Up, 0, Mode::Rst).start();
    let mut got = Vec::new();
    assert!(connect(&proxy).read_to_end(&mut got).is_err());
    assert!(got.is_empty() && server.join().unwrap().is_empty());
}

#[test]
fn a_rate_a_delay_and_a_refusal_are_kept() {
    let (port, server) = sender();
    let proxy =
        FaultProxy::to(port).rate(Way::Down, 1000).delay(Way::Up, Duration::from_millis(300)).refuse_first(1).start();
    let refused = connect(&proxy).read(&mut [0; 1]).map_err(|why| why.kind());
    assert_eq!(refused, Err(ErrorKind::ConnectionReset));
    let since = Instant::now();
    let mut client = connect(&proxy);
    let mut got = [0; 1000];
    client.read_exact(&mut got).unwrap();
    let slow = since.elapsed();
    assert!(slow > Duration::from_millis(850) && slow < Duration::from_secs(5), "{slow:?}");
    let since = Instant::now();
    client.write_all(b"late").unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(server.join().unwrap(), b"late");
    assert!(since.elapsed() > Duration::from_millis(280));
    assert_eq!(proxy.connections(), 2);
}
