//! Which keys are tried, decided before the network is touched: `-i`, else `IdentityFile`, else the default files, and
//! the agent.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::expand::Tokens;
use super::options::Settings;
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::request::{IdentitySource, SecretSource};
use crate::secret::Secret;

/// The most that is read of one key, in bytes.
pub(super) const KEY_MAX_BYTES: u64 = 1024 * 1024;

/// The most that is read of a `.pub` file, in bytes.
const PUBLIC_MAX_BYTES: u64 = 64 * 1024;

/// The default files under `~/.ssh`, in OpenSSH's order (`ssh_config(5)`, `IdentityFile`); the withdrawn types are left
/// out.
const DEFAULT_FILES: [&str; 5] = ["id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"];

/// Where the text of a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyText {
    /// Read from a file already.
    Read(Secret),
    /// To be asked for when it is needed.
    Source(SecretSource),
}

/// One key to try. Its text may turn out to be a public key: the agent then has to hold the private one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its file, or the words of its source: for messages.
    pub name: String,
    /// Its text.
    pub text: KeyText,
    /// The text of the file's `.pub` neighbour, where there is one: names an encrypted key without its passphrase.
    pub public: Option<Vec<u8>>,
    /// The text of the file's `-cert.pub` neighbour.
    pub certificate: Option<Vec<u8>>,
    /// The caller named it with `-i`: a problem with it is an error, not a reason to try the next.
    pub explicit: bool,
}

/// The keys to try, in order. As OpenSSH: first the agent's keys that are listed here, then the agent's others unless
/// `listed_only`, then the rest of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentityPlan {
    /// The listed keys.
    pub identities: Vec<Identity>,
    /// The agent's socket.
    pub agent: Option<PathBuf>,
    /// Of the agent's keys, only those in `identities` (`-i`, or `IdentitiesOnly`).
    pub listed_only: bool,
}

/// Reads the key files and finds the agent. Secrets behind a source are not asked for.
pub(super) fn plan(
    explicit: &[IdentitySource],
    settings: &Settings,
    tokens: &Tokens<'_>,
) -> Result<(IdentityPlan, Vec<Warning>), Fault> {
    let mut plan = IdentityPlan {
        agent: agent(settings, tokens)?,
        listed_only: !explicit.is_empty() || settings.identities_only.unwrap_or(false),
        ..IdentityPlan::default()
    };
    let mut warnings = Vec::new();
    if !explicit.is_empty() {
        for source in explicit {
            let identity = match source {
                IdentitySource::Secret(source) => Identity {
                    name: super::secrets::origin(source),
                    text: KeyText::Source(source.clone()),
                    public: None,
                    certificate: None,
                    explicit: true,
                },
                IdentitySource::File(path) => {
                    let path = tilde(path, tokens);
                    let unreadable = |problem| Fault::KeyUnreadable { path: path.display().to_string(), problem };
                    Identity {
                        explicit: true,
                        ..open(&path, tokens.local.uid).map_err(Refusal::told).map_err(unreadable)?
                    }
                }
            };
            add(&mut plan, identity);
        }
        return Ok((plan, warnings));
    }
    for (path, default) in listed(settings, tokens)? {
        match open(&path, tokens.local.uid) {
            Ok(identity) => add(&mut plan, identity),
            Err(Refusal::Missing(_)) if default => {}
            Err(refusal) => {
                let message = format!("the key {} was skipped: {}", path.display(), refusal.told());
                warnings.push(Warning::new("identity_skipped", message));
            }
        }
    }
    Ok((plan, warnings))
}

fn add(plan: &mut IdentityPlan, identity: Identity) {
    if !plan.identities.iter().any(|known| known.name == identity.name) {
        plan.identities.push(identity);
    }
}

/// `IdentityFile` as configured, else the defaults; true for a default.
fn listed(settings: &Settings, tokens: &Tokens<'_>) -> Result<Vec<(PathBuf, bool)>, Fault> {
    if settings.identity_files.is_empty() {
        let directory = tokens.local.home.as_ref().map(|home| home.join(".ssh"));
        let files = directory.iter().flat_map(|directory| DEFAULT_FILES.map(|file| (directory.join(file), true)));
        return Ok(files.collect());
    }
    let named = settings.identity_files.iter().filter(|file| !file.eq_ignore_ascii_case("none"));
    named
        .map(|file| tokens.path(file).map(|path| (path, false)))
        .collect::<Result<_, _>>()
        .map_err(|problem| invalid(settings, "IdentityFile", &problem))
}

fn invalid(settings: &Settings, keyword: &str, problem: &str) -> Fault {
    Fault::ConfigInvalid { place: settings.place(keyword).to_owned(), problem: format!("{keyword}: {problem}") }
}

/// A file's name and its text.
type Named = (String, Vec<u8>);

