use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;
use tempfile::TempDir;

use super::pin::fingerprint;
use super::*;
use crate::errors::Fault;

/// A blob of this type; `seed` makes keys differ.
fn blob(key_type: &str, seed: &str) -> Vec<u8> {
    let mut blob = Vec::new();
    for part in [key_type, seed] {
        blob.extend(u32::try_from(part.len()).unwrap().to_be_bytes());
        blob.extend(part.as_bytes());
    }
    blob
}

/// `TYPE BASE64` of such a blob.
fn key(key_type: &str, seed: &str) -> String {
    format!("{key_type} {}", BASE64.encode(blob(key_type, seed)))
}

const ED: &str = "ssh-ed25519";
const RSA: &str = "ssh-rsa";
const EC: &str = "ecdsa-sha2-nistp256";

struct Files {
    dir: TempDir,
}

impl Files {
    fn new(user: &str) -> Self {
        let files = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::write(files.user(), user).unwrap();
        files
    }

    fn user(&self) -> PathBuf {
        self.dir.path().join("known_hosts")
    }

    fn rules(&self, host: &str, port: u16) -> HostKeyRules {
        HostKeyRules {
            policy: HostKeyPolicy::Strict,
            pins: Vec::new(),
            lookup_name: if port == 22 { host.to_owned() } else { format!("[{host}]:{port}") },
            portless_name: (port != 22).then(|| host.to_owned()),
            user_files: vec![self.user()],
            global_files: vec![self.dir.path().join("global")],
            hash_new: false,
            remember: true,
        }
    }

    fn load(&self, host: &str, port: u16) -> KnownHosts {
        let (known, warnings) = self.rules(host, port).load();
        assert_eq!(warnings, []);
        known
    }

    fn place(&self, line: usize) -> Place {
        Place { file: self.user(), line }
    }
}

#[test]
fn a_stale_older_key_does_not_hide_the_right_one() {
    let files = Files::new(&format!("web1 {}\nweb1 {}\n", key(ED, "old"), key(ED, "new")));
    let known = files.load("web1", 22);
    assert_eq!(known.verdict(ED, &blob(ED, "new")), Verdict::Known(files.place(2)));
    assert_eq!(known.verdict(ED, &blob(ED, "third")), Verdict::Changed(files.place(1)));
}

#[test]
fn several_files_in_order() {
    let files = Files::new(&format!("web1 {}\n", key(ED, "a")));
    let global = files.dir.path().join("global");
    std::fs::write(&global, format!("# theirs\nweb1 {}\n", key(ED, "b"))).unwrap();
    let known = files.load("web1", 22);
    assert_eq!(known.verdict(ED, &blob(ED, "b")), Verdict::Known(Place { file: global, line: 2 }));
}

#[test]
fn another_type_is_neither_known_nor_simply_new() {
    let files = Files::new(&format!("web1 {}\nweb1 {}\nweb1 {}\n", key(RSA, "a"), key(EC, "a"), key(RSA, "b")));
    let known = files.load("web1", 22);
    assert_eq!(known.known_types(), [RSA, EC]);
    let types = vec![RSA.to_owned(), EC.to_owned()];
    assert_eq!(known.verdict(ED, &blob(ED, "x")), Verdict::OtherType { place: files.place(1), known_types: types });
    assert_eq!(known.verdict("rsa-sha2-512", &blob(RSA, "c")), Verdict::Changed(files.place(1)));
    assert_eq!(files.load("web2", 22).verdict(ED, &blob(ED, "x")), Verdict::Unknown { known_types: vec![] });
}

#[test]
fn a_port_has_its_own_lines_and_then_the_host_s() {
    let files = Files::new(&format!("web1 {}\n[web1]:2222 {}\n", key(ED, "plain"), key(ED, "port")));
    let known = files.load("web1", 2222);
    assert_eq!(known.known_types(), [ED]);
    assert_eq!(known.verdict(ED, &blob(ED, "port")), Verdict::Known(files.place(2)));
    // The port's own lines are there, so the host's are not asked.
    assert_eq!(known.verdict(ED, &blob(ED, "plain")), Verdict::Changed(files.place(2)));
    let known = files.load("web1", 2200);
    assert_eq!(known.verdict(ED, &blob(ED, "plain")), Verdict::Known(files.place(1)));
    assert_eq!(known.verdict(ED, &blob(ED, "other")), Verdict::Unknown { known_types: vec![ED.to_owned()] });
    assert_eq!(files.load("web1", 22).verdict(ED, &blob(ED, "port")), Verdict::Changed(files.place(1)));
}

