//! How long each phase took, in milliseconds of the monotonic clock.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Milliseconds with one decimal, as the envelope prints them.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema)]
#[schemars(with = "f64")]
pub struct Millis(pub Duration);

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64((self.0.as_secs_f64() * 10_000.0).round() / 10.0)
    }
}

/// The phases of one invocation; those of the last attempt where there were several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Timing {
    /// From the start of the process to the envelope.
    pub total: Millis,
    /// Name resolution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve: Option<Millis>,
    /// TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<Millis>,
    /// Version and key exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake: Option<Millis>,
    /// Authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<Millis>,
    /// From the request for a channel to the end of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Millis>,
}

impl Timing {
    /// Only the total, as the lean envelope has it.
    #[must_use]
    pub fn lean(self) -> Self {
        Self { total: self.total, ..Self::default() }
    }
}
