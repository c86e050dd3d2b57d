//! What failed, said once: the code, class, phase and exit of every fault, and the sentence and hint for it.
//!
//! An [`SshCliError`] is a [`Fault`] together with what decides whether repeating is safe: whether the remote effect may have
//! begun, what the caller said repeating would do, and whether a key makes it safe anyway. From those three and the fault's row
//! in the table the exit code follows, here and nowhere else.

mod clean;
pub mod exit_codes;
mod fault;
mod hint;
pub mod samples;
mod table;

#[cfg(test)]
mod tests;

pub use clean::clean;
pub use fault::{Caught, Fault, Limit};
pub use table::{Exit, Row};

use crate::effect::{Effect, RetryPolicy};
use crate::model::outcome::{Class, Phase, Started};

/// A failed invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshCliError {
    fault: Box<Fault>,
    started: Started,
    effect: Effect,
    keyed: bool,
    /// What `DEST KEY` stands for in a hint, as a shell takes it.
    operation: Option<String>,
}

impl SshCliError {
    /// The fault, with what decides whether repeating is safe.
    pub fn new(fault: Fault, started: Started, effect: Effect, keyed: bool) -> Self {
        Self { fault: Box::new(fault), started, effect, keyed, operation: None }
    }

    /// The same, about this operation: a hint that names a call names that one.
    #[must_use]
    pub fn of_operation(self, dest_and_key: String) -> Self {
        Self { operation: Some(dest_and_key), ..self }
    }

    /// The fact itself.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Whether the remote effect may have begun.
    pub fn started(&self) -> Started {
        self.started
    }

    /// The stable word of the error table.
    pub fn code(&self) -> &'static str {
        self.fault.row().code
    }

    /// Where it happened.
    pub fn phase(&self) -> Phase {
        self.fault.row().phase
    }

    /// A transient fault stays transient only while it is certain that nothing began; a copy is its own witness.
    pub fn class(&self) -> Class {
        let row = self.fault.row();
        match (row.class, self.started) {
            (Class::Transient, Started::Yes | Started::Unknown) if row.phase == Phase::Run => Class::Unknown,
            (class, _) => class,
        }
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> i32 {
        match self.fault.row().exit {
            Exit::Code(code) => code,
            Exit::Transient if self.repeating_is_safe() => exit_codes::EX_IOERR,
            Exit::Transient => exit_codes::EX_PROTOCOL,
        }
    }

    /// True exactly when the exit code is 74: transient, and either nothing began, or the effect allows a second execution, or a
    /// key turns re-invoking into re-attaching.
    pub fn is_retryable(&self) -> bool {
        self.exit_code() == exit_codes::EX_IOERR
    }

    fn repeating_is_safe(&self) -> bool {
        self.started == Started::No || self.keyed || RetryPolicy::for_effect(self.effect).allows_retry()
    }

    /// The sentence, safe to print: whatever the server put into it cannot move a cursor.
    pub fn message(&self) -> String {
        clean(&self.fault.to_string())
    }

    /// What to type or look at next, where there is something.
    pub fn hint(&self) -> Option<String> {
        let hint = hint::hint(&self.fault)?;
        let advice = match (self.fault.row().exit, self.exit_code()) {
            (Exit::Transient, exit_codes::EX_PROTOCOL) => {
                "look at the host before running it again: it may have done its work"
            }
            _ => "",
        };
        let hint = match &self.operation {
            Some(operation) => hint.replace("DEST KEY", operation),
            None => hint,
        };
        let hint = match (hint.is_empty(), advice.is_empty()) {
            (true, true) => return None,
            (true, false) => advice.to_owned(),
            (false, true) => hint,
            (false, false) => format!("{hint}; {advice}"),
        };
        Some(clean(&hint))
    }
}

impl std::fmt::Display for SshCliError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for SshCliError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.fault)
    }
}
