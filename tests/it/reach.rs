//! Hosts that cannot be reached, or are not what they should be. Each ends in time.

use std::net::TcpListener;
use std::time::Duration;

use crate::rig::{Cli, Envelope, FakeServer, Manner, Run, Sshd, needs};

#[test]
fn a_refused_connection_may_be_tried_again() {
    // Bound and closed again: nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let run = Cli::new("exec DEST true", "nobody", port).run();
    let said = run.failed(74, "connection_refused");
    assert_eq!(said["error"]["phase"], "connect", "{run}");
    assert_eq!(said["attempts"], 1, "{run}");
    assert_eq!(said["retry"]["policy"], "retry", "{run}");
    assert!(said["retry"]["max_retries"].as_u64().unwrap() <= 2, "{run}");
}

#[test]
fn a_name_that_does_not_exist_is_host_not_found() {
    let run = Cli::new("exec DEST true", "nobody", 22).host("no-such-host.invalid").run();
    let said = run.json();
    if said.error_code() == "dns_temporary" {
        needs::skip("there is no name server here to say that the name does not exist");
        return;
    }
    run.failed(68, "host_not_found");
}

#[test]
fn an_ssh_destination_may_be_a_uri_or_carry_its_port() {
    let sshd = Sshd::start();
    let (user, port) = (&sshd.account.name, sshd.port);
    for dest in [format!("{user}@127.0.0.1:{port}"), format!("ssh://{user}@127.0.0.1:{port}")] {
        let run = sshd.cli(&format!("exec OPTIONS {dest} 'echo in'")).run();
        assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
    }
    for options in [format!("-l {user} -P {port}"), format!("-o User={user} -o Port={port}")] {
        let run = sshd.cli(&format!("exec OPTIONS {options} 127.0.0.1 'echo in'")).run();
        assert_eq!(run.succeeded().stdout(), "in\n", "{run}");
    }
}

/// A server that behaves so, called with two seconds to connect.
fn meet(manner: Manner) -> (Run, Envelope) {
    let server = FakeServer::start(manner);
    let run = server.cli("exec --connect-timeout 2s DEST true").run();
    assert!(run.elapsed < Duration::from_millis(3500), "{manner:?} held us: {run}");
    let said = run.json();
    assert_eq!(said["started"], "no", "{run}");
    assert!(matches!(said.exit(), 69 | 74), "{manner:?}: {run}");
    (run, said)
}

#[test]
fn a_server_that_says_nothing_is_a_connect_timeout() {
    let (run, said) = meet(Manner::Mute);
    assert_eq!(said.error_code(), "connect_timeout", "{run}");
}

#[test]
fn a_server_that_stops_after_its_version_is_a_connect_timeout() {
    let (run, said) = meet(Manner::HalfMute);
    assert_eq!(said.error_code(), "connect_timeout", "{run}");
}

#[test]
fn lines_without_end_before_the_version_are_not_read_for_ever() {
    for manner in [Manner::Drip, Manner::Flood] {
        let (run, said) = meet(manner);
        assert!(["not_ssh", "connect_timeout"].contains(&said.error_code()), "{run}");
        assert!(run.peak_rss_kib < 60 * 1024, "{} KiB: {run}", run.peak_rss_kib);
    }
}

#[test]
fn a_web_server_is_not_ssh() {
    let (run, said) = meet(Manner::Http);
    assert_eq!((said.error_code(), said.exit()), ("not_ssh", 69), "{run}");
}

#[test]
fn a_packet_of_an_absurd_length_is_refused() {
    let (run, _) = meet(Manner::HugePacket);
    assert!(run.peak_rss_kib < 60 * 1024, "{} KiB: {run}", run.peak_rss_kib);
}

#[test]
fn a_server_that_hangs_up_may_be_tried_again() {
    let (run, said) = meet(Manner::Hangup);
    assert_eq!((said.error_code(), said.exit()), ("connection_lost", 74), "{run}");
}

#[test]
fn what_a_server_says_instead_of_its_version_is_cleaned() {
    let (run, said) = meet(Manner::Escapes);
    assert!(!run.stdout.contains(&0x1b) && !said.text().contains("\\u001b"), "{run}");
    let server = FakeServer::start(Manner::Escapes);
    let run = server.cli("exec --raw DEST true").run();
    assert!(!run.stderr.contains(&0x1b) && !run.stderr.contains(&7), "{run}");
}

#[test]
fn nothing_is_tried_twice_unless_asked_for() {
    let sshd = Sshd::start();
    let proxy = sshd.proxy().refuse_first(2).start();
    let run = sshd.cli("exec DEST true").via(&proxy).run();
    // A reset may come while the connection is being made, or just after.
    assert_eq!(run.json().exit(), 74, "{run}");
    assert_eq!(proxy.connections(), 1, "{run}");
}

#[test]
fn retries_get_through_when_asked_for() {
    let sshd = Sshd::start();
    let proxy = sshd.proxy().refuse_first(2).start();
    let run = sshd.cli("exec --retries 2 --retry-base 10ms DEST 'echo in'").via(&proxy).run();
    let said = run.succeeded();
    assert_eq!((said.stdout(), &said["attempts"]), ("in\n", &3.into()), "{run}");
    assert_eq!(proxy.connections(), 3, "{run}");
}

#[test]
fn what_is_permanent_is_not_retried() {
    let sshd = Sshd::start();
    let proxy = sshd.proxy().start();
    let run =
        sshd.cli("exec --retries 3 --retry-base 10ms DEST true").via(&proxy).known_hosts("/dev/null".as_ref()).run();
    run.failed(77, "host_key_unknown");
    assert_eq!(proxy.connections(), 1, "{run}");
}

#[test]
fn a_write_that_may_have_run_is_not_retried() {
    let sshd = Sshd::start();
    let file = sshd.shared_dir().join("f");
    let line =
        format!("exec --retries 3 --retry-base 10ms DEST 'echo x >> {}; kill -9 $PPID; sleep 1'", file.display());
    let run = sshd.cli(&line).run();
    assert_eq!(run.json().exit(), 76, "{run}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n", "{run}");
}