#[test]
fn revoked_beats_all() {
    let lines = format!("web1 {0}\n@revoked * {0}\n@revoked web1 {1}\n", key(ED, "a"), key(RSA, "ca"));
    let files = Files::new(&lines);
    let known = files.load("web1", 22);
    assert_eq!(known.verdict(ED, &blob(ED, "a")), Verdict::Revoked(files.place(2)));
    assert_eq!(known.revoked(&blob(RSA, "ca")), Some(files.place(3)));
    assert_eq!(known.revoked(&blob(RSA, "other")), None);
    let on_port = files.load("web1", 2222);
    assert_eq!(on_port.revoked(&blob(RSA, "ca")), Some(files.place(3)));
}

#[test]
fn authorities_are_no_host_keys() {
    let files = Files::new(&format!("@cert-authority *.lan,!bad.lan {}\n", key(ED, "ca")));
    let known = files.load("web1.lan", 22);
    assert_eq!(known.authorities().len(), 1);
    assert_eq!(known.authorities()[0].blob, blob(ED, "ca"));
    assert_eq!(known.known_types(), Vec::<String>::new());
    assert_eq!(known.verdict(ED, &blob(ED, "ca")), Verdict::Unknown { known_types: vec![] });
    assert!(files.load("bad.lan", 22).authorities().is_empty());
    assert_eq!(files.load("web1.lan", 2222).authorities().len(), 1);
}

/// OpenSSH takes it only where the line has no space at all; the manual knows no such rule.
#[test]
fn a_tab_may_follow_a_marker() {
    let files = Files::new(&format!("@revoked\tweb1 {}\n", key(ED, "a")));
    assert_eq!(files.load("web1", 22).verdict(ED, &blob(ED, "a")), Verdict::Revoked(files.place(1)));
}

#[test]
fn broken_lines_are_told_and_skipped() {
    let good = key(ED, "a");
    let short = format!("{ED} {}", BASE64.encode([0, 0, 0, 11, b's']));
    let cases = [
        ("web1", "no key"),
        ("web1 ssh-ed25519", "no key after"),
        ("web1 ssh-ed25519 ***", "not base64"),
        (&format!("@unknown web1 {good}"), "no marker"),
        (&format!("@revoked @revoked web1 {good}"), "two markers"),
        ("@revoked", "no host"),
        (&format!("web1 {}", good.replace(ED, RSA)), "its key says `ssh-ed25519`"),
        (&format!("web1 {short}"), "cut short"),
        (&format!("|1|AAAA|BBBB {good}"), "hashed host name"),
    ];
    for (line, word) in cases {
        let files = Files::new(&format!("\n{line}\nweb1 {good}\n"));
        let (known, warnings) = files.rules("web1", 22).load();
        assert_eq!(known.verdict(ED, &blob(ED, "a")), Verdict::Known(files.place(3)), "{line}");
        assert_eq!(warnings.len(), 1, "{line}");
        assert_eq!(warnings[0].code, "known_hosts_line");
        assert!(warnings[0].message.contains(&format!("{}: ", files.place(2))), "{}", warnings[0].message);
        assert!(warnings[0].message.contains(word), "{line}: {}", warnings[0].message);
    }
}

#[test]
fn many_broken_lines_become_a_count() {
    let files = Files::new(&"broken\n".repeat(12));
    let (_, warnings) = files.rules("web1", 22).load();
    assert_eq!(warnings.len(), 6);
    assert!(warnings[5].message.starts_with("7 more"), "{}", warnings[5].message);
}

