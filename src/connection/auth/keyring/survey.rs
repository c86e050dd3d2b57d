//! What there is to authenticate with, told without offering it to anybody.

use super::Keyring;
use crate::connection::auth::offer::Agent;
use crate::model::check::IdentityReport;
use crate::target::Target;
use crate::target::identity::KeyText;
use russh::keys::{HashAlg, PublicKey};

impl Keyring {
    /// The keys of the target: those that are listed, then those that only the agent has.
    pub async fn survey(&self, target: &Target) -> Vec<IdentityReport> {
        let (held, answered) = match &self.agent {
            None => (Vec::new(), true),
            // That it does not answer was said when it was asked for its keys.
            Some(path) => Agent::open(path).await.map_or_else(|_| (Vec::new(), false), |agent| (agent.keys(), true)),
        };
        let mut reports: Vec<IdentityReport> = Vec::new();
        for identity in &target.identities.identities {
            let listed = self.listed.iter().find(|key| key.name == identity.name);
            let public = listed.and_then(|key| key.public.as_ref());
            let source = match &identity.text {
                KeyText::Source(_) => "option",
                KeyText::Read(_) if identity.explicit => "option",
                KeyText::Read(_) => "file",
            };
            let why = match listed {
                Some(key) if key.private.is_some() => None,
                Some(_) if public.is_some_and(|key| holds(&held, key)) => None,
                _ if self.locked.contains(&identity.name) => Some("it is encrypted, and there is no passphrase"),
                Some(_) if !answered => Some("the agent does not answer"),
                Some(_) => Some("it is a public key, and the agent does not hold its private key"),
                None => Some("it cannot be read"),
            };
            let fingerprint = public.map(fingerprint).or_else(|| {
                let text = match &identity.text {
                    KeyText::Read(text) => text.expose(),
                    KeyText::Source(_) => return None,
                };
                let public = crate::connection::keys::public_of;
                public(text).or_else(|| identity.public.as_deref().and_then(public)).as_ref().map(fingerprint)
            });
            reports.push(IdentityReport {
                name: identity.name.clone(),
                fingerprint,
                source,
                usable: why.is_none(),
                why: why.map(str::to_owned),
            });
        }
        for key in held {
            if self.listed.iter().filter_map(|listed| listed.public.as_ref()).any(|listed| same(listed, &key)) {
                continue;
            }
            let why = self.listed_only.then(|| "`-i` or IdentitiesOnly: only the listed keys are offered".to_owned());
            reports.push(IdentityReport {
                name: key.comment().to_string(),
                fingerprint: Some(fingerprint(&key)),
                source: "agent",
                usable: why.is_none(),
                why,
            });
        }
        reports
    }
}

fn same(one: &PublicKey, other: &PublicKey) -> bool {
    one.key_data() == other.key_data()
}

fn holds(agent: &[PublicKey], key: &PublicKey) -> bool {
    agent.iter().any(|held| same(held, key))
}

fn fingerprint(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}
