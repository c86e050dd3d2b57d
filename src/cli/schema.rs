//! `ssh-cli schema`.

use clap::{Args, ValueEnum};

use crate::model::request::{Action, SchemaTopic};

/// As typed.
#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// What to print
    #[arg(value_name = "TOPIC", default_value = "envelope")]
    topic: TopicArg,
}

/// What to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TopicArg {
    /// JSON Schema of the envelope
    Envelope,
    /// JSON Schema of one line of --output ndjson
    Event,
    /// Every error code with its class, phase and exit
    Errors,
    /// Tool definitions for an agent
    Tools,
}

impl SchemaArgs {
    /// As meant.
    pub(super) const fn into_action(self) -> Action {
        Action::Schema(match self.topic {
            TopicArg::Envelope => SchemaTopic::Envelope,
            TopicArg::Event => SchemaTopic::Event,
            TopicArg::Errors => SchemaTopic::Errors,
            TopicArg::Tools => SchemaTopic::Tools,
        })
    }
}
