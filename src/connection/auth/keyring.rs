//! The keys that can be offered: read and decrypted before the network is touched, offered in OpenSSH's order.

mod survey;

use std::path::PathBuf;
use std::sync::Arc;

use russh::keys::{Certificate, HashAlg, PrivateKey, PublicKey};

use super::certificate;
use crate::connection::algorithms::pubkey_accepted;
use crate::connection::keys::{KeyProblem, decode, public_of};
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::target::Target;
use crate::target::identity::{Identity, IdentityPlan, KeyText};
use crate::target::secrets::{Ask, SecretStore, Shape};

/// A listed key.
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) public: Option<PublicKey>,
    pub(super) private: Option<Arc<PrivateKey>>,
}

/// Everything that may be offered.
#[derive(Default)]
pub struct Keyring {
    pub(super) listed: Vec<Listed>,
    pub(super) agent: Option<PathBuf>,
    pub(super) listed_only: bool,
    locked: Vec<String>,
    /// Certificates that are of no use, and why: the reason that is told if nothing else helps.
    unusable: Vec<Fault>,
    pub(super) certificates: Vec<(String, Certificate)>,
    accepted_algorithms: Option<String>,
    hops: Vec<Keyring>,
    warnings: Vec<Warning>,
}

impl Keyring {
    /// The keys for each bastion.
    pub fn hops(&self) -> &[Self] {
        &self.hops
    }

    /// Reads the keys of a target. One that the caller named and that is of no use is an error here, before anybody is called.
    pub async fn open(target: &Target, secrets: &SecretStore) -> Result<Self, Fault> {
        let IdentityPlan { identities, agent, listed_only } = &target.identities;
        let mut ring = Self { agent: agent.clone(), listed_only: *listed_only, ..Self::default() };
        ring.accepted_algorithms.clone_from(&target.algorithms.pubkey);
        for hop in &target.jump {
            let mut keys = Box::pin(Self::open(hop, secrets)).await?;
            ring.warnings.extend(keys.take_warnings());
            ring.hops.push(keys);
        }
        for identity in identities {
            ring.add(identity, target, secrets).await?;
            if let Some(text) = &identity.certificate {
                ring.add_certificate(&format!("{}-cert.pub", identity.name), text);
            }
        }
        for (name, text) in &target.certificate_files {
            ring.add_certificate(name, text);
        }
        Ok(ring)
    }

    async fn add(&mut self, identity: &Identity, target: &Target, secrets: &SecretStore) -> Result<(), Fault> {
        let name = identity.name.clone();
        let text = match &identity.text {
            KeyText::Read(text) => text.clone(),
            KeyText::Source(source) => {
                let ask = Ask { what: "-i", prompt: "Private key", shape: Shape::Text };
                secrets.get(source, ask).await?
            }
        };
        let public = || public_of(text.expose()).or_else(|| identity.public.as_deref().and_then(public_of));
        let mut decoded = decode(text.expose(), None);
        if decoded == Err(KeyProblem::NeedsPassphrase)
            && let Some(source) = &target.passphrase
        {
            let prompt = format!("Passphrase of {name}");
            let passphrase =
                secrets.get(source, Ask { what: "--passphrase", prompt: &prompt, shape: Shape::Line }).await?;
            decoded = decode(text.expose(), Some(&passphrase));
        }
        match decoded {
            Ok(key) => {
                let public = Some(key.public_key().clone());
                self.listed.push(Listed { name, public, private: Some(Arc::new(key)) });
            }
            // The agent may hold it.
            Err(problem @ (KeyProblem::NeedsPassphrase | KeyProblem::Public))
                if self.agent.is_some() && public().is_some() =>
            {
                if problem == KeyProblem::NeedsPassphrase {
                    self.locked.push(name.clone());
                }
                self.listed.push(Listed { name, public: public(), private: None });
            }
            Err(problem) if identity.explicit => return Err(problem.fault(&name)),
            Err(KeyProblem::NeedsPassphrase) => self.locked.push(name),
            Err(problem) => {
                let fault = problem.fault(&name);
                self.warnings.push(Warning::new("identity_skipped", format!("{fault}; the key was skipped")));
            }
        }
        Ok(())
    }

    fn add_certificate(&mut self, name: &str, text: &[u8]) {
        match certificate::parse(text) {
            Ok(cert) => match certificate::expired(&cert) {
                None => self.certificates.push((name.to_owned(), cert)),
                Some(fault) => {
                    self.warnings.push(Warning::new("certificate_skipped", format!("{name}: {fault}")));
                    self.unusable.push(fault);
                }
            },
            Err(problem) => {
                let message = format!("{name} is no certificate: {problem}; it was skipped");
                self.warnings.push(Warning::new("certificate_skipped", message));
            }
        }
    }

    /// Why a certificate would not do for this user: what explains a refusal best.
    pub(super) fn certificate_trouble(&self, user: &str) -> Option<Fault> {
        let misnamed = || self.certificates.iter().find_map(|(_, cert)| certificate::misnamed(cert, user));
        self.unusable.first().cloned().or_else(misnamed)
    }

    /// `PubkeyAcceptedAlgorithms`.
    pub(super) fn permits(&self, algorithm: &str) -> bool {
        pubkey_accepted(algorithm, self.accepted_algorithms.as_deref())
    }

    /// Whether there is anything to offer.
    pub(super) fn may_offer(&self) -> bool {
        self.agent.is_some() || self.listed.iter().any(|key| key.private.is_some())
    }

    /// A key that a passphrase would have opened, and that was not offered otherwise.
    pub(super) fn locked(&self, tried: &[String]) -> Option<String> {
        let offered = |name: &String| {
            let listed = self.listed.iter().find(|listed| listed.name == *name);
            let print = listed
                .and_then(|listed| listed.public.as_ref())
                .map(|key| key.fingerprint(HashAlg::Sha256).to_string());
            print.is_some_and(|print| tried.iter().any(|how| how.contains(&print)))
        };
        self.locked.iter().find(|name| !offered(name)).cloned()
    }

    /// The listed public keys whose private half nobody has: for the error.
    pub(super) fn orphans(&self, tried: &[String]) -> Vec<String> {
        let orphan = |listed: &&Listed| {
            let print = listed.public.as_ref().map(|key| key.fingerprint(HashAlg::Sha256).to_string());
            listed.private.is_none() && print.is_some_and(|print| !tried.iter().any(|how| how.contains(&print)))
        };
        self.listed.iter().filter(orphan).map(|listed| listed.name.clone()).collect()
    }

    /// What was found while reading; taken once.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }
}
