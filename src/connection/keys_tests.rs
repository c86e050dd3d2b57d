use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use super::*;

fn tool(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("these tests need {program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The texts of real keys: `NAME` plain and `NAME.enc` under the passphrase `pw`.
static KEYS: LazyLock<HashMap<String, Vec<u8>>> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let pass = at("pw");
    std::fs::write(&pass, "pw\n").unwrap();
    for (kind, more) in [("ed25519", ["-a", "4"]), ("rsa", ["-b", "2048"]), ("ecdsa", ["-b", "384"])] {
        tool("ssh-keygen", &["-q", "-t", kind, more[0], more[1], "-N", "", "-C", "me", "-f", &at(kind)]);
        let exported =
            Command::new("ssh-keygen").args(["-e", "-f", &at(&format!("{kind}.pub"))]).output().unwrap().stdout;
        std::fs::write(at(&format!("{kind}.rfc4716")), exported).unwrap();
        for (name, arguments) in [
            (format!("{kind}.enc"), vec!["-a", "4"]),
            (format!("{kind}.cbc.enc"), vec!["-a", "4", "-Z", "aes256-cbc"]),
            (format!("{kind}.gcm.enc"), vec!["-a", "4", "-Z", "aes256-gcm@openssh.com"]),
            (format!("{kind}.chacha.enc"), vec!["-a", "4", "-Z", "chacha20-poly1305@openssh.com"]),
        ] {
            std::fs::copy(at(kind), at(&name)).unwrap();
            let mut all = vec!["-q", "-p", "-P", "", "-N", "pw", "-f"];
            let name = at(&name);
            all.push(&name);
            all.extend(arguments);
            tool("ssh-keygen", &all);
        }
        tool("puttygen", &[&at(kind), "-O", "private", "-o", &at(&format!("{kind}.ppk3")), "-C", "me"]);
        tool(
            "puttygen",
            &[&at(kind), "-O", "private", "-o", &at(&format!("{kind}.ppk3.enc")), "--new-passphrase", &pass],
        );
        let version2 = "--ppk-param";
        tool("puttygen", &[&at(kind), "-O", "private", version2, "version=2", "-o", &at(&format!("{kind}.ppk2"))]);
        let out = at(&format!("{kind}.ppk2.enc"));
        tool("puttygen", &[&at(kind), "-O", "private", version2, "version=2", "-o", &out, "--new-passphrase", &pass]);
    }
    for kind in ["rsa", "ecdsa"] {
        let pem = at(&format!("{kind}.pem"));
        std::fs::copy(at(kind), &pem).unwrap();
        tool("ssh-keygen", &["-q", "-p", "-m", "PEM", "-P", "", "-N", "", "-f", &pem]);
        let p8 = at(&format!("{kind}.p8"));
        tool("openssl", &["pkcs8", "-topk8", "-nocrypt", "-in", &pem, "-out", &p8]);
        tool(
            "openssl",
            &["pkcs8", "-topk8", "-passout", "pass:pw", "-in", &pem, "-out", &at(&format!("{kind}.p8.enc"))],
        );
        let sub = if kind == "rsa" { "rsa" } else { "ec" };
        for cipher in ["aes128", "aes256", "des3"] {
            let out = at(&format!("{kind}.{cipher}.enc"));
            let flag = format!("-{cipher}");
            let mut all = vec![sub, "-in", &pem, &flag, "-passout", "pass:pw", "-out", &out];
            if kind == "rsa" {
                all.push("-traditional");
            }
            tool("openssl", &all);
        }
    }
    let pem = at("rsa.pem");
    for (name, scheme) in [("des3", ["-v2", "des3"]), ("pbes1", ["-v1", "PBE-SHA1-3DES"])] {
        let out = at(&format!("rsa.p8.{name}.enc"));
        let head = ["pkcs8", "-topk8", "-passout", "pass:pw", "-in", &pem, "-out", &out];
        tool("openssl", &[&head[..], &scheme].concat());
    }
    let out = at("rsa.p8.scrypt.enc");
    tool("openssl", &["pkcs8", "-topk8", "-passout", "pass:pw", "-scrypt", "-in", &pem, "-out", &out]);
    tool("openssl", &["genpkey", "-algorithm", "ed25519", "-out", &at("ed.p8")]);
    let files = std::fs::read_dir(dir.path()).unwrap().map(Result::unwrap);
    files.map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())).collect()
});

