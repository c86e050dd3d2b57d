//! What is known of one connection, shared between russh's session task and whoever waits for it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use russh::Names;
use russh::compression::Compression;
use russh::keys::PublicKeyOrCertificate;
use tokio::sync::Notify;

use super::handler::ServerKey;
use super::kexinit::Opening;
use crate::errors::clean;
use crate::model::check::{Negotiated, Offers};

/// How much of the server's first words is kept.
const GREETING_BYTES: usize = 512;
/// How much of the server's banners is kept; the rest is counted as read and dropped.
const BANNER_BYTES: usize = 4096;

/// The host key that the server showed, and what was made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKeySeen {
    /// Key type and SHA-256 fingerprint.
    pub shown: String,
    /// `known`, `certificate`, `pinned`, `added`, `unchecked`, `unknown`, `changed` or `revoked`.
    pub status: &'static str,
}

/// Facts of one connection.
#[derive(Debug, Default)]
pub struct Link {
    sent: AtomicU64,
    at_rest: Notify,
    facts: Mutex<Facts>,
}

#[derive(Debug, Default)]
struct Facts {
    greeting: Vec<u8>,
    opening: Opening,
    server_key: Option<ServerKey>,
    certified: bool,
    judged_in: Option<Duration>,
    negotiated: Option<Negotiated>,
    banner: String,
    end: Option<String>,
    refused_by_server: Option<String>,
    violated: bool,
    host_key: Option<HostKeySeen>,
    warnings: Vec<crate::model::outcome::Warning>,
}

impl Link {
    fn facts(&self) -> std::sync::MutexGuard<'_, Facts> {
        // Nothing panics while holding it; if it did, the facts are still facts.
        self.facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Bytes were handed to the kernel.
    pub(super) fn sent(&self, count: usize) {
        self.sent.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// How many bytes were handed to the kernel so far.
    pub fn bytes_sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// The stream was closed: what was to be sent was handed to the kernel, or never will be.
    pub(super) fn carries_no_more(&self) {
        self.at_rest.notify_one();
    }

    /// Waits for that.
    pub(super) async fn rests(&self) {
        self.at_rest.notified().await;
    }

    /// Bytes came in. Only the first are kept.
    pub(super) fn received(&self, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        let mut facts = self.facts();
        let room = GREETING_BYTES - facts.greeting.len();
        if room > 0 {
            facts.greeting.extend_from_slice(&data[..room.min(data.len())]);
        }
        facts.opening.received(data);
    }

    /// What the server offers in its first packet, where that has arrived.
    pub fn offers(&self) -> Option<Offers> {
        self.facts().opening.offers()
    }

    /// The host key was shown, and proved by its signature.
    pub(super) fn shown(&self, shown: &PublicKeyOrCertificate) {
        let mut facts = self.facts();
        facts.opening.settle();
        facts.server_key = ServerKey::of(&shown.public_key()).ok();
        facts.certified = shown.certificate().is_some();
    }

    /// The host key, whatever was made of it; of a certificate the key in it.
    pub fn server_key(&self) -> Option<ServerKey> {
        self.facts().server_key.clone()
    }

    /// How long it took to judge the host key.
    pub(super) fn judged(&self, span: Duration) {
        self.facts().judged_in = Some(span);
    }

    /// How long it took to judge the host key, once it was shown.
    pub fn judged_in(&self) -> Option<Duration> {
        self.facts().judged_in
    }

    /// Keys were exchanged. The first time counts: a later exchange keeps the protection of the first.
    pub(super) fn agreed(&self, names: &Names) {
        let mut facts = self.facts();
        let certified = facts.certified;
        facts.negotiated.get_or_insert_with(|| Negotiated {
            kex: names.kex.as_ref().to_owned(),
            host_key: if certified { names.key.to_certificate_type() } else { names.key.as_str().to_owned() },
            cipher: names.cipher.as_ref().to_owned(),
            mac: match names.client_mac.as_ref() {
                _ if is_aead(names.cipher.as_ref()) => "implicit".to_owned(),
                mac => mac.to_owned(),
            },
            compression: match names.server_compression {
                Compression::None => "none",
                Compression::Zlib => "zlib",
                Compression::ZlibOpenSSH => "zlib@openssh.com",
            }
            .to_owned(),
            strict_kex: names.strict_kex(),
        });
    }

    /// The algorithms that were agreed on.
    pub fn negotiated(&self) -> Option<Negotiated> {
        self.facts().negotiated.clone()
    }

    /// The server's identification string (RFC 4253 section 4.2), cleaned.
    pub fn server_id(&self) -> Option<String> {
        let facts = self.facts();
        let text = String::from_utf8_lossy(&facts.greeting);
        text.split('\n').find(|line| line.starts_with("SSH-")).map(|line| clean(line.trim_end()))
    }

    /// The server's first line, where it shows that the server does not speak SSH: it began, and not with `SSH-`.
    pub fn foreign_greeting(&self) -> Option<String> {
        let facts = self.facts();
        let greeting = &facts.greeting[..];
        let begins_ssh = |line: &[u8]| line.starts_with(b"SSH-") || b"SSH-".starts_with(line);
        // SSH-1 is another protocol by the same name; `1.99` means that both are spoken (RFC 4253 section 5.1).
        let old = |line: &[u8]| line.ends_with(b"\r") && line.starts_with(b"SSH-1.") && !line.starts_with(b"SSH-1.99-");
        let modern = |line: &[u8]| !line.is_empty() && begins_ssh(line) && !old(line);
        if greeting.is_empty() || greeting.split(|b| *b == b'\n').any(modern) {
            return None;
        }
        let first = greeting.split(|b| *b == b'\n').find(|line| !line.trim_ascii().is_empty())?;
        let shown: String = String::from_utf8_lossy(first).trim_end().chars().take(80).collect();
        Some(clean(&shown))
    }

    /// A banner (RFC 4252 section 5.4).
    pub(super) fn banner(&self, text: &str) {
        let mut facts = self.facts();
        let room = BANNER_BYTES.saturating_sub(facts.banner.len());
        let cut = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).last();
        facts.banner.push_str(&text[..cut.unwrap_or(0)]);
    }

