//! What the tests stand on: real servers, an account, a proxy that breaks on cue, servers that misbehave, and the product run
//! as a user would type it. Everything listens on loopback, and everything that is started is ended by its own pid.

mod account;
mod cli;
pub mod dice;
mod envelope;
mod fake;
mod fake_ssh;
mod keys;
pub mod ledger;
pub mod needs;
pub mod proc;
mod proxy;
mod scratch;
mod servers;
mod sshd;
mod sudoers;
pub mod wait;

pub use account::Account;
pub use cli::{Cli, Run, Running, Stdin};
pub use envelope::Envelope;
pub use fake::{FakeServer, Manner};
pub use fake_ssh::{FakeSsh, Script};
pub use keys::{Agent, HostKind, fingerprint, fixture, keygen, public_of, tool};
pub use proxy::{FaultProxy, Mode, Way};
pub use scratch::{Scratch, numbers, random_hex};
pub use servers::{Dropbear, Tinysshd};
pub use sshd::{Sshd, certify_host};
pub use sudoers::Sudoers;
