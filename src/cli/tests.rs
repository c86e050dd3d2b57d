use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use super::*;
use crate::effect::Effect;
use crate::model::request::{
    ConfigFile, ExecRequest, HostKeyPolicy, IdentitySource, OutputMode, RemoteCommand, ScriptSource, StdinMode,
};

fn words(line: &[&str]) -> Vec<OsString> {
    std::iter::once("ssh-cli").chain(line.iter().copied()).map(OsString::from).collect()
}

fn read(line: &[&str]) -> Request {
    parse(words(line), &Surroundings::default()).unwrap_or_else(|refused| panic!("{line:?}: {}", refused.fault))
}

fn refuse(line: &[&str]) -> Fault {
    refuse_in(line, &Surroundings::default()).fault
}

fn refuse_in(line: &[&str], surroundings: &Surroundings) -> Refused {
    match parse(words(line), surroundings) {
        Err(refused) => *refused,
        Ok(request) => panic!("{line:?} was taken: {request:?}"),
    }
}

fn exec(line: &[&str]) -> ExecRequest {
    match read(line).action {
        Action::Exec(exec) => *exec,
        other => panic!("{line:?}: {other:?}"),
    }
}

fn terminal() -> Surroundings {
    Surroundings { stdout_is_terminal: true, stderr_is_terminal: true, output_variable: None }
}

fn variable(word: &str) -> Surroundings {
    Surroundings { output_variable: Some(word.into()), ..Surroundings::default() }
}

fn argv(words: &[&str]) -> RemoteCommand {
    RemoteCommand::Argv(words.iter().map(OsString::from).collect())
}

#[test]
fn the_definition_is_sound() {
    command().debug_assert();
}

#[test]
fn one_word_is_text_and_several_are_an_argv() {
    assert_eq!(exec(&["exec", "h", "ls -l | wc"]).run.command, RemoteCommand::Text("ls -l | wc".into()));
    assert_eq!(exec(&["exec", "h", "ls", "-l"]).run.command, argv(&["ls", "-l"]));
    assert_eq!(exec(&["exec", "--argv", "h", "a b"]).run.command, argv(&["a b"]));
    assert_eq!(exec(&["exec", "h", "--", "bash", "-c", "x"]).run.command, argv(&["bash", "-c", "x"]));
    assert_eq!(exec(&["exec", "h", "--", "--odd"]).run.command, RemoteCommand::Text("--odd".into()));
    assert_eq!(exec(&["exec", "h", "ls", "--", "x"]).run.command, argv(&["ls", "--", "x"]));
    assert_eq!(exec(&["exec", "h", "--", "ls", "--", "x"]).run.command, argv(&["ls", "--", "x"]));
}

#[test]
fn our_options_end_at_the_commands_first_word() {
    let request =
        read(&["exec", "--raw", "h", "--timeout", "5s", "ls", "--json", "-n", "--timeout", "x", "-h", "--version"]);
    assert_eq!(request.output.mode, OutputMode::Raw);
    let Action::Exec(exec) = request.action else { panic!() };
    assert_eq!(exec.run.command, argv(&["ls", "--json", "-n", "--timeout", "x", "-h", "--version"]));
    assert_eq!(exec.run.timeout, Some(Duration::from_secs(5)));
}

#[test]
fn a_mistyped_option_never_becomes_the_command() {
    let Fault::Usage { message } = refuse(&["exec", "h", "--tiemout", "5s", "ls"]) else { panic!() };
    assert!(message.contains("--tiemout") && message.contains("--timeout"), "{message}");
    assert!(!message.contains("Usage") && !message.contains("as a value") && !message.contains('\x1b'), "{message}");
}

#[test]
fn without_a_command_there_is_a_fault_of_its_own() {
    for line in
        [&["exec", "h"][..], &["exec", "h", "--"], &["exec", "h", ""], &["exec", "h", "  "], &["exec", "--argv", "h"]]
    {
        assert_eq!(refuse(line), Fault::MissingCommand, "{line:?}");
    }
    let Fault::Usage { message } = refuse(&["exec"]) else { panic!() };
    assert!(message.contains("DEST"), "{message}");
}

#[test]
fn a_destination_is_not_judged_but_is_text() {
    assert_eq!(exec(&["exec", "bad host", "x"]).destination, "bad host");
    assert_eq!(exec(&["exec", "--", "-oProxyCommand=x", "x"]).destination, "-oProxyCommand=x");
    let mut line = words(&["exec"]);
    line.extend([OsString::from_vec(vec![0xff]), "x".into()]);
    let refused = parse(line, &Surroundings::default()).unwrap_err();
    assert!(matches!(refused.fault, Fault::Usage { .. }));
}

