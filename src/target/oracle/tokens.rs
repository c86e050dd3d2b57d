//! Tokens: both run `Match exec`, and what it was given is compared.

use super::Setting;

/// What a command of `Match exec` is given, by ssh and by us.
fn both(config: &str, destination: &str) -> (String, String) {
    let run = |ours: bool| {
        let setting = Setting::new(&[]);
        let config = format!("{config}\nMatch exec \"echo %C %d %h %i %k %L %l %n %p %r %u %%%% > DIR/out\"\n");
        let config = config.replace("DIR", setting.path().to_str().unwrap());
        std::fs::write(setting.config(), config).unwrap();
        if ours {
            setting.ours(destination, &[]).unwrap();
        } else {
            setting.theirs(destination, &[]).unwrap();
        }
        std::fs::read_to_string(setting.path().join("out")).unwrap()
    };
    (run(true), run(false))
}

#[test]
fn every_token_of_match_exec() {
    for (config, destination) in [
        ("", "web1"),
        ("", "Web1"),
        ("", "ssh://me@web1:2222"),
        ("HostName Real.%h\nPort 77\nUser deploy", "web1"),
        ("HostKeyAlias Alias", "web1"),
        ("HostName real\nMatch final", "web1"),
    ] {
        let (ours, theirs) = both(config, destination);
        assert_eq!(ours, theirs, "{config} {destination}");
        assert!(ours.ends_with("%%\n"), "{ours}");
    }
}

#[test]
fn files_and_commands() {
    let setting = Setting::new(&[(
        "config",
        "HostName real\nUser deploy\nPort 77\nHostKeyAlias Alias\nUserKnownHostsFile /%h/%n/%p/%r/%k/%C/${ORACLE_SET}\n\
         ProxyCommand nc %h %n %p %r %%\nKnownHostsCommand /bin/x %k %H",
    )]);
    let (target, _) = super::super::resolve_for(&setting.local(), "Web1", &setting.connection(&[])).unwrap();
    assert_eq!(target.proxy_command.as_deref(), Some("nc real Web1 77 deploy %"));
    assert_eq!(target.known_hosts_command.as_deref(), Some("\"/bin/x\" \"alias\" \"%H\""));
    let theirs = setting.theirs("Web1", &[]).unwrap();
    let ours = setting.ours("Web1", &[]).unwrap();
    assert_eq!(ours.value("userknownhostsfile"), theirs.value("userknownhostsfile"));
}
