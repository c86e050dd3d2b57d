use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

fn ask(shape: Shape) -> Ask<'static> {
    Ask { what: "--password", prompt: "Password of deploy@web1", shape }
}

fn store(vars: &[(&str, &str)]) -> SecretStore {
    let vars: HashMap<String, OsString> = vars.iter().map(|(k, v)| ((*k).to_owned(), OsString::from(v))).collect();
    SecretStore::with_env(Box::new(move |name| vars.get(name).cloned()))
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn get(store: &SecretStore, source: &SecretSource, shape: Shape) -> Result<Vec<u8>, String> {
    run(store.get(source, ask(shape))).map(|secret| secret.expose().to_vec()).map_err(|fault| match fault {
        Fault::SecretSourceEmpty { what, origin, problem } => {
            assert_eq!(what, "--password");
            format!("{origin}: {problem}")
        }
        other => panic!("{other:?}"),
    })
}

fn line(source: &SecretSource) -> Result<Vec<u8>, String> {
    get(&store(&[]), source, Shape::Line)
}

fn cmd(command: &str) -> SecretSource {
    SecretSource::Command(command.to_owned())
}

fn file(text: &[u8]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

#[test]
fn env_is_taken_whole() {
    let it = store(&[("A", "two\nlines"), ("EMPTY", "")]);
    assert_eq!(get(&it, &SecretSource::Env("A".into()), Shape::Line), Ok(b"two\nlines".to_vec()));
    assert_eq!(get(&it, &SecretSource::Env("EMPTY".into()), Shape::Line), Err("env:EMPTY: it is empty".into()));
    assert_eq!(get(&it, &SecretSource::Env("NO".into()), Shape::Line), Err("env:NO: the variable is not set".into()));
}

#[test]
fn a_file_gives_its_first_line_or_all() {
    for (text, first) in [("pw\nmore\n", "pw"), ("pw", "pw"), ("pw\r\nx", "pw"), (" p w \n", " p w ")] {
        let (_dir, path) = file(text.as_bytes());
        assert_eq!(line(&SecretSource::File(path.clone())), Ok(first.into()));
        assert_eq!(get(&store(&[]), &SecretSource::File(path), Shape::Text), Ok(text.into()));
    }
    let (_dir, path) = file(b"\nsecond\n");
    assert!(line(&SecretSource::File(path)).unwrap_err().ends_with("it is empty"));
    assert!(line(&SecretSource::File("/no/such".into())).unwrap_err().contains("No such file"));
    let (_dir, path) = file(&vec![b'x'; LINE_MAX_BYTES + 1]);
    assert!(line(&SecretSource::File(path)).unwrap_err().ends_with("over 64 KiB"));
}

#[test]
fn a_descriptor_is_read_once_and_no_further_than_its_line() {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let mut write = File::from(write);
    write.write_all(b"pw\nthe rest").unwrap();
    drop(write);
    let number = u32::try_from(read.as_raw_fd()).unwrap();
    let it = store(&[]);
    for _ in 0..2 {
        assert_eq!(get(&it, &SecretSource::Fd(number), Shape::Line), Ok(b"pw".to_vec()));
    }
    let anew = run(it.get_anew(&SecretSource::Fd(number), ask(Shape::Line))).unwrap();
    assert_eq!(anew.expose(), b"pw");
    assert!(get(&it, &SecretSource::Fd(number), Shape::Text).unwrap_err().contains("already read"));
    let mut rest = String::new();
    File::from(read).read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "the rest");
    assert!(line(&SecretSource::Fd(9999)).is_err());
}

#[test]
fn a_command_gives_its_first_line() {
    assert_eq!(line(&cmd("printf 'pw\\nmore\\n'; echo noise >&2")), Ok(b"pw".to_vec()));
    assert_eq!(get(&store(&[]), &cmd("printf 'a\\nb\\n'"), Shape::Text), Ok(b"a\nb\n".to_vec()));
    // Standard input is not ours to give away.
    assert_eq!(line(&cmd("cat; echo pw")), Ok(b"pw".to_vec()));
    // Much output after the line neither blocks it nor counts as success.
    assert!(line(&cmd("echo pw; head -c 200000 /dev/zero")).unwrap_err().contains("over 64 KiB"));
}

#[test]
fn a_command_that_fails_is_told_with_its_own_words() {
    let told = line(&cmd("echo pw; printf 'gpg: \\033[31mno key\\n' >&2; exit 3")).unwrap_err();
    assert!(told.starts_with("cmd:echo pw;") && told.contains("exit status: 3: gpg: \\u{1b}[31mno key"), "{told}");
    assert!(!told.contains("hunter2"));
    assert!(line(&cmd("true")).unwrap_err().ends_with("it is empty"));
    assert!(line(&cmd("kill -9 $$")).unwrap_err().contains("signal"));
    let told = line(&cmd("head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1")).unwrap_err();
    assert!(told.len() < 6000, "{}", told.len());
}

#[test]
fn a_daemon_that_keeps_the_pipes_does_not_keep_us() {
    let begun = std::time::Instant::now();
    assert_eq!(line(&cmd("sleep 20 & echo pw")), Ok(b"pw".to_vec()));
    assert!(begun.elapsed().as_secs() < 10);
}

#[test]
fn askpass_is_asked_with_the_prompt() {
    let (_dir, path) = file(b"#!/bin/sh\necho \"got $1\"\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    let it = store(&[("SSH_ASKPASS", path.to_str().unwrap())]);
    assert_eq!(get(&it, &SecretSource::Askpass, Shape::Line), Ok(b"got Password of deploy@web1: ".to_vec()));
    assert_eq!(line(&SecretSource::Askpass), Err("askpass: SSH_ASKPASS is not set".into()));
    let it = store(&[("SSH_ASKPASS", "/no/such")]);
    assert!(get(&it, &SecretSource::Askpass, Shape::Line).unwrap_err().contains("cannot be run"));
}

#[test]
fn a_source_is_asked_once_and_anew_only_on_request() {
    let (_dir, path) = file(b"");
    let source = cmd(&format!("echo x >> {0}; wc -l < {0} | tr -d ' '", path.display()));
    let it = store(&[]);
    for _ in 0..3 {
        assert_eq!(get(&it, &source, Shape::Line), Ok(b"1".to_vec()));
    }
    assert_eq!(run(it.get_anew(&source, ask(Shape::Line))).unwrap().expose(), b"2");
    assert_eq!(get(&it, &source, Shape::Line), Ok(b"2".to_vec()));
}
