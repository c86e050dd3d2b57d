//! The options of keyed operations.

use std::time::Duration;

use clap::Args;

use super::usage;
use super::values::duration;
use crate::effect::Effect;
use crate::errors::Fault;
use crate::model::operation::OperationKey;
use crate::model::request::{KeyedOptions, RunOptions};

/// As typed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Operation")]
pub(super) struct KeyedArgs {
    /// Name the operation: it is started at most once under this key, goes on without us, and can be asked about again
    ///
    /// The same line run again replays its outcome, follows it while it runs, or says that a person has to decide; it never runs a
    /// write twice. A key is a name of yours: up to 200 printable characters, without `/`, and not the name of an existing file. The
    /// same key with another request is refused. A stored failure is replayed as that failure: to try again, use a new key.
    ///
    /// --timeout is then kept by the host, standard input is sent whole before the start, and the command sees the key in
    /// `SSH_CLI_OPERATION_KEY`.
    #[arg(long, value_name = "KEY", visible_alias = "idempotency-key")]
    op: Option<String>,

    /// How long this call follows the operation, which goes on: 0 starts it and looks once [default: until it ends]
    ///
    /// When it is over the exit is 75, and the same line collects the outcome.
    #[arg(long, value_name = "DUR", value_parser = duration, requires = "op")]
    wait: Option<Duration>,

    /// Let an equal call answer that is completed under another key; for --effect read and idempotent
    ///
    /// Nothing runs then, and `operation.origin` names that call.
    #[arg(long, requires = "op")]
    dedupe: bool,
}

impl KeyedArgs {
    /// As meant; none without a key. Whether the key is the name of a file is looked up by whoever touches files.
    pub(super) fn into_options(self, pty: bool, effect: Effect) -> Result<Option<KeyedOptions>, Fault> {
        let Some(op) = self.op else { return Ok(None) };
        let key: OperationKey = op.parse().map_err(|error| usage(format!("--op: {error}")))?;
        if pty {
            return Err(conflict("--op and --pty", "what is kept for a later call is no terminal"));
        }
        if self.dedupe && effect == Effect::Write {
            return Err(conflict(
                "--dedupe and --effect write",
                "a write is not done by another one; --effect read or idempotent says that it would be",
            ));
        }
        Ok(Some(KeyedOptions { key, wait: self.wait, dedupe: self.dedupe }))
    }
}

/// Refuses what a receipt has no place for.
pub(super) fn refuse_unkept(run: &RunOptions) -> Result<(), Fault> {
    if run.elevation.as_ref().is_some_and(|elevation| elevation.direct) {
        return Err(conflict("--op and --sudo-direct", "a receipt is kept by a shell, with the rights of --as"));
    }
    if run.no_exit_status {
        return Err(conflict("--op and --no-exit-status", "a receipt has the status, or says that it was lost"));
    }
    Ok(())
}

fn conflict(options: &str, why: &str) -> Fault {
    Fault::OptionConflict { options: options.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        keyed: KeyedArgs,
    }

    fn typed(line: &[&str]) -> Result<KeyedArgs, clap::Error> {
        Line::try_parse_from(std::iter::once(&"x").chain(line)).map(|line| line.keyed)
    }

    fn meant(line: &[&str], pty: bool, effect: Effect) -> Result<Option<KeyedOptions>, Fault> {
        typed(line).unwrap().into_options(pty, effect)
    }

    fn keyed(key: &str) -> KeyedOptions {
        KeyedOptions { key: key.parse().unwrap(), wait: None, dedupe: false }
    }

    #[test]
    fn the_definition_is_sound() {
        Line::command().debug_assert();
    }

    #[test]
    fn without_a_key_nothing_is_kept() {
        assert_eq!(meant(&[], true, Effect::Write), Ok(None));
    }

    #[test]
    fn both_names_of_the_option_name_the_key() {
        for line in [&["--op", "k 1"][..], &["--idempotency-key", "k 1"], &["--op=k 1"]] {
            assert_eq!(meant(line, false, Effect::Write), Ok(Some(keyed("k 1"))), "{line:?}");
        }
        assert!(typed(&["--op", "a", "--idempotency-key", "b"]).is_err());
    }

    #[test]
    fn the_wait_may_be_nothing() {
        let wait = |text| meant(&["--op", "k", "--wait", text], false, Effect::Write).map(|keyed| keyed.unwrap().wait);
        assert_eq!(wait("0"), Ok(Some(Duration::ZERO)));
        assert_eq!(wait("40m"), Ok(Some(Duration::from_secs(2400))));
        assert!(typed(&["--op", "k", "--wait", "40"]).is_err());
    }

    #[test]
    fn what_belongs_to_a_key_needs_one() {
        assert!(typed(&["--wait", "1s"]).unwrap_err().to_string().contains("--op"));
        assert!(typed(&["--dedupe"]).unwrap_err().to_string().contains("--op"));
    }

    #[test]
    fn a_bad_key_is_a_usage_error_that_says_why() {
        for (key, why) in [("", "empty"), ("a/b", "no `/`"), ("a\tb", "printable"), (&*"x".repeat(201), "200")] {
            match meant(&["--op", key], false, Effect::Write) {
                Err(Fault::Usage { message }) => assert!(message.contains(why), "{message}"),
                other => panic!("{key:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_terminal_or_a_write_that_another_did_is_refused() {
        let options = |line: &[&str], pty, effect| match meant(line, pty, effect) {
            Err(Fault::OptionConflict { options, .. }) => options,
            other => panic!("{line:?}: {other:?}"),
        };
        assert_eq!(options(&["--op", "k"], true, Effect::Read), "--op and --pty");
        assert_eq!(options(&["--op", "k", "--dedupe"], false, Effect::Write), "--dedupe and --effect write");
        for effect in [Effect::Read, Effect::Idempotent] {
            let dedupe = KeyedOptions { dedupe: true, ..keyed("k") };
            assert_eq!(meant(&["--op", "k", "--dedupe"], false, effect), Ok(Some(dedupe)));
        }
    }
}
