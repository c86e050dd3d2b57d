//! `check`: what each phase came to, and what explains the one that failed. Against a real sshd unless it says otherwise.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::Value;

use crate::rig::{
    Agent, Cli, Envelope, FakeServer, HostKind, Manner, Scratch, Sshd, certify_host, fingerprint, keygen, needs,
    public_of,
};

const ALL: [HostKind; 3] = [HostKind::Ed25519, HostKind::Ecdsa, HostKind::Rsa];

/// The names of the phases, `!` before the one that failed.
fn phases(said: &Envelope) -> Vec<String> {
    let phases = said["check"]["phases"].as_array().unwrap();
    for phase in phases {
        assert!(phase["ms"].as_f64().unwrap() >= 0.0 && phase["detail"].is_string(), "{phase}");
    }
    let failed = |phase: &Value| if phase["ok"] == true { "" } else { "!" };
    phases.iter().map(|phase| format!("{}{}", failed(phase), phase["phase"].as_str().unwrap())).collect()
}

/// Type, fingerprint and status of every host key, sorted.
fn host_keys(said: &Envelope) -> Vec<(String, String, String)> {
    let text = |key: &Value, field: &str| key[field].as_str().unwrap().to_owned();
    let keys = said["check"]["host_keys"].as_array().unwrap().iter();
    let mut keys: Vec<_> = keys.map(|key| (text(key, "type"), text(key, "fingerprint"), text(key, "status"))).collect();
    keys.sort();
    keys
}

/// What [`host_keys`] should be: every key of the server, with this status.
fn every_key(sshd: &Sshd, status: &str) -> Vec<(String, String, String)> {
    let of = |key: &std::path::PathBuf| {
        let kind = public_of(key).split(' ').next().unwrap().to_owned();
        (kind, fingerprint(key), status.to_owned())
    };
    let mut keys: Vec<_> = sshd.host_keys().iter().map(of).collect();
    keys.sort();
    keys
}

#[test]
fn a_host_that_lets_us_in_passes_every_phase_and_opens_no_session() {
    // A session would be refused.
    let sshd = Sshd::build().host_kinds(&ALL).line("MaxSessions 0").start();
    let run = sshd.cli("check DEST").run();
    let said = run.succeeded();
    assert_eq!(phases(&said), ["resolve", "connect", "handshake", "host_key", "auth"], "{run}");
    let outcome = (&said["outcome"], &said["started"], &said["effect"], &said["remote_exit"], &said["attempts"]);
    assert_eq!(outcome, (&"succeeded".into(), &"no".into(), &"read".into(), &Value::Null, &1.into()), "{run}");
    let check = &said["check"];
    assert!(check["server"].as_str().unwrap().starts_with("SSH-2.0-OpenSSH"), "{run}");
    assert_eq!(check["phases"][1]["detail"], format!("127.0.0.1:{}", sshd.port), "{run}");
    let negotiated = check["negotiated"].as_object().unwrap();
    let names: Vec<&str> = negotiated.keys().map(String::as_str).collect();
    assert_eq!(names, ["kex", "host_key", "cipher", "mac", "compression", "strict_kex"], "{run}");
    for (agreed, offered) in [("kex", "kex"), ("host_key", "host_keys"), ("cipher", "ciphers")] {
        let offers = check["offers"][offered].as_array().unwrap();
        assert!(offers.contains(&check["negotiated"][agreed]), "{agreed}: {run}");
    }
    assert_eq!(host_keys(&said), every_key(&sshd, "known"), "{run}");
    let auth = &check["auth"];
    assert_eq!(auth["accepted_methods"], Value::Null, "it never had to say: {run}");
    assert!(auth["used"].as_str().unwrap().starts_with("publickey "), "{run}");
    assert_eq!(auth["tried"], serde_json::json!([auth["used"]]), "{run}");
    assert_eq!((&auth["identities"][0]["usable"], &auth["identities"][0]["source"]), (&true.into(), &"option".into()));
    assert_eq!((said.stdout(), said.stderr()), ("", ""), "{run}");
    sshd.cli("exec DEST true").run().failed(74, "session_limit");
}

