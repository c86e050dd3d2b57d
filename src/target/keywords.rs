//! The keywords of `ssh_config(5)` up to OpenSSH 10, the withdrawn ones and the distributions' own included: what is in
//! here and not honoured brings a warning, what is not in here is a mistake.

/// One keyword.
pub(super) struct Keyword {
    /// Its name as the manual writes it.
    pub(super) name: &'static str,
    /// Going on without it would lead somewhere else, or trust what must not be trusted: refused, and why.
    pub(super) refused: Option<&'static str>,
}

/// The keyword of this lower-case name.
pub(super) fn find(lower: &str) -> Option<Keyword> {
    let at = NAMES.binary_search_by(|name| name.to_ascii_lowercase().as_str().cmp(lower)).ok()?;
    let refused = match lower {
        "proxycommand" | "proxyjump" => Some("not supported yet, and without it the connection would take another way"),
        "revokedhostkeys" => Some("not supported yet, and without it a revoked key would be trusted"),
        _ => None,
    };
    Some(Keyword { name: NAMES[at], refused })
}

/// In the order of their lower-case forms.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "AddKeysToAgent", "AddressFamily", "AFSTokenPassing", "BatchMode", "BindAddress", "BindInterface",
    "CanonicalDomains", "CanonicalizeFallbackLocal", "CanonicalizeHostname", "CanonicalizeMaxDots",
    "CanonicalizePermittedCNAMEs", "CASignatureAlgorithms", "CertificateFile", "ChallengeResponseAuthentication",
    "ChannelTimeout", "CheckHostIP", "Cipher", "Ciphers", "ClearAllForwardings", "Compression", "CompressionLevel",
    "ConnectionAttempts", "ConnectTimeout", "ControlMaster", "ControlPath", "ControlPersist", "DSAAuthentication",
    "DynamicForward", "EnableEscapeCommandline", "EnableSSHKeysign", "EscapeChar", "ExitOnForwardFailure",
    "FallBackToRsh", "FingerprintHash", "ForkAfterAuthentication", "ForwardAgent", "ForwardX11", "ForwardX11Timeout",
    "ForwardX11Trusted", "GatewayPorts", "GlobalKnownHostsFile", "GlobalKnownHostsFile2", "GSSAPIAuthentication",
    "GSSAPIClientIdentity", "GSSAPIDelegateCredentials", "GSSAPIKexAlgorithms", "GSSAPIKeyExchange",
    "GSSAPIRenewalForcesRekey", "GSSAPIServerIdentity", "GSSAPITrustDns", "HashKnownHosts", "Host",
    "HostbasedAcceptedAlgorithms", "HostbasedAuthentication", "HostbasedKeyTypes", "HostKeyAlgorithms", "HostKeyAlias",
    "HostName", "IdentitiesOnly", "IdentityAgent", "IdentityFile", "IdentityFile2", "IgnoreUnknown", "Include", "IPQoS",
    "KbdInteractiveAuthentication", "KbdInteractiveDevices", "KeepAlive", "KerberosAuthentication",
    "KerberosTgtPassing", "KexAlgorithms", "KnownHostsCommand", "LocalCommand", "LocalForward", "LogLevel",
    "LogVerbose", "MACs", "Match", "NoHostAuthenticationForLocalhost", "NumberOfPasswordPrompts",
    "ObscureKeystrokeTiming", "PasswordAuthentication", "PermitLocalCommand", "PermitRemoteOpen", "PKCS11Provider",
    "Port", "PreferredAuthentications", "Protocol", "ProxyCommand", "ProxyJump", "ProxyUseFdpass",
    "PubkeyAcceptedAlgorithms", "PubkeyAcceptedKeyTypes", "PubkeyAuthentication", "RefuseConnection", "RekeyLimit",
    "RemoteCommand", "RemoteForward", "RequestTTY", "RequiredRSASize", "RevokedHostKeys", "RhostsAuthentication",
    "RhostsRSAAuthentication", "RSAAuthentication", "SecurityKeyProvider", "SendEnv", "ServerAliveCountMax",
    "ServerAliveInterval", "SessionType", "SetEnv", "SkeyAuthentication", "SmartcardDevice", "StdinNull",
    "StreamLocalBindMask", "StreamLocalBindUnlink", "StrictHostKeyChecking", "SyslogFacility", "Tag", "TCPKeepAlive",
    "TISAuthentication", "Tunnel", "TunnelDevice", "UpdateHostKeys", "UseKeychain", "UsePrivilegedPort", "User",
    "UserKnownHostsFile", "UserKnownHostsFile2", "UseRoaming", "UseRsh", "VerifyHostKeyDNS", "VersionAddendum",
    "VisualHostKey", "WarnWeakCrypto", "XAuthLocation",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_every_name_is_found() {
        assert!(NAMES.is_sorted_by(|a, b| a.to_ascii_lowercase() < b.to_ascii_lowercase()));
        for name in NAMES {
            assert_eq!(find(&name.to_ascii_lowercase()).unwrap().name, *name);
        }
        assert!(find("frobnicate").is_none());
    }
}