#[test]
fn every_connection_option_arrives() {
    let c = exec(&[
        "exec",
        "-F",
        "none",
        "-o",
        "A=b",
        "-oC=d",
        "-l",
        "u",
        "-P",
        "2222",
        "-i",
        "k",
        "-i",
        "env:KEY",
        "-J",
        "a,b@c:1",
        "--password",
        "env:PW",
        "--passphrase",
        "file:/p",
        "--otp",
        "cmd:otp",
        "--host-key-policy",
        "accept-new",
        "--host-key",
        "SHA256:x",
        "--host-key",
        "ssh-ed25519 AAAA",
        "--connect-timeout",
        "3s",
        "--deadline",
        "1m",
        "--keepalive",
        "0",
        "h",
        "x",
    ])
    .connection;
    assert_eq!(c.config, ConfigFile::None);
    assert_eq!(c.options, ["A=b", "C=d"]);
    assert_eq!((c.user.as_deref(), c.port), (Some("u"), Some(2222)));
    assert_eq!(
        c.identities,
        [IdentitySource::File("k".into()), IdentitySource::Secret(SecretSource::Env("KEY".into()))]
    );
    assert_eq!(c.jump, ["a", "b@c:1"]);
    assert_eq!(c.password, Some(SecretSource::Env("PW".into())));
    assert_eq!(c.passphrase, Some(SecretSource::File("/p".into())));
    assert_eq!(c.otp, Some(SecretSource::Command("otp".into())));
    assert_eq!(c.host_key_policy, Some(HostKeyPolicy::AcceptNew));
    assert_eq!(c.host_key_pins, ["SHA256:x", "ssh-ed25519 AAAA"]);
    assert_eq!(c.connect_timeout, Some(Duration::from_secs(3)));
    assert_eq!(c.deadline, Some(Duration::from_secs(60)));
    assert_eq!(c.keepalive, Some(Duration::ZERO));
}

#[test]
fn every_run_and_retry_option_arrives() {
    let e = exec(&[
        "exec",
        "--stdin-file",
        "in",
        "--cwd",
        "/d",
        "--env",
        "A=b=c",
        "--env",
        "E=",
        "--secret-env",
        "S=env:X",
        "--login",
        "--pty",
        "--timeout",
        "2s",
        "--no-exit-status",
        "--effect",
        "read",
        "--retries",
        "3",
        "--retry-base",
        "1ms",
        "--retry-max-delay",
        "1s",
        "h",
        "x",
    ]);
    assert_eq!(e.run.stdin, StdinMode::File("in".into()));
    assert_eq!(e.run.cwd, Some("/d".into()));
    assert_eq!(
        e.run.env.iter().map(|p| (p.name.as_str(), p.value.to_str().unwrap())).collect::<Vec<_>>(),
        [("A", "b=c"), ("E", "")]
    );
    assert_eq!(e.run.secret_env[0].source, SecretSource::Env("X".into()));
    assert!(e.run.login && e.run.pty && e.run.no_exit_status);
    assert_eq!((e.run.timeout, e.run.effect), (Some(Duration::from_secs(2)), Effect::Read));
    assert_eq!(
        (e.retry.retries, e.retry.base, e.retry.max_delay, e.retry.wait),
        (3, Some(Duration::from_millis(1)), Some(Duration::from_secs(1)), None)
    );
}

#[test]
fn the_defaults_are_the_careful_ones() {
    let e = exec(&["exec", "h", "x"]);
    assert_eq!(e.run.effect, Effect::Write);
    assert_eq!(e.run.stdin, StdinMode::Closed { guard: true });
    assert_eq!(e.retry.retries, 0);
    assert_eq!((e.run.timeout, e.connection.deadline, e.connection.password.is_none()), (None, None, true));
    assert_eq!(e.connection.config, ConfigFile::Default);
}

#[test]
fn standard_input_is_guarded_until_somebody_reads_it() {
    let stdin = |line: &[&str]| exec(line).run.stdin;
    assert_eq!(stdin(&["exec", "-n", "h", "x"]), StdinMode::Closed { guard: false });
    assert_eq!(stdin(&["exec", "--stdin", "h", "x"]), StdinMode::Inherit);
    assert_eq!(stdin(&["exec", "--stdin-file", "-", "h", "x"]), StdinMode::Inherit);
    assert_eq!(stdin(&["exec", "--password", "stdin", "h", "x"]), StdinMode::Closed { guard: false });
    assert_eq!(stdin(&["exec", "--script", "-", "h"]), StdinMode::Closed { guard: false });
    assert_eq!(stdin(&["exec", "--secret-env", "A=stdin", "h", "x"]), StdinMode::Closed { guard: false });
}

