//! Offering keys: certificates first, then the agent's keys that are listed, the agent's others unless only listed ones are
//! wanted, then the listed ones that the agent does not hold. As ssh does, and never the same twice.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use russh::keys::{Algorithm, Certificate, HashAlg, PrivateKey, PublicKey};
use russh::{AgentAuthError, Signer};
use tokio::net::UnixStream;

use super::attempt::{Answer, Attempt};
use super::certificate::{self, KeySigner};
use super::keyring::Keyring;
use crate::connection::patience::PersonClock;
use crate::errors::Fault;
use crate::model::outcome::{Phase, Warning};

/// How long the server's list of signature algorithms (RFC 8308) is waited for, beyond what has arrived: a server that sends it
/// sends it right after the key exchange, and some never do.
const EXT_INFO_WAIT: Duration = Duration::from_millis(50);
/// How long the agent may take to list its keys.
const AGENT_ANSWER: Duration = Duration::from_secs(3);

/// What is offered, and who signs.
struct Candidate {
    how: String,
    what: What,
    signer: Holder,
}

enum What {
    Key(PublicKey),
    Certificate(Box<Certificate>),
}

enum Holder {
    Here(Arc<PrivateKey>),
    /// The agent, by what it has in its list.
    Agent(Box<AgentIdentity>),
}

/// Offers everything that there is, until the server lets us in or accepts no more keys.
pub(super) async fn offer(ring: &Keyring, attempt: &mut Attempt<'_>) -> Result<Answer, Fault> {
    let mut agent = match &ring.agent {
        Some(path) => match attempt.patience.within(&attempt.address(), Phase::Auth, Agent::open(path)).await? {
            Ok(agent) => Some(agent),
            Err(problem) => {
                let message = format!("the agent at {} was not used: {problem}", path.display());
                attempt.progress.warnings.push(Warning::new("agent_unavailable", message));
                None
            }
        },
        None => None,
    };
    let held = agent.as_ref().map(|agent| agent.held.as_slice()).unwrap_or_default();
    for candidate in candidates(ring, held, &attempt.target.user) {
        if !attempt.server_accepts("publickey") {
            break;
        }
        let answer = offer_one(&candidate, agent.as_mut(), attempt).await?;
        if answer != Answer::Refused {
            return Ok(answer);
        }
    }
    Ok(Answer::Refused)
}

fn candidates(ring: &Keyring, held: &[AgentIdentity], user: &str) -> Vec<Candidate> {
    let same = |one: &PublicKey, other: &PublicKey| one.key_data() == other.key_data();
    let in_agent = |key: &PublicKey| {
        held.iter()
            .find(|identity| matches!(identity, AgentIdentity::PublicKey { .. }) && same(&identity.public_key(), key))
    };
    let mut order: Vec<Candidate> = Vec::new();
    for (name, cert) in &ring.certificates {
        let key = PublicKey::new(cert.public_key().clone(), "");
        let listed = ring.listed.iter().find(|listed| listed.public.as_ref().is_some_and(|public| same(public, &key)));
        let signer = match (listed.and_then(|listed| listed.private.clone()), in_agent(&key)) {
            (Some(private), _) => Holder::Here(private),
            (None, Some(identity)) => Holder::Agent(Box::new(identity.clone())),
            (None, None) => continue,
        };
        let how = format!("publickey {name} (certificate {:?})", cert.key_id());
        order.push(Candidate { how, what: What::Certificate(Box::new(cert.clone())), signer });
    }
    let is_listed = |key: &PublicKey| {
        ring.listed.iter().any(|listed| listed.public.as_ref().is_some_and(|public| same(public, key)))
    };
    for identity in held {
        if let AgentIdentity::Certificate { certificate: cert, comment } = identity
            && (!ring.listed_only || is_listed(&identity.public_key()))
            && certificate::expired(cert).is_none()
        {
            let how = format!("publickey agent certificate {comment:?} ({:?} for {user})", cert.key_id());
            order.push(Candidate {
                how,
                what: What::Certificate(Box::new(cert.clone())),
                signer: Holder::Agent(Box::new(identity.clone())),
            });
        }
    }
    let listed = ring.listed.iter().filter_map(|listed| in_agent(listed.public.as_ref()?));
    let others = held.iter().filter(|_| !ring.listed_only);
    let mut taken: Vec<PublicKey> = Vec::new();
    for identity in listed.chain(others) {
        let AgentIdentity::PublicKey { key, comment } = identity else { continue };
        if !taken.iter().any(|known| same(known, key)) {
            taken.push(key.clone());
            let how = label(&format!("agent key {comment:?}"), key);
            order.push(Candidate {
                how,
                what: What::Key(key.clone()),
                signer: Holder::Agent(Box::new(identity.clone())),
            });
        }
    }
    for listed in &ring.listed {
        let Some(private) = &listed.private else { continue };
        let key = private.public_key();
        if !taken.iter().any(|known| same(known, key)) {
            taken.push(key.clone());
            let (how, what) = (label(&listed.name, key), What::Key(key.clone()));
            order.push(Candidate { how, what, signer: Holder::Here(Arc::clone(private)) });
        }
    }
    order.retain(|candidate| candidate.algorithms().iter().any(|name| ring.permits(name)));
    order
}

