use super::*;

fn read(options: &[&str]) -> Result<(Settings, Vec<Warning>), Fault> {
    Settings::from_command_line(&options.iter().map(|o| (*o).to_owned()).collect::<Vec<_>>())
}

fn settings(options: &[&str]) -> Settings {
    let (settings, warnings) = read(options).unwrap();
    assert_eq!(warnings, []);
    settings
}

fn problem(option: &str) -> (String, String) {
    match read(&[option]) {
        Err(Fault::ConfigInvalid { place, problem }) => (place, problem),
        other => panic!("{option}: {other:?}"),
    }
}

#[test]
fn the_first_value_wins_and_a_later_bad_one_is_still_refused() {
    assert_eq!(settings(&["Port=2", "port=3"]).port, Some(2));
    assert!(read(&["Port=2", "port=x"]).is_err());
}

#[test]
fn identity_files_add_up() {
    assert_eq!(settings(&["IdentityFile=a", "IDENTITYFILE b"]).identity_files, ["a", "b"]);
}

#[test]
fn forms_of_key_and_value() {
    for form in ["User=x", "user x", "USER = x", " User\tx ", "User=\"x\"", "User='x'", "User=x # me"] {
        assert_eq!(settings(&[form]).user.as_deref(), Some("x"), "{form}");
    }
    assert_eq!(settings(&["User=\"a b\""]).user.as_deref(), Some("a b"));
    assert_eq!(settings(&[r"User=a\ b"]).user.as_deref(), Some("a b"));
    assert_eq!(settings(&["User==x"]).user.as_deref(), Some("=x"));
    let files = settings(&[r#"UserKnownHostsFile=a "b c" d"#]).user_known_hosts.unwrap();
    assert_eq!(files, ["a", "b c", "d"]);
    assert_eq!(settings(&["UserKnownHostsFile none"]).user_known_hosts, Some(vec![]));
}

#[test]
fn values_are_checked() {
    for (option, place, word) in [
        ("Port=0", "-o Port", "not a port"),
        ("Port=22=23", "-o Port", "not a port"),
        ("Port", "-o Port", "no value"),
        ("User=", "-o User", "no value"),
        ("User=\"\"", "-o User", "empty"),
        ("User=a b", "-o User", "one value"),
        ("User=\"a", "-o User", "not closed"),
        ("UserKnownHostsFile=none a", "-o UserKnownHostsFile", "alone"),
        ("StrictHostKeyChecking=maybe", "-o StrictHostKeyChecking", "accept-new"),
        ("PasswordAuthentication=1", "-o PasswordAuthentication", "neither"),
        ("ConnectTimeout=5x", "-o ConnectTimeout", "not a time"),
        ("ConnectTimeout=-1", "-o ConnectTimeout", "not a time"),
        ("ServerAliveCountMax=-1", "-o ServerAliveCountMax", "not a count"),
        ("Frobnicate=1", "-o Frobnicate", "no such"),
        ("yaml", "-o yaml", "no such"),
        ("ProxyJump=a,,b", "-o ProxyJump", "host is empty"),
        ("ProxyJump=-oX", "-o ProxyJump", "begins with `-`"),
        ("Include=x", "-o Include", "a file"),
        ("Host=x", "-o Host", "a file"),
        ("ForwardX11=maybe", "-o ForwardX11", "neither"),
        ("LogLevel=loud", "-o LogLevel", "none of"),
        ("SendEnv=A=b", "-o SendEnv", "a variable"),
        ("SetEnv=A", "-o SetEnv", "NAME=VALUE"),
        ("AddressFamily=ipv4", "-o AddressFamily", "inet6"),
        ("Compression=true", "-o Compression", "neither"),
    ] {
        let (got_place, problem) = problem(option);
        assert_eq!(got_place, place);
        assert!(problem.contains(word), "{option}: {problem}");
    }
}

#[test]
fn words_mean_what_openssh_means() {
    for (word, policy) in [
        ("yes", HostKeyPolicy::Strict),
        ("ask", HostKeyPolicy::Strict),
        ("Accept-New", HostKeyPolicy::AcceptNew),
        ("no", HostKeyPolicy::Insecure),
        ("off", HostKeyPolicy::Insecure),
    ] {
        assert_eq!(settings(&[&format!("StrictHostKeyChecking={word}")]).host_key_policy, Some(policy));
    }
    assert_eq!(settings(&["PubkeyAuthentication=host-bound"]).pubkey, Some(true));
    assert_eq!(settings(&["ConnectTimeout=1m30s"]).connect_timeout, Some(Duration::from_secs(90)));
    assert_eq!(settings(&["ConnectTimeout=none"]).connect_timeout, Some(Duration::ZERO));
    assert_eq!(settings(&["ServerAliveInterval=0"]).alive_interval, Some(Duration::ZERO));
    assert_eq!(settings(&["BatchMode=yes"]), Settings::default());
}

#[test]
fn of_proxy_jump_and_proxy_command_the_first_counts() {
    let route = |options: &[&str]| settings(options).route;
    let command = Some(Route::Command("nc \"%h\" # x".into()));
    assert_eq!(route(&["ProxyCommand = nc \"%h\" # x", "ProxyJump=b"]), command);
    let jump = Some(Route::Jump(vec!["a".into(), "me@b:22".into()]));
    assert_eq!(route(&["ProxyJump=a,me@b:22 # x", "ProxyCommand=nc"]), jump);
    assert_eq!(route(&["ProxyJump=None", "ProxyCommand=nc"]), Some(Route::Command("nc".into())));
    assert_eq!(route(&["ProxyCommand=none", "ProxyJump=b"]), Some(Route::Direct));
    assert_eq!(route(&["ProxyJump=none", "ProxyJump=b"]), Some(Route::NoJump));
}

#[test]
fn variables_for_the_other_side() {
    let it = settings(&["SendEnv=LANG LC_*", "SendEnv=-LC_* FOO", "SetEnv=A=1 A=2 B=\"x y\"", "SetEnv=C=3"]);
    assert_eq!(it.send_env, ["LANG", "FOO"]);
    assert_eq!(it.set_env, [("A".into(), "1".into()), ("B".into(), "x y".into())]);
}

#[test]
fn what_is_known_but_not_honoured_warns_where_it_matters() {
    let (_, warnings) = read(&["pkcs11provider=x", "ForwardAgent yes", "RequiredRSASize=2048"]).unwrap();
    let names: Vec<_> = warnings.iter().map(|w| (w.code, w.message.split('`').nth(1).unwrap())).collect();
    assert_eq!(names, [("option_ignored", "-o PKCS11Provider"), ("option_ignored", "-o RequiredRSASize")]);
    assert_eq!(settings(&["PKCS11Provider=none", "VerifyHostKeyDNS=no"]), Settings::default());
}

#[test]
fn unknown_keywords_pass_where_ignore_unknown_names_them() {
    assert_eq!(settings(&["IgnoreUnknown=frob*,x", "FrobNicate=1"]).ignore_unknown.as_deref(), Some("frob*,x"));
    assert!(read(&["FrobNicate=1", "IgnoreUnknown=frob*"]).is_err());
    assert!(read(&["IgnoreUnknown=frob*", "Port=x"]).is_err());
}

#[test]
fn a_line_that_does_not_count_is_checked_all_the_same() {
    assert!(Settings::default().check("Port", "22").is_ok() && Settings::default().check("Port", "x").is_err());
}

#[test]
fn the_output_form_is_another_option() {
    for mode in ["json", "ndjson", "raw", "JSON"] {
        let Err(Fault::Usage { message }) = read(&[mode]) else { panic!("{mode}") };
        assert!(message.contains(&format!("--output {}", mode.to_lowercase())), "{message}");
    }
}
