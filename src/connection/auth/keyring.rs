//! The keys that can be offered: read and decrypted before the network is touched, offered in OpenSSH's order.

mod survey;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use russh::keys::{Algorithm, HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKey};
use russh::{AgentAuthError, Signer};
use tokio::net::UnixStream;

use super::attempt::{Answer, Attempt};
use crate::connection::keys::{KeyProblem, decode, public_of};
use crate::connection::patience::PersonClock;
use crate::errors::Fault;
use crate::model::outcome::{Phase, Warning};
use crate::target::Target;
use crate::target::identity::{Identity, IdentityPlan, KeyText};
use crate::target::secrets::{Ask, SecretStore, Shape};

/// How long the server's list of signature algorithms (RFC 8308) is waited for, beyond what has arrived: a server that sends it
/// sends it right after the key exchange, and some never do.
const EXT_INFO_WAIT: Duration = Duration::from_millis(50);

/// A listed key.
struct Listed {
    name: String,
    public: Option<PublicKey>,
    private: Option<Arc<PrivateKey>>,
}

/// Everything that may be offered.
#[derive(Default)]
pub struct Keyring {
    listed: Vec<Listed>,
    agent: Option<PathBuf>,
    listed_only: bool,
    locked: Vec<String>,
    warnings: Vec<Warning>,
}

impl Keyring {
    /// Reads the keys of a target. One that the caller named and that is of no use is an error here, before anybody is called.
    pub async fn open(target: &Target, secrets: &SecretStore) -> Result<Self, Fault> {
        let IdentityPlan { identities, agent, listed_only } = &target.identities;
        let mut ring = Self { agent: agent.clone(), listed_only: *listed_only, ..Self::default() };
        for identity in identities {
            ring.add(identity, target, secrets).await?;
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
            Err(KeyProblem::NeedsPassphrase | KeyProblem::Public) if self.agent.is_some() && public().is_some() => {
                self.locked.push(name.clone());
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

    /// Whether there is anything to offer.
    pub(super) fn may_offer(&self) -> bool {
        self.agent.is_some() || self.listed.iter().any(|key| key.private.is_some())
    }

    /// The keys that a passphrase would have opened.
    pub(super) fn locked(&self) -> &[String] {
        &self.locked
    }

    /// What was found while reading; taken once.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }
}

/// Offers the keys: those of the agent that are listed, the agent's others unless only listed ones are wanted, then the listed
/// ones that the agent does not hold.
pub(super) async fn offer(ring: &Keyring, attempt: &mut Attempt<'_>) -> Result<Answer, Fault> {
    let mut offered: Vec<PublicKey> = Vec::new();
    if let Some(path) = &ring.agent {
        match Agent::open(path).await {
            Ok(mut agent) => {
                for key in agent.in_order(ring) {
                    if !attempt.server_accepts("publickey") {
                        return Ok(Answer::Refused);
                    }
                    let answer = agent.offer(&key, attempt).await?;
                    if answer != Answer::Refused {
                        return Ok(answer);
                    }
                    offered.push(key);
                }
            }
            Err(problem) => {
                let message = format!("the agent at {} was not used: {problem}", path.display());
                attempt.progress.warnings.push(Warning::new("agent_unavailable", message));
            }
        }
    }
    for key in &ring.listed {
        let Some(private) = &key.private else { continue };
        if offered.iter().any(|known| known.key_data() == private.public_key().key_data()) {
            continue;
        }
        if !attempt.server_accepts("publickey") {
            break;
        }
        let answer = offer_file(&key.name, private, attempt).await?;
        if answer != Answer::Refused {
            return Ok(answer);
        }
    }
    Ok(Answer::Refused)
}

async fn offer_file(name: &str, key: &Arc<PrivateKey>, attempt: &mut Attempt<'_>) -> Result<Answer, Fault> {
    let how = label(name, key.public_key());
    attempt.tried.push(how.clone());
    let mut answer = Answer::Refused;
    for hash in hashes(&key.algorithm(), attempt).await? {
        let offer = PrivateKeyWithHashAlg::new(Arc::clone(key), hash);
        let address = attempt.address();
        let asked = attempt.handle.authenticate_publickey(attempt.target.user.clone(), offer);
        let result = attempt.patience.within(&address, Phase::Auth, asked).await?;
        answer = attempt.judge(result.map_err(|_| ()), how.clone())?;
        if answer != Answer::Refused || !attempt.server_accepts("publickey") {
            break;
        }
    }
    Ok(answer)
}

/// The signature hashes to try for a key: of RSA alone there are several (RFC 8332). A server that has not said which it takes
/// is offered both, the stronger first; SHA-1 is not offered.
async fn hashes(algorithm: &Algorithm, attempt: &mut Attempt<'_>) -> Result<Vec<Option<HashAlg>>, Fault> {
    if !matches!(algorithm, Algorithm::Rsa { .. }) {
        return Ok(vec![None]);
    }
    let both = vec![Some(HashAlg::Sha512), Some(HashAlg::Sha256)];
    match tokio::time::timeout(EXT_INFO_WAIT, attempt.handle.best_supported_rsa_hash()).await {
        Ok(Ok(Some(Some(best)))) => Ok(vec![Some(best)]),
        Ok(Ok(_)) | Err(_) => Ok(both),
        Ok(Err(_)) => Err(Fault::ConnectionLost { phase: Phase::Auth, problem: attempt.progress.link.end_reason() }),
    }
}

/// What messages call a key.
fn label(name: &str, key: &PublicKey) -> String {
    format!("publickey {name} ({})", key.fingerprint(HashAlg::Sha256))
}

/// An agent whose answers may wait for a person who touches a token.
struct Signing<'a> {
    client: &'a mut AgentClient<UnixStream>,
    person: &'a PersonClock,
}

impl Signer for Signing<'_> {
    type Error = AgentAuthError;

    async fn auth_sign(
        &mut self,
        key: &AgentIdentity,
        hash: Option<HashAlg>,
        data: Vec<u8>,
    ) -> Result<Vec<u8>, AgentAuthError> {
        self.person.during(self.client.auth_sign(key, hash, data)).await
    }
}

/// ssh-agent, and the plain keys that it holds.
struct Agent {
    client: AgentClient<UnixStream>,
    keys: Vec<PublicKey>,
}

impl Agent {
    async fn open(path: &PathBuf) -> Result<Self, String> {
        /// An agent that waits for a person is a source like any other; one that hangs is not waited for.
        const ANSWER: Duration = Duration::from_secs(10);
        let asked = async {
            let mut client = AgentClient::connect_uds(path).await?;
            let identities = client.request_identities().await?;
            Ok::<_, russh::keys::Error>((client, identities))
        };
        let answer = tokio::time::timeout(ANSWER, asked).await.map_err(|_| "it does not answer".to_owned())?;
        let (client, identities) = answer.map_err(|error| error.to_string())?;
        let plain = |identity| match identity {
            AgentIdentity::PublicKey { mut key, comment } => {
                // russh keeps it beside the key; messages look for it in the key.
                key.set_comment(comment);
                Some(key)
            }
            AgentIdentity::Certificate { .. } => None,
        };
        Ok(Self { client, keys: identities.into_iter().filter_map(plain).collect() })
    }

