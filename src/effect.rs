//! What repeating a command would do, and what that allows.
//!
//! [`RetryPolicy::for_effect`] is the whole table. It is data: it decides nothing by itself. It governs a *live execution
//! that failed*; a recorded, completed one is replayed whatever its effect, and attaching to a running one is not an
//! execution at all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What running the same command again would do to the remote side; `--effect`. Lower-case on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It only looks: running it twice is running it once.
    Read,
    /// It changes something, and a second run changes nothing more.
    Idempotent,
    /// A second run would do it again. The default: a caller who knows better says so.
    #[default]
    Write,
}

impl Effect {
    /// The word on the wire and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Idempotent => "idempotent",
            Self::Write => "write",
        }
    }
}

/// Whether a failed live execution may be executed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryPolicy {
    /// Execute it again as it is.
    Retry,
    /// Execute it again under the same idempotency key, if it has one.
    RetryWithSameKey,
    /// Do not execute it again.
    Never,
}

impl RetryPolicy {
    /// The effect's policy: read → retry, idempotent → retry with the same key, write → never.
    pub const fn for_effect(effect: Effect) -> Self {
        match effect {
            Effect::Read => Self::Retry,
            Effect::Idempotent => Self::RetryWithSameKey,
            Effect::Write => Self::Never,
        }
    }

    /// False only for [`RetryPolicy::Never`].
    pub const fn allows_retry(self) -> bool {
        !matches!(self, Self::Never)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_three_rows() {
        let row = |effect| (RetryPolicy::for_effect(effect), RetryPolicy::for_effect(effect).allows_retry());
        assert_eq!(row(Effect::Read), (RetryPolicy::Retry, true));
        assert_eq!(row(Effect::Idempotent), (RetryPolicy::RetryWithSameKey, true));
        assert_eq!(row(Effect::Write), (RetryPolicy::Never, false));
    }

    #[test]
    fn effects_are_lower_case_on_the_wire() {
        for effect in [Effect::Read, Effect::Idempotent, Effect::Write] {
            assert_eq!(serde_json::to_value(effect).unwrap(), effect.as_str());
        }
    }
}
