use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::identity::KeyText;
use super::local::tests::local;
use super::*;
use crate::model::request::{ConfigFile, HostKeyPolicy};

pub(super) fn options() -> ConnectionOptions {
    ConnectionOptions {
        config: ConfigFile::None,
        options: Vec::new(),
        user: None,
        port: None,
        identities: Vec::new(),
        jump: Vec::new(),
        password: None,
        passphrase: None,
        otp: None,
        host_key_policy: None,
        host_key_pins: Vec::new(),
        connect_timeout: None,
        deadline: None,
        keepalive: None,
    }
}

/// A home directory, and what resolves to in it.
pub(super) struct Home {
    dir: TempDir,
    vars: Vec<(&'static str, &'static str)>,
}

impl Home {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".ssh")).unwrap();
        Self { dir, vars: Vec::new() }
    }

    pub(super) fn ssh(&self, name: &str) -> PathBuf {
        self.dir.path().join(".ssh").join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.ssh(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    pub(super) fn resolve(
        &self,
        destination: &str,
        options: &ConnectionOptions,
    ) -> Result<(Target, Vec<Warning>), Fault> {
        let mut local = local(self.dir.path(), &self.vars);
        // The files are owned by whoever runs the tests.
        local.uid = rustix::process::getuid().as_raw();
        resolve_for(&local, destination, options)
    }

    fn target(&self, destination: &str, set: &[&str]) -> Target {
        let options = ConnectionOptions { options: set.iter().map(|o| (*o).to_owned()).collect(), ..options() };
        let (target, warnings) = self.resolve(destination, &options).unwrap();
        assert_eq!(warnings, []);
        target
    }
}

fn invalid(result: Result<(Target, Vec<Warning>), Fault>) -> (String, String) {
    match result {
        Err(Fault::ConfigInvalid { place, problem }) => (place, problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn defaults_come_last() {
    let home = Home::new();
    let it = home.target("Web1", &[]);
    assert_eq!((it.user.as_str(), it.user_source, it.host.as_str(), it.port), ("me", "local", "web1", 22));
    assert_eq!(it.host_keys.policy, HostKeyPolicy::Strict);
    assert_eq!(it.host_keys.user_files, [home.ssh("known_hosts"), home.ssh("known_hosts2")]);
    assert_eq!(it.host_keys.global_files[0], Path::new("/etc/ssh/ssh_known_hosts"));
    assert_eq!(it.connect_timeout, Duration::from_secs(15));
    assert_eq!((it.keepalive_interval, it.keepalive_count), (Duration::from_secs(15), 3));
    assert!(it.pubkey_enabled && it.password_enabled && !it.host_keys.hash_new);
    assert_eq!(it.identities, IdentityPlan::default());
}

#[test]
fn options_of_ssh_config_are_applied() {
    let home = Home::new();
    let it = home.target(
        "web1",
        &[
            "ConnectTimeout=3",
            "ServerAliveInterval=7",
            "ServerAliveCountMax=2",
            "StrictHostKeyChecking=accept-new",
            "HashKnownHosts=yes",
            "UserKnownHostsFile=~/k_%h /abs",
            "GlobalKnownHostsFile=none",
            "PasswordAuthentication=no",
            "PubkeyAuthentication=no",
            "HostName=%h.Example",
        ],
    );
    assert_eq!(it.host, "web1.example");
    assert_eq!(it.connect_timeout, Duration::from_secs(3));
    assert_eq!((it.keepalive_interval, it.keepalive_count), (Duration::from_secs(7), 2));
    assert_eq!(it.host_keys.policy, HostKeyPolicy::AcceptNew);
    assert!(it.host_keys.hash_new && !it.password_enabled && !it.pubkey_enabled);
    assert_eq!(it.host_keys.user_files, [home.dir.path().join("k_web1.example"), "/abs".into()]);
    assert!(it.host_keys.global_files.is_empty());
}

#[test]
fn a_flag_of_its_own_wins() {
    let options = ConnectionOptions {
        options: ["ConnectTimeout=3", "ServerAliveInterval=7", "StrictHostKeyChecking=no"].map(str::to_owned).to_vec(),
        connect_timeout: Some(Duration::from_secs(1)),
        keepalive: Some(Duration::ZERO),
        host_key_policy: Some(HostKeyPolicy::Strict),
        ..options()
    };
    let it = Home::new().resolve("web1", &options).unwrap().0;
    assert_eq!((it.connect_timeout, it.keepalive_interval), (Duration::from_secs(1), Duration::ZERO));
    assert_eq!(it.host_keys.policy, HostKeyPolicy::Strict);
}

#[test]
fn the_name_that_is_looked_up() {
    let home = Home::new();
    let names = |dest: &str, set: &[&str]| {
        let rules = home.target(dest, set).host_keys;
        (rules.lookup_name, rules.portless_name)
    };
    assert_eq!(names("Web1", &[]), ("web1".into(), None));
    assert_eq!(names("web1:2222", &[]), ("[web1]:2222".into(), Some("web1".into())));
    assert_eq!(names("[::1]:2222", &[]), ("[::1]:2222".into(), Some("::1".into())));
    assert_eq!(names("::1", &[]), ("::1".into(), None));
    assert_eq!(names("web1:2222", &["HostKeyAlias=Cluster"]), ("cluster".into(), None));
    assert_eq!(names("web1", &["HostName=10.0.0.7", "Port=2"]), ("[10.0.0.7]:2".into(), Some("10.0.0.7".into())));
}

#[test]
fn bad_users_hosts_and_pins_are_refused_wherever_they_come_from() {
    let home = Home::new();
    let option = |o: &str| home.resolve("web1", &ConnectionOptions { options: vec![o.into()], ..options() });
    assert_eq!(invalid(option("User=a;b")).0, "-o User");
    assert_eq!(invalid(option("HostName=-oX")).0, "-o HostName");
    assert_eq!(invalid(option("HostName=%q")).0, "-o HostName");
    assert_eq!(invalid(option("HostKeyAlias=\"a b\"")).0, "-o HostKeyAlias");
    assert_eq!(invalid(option("UserKnownHostsFile=%q")).0, "-o UserKnownHostsFile");
    for options in [
        ConnectionOptions { user: Some("-x".into()), ..options() },
        ConnectionOptions { user: Some(String::new()), ..options() },
        ConnectionOptions { host_key_pins: vec!["nonsense".into()], ..options() },
    ] {
        assert!(matches!(home.resolve("web1", &options), Err(Fault::Usage { .. })));
    }
}

#[test]
fn nobody_is_an_error_only_when_a_name_is_needed() {
    let nobody = Local::new(7, String::new(), Box::new(|_| None));
    assert!(matches!(resolve_for(&nobody, "web1", &options()), Err(Fault::Usage { .. })));
    let (it, _) = resolve_for(&nobody, "me@web1", &options()).unwrap();
    assert_eq!(it.user_source, "destination");
    assert!(it.host_keys.user_files.is_empty());
}

/// Each line is also asked of `ssh -G`, with the options before the destination, as ours always are.
#[test]
fn user_host_and_port_are_those_of_openssh() {
    let home = Home::new();
    for (dest, user, port, set) in [
        ("me2@web1", Some("opt"), None, vec![]),
        ("me2@web1", None, None, vec!["User=conf"]),
        ("me2@web1", Some("opt"), None, vec!["User=conf"]),
        ("a@b@web1", None, None, vec![]),
        ("ssh://me2@web1:23", None, None, vec![]),
        ("ssh://me2@web1:23", None, Some(24), vec![]),
        ("ssh://me2@web1:23", None, None, vec!["Port=25"]),
        ("ssh://me2@web1:23", None, Some(24), vec!["Port=25"]),
        ("ssh://a%40b@WEB1/", None, None, vec!["Port=26", "Port=27"]),
        ("me2@web1", None, None, vec!["HostName=%h.Example"]),
        ("me2@::1", None, None, vec!["port 022"]),
    ] {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "none", "-G"]);
        // Ours have no order among each other: the flag of its own comes first.
        ssh.args(user.iter().flat_map(|user| ["-l", user]));
        ssh.args(port.iter().flat_map(|port: &u16| ["-p".to_owned(), port.to_string()]));
        ssh.args(set.iter().flat_map(|set| ["-o", set])).arg(dest);
        let said = ssh.output().expect("these tests need ssh");
        let said = String::from_utf8(said.stdout).unwrap();
        let theirs = |key: &str| said.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().to_owned();
        let options = ConnectionOptions {
            user: user.map(str::to_owned),
            port,
            options: set.iter().map(|o| (*o).to_owned()).collect(),
            ..options()
        };
        let it = home.resolve(dest, &options).unwrap().0;
        let theirs = (theirs("user "), theirs("hostname ").to_lowercase(), theirs("port "));
        assert_eq!((it.user, it.host, it.port.to_string()), theirs, "{dest} {user:?} {port:?} {set:?}");
    }
}

#[test]
fn default_keys_are_those_that_are_there() {
    let mut home = Home::new();
    home.vars = vec![("SSH_AUTH_SOCK", "/run/agent")];
    home.write("id_ed25519", "key", 0o600);
    home.write("id_ed25519.pub", "public", 0o644);
    home.write("id_ed25519-cert.pub", "cert", 0o644);
    home.write("id_rsa", "rsa", 0o600);
    home.write("id_ecdsa", "open", 0o644);
    let (it, warnings) = home.resolve("web1", &options()).unwrap();
    let plan = it.identities;
    let names: Vec<_> = plan.identities.iter().map(|i| i.name.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["id_rsa", "id_ed25519"]);
    assert_eq!(plan.identities[1].text, KeyText::Read(crate::secret::Secret::new(b"key".to_vec())));
    assert_eq!(plan.identities[1].public.as_deref(), Some(&b"public"[..]));
    assert_eq!(plan.identities[1].certificate.as_deref(), Some(&b"cert"[..]));
    assert!(!plan.identities[1].explicit && !plan.listed_only);
    assert_eq!(plan.agent.as_deref(), Some(Path::new("/run/agent")));
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].code, "identity_skipped");
    assert!(warnings[0].message.contains("0644") && warnings[0].message.contains("chmod 600"));
}

