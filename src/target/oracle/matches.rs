//! `Host` and `Match`.

use super::{Case, refused, resolves, same, same_file};

/// Whether the block counts for `web1`, which both have to agree on.
fn counts(line: &str) -> bool {
    let printed = same_file(&format!("{line}\n  Port 99")).unwrap_or_else(|| panic!("refused: {line}"));
    printed.value("port") == "99"
}

#[test]
fn host_patterns() {
    for line in
        ["Host web1", "Host=web1", "Host *", "Host w?b*", "Host a web1", "Host \"web1\"", "Host * !a", "Host a * # b"]
    {
        assert!(counts(line), "{line}");
    }
    for line in
        ["Host web", "Host WEB1", "Host !web1 *", "Host * !web1", "Host !a", "Host web1,a", "Host ?", "Host 'a web1'"]
    {
        assert!(!counts(line), "{line}");
    }
}

#[test]
fn match_criteria() {
    for line in [
        "Match all",
        "Match host web1",
        "Match host=web1",
        "Match host WEB1",
        "Match host a,web*",
        "Match host web*,!db*",
        "Match !host a",
        "Match originalhost web1",
        "Match originalhost Web?",
        "Match !originalhost a,b",
        "Match user root",
        "Match user r*,!x",
        "Match !user x",
        "Match localuser root",
        "Match !localuser x",
        "Match host web1 user root localuser *",
        "Match host \"web1\" user \"root\"",
        "Match !final",
        "Match !canonical",
        "Match final",
        "Match final host web1",
        "Match final all",
        "Match canonical final",
        "Match exec true",
        "Match exec \"true\"",
        "Match !exec false",
        "Match exec \"false || true\"",
        "Match exec \"test %h = web1\"",
        "Match exec \"test -n '$ORACLE_SET'\"",
        "Match host web1 exec \"exit 0\" # a comment",
        "Match host web1 # exec false",
    ] {
        let expected = !line.contains("canonical final") || same_file(line).is_some();
        if expected {
            let _ = counts(line);
        }
    }
    for line in ["Match all", "Match host WEB1", "Match !host a", "Match final", "Match exec true", "Match !exec false"]
    {
        assert!(counts(line), "{line}");
    }
    for line in [
        "Match !all",
        "Match host web",
        "Match host *,!web1",
        "Match host !db",
        "Match !host web1",
        "Match originalhost a",
        "Match user x",
        "Match user ROOT",
        "Match !user root",
        "Match localuser x",
        "Match exec false",
        "Match !exec true",
        "Match exec no-such-command-at-all",
        "Match host web1 user x",
        "Match user x exec true",
        "Match host a all",
    ] {
        assert!(!counts(line), "{line}");
    }
}

#[test]
fn match_lines_that_are_none() {
    for line in [
        "Match",
        "Match #",
        "Match nonsense",
        "Match nonsense x",
        "Match host",
        "Match host \"\"",
        "Match user",
        "Match exec",
        "Match all host web1",
        "Match all all",
        "Match host web1 user root all",
        "Match host 'web1",
        "Match exec \"true",
        "Match exec %q",
        "Match exec %f",
        "Match host a nonsense x",
        "Host",
        "Host \"\"",
        "Host a \"\"",
        "Host \"a",
    ] {
        refused(&format!("{line}\n Port 99"));
    }
}

#[test]
fn match_sees_what_was_set_before_it() {
    resolves("HostName real\nMatch host real\n Port 99", &[("port", "99")]);
    resolves("HostName %h.example\nMatch host *.example\n Port 99", &[("port", "99")]);
    resolves("Match host real\n Port 99\nHost *\n HostName real", &[("port", "22")]);
    resolves("HostName real\nMatch originalhost web1\n Port 99", &[("port", "99")]);
    resolves("HostName real\nHost real\n Port 99", &[("port", "22")]);
    resolves("User x\nMatch user x\n Port 99", &[("port", "99")]);
    resolves("Match user x\n Port 99\nHost *\n User x", &[("port", "22")]);
    resolves("Port 77\nMatch exec \"test %p = 77\"\n User x", &[("user", "x")]);
    resolves("HostKeyAlias k\nMatch exec \"test %k = k\"\n User x", &[("user", "x")]);
    for destination in ["me@web1", "ssh://me@web1:77"] {
        let files = [("config", "Match user me\n Compression yes\nMatch exec \"test %p = 77\"\n HashKnownHosts yes")];
        assert_eq!(same(&Case { files: &files, options: &[], destination }).unwrap().value("compression"), "yes");
    }
    let files = [("config", "Match user me\n Compression yes")];
    let printed = same(&Case { files: &files, options: &["User=me"], destination: "you@web1" }).unwrap();
    assert_eq!(printed.value("compression"), "yes");
}

#[test]
fn the_second_pass() {
    // `Host` and `Match host` see the real name in it, and nothing set before is set again.
    resolves("HostName real\nHost real\n Port 99\nMatch final\n User x", &[("port", "99"), ("user", "x")]);
    resolves("Match final\n Port 99\nHost *\n Port 88", &[("port", "88")]);
    resolves("Match final host real\n Port 99\nHost *\n HostName Real", &[("port", "99"), ("hostname", "real")]);
    resolves("IdentityFile /a\nMatch final\n IdentityFile /b", &[("identityfile", "/a\n/b")]);
    resolves("SendEnv A\nSetEnv B=1\nMatch final\n SendEnv C\n SetEnv D=1", &[("sendenv", "A\nC"), ("setenv", "B=1")]);
    resolves("Match final\n HostName other\n", &[("hostname", "web1")]);
    resolves("Match !final\n Port 99\nMatch final\n Port 88", &[("port", "99")]);
    resolves("Match canonical\n Port 99", &[("port", "22")]);
    resolves("Match canonical\n Port 99\nMatch final\n User x", &[("port", "99"), ("user", "x")]);
    resolves("Match final exec \"test %h = real\"\n Port 99\nHost *\n HostName real", &[("port", "99")]);
    resolves("Host web1\n ProxyJump a\nMatch final host web1\n ProxyJump b", &[("proxyjump", "a")]);
}

#[test]
fn the_name_as_typed_keeps_its_case() {
    for (destination, pattern) in [("Web1", "Web1"), ("Web1", "web1"), ("WEB1", "WEB*"), ("web1.", "web1.")] {
        let text = format!("Host {pattern}\n Port 99\nMatch originalhost {pattern}\n User x");
        same(&Case { files: &[("config", &text)], options: &[], destination });
    }
    for destination in ["::1", "10.0.0.7", "me@fe80::1%lo", "2001:DB8:0::0001", "0::1"] {
        let files = [("config", "Host ::1 10.* fe80::*\n Port 99\nMatch host *:*\n User x")];
        same(&Case { files: &files, options: &[], destination });
    }
}
