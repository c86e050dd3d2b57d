//! The keywords of `ssh_config(5)` up to OpenSSH 10, the withdrawn ones and the distributions' own included: which are
//! honoured, which do not matter to one command on one host, and which are worth a warning. What is not in here is a
//! mistake.

use super::values;

/// One keyword.
#[derive(Debug)]
pub(super) struct Keyword {
    /// Its name as the manual writes it.
    pub(super) name: &'static str,
    /// What becomes of it.
    pub(super) treatment: Treatment,
}

/// What becomes of a keyword.
#[derive(Clone, Copy, Debug)]
pub(super) enum Treatment {
    /// `Settings` takes it.
    Honoured,
    /// Another name of that one.
    Alias(&'static str),
    /// It changes nothing here: its value is checked, and that is all.
    Moot(Value),
    /// It would change something, save with one of these values: its value is checked, and a warning says that it was
    /// ignored.
    Missing(Value, &'static [&'static str]),
}

/// What a value that is not used has to look like.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// `yes` or `no`.
    Flag,
    /// One of these words, in any case; `yes` and `no` in their other spellings as well.
    Word(&'static [&'static str]),
    /// A number that is not negative.
    Count,
    /// A time.
    Time,
    /// One word.
    Text,
    /// Anything.
    Any,
}

use Treatment::{Alias, Honoured, Missing, Moot};
use Value::{Any, Count, Flag, Text, Time, Word};

impl Value {
    /// The problem with these words, if there is one.
    pub(super) fn check(self, arguments: &[String]) -> Result<(), String> {
        match self {
            Any => Ok(()),
            Text => values::one(arguments).map(drop),
            Flag => values::yes_no(values::one(arguments)?).map(drop),
            Count => values::count(values::one(arguments)?).map(drop),
            Time => values::seconds(values::one(arguments)?).map(drop),
            Word(words) => {
                let word = values::one(arguments)?;
                let known = words.iter().any(|known| word.eq_ignore_ascii_case(known));
                if known { Ok(()) } else { Err(format!("`{word}` is none of `{}`", words.join("`, `"))) }
            }
        }
    }
}

/// The keyword of this lower-case name.
pub(super) fn find(lower: &str) -> Option<Keyword> {
    let at = TABLE.binary_search_by(|(name, _)| name.to_ascii_lowercase().as_str().cmp(lower)).ok()?;
    Some(Keyword { name: TABLE[at].0, treatment: TABLE[at].1 })
}

const ASK: &[&str] = &["yes", "true", "no", "false", "ask"];
const CANONICALIZE: &[&str] = &["yes", "true", "no", "false", "always"];
const CONTROL_MASTER: &[&str] = &["yes", "true", "no", "false", "auto", "ask", "autoask"];
const HASHES: &[&str] = &["md5", "sha1", "sha256", "sha384", "sha512"];
#[rustfmt::skip]
const LOG_LEVELS: &[&str] = &[
    "quiet", "fatal", "error", "info", "verbose", "debug", "debug1", "debug2", "debug3",
];
const OFF: &[&str] = &["no", "false"];
const NONE: &[&str] = &["none"];
const SESSIONS: &[&str] = &["none", "subsystem", "default"];
const TTY: &[&str] = &["yes", "true", "no", "false", "force", "auto"];
const TUNNELS: &[&str] = &["ethernet", "point-to-point", "yes", "true", "no", "false"];