/// `CertificateFile`. One that cannot be read is told, and the connection goes on without it.
pub(super) fn certificates(settings: &Settings, tokens: &Tokens<'_>) -> Result<(Vec<Named>, Vec<Warning>), Fault> {
    let (mut read, mut warnings) = (Vec::new(), Vec::new());
    for file in settings.certificate_files.iter().filter(|file| !file.eq_ignore_ascii_case("none")) {
        let path = tokens.path(file).map_err(|problem| invalid(settings, "CertificateFile", &problem))?;
        match bounded(&path, PUBLIC_MAX_BYTES) {
            Ok((text, _)) => read.push((path.display().to_string(), text)),
            Err(error) => {
                let message = format!("the certificate {} was skipped: {error}", path.display());
                warnings.push(Warning::new("identity_skipped", message));
            }
        }
    }
    Ok((read, warnings))
}

/// `IdentityAgent`, else `SSH_AUTH_SOCK` (`ssh_config(5)`).
fn agent(settings: &Settings, tokens: &Tokens<'_>) -> Result<Option<PathBuf>, Fault> {
    let from_env = |name: &str| tokens.local.env(name).map(PathBuf::from);
    let Some(text) = settings.identity_agent.as_deref().filter(|text| *text != "SSH_AUTH_SOCK") else {
        return Ok(from_env("SSH_AUTH_SOCK"));
    };
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    match text.strip_prefix('$').filter(|name| !name.starts_with('{')) {
        // As in ssh.c: a variable that is not set changes nothing.
        Some(name) => Ok(from_env(name).or_else(|| from_env("SSH_AUTH_SOCK"))),
        None => tokens.path(text).map(Some).map_err(|problem| invalid(settings, "IdentityAgent", &problem)),
    }
}

/// A shell expands `~` itself, but not in `--identity=~/key`.
fn tilde(path: &Path, tokens: &Tokens<'_>) -> PathBuf {
    match (path.strip_prefix("~"), &tokens.local.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Why a key file is of no use.
enum Refusal {
    Missing(io::Error),
    Unreadable(io::Error),
    /// Others can read it: as OpenSSH, such a key is not used (authfile.c `sshkey_perm_ok`).
    Unprotected {
        path: PathBuf,
        mode: u32,
    },
}

impl Refusal {
    fn told(self) -> String {
        match self {
            Self::Missing(error) | Self::Unreadable(error) => error.to_string(),
            Self::Unprotected { path, mode } => {
                format!("its mode {mode:04o} lets other users read it; `chmod 600 {}`", path.display())
            }
        }
    }
}

fn open(path: &Path, uid: u32) -> Result<Identity, Refusal> {
    let name = path.display().to_string();
    let public = neighbour(path, ".pub");
    let certificate = neighbour(path, "-cert.pub");
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Refusal::Missing(error),
        _ => Refusal::Unreadable(error),
    };
    let (text, metadata) = match (bounded(path, KEY_MAX_BYTES), &public) {
        (Ok(read), _) => read,
        // The private half may live in the agent alone.
        (Err(error), Some(public)) if error.kind() == io::ErrorKind::NotFound => {
            let text = KeyText::Read(Secret::new(public.clone()));
            return Ok(Identity { name, text, certificate, public: Some(public.clone()), explicit: false });
        }
        (Err(error), _) => return Err(refused(error)),
    };
    let text = Secret::new(text);
    let mode = metadata.mode() & 0o7777;
    if metadata.uid() == uid && mode & 0o077 != 0 && !looks_public(text.expose()) {
        return Err(Refusal::Unprotected { path: path.to_owned(), mode });
    }
    Ok(Identity { name, text: KeyText::Read(text), public, certificate, explicit: false })
}

fn bounded(path: &Path, limit: u64) -> io::Result<(Vec<u8>, std::fs::Metadata)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut text = Vec::with_capacity(16 * 1024);
    file.take(limit + 1).read_to_end(&mut text)?;
    if text.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is over {} KiB", limit / 1024)));
    }
    Ok((text, metadata))
}

fn neighbour(path: &Path, suffix: &str) -> Option<Vec<u8>> {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    bounded(Path::new(&name), PUBLIC_MAX_BYTES).ok().map(|(text, _)| text)
}

/// Whether this is the text of a public key (RFC 4716, an OpenSSH `.pub` line, or PEM), and so no secret.
pub fn looks_public(text: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 7] = [
        b"ssh-",
        b"ecdsa-sha2-",
        b"sk-ssh-",
        b"sk-ecdsa-",
        b"---- BEGIN SSH2 PUBLIC KEY ----",
        b"-----BEGIN PUBLIC KEY-----",
        b"-----BEGIN RSA PUBLIC KEY-----",
    ];
    let text = text.trim_ascii_start();
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}