#[test]
fn missing_is_quiet_and_unreadable_is_not() {
    let files = Files::new("");
    let mut rules = files.rules("web1", 22);
    let (known, warnings) = rules.load();
    assert!(known.is_complete() && warnings.is_empty());
    rules.user_files = vec![files.dir.path().to_owned()];
    let (known, warnings) = rules.load();
    assert!(!known.is_complete());
    assert_eq!(warnings[0].code, "known_hosts_unreadable");
    let big = std::fs::File::create(files.user()).unwrap();
    big.set_len(FILE_MAX_BYTES + 1).unwrap();
    let (known, warnings) = files.rules("web1", 22).load();
    assert!(!known.is_complete() && warnings[0].message.contains("32 MiB"));
}

/// The field, the names it is looked up under, and the odd file forms, all answered by OpenSSH itself.
#[test]
fn openssh_finds_the_same_lines() {
    let k = real_key();
    let lines = [
        format!("web1 {k} a comment"),
        format!("web1,web2.lan\t{k}"),
        format!("  \t web3 \t {k}\t# x"),
        format!("*.lan {k}"),
        format!("*.lan,!web2.lan {k}"),
        format!("!web1,web? {k}"),
        format!("WEB4.Lan {k}\r"),
        format!("[web1]:2222 {k}"),
        format!("[*]:2222,10.0.0.? {k}"),
        format!("#web1 {k}"),
        format!("@revoked web1 {k}"),
        format!("@cert-authority  *.lan\t{k}"),
        format!("@other web1 {k}"),
        "web1".to_owned(),
        format!("web1,, {k}"),
        format!(",web1 {k}"),
        format!("* {k}"),
        format!("!* {k}"),
        format!("::1,fe80::1 {k}"),
        format!("{},web1 {k}", "x".repeat(1030)),
    ];
    let files = Files::new(&(lines.join("\n") + "\n"));
    let hashed = Files::new(&format!("web1 {k}\n[web1]:2222 {k}\nweb4.lan {k}\n"));
    keygen(&["-H", "-f", hashed.user().to_str().unwrap()]);
    assert!(std::fs::read_to_string(hashed.user()).unwrap().lines().all(|line| line.starts_with("|1|")));
    let mut asked = 0;
    for files in [&files, &hashed] {
        for name in ["web1", "web2.lan", "web3", "web4.lan", "[web1]:2222", "[web9]:2222", "10.0.0.7", "::1", "other"] {
            let said = keygen(&["-F", name, "-f", files.user().to_str().unwrap()]);
            let theirs: Vec<usize> = said
                .lines()
                .filter_map(|line| line.strip_prefix("# Host ")?.split_once(" found: line "))
                .map(|(_, rest)| rest.split(' ').next().unwrap().parse().unwrap())
                .collect();
            let (known, _) = HostKeyRules { lookup_name: name.into(), ..files.rules("x", 22) }.load();
            let ours: Vec<usize> = known.entries.iter().map(|entry| entry.key.place.line).collect();
            assert_eq!(ours, theirs, "{name}: {said}");
            asked += theirs.len();
        }
    }
    assert!(asked > 20, "the oracle said too little: {asked}");
}

