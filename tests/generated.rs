//! The committed man pages and completion scripts are what the flags say. `SSH_CLI_UPDATE_GENERATED=1 cargo test --test
//! generated` writes them anew.

#![expect(clippy::unwrap_used, reason = "a generator that cannot generate has failed its test")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap_mangen::Man;
use ssh_cli::cli;
use ssh_cli::errors::exit_codes::TABLE;

const ENVIRONMENT: [(&str, &str); 5] = [
    ("SSH_CLI_OUTPUT", "The form of the output where no option names one: json, ndjson or raw."),
    ("SSH_AUTH_SOCK", "The socket of the agent whose keys are offered, as in ssh."),
    ("SSH_ASKPASS", "The program that a SRC of askpass runs."),
    ("SSH_CLI_STATE_DIR", "Where cut streams and other state are kept."),
    ("XDG_STATE_HOME", "Without SSH_CLI_STATE_DIR they are kept in its directory ssh-cli."),
];

const FILES: [(&str, &str); 4] = [
    ("~/.ssh/config, /etc/ssh/ssh_config", "Read as ssh reads them, unless -F names another."),
    ("~/.ssh/known_hosts, /etc/ssh/ssh_known_hosts", "The host keys that are accepted."),
    ("~/.ssh/id_*", "The default keys."),
    ("$XDG_STATE_HOME/ssh-cli/spill/", "Streams that were cut in the envelope, whole, for 24 hours."),
];

/// A word that roff prints as it is.
fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('~', "\\(ti");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

fn table(title: &str, rows: impl IntoIterator<Item = (String, String)>) -> String {
    rows.into_iter().fold(format!(".SH {title}\n"), |mut out, (term, text)| {
        let _ = write!(out, ".TP\n\\fB{}\\fR\n{}\n", plain(&term), plain(&text));
        out
    })
}

fn owned(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(term, text)| ((*term).to_owned(), (*text).to_owned())).collect()
}

fn man_page(name: &str, command: &clap::Command, others: &[String]) -> String {
    let man = Man::new(command.clone());
    let mut out = Vec::new();
    man.render_name_section(&mut out).unwrap();
    man.render_synopsis_section(&mut out).unwrap();
    man.render_description_section(&mut out).unwrap();
    man.render_options_section(&mut out).unwrap();
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out).unwrap();
    }
    // Each section defines the apostrophe anew: once is enough. The title is ours, without a date to go stale.
    let apostrophe = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";
    let sections = String::from_utf8(out).unwrap().replace(apostrophe, "");
    let title = plain(&name.to_uppercase());
    let mut out = format!("{apostrophe}.TH \"{title}\" \"1\" \"\" \"ssh\\-cli\" \"User Commands\"\n{sections}");
    if let Some(text) = command.get_after_long_help() {
        let text: String = text.to_string().lines().fold(String::new(), |mut all, line| {
            let _ = writeln!(all, "{}", plain(line));
            all
        });
        let _ = write!(out, ".SH EXAMPLES\n.nf\n{text}.fi\n");
    }
    let exits = TABLE.iter().map(|row| {
        let again = match row.reinvoke {
            "yes" => " (run it again: at most twice, after a random wait)",
            "collect" => " (run it again to collect)",
            _ => "",
        };
        (row.exit.to_string(), format!("{}{again}", row.meaning))
    });
    out += &table("\"EXIT STATUS\"", exits);
    out += &table("ENVIRONMENT", owned(&ENVIRONMENT));
    out += &table("FILES", owned(&FILES));
    let see: Vec<String> = others
        .iter()
        .map(|other| format!("{other}(1)"))
        .chain(["ssh(1)", "ssh_config(5)", "ssh-agent(1)"].map(str::to_owned))
        .collect();
    let _ = write!(out, ".SH \"SEE ALSO\"\n{}\n", plain(&see.join(", ")));
    out
}

/// The command, those that it has, and those that they have.
fn pages<'c>(name: &str, command: &'c clap::Command) -> Vec<(String, &'c clap::Command)> {
    let own = command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set());
    let below = own.flat_map(|sub| pages(&format!("{name}-{}", sub.get_name()), sub));
    std::iter::once((name.to_owned(), command)).chain(below).collect()
}

/// Every generated file: path below the repository, and text.
fn generated() -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut command = cli::command();
    command.build();
    let pages = pages("ssh-cli", &command);
    let names: Vec<String> = pages.iter().map(|(name, _)| name.clone()).collect();
    for (name, page) in &pages {
        let others: Vec<String> = names.iter().filter(|other| *other != name).cloned().collect();
        files.insert(Path::new("man").join(format!("{name}.1")), man_page(name, page, &others));
    }
    for shell in cli::shells() {
        let file = cli::completion_file_name(&shell).unwrap();
        files.insert(Path::new("completions").join(file), cli::completions(&shell).unwrap());
    }
    files
}

#[test]
fn man_pages_and_completions_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let update = std::env::var_os("SSH_CLI_UPDATE_GENERATED").is_some_and(|value| value == "1");
    let files = generated();
    let mut stale = Vec::new();
    for (path, text) in &files {
        let there = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        if there != *text && update {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        } else if there != *text {
            stale.push(path.display().to_string());
        }
    }
    for folder in ["man", "completions"] {
        for entry in std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
            let path = Path::new(folder).join(entry.file_name());
            if !files.contains_key(&path) {
                stale.push(format!("{} (nothing generates it)", path.display()));
            }
        }
    }
    assert!(stale.is_empty(), "run SSH_CLI_UPDATE_GENERATED=1 cargo test --test generated: {stale:?}");
}

#[test]
fn generation_is_deterministic() {
    assert_eq!(generated(), generated());
}

#[test]
fn every_man_page_has_its_sections() {
    for (path, text) in generated().iter().filter(|(path, _)| path.starts_with("man")) {
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "\"EXIT STATUS\"", "ENVIRONMENT", "FILES", "\"SEE ALSO\""] {
            assert!(text.lines().any(|line| line == format!(".SH {section}")), "{}: {section}", path.display());
        }
    }
}

#[test]
fn every_property_of_a_tool_is_an_option() {
    use ssh_cli::model::request::{OutputMode, SchemaTopic};
    let mut command = cli::command();
    command.build();
    let tools: serde_json::Value =
        serde_json::from_str(&ssh_cli::report::schema(SchemaTopic::Tools, OutputMode::Json)).unwrap();
    for tool in tools.as_array().unwrap() {
        let called = tool["name"].as_str().unwrap().strip_prefix("ssh_").unwrap();
        let called = match called.strip_prefix("ops_") {
            Some(called) => command.find_subcommand("ops").unwrap().find_subcommand(called).unwrap(),
            None => command.find_subcommand(called.replace('_', "-")).unwrap(),
        };
        for (name, property) in tool["input_schema"]["properties"].as_object().unwrap() {
            let argument = called
                .get_arguments()
                .find(|arg| arg.get_long() == Some(&name.replace('_', "-")) || arg.get_id() == name.as_str())
                .unwrap_or_else(|| panic!("{} has no --{name}", called.get_name()));
            assert_eq!(property["type"] == "boolean", !argument.get_action().takes_values(), "{name}");
        }
    }
}
