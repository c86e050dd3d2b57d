//! Keywords, their values, and which of several counts.

use super::{Case, resolves, same, same_file};

#[test]
fn every_honoured_keyword() {
    for (line, key, value) in [
        ("HostName 10.0.0.7", "hostname", "10.0.0.7"),
        ("HostName Web1.Example", "hostname", "web1.example"),
        ("HostName %h.example", "hostname", "web1.example"),
        ("HostName 100%%h", "hostname", "100%h"),
        ("HostName fe80::1%%eth0", "hostname", "fe80::1%eth0"),
        ("User deploy", "user", "deploy"),
        ("User \"a b\"", "user", "a b"),
        ("Port 2222", "port", "2222"),
        ("Port 022", "port", "22"),
        ("IdentityFile ~/.ssh/a", "identityfile", "~/.ssh/a"),
        ("IdentityFile2 ~/.ssh/a", "identityfile", "~/.ssh/a"),
        ("IdentityFile %d/%h-%r", "identityfile", "%d/%h-%r"),
        ("IdentitiesOnly yes", "identitiesonly", "yes"),
        ("IdentityAgent SSH_AUTH_SOCK", "identityagent", "SSH_AUTH_SOCK"),
        ("CertificateFile DIR/cert", "certificatefile", ""),
        ("Host web1\n ProxyJump bastion", "proxyjump", "bastion"),
        ("Host web1\n ProxyJump me@bastion:2222", "proxyjump", "me@bastion:2222"),
        ("ProxyCommand nc -X 5 %h %p", "proxycommand", "nc -X 5 %h %p"),
        ("ProxyCommand none", "proxycommand", ""),
        ("UserKnownHostsFile /a /b", "userknownhostsfile", "/a /b"),
        ("UserKnownHostsFile /a/%h-%p-%r", "userknownhostsfile", "/a/web1-22-root"),
        ("UserKnownHostsFile none", "userknownhostsfile", ""),
        ("GlobalKnownHostsFile /a \"/b c\"", "globalknownhostsfile", "/a /b c"),
        ("GlobalKnownHostsFile none", "globalknownhostsfile", ""),
        ("KnownHostsCommand /bin/find %H", "knownhostscommand", "/bin/find %H"),
        ("RevokedHostKeys /etc/ssh/revoked", "revokedhostkeys", "/etc/ssh/revoked"),
        ("RevokedHostKeys none", "revokedhostkeys", ""),
        ("StrictHostKeyChecking no", "stricthostkeychecking", "false"),
        ("StrictHostKeyChecking off", "stricthostkeychecking", "false"),
        ("StrictHostKeyChecking yes", "stricthostkeychecking", "true"),
        ("StrictHostKeyChecking ask", "stricthostkeychecking", "true"),
        ("StrictHostKeyChecking Accept-New", "stricthostkeychecking", "accept-new"),
        ("HostKeyAlias Cluster", "hostkeyalias", "cluster"),
        ("HashKnownHosts yes", "hashknownhosts", "yes"),
        ("PreferredAuthentications publickey,password", "preferredauthentications", "publickey,password"),
        ("PasswordAuthentication no", "passwordauthentication", "no"),
        ("PubkeyAuthentication no", "pubkeyauthentication", "false"),
        ("DSAAuthentication no", "pubkeyauthentication", "false"),
        ("KbdInteractiveAuthentication no", "kbdinteractiveauthentication", "no"),
        ("ChallengeResponseAuthentication no", "kbdinteractiveauthentication", "no"),
        ("SkeyAuthentication no", "kbdinteractiveauthentication", "no"),
        ("ConnectTimeout 7", "connecttimeout", "7"),
        ("ConnectTimeout 1m30s", "connecttimeout", "90"),
        ("ConnectTimeout 1H", "connecttimeout", "3600"),
        ("ConnectionAttempts 3", "connectionattempts", "3"),
        ("ServerAliveInterval 20", "serveraliveinterval", "20"),
        ("ServerAliveCountMax 5", "serveralivecountmax", "5"),
        ("AddressFamily inet6", "addressfamily", "inet6"),
        ("AddressFamily INET", "addressfamily", "inet"),
        ("BindAddress 127.0.0.1", "bindaddress", "127.0.0.1"),
        ("BindInterface lo", "bindinterface", "lo"),
        ("Compression yes", "compression", "yes"),
        ("SendEnv LANG LC_*", "sendenv", "LANG\nLC_*"),
        ("SetEnv A=1 B=\"x y\" A=2", "setenv", "A=1\nB=x y"),
        ("RekeyLimit 1G", "rekeylimit", "1073741824 0"),
        ("RekeyLimit 1.5M 1h", "rekeylimit", "1572864 3600"),
        ("RekeyLimit default none", "rekeylimit", "0 0"),
        ("RekeyLimit default 10", "rekeylimit", "0 10"),
        ("Ciphers aes128-ctr,aes256-ctr", "ciphers", "aes128-ctr,aes256-ctr"),
        ("MACs hmac-sha2-256", "macs", "hmac-sha2-256"),
        ("KexAlgorithms curve25519-sha256", "kexalgorithms", "curve25519-sha256"),
        ("HostKeyAlgorithms ssh-ed25519,rsa-sha2-512", "hostkeyalgorithms", "ssh-ed25519,rsa-sha2-512"),
        ("PubkeyAcceptedKeyTypes ssh-ed25519", "pubkeyacceptedalgorithms", "ssh-ed25519"),
        ("PubkeyAcceptedAlgorithms +ssh-rsa", "pubkeyacceptedalgorithms", "+ssh-rsa"),
        ("Ciphers -aes128*", "ciphers", "-aes128*"),
        ("KexAlgorithms ^curve25519-sha256", "kexalgorithms", "^curve25519-sha256"),
    ] {
        let printed = same_file(line).unwrap_or_else(|| panic!("refused: {line}"));
        if !value.is_empty() || !line.contains("DIR") {
            assert_eq!(printed.value(key), value, "{line}");
        }
    }
}

