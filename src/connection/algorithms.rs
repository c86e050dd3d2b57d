//! The lists of algorithms: ours, changed as `ssh_config` says (`+` appends, `-` removes, `^` puts in front, else replaces).

use russh::keys::Algorithm;
use russh::{cipher, kex, mac};

use crate::errors::Fault;
use crate::target::known_hosts::wildcard;

/// One list as configured, applied to ours. `all` is what can be had at all, `parse` reads a name, `name` writes one.
///
/// As in OpenSSH, names may be patterns in a `-` list, and what cannot be had is left out of the others; nothing left is an error.
fn apply<T: Clone + PartialEq>(
    keyword: &str,
    ours: &[T],
    configured: Option<&str>,
    all: &[T],
    name: impl Fn(&T) -> String,
) -> Result<Vec<T>, Fault> {
    let Some(configured) = configured else { return Ok(ours.to_vec()) };
    let (sign, list) = match configured.chars().next() {
        Some(sign @ ('+' | '-' | '^')) => (Some(sign), &configured[1..]),
        _ => (None, configured),
    };
    let patterns: Vec<&str> = list.split(',').filter(|word| !word.is_empty()).collect();
    let named = || {
        let mut found: Vec<T> = Vec::new();
        for pattern in &patterns {
            for item in all.iter().filter(|item| matches(pattern, &name(item))) {
                if !found.contains(item) {
                    found.push(item.clone());
                }
            }
        }
        found
    };
    let without = |taken: &[T]| ours.iter().filter(|item| !taken.contains(item)).cloned().collect::<Vec<_>>();
    let result = match sign {
        None => named(),
        Some('+') => [ours.to_vec(), named().into_iter().filter(|item| !ours.contains(item)).collect()].concat(),
        Some('-') => without(&named()),
        Some(_) => [named(), without(&named())].concat(),
    };
    if result.is_empty() {
        let known: Vec<String> = all.iter().map(name).collect();
        let problem = format!("nothing in `{configured}` can be had here; there is {}", known.join(","));
        return Err(Fault::ConfigInvalid { place: keyword.to_owned(), problem });
    }
    Ok(result)
}

/// `*` and `?` as in `ssh_config(5)`, PATTERNS.
fn matches(pattern: &str, text: &str) -> bool {
    wildcard(pattern.as_bytes(), text.as_bytes())
}

/// `KexAlgorithms`. The pseudo-algorithms that announce extensions always stand at the end.
pub(super) fn kex_list(configured: Option<&str>) -> Result<Vec<kex::Name>, Fault> {
    const OURS: [kex::Name; 9] = [
        kex::MLKEM768X25519_SHA256,
        kex::CURVE25519,
        kex::CURVE25519_PRE_RFC_8731,
        kex::ECDH_SHA2_NISTP256,
        kex::ECDH_SHA2_NISTP384,
        kex::ECDH_SHA2_NISTP521,
        kex::DH_GEX_SHA256,
        kex::DH_G16_SHA512,
        kex::DH_G14_SHA256,
    ];
    const MORE: [kex::Name; 6] = [
        kex::DH_G18_SHA512,
        kex::DH_G17_SHA512,
        kex::DH_G15_SHA512,
        kex::DH_GEX_SHA1,
        kex::DH_G14_SHA1,
        kex::DH_G1_SHA1,
    ];
    let all = [&OURS[..], &MORE[..]].concat();
    let mut list = apply("KexAlgorithms", &OURS, configured, &all, |name| name.as_ref().to_owned())?;
    list.extend([kex::EXTENSION_SUPPORT_AS_CLIENT, kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT]);
    Ok(list)
}

