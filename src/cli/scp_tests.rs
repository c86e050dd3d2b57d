use std::os::unix::ffi::OsStringExt;

use super::*;
use crate::effect::Effect;
use crate::model::copy::{
    CopyRequest, LocalSource, LocalTarget, ProgressChoice, ProtocolChoice, RemotePath, Symlinks, Way,
};
use crate::model::request::OutputMode;

fn words(line: &[&str]) -> Vec<OsString> {
    ["ssh-cli", "scp"].iter().chain(line).map(OsString::from).collect()
}

fn copy(line: &[&str]) -> CopyRequest {
    match parse(words(line), &Surroundings::default()) {
        Ok(Request { action: Action::Copy(copy), .. }) => *copy,
        other => panic!("{line:?}: {other:?}"),
    }
}

fn refused(line: &[&str]) -> Fault {
    match parse(words(line), &Surroundings::default()) {
        Err(refused) if refused.command == "scp" => refused.fault,
        other => panic!("{line:?}: {other:?}"),
    }
}

fn message(line: &[&str]) -> String {
    match refused(line) {
        Fault::Usage { message } => message,
        other => panic!("{line:?}: {other:?}"),
    }
}

fn there(path: &str) -> RemotePath {
    RemotePath(path.as_bytes().to_vec())
}

fn here(path: &str) -> LocalSource {
    LocalSource::Path(path.into())
}

#[test]
fn the_side_with_the_host_is_the_remote_one() {
    let request = copy(&["a", "./b:c", "me@web1:/srv/"]);
    assert_eq!(request.destination, "me@web1");
    assert_eq!(request.way, Way::Upload { sources: vec![here("a"), here("./b:c")], target: there("/srv/") });
    let request = copy(&["scp://web1:2222//etc/motd", "scp://web1:2222/x%20y", "."]);
    assert_eq!(request.destination, "ssh://web1:2222");
    let sources = vec![there("/etc/motd"), there("x y")];
    assert_eq!(request.way, Way::Download { sources, target: LocalTarget::Path(".".into()) });
    let request = copy(&["[::1]:", "--", "-odd"]);
    assert_eq!(request.destination, "[::1]");
    assert_eq!(request.way, Way::Download { sources: vec![there("")], target: LocalTarget::Path("-odd".into()) });
}

#[test]
fn paths_are_bytes() {
    let mut line = words(&["-r"]);
    line.extend([b"a\xff b".to_vec(), b"web1:\n\xfe".to_vec()].map(OsString::from_vec));
    let Ok(Request { action: Action::Copy(copy), .. }) = parse(line, &Surroundings::default()) else { panic!() };
    let source = LocalSource::Path(OsString::from_vec(b"a\xff b".to_vec()).into());
    assert_eq!(copy.way, Way::Upload { sources: vec![source], target: RemotePath(b"\n\xfe".to_vec()) });
}

#[test]
fn options_may_stand_anywhere_before_a_double_dash() {
    for line in [
        &["-r", "-p", "2222", "a", "h:b"][..],
        &["a", "-r", "h:b", "-P2222"],
        &["a", "h:b", "--recursive", "--port=2222"],
        &["-rp", "2222", "--", "a", "h:b"],
    ] {
        let request = copy(line);
        assert!(request.options.recursive && request.connection.port == Some(2222), "{line:?}");
        assert_eq!(request.way, Way::Upload { sources: vec![here("a")], target: there("b") }, "{line:?}");
    }
}

#[test]
fn every_copy_option_arrives() {
    let options = copy(&[
        "--preserve",
        "--verify",
        "--resume",
        "--protocol",
        "sftp",
        "--mode",
        "0640",
        "--parents",
        "--no-clobber",
        "--symlinks",
        "keep",
        "--progress",
        "always",
        "--timeout",
        "3s",
        "--effect",
        "write",
        "a",
        "h:b",
    ])
    .options;
    assert!(options.preserve && options.verify && options.resume && options.parents && options.no_clobber);
    assert!(!options.in_place && !options.recursive);
    assert_eq!((options.protocol, options.mode), (ProtocolChoice::Sftp, Some(0o640)));
    assert_eq!((options.symlinks, options.progress), (Symlinks::Keep, ProgressChoice::Always));
    assert_eq!((options.timeout.map(|t| t.as_secs()), options.effect), (Some(3), Effect::Write));
    assert!(copy(&["--in-place", "--no-clobber", "--resume", "a", "h:b"]).options.in_place);
}

#[test]
fn the_effect_follows_from_the_direction() {
    assert_eq!(copy(&["a", "h:b"]).options.effect, Effect::Idempotent);
    assert_eq!(copy(&["h:b", "a"]).options.effect, Effect::Read);
    assert_eq!(copy(&["--effect", "idempotent", "h:b", "a"]).options.effect, Effect::Idempotent);
    let plain = copy(&["a", "h:b"]).options;
    assert_eq!((plain.protocol, plain.symlinks), (ProtocolChoice::Auto, Symlinks::Follow));
    assert_eq!((plain.progress, plain.mode, plain.timeout), (ProgressChoice::Auto, None, None));
}

