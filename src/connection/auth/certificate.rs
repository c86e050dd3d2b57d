//! User certificates (OpenSSH's PROTOCOL.certkeys): looked at before they are offered, and signed for with the key's file or by
//! the agent.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use russh::keys::agent::AgentIdentity;
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::ssh_key::private::KeypairData;
use russh::keys::{Certificate, HashAlg, PrivateKey, signature};
use russh::{AgentAuthError, Signer};

use crate::errors::Fault;
use crate::model::outcome::Phase;

/// The certificate in a `-cert.pub` file's text.
pub(super) fn parse(text: &[u8]) -> Result<Certificate, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not text".to_owned())?;
    let line = text.lines().find(|line| !line.trim().is_empty()).ok_or_else(|| "it is empty".to_owned())?;
    Certificate::from_openssh(line.trim()).map_err(|error| error.to_string())
}

/// Why it cannot be of use now, whatever the server thinks.
pub(super) fn expired(cert: &Certificate) -> Option<Fault> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let subject = format!("{:?}", cert.key_id());
    if cert.cert_type() != CertType::User {
        return Some(Fault::CertPrincipal {
            subject,
            detail: "it is a host certificate".to_owned(),
            phase: Phase::Auth,
        });
    }
    (now < cert.valid_after() || now >= cert.valid_before()).then(|| {
        let detail = format!("it is valid from {} to {} (Unix time)", cert.valid_after(), cert.valid_before());
        Fault::CertExpired { subject, detail, phase: Phase::Auth }
    })
}

/// Why a server that goes by the certificate alone would refuse it. Not for us to refuse: `AuthorizedPrincipalsFile` may give the
/// account to other names.
pub(super) fn misnamed(cert: &Certificate, user: &str) -> Option<Fault> {
    let principals = cert.valid_principals();
    let names_user = principals.is_empty() || principals.iter().any(|principal| principal == user);
    (!names_user).then(|| {
        let detail = format!("it names {}, not {user}", principals.join(", "));
        Fault::CertPrincipal { subject: format!("{:?}", cert.key_id()), detail, phase: Phase::Auth }
    })
}

/// Signs with a key that we hold.
pub(super) struct KeySigner(pub(super) Arc<PrivateKey>);

impl Signer for KeySigner {
    type Error = AgentAuthError;

    async fn auth_sign(
        &mut self,
        _: &AgentIdentity,
        hash: Option<HashAlg>,
        mut data: Vec<u8>,
    ) -> Result<Vec<u8>, AgentAuthError> {
        let signed = match self.0.key_data() {
            KeypairData::Rsa(keypair) => signature::Signer::try_sign(&(keypair, hash), &data),
            keypair => signature::Signer::try_sign(keypair, &data),
        };
        let encoded =
            signed.map_err(russh::keys::Error::from).and_then(|signature: russh::keys::ssh_key::Signature| {
                use russh::keys::ssh_encoding::Encode;
                let mut blob = Vec::new();
                signature.encode(&mut blob)?;
                let mut out = Vec::new();
                blob.as_slice().encode(&mut out)?;
                Ok(out)
            });
        // russh wants the signed bytes back, with the signature as an SSH string behind them.
        data.extend_from_slice(&encoded?);
        Ok(data)
    }
}