#[test]
fn a_script_takes_the_words_as_its_arguments() {
    let run = exec(&["exec", "--script", "s.sh", "h", "a"]).run;
    assert_eq!((run.script, run.command), (Some(ScriptSource::File("s.sh".into())), argv(&["a"])));
    let run = exec(&["exec", "--script", "-", "h"]).run;
    assert_eq!((run.script, run.command), (Some(ScriptSource::Stdin), RemoteCommand::Nothing));
    let run = exec(&["exec", "--script", "-", "--stdin-file", "data", "h"]).run;
    assert_eq!(run.stdin, StdinMode::File("data".into()));
}

#[test]
fn what_cannot_be_had_together_is_refused_with_a_reason() {
    let lines: &[&[&str]] = &[
        &["--stdin", "--stdin-file", "f"],
        &["--stdin", "--stdin-file", "-"],
        &["-n", "--stdin"],
        &["-n", "--stdin-file", "f"],
        &["-n", "--script", "-"],
        &["-n", "--password", "stdin"],
        &["--script", "f", "--stdin"],
        &["--script", "-", "--stdin-file", "-"],
        &["--password", "stdin", "--stdin"],
        &["--password", "fd:0", "--stdin"],
        &["--password", "stdin", "--script", "-"],
        &["--password", "stdin", "--otp", "stdin"],
        &["--secret-env", "A=stdin", "--passphrase", "stdin"],
        &["--secret-env", "A=stdin", "--secret-env", "B=stdin"],
        &["--env", "A=1", "--env", "A=2"],
        &["--env", "A=1", "--secret-env", "A=env:B"],
        &["--host-key", "SHA256:x", "--host-key-policy", "insecure"],
        &["--retries", "1", "--retry-base", "1s", "--retry-wait", "1s"],
        &["--json", "--raw"],
        &["--json", "--output", "raw"],
        &["--raw", "--output", "ndjson"],
        &["--raw", "--stdout-file", "f"],
        &["--output", "ndjson", "--stdout-file", "f"],
        &["--raw", "--base64"],
    ];
    for options in lines {
        let line: Vec<&str> = ["exec"].iter().chain(*options).copied().chain(["h", "x"]).collect();
        let fault = refuse(&line);
        assert!(matches!(fault, Fault::OptionConflict { .. }), "{line:?}: {fault}");
    }
}

#[test]
fn no_refusal_repeats_what_may_be_a_secret() {
    let lines: &[&[&str]] = &[
        &["exec", "--password", "hunter2", "h", "x"],
        &["exec", "--password=hunter2", "h", "x"],
        &["exec", "--passphrase", "hunter2", "h", "x"],
        &["exec", "--otp", "hunter2", "h", "x"],
        &["exec", "--pasword=hunter2", "h", "x"],
        &["exec", "--pasword", "hunter2", "h", "x"],
        &["exec", "-phunter2", "h", "x"],
        &["exec", "-p", "hunter2", "h", "x"],
        &["exec", "--secret-env", "A=hunter2", "h", "x"],
        &["exec", "--secret-env", "hunter2", "h", "x"],
        &["exec", "--secret-env", "hunter2=x=y", "h"],
        &["exec", "--env", "hunter2", "h", "x"],
        &["exec", "-i", "env:", "h", "hunter2"],
        &["exec", "-i", "fd:hunter2", "h", "x"],
    ];
    for line in lines {
        let fault = refuse(line);
        assert!(!format!("{fault:?}").contains("hunter2"), "{line:?}: {fault}");
    }
    let Fault::Usage { message } = refuse(&["exec", "--password", "hunter2", "h", "x"]) else { panic!() };
    assert!(message.contains("--password") && message.contains("env:NAME"), "{message}");
}

#[test]
fn an_output_form_after_dash_o_is_told_from_an_option() {
    for option in ["json", "JSON", "ndjson", "raw"] {
        let Fault::Usage { message } = refuse(&["exec", "-o", option, "h", "x"]) else { panic!() };
        assert!(message.contains(&format!("--output {}", option.to_lowercase())), "{message}");
    }
}