#[test]
fn forms_of_a_line() {
    for line in [
        "user x",
        "USER x",
        "User=x",
        "User = x",
        "User  =  x",
        "  User\tx",
        "\t User x  \t",
        "User x\r",
        "User x \x0c",
        "User \"x\"",
        "User 'x'",
        "User=\"x\"",
        "User x # and a comment",
        "\"User\" x",
        "\r\nUser x\r\n\r\n",
        "# User y\n   # User z\nUser x",
        "User x\n#",
    ] {
        resolves(line, &[("user", "x")]);
    }
    for (line, user) in [("User x#y", "x#y"), ("User a\\ b", "a b"), ("User ==x", "=x"), ("User =x", "x")] {
        if let Some(printed) = same_file(line).filter(|_| !user.is_empty()) {
            assert_eq!(printed.value("user"), user, "{line}");
        }
    }
}

#[test]
fn the_first_value_wins() {
    resolves("User a\nUser b", &[("user", "a")]);
    resolves(
        "Host web1\n User a\n Port 1\nHost *\n User b\n Port 2\n Compression yes",
        &[("user", "a"), ("port", "1"), ("compression", "yes")],
    );
    resolves("UserKnownHostsFile /a\nUserKnownHostsFile /b", &[("userknownhostsfile", "/a")]);
    resolves("SetEnv A=1\nSetEnv B=2", &[("setenv", "A=1")]);
    resolves("RekeyLimit 1M\nRekeyLimit 2M 9", &[]);
    resolves(
        "PubkeyAcceptedKeyTypes ssh-ed25519\nPubkeyAcceptedAlgorithms ssh-rsa",
        &[("pubkeyacceptedalgorithms", "ssh-ed25519")],
    );
    resolves(
        "ChallengeResponseAuthentication no\nKbdInteractiveAuthentication yes",
        &[("kbdinteractiveauthentication", "no")],
    );
}

#[test]
fn what_adds_up() {
    resolves("IdentityFile /a\nHost *\nIdentityFile /b\nIdentityFile /a", &[("identityfile", "/a\n/b")]);
    resolves("CertificateFile /a\nCertificateFile /b\nCertificateFile /a", &[("certificatefile", "/a\n/b")]);
    resolves("SendEnv A B\nSendEnv LC_* C", &[("sendenv", "A\nB\nLC_*\nC")]);
    resolves("SendEnv A LC_X LC_*\nSendEnv -LC_* D", &[("sendenv", "A\nD")]);
    resolves("SendEnv -*\nSendEnv A", &[("sendenv", "A")]);
}

