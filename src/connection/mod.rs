//! russh lives here: dialling, the host key, authentication, the channel.

mod algorithms;
mod auth;
mod carrier;
pub mod channel;
mod dial;
mod handler;
mod kexinit;
mod keys;
mod known;
pub mod link;
mod patience;
mod probe;
mod proxy;
mod reach;
mod session;
mod settings;
mod wire;

pub use auth::Keyring;
pub use handler::ServerKey;
pub use known::of as known_host_keys;
pub use patience::Patience;
pub use probe::other_keys;
pub use reach::{Progress, connect};
pub use session::Session;
