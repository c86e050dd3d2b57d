//! The retry options: off unless asked for.

use std::time::Duration;

use clap::Args;

use super::values::duration;
use crate::errors::Fault;
use crate::model::request::RetryOptions;

/// As typed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Retry")]
pub(super) struct RetryArgs {
    /// Try again so often after a failure that is transient and safe to repeat, at most 10 times [default: 0]
    ///
    /// What is safe to repeat follows from --effect and from whether anything began. Nothing reconnects without this option.
    #[arg(long, value_name = "N")]
    retries: Option<u32>,

    /// The base of the waits: each is drawn from 0 to base times 2^attempt [default: 200ms]
    #[arg(long, value_name = "DUR", value_parser = duration, requires = "retries")]
    retry_base: Option<Duration>,

    /// The longest wait, at most 60s [default: 5s]
    #[arg(long, value_name = "DUR", value_parser = duration, requires = "retries")]
    retry_max_delay: Option<Duration>,

    /// Wait exactly so long instead of the draw, but never over the longest wait
    #[arg(long, value_name = "DUR", value_parser = duration, requires = "retries")]
    retry_wait: Option<Duration>,
}

impl RetryArgs {
    /// As meant; the hard caps are applied where the waiting is decided.
    pub(super) fn into_options(self) -> Result<RetryOptions, Fault> {
        if self.retry_base.is_some() && self.retry_wait.is_some() {
            return Err(Fault::OptionConflict {
                options: "--retry-base and --retry-wait".to_owned(),
                why: "a fixed wait is not drawn".to_owned(),
            });
        }
        Ok(RetryOptions {
            retries: self.retries.unwrap_or(0),
            base: self.retry_base,
            max_delay: self.retry_max_delay,
            wait: self.retry_wait,
        })
    }
}