#[test]
fn values_are_checked() {
    for options in [
        &["-p", "0"][..],
        &["-p", "70000"],
        &["--user", ""],
        &["--cwd", ""],
        &["-J", "a,,b"],
        &["-i", ""],
        &["--timeout", "5"],
        &["--timeout", "0"],
        &["--connect-timeout", "0"],
        &["--deadline", "0s"],
        &["--max-output", "8x"],
        &["--effect", "none"],
        &["--env", "1A=x"],
        &["--retry-wait", "1s"],
        &["--stdout-file", ""],
    ] {
        let line: Vec<&str> = ["exec"].iter().chain(options).copied().chain(["h", "x"]).collect();
        let fault = refuse(&line);
        assert!(matches!(fault, Fault::Usage { .. }), "{line:?}: {fault}");
    }
}

#[test]
fn the_form_is_the_flag_then_the_variable_then_what_stdout_is() {
    let mode = |line: &[&str], s: &Surroundings| {
        let output = parse(words(line), s).unwrap().output;
        (output.mode, output.defaulted, output.announce, output.remote_exit)
    };
    let line = &["exec", "h", "x"][..];
    assert_eq!(mode(line, &Surroundings::default()), (OutputMode::Json, true, false, false));
    assert_eq!(mode(line, &terminal()), (OutputMode::Raw, true, false, true));
    let piped = Surroundings { stdout_is_terminal: false, ..terminal() };
    assert_eq!(mode(line, &piped), (OutputMode::Json, true, true, false));
    assert_eq!(mode(line, &variable("ndjson")), (OutputMode::Ndjson, false, false, false));
    assert_eq!(mode(line, &variable("")), (OutputMode::Json, true, false, false));
    assert_eq!(mode(&["--json", "exec", "h", "x"], &terminal()), (OutputMode::Json, false, false, false));
    assert_eq!(mode(&["exec", "h", "--raw", "x"], &variable("json")), (OutputMode::Raw, false, false, true));
    assert_eq!(mode(&["exec", "--remote-exit", "h", "x"], &piped), (OutputMode::Json, true, true, true));
    assert_eq!(mode(&["exec", "--stdout-file", "f", "h", "x"], &terminal()), (OutputMode::Json, true, false, false));
    let refused = refuse_in(line, &variable("yaml"));
    assert!(matches!(refused.fault, Fault::Usage { .. }));
    assert_eq!(refused.output.mode, OutputMode::Json);
}

#[test]
fn output_options_arrive() {
    let output = read(&["exec", "--max-output", "1k", "--no-spill", "--detail", "--base64", "-vv", "h", "x"]);
    assert_eq!(output.verbosity, 2);
    let output = output.output;
    assert_eq!((output.max_output, output.spill, output.detail, output.base64), (1024, false, true, true));
}

#[test]
fn a_refusal_keeps_the_form_that_was_asked_for() {
    let mode = |line: &[&str]| {
        let refused = refuse_in(line, &terminal());
        (refused.output.mode, refused.command)
    };
    assert_eq!(mode(&["exec", "--wrong", "--output", "json", "h", "x"]), (OutputMode::Json, "exec"));
    assert_eq!(mode(&["exec", "--output=ndjson", "--wrong", "h", "x"]), (OutputMode::Ndjson, "exec"));
    assert_eq!(mode(&["--json", "exce", "h", "x"]), (OutputMode::Json, ""));
    assert_eq!(mode(&["exec", "h", "--json", "--wrong", "x"]), (OutputMode::Json, "exec"));
    assert_eq!(mode(&["exec", "--wrong", "h", "x", "--json"]), (OutputMode::Raw, "exec"));
    assert_eq!(mode(&["exec", "--wrong", "h", "--", "--json"]), (OutputMode::Raw, "exec"));
    assert_eq!(mode(&["exec", "--user", "u", "-p", "22", "--json", "h", "--wrong"]), (OutputMode::Json, "exec"));
    assert_eq!(mode(&["exec", "-vp", "22", "--env", "A", "--json", "h", "x"]), (OutputMode::Json, "exec"));
    assert_eq!(mode(&["schema", "nothing", "--json"]), (OutputMode::Json, "schema"));
    assert_eq!(mode(&[]), (OutputMode::Raw, ""));
    assert_eq!(refuse_in(&["exec"], &variable("raw")).output.mode, OutputMode::Raw);
}

#[test]
fn a_glance_agrees_with_the_parser() {
    let mut definition = command();
    definition.build();
    for line in [
        &["exec", "--json", "h", "x"][..],
        &["exec", "h", "x", "--json"],
        &["--output", "raw", "exec", "-i", "--", "h", "x"],
        &["exec", "-vJa", "h", "--raw", "x"],
        &["exec", "-l", "u", "h", "--", "--raw"],
        &["schema", "errors", "--output=ndjson"],
    ] {
        let seen = lenient::glance(&definition, &words(line)[1..]).mode;
        match parse(words(line), &Surroundings::default()) {
            Ok(request) => assert_eq!(seen, (!request.output.defaulted).then_some(request.output.mode), "{line:?}"),
            Err(_) => assert!(line.contains(&"-i"), "{line:?}"),
        }
    }
}

