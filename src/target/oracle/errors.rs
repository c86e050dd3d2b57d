//! What is refused.

use super::{Case, Setting, refused, same, same_file};
use crate::errors::Fault;

#[test]
fn lines_that_are_wrong_are_refused_wherever_they_are() {
    for line in [
        "Frobnicate yes",
        "Frobnicate",
        "Port",
        "Port x",
        "Port 0",
        "Port 65536",
        "Port 99999999999",
        "Port -1",
        "Port 22 23",
        "Port \"",
        "Port 'a",
        "User",
        "User \"\"",
        "User a b",
        "User \"a",
        "HostName",
        "HostName a b",
        "IdentityFile",
        "IdentityFile \"\"",
        "IdentityFile a b",
        "IdentitiesOnly maybe",
        "IdentitiesOnly",
        "UserKnownHostsFile none /a",
        "UserKnownHostsFile /a none",
        "UserKnownHostsFile \"\"",
        "StrictHostKeyChecking maybe",
        "PasswordAuthentication 1",
        "PubkeyAuthentication maybe",
        "ConnectTimeout",
        "ConnectTimeout x",
        "ConnectTimeout 5x",
        "ConnectTimeout -1",
        "ConnectTimeout \"\"",
        "ConnectTimeout 99999999999",
        "ConnectionAttempts x",
        "ConnectionAttempts -1",
        "ConnectionAttempts 99999999999",
        "ServerAliveInterval x",
        "ServerAliveCountMax -1",
        "AddressFamily ipv4",
        "Compression true",
        "SendEnv A=b",
        "SendEnv \"\"",
        "SetEnv A",
        "RekeyLimit",
        "RekeyLimit x",
        "RekeyLimit 15",
        "RekeyLimit -1",
        "RekeyLimit 1G x",
        "RekeyLimit 1G 1h 1h",
        "RekeyLimit 99999999999999G",
        "Ciphers",
        "Ciphers \"\"",
        "Ciphers a,,b",
        "KexAlgorithms +",
        "PreferredAuthentications",
        "ProxyJump",
        "ProxyJump a,,b",
        "ProxyJump a,",
        "ProxyJump a:x",
        "ProxyJump @a",
        "ProxyCommand",
        "ProxyCommand \"",
        "ControlMaster sometimes",
        "ForwardX11 maybe",
        "ForwardX11Timeout x",
        "LogLevel loud",
        "FingerprintHash crc",
        "RequestTTY maybe",
        "Tunnel maybe",
        "NumberOfPasswordPrompts x",
        "CanonicalizeHostname maybe",
        "SessionType x",
        "UpdateHostKeys maybe",
        "RequiredRSASize x",
        "VerifyHostKeyDNS maybe",
    ] {
        refused(line);
        refused(&format!("Host other\n {line}"));
        refused(&format!("Port 22\nUser x\n{line}"));
    }
}

#[test]
fn what_the_command_line_cannot_say() {
    for option in ["Host=x", "Match=all", "Include=x", "Frobnicate=1", "Port=x", "User=a;b", "User=-x", "Port", "Port="]
    {
        let case = Case { files: &[("config", "")], options: &[option], destination: "web1" };
        assert!(same(&case).is_none(), "{option}");
    }
}

#[test]
fn unknown_keywords_pass_where_ignore_unknown_names_them() {
    for text in [
        "IgnoreUnknown Frobnicate\nFrobnicate yes",
        "IgnoreUnknown frob*,other\nFROBnicate yes no",
        "IgnoreUnknown FROB*\nfrobnicate x",
        "Host web1\n IgnoreUnknown *\nHost other\n Whatever x",
    ] {
        assert!(same_file(text).is_some(), "{text}");
    }
    for text in [
        "Frobnicate yes\nIgnoreUnknown Frobnicate",
        "IgnoreUnknown *,!frob*\nFrobnicate yes",
        "IgnoreUnknown other\nFrobnicate yes",
        "IgnoreUnknown *\nFrobnicate",
        "IgnoreUnknown *\nFrobnicate \"x",
        "IgnoreUnknown *\nPort x",
        "Host other\n IgnoreUnknown *\nHost *\n Frobnicate x",
        "IgnoreUnknown a\nIgnoreUnknown frobnicate\nFrobnicate x",
    ] {
        refused(text);
    }
}

#[test]
fn values_that_do_not_expand() {
    for text in [
        "HostName %r",
        "HostName %",
        "HostName %q",
        "UserKnownHostsFile /%q",
        "UserKnownHostsFile /${ORACLE_UNSET}",
        "UserKnownHostsFile ~no-such-user-here/x",
        "IdentityAgent ${ORACLE_UNSET}",
    ] {
        refused(text);
    }
    assert!(same_file("UserKnownHostsFile /${ORACLE_SET}/%% %d/x ~/y ~root/z").is_some());
}

#[test]
fn the_place_and_what_was_expected_are_named() {
    let problem = |files: &[(&str, &str)]| {
        let setting = Setting::new(files);
        match setting.ours("web1", &[]) {
            Err(Fault::ConfigInvalid { place, problem }) => {
                (place.replace(setting.path().to_str().unwrap(), ""), problem)
            }
            other => panic!("{files:?} {other:?}"),
        }
    };
    for (text, place, word) in [
        ("\n# x\nPort x", "/config:3", "`Port`: `x` is not a port from 1 to 65535"),
        ("User x\r\nFrobnicate 1", "/config:2", "`Frobnicate`: no such ssh_config keyword"),
        ("Include DIR/config", "/config:1", "includes itself"),
        ("Match nonsense x", "/config:1", "`nonsense` is no criterion"),
        ("Host *\n HostName %r", "/config:2", "HostName: `%r` cannot be used"),
        ("User a;b", "/config:1", "User: its user holds `;`"),
        ("Match command x\n", "/config:1", "the criterion `command` is not supported"),
        ("Host other\n RefuseConnection a\nHost *\n RefuseConnection \"not this way\"", "/config:4", "not this way"),
    ] {
        let (got_place, problem) = problem(&[("config", text)]);
        assert_eq!(got_place, place, "{text}");
        assert!(problem.contains(word), "{text}: {problem}");
    }
    let files = [("config", "User x\nInclude DIR/inc"), ("inc", "\n\nPort x")];
    assert_eq!(problem(&files).0, "/inc:3");
}
