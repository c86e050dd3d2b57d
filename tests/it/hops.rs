//! Hosts that are reached through others: bastions, chains of them, and proxy commands, by the words of an `ssh_config`.

use std::fmt::Write;
use std::time::Duration;

use crate::rig::{Cli, HostKind, Scratch, Sshd, needs, wait};

/// A `Host` block for a server of the rig; `more` lines stand in it.
fn block(name: &str, sshd: &Sshd, scratch: &Scratch, more: &[&str]) -> String {
    let lines = sshd.host_lines().join(&format!("\n{name} "));
    let known = scratch.file(&format!("known-{name}"), format!("{name} {lines}\n"));
    let mut text = format!(
        "Host {name}\n HostName 127.0.0.1\n Port {}\n User {}\n IdentityFile {}\n IdentitiesOnly yes\n \
         HostKeyAlias {name}\n UserKnownHostsFile {}\n GlobalKnownHostsFile /dev/null\n",
        sshd.port,
        sshd.account.name,
        sshd.account.key.display(),
        known.display(),
    );
    for line in more {
        writeln!(text, " {line}").unwrap();
    }
    text
}

/// A command line over this configuration.
fn cli(scratch: &Scratch, config: &str, line: &str) -> Cli {
    let file = scratch.file("config", config);
    Cli::new(&line.replace("CONFIG", &file.display().to_string()), "nobody", 1)
}

#[test]
fn a_bastion_of_the_configuration_is_passed() {
    let (bastion, inner) = (Sshd::start(), Sshd::start());
    let scratch = Scratch::new();
    let config = block("gate", &bastion, &scratch, &[]) + &block("inner", &inner, &scratch, &["ProxyJump gate"]);
    let run = cli(&scratch, &config, "exec --detail -F CONFIG inner 'echo through'").run();
    let said = run.succeeded();
    assert_eq!(said.stdout(), "through\n", "{run}");
    assert!(said["target"]["jump"][0].as_str().unwrap().contains(&bastion.port.to_string()), "{run}");
    assert_eq!(bastion.connections(), 1, "{run}");
    let logged = || inner.log().contains("Accepted publickey");
    assert!(wait::eventually(Duration::from_secs(5), logged), "{run}");
}

#[test]
fn a_chain_on_the_command_line_is_passed_in_its_order() {
    let (one, two, inner) = (Sshd::start(), Sshd::start(), Sshd::start());
    let scratch = Scratch::new();
    let config =
        block("one", &one, &scratch, &[]) + &block("two", &two, &scratch, &[]) + &block("inner", &inner, &scratch, &[]);
    let run = cli(&scratch, &config, "exec -F CONFIG -J one,two inner 'head -c 3000000 /dev/zero | wc -c'").run();
    assert_eq!(run.succeeded().stdout().trim(), "3000000", "{run}");
    for sshd in [&one, &two, &inner] {
        assert_eq!(sshd.connections(), 1, "{run}");
    }
}

#[test]
fn what_is_wrong_with_a_bastion_names_it() {
    let (bastion, inner) = (Sshd::start(), Sshd::start());
    let scratch = Scratch::new();
    let inner_block = block("inner", &inner, &scratch, &["ProxyJump gate"]);
    // Its host key is not known.
    let unknown = block("gate", &bastion, &scratch, &[]).replace("known-gate", "no-such-file");
    let run = cli(&scratch, &(unknown + &inner_block), "exec -F CONFIG inner true").run();
    let said = run.failed(77, "host_key_unknown");
    assert!(said.advice().contains("bastion") && said.advice().contains(&bastion.port.to_string()), "{run}");
    // Nobody is there.
    let gone = block("gate", &bastion, &scratch, &[]).replace(&format!("Port {}", bastion.port), "Port 1");
    let run = cli(&scratch, &(gone + &inner_block), "exec -F CONFIG inner true").run();
    assert!(run.failed(74, "connection_refused").advice().contains("bastion"), "{run}");
    assert_eq!(inner.connections(), 0, "{run}");
}

#[test]
fn a_bastion_that_forwards_nothing_is_said() {
    let bastion = Sshd::build().line("AllowTcpForwarding no").start();
    let inner = Sshd::start();
    let scratch = Scratch::new();
    let config = block("gate", &bastion, &scratch, &[]) + &block("inner", &inner, &scratch, &["ProxyJump gate"]);
    let run = cli(&scratch, &config, "exec -F CONFIG inner true").run();
    run.failed(69, "forwarding_prohibited");
}

#[test]
fn a_target_that_the_bastion_cannot_reach_is_unreachable() {
    let (bastion, inner) = (Sshd::start(), Sshd::start());
    let scratch = Scratch::new();
    let gone = block("inner", &inner, &scratch, &["ProxyJump gate"]).replace(&format!("Port {}", inner.port), "Port 1");
    let run = cli(&scratch, &(block("gate", &bastion, &scratch, &[]) + &gone), "exec -F CONFIG inner true").run();
    assert!(run.failed(74, "unreachable").advice().contains("bastion"), "{run}");
}

/// Whether a process has this in its command line.
fn anybody_runs(part: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| line.contains(part))
}