    /// The keys to offer: the listed ones in the order of the list, then the others.
    fn in_order(&self, ring: &Keyring) -> Vec<PublicKey> {
        let listed = ring.listed.iter().filter_map(|key| key.public.as_ref());
        let held = |key: &PublicKey| self.keys.iter().find(|ours| ours.key_data() == key.key_data()).cloned();
        let mut order: Vec<PublicKey> = listed.filter_map(held).collect();
        if !ring.listed_only {
            for key in &self.keys {
                if !order.iter().any(|known| known.key_data() == key.key_data()) {
                    order.push(key.clone());
                }
            }
        }
        order
    }

    async fn offer(&mut self, key: &PublicKey, attempt: &mut Attempt<'_>) -> Result<Answer, Fault> {
        let how = label(&format!("agent key {:?}", key.comment()), key);
        attempt.tried.push(how.clone());
        let mut answer = Answer::Refused;
        for hash in hashes(&key.algorithm(), attempt).await? {
            let user = attempt.target.user.clone();
            let person = PersonClock::default();
            let mut signer = Signing { client: &mut self.client, person: &person };
            let address = attempt.address();
            let asked = attempt.handle.authenticate_publickey_with(user, key.clone(), hash, &mut signer);
            let result = match attempt.patience.within_with_person(&address, Phase::Auth, &person, asked).await? {
                Ok(result) => Ok(result),
                Err(AgentAuthError::Key(error)) => {
                    let message = format!("the agent did not sign with {how}: {error}");
                    attempt.progress.warnings.push(Warning::new("agent_refused", message));
                    return Ok(Answer::Refused);
                }
                Err(AgentAuthError::Send(_)) => Err(()),
            };
            answer = attempt.judge(result, how.clone())?;
            if answer != Answer::Refused || !attempt.server_accepts("publickey") {
                break;
            }
        }
        Ok(answer)
    }
}
