//! russh's callbacks: the host key is judged here, and what the server says on the way is kept.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use russh::Names;
use russh::client::{DisconnectReason, Handler, Session};
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Certificate, HashAlg, PublicKey, PublicKeyOrCertificate};

use super::link::{HostKeySeen, Link};
use crate::errors::{Fault, clean};
use crate::model::outcome::{Phase, Warning};
use crate::model::request::HostKeyPolicy;
use crate::target::known_hosts::{HostKeyRules, KnownHosts, Verdict, remember};

/// An error of the session task: russh's, or a refusal of ours that must arrive as what it is.
#[derive(Debug)]
pub(super) enum LinkError {
    Russh(russh::Error),
    Refused(Box<Fault>),
}

impl From<russh::Error> for LinkError {
    fn from(error: russh::Error) -> Self {
        Self::Russh(error)
    }
}

/// The client's side of one connection.
pub(super) struct Guard {
    pub(super) link: Arc<Link>,
    pub(super) judge: Judge,
}

impl Handler for Guard {
    type Error = LinkError;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, LinkError> {
        self.link.shown(shown);
        let clock = Instant::now();
        let verdict = match self.judge.judge(shown, &self.link) {
            Ok(None) => Ok(()),
            Ok(Some(key)) => {
                self.judge.remember(key, &self.link).await;
                Ok(())
            }
            Err(fault) => Err(fault),
        };
        self.link.judged(clock.elapsed());
        match verdict {
            Ok(()) => Ok(true),
            Err(fault) => Err(LinkError::Refused(Box::new(fault))),
        }
    }

    async fn kex_done(&mut self, _: Option<&[u8]>, names: &Names, _: &mut Session) -> Result<(), LinkError> {
        self.link.agreed(names);
        Ok(())
    }

    async fn auth_banner(&mut self, banner: &str, _: &mut Session) -> Result<(), LinkError> {
        self.link.banner(banner);
        Ok(())
    }

    async fn disconnected(&mut self, reason: DisconnectReason<LinkError>) -> Result<(), LinkError> {
        match reason {
            DisconnectReason::ReceivedDisconnect(info) => self.link.disconnected_by_server(clean(&info.message)),
            // The server refused, and listed nothing more to try.
            DisconnectReason::Error(LinkError::Russh(russh::Error::NoAuthMethod)) => {
                self.link.disconnected_by_server("no authentication method is left".to_owned());
            }
            DisconnectReason::Error(LinkError::Russh(error)) => {
                if is_violation(&error) {
                    self.link.violated();
                }
                self.link.ended(describe(&error));
            }
            DisconnectReason::Error(LinkError::Refused(fault)) => self.link.ended(fault.to_string()),
        }
        Ok(())
    }
}

/// The server sent what cannot be right, or cannot be read: it will do so again.
pub(super) fn is_violation(error: &russh::Error) -> bool {
    matches!(
        error,
        russh::Error::SshEncoding(_)
            | russh::Error::Utf8(_)
            | russh::Error::SshKey(_)
            | russh::Error::WrongServerSig
            | russh::Error::Signature(_)
            | russh::Error::StrictKeyExchangeViolation { .. }
    )
}