#[test]
fn exactly_one_side_is_remote() {
    for (line, part) in [
        (&["a", "b"][..], "neither side is remote"),
        (&["a", "b", "c/"], "neither side is remote"),
        (&["-", "b"], "neither side is remote"),
        (&["h:a", "h:b"], "both sides are remote"),
        (&["a", "h:a", "h2:b"], "both sides are remote"),
        (&["h:a", "b", "c"], "a local source among remote ones"),
        (&["h:a", "h2:b", "c"], "one machine"),
        (&["me@h:a", "h:b", "c"], "one machine"),
        (&["h:a"], "SOURCE and TARGET"),
        (&[], "SOURCE and TARGET"),
        (&["", "h:a"], "empty"),
        (&["a b:c", "d"], "./NAME"),
        (&["--", "-oProxyCommand=x:y", "."], "begins with `-`"),
        (&["h:2222:/x", "."], "-p 2222 h:/x"),
    ] {
        let message = message(line);
        assert!(message.contains(part), "{line:?}: {message}");
    }
    assert_eq!(copy(&["me@h:a", "scp://me@h/b", "c"]).destination, "me@h");
}

#[test]
fn standard_input_is_one_source_that_needs_a_name() {
    assert_eq!(copy(&["-", "h:b"]).way, Way::Upload { sources: vec![LocalSource::Stdin], target: there("b") });
    assert_eq!(copy(&["./-", "h:b"]).way, Way::Upload { sources: vec![here("./-")], target: there("b") });
    for target in ["h:", "h:b/", "scp://h", "scp://h/b/"] {
        assert!(message(&["-", target]).contains("name the file"), "{target}");
    }
    for line in [&["-", "a", "h:b"][..], &["-", "-", "h:b/"]] {
        assert!(message(line).contains("by itself"), "{line:?}");
    }
    for line in [&["--resume", "-", "h:b"][..], &["--password", "stdin", "-", "h:b"], &["-i", "fd:0", "-", "h:b"]] {
        assert!(matches!(refused(line), Fault::OptionConflict { .. }), "{line:?}");
    }
}

#[test]
fn standard_output_is_a_target_in_raw_mode_alone() {
    let target = |line: &[&str], surroundings: &Surroundings| match parse(words(line), surroundings) {
        Ok(Request { action: Action::Copy(copy), output, .. }) => Ok((copy.way, output.mode)),
        Ok(other) => panic!("{other:?}"),
        Err(refused) => Err(refused.fault),
    };
    let plain = Surroundings::default();
    let terminal = Surroundings { stdout_is_terminal: true, ..Surroundings::default() };
    let expected = Ok((Way::Download { sources: vec![there("a")], target: LocalTarget::Stdout }, OutputMode::Raw));
    assert_eq!(target(&["--raw", "--verify", "h:a", "-"], &plain), expected);
    assert_eq!(target(&["h:a", "-"], &terminal), expected);
    for line in [
        &["h:a", "-"][..],
        &["--json", "h:a", "-"],
        &["--output", "ndjson", "h:a", "-"],
        &["--raw", "-r", "h:a", "-"],
        &["--raw", "--preserve", "h:a", "-"],
        &["--raw", "--mode", "644", "h:a", "-"],
        &["--raw", "--in-place", "h:a", "-"],
        &["--raw", "--resume", "h:a", "-"],
        &["--raw", "--symlinks", "keep", "h:a", "-"],
    ] {
        let fault = target(line, &plain).unwrap_err();
        assert!(matches!(fault, Fault::OptionConflict { .. }), "{line:?}: {fault}");
    }
    assert!(message(&["--raw", "h:a", "h:b", "-"]).contains("one file"));
}

#[test]
fn dash_p_is_the_port_and_says_so() {
    for line in [&["-p", "a", "h:b"][..], &["-pr", "a", "h:b"], &["-rp", "a", "h:b"], &["-P", "x", "a", "h:b"]] {
        let message = message(line);
        assert!(message.contains("--preserve") && !message.contains("`a`"), "{line:?}: {message}");
    }
    assert_eq!(copy(&["-p", "22", "a", "h:b"]).connection.port, Some(22));
}

#[test]
fn a_copy_takes_no_key() {
    for line in [&["--op", "k", "a", "h:b"][..], &["--idempotency-key=k", "a", "h:b"]] {
        assert!(message(line).contains("no --op"), "{line:?}");
    }
    let Action::Print(help) = parse(words(&["--help"]), &Surroundings::default()).unwrap().action else { panic!() };
    assert!(!help.contains("--op ") && help.contains("SOURCE... TARGET") && help.contains("Copy:"), "{help}");
}

#[test]
fn copy_values_are_checked() {
    for line in [
        &["--mode", "1777", "a", "h:b"][..],
        &["--mode", "rw", "a", "h:b"],
        &["--protocol", "ftp", "a", "h:b"],
        &["--symlinks", "maybe", "a", "h:b"],
        &["--progress", "no", "a", "h:b"],
        &["--timeout", "0", "a", "h:b"],
        &["--stdin", "a", "h:b"],
        &["--max-output", "1k", "a", "h:b"],
        &["scp://u:hunter2@h/a", "b"],
    ] {
        let message = message(line);
        assert!(!message.contains("hunter2"), "{message}");
    }
}