#[test]
fn a_proxy_command_carries_the_connection_and_ends_with_it() {
    if needs::no_program("python3") {
        return;
    }
    let sshd = Sshd::start();
    let scratch = Scratch::new();
    let pipe = scratch.file(
        "pipe.py",
        "import socket, sys, threading, os\n\
         s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n\
         def up():\n\
         \x20while d := os.read(0, 65536): s.sendall(d)\n\
         \x20s.shutdown(1)\n\
         threading.Thread(target=up, daemon=True).start()\n\
         while d := s.recv(65536): os.write(1, d)\n",
    );
    let line = format!("ProxyCommand python3 {} %h %p", pipe.display());
    let config = block("far", &sshd, &scratch, &[&line]);
    let run = cli(&scratch, &config, "exec -F CONFIG far 'echo carried'").run();
    assert_eq!(run.succeeded().stdout(), "carried\n", "{run}");
    let script = pipe.display().to_string();
    assert!(wait::eventually(Duration::from_secs(5), || !anybody_runs(&script)), "the proxy command is still there");
}

#[test]
fn a_proxy_command_that_fails_shows_itself_and_its_words() {
    let sshd = Sshd::start();
    let scratch = Scratch::new();
    let config = block("far", &sshd, &scratch, &["ProxyCommand sh -c 'echo the tunnel is closed >&2; exit 3'"]);
    let run = cli(&scratch, &config, "exec -F CONFIG far true").run();
    let said = run.failed(74, "connection_lost");
    assert!(said.advice().contains("the tunnel is closed") && said.advice().contains("sh -c"), "{run}");
    let config = block("far", &sshd, &scratch, &["ProxyCommand /no/such/program %h"]);
    let run = cli(&scratch, &config, "exec -F CONFIG far true").run();
    assert!(run.failed(78, "proxy_command_not_found").advice().contains("/no/such/program"), "{run}");
}

#[test]
fn a_proxy_command_that_says_nothing_is_not_waited_for_beyond_the_limit() {
    let sshd = Sshd::start();
    let scratch = Scratch::new();
    let config = block("far", &sshd, &scratch, &["ProxyCommand sleep 60"]);
    let run = cli(&scratch, &config, "exec --connect-timeout 1s -F CONFIG far true").run();
    run.failed(74, "connect_timeout");
    assert!(run.elapsed < Duration::from_secs(6), "{run}");
}

#[test]
fn check_goes_the_same_way_and_sees_every_host_key_behind_it() {
    let bastion = Sshd::start();
    let inner = Sshd::build().host_kinds(&[HostKind::Ed25519, HostKind::Rsa]).start();
    let scratch = Scratch::new();
    let config = block("gate", &bastion, &scratch, &[]) + &block("inner", &inner, &scratch, &["ProxyJump gate"]);
    let run = cli(&scratch, &config, "check -F CONFIG inner").run();
    let check = &run.succeeded()["check"];
    let phases: Vec<&str> =
        check["phases"].as_array().unwrap().iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["connect", "handshake", "host_key", "auth"], "the bastion resolves: {run}");
    assert!(check["phases"][0]["detail"].as_str().unwrap().contains(&bastion.port.to_string()), "{run}");
    assert_eq!(check["host_keys"].as_array().unwrap().len(), 2, "{run}");
    let without = block("gate", &bastion, &scratch, &["HostKeyAlias other"]);
    let config =
        without.replacen(" HostKeyAlias gate\n", "", 1) + &block("inner", &inner, &scratch, &["ProxyJump gate"]);
    let run = cli(&scratch, &config, "check -F CONFIG inner").run();
    let said = run.failed(77, "host_key_unknown");
    assert_eq!(
        (&said["check"]["phases"][0]["phase"], &said["check"]["phases"][0]["ok"]),
        (&"connect".into(), &false.into())
    );
}

#[test]
fn an_alias_of_an_included_file_is_reached_as_ssh_reaches_it() {
    let (bastion, inner) = (Sshd::start(), Sshd::start());
    let scratch = Scratch::new();
    let directory = scratch.dir("inc");
    let hosts = block("gate", &bastion, &scratch, &[]) + &block("in", &inner, &scratch, &["ProxyJump gate"]);
    std::fs::write(directory.join("10-hosts.conf"), hosts).unwrap();
    let config = format!(
        "Include {}/*.conf\nMatch originalhost in exec \"true\"\n SetEnv LANG=C.UTF-8\nMatch host nowhere exec \"exit 1\"\n Port 1\n",
        directory.display()
    );
    let run = cli(&scratch, &config, "exec -F CONFIG in 'echo reached'").run();
    assert_eq!(run.succeeded().stdout(), "reached\n", "{run}");
    assert_eq!(bastion.connections(), 1, "{run}");
    // A word that nobody knows is named with its place, and nothing is tried.
    let run = cli(&scratch, &(config + "Host x\n NoSuchWord yes\n"), "exec -F CONFIG in true").run();
    let said = run.failed(78, "config_invalid");
    assert!(said.advice().contains("config:") && said.advice().contains("NoSuchWord"), "{run}");
    assert_eq!(bastion.connections(), 1, "{run}");
}
