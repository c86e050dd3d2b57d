//! `ssh-cli completions`.

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::model::request::Action;

/// As typed.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsArgs {
    /// As meant.
    pub(super) fn into_action(self) -> Action {
        Action::Completions(self.shell.to_string())
    }
}

/// The shells that [`completions`] knows.
pub fn shells() -> impl Iterator<Item = String> {
    Shell::value_variants().iter().map(ToString::to_string)
}

/// The completion script for a shell; `None` for a shell that is not known.
pub fn completions(shell: &str) -> Option<String> {
    let shell = Shell::from_str(shell, false).ok()?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "ssh-cli", &mut script);
    String::from_utf8(script).ok()
}

/// The name under which a shell looks for the script.
pub fn completion_file_name(shell: &str) -> Option<String> {
    use clap_complete::Generator;
    Some(Shell::from_str(shell, false).ok()?.file_name("ssh-cli"))
}