/// `Ciphers`, by measured speed.
pub(super) fn ciphers(configured: Option<&str>) -> Result<Vec<cipher::Name>, Fault> {
    const OURS: [cipher::Name; 6] = [
        cipher::AES_128_GCM,
        cipher::AES_256_GCM,
        cipher::CHACHA20_POLY1305,
        cipher::AES_256_CTR,
        cipher::AES_192_CTR,
        cipher::AES_128_CTR,
    ];
    const MORE: [cipher::Name; 3] = [cipher::AES_256_CBC, cipher::AES_192_CBC, cipher::AES_128_CBC];
    apply("Ciphers", &OURS, configured, &[&OURS[..], &MORE[..]].concat(), |name| name.as_ref().to_owned())
}

/// `MACs`.
pub(super) fn macs(configured: Option<&str>) -> Result<Vec<mac::Name>, Fault> {
    const OURS: [mac::Name; 4] = [mac::HMAC_SHA512_ETM, mac::HMAC_SHA256_ETM, mac::HMAC_SHA512, mac::HMAC_SHA256];
    const MORE: [mac::Name; 2] = [mac::HMAC_SHA1_ETM, mac::HMAC_SHA1];
    apply("MACs", &OURS, configured, &[&OURS[..], &MORE[..]].concat(), |name| name.as_ref().to_owned())
}

/// `HostKeyAlgorithms`: `ours` is the order by what is known of the host, which a configured list replaces.
pub(super) fn host_keys(ours: &[Algorithm], configured: Option<&str>) -> Result<Vec<Algorithm>, Fault> {
    let mut all = ours.to_vec();
    all.push(Algorithm::Rsa { hash: None });
    apply("HostKeyAlgorithms", ours, configured, &all, |algorithm| algorithm.as_str().to_owned())
}

/// `PubkeyAcceptedAlgorithms`: whether keys of this algorithm may be used.
pub(super) fn pubkey_accepted(algorithm: &str, configured: Option<&str>) -> bool {
    let Some(configured) = configured else { return true };
    let (sign, list) = match configured.chars().next() {
        Some(sign @ ('+' | '-' | '^')) => (Some(sign), &configured[1..]),
        _ => (None, configured),
    };
    let named = list.split(',').any(|pattern| matches(pattern, algorithm));
    match sign {
        None => named,
        Some('-') => !named,
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(configured: &str) -> Vec<String> {
        ciphers(Some(configured)).unwrap().iter().map(|name| name.as_ref().to_owned()).collect()
    }

    #[test]
    fn a_plain_list_replaces_ours_in_its_order() {
        assert_eq!(names("aes256-ctr,nonsense,aes128-ctr"), ["aes256-ctr", "aes128-ctr"]);
    }

    #[test]
    fn plus_minus_and_caret_change_ours() {
        assert_eq!(names("+aes128-cbc").last().unwrap(), "aes128-cbc");
        assert!(!names("-*gcm*").iter().any(|name| name.contains("gcm")));
        assert_eq!(names("^aes128-ctr")[0], "aes128-ctr");
        assert_eq!(names("^aes128-ctr").len(), 6);
    }

    #[test]
    fn nothing_left_is_an_error_that_says_what_there_is() {
        let fault = ciphers(Some("arcfour")).unwrap_err();
        assert!(fault.to_string().contains("aes128-gcm@openssh.com"), "{fault}");
    }

    #[test]
    fn extensions_are_announced_whatever_is_configured() {
        let list = kex_list(Some("curve25519-sha256")).unwrap();
        assert_eq!(list.len(), 3);
    }

    #[test]
    fn key_algorithms_are_matched_as_patterns() {
        assert!(pubkey_accepted("ssh-ed25519", None));
        assert!(!pubkey_accepted("ssh-ed25519", Some("rsa-sha2-*")));
        assert!(!pubkey_accepted("ssh-rsa", Some("-ssh-rsa*")));
        assert!(pubkey_accepted("ssh-ed25519", Some("+ssh-rsa")));
    }

    #[test]
    fn a_pattern_full_of_stars_ends() {
        assert!(!matches(&"*a".repeat(8), &"b".repeat(40)));
    }
}