fn text(name: &str) -> Vec<u8> {
    KEYS[name].clone()
}

fn pass(text: &str) -> Secret {
    Secret::new(text.as_bytes().to_vec())
}

/// The blob in `NAME.pub`, by ssh-keygen.
fn public(kind: &str) -> PublicKey {
    public_of(&text(&format!("{kind}.pub"))).unwrap()
}

fn same(key: &PublicKey, kind: &str) -> bool {
    key.key_data() == public(kind).key_data()
}

const OPENSSH: [&str; 4] = ["enc", "cbc.enc", "gcm.enc", "chacha.enc"];

#[test]
fn plain_keys_of_every_format_load() {
    for (kind, name) in [
        ("ed25519", "ed25519"),
        ("rsa", "rsa"),
        ("ecdsa", "ecdsa"),
        ("rsa", "rsa.pem"),
        ("ecdsa", "ecdsa.pem"),
        ("rsa", "rsa.p8"),
        ("ecdsa", "ecdsa.p8"),
        ("ed25519", "ed25519.ppk3"),
        ("rsa", "rsa.ppk3"),
        ("ecdsa", "ecdsa.ppk3"),
        ("ed25519", "ed25519.ppk2"),
        ("rsa", "rsa.ppk2"),
    ] {
        // A passphrase that is not needed does no harm.
        for passphrase in [None, Some(pass("unneeded"))] {
            let key = decode(&text(name), passphrase.as_ref()).unwrap_or_else(|problem| panic!("{name}: {problem:?}"));
            assert!(same(key.public_key(), kind), "{name}");
        }
        assert!(same(&public_of(&text(name)).unwrap(), kind), "{name}");
    }
    decode(&text("ed.p8"), None).unwrap();
}

#[test]
fn encrypted_keys_want_their_passphrase() {
    let mut names: Vec<(String, &str)> = Vec::new();
    for kind in ["ed25519", "rsa", "ecdsa"] {
        names.extend(OPENSSH.map(|suffix| (format!("{kind}.{suffix}"), kind)));
        names.extend(["ppk3.enc", "ppk2.enc"].map(|suffix| (format!("{kind}.{suffix}"), kind)));
    }
    names.extend(["rsa.aes128.enc", "rsa.p8.enc", "rsa.p8.scrypt.enc"].map(|name| (name.to_owned(), "rsa")));
    names.push(("ecdsa.p8.enc".to_owned(), "ecdsa"));
    for (name, kind) in names {
        let text = text(&name);
        assert_eq!(decode(&text, None).unwrap_err(), KeyProblem::NeedsPassphrase, "{name}");
        for wrong in ["wrong", "", "pw\n"] {
            assert_eq!(decode(&text, Some(&pass(wrong))).unwrap_err(), KeyProblem::WrongPassphrase, "{name} {wrong:?}");
        }
        assert_eq!(decode(&text, Some(&Secret::new(vec![0xff]))).unwrap_err(), KeyProblem::WrongPassphrase, "{name}");
        let key = decode(&text, Some(&pass("pw"))).unwrap_or_else(|problem| panic!("{name}: {problem:?}"));
        assert!(same(key.public_key(), kind), "{name}");
        let shows_public = name.contains("ppk") || OPENSSH.iter().any(|s| name == format!("{kind}.{s}"));
        assert_eq!(public_of(&text).is_some_and(|key| same(&key, kind)), shows_public, "{name}");
    }
}

/// One wrong passphrase in 256 leaves plausible padding behind: it is still the passphrase.
#[test]
fn a_wrong_passphrase_is_never_called_a_malformed_key() {
    for name in ["rsa.aes128.enc"] {
        let text = text(name);
        for n in 0..1500 {
            let problem = decode(&text, Some(&pass(&format!("wrong{n}")))).unwrap_err();
            assert_eq!(problem, KeyProblem::WrongPassphrase, "{name} {n}");
        }
    }
}