fn keygen(arguments: &[&str]) -> String {
    let output = Command::new("ssh-keygen").args(arguments).output().expect("these tests need ssh-keygen");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// `TYPE BASE64` of a key that OpenSSH takes.
fn real_key() -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = generate(&dir);
    let public = std::fs::read_to_string(file.with_extension("pub")).unwrap();
    public.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

fn generate(dir: &TempDir) -> PathBuf {
    let file = dir.path().join("k");
    keygen(&["-q", "-t", "ed25519", "-N", "", "-C", "c", "-f", file.to_str().unwrap()]);
    file
}

#[test]
fn fingerprints_and_pins_are_those_of_openssh() {
    let dir = tempfile::tempdir().unwrap();
    let file = generate(&dir);
    let public = std::fs::read_to_string(dir.path().join("k.pub")).unwrap();
    let blob = BASE64.decode(public.split(' ').nth(1).unwrap()).unwrap();
    let said = keygen(&["-l", "-f", file.to_str().unwrap()]);
    assert_eq!(said.split(' ').nth(1), Some(&*fingerprint(&blob)));
    for pin in [public.trim(), &fingerprint(&blob), &(fingerprint(&blob) + "=")] {
        let pin = Pin::parse(pin).unwrap();
        assert!(pin.accepts(&blob) && !pin.accepts(&blob[1..]));
    }
    let mut rules = Files::new("").rules("web1", 22);
    assert_eq!(rules.pinned(&blob), None);
    rules.pins = vec![Pin::parse(&fingerprint(b"other")).unwrap()];
    assert_eq!(rules.pinned(&blob), Some(false));
    rules.pins.push(Pin::parse(public.trim()).unwrap());
    assert_eq!(rules.pinned(&blob), Some(true));
}

#[test]
fn a_pin_that_is_none_is_a_usage_error() {
    let good = key(ED, "a");
    for bad in ["", "SHA256:", "SHA256:abc", "MD5:aa:bb", ED, "ssh-ed25519 !!!", &good.replace(ED, RSA)] {
        assert!(matches!(Pin::parse(bad), Err(Fault::Usage { .. })), "{bad}");
    }
}

#[test]
fn a_remembered_key_is_known_to_us_and_to_openssh() {
    for hash_new in [false, true] {
        for (host, port) in [("web1", 22), ("web1", 2222), ("::1", 22)] {
            let files = Files { dir: tempfile::tempdir().unwrap() };
            let mut rules = files.rules(host, port);
            rules.hash_new = hash_new;
            rules.user_files = vec![files.dir.path().join("a/b/known_hosts")];
            let file = &rules.user_files[0];
            for _ in 0..2 {
                remember(&rules, ED, &blob(ED, "a")).unwrap();
            }
            let text = std::fs::read_to_string(file).unwrap();
            assert_eq!((text.lines().count(), text.ends_with('\n')), (1, true), "{text}");
            assert_eq!(text.starts_with("|1|"), hash_new);
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));
            let verdict = rules.load().0.verdict(ED, &blob(ED, "a"));
            assert_eq!(verdict, Verdict::Known(Place { file: file.clone(), line: 1 }));
            assert!(keygen(&["-F", &rules.lookup_name, "-f", file.to_str().unwrap()]).contains("found: line 1"));
        }
    }
}

#[test]
fn what_is_there_stays_and_a_missing_newline_is_made_good() {
    let files = Files::new(&format!("other {}", key(ED, "o")));
    remember(&files.rules("web1", 22), ED, &blob(ED, "a")).unwrap();
    remember(&files.rules("web1", 22), RSA, &blob(RSA, "a")).unwrap();
    let text = std::fs::read_to_string(files.user()).unwrap();
    assert_eq!(text, format!("other {}\nweb1 {}\nweb1 {}\n", key(ED, "o"), key(ED, "a"), key(RSA, "a")));
}

#[test]
fn parallel_runs_add_one_line() {
    for hash_new in [false, true] {
        let files = Files::new("");
        let rules = HostKeyRules { hash_new, ..files.rules("web1", 22) };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| remember(&rules, ED, &blob(ED, "a")).unwrap());
            }
        });
        assert_eq!(std::fs::read_to_string(files.user()).unwrap().lines().count(), 1);
    }
}

#[test]
fn a_name_that_would_mean_other_hosts_is_not_written() {
    for name in ["*", "a,b", "!a", "@revoked", "#a", "|1|x", "a b", "a\nb", ""] {
        let files = Files::new("");
        let rules = HostKeyRules { lookup_name: name.into(), ..files.rules("web1", 22) };
        assert!(remember(&rules, ED, &blob(ED, "a")).is_err(), "{name}");
        assert_eq!(std::fs::read_to_string(files.user()).unwrap(), "");
    }
    let nowhere = HostKeyRules { user_files: vec![], ..Files::new("").rules("web1", 22) };
    assert!(remember(&nowhere, ED, &blob(ED, "a")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_file_panics(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in "((@[a-z-]{0,14}|\\|1\\||#|!|\\*|[a-z0-9.,\\[\\]:]{0,8}|ssh-rsa|AAAAB3NzaC1yc2E=|[A-Za-z0-9+/=]{0,12})[ \\t\\r\\n|]){0,20}",
    ) {
        let mut known = KnownHosts::default();
        let rules = Files::new("").rules("web1", 2222);
        for text in [&bytes[..], text.as_bytes()] {
            known.take(&rules, Path::new("f"), text, &mut Vec::new());
        }
        let _ = known.verdict(RSA, &blob(RSA, "a"));
    }
}
