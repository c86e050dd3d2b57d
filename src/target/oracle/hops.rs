//! Bastions: each is compared with what `ssh -G` says when it is asked as ssh asks itself, by `-J` for those before it.

use std::process::Command;

use super::super::{Target, resolve_for};
use super::Setting;
use crate::errors::Fault;
use crate::model::outcome::Warning;

fn resolved(setting: &Setting, destination: &str, jump: &[&str]) -> Result<(Target, Vec<Warning>), Fault> {
    let mut options = setting.connection(&[]);
    options.jump = jump.iter().map(|hop| (*hop).to_owned()).collect();
    resolve_for(&setting.local(), destination, &options)
}

/// The way that ssh would take: it starts itself for the last bastion, with those before it as `-J`.
fn theirs(setting: &Setting, destination: &str, jump: Option<&str>) -> Vec<(String, String, String)> {
    let mut ssh = Command::new("ssh");
    ssh.arg("-G").arg("-F").arg(setting.config()).args(jump.iter().flat_map(|jump| ["-J", jump]));
    let said = ssh.arg(destination).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let said = String::from_utf8(said.stdout).unwrap();
    let value = |key: &str| said.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().to_owned();
    let mut way = match value("proxyjump ").rsplit_once(',') {
        Some((before, last)) => theirs(setting, &format!("ssh://{last}"), Some(before)),
        None if value("proxyjump ").is_empty() => Vec::new(),
        None => theirs(setting, &format!("ssh://{}", value("proxyjump ")), None),
    };
    way.push((value("user "), value("hostname "), value("port ")));
    way
}

fn ours(target: &Target) -> Vec<(String, String, String)> {
    let one = |target: &Target| (target.user.clone(), target.host.clone(), target.port.to_string());
    assert!(target.jump.iter().all(|hop| hop.jump.is_empty()));
    target.jump.iter().map(one).chain([one(target)]).collect()
}

const FILE: &str = "\
Host web1
  User deploy
  ProxyJump jump
Host db
  ProxyJump one,me@two:2222,jump
Host jump
  HostName jump.example
  User j
  Port 2200
Host one
  ProxyJump outer
  HostName one.example
Host outer
  HostName outer.example
  ProxyJump outermost
Host two
  ProxyJump outermost
  ProxyCommand never
  Port 9
Host commanded
  ProxyCommand nc %h %p
Host via
  ProxyJump commanded
Host user
  User who
  ProxyJump gate-%r
";

#[test]
fn the_way_is_that_of_ssh() {
    let setting = Setting::new(&[("config", FILE)]);
    for (destination, jump) in [
        ("web1", &[][..]),
        ("db", &[]),
        ("via", &[]),
        ("plain", &[]),
        ("one", &[]),
        ("web1", &["none"]),
        ("web1", &["one"]),
        ("web1", &["two"]),
        ("web1", &["jump", "two"]),
        ("web1", &["two", "jump"]),
        ("web1", &["one", "x@db:7", "jump"]),
        ("me@plain", &["you@jump:7"]),
    ] {
        let (target, warnings) = resolved(&setting, destination, jump).unwrap();
        assert_eq!(warnings, []);
        let given = jump.join(",");
        let theirs = theirs(&setting, destination, (!jump.is_empty()).then_some(given.as_str()));
        assert_eq!(ours(&target), theirs, "{destination} {jump:?}");
    }
}

#[test]
fn hops_have_their_own_configuration() {
    let setting = Setting::new(&[("config", FILE)]);
    let (target, _) = resolved(&setting, "db", &[]).unwrap();
    let names: Vec<_> = target.jump.iter().map(|hop| hop.alias.as_str()).collect();
    assert_eq!(names, ["outermost", "outer", "one", "two", "jump"]);
    assert!(target.proxy_command.is_none() && target.jump.iter().all(|hop| hop.proxy_command.is_none()));
    let (target, _) = resolved(&setting, "via", &[]).unwrap();
    assert_eq!(target.jump[0].proxy_command.as_deref(), Some("nc commanded 22"));
    let (target, _) = resolved(&setting, "user", &[]).unwrap();
    assert_eq!(target.jump[0].host, "gate-who");
}

#[test]
fn ways_that_lead_back_are_refused() {
    for (text, destination) in [
        ("Host *\n ProxyJump bastion", "web1"),
        ("ProxyJump web1", "web1"),
        ("Host a\n ProxyJump b\nHost b\n ProxyJump a", "a"),
        ("Host a\n ProxyJump b\nHost b\n ProxyJump c\nHost c\n ProxyJump b", "a"),
        ("Match exec \"exit 0\"\n ProxyJump x%h", "web1"),
    ] {
        let setting = Setting::new(&[("config", text)]);
        match resolved(&setting, destination, &[]) {
            Err(Fault::ConfigInvalid { place, problem }) => {
                assert!(place.contains("/config:") && problem.starts_with("ProxyJump: "), "{place}: {problem}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    let setting = Setting::new(&[("config", "")]);
    assert!(matches!(resolved(&setting, "web1", &["web1"]), Err(Fault::ConfigInvalid { .. })));
    assert!(matches!(resolved(&setting, "web1", &["a b"]), Err(Fault::Usage { .. })));
    assert!(matches!(resolved(&setting, "web1", &["-oX"]), Err(Fault::Usage { .. })));
}