    /// Everything the server said before authentication, as it came.
    pub fn banner_text(&self) -> String {
        self.facts().banner.clone()
    }

    /// The connection ended, for this reason. The first reason stays.
    pub(super) fn ended(&self, reason: String) {
        self.facts().end.get_or_insert(reason);
    }

    /// The server sent `SSH_MSG_DISCONNECT` (RFC 4253 section 11.1) with this text.
    pub(super) fn disconnected_by_server(&self, reason: String) {
        let mut facts = self.facts();
        facts.end.get_or_insert_with(|| format!("the server said: {reason}"));
        facts.refused_by_server.get_or_insert(reason);
    }

    /// The server broke the protocol.
    pub(super) fn violated(&self) {
        self.facts().violated = true;
    }

    /// Whether it did.
    pub(super) fn is_violated(&self) -> bool {
        self.facts().violated
    }

    /// Why the connection ended.
    pub fn end_reason(&self) -> String {
        self.facts().end.clone().unwrap_or_else(|| "it was closed".to_owned())
    }

    /// The text of the server's `SSH_MSG_DISCONNECT`.
    pub fn server_word(&self) -> Option<String> {
        self.facts().refused_by_server.clone()
    }

    /// The host key was judged.
    pub(super) fn host_key(&self, seen: HostKeySeen) {
        self.facts().host_key = Some(seen);
    }

    /// The host key, once it was shown.
    pub fn host_key_seen(&self) -> Option<HostKeySeen> {
        self.facts().host_key.clone()
    }

    /// Something worth saying was found inside the session task.
    pub(super) fn warn(&self, warning: crate::model::outcome::Warning) {
        self.facts().warnings.push(warning);
    }

    /// Takes what was found worth saying.
    pub fn take_warnings(&self) -> Vec<crate::model::outcome::Warning> {
        std::mem::take(&mut self.facts().warnings)
    }
}

/// Ciphers that protect the integrity themselves (RFC 5647, and OpenSSH's PROTOCOL.chacha20poly1305).
fn is_aead(cipher: &str) -> bool {
    cipher.contains("-gcm@") || cipher.starts_with("chacha20-poly1305")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeted(bytes: &[u8]) -> Link {
        let link = Link::default();
        link.received(bytes);
        link
    }

    #[test]
    fn a_cut_version_line_is_not_a_foreign_protocol() {
        for n in 0..8 {
            assert_eq!(greeted(&b"SSH-2.0-x"[..n]).foreign_greeting(), None);
        }
    }

    #[test]
    fn lines_before_the_version_are_allowed() {
        let link = greeted(b"hello\r\nSSH-2.0-Open\x1bSSH\r\n");
        assert_eq!(link.foreign_greeting(), None);
        assert_eq!(link.server_id().unwrap(), "SSH-2.0-Open\\u{1b}SSH");
    }

    #[test]
    fn an_endless_greeting_and_banner_stay_small() {
        let link = greeted(&vec![b'x'; 100_000]);
        link.received(&vec![b'y'; 100_000]);
        for _ in 0..100 {
            link.banner(&"é".repeat(1000));
        }
        assert_eq!(link.foreign_greeting().unwrap().len(), 80);
        assert_eq!(link.banner_text().len(), BANNER_BYTES);
    }
}