#[test]
fn an_unknown_host_shows_all_its_keys_and_a_pin_works_as_it_stands() {
    let sshd = Sshd::build().host_kinds(&ALL).start();
    let empty = Scratch::new();
    let empty = empty.file("known_hosts", "");
    let run = sshd.cli("check DEST").known_hosts(&empty).run();
    let said = run.failed(77, "host_key_unknown");
    assert_eq!(phases(&said), ["resolve", "connect", "handshake", "!host_key"], "{run}");
    assert_eq!(host_keys(&said), every_key(&sshd, "unknown"), "{run}");
    assert!(said["check"]["offers"].is_object() && said["check"]["negotiated"].is_null(), "{run}");
    for key in said["check"]["host_keys"].as_array().unwrap() {
        let pin = key["pin"].as_str().unwrap();
        if key["type"] == "ssh-ed25519" {
            sshd.cli(&format!("exec {pin} DEST true")).known_hosts(&empty).run().succeeded();
        }
        let scratch = Scratch::new();
        let line = scratch.file("known_hosts", format!("{}\n", key["known_hosts_line"].as_str().unwrap()));
        sshd.cli("exec DEST true").known_hosts(&line).run().succeeded();
    }
    assert_eq!(fs::read_to_string(&empty).unwrap(), "", "nothing is written");
    let tries = sshd.log().matches("Accepted publickey").count();
    assert_eq!(tries, 4, "only exec let itself in: {}", sshd.log());
}

#[test]
fn accept_new_goes_on_and_writes_nothing() {
    let sshd = Sshd::build().host_kinds(&[HostKind::Ed25519]).start();
    let scratch = Scratch::new();
    let file = scratch.join("known_hosts");
    let run = sshd.cli("check --host-key-policy accept-new DEST").known_hosts(&file).run();
    let said = run.succeeded();
    assert_eq!(host_keys(&said), every_key(&sshd, "unknown"), "{run}");
    assert_eq!(said.warnings(), ["host_key_would_be_added"], "{run}");
    assert!(!file.exists(), "{run}");
}

#[test]
fn a_changed_key_is_told_from_a_known_one() {
    let sshd = Sshd::build().host_kinds(&[HostKind::Ed25519, HostKind::Ecdsa]).start();
    let scratch = Scratch::new();
    keygen(&scratch.join("other"), "ed25519", &[]);
    let lines = [public_of(&scratch.join("other")), sshd.host_lines()[1].clone()];
    let lines = lines.map(|key| format!("[127.0.0.1]:{} {key}\n", sshd.port)).concat();
    let run = sshd.cli("check DEST").known_hosts(&scratch.file("known_hosts", lines)).run();
    let said = run.failed(77, "host_key_changed");
    assert_eq!(phases(&said).last().unwrap(), "!host_key", "{run}");
    let statuses: Vec<String> = host_keys(&said).into_iter().map(|(_, _, status)| status).collect();
    assert_eq!(statuses, ["known", "changed"], "ecdsa, then ed25519: {run}");
}

#[test]
fn a_certified_host_key_says_so() {
    let builder = Sshd::build();
    let (ca, key) = (builder.scratch().join("ca"), builder.scratch().join("certified"));
    keygen(&ca, "ed25519", &[]);
    keygen(&key, "ed25519", &[]);
    certify_host(&ca, &key, "127.0.0.1", "-1d:+1d");
    let lines = format!("HostKey {}\nHostCertificate {}-cert.pub", key.display(), key.display());
    let sshd = builder.host_kinds(&[]).line(lines).start();
    let scratch = Scratch::new();
    let file = scratch.file("known_hosts", format!("@cert-authority * {}\n", public_of(&ca)));
    let run = sshd.cli("check DEST").known_hosts(&file).run();
    let said = run.succeeded();
    assert_eq!(host_keys(&said)[0].2, "certificate", "{run}");
    assert_eq!(said["check"]["negotiated"]["host_key"], "ssh-ed25519-cert-v01@openssh.com", "{run}");
}

