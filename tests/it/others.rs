//! Servers that are not OpenSSH.

use std::time::Duration;

use crate::rig::{Dropbear, Stdin, Tinysshd};

#[test]
fn dropbear_runs_a_command_with_each_type_of_host_key() {
    for kind in ["ed25519", "ecdsa", "rsa"] {
        let Some(server) = Dropbear::start(kind) else { return };
        let run = server.cli("exec DEST 'echo out; echo err >&2; exit 9'").run();
        let said = run.failed(1, "remote_exit");
        assert_eq!((said.stdout(), said.stderr(), &said["remote_exit"]), ("out\n", "err\n", &9.into()), "{run}");
    }
}

#[test]
fn dropbear_takes_input_and_gives_output_in_bulk() {
    let Some(server) = Dropbear::start("ed25519") else { return };
    let run = server.cli("exec --stdin DEST 'wc -c'").stdin(Stdin::Bytes(vec![b'x'; 3_000_000])).run();
    assert_eq!(run.succeeded().stdout().trim(), "3000000", "{run}");
    let run = server.cli("exec --max-output 1k DEST 'seq 1 500000'").run();
    assert_eq!(run.succeeded()["streams"]["stdout"]["bytes"], 3_388_895, "{run}");
}

#[test]
fn dropbear_with_a_background_child_is_not_waited_for() {
    let Some(server) = Dropbear::start("ed25519") else { return };
    let run = server.cli("exec DEST 'sleep 20 & echo started'").run();
    assert_eq!(run.succeeded().stdout(), "started\n", "{run}");
    assert!(run.elapsed < Duration::from_secs(6), "{run}");
}

#[test]
fn a_server_without_extension_info_is_not_waited_for() {
    let Some(server) = Tinysshd::start() else { return };
    let times = (0..3).map(|_| {
        let run = server.cli("exec DEST 'echo tiny'").run();
        assert_eq!(run.succeeded().stdout(), "tiny\n", "{run}");
        run.elapsed
    });
    let best = times.min().unwrap();
    assert!(best < Duration::from_millis(900), "{best:?}");
}

#[test]
fn tinysshd_tells_the_status_and_both_streams() {
    let Some(server) = Tinysshd::start() else { return };
    let run = server.cli("exec DEST 'echo out; echo err >&2; exit 5'").run();
    let said = run.failed(1, "remote_exit");
    assert_eq!((said.stdout(), said.stderr(), &said["remote_exit"]), ("out\n", "err\n", &5.into()), "{run}");
}
