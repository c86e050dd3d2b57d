//! russh lives here: dialling, the host key, authentication, the channel.

mod auth;
pub mod channel;
mod dial;
mod handler;
mod keys;
pub mod link;
mod patience;
mod session;
mod settings;
mod wire;

pub use auth::Keyring;
pub use patience::Patience;
pub use session::{Progress, Session, connect};