#[test]
fn a_key_that_is_not_authorised_comes_with_what_there_is() {
    let sshd = Sshd::build().line("Banner /etc/hostname").start();
    let scratch = Scratch::new();
    let stranger = scratch.join("stranger");
    keygen(&stranger, "ed25519", &[]);
    let run = sshd.cli("check DEST").identity(&stranger).run();
    let said = run.failed(77, "auth_failed");
    assert_eq!(phases(&said).last().unwrap(), "!auth", "{run}");
    let auth = &said["check"]["auth"];
    assert!(auth["accepted_methods"].as_array().unwrap().contains(&"publickey".into()), "{run}");
    assert!(auth["used"].is_null() && auth["tried"][0].as_str().unwrap().contains(&fingerprint(&stranger)), "{run}");
    let identity = &auth["identities"][0];
    assert_eq!(identity["name"], stranger.display().to_string(), "{run}");
    assert_eq!(identity["fingerprint"], fingerprint(&stranger), "{run}");
    let hostname = fs::read_to_string("/etc/hostname").unwrap();
    assert_eq!(said["check"]["banner"], hostname.trim(), "{run}");
}

#[test]
fn keys_that_are_of_no_use_say_why() {
    let sshd = Sshd::start();
    let scratch = Scratch::new();
    let (locked, held) = (scratch.join("locked"), scratch.join("held"));
    keygen(&locked, "ed25519", &["-N", "a passphrase"]);
    keygen(&held, "ed25519", &["-C", "held by the agent"]);
    let run = sshd.cli(&format!("check -o IdentityFile={} DEST", locked.display())).no_identity().run();
    let said = run.failed(77, "passphrase_required");
    let identity = &said["check"]["auth"]["identities"][0];
    assert_eq!((&identity["usable"], &identity["source"]), (&false.into(), &"file".into()), "{run}");
    assert!(identity["why"].as_str().unwrap().contains("encrypted"), "{run}");
    assert_eq!(identity["fingerprint"], fingerprint(&locked), "{run}");
    let agent = Agent::start();
    agent.add(&held);
    let run = sshd.cli("check DEST").env("SSH_AUTH_SOCK", agent.socket()).run();
    let identities = &run.succeeded()["check"]["auth"]["identities"];
    assert_eq!((&identities[0]["usable"], &identities[1]["source"]), (&true.into(), &"agent".into()), "{run}");
    assert_eq!((&identities[1]["name"], &identities[1]["usable"]), (&"held by the agent".into(), &false.into()));
}

#[test]
fn a_host_that_is_not_there_stops_at_that_phase() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let run = Cli::new("check DEST", "nobody", port).run();
    let said = run.failed(74, "connection_refused");
    assert_eq!(phases(&said), ["resolve", "!connect"], "{run}");
    assert_eq!(said["check"]["host_keys"], serde_json::json!([]), "{run}");
    let run = Cli::new("check DEST", "nobody", 22).host("no-such-host.invalid").run();
    let said = run.json();
    assert!(["host_not_found", "dns_temporary"].contains(&said.error_code()), "{run}");
    assert_eq!(phases(&said), ["!resolve"], "{run}");
}

#[test]
fn what_answers_and_is_no_ssh_server_stops_at_the_handshake() {
    for (manner, code) in [
        (Manner::Http, "not_ssh"),
        (Manner::Mute, "connect_timeout"),
        (Manner::HalfMute, "connect_timeout"),
        (Manner::Hangup, "connection_lost"),
    ] {
        let server = FakeServer::start(manner);
        let run = server.cli("check --connect-timeout 2s DEST").run();
        let said = run.json();
        assert_eq!(said.error_code(), code, "{run}");
        assert_eq!(phases(&said), ["resolve", "connect", "!handshake"], "{run}");
        assert!(said["check"]["offers"].is_null() && server.connections() == 1, "nothing to look for: {run}");
        assert!(run.elapsed < Duration::from_millis(3500), "{run}");
    }
    for manner in [Manner::Flood, Manner::HugePacket, Manner::Escapes] {
        let server = FakeServer::start(manner);
        let run = server.cli("check --connect-timeout 2s DEST").run();
        assert!(matches!(run.json().exit(), 69 | 74) && run.peak_rss_kib < 60 * 1024, "{run}");
        assert!(!run.stdout.contains(&0x1b), "{run}");
    }
}

