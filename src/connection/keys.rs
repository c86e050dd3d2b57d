//! Private keys from their text, in every format that russh reads, and in words about those that it does not.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use russh::keys::ssh_key;
use russh::keys::{Error, PrivateKey, PublicKey, decode_secret_key, parse_public_key_base64};
use zeroize::Zeroizing;

use crate::errors::Fault;
use crate::secret::Secret;
use crate::target::identity::looks_public;

/// Why a text gave no private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyProblem {
    /// It is encrypted, and no passphrase was given.
    NeedsPassphrase,
    /// It is encrypted, and not with this passphrase.
    WrongPassphrase,
    /// It is a public key: an agent may hold the private one.
    Public,
    /// It is of no use, and this is why.
    Malformed(String),
}

impl KeyProblem {
    /// The fault, for the key of this name (a path, or the words of its source).
    pub fn fault(self, name: &str) -> Fault {
        let problem = match self {
            Self::NeedsPassphrase => return Fault::PassphraseRequired { path: name.to_owned() },
            Self::WrongPassphrase => return Fault::PassphraseWrong { path: name.to_owned() },
            Self::Public => "it is a public key, and no agent holds its private key".to_owned(),
            Self::Malformed(problem) => problem,
        };
        Fault::KeyMalformed { source_name: name.to_owned(), problem }
    }
}

/// What kind of text it is, by its first line that says so.
enum Format<'a> {
    OpenSsh,
    /// PKCS#1, RFC 8017 appendix A.1.2.
    Rsa,
    /// SEC1, RFC 5915.
    Ec,
    /// PKCS#8, RFC 5208.
    Pkcs8,
    EncryptedPkcs8,
    Ppk,
    Other(&'a str),
}

/// The private key in `text`: OpenSSH, PKCS#1, PKCS#8, SEC1 or PuTTY, plain or encrypted. Windows line ends, a missing
/// last newline and text around the key do no harm; a passphrase that is not needed is not used.
pub fn decode(text: &[u8], passphrase: Option<&Secret>) -> Result<PrivateKey, KeyProblem> {
    if looks_public(text) {
        return Err(KeyProblem::Public);
    }
    let text = tidy(text).ok_or_else(|| KeyProblem::Malformed("it is not text".to_owned()))?;
    let format = format(&text).ok_or_else(|| KeyProblem::Malformed("there is no private key in it".to_owned()))?;
    let dek = text
        .lines()
        .find_map(|line| line.strip_prefix("DEK-Info: "))
        .map(|info| info.split(',').next().unwrap_or(info));
    let encrypted = match (&format, dek) {
        (Format::Other(label), _) => return Err(KeyProblem::Malformed(unsupported(label))),
        (Format::Rsa, Some("AES-128-CBC")) | (Format::EncryptedPkcs8, None) => true,
        (Format::Rsa | Format::Ec, Some(cipher)) => {
            let label = if matches!(format, Format::Rsa) { "RSA PRIVATE KEY" } else { "EC PRIVATE KEY" };
            return Err(KeyProblem::Malformed(format!(
                "a PEM `{label}` encrypted with {cipher} is not supported; `ssh-keygen -p -f FILE` rewrites it as an OpenSSH key"
            )));
        }
        (Format::OpenSsh, _) => openssh(&text).is_some_and(|key| key.is_encrypted()),
        (Format::Ppk, _) => text.lines().any(|line| line.starts_with("Encryption: ") && line != "Encryption: none"),
        _ => false,
    };
    if matches!(format, Format::EncryptedPkcs8) && body(&text).is_some_and(|body| !is_pbes2_with_aes(&body)) {
        return Err(KeyProblem::Malformed(
            "it is a PKCS#8 key in an encryption other than PBES2 with AES, which is not supported; \
             `ssh-keygen -p -f FILE` rewrites it as an OpenSSH key"
                .to_owned(),
        ));
    }
    if !encrypted {
        return decode_secret_key(&text, None).map_err(|error| malformed(&error));
    }
    let passphrase = passphrase.ok_or(KeyProblem::NeedsPassphrase)?;
    // Nobody can have typed another one: ssh-keygen and PuTTY take text.
    let passphrase = passphrase.expose_str().map_err(|_| KeyProblem::WrongPassphrase)?;
    let whole = match format {
        Format::Rsa | Format::EncryptedPkcs8 => body(&text).is_some_and(|body| encrypted_body_is_whole(&format, &body)),
        _ => true,
    };
    decode_secret_key(&text, Some(passphrase)).map_err(|error| if whole { judge(&error) } else { malformed(&error) })
}