/// In the order of their lower-case forms.
#[rustfmt::skip]
const TABLE: &[(&str, Treatment)] = &[
    ("AddKeysToAgent", Moot(Any)),
    ("AddressFamily", Honoured),
    ("AFSTokenPassing", Moot(Any)),
    ("BatchMode", Moot(Flag)),
    ("BindAddress", Honoured),
    ("BindInterface", Honoured),
    ("CanonicalDomains", Moot(Any)),
    ("CanonicalizeFallbackLocal", Moot(Flag)),
    ("CanonicalizeHostname", Missing(Word(CANONICALIZE), OFF)),
    ("CanonicalizeMaxDots", Moot(Count)),
    ("CanonicalizePermittedCNAMEs", Missing(Any, NONE)),
    ("CASignatureAlgorithms", Missing(Text, &[])),
    ("CertificateFile", Honoured),
    ("ChallengeResponseAuthentication", Alias("kbdinteractiveauthentication")),
    ("ChannelTimeout", Moot(Any)),
    ("CheckHostIP", Moot(Flag)),
    ("Cipher", Moot(Any)),
    ("Ciphers", Honoured),
    ("ClearAllForwardings", Moot(Flag)),
    ("Compression", Honoured),
    ("CompressionLevel", Moot(Any)),
    ("ConnectionAttempts", Honoured),
    ("ConnectTimeout", Honoured),
    ("ControlMaster", Moot(Word(CONTROL_MASTER))),
    ("ControlPath", Moot(Text)),
    ("ControlPersist", Moot(Text)),
    ("DSAAuthentication", Alias("pubkeyauthentication")),
    ("DynamicForward", Moot(Text)),
    ("EnableEscapeCommandline", Moot(Flag)),
    ("EnableSSHKeysign", Moot(Flag)),
    ("EscapeChar", Moot(Text)),
    ("ExitOnForwardFailure", Moot(Flag)),
    ("FallBackToRsh", Moot(Any)),
    ("FingerprintHash", Moot(Word(HASHES))),
    ("ForkAfterAuthentication", Moot(Flag)),
    ("ForwardAgent", Moot(Text)),
    ("ForwardX11", Moot(Flag)),
    ("ForwardX11Timeout", Moot(Time)),
    ("ForwardX11Trusted", Moot(Flag)),
    ("GatewayPorts", Moot(Flag)),
    ("GlobalKnownHostsFile", Honoured),
    ("GlobalKnownHostsFile2", Moot(Any)),
    ("GSSAPIAuthentication", Moot(Flag)),
    ("GSSAPIClientIdentity", Moot(Any)),
    ("GSSAPIDelegateCredentials", Moot(Any)),
    ("GSSAPIKexAlgorithms", Moot(Any)),
    ("GSSAPIKeyExchange", Moot(Any)),
    ("GSSAPIRenewalForcesRekey", Moot(Any)),
    ("GSSAPIServerIdentity", Moot(Any)),
    ("GSSAPITrustDns", Moot(Any)),
    ("HashKnownHosts", Honoured),
    ("Host", Honoured),
    ("HostbasedAcceptedAlgorithms", Moot(Text)),
    ("HostbasedAuthentication", Missing(Flag, OFF)),
    ("HostbasedKeyTypes", Moot(Text)),
    ("HostKeyAlgorithms", Honoured),
    ("HostKeyAlias", Honoured),
    ("HostName", Honoured),
    ("IdentitiesOnly", Honoured),
    ("IdentityAgent", Honoured),
    ("IdentityFile", Honoured),
    ("IdentityFile2", Alias("identityfile")),
    ("IgnoreUnknown", Honoured),
    ("Include", Honoured),
    ("IPQoS", Moot(Any)),
    ("KbdInteractiveAuthentication", Honoured),
    ("KbdInteractiveDevices", Moot(Text)),
    ("KeepAlive", Moot(Flag)),
    ("KerberosAuthentication", Moot(Any)),
    ("KerberosTgtPassing", Moot(Any)),
    ("KexAlgorithms", Honoured),
    ("KnownHostsCommand", Honoured),
    ("LocalCommand", Moot(Any)),
    ("LocalForward", Moot(Any)),
    ("LogLevel", Moot(Word(LOG_LEVELS))),
    ("LogVerbose", Moot(Any)),
    ("MACs", Honoured),
    ("Match", Honoured),
    ("NoHostAuthenticationForLocalhost", Missing(Flag, OFF)),
    ("NumberOfPasswordPrompts", Moot(Count)),
    ("ObscureKeystrokeTiming", Moot(Any)),
    ("PasswordAuthentication", Honoured),
    ("PermitLocalCommand", Moot(Flag)),
    ("PermitRemoteOpen", Moot(Any)),
    ("PKCS11Provider", Missing(Text, NONE)),
    ("Port", Honoured),
    ("PreferredAuthentications", Honoured),
    ("Protocol", Moot(Any)),
    ("ProxyCommand", Honoured),
    ("ProxyJump", Honoured),
    ("ProxyUseFdpass", Missing(Flag, OFF)),
    ("PubkeyAcceptedAlgorithms", Honoured),
    ("PubkeyAcceptedKeyTypes", Alias("pubkeyacceptedalgorithms")),
    ("PubkeyAuthentication", Honoured),
    ("RefuseConnection", Honoured),
    ("RekeyLimit", Honoured),
    ("RemoteCommand", Moot(Any)),
    ("RemoteForward", Moot(Any)),
    ("RequestTTY", Moot(Word(TTY))),
    ("RequiredRSASize", Missing(Count, &[])),
    ("RevokedHostKeys", Honoured),
    ("RhostsAuthentication", Moot(Any)),
    ("RhostsRSAAuthentication", Moot(Any)),
    ("RSAAuthentication", Moot(Any)),
    ("SecurityKeyProvider", Missing(Text, &["none", "internal"])),
    ("SendEnv", Honoured),
    ("ServerAliveCountMax", Honoured),
    ("ServerAliveInterval", Honoured),
    ("SessionType", Moot(Word(SESSIONS))),
    ("SetEnv", Honoured),
    ("SkeyAuthentication", Alias("kbdinteractiveauthentication")),
    ("SmartcardDevice", Moot(Any)),
    ("StdinNull", Moot(Flag)),
    ("StreamLocalBindMask", Moot(Text)),
    ("StreamLocalBindUnlink", Moot(Flag)),
    ("StrictHostKeyChecking", Honoured),
    ("SyslogFacility", Moot(Text)),
    ("Tag", Honoured),
    ("TCPKeepAlive", Moot(Flag)),
    ("TISAuthentication", Alias("kbdinteractiveauthentication")),
    ("Tunnel", Moot(Word(TUNNELS))),
    ("TunnelDevice", Moot(Text)),
    ("UpdateHostKeys", Moot(Word(ASK))),
    ("UseKeychain", Moot(Flag)),
    ("UsePrivilegedPort", Moot(Any)),
    ("User", Honoured),
    ("UserKnownHostsFile", Honoured),
    ("UserKnownHostsFile2", Moot(Any)),
    ("UseRoaming", Moot(Any)),
    ("UseRsh", Moot(Any)),
    ("VerifyHostKeyDNS", Missing(Word(ASK), OFF)),
    ("VersionAddendum", Moot(Any)),
    ("VisualHostKey", Moot(Flag)),
    ("WarnWeakCrypto", Moot(Any)),
    ("XAuthLocation", Moot(Text)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_every_name_is_found() {
        assert!(TABLE.is_sorted_by(|(a, _), (b, _)| a.to_ascii_lowercase() < b.to_ascii_lowercase()));
        for (name, treatment) in TABLE {
            assert_eq!(find(&name.to_ascii_lowercase()).unwrap().name, *name);
            if let Alias(other) = treatment {
                assert!(matches!(find(other).unwrap().treatment, Honoured), "{name}");
            }
        }
        assert!(find("frobnicate").is_none());
    }
}
