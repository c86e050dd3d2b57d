//! What a server can do beyond version 3, and how much it takes at once.

use bytes::Bytes;

use super::wire::Fields;

/// What the draft has every server take and give (section 6.4: 32,768 bytes and what stands around them).
const REQUEST_GUARANTEED: usize = 32 * 1024;
/// OpenSSH's own: more in one request gains nothing.
const REQUEST_MAX: usize = 255 * 1024;

/// The sizes that a server takes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// In one `READ`.
    pub read: usize,
    /// In one `WRITE`.
    pub write: usize,
}

impl Sizes {
    /// Of a server that says nothing.
    pub const GUARANTEED: Self = Self { read: REQUEST_GUARANTEED, write: REQUEST_GUARANTEED };

    /// `limits@openssh.com`: packet, read, write, handles. Zero is no limit.
    pub fn of(limits: Bytes) -> Option<Self> {
        let mut fields = Fields(limits);
        let (_packet, read, write) = (fields.u64().ok()?, fields.u64().ok()?, fields.u64().ok()?);
        let size = |limit: u64| match usize::try_from(limit).unwrap_or(REQUEST_MAX) {
            0 => REQUEST_MAX,
            limit => limit.clamp(1024, REQUEST_MAX),
        };
        Some(Self { read: size(read), write: size(write) })
    }
}

/// What is there beyond version 3 (OpenSSH's `PROTOCOL`, section 4).
#[derive(Clone, Copy, Debug, Default)]
pub struct Extensions {
    pub limits: bool,
    pub posix_rename: bool,
    pub fsync: bool,
    pub statvfs: bool,
    pub lsetstat: bool,
    pub expand_path: bool,
}

impl Extensions {
    /// From the pairs of its VERSION.
    pub fn of(pairs: &[(Bytes, Bytes)]) -> Self {
        let has = |name: &str, version: &[u8]| pairs.iter().any(|(n, v)| n == name.as_bytes() && v == version);
        Self {
            limits: has("limits@openssh.com", b"1"),
            posix_rename: has("posix-rename@openssh.com", b"1"),
            fsync: has("fsync@openssh.com", b"1"),
            statvfs: has("statvfs@openssh.com", b"2"),
            lsetstat: has("lsetstat@openssh.com", b"1"),
            expand_path: has("expand-path@openssh.com", b"1"),
        }
    }
}