#[test]
fn a_server_with_nothing_in_common_shows_what_it_offers() {
    let sshd = Sshd::build().line("Ciphers aes128-cbc").start();
    let run = sshd.cli("check DEST").run();
    let said = run.failed(69, "no_common_algorithm");
    assert_eq!(said["check"]["offers"]["ciphers"], serde_json::json!(["aes128-cbc"]), "{run}");
    let run = sshd.cli("check --raw DEST").run();
    assert!(String::from_utf8_lossy(&run.stdout).contains("ciphers       aes128-cbc"), "{run}");
}

#[test]
fn retries_are_the_same_as_for_a_command_that_reads() {
    let sshd = Sshd::start();
    let proxy = sshd.proxy().refuse_first(2).start();
    let run = sshd.cli("check --retries 2 --retry-base 10ms DEST").via(&proxy).run();
    assert_eq!(run.succeeded()["attempts"], 3, "{run}");
}

#[test]
fn a_secret_is_not_shown() {
    if needs::no_root() {
        return;
    }
    let sshd = Sshd::start();
    let password = sshd.account.password.clone().unwrap();
    let run = sshd.cli("check -v --password env:PW DEST").no_identity().env("PW", &password).run();
    assert_eq!(run.code(), 0, "{run}");
    run.never_shows(&password);
    for mode in ["", "--raw", "--offline"] {
        let run = sshd.cli(&format!("check {mode} --password env:PW DEST")).no_identity().env("PW", "wrong-7f3a").run();
        run.never_shows("wrong-7f3a");
    }
}

#[test]
fn offline_names_whom_it_means_and_calls_nobody() {
    let scratch = Scratch::new();
    let key = scratch.join("key");
    keygen(&key, "ed25519", &[]);
    let run = Cli::new("check --offline --password env:NOT_SET DEST", "somebody", 2222)
        .identity(&key)
        .host("no-such-host.invalid")
        .run();
    let said = run.succeeded();
    let resolved = &said["check"]["resolved"];
    let whom = (&resolved["host"], &resolved["port"], &resolved["user"], &resolved["user_source"]);
    assert_eq!(
        whom,
        (&"no-such-host.invalid".into(), &2222.into(), &"somebody".into(), &"destination".into()),
        "{run}"
    );
    assert_eq!(resolved["identity_files"], serde_json::json!([key.display().to_string()]), "{run}");
    assert_eq!((&said["attempts"], &resolved["connect_timeout_ms"]), (&0.into(), &15_000.into()), "{run}");
    let server = FakeServer::start(Manner::Mute);
    let run = server.cli("check --raw --offline DEST").run();
    assert!(String::from_utf8_lossy(&run.stdout).contains("host: 127.0.0.1\nport: "), "{run}");
    assert_eq!((run.code(), server.connections()), (0, 0), "{run}");
}

#[test]
fn raw_is_for_people() {
    let sshd = Sshd::start();
    let run = sshd.cli("check --raw DEST").run();
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    let first: Vec<&str> = text.lines().take(5).map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(first, ["resolve", "connect", "handshake", "host key", "auth"], "{run}");
    assert!(run.stderr.is_empty() && run.code() == 0 && !text.contains("FAILED"), "{run}");
    let run = sshd.cli("check --raw DEST").known_hosts("/dev/null".as_ref()).run();
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    assert!(run.code() == 77 && text.contains("host key   FAILED"), "{run}");
    assert!(text.is_ascii() && text.contains(&format!("--host-key {}", fingerprint(&sshd.host_keys()[0]))), "{run}");
    assert!(String::from_utf8_lossy(&run.stderr).contains("hint: "), "the error is a paragraph as ever: {run}");
}

#[test]
fn ndjson_ends_with_the_same_result() {
    let sshd = Sshd::start();
    let run = sshd.cli("check --output ndjson DEST").run();
    let lines = std::str::from_utf8(&run.stdout).unwrap().lines();
    let mut events: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut result = events.pop().unwrap();
    assert_eq!(result.as_object_mut().unwrap().shift_remove("event"), Some("result".into()), "{run}");
    let said = Envelope::check(result, run.code(), &run.to_string());
    assert_eq!(phases(&said).len(), 5, "{run}");
    assert!(events.iter().all(|event| event["event"] == "attempt"), "{run}");
}