/// The public half of a key, without a passphrase wherever the format shows it: every plain private key, encrypted
/// OpenSSH and PuTTY keys, and public keys (a `.pub` line, RFC 4716). `None` where it cannot be told.
pub fn public_of(text: &[u8]) -> Option<PublicKey> {
    let text = tidy(text)?;
    if looks_public(text.as_bytes()) {
        return public_line(&text);
    }
    match format(&text)? {
        Format::OpenSsh => openssh(&text).map(|key| key.public_key().clone()),
        Format::Ppk => ppk_public(&text),
        _ => decode(text.as_bytes(), None).ok().map(|key| key.public_key().clone()),
    }
}

/// UTF-8 with `\n` line ends, no byte order mark, and no blanks around the lines; but PuTTY's lines may end with one,
/// which counts (`Comment: `).
fn tidy(text: &[u8]) -> Option<Zeroizing<String>> {
    let text = str::from_utf8(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)).ok()?;
    let mut out = Zeroizing::new(String::with_capacity(text.len() + 1));
    let ppk = text.trim_start().starts_with("PuTTY-");
    for line in text.trim().lines() {
        out.push_str(if ppk { line } else { line.trim() });
        out.push('\n');
    }
    Some(out)
}

fn format(text: &str) -> Option<Format<'_>> {
    text.lines().find_map(|line| {
        if line.starts_with("PuTTY-User-Key-File-") {
            return Some(match line.as_bytes().get(20) {
                Some(b'2' | b'3') => Format::Ppk,
                _ => Format::Other(line),
            });
        }
        if line.starts_with("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY") || line.starts_with("SSH PRIVATE KEY FILE FORMAT")
        {
            return Some(Format::Other(line));
        }
        let label = line.strip_prefix("-----BEGIN ")?.strip_suffix("-----")?;
        Some(match label {
            "OPENSSH PRIVATE KEY" => Format::OpenSsh,
            "RSA PRIVATE KEY" => Format::Rsa,
            "EC PRIVATE KEY" => Format::Ec,
            "PRIVATE KEY" => Format::Pkcs8,
            "ENCRYPTED PRIVATE KEY" => Format::EncryptedPkcs8,
            // `openssl ecparam` writes them before the key.
            "EC PARAMETERS" => return None,
            other => Format::Other(other),
        })
    })
}

fn unsupported(label: &str) -> String {
    match label {
        "DSA PRIVATE KEY" => {
            "DSA keys are not supported: they are too weak, and servers no longer take them".to_owned()
        }
        "CERTIFICATE" => "it is an X.509 certificate, not a key".to_owned(),
        label if label.starts_with("PuTTY-") => {
            "this version of the PuTTY format is not supported; PuTTYgen saves it as version 3".to_owned()
        }
        label if label.starts_with("----") => {
            "ssh.com keys are not supported; `ssh-keygen -i -f FILE` converts one".to_owned()
        }
        label if label.starts_with("SSH PRIVATE") => "it is a key for SSH version 1".to_owned(),
        label => format!("`{label}` is not a private key"),
    }
}

/// The base64 between the first BEGIN and its END, without header lines.
fn body(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let lines =
        text.lines().skip_while(|line| !line.starts_with("-----BEGIN ") || line.contains("EC PARAMETERS")).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("-----END ")).filter(|line| !line.contains(':'));
    let base64: Zeroizing<String> = Zeroizing::new(lines.collect());
    BASE64.decode(base64.as_bytes()).ok().map(Zeroizing::new)
}