impl Candidate {
    fn algorithm(&self) -> Algorithm {
        match &self.what {
            What::Key(key) => key.algorithm(),
            What::Certificate(cert) => cert.algorithm(),
        }
    }

    /// The names under which it may be used, for `PubkeyAcceptedAlgorithms`.
    fn algorithms(&self) -> Vec<String> {
        let certificate = matches!(self.what, What::Certificate(_));
        let name = |algorithm: Algorithm| {
            if certificate { algorithm.to_certificate_type() } else { algorithm.as_str().to_owned() }
        };
        match self.algorithm() {
            Algorithm::Rsa { .. } => {
                [HashAlg::Sha512, HashAlg::Sha256].map(|hash| name(Algorithm::Rsa { hash: Some(hash) })).to_vec()
            }
            other => vec![name(other)],
        }
    }
}

async fn offer_one(
    candidate: &Candidate,
    agent: Option<&mut Agent>,
    attempt: &mut Attempt<'_>,
) -> Result<Answer, Fault> {
    attempt.tried.push(candidate.how.clone());
    let person = PersonClock::default();
    match (&candidate.signer, agent) {
        (Holder::Here(key), _) => offer_with(candidate, &mut KeySigner(Arc::clone(key)), &person, attempt).await,
        (Holder::Agent(identity), Some(agent)) => {
            let mut signer = Signing { client: &mut agent.client, person: &person, identity };
            offer_with(candidate, &mut signer, &person, attempt).await
        }
        (Holder::Agent(_), None) => Ok(Answer::Refused),
    }
}

async fn offer_with<S: Signer<Error = AgentAuthError>>(
    candidate: &Candidate,
    signer: &mut S,
    person: &PersonClock,
    attempt: &mut Attempt<'_>,
) -> Result<Answer, Fault> {
    let mut answer = Answer::Refused;
    for hash in hashes(&candidate.algorithm(), attempt).await? {
        let user = attempt.target.user.clone();
        let address = attempt.address();
        let result = match &candidate.what {
            What::Key(key) => {
                let asked = attempt.handle.authenticate_publickey_with(user, key.clone(), hash, signer);
                attempt.patience.within_with_person(&address, Phase::Auth, person, asked).await?
            }
            What::Certificate(cert) => {
                let asked = attempt.handle.authenticate_certificate_with(user, (**cert).clone(), hash, signer);
                attempt.patience.within_with_person(&address, Phase::Auth, person, asked).await?
            }
        };
        let result = match result {
            Ok(result) => Ok(result),
            Err(AgentAuthError::Key(error)) => {
                let message = format!("{} could not sign: {error}", candidate.how);
                attempt.progress.warnings.push(Warning::new("key_did_not_sign", message));
                return Ok(Answer::Refused);
            }
            Err(AgentAuthError::Send(_)) => Err(()),
        };
        answer = attempt.judge(result, candidate.how.clone())?;
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
    identity: &'a AgentIdentity,
}

impl Signer for Signing<'_> {
    type Error = AgentAuthError;

    /// With what the agent holds: a certificate from a file is signed for with its plain key.
    async fn auth_sign(
        &mut self,
        _: &AgentIdentity,
        hash: Option<HashAlg>,
        data: Vec<u8>,
    ) -> Result<Vec<u8>, AgentAuthError> {
        self.person.during(self.client.auth_sign(self.identity, hash, data)).await
    }
}

/// ssh-agent, and what it holds.
pub(super) struct Agent {
    client: AgentClient<UnixStream>,
    held: Vec<AgentIdentity>,
}

impl Agent {
    pub(super) async fn open(path: &Path) -> Result<Self, String> {
        let asked = async {
            let mut client = AgentClient::connect_uds(path).await?;
            let held = client.request_identities().await?;
            Ok::<_, russh::keys::Error>(Self { client, held })
        };
        let answer = tokio::time::timeout(AGENT_ANSWER, asked).await.map_err(|_| "it does not answer".to_owned())?;
        answer.map_err(|error| error.to_string())
    }

    /// The keys it holds, those of its certificates among them.
    pub(super) fn keys(&self) -> Vec<PublicKey> {
        let mut keys: Vec<PublicKey> = Vec::new();
        for identity in &self.held {
            let mut key = identity.public_key().into_owned();
            let (AgentIdentity::PublicKey { comment, .. } | AgentIdentity::Certificate { comment, .. }) = identity;
            // russh keeps it beside the key.
            key.set_comment(comment.as_str());
            if !keys.iter().any(|known| known.key_data() == key.key_data()) {
                keys.push(key);
            }
        }
        keys
    }
}
