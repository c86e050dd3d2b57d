//! russh lives here: dialling, the host key, authentication, the channel.

mod auth;
pub mod channel;
mod dial;
mod handler;
mod kexinit;
mod keys;
pub mod link;
mod patience;
mod probe;
mod session;
mod settings;
mod wire;

pub use auth::Keyring;
pub use handler::ServerKey;
pub use patience::Patience;
pub use probe::other_keys;
pub use session::{Progress, Session, connect};
