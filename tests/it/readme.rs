//! The README's examples, run as they stand: each `sh` block, with `web1` standing for a host of the rig, and each `sh sudo` block, with
//! a sudo there that asks for the password in `SUDO_PW`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::rig::{Envelope, Sshd, needs};
use crate::sudo::Host;

/// The fenced blocks of this kind.
fn blocks(kind: &str) -> Vec<String> {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let fence = format!("```{kind}\n");
    let parts = readme.split(&fence).skip(1).map(|part| part.split("\n```").next().unwrap().to_owned());
    parts.collect()
}

#[test]
fn every_shell_example_works_as_written() {
    if needs::no_program("jq") {
        return;
    }
    let examples = blocks("sh");
    assert!(examples.len() >= 8, "only {} examples", examples.len());
    work_as_written(&Sshd::start(), &examples, None);
}

#[test]
fn every_example_with_other_rights_works_as_written() {
    let Some(host) = Host::with("readme", &["USER ALL=(ALL) ALL"]) else { return };
    let examples = blocks("sh sudo");
    assert!(examples.len() >= 2, "only {} examples", examples.len());
    work_as_written(&host.sshd, &examples, Some(host.sshd.account.password()));
}

/// Runs them, with the password in `SUDO_PW`.
fn work_as_written(sshd: &Sshd, examples: &[String], password: Option<&str>) {
    let cli = sshd.cli("exec DEST");
    let home = cli.scratch().path().to_owned();
    let spelled = cli.spelled();
    let (options, dest) = spelled.split_once("exec ").unwrap().1.rsplit_once(' ').unwrap();
    let user = dest.split_once('@').unwrap().0;
    // The product under its own name, which knows web1.
    let bin = cli.scratch().dir("bin");
    let wrapper = format!(
        "#!/bin/sh\ncommand=$1\nshift\nexec {} \"$command\" {options} -l {user} -o HostName=127.0.0.1 \
         -o 'HostKeyAlias=[127.0.0.1]:{}' \"$@\"\n",
        env!("CARGO_BIN_EXE_ssh-cli"),
        sshd.port,
    );
    fs::write(bin.join("ssh-cli"), wrapper).unwrap();
    fs::set_permissions(bin.join("ssh-cli"), fs::Permissions::from_mode(0o755)).unwrap();
    for example in examples {
        let out = Command::new("sh")
            .args(["-eu", "-c", example])
            .env_clear()
            .env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()))
            .env("HOME", &home)
            .envs(password.map(|password| ("SUDO_PW", password)))
            .env("XDG_STATE_HOME", home.join("state"))
            .current_dir(&home)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        let complained = String::from_utf8_lossy(&out.stderr);
        // Some show a failure on purpose, and pass it to jq: then the last status is jq's.
        assert!(out.status.success(), "{example}\n--- {}\n{said}\n{complained}", out.status);
        assert!(!said.is_empty(), "{example}\nprinted nothing\n{complained}");
    }
}

#[test]
fn the_envelope_shown_is_one_that_could_be_printed() {
    let shown = blocks("json");
    assert!(!shown.is_empty());
    for envelope in shown {
        let value: serde_json::Value = serde_json::from_str(&envelope).unwrap();
        let exit = i32::try_from(value["exit_code"].as_i64().unwrap()).unwrap();
        let _ = Envelope::check(value, exit, &envelope);
    }
}