#[test]
fn help_and_version_are_text_to_print() {
    for line in [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["help"],
        &["exec", "--help"],
        &["help", "exec"],
        &["exec", "-h", "--json"],
    ] {
        let Action::Print(text) = read(line).action else { panic!("{line:?}") };
        assert!(!text.is_empty() && !text.contains('\x1b'), "{line:?}");
    }
    let Action::Print(text) = read(&["exec", "--help"]).action else { panic!() };
    for heading in ["Connection:", "Run:", "Retry:", "Output:"] {
        assert!(text.contains(heading), "{heading}");
    }
    let Action::Print(short) = read(&["exec", "-h"]).action else { panic!() };
    assert!(short.len() < text.len());
}

#[test]
fn the_other_commands_are_read() {
    use crate::model::request::SchemaTopic;
    assert!(matches!(read(&["schema"]).action, Action::Schema(SchemaTopic::Envelope)));
    assert!(matches!(read(&["schema", "tools"]).action, Action::Schema(SchemaTopic::Tools)));
    assert!(matches!(read(&["exit-codes"]).action, Action::ExitCodes));
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let Action::Completions(name) = read(&["completions", shell]).action else { panic!() };
        assert!(completions(&name).is_some_and(|script| script.contains("ssh-cli")), "{shell}");
    }
    assert_eq!(shells().count(), 5);
}

#[test]
fn check_takes_a_destination_and_no_command() {
    let Action::Check(check) = read(&["check", "--retries", "2", "-p", "2222", "u@h"]).action else { panic!() };
    assert_eq!((&*check.destination, check.connection.port, check.retry.retries), ("u@h", Some(2222), 2));
    assert!(!check.offline);
    let Action::Check(check) = read(&["check", "--offline", "h"]).action else { panic!() };
    assert!(check.offline);
    for line in
        [&["check"][..], &["check", "h", "true"], &["check", "--timeout", "1s", "h"], &["check", "--stdin", "h"]]
    {
        let refused = refuse_in(line, &Surroundings::default());
        assert!(matches!(refused.fault, Fault::Usage { .. }) && refused.command == "check", "{line:?}");
    }
    let fault = refuse(&["check", "--password", "stdin", "-i", "stdin", "h"]);
    assert!(matches!(fault, Fault::OptionConflict { .. }), "{fault}");
}

#[test]
fn elevation_is_part_of_the_run() {
    use crate::model::request::{Elevation, Method};
    let plain = Elevation { method: Method::Sudo, user: "root".into(), password: None, direct: false };
    assert_eq!(exec(&["exec", "h", "x"]).run.elevation, None);
    assert_eq!(exec(&["sudo-exec", "h", "x"]).run.elevation, Some(plain.clone()));
    let line = &["sudo-exec", "--as", "#1000", "--sudo-password", "env:PW", "--sudo-direct", "h", "id", "-u"][..];
    let password = Some(SecretSource::Env("PW".into()));
    assert_eq!(
        exec(line).run.elevation,
        Some(Elevation { user: "#1000".into(), password, direct: true, ..plain.clone() })
    );
    let su = Elevation { method: Method::Su, ..plain };
    assert_eq!(exec(&["su-exec", "h", "x"]).run.elevation, Some(su));
    assert_eq!(read(&["su-exec", "h", "x"]).action.name(), "su-exec");
    for user in ["", "-u", "a b", "it's", "a!b", "a\\b", "$(x)", "a\nb"] {
        let Fault::Usage { .. } = refuse(&["sudo-exec", "--as", user, "h", "x"]) else { panic!("{user}") };
    }
    for line in [
        &["sudo-exec", "--sudo-password", "stdin", "--stdin", "h", "x"][..],
        &["su-exec", "--su-password", "stdin", "--password", "stdin", "h", "x"],
        &["sudo-exec", "--sudo-direct", "--cwd", "/", "h", "x"],
    ] {
        let Fault::OptionConflict { .. } = refuse(line) else { panic!("{line:?}") };
    }
    for line in
        [&["sudo-exec", "--sudo-password", "hunter2", "h", "x"][..], &["su-exec", "--su-password=hunter2", "h", "x"]]
    {
        let Fault::Usage { message } = refuse(line) else { panic!("{line:?}") };
        assert!(!message.contains("hunter2"), "{message}");
    }
}
