//! What a host says of itself before anything is started there, and the right to start.

use serde::{Deserialize, Serialize};

use super::{AttemptId, Fingerprint, Generation};

/// What is known of a host, and of its receipts, before anything is started. All of it but the host key is the host's own word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostIdentity {
    /// Type and SHA-256 of the host key that was accepted.
    pub host_key: String,
    /// The effective user id.
    pub uid: u64,
    /// The directory of the receipts.
    pub root: String,
    /// The random name of that directory: another one is another memory.
    pub root_id: String,
    /// The name of the node.
    pub node: String,
    /// What changes with each boot; none where the system has no such thing.
    pub boot_id: Option<String>,
    /// The namespace of process ids, where there are such.
    pub pid_namespace: Option<String>,
    /// The version of the receipt's layout.
    pub version: u32,
}

/// The right to start one generation once. Only the journal has types that are one, and gives them out after the record of the
/// dispatch is on disk.
pub trait StartPermission {
    /// The attempt that is recorded.
    fn attempt(&self) -> &AttemptId;
    /// The generation that may be started.
    fn generation(&self) -> Generation;
    /// What the request comes to.
    fn fingerprint(&self) -> &Fingerprint;
}