fn openssh(text: &str) -> Option<PrivateKey> {
    PrivateKey::from_bytes(&body(text)?).ok()
}

/// The object identifiers of PBES2 (RFC 8018 appendix A.4) and of AES (NIST, 2.16.840.1.101.3.4.1), looked for where the
/// algorithm of an encrypted PKCS#8 key is written.
fn is_pbes2_with_aes(body: &[u8]) -> bool {
    const PBES2: [u8; 11] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
    const AES: [u8; 10] = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01];
    let head = &body[..body.len().min(200)];
    let holds = |oid: &[u8]| head.windows(oid.len()).any(|window| window == oid);
    holds(&PBES2) && holds(&AES)
}

/// Whether what stands before the decryption is sound, so that a failure after it is the passphrase's: whole cipher
/// blocks for PKCS#1, one complete DER SEQUENCE (X.690 section 8.1.3) for PKCS#8.
fn encrypted_body_is_whole(format: &Format<'_>, body: &[u8]) -> bool {
    if matches!(format, Format::Rsa) {
        return !body.is_empty() && body.len().is_multiple_of(16);
    }
    let Some((0x30, rest)) = body.split_first().map(|(tag, rest)| (*tag, rest)) else { return false };
    match rest.split_first() {
        Some((&short @ 0..=0x7f, content)) => content.len() == usize::from(short),
        Some((&long @ 0x81..=0x84, rest)) => {
            let count = usize::from(long - 0x80);
            let length = rest.iter().take(count).fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
            rest.len().checked_sub(count) == Some(length)
        }
        _ => false,
    }
}

/// A failure to open an encrypted key whose outside is sound. Only what is known not to be the passphrase is called
/// malformed.
fn judge(error: &Error) -> KeyProblem {
    match error {
        Error::SshKey(ssh_key::Error::Crypto) => KeyProblem::WrongPassphrase,
        // The variants belong to crates that are not ours to name.
        Error::SshKey(_) if error.to_string().contains("incorrect MAC") => KeyProblem::WrongPassphrase,
        Error::SshKey(_) | Error::SshEncoding(_) | Error::Decode(_) | Error::UnknownAlgorithm(_) => malformed(error),
        Error::Pkcs8(_) if ["unsupported", "parameters"].iter().any(|word| error.to_string().contains(word)) => {
            malformed(error)
        }
        _ => KeyProblem::WrongPassphrase,
    }
}

fn malformed(error: &Error) -> KeyProblem {
    KeyProblem::Malformed(match error {
        Error::Decode(_) => "its base64 is damaged".to_owned(),
        Error::UnknownAlgorithm(oid) => format!("keys of the algorithm {oid} are not supported"),
        other => format!("it cannot be read ({other})"),
    })
}

fn public_line(text: &str) -> Option<PublicKey> {
    if text.starts_with("---- BEGIN") {
        // RFC 4716: header lines hold a colon, and go on where they end with a backslash.
        let mut header = false;
        let lines = text.lines().skip(1).take_while(|line| !line.starts_with("---- END"));
        let lines = lines.filter(|line| {
            let part_of_header = header || line.contains(':');
            header = part_of_header && line.ends_with('\\');
            !part_of_header
        });
        return parse_public_key_base64(&lines.collect::<String>()).ok();
    }
    let mut words = text.lines().next()?.split_whitespace();
    let (_, key) = (words.next()?, words.next()?);
    parse_public_key_base64(key).ok()
}

fn ppk_public(text: &str) -> Option<PublicKey> {
    let mut lines = text.lines();
    let count = lines.find_map(|line| line.strip_prefix("Public-Lines: "))?.parse().ok()?;
    parse_public_key_base64(&lines.take(count).collect::<String>()).ok()
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
