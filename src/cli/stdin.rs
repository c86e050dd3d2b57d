//! Standard input is one: who wants it, and what cannot be had together.
//!
//! `--stdin` and `--stdin-file` name what the *command* reads; `--script` takes the place of `--stdin`, but a script may still be
//! given a `--stdin-file`. Our own standard input can be read once: by `--stdin`, by `--script -`, or by one secret.

use super::run::StdinWishes;
use crate::errors::Fault;

/// Refuses what cannot be had together. `secrets` are the connection options that read our standard input.
pub(super) fn check(wishes: &StdinWishes, secrets: &[&'static str]) -> Result<(), Fault> {
    let conflict =
        |options: &str, why: &str| Err(Fault::OptionConflict { options: options.to_owned(), why: why.to_owned() });
    if wishes.forward && wishes.file == Some(false) {
        return conflict("--stdin and --stdin-file", "the command has one standard input");
    }
    if wishes.forward && wishes.script.is_some() {
        return conflict("--script and --stdin", "a script's own input is closed, or comes from --stdin-file");
    }
    if wishes.refused && (wishes.forward || wishes.file.is_some()) {
        return conflict("-n and --stdin or --stdin-file", "-n says that no standard input is meant");
    }
    let mut readers = Vec::new();
    if wishes.forward {
        readers.push("--stdin");
    }
    if wishes.file == Some(true) {
        readers.push("--stdin-file -");
    }
    if wishes.script == Some(true) {
        readers.push("--script -");
    }
    readers.extend(secrets);
    readers.extend(vec!["--secret-env"; wishes.secrets]);
    if wishes.refused && !readers.is_empty() {
        return conflict(&format!("-n and {}", readers[0]), "-n says that our standard input is not meant");
    }
    one_reader(&readers)
}

/// Our own standard input has one reader.
pub(super) fn one_reader(readers: &[&'static str]) -> Result<(), Fault> {
    match readers {
        [first, second, ..] => Err(Fault::OptionConflict {
            options: format!("{first} and {second}"),
            why: "both read our standard input".to_owned(),
        }),
        _ => Ok(()),
    }
}
