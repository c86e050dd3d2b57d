//! What `check` found out: where a connection got to, and what the server is.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::outcome::Phase;
use super::timing::Millis;

/// What is known at the end of a `check`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Check {
    /// The network was tried.
    Reached(Box<Reached>),
    /// `--offline`: it was left alone.
    Offline(Offline),
}

/// `--offline`: what the command line and the local files come to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Offline {
    /// The target, an object.
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub resolved: Value,
}

/// How far the connection came, and what was learned on the way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Reached {
    /// In order, up to and including the one that failed.
    pub phases: Vec<PhaseReport>,
    /// The server's identification string (RFC 4253 section 4.2).
    pub server: Option<String>,
    /// What the server said before authentication (RFC 4252 section 5.4).
    pub banner: Option<String>,
    /// The algorithms that were agreed on; null where the host key was refused, or the connection did not come so far.
    pub negotiated: Option<Negotiated>,
    /// What the server offers in its `SSH_MSG_KEXINIT` (RFC 4253 section 7.1).
    pub offers: Option<Offers>,
    /// The host keys of the server: the one that was shown first, then the others that it has.
    pub host_keys: Vec<HostKeyReport>,
    /// Who was offered, and what the server said to it.
    pub auth: AuthReport,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseReport {
    /// Which.
    pub phase: Phase,
    /// It was passed.
    pub ok: bool,
    /// How long it took, in milliseconds.
    pub ms: Millis,
    /// What came of it, for people.
    pub detail: String,
}

/// The algorithms of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Negotiated {
    /// Key exchange.
    pub kex: String,
    /// The host key's signature.
    pub host_key: String,
    /// Cipher.
    pub cipher: String,
    /// Integrity; `implicit` where the cipher brings its own.
    pub mac: String,
    /// Compression.
    pub compression: String,
    /// The handshake is protected against truncation (`kex-strict`, the answer to CVE-2023-48795).
    pub strict_kex: bool,
}

/// What a server offers, in its order; towards the server where the directions may differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Offers {
    /// Key exchange, with its markers of extensions.
    pub kex: Vec<String>,
    /// Signatures of host keys.
    pub host_keys: Vec<String>,
    /// Ciphers.
    pub ciphers: Vec<String>,
    /// Integrity.
    pub macs: Vec<String>,
    /// Compression.
    pub compression: Vec<String>,
}

/// A host key, and how it stands here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HostKeyReport {
    /// Its type, as in `known_hosts`.
    #[serde(rename = "type")]
    pub key_type: String,
    /// SHA-256.
    pub fingerprint: String,
    /// `known`, `certificate`, `pinned`, `unknown`, `changed` or `revoked`.
    pub status: &'static str,
    /// The option that accepts exactly this key.
    pub pin: String,
    /// The line for `known_hosts`.
    pub known_hosts_line: String,
}

/// Authentication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuthReport {
    /// The methods that the server accepts, as it last said; null where it never had to say.
    pub accepted_methods: Option<Vec<String>>,
    /// What let us in.
    pub used: Option<String>,
    /// What was offered.
    pub tried: Vec<String>,
    /// The keys that there are on this side.
    pub identities: Vec<IdentityReport>,
}

/// A key on this side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IdentityReport {
    /// Its file, the words of its source, or its comment in the agent.
    pub name: String,
    /// SHA-256; null where it cannot be told.
    pub fingerprint: Option<String>,
    /// `option` (`-i`), `file` (from the configuration or by default) or `agent`.
    pub source: &'static str,
    /// It can be offered.
    pub usable: bool,
    /// Why it cannot.
    pub why: Option<String>,
}