#[test]
fn an_explicit_key_stands_alone() {
    let mut home = Home::new();
    home.vars = vec![("SSH_AUTH_SOCK", "/run/agent")];
    home.write("id_rsa", "rsa", 0o600);
    let key = home.write("deploy", "key", 0o600);
    let source = SecretSource::Env("DEPLOY_KEY".into());
    let options = ConnectionOptions {
        identities: vec![
            IdentitySource::File(key.clone()),
            IdentitySource::Secret(source.clone()),
            IdentitySource::File("~/.ssh/deploy".into()),
        ],
        ..options()
    };
    let plan = home.resolve("web1", &options).unwrap().0.identities;
    assert_eq!(plan.identities.len(), 2);
    assert!(plan.listed_only && plan.identities.iter().all(|i| i.explicit));
    assert_eq!(plan.identities[0].name, key.display().to_string());
    assert_eq!(
        (plan.identities[1].name.as_str(), &plan.identities[1].text),
        ("env:DEPLOY_KEY", &KeyText::Source(source))
    );
}

#[test]
fn an_explicit_key_that_is_no_use_is_an_error() {
    let home = Home::new();
    let open = home.write("open", "key", 0o640);
    let big = home.write("big", &"x".repeat(1024 * 1024 + 1), 0o600);
    for (path, word) in [
        (open, "chmod 600"),
        (big, "1024 KiB"),
        (home.ssh("missing"), "No such file"),
        (home.dir.path().to_owned(), "directory"),
    ] {
        let options = ConnectionOptions { identities: vec![IdentitySource::File(path.clone())], ..options() };
        match home.resolve("web1", &options) {
            Err(Fault::KeyUnreadable { path: named, problem }) => {
                assert_eq!(named, path.display().to_string());
                assert!(problem.contains(word), "{problem}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_public_key_may_stand_for_what_the_agent_holds() {
    let home = Home::new();
    let public = home.write("a.pub", "ssh-ed25519 AAAA me", 0o644);
    for path in [public, home.ssh("a")] {
        let options = ConnectionOptions { identities: vec![IdentitySource::File(path)], ..options() };
        let plan = home.resolve("web1", &options).unwrap().0.identities;
        let KeyText::Read(text) = &plan.identities[0].text else { panic!() };
        assert!(identity::looks_public(text.expose()));
    }
}

#[test]
fn identity_options() {
    let mut home = Home::new();
    home.vars = vec![("SSH_AUTH_SOCK", "/run/agent"), ("OTHER", "/run/other")];
    let key = home.write("web1", "key", 0o600);
    let plan = |set: &[&str]| home.target("web1", set).identities;
    let named = plan(&["IdentityFile=~/.ssh/%h", "IdentitiesOnly=yes"]);
    assert_eq!(named.identities[0].name, key.display().to_string());
    assert!(named.listed_only && !named.identities[0].explicit);
    assert_eq!(plan(&["IdentityFile=none"]).identities, []);
    assert_eq!(plan(&["IdentityAgent=none"]).agent, None);
    for (agent, path) in
        [("~/a", home.dir.path().join("a")), ("$OTHER", "/run/other".into()), ("SSH_AUTH_SOCK", "/run/agent".into())]
    {
        assert_eq!(plan(&[&format!("IdentityAgent={agent}")]).agent, Some(path));
    }
    let options = ConnectionOptions { options: vec!["IdentityFile=~/no".into()], ..options() };
    assert_eq!(home.resolve("web1", &options).unwrap().1[0].code, "identity_skipped");
}

#[test]
fn what_the_command_line_says_reaches_the_hops_only_where_it_is_about_all_of_them() {
    let home = Home::new();
    let key = home.write("deploy", "key", 0o600);
    let config =
        home.write("jumps", "Host jump\n Port 77\n IdentityFile ~/.ssh/own\n StrictHostKeyChecking no\n", 0o600);
    home.write("own", "key", 0o600);
    let options = ConnectionOptions {
        config: ConfigFile::File(config),
        options: vec!["Compression=yes".into(), "ConnectTimeout=9".into()],
        user: Some("deploy".into()),
        port: Some(22),
        identities: vec![IdentitySource::File(key)],
        jump: vec!["you@jump".into(), "last:2222".into()],
        password: Some(SecretSource::Env("PW".into())),
        passphrase: Some(SecretSource::Env("PP".into())),
        otp: Some(SecretSource::Stdin),
        host_key_pins: vec!["SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".into()],
        keepalive: Some(Duration::from_secs(3)),
        ..options()
    };
    let (it, _) = home.resolve("web1", &options).unwrap();
    assert!(it.password.is_some() && it.otp.is_some() && it.host_keys.pins.len() == 1 && it.compression);
    let [first, second] = &it.jump[..] else { panic!("{:?}", it.jump) };
    assert_eq!((first.user.as_str(), first.host.as_str(), first.port), ("you", "jump", 77));
    assert_eq!((second.user.as_str(), second.host.as_str(), second.port), ("me", "last", 2222));
    assert_eq!(first.identities.identities[0].name, home.ssh("own").display().to_string());
    assert_eq!(first.host_keys.policy, HostKeyPolicy::Insecure);
    for hop in [first, second] {
        assert!(hop.password.is_none() && hop.otp.is_none() && hop.host_keys.pins.is_empty() && !hop.compression);
        assert_eq!((&hop.passphrase, hop.keepalive_interval), (&it.passphrase, Duration::from_secs(3)));
        assert_eq!(hop.connect_timeout, Duration::from_secs(15));
    }
    let options = ConnectionOptions { host_key_policy: Some(HostKeyPolicy::AcceptNew), ..options };
    let (it, _) = home.resolve("web1", &options).unwrap();
    assert!(it.jump.iter().all(|hop| hop.host_keys.policy == HostKeyPolicy::AcceptNew));
}

#[test]
fn certificates_and_variables() {
    let home = Home::new();
    home.write("cert", "text", 0o644);
    let mut local = local(home.dir.path(), &[]);
    local.variables = [("LANG", "C"), ("LC_ALL", "x"), ("SECRET", "y")].map(|(k, v)| (k.into(), v.into())).to_vec();
    let options = ConnectionOptions {
        options: [
            "CertificateFile=~/.ssh/cert",
            "CertificateFile=~/.ssh/no",
            "SendEnv=LC_* LANG",
            "SetEnv=LANG=de A=1",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..options()
    };
    let (it, warnings) = resolve_for(&local, "web1", &options).unwrap();
    assert_eq!(it.certificate_files, [(home.ssh("cert").display().to_string(), b"text".to_vec())]);
    assert_eq!(warnings.len(), 1);
    let variables: Vec<_> = it.send_env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(variables, ["LANG=de", "A=1", "LC_ALL=x"]);
}
