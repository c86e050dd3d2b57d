//! `Include`.

use super::{Case, Setting, same};

fn port_and_user(files: &[(&str, &str)]) -> (String, String) {
    let printed = same(&Case { files, options: &[], destination: "web1" }).unwrap();
    (printed.value("port").to_owned(), printed.value("user").to_owned())
}

fn refused(files: &[(&str, &str)]) {
    assert!(same(&Case { files, options: &[], destination: "web1" }).is_none(), "{files:?}");
}

#[test]
fn globs_names_and_their_order() {
    let b = ("inc/b.conf", "Port 2\nUser b\n");
    let a = ("inc/a.conf", "Port 1\n");
    let other = ("inc/c.conf~", "Port 3\nHostName c");
    assert_eq!(port_and_user(&[("config", "Include DIR/inc/*.conf"), b, a, other]), ("1".into(), "b".into()));
    assert_eq!(port_and_user(&[("config", "Include DIR/inc/b.conf DIR/inc/a.conf"), b, a]), ("2".into(), "b".into()));
    assert_eq!(port_and_user(&[("config", "Include=\"DIR/inc/[b-z].conf\""), b, a]), ("2".into(), "b".into()));
    assert_eq!(port_and_user(&[("config", "Port 9\nInclude DIR/*/?.conf"), b, a]), ("9".into(), "b".into()));
    assert_eq!(port_and_user(&[("config", "Include DIR/missing DIR/none/*.conf\nPort 9"), a]).0, "9");
    assert_eq!(port_and_user(&[("config", "Include DIR/inc\nPort 9"), a]).0, "9");
    assert_eq!(port_and_user(&[("config", "Include DIR/in*\nPort 9"), a]).0, "9");
    assert_eq!(port_and_user(&[("config", "Include DIR/inc/a.conf # x\nUser z"), a]), ("1".into(), "z".into()));
}

#[test]
fn what_an_included_file_matches_ends_with_it() {
    let inner = ("inc", "Host other\n Port 1\n");
    assert_eq!(port_and_user(&[("config", "Include DIR/inc\nPort 9"), inner]).0, "9");
    assert_eq!(port_and_user(&[("config", "Host web1\n Include DIR/inc\n Port 9"), inner]).0, "9");
    let inner = ("inc", "Host web1\n Port 1\n");
    assert_eq!(port_and_user(&[("config", "Host other\n Include DIR/inc\n User u\nHost *\n Port 9"), inner]).0, "9");
}

#[test]
fn inside_blocks_it_is_conditional() {
    let inner = ("inc", "Port 1\nHost web1\n User inner\nMatch all\n Compression yes");
    assert_eq!(port_and_user(&[("config", "Host web1\n Include DIR/inc"), inner]), ("1".into(), "inner".into()));
    assert_eq!(port_and_user(&[("config", "Host other\n Include DIR/inc"), inner]), ("22".into(), "root".into()));
    assert_eq!(port_and_user(&[("config", "Match host web1\n Include DIR/inc"), inner]).0, "1");
    assert_eq!(port_and_user(&[("config", "Match host other\n Include DIR/inc"), inner]).0, "22");
    assert_eq!(port_and_user(&[("config", "Match exec false\n Include DIR/inc"), inner]).0, "22");
    // The second pass is asked for even from where nothing counts.
    let inner = ("inc", "Match final\n Port 1\n");
    let config = "Host real\n User r\nHost other\n Include DIR/inc\nHost *\n HostName real";
    assert_eq!(port_and_user(&[("config", config), inner]), ("22".into(), "r".into()));
}

#[test]
fn nested_and_too_deep() {
    let files = [("config", "Include DIR/a"), ("a", "Include DIR/b\nPort 2"), ("b", "User b\nPort 3")];
    assert_eq!(port_and_user(&files), ("3".into(), "b".into()));
    let names: Vec<_> =
        (0..=16).map(|n| (format!("f{n}"), format!("Include DIR/f{}\nPort {}", n + 1, n + 1))).collect();
    let deep = |last: usize| {
        let first = ("config", "Include DIR/f1");
        let rest = names[1..last].iter().map(|(name, text)| (name.as_str(), text.as_str()));
        std::iter::once(first).chain(rest).chain([(names[last].0.as_str(), "User deep")]).collect::<Vec<_>>()
    };
    assert_eq!(port_and_user(&deep(15)).1, "deep");
    assert_eq!(port_and_user(&deep(16)).1, "deep");
    let mut over = deep(16);
    over[16].1 = "Include DIR/f17";
    over.push(("f17", "User deeper"));
    refused(&over);
}

#[test]
fn loops_end_in_an_error() {
    refused(&[("config", "Include DIR/config")]);
    refused(&[("config", "Include DIR/a"), ("a", "Include DIR/b"), ("b", "Host x\n Include DIR/a")]);
    refused(&[("config", "Host other\n Include DIR/conf*")]);
}

#[test]
fn mistakes_in_included_files_count_wherever_they_are() {
    refused(&[("config", "Include DIR/a"), ("a", "Port x")]);
    refused(&[("config", "Host other\n Include DIR/a"), ("a", "Port x")]);
    refused(&[("config", "Host other\n Include DIR/a"), ("a", "Frobnicate x")]);
    refused(&[("config", "Include \"\"")]);
    refused(&[("config", "Include")]);
    refused(&[("config", "Include \"a")]);
}

#[test]
fn files_that_others_can_write_are_not_used() {
    use std::os::unix::fs::PermissionsExt;
    for (mode, used) in [(0o644, true), (0o600, true), (0o444, true), (0o646, false), (0o666, false), (0o602, false)] {
        let setting = Setting::new(&[("config", "Include DIR/inc"), ("inc", "Port 1")]);
        let inner = setting.path().join("inc");
        std::fs::set_permissions(&inner, std::fs::Permissions::from_mode(mode)).unwrap();
        let (ours, theirs) = (setting.ours("web1", &[]), setting.theirs("web1", &[]));
        assert_eq!((ours.is_ok(), theirs.is_ok()), (used, used), "{mode:o} {ours:?} {theirs:?}");
    }
    // The file that was named is the caller's affair.
    let setting = Setting::new(&[("config", "Port 1")]);
    std::fs::set_permissions(setting.config(), std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(setting.ours("web1", &[]).is_ok() && setting.theirs("web1", &[]).is_ok());
}