/// A session's end in our words, where russh's would puzzle.
pub(super) fn describe(error: &russh::Error) -> String {
    match error {
        russh::Error::IO(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => "the server closed it".to_owned(),
        russh::Error::IO(e) => e.to_string(),
        russh::Error::Disconnect | russh::Error::HUP => "the server closed it".to_owned(),
        russh::Error::KeepaliveTimeout => "the server stopped answering".to_owned(),
        russh::Error::WrongServerSig => "the host key's signature is wrong: somebody may be in between".to_owned(),
        russh::Error::SshEncoding(_) | russh::Error::Utf8(_) => "it sent a message that cannot be read".to_owned(),
        other => other.to_string(),
    }
}

/// What a host key is measured by.
pub(super) struct Judge {
    /// The name that messages use.
    pub(super) host: String,
    pub(super) rules: HostKeyRules,
    pub(super) known: KnownHosts,
}

impl Judge {
    /// The verdict; a key is one that is new, accepted, and to be remembered.
    fn judge(&self, shown: &PublicKeyOrCertificate, link: &Link) -> Result<Option<ServerKey>, Fault> {
        let plain = shown.public_key();
        let key = ServerKey::of(&plain)?;
        let seen =
            |status| link.host_key(HostKeySeen { shown: format!("{} {}", key.key_type, key.fingerprint), status });
        match self.rules.pinned(&key.blob) {
            Some(true) => {
                seen("pinned");
                return Ok(None);
            }
            Some(false) => {
                seen("changed");
                return Err(Fault::HostKeyNotPinned {
                    host: self.host.clone(),
                    key_type: key.key_type,
                    fingerprint: key.fingerprint,
                });
            }
            None => {}
        }
        if self.rules.policy == HostKeyPolicy::Insecure {
            seen("unchecked");
            return Ok(None);
        }
        if let Some(certificate) = shown.certificate()
            && self.vouched(certificate, &key, &seen)?
        {
            seen("certificate");
            return Ok(None);
        }
        match self.known.verdict(&key.key_type, &key.blob) {
            Verdict::Known(_) => seen("known"),
            Verdict::Changed(place) => {
                seen("changed");
                return Err(self.changed(key, &place.to_string()));
            }
            Verdict::Revoked(place) => {
                seen("revoked");
                return Err(self.revoked(key, &place.to_string()));
            }
            Verdict::OtherType { known_types, .. } => {
                seen("unknown");
                return Err(self.unknown(key, &known_types));
            }
            // Where a file could not be read, "unknown" only means "not seen".
            Verdict::Unknown { known_types }
                if self.rules.policy == HostKeyPolicy::Strict || !self.known.is_complete() =>
            {
                seen("unknown");
                return Err(self.unknown(key, &known_types));
            }
            Verdict::Unknown { .. } if !self.rules.remember => {
                seen("unknown");
                let message = format!(
                    "the host key of {} is not known: exec would add {} {} to known_hosts, and check adds nothing",
                    self.host, key.key_type, key.fingerprint
                );
                link.warn(Warning::new("host_key_would_be_added", message));
            }
            Verdict::Unknown { .. } => {
                seen("added");
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Whether a known authority vouches for the certificate. One that no authority here has signed leaves the judgement to
    /// the plain key, as in OpenSSH.
    fn vouched(&self, cert: &Certificate, key: &ServerKey, seen: &dyn Fn(&'static str)) -> Result<bool, Fault> {
        let signer = ServerKey::of(&PublicKey::new(cert.signature_key().clone(), ""))?;
        for candidate in [&signer, key] {
            if let Some(place) = self.known.revoked(&candidate.blob) {
                seen("revoked");
                return Err(self.revoked(candidate.clone(), &place.to_string()));
            }
        }
        if !self.known.authorities().iter().any(|authority| authority.blob == signer.blob) {
            return Ok(false);
        }
        let principal = |detail| Fault::CertPrincipal { subject: self.host.clone(), detail, phase: Phase::HostKey };
        if cert.cert_type() != CertType::Host {
            return Err(principal("it is a user certificate".to_owned()));
        }
        if let Some((option, _)) = cert.critical_options().iter().next() {
            // None is defined for hosts (PROTOCOL.certkeys): whoever wrote it there meant it to be understood.
            return Err(principal(format!(
                "{:?} has the critical option {option:?}, which means nothing here",
                cert.key_id()
            )));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let id = cert.key_id();
        if now < cert.valid_after() || now >= cert.valid_before() {
            let detail = format!("{id:?} is valid from {} to {} (Unix time)", cert.valid_after(), cert.valid_before());
            return Err(Fault::CertExpired { subject: self.host.clone(), detail, phase: Phase::HostKey });
        }
        let principals = cert.valid_principals();
        let name = self.rules.portless_name.as_deref().unwrap_or(&self.rules.lookup_name);
        if !principals.is_empty() && !principals.iter().any(|p| p.eq_ignore_ascii_case(name)) {
            return Err(principal(format!("{id:?} names {}, not {name}", principals.join(", "))));
        }
        let fingerprint = cert.signature_key().fingerprint(HashAlg::Sha256);
        cert.validate_at(now, &[fingerprint]).map_err(|error| principal(format!("{id:?} does not hold: {error}")))?;
        Ok(true)
    }

    /// Another process may hold the file's lock, for ever: it is not waited for as long.
    async fn remember(&self, key: ServerKey, link: &Link) {
        const LOCK_WAIT: Duration = Duration::from_secs(2);
        let file = self.rules.user_files.first().map(|file| file.display().to_string()).unwrap_or_default();
        let (rules, kept) = (self.rules.clone(), key.clone());
        let writing = tokio::task::spawn_blocking(move || remember(&rules, &kept.key_type, &kept.blob));
        let written = match tokio::time::timeout(LOCK_WAIT, writing).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => Err(error.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the file is locked by somebody else".to_owned()),
        };
        let (code, message) = match written {
            Ok(()) => (
                "host_key_added",
                format!("the host key of {} was added to {file}: {} {}", self.host, key.key_type, key.fingerprint),
            ),
            Err(problem) => (
                "host_key_not_added",
                format!("the host key of {} was accepted, and not remembered: {problem}", self.host),
            ),
        };
        link.warn(Warning::new(code, message));
    }

    fn changed(&self, key: ServerKey, place: &str) -> Fault {
        Fault::HostKeyChanged {
            host: self.host.clone(),
            key_type: key.key_type,
            fingerprint: key.fingerprint,
            place: place.to_owned(),
        }
    }

    fn revoked(&self, key: ServerKey, place: &str) -> Fault {
        Fault::HostKeyRevoked {
            host: self.host.clone(),
            key_type: key.key_type,
            fingerprint: key.fingerprint,
            place: place.to_owned(),
        }
    }

    fn unknown(&self, key: ServerKey, known_types: &[String]) -> Fault {
        Fault::HostKeyUnknown {
            host: self.host.clone(),
            key_type: key.key_type,
            fingerprint: key.fingerprint,
            known_types: known_types.join(", "),
        }
    }
}

/// A key as `known_hosts` would have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerKey {
    /// Its type, as `ssh-ed25519`.
    pub key_type: String,
    /// Its blob (RFC 4253 section 6.6).
    pub blob: Vec<u8>,
    /// SHA-256, as OpenSSH shows it.
    pub fingerprint: String,
}

impl ServerKey {
    pub(super) fn of(key: &PublicKey) -> Result<Self, Fault> {
        let blob = key
            .to_bytes()
            .map_err(|e| Fault::ServerViolation { problem: format!("host key: {e}"), phase: Phase::HostKey })?;
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        Ok(Self { key_type: key.algorithm().as_str().to_owned(), blob, fingerprint })
    }
}