#[test]
fn of_proxy_jump_and_proxy_command_the_first_counts() {
    for text in [
        "ProxyJump a\nProxyCommand nc",
        "ProxyCommand nc\nProxyJump a",
        "ProxyCommand none\nProxyJump a",
        "ProxyJump none\nProxyCommand nc",
        "ProxyJump none",
        "ProxyJump none\nProxyJump a\nProxyCommand nc",
        "ProxyJump none\nProxyCommand none\nProxyCommand nc",
        "ProxyJump a,b,me@c:2222",
        "ProxyJump ssh://me@a:2222",
        "ProxyJump=a # x",
        "ProxyCommand=nc \"%h\" # x",
        "ProxyCommand = = nc",
    ] {
        // Of nobody else: a bastion would be its own.
        assert!(same_file(&format!("Host web1\n{text}")).is_some(), "{text}");
    }
    resolves("Host web1\nProxyJump a,b\nProxyCommand nc", &[("proxyjump", "a,b"), ("proxycommand", "")]);
    resolves("ProxyCommand none\nProxyJump a", &[("proxyjump", ""), ("proxycommand", "")]);
}

#[test]
fn the_command_line_goes_before_the_files() {
    let files = [("config", "User file\nPort 1\nIdentityFile /file\nSendEnv FILE\nProxyCommand file\nSetEnv F=1")];
    for options in [
        &["User=x"][..],
        &["Port=2", "port 3"],
        &["IdentityFile=/line"],
        &["SendEnv=LINE"],
        &["SetEnv=L=1"],
        &["ProxyJump=b"],
        &["ProxyCommand=none"],
        &["HostName=%h.line"],
    ] {
        for destination in ["web1", "me@web1", "ssh://me@web1:44"] {
            assert!(same(&Case { files: &files, options, destination }).is_some());
        }
    }
}

#[test]
fn keywords_that_do_not_matter_here() {
    for line in [
        "ForwardAgent yes",
        "ForwardX11 no",
        "ControlMaster auto",
        "ControlPath ~/.ssh/%C",
        "ControlPersist 10m",
        "LocalForward 8080 localhost:80",
        "RemoteForward 8080 localhost:80",
        "DynamicForward 1080",
        "RequestTTY force",
        "RemoteCommand uptime \"x\" # y",
        "LogLevel DEBUG3",
        "TCPKeepAlive yes",
        "KeepAlive no",
        "BatchMode no",
        "CheckHostIP no",
        "NumberOfPasswordPrompts 1",
        "AddKeysToAgent confirm 5m",
        "VisualHostKey yes",
        "Protocol 2",
        "Cipher blowfish",
        "UseRoaming no",
        "RSAAuthentication yes",
        "GSSAPIAuthentication yes",
        "GSSAPIKeyExchange no",
        "FingerprintHash md5",
        "EscapeChar none",
        "IPQoS lowdelay throughput",
        "UpdateHostKeys ask",
        "CanonicalizeHostname no",
        "VerifyHostKeyDNS ask",
        "HostbasedAuthentication no",
        "PermitRemoteOpen any",
        "StreamLocalBindMask 0177",
        "SessionType none",
        "StdinNull yes",
        "ForkAfterAuthentication no",
        "Tunnel no",
        "TunnelDevice any:any",
        "LogVerbose kex.c:*:1000",
        "XAuthLocation /usr/bin/xauth",
        "SyslogFacility AUTH",
        "CASignatureAlgorithms ssh-ed25519",
        "RequiredRSASize 2048",
        "SecurityKeyProvider internal",
        "PKCS11Provider none",
        "EnableEscapeCommandline no",
        "NoHostAuthenticationForLocalhost no",
        "ClearAllForwardings yes",
        "ExitOnForwardFailure yes",
        "GatewayPorts no",
    ] {
        resolves(&format!("{line}\nUser x"), &[("user", "x")]);
    }
}
