//! Another user's rights, by the server's own `sudo` or `su`.
//!
//! Whoever types a password into a command's input hopes that something asks for it. Nothing is sent here before it was asked
//! for: the exec request runs sudo with a prompt that nobody else can print, and what sudo starts is a loader of ours that says
//! so. [`line`] has the texts, [`gate`] reads what comes before the loader's word and says when the password is due,
//! [`refusal`] turns a dialogue that ended early into a fault, [`stopper`] ends what is not ours to signal, and [`entrance`] is for
//! whatever else has to run with these rights and speaks for itself.

pub mod entrance;
pub mod gate;
pub mod line;
pub mod refusal;
pub mod stopper;

#[cfg(test)]
mod gate_tests;

use crate::model::request::Method;
use crate::secret::Secret;

/// What a run needs to get another user's rights.
#[derive(Clone, Debug)]
pub struct Elevated {
    /// By which program.
    pub method: Method,
    /// As whom.
    pub user: String,
    /// What the program may ask for.
    pub password: Option<Secret>,
    /// The program starts the command itself: there is no loader that says so.
    pub direct: bool,
    /// Random, per run: what marks the words of the second channel, which stops the command.
    pub stop_nonce: String,
}

/// What was seen of the program that gives the rights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialogue {
    /// It is not on the host.
    pub absent: bool,
    /// It was about to be run.
    pub begun: bool,
    /// How often it asked for a password.
    pub prompts: u32,
    /// The password was sent.
    pub answered: bool,
    /// It let us through.
    pub open: bool,
    /// What it said, without the password.
    pub words: String,
}

/// The process that the loader became, and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number there.
    pub pid: u32,
    /// The number of its group; 0 where the host did not tell.
    pub group: u32,
}