#[test]
fn line_ends_and_surroundings_do_no_harm() {
    for (name, passphrase) in [
        ("ed25519", None),
        ("rsa.pem", None),
        ("rsa.p8.enc", Some("pw")),
        ("ecdsa.ppk3", None),
        ("rsa.aes128.enc", Some("pw")),
    ] {
        let plain = String::from_utf8(text(name)).unwrap();
        let passphrase = passphrase.map(pass);
        let ppk = name.contains("ppk");
        for changed in [
            plain.replace('\n', "\r\n"),
            plain.trim_end().to_owned(),
            format!("\u{feff}{plain}\n\n"),
            if ppk { plain.clone() } else { format!("Some text before\n{plain}and after\n") },
            if ppk { plain.clone() } else { plain.replace('\n', " \n  ") },
        ] {
            decode(changed.as_bytes(), passphrase.as_ref())
                .unwrap_or_else(|problem| panic!("{name}: {problem:?}\n{changed}"));
        }
    }
}

fn problem(text: &[u8]) -> String {
    match decode(text, Some(&pass("pw"))) {
        Err(KeyProblem::Malformed(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    for name in ["rsa.aes256.enc", "rsa.des3.enc", "ecdsa.aes128.enc", "ecdsa.aes256.enc"] {
        let problem = problem(&text(name));
        assert!(problem.contains("encrypted with") && problem.contains("ssh-keygen -p -f"), "{name}: {problem}");
    }
    for name in ["rsa.p8.des3.enc", "rsa.p8.pbes1.enc"] {
        let problem = problem(&text(name));
        assert!(problem.contains("other than PBES2 with AES"), "{name}: {problem}");
    }
    for (text, word) in [
        ("", "no private key"),
        ("hello\n", "no private key"),
        ("-----BEGIN DSA PRIVATE KEY-----\nAAAA\n-----END DSA PRIVATE KEY-----\n", "DSA"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "X.509"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n", "PGP"),
        ("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n", "ssh.com"),
        ("SSH PRIVATE KEY FILE FORMAT 1.1\n", "version 1"),
        ("PuTTY-User-Key-File-1: ssh-rsa\n", "PuTTYgen"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\n!!!\n-----END OPENSSH PRIVATE KEY-----\n", "cannot be read"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nAAA\n-----END OPENSSH PRIVATE KEY-----\n", "base64"),
    ] {
        let problem = problem(text.as_bytes());
        assert!(problem.contains(word), "{text}: {problem}");
    }
    assert!(problem(b"\xff\xfe").contains("not text"));
}

#[test]
fn a_damaged_encrypted_key_is_malformed_and_not_a_wrong_passphrase() {
    for name in ["rsa.p8.enc", "rsa.aes128.enc", "rsa.enc"] {
        let whole = String::from_utf8(text(name)).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let mut cut = lines.clone();
        cut.remove(lines.len() / 2);
        // 48 bytes less are still whole cipher blocks for PKCS#1; a shorter line is not.
        let shorter = &lines[lines.len() / 2][..60];
        let mut short = lines.clone();
        short[lines.len() / 2] = shorter;
        let text = if name == "rsa.p8.enc" { cut.join("\n") } else { short.join("\n") };
        assert!(matches!(decode(text.as_bytes(), Some(&pass("pw"))), Err(KeyProblem::Malformed(_))), "{name}");
    }
}

#[test]
fn a_public_key_is_told_and_still_useful() {
    for kind in ["ed25519", "rsa", "ecdsa"] {
        let line = text(&format!("{kind}.pub"));
        assert_eq!(decode(&line, None).unwrap_err(), KeyProblem::Public);
        let rfc4716 = text(&format!("{kind}.rfc4716"));
        assert_eq!(decode(&rfc4716, None).unwrap_err(), KeyProblem::Public);
        assert!(same(&public_of(&rfc4716).unwrap(), kind));
    }
    assert!(public_of(b"ssh-ed25519").is_none() && public_of(b"").is_none() && public_of(b"\xff").is_none());
}

#[test]
fn problems_are_the_right_faults() {
    assert_eq!(KeyProblem::NeedsPassphrase.fault("k"), Fault::PassphraseRequired { path: "k".into() });
    assert_eq!(KeyProblem::WrongPassphrase.fault("k"), Fault::PassphraseWrong { path: "k".into() });
    for problem in [KeyProblem::Public, KeyProblem::Malformed("x".into())] {
        assert!(matches!(problem.fault("k"), Fault::KeyMalformed { source_name, .. } if source_name == "k"));
    }
}
