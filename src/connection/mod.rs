//! russh lives here: dialling, the host key, authentication, the channel.

mod algorithms;
mod auth;
mod carrier;
pub mod channel;
mod dial;
mod handler;
mod keys;
mod known;
pub mod link;
mod patience;
mod proxy;
mod reach;
mod session;
mod settings;
mod wire;

pub use auth::Keyring;
pub use patience::Patience;
pub use reach::{Progress, connect};
pub use session::Session;
