//! What no other ssh can be asked: the two default files, bounds, what is warned about, and that nothing panics.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::local::Local;
use super::super::local::tests::local;
use super::super::{Target, resolve_for, tests::options};
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::request::{ConfigFile, ConnectionOptions};

/// A home with `.ssh/config`, and a system's file beside it in `etc`.
struct Home {
    dir: TempDir,
}

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { dir }
    }

    fn local(&self) -> Local {
        let mut it = local(self.dir.path(), &[]);
        it.uid = rustix::process::getuid().as_raw();
        it
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn resolve(&self, options: &ConnectionOptions) -> Result<(Target, Vec<Warning>), Fault> {
        resolve_for(&self.local(), "web1", options)
    }

    fn default(&self) -> Result<(Target, Vec<Warning>), Fault> {
        self.resolve(&ConnectionOptions { config: ConfigFile::Default, ..options() })
    }

    fn refused(&self, config: ConfigFile) -> (String, String) {
        match self.resolve(&ConnectionOptions { config, ..options() }) {
            Err(Fault::ConfigInvalid { place, problem }) => (place, problem),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_users_file_goes_before_the_systems_and_both_include() {
    let home = Home::new(&[
        (".ssh/config", "Include inc/* ~/elsewhere\nPort 1\n"),
        (".ssh/inc/a", "HostName a\n"),
        ("elsewhere", "HashKnownHosts yes\n"),
        ("etc/ssh_config", "Include ssh_config.d/*.conf\nPort 2\nUser system\n"),
        ("etc/ssh_config.d/x.conf", "Compression yes\nHostName system\n"),
    ]);
    let (it, warnings) = home.default().unwrap();
    assert_eq!(warnings, []);
    assert_eq!((it.host.as_str(), it.port, it.user.as_str(), it.user_source), ("a", 1, "system", "config"));
    assert!(it.compression && it.host_keys.hash_new);
    let (it, _) = home.resolve(&options()).unwrap();
    assert_eq!((it.host.as_str(), it.port, it.user.as_str()), ("web1", 22, "me"), "-F none reads nothing");
    let file = ConfigFile::File(home.path("etc/ssh_config.d/x.conf").into());
    let (it, _) = home.resolve(&ConnectionOptions { config: file, ..options() }).unwrap();
    assert_eq!((it.host.as_str(), it.port), ("system", 22), "-F FILE reads nothing else");
}

#[test]
fn what_the_systems_file_cannot_say() {
    let home = Home::new(&[("etc/ssh_config", "Include ~/x\n")]);
    let (place, problem) = home.refused(ConfigFile::Default);
    assert_eq!(place, format!("{}:1", home.path("etc/ssh_config")));
    assert!(problem.contains("`~`"), "{problem}");
}

#[test]
fn files_that_are_missing_matter_only_when_they_were_named() {
    let home = Home::new(&[]);
    assert_eq!(home.default().unwrap().1, []);
    let (place, problem) = home.refused(ConfigFile::File("/no/such/file".into()));
    assert_eq!((place.as_str(), problem.contains("No such file")), ("/no/such/file", true));
}

#[test]
fn a_file_of_the_user_that_others_can_write_is_refused() {
    let home = Home::new(&[(".ssh/config", "Port 1\n"), ("etc/ssh_config", "Port 2\n")]);
    let set = |name: &str, mode| {
        fs::set_permissions(home.dir.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    for mode in [0o666, 0o620, 0o602] {
        set(".ssh/config", mode);
        let (place, problem) = home.refused(ConfigFile::Default);
        assert_eq!(place, home.path(".ssh/config"));
        assert!(problem.contains(&format!("{mode:04o}")) && problem.contains("chmod go-w"), "{problem}");
    }
    set(".ssh/config", 0o644);
    set("etc/ssh_config", 0o666);
    assert_eq!(home.default().unwrap().0.port, 1);
}

#[test]
fn what_is_too_large_or_no_text_is_refused() {
    let home = Home::new(&[(".ssh/config", &"#".repeat(1024 * 1024 + 1))]);
    assert!(home.refused(ConfigFile::Default).1.contains("1024 KiB"));
    let latin = b"# caf\xe9\nUser x\nHostName caf\xe9\n";
    fs::write(home.dir.path().join(".ssh/config"), latin).unwrap();
    let (place, problem) = home.refused(ConfigFile::Default);
    assert!(place.ends_with("config:3") && problem.contains("UTF-8"), "{place} {problem}");
}

#[test]
fn one_warning_for_each_keyword_that_is_ignored() {
    let text = "CASignatureAlgorithms a\nHost web1\n PKCS11Provider x\nHost *\n PKCS11Provider y\n\
                Host other\n RequiredRSASize 1\nMatch final\n SecurityKeyProvider z\n";
    let home = Home::new(&[(".ssh/config", text)]);
    let (_, warnings) = home.default().unwrap();
    let place = home.path(".ssh/config");
    let expected = [("1", "CASignatureAlgorithms"), ("3", "PKCS11Provider"), ("9", "SecurityKeyProvider")]
        .map(|(line, name)| format!("{place}:{line}: `{name}` is not supported and was ignored"));
    assert!(warnings.iter().all(|warning| warning.code == "option_ignored"));
    assert_eq!(warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>(), expected);
}

#[test]
fn a_pipe_is_read_once_for_both_passes_and_all_hops() {
    let home = Home::new(&[]);
    let pipe = home.dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let text = "Host web1\n ProxyJump jump\nHost jump\n Port 7\nMatch final\n User x\n";
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, text).unwrap()
    });
    let options = ConnectionOptions { config: ConfigFile::File(pipe), ..options() };
    let (it, _) = home.resolve(&options).unwrap();
    writer.join().unwrap();
    assert_eq!((it.user.as_str(), it.jump[0].port, it.jump[0].user.as_str()), ("x", 7, "x"));
}

#[test]
fn commands_of_match_exec() {
    let home = Home::new(&[(".ssh/config", "Match exec \"echo why >&2; exit 127\"\n Port 1\n")]);
    let (it, warnings) = home.default().unwrap();
    assert_eq!((it.port, warnings[0].code), (22, "match_exec_not_run"));
    assert!(warnings[0].message.contains("config:1") && warnings[0].message.ends_with("why"));
    let home = Home::new(&[(".ssh/config", "Match exec \"echo why >&2; kill -9 $$\"\n Port 1\n")]);
    match home.default() {
        Err(Fault::MatchExecFailed { command, problem }) => {
            assert_eq!(command, "echo why >&2; kill -9 $$");
            assert!(problem.contains("signal: 9") && problem.ends_with("why"), "{problem}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn criteria_of_newer_versions() {
    let port = |text: &str| {
        let home = Home::new(&[(".ssh/config", text)]);
        home.default().map(|(it, _)| it.port)
    };
    assert_eq!(port("Tag work\nMatch tagged w*\n Port 1"), Ok(1));
    assert_eq!(port("Match tagged work\n Port 1"), Ok(22));
    assert_eq!(port("Match host other localnetwork 10.0.0.0/8\n Port 1"), Ok(22), "it is not reached");
    for criterion in ["localnetwork 10.0.0.0/8", "sessiontype exec", "command x", "version OpenSSH_*"] {
        let Err(Fault::ConfigInvalid { place, problem }) = port(&format!("Match {criterion}\n Port 1")) else {
            panic!("{criterion}");
        };
        assert!(place.ends_with("config:1") && problem.contains("is not supported"), "{place} {problem}");
    }
}

#[test]
fn many_files_are_too_many() {
    let home = Home::new(&[(".ssh/config", "Include many/* many/* many/*\n")]);
    let many = home.dir.path().join(".ssh/many");
    fs::create_dir(&many).unwrap();
    for n in 0..400 {
        fs::write(many.join(n.to_string()), "").unwrap();
    }
    assert!(home.refused(ConfigFile::Default).1.contains("over the limit"));
}

fn resolves_or_refuses(text: &[u8]) {
    let home = Home::new(&[]);
    let file = home.dir.path().join("config");
    fs::write(&file, text).unwrap();
    let nobody = Local::new(7, String::new(), Box::new(|_| None));
    let options = ConnectionOptions { config: ConfigFile::File(file), ..options() };
    let _ = resolve_for(&nobody, "web1", &options);
    let _ = home.resolve(&options);
    assert!(Path::new(&home.path("config")).exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_panics(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        resolves_or_refuses(&text);
    }

    #[test]
    fn no_lines_panic(lines in proptest::collection::vec(
        "(Host|Match|Port|User|HostName|IdentityFile|ProxyJump|ProxyCommand|SetEnv|SendEnv|RekeyLimit|ConnectTimeout\
         |Match host|Match final|Match user|Include|Tag|KnownHostsCommand|UserKnownHostsFile|IdentityAgent|Ciphers)\
         [ =]{1,2}[a-z0-9*?!,.:@%~\"'#${}\\\\ =-]{0,16}", 0..8)) {
        resolves_or_refuses(lines.join("\n").as_bytes());
    }
}
