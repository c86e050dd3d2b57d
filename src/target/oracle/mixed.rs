//! Configurations put together at random: whatever comes out, ssh and we have to agree on it.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use super::{Case, Setting, same};
use crate::errors::Fault;

/// How many are tried, always the same ones: each starts ssh once. With `PROPTEST_CASES` there are as many as it says, and others
/// each time.
const CASES: u32 = 64;
const SEED: u64 = 4251;

fn config() -> ProptestConfig {
    let asked_for = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let seed = if asked_for.is_some() { RngSeed::Random } else { RngSeed::Fixed(SEED) };
    ProptestConfig {
        rng_seed: seed,
        failure_persistence: None,
        ..ProptestConfig::with_cases(asked_for.unwrap_or(CASES))
    }
}

fn block() -> impl Strategy<Value = String> {
    let name =
        || select(vec!["web1", "web*", "*", "other", "!other", "!web1", "real", "re?l", "WEB1", "a,web1", "\"web1\""]);
    let criterion = prop_oneof![
        name().prop_map(|name| format!("host {name}")),
        name().prop_map(|name| format!("!host {name}")),
        name().prop_map(|name| format!("originalhost={name}")),
        select(vec!["user root", "user x", "!user x", "localuser root", "final", "!final", "canonical", "exec true"])
            .prop_map(str::to_owned),
        select(vec!["exec \"test %h = web1\"", "exec \"test %h = real\"", "!exec false", "all", "!all", "nonsense x"])
            .prop_map(str::to_owned),
    ];
    prop_oneof![
        proptest::collection::vec(name(), 1..3).prop_map(|names| format!("Host {}", names.join(" "))),
        proptest::collection::vec(criterion, 1..3).prop_map(|criteria| format!("Match {}", criteria.join(" "))),
    ]
}

fn setting() -> impl Strategy<Value = String> {
    let keyword = select(vec![
        "User",
        "user",
        "PORT",
        "Port",
        "HostName",
        "Compression",
        "IdentityFile",
        "SendEnv",
        "SetEnv",
        "ConnectTimeout",
        "HostKeyAlias",
        "RekeyLimit",
        "HashKnownHosts",
        "UserKnownHostsFile",
        "Include",
        "ProxyCommand",
        "PreferredAuthentications",
        "AddressFamily",
        "IgnoreUnknown",
        "Frob",
        "ServerAliveInterval",
        "ForwardX11",
    ]);
    let space = select(vec![" ", "=", " = ", "\t", "  ", " =", ""]);
    let value = select(vec![
        "x",
        "real",
        "22",
        "2200",
        "yes",
        "no",
        "none",
        "a b",
        "\"a b\"",
        "'a'",
        "1G 1h",
        "default none",
        "1m",
        "%h",
        "%h.x",
        "real # c",
        "x#y",
        "aes128-ctr",
        "inet",
        "A=1",
        "A B",
        "-A*",
        "LC_*",
        "\"open",
        "'",
        "",
        "# c",
        "Fr*",
        "DIR/inc",
        "DIR/i*",
        "a\\ b",
        "\\\"",
        "=x",
        "\"x\" y",
        "x\\",
        "%%",
        "%r",
        "~/x",
        "REAL",
    ]);
    (keyword, space, value).prop_map(|(keyword, space, value)| format!("{keyword}{space}{value}"))
}

fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        1 => block(),
        3 => setting().prop_map(|line| format!("  {line}")),
        // Without mistakes most of the time, so that there is something to compare.
        6 => select(vec![
            "User x", "User root", "Port 22", "Port 2200", "HostName real", "HostName %h.x", "IdentityFile /a",
            "IdentityFile /b", "Compression yes", "SendEnv A B", "SendEnv -A", "SetEnv A=1", "Include DIR/inc",
            "ConnectTimeout 5", "HostKeyAlias k", "RekeyLimit 1M", "RekeyLimit 2M 9", "ProxyCommand nc %h", "# x", "",
            "IdentitiesOnly yes", "PasswordAuthentication no", "UserKnownHostsFile /k/%h", "ServerAliveInterval 7",
        ]).prop_map(str::to_owned),
    ];
    proptest::collection::vec(line, 0..9).prop_map(|lines| lines.join("\n"))
}

/// Where we differ on purpose: we refuse characters in names that OpenSSH lets pass where a file says them.
fn stricter(case: &Case<'_>) -> bool {
    match Setting::new(case.files).ours(case.destination, case.options) {
        Err(Fault::ConfigInvalid { problem, .. }) => ["HostName: its host", "User: its user", "HostKeyAlias: it holds"]
            .iter()
            .any(|why| problem.starts_with(why)),
        // Abbreviated addresses: it writes 22 as 0.0.0.22.
        Ok(printed) => printed.value("hostname").parse::<u32>().is_ok(),
        Err(_) => false,
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_is_put_together(
        main in lines(),
        inner in lines(),
        destination in select(vec!["web1", "Web1", "me@web1", "ssh://me@web1:77", "real"]),
        options in proptest::collection::vec(select(vec!["User=o", "Port=9", "HostName=real", "IdentityFile=/o", "SetEnv=O=1"]), 0..2),
    ) {
        // One that includes itself is another test's.
        let inner = inner.replace("Include", "#Include");
        let case = Case { files: &[("config", &main), ("inc", &inner)], options: &options, destination };
        if !stricter(&case) {
            same(&case);
        }
    }
}
