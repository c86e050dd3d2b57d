//! What can be told of a command line that cannot be read: the command's name, and the form in which the refusal is wanted.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::{Arg, Command};

use super::output::mode_word;
use crate::model::request::OutputMode;

/// The little that was understood.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Glance {
    /// The name of the command, where it is one of ours; with that of its own command, where it has such.
    pub(super) command: Option<String>,
    /// The form that was asked for first.
    pub(super) mode: Option<OutputMode>,
}

/// Looks at the words (without the program's name) up to COMMAND's first, with the help of the definition itself: which options
/// take a value, and how many words are ours.
pub(super) fn glance(definition: &Command, words: &[OsString]) -> Glance {
    let mut glance = Glance::default();
    let mut command = definition;
    let mut positionals = 0;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        let value = match bytes {
            b"--" => return glance,
            [b'-', b'-', name @ ..] => long(command, name, || words.next()),
            [b'-', _, ..] => {
                if short_wants_next(command, bytes) {
                    words.next();
                }
                None
            }
            _ if command.has_subcommands() => {
                let Some(found) = word.to_str().and_then(|name| command.find_subcommand(name)) else {
                    return glance;
                };
                command = found;
                let before = glance.command.take().map(|before| before + " ").unwrap_or_default();
                glance.command = Some(before + found.get_name());
                None
            }
            _ => {
                positionals += 1;
                let trailing = command.get_positionals().position(Arg::is_trailing_var_arg_set);
                if trailing.is_some_and(|at| positionals > at) {
                    return glance;
                }
                None
            }
        };
        glance.mode = glance.mode.or(value);
    }
    glance
}

fn find(command: &Command, mut matches: impl FnMut(&Arg) -> bool) -> Option<&Arg> {
    command.get_arguments().find(|arg| matches(arg))
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn long<'a>(command: &Command, name: &[u8], mut next: impl FnMut() -> Option<&'a OsString>) -> Option<OutputMode> {
    let equals = name.iter().position(|b| *b == b'=');
    let (name, attached) = match equals {
        Some(at) => (&name[..at], Some(OsStr::from_bytes(&name[at + 1..]))),
        None => (name, None),
    };
    let arg = find(command, |arg| arg.get_long().is_some_and(|long| long.as_bytes() == name))?;
    let value = if takes_value(arg) { attached.or_else(|| next().map(OsString::as_os_str)) } else { None };
    match arg.get_id().as_str() {
        "json" => Some(OutputMode::Json),
        "raw" => Some(OutputMode::Raw),
        "output" => value.and_then(mode_word),
        _ => None,
    }
}

/// `-vp` wants the next word, `-p22` and `-v` do not.
fn short_wants_next(command: &Command, word: &[u8]) -> bool {
    let letters = &word[1..];
    letters
        .iter()
        .position(|letter| {
            find(command, |arg| {
                let is = |c: &char| *c == char::from(*letter);
                takes_value(arg) && arg.get_short_and_visible_aliases().is_some_and(|all| all.iter().any(is))
            })
            .is_some()
        })
        .is_some_and(|at| at + 1 == letters.len())
}
