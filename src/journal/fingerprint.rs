//! What a request comes to, in 32 bytes: the same for two requests exactly where the same would happen.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::effect::Effect;
use crate::model::operation::{Fingerprint, KeyHash, OperationId, OperationKey, hex};

/// Everything that changes what happens. What only changes how it is waited for or told is not in it: the form of the output, retries,
/// `--wait`, `--timeout`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request<'a> {
    /// COMMAND.
    pub command: Command<'a>,
    /// `--script`.
    pub script: Option<Script<'a>>,
    /// `--cwd`.
    pub cwd: Option<&'a [u8]>,
    /// `--env`, in any order: a name has one value.
    pub env: &'a [(&'a str, &'a [u8])],
    /// The names of `--secret-env`, in any order. A secret is not in it: it may be a new one each time.
    pub secret_env: &'a [&'a str],
    /// `--login`.
    pub login: bool,
    /// Whom it runs as, and how one becomes that; none for whoever logs in.
    pub elevation: Option<Elevation<'a>>,
    /// SHA-256 of what standard input holds; none where it is closed.
    pub stdin_sha256: Option<[u8; 32]>,
    /// `--effect`.
    pub effect: Effect,
}

/// COMMAND, as it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Command<'a> {
    /// The remote shell's text.
    Text(&'a [u8]),
    /// An argument vector.
    Argv(&'a [&'a [u8]]),
    /// None.
    #[default]
    Nothing,
}

/// `--script`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script<'a> {
    /// All of it.
    pub bytes: &'a [u8],
    /// What runs it, with its argument, as in a `#!` line.
    pub interpreter: &'a [u8],
}

/// How one becomes another user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elevation<'a> {
    /// `sudo`, `sudo-direct` or `su`.
    pub means: &'a str,
    /// `--as`.
    pub user: &'a str,
}

impl Request<'_> {
    /// Its fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_digest(Sha256::digest(self.canonical_bytes()).into())
    }

    /// One text for one request: each field has a place, each value its length before it, each list its count.
    fn canonical_bytes(&self) -> Vec<u8> {
        let Self { command, script, cwd, env, secret_env, login, elevation, stdin_sha256, effect } = *self;
        let mut out = Canonical(Vec::new());
        out.value(b"ssh-cli request 1");
        match command {
            Command::Nothing => out.count(0),
            Command::Text(text) => {
                out.count(1);
                out.value(text);
            }
            Command::Argv(words) => {
                out.count(2);
                out.list(words.iter().copied());
            }
        }
        out.option(script, |out, script| {
            out.value(script.bytes);
            out.value(script.interpreter);
        });
        out.option(cwd, Canonical::value);
        let env: BTreeMap<&str, &[u8]> = env.iter().copied().collect();
        out.count(env.len());
        for (name, value) in env {
            out.value(name.as_bytes());
            out.value(value);
        }
        let mut secret_env = secret_env.to_vec();
        secret_env.sort_unstable();
        out.list(secret_env.iter().map(|name| name.as_bytes()));
        out.count(usize::from(login));
        out.option(elevation, |out, elevation| {
            out.value(elevation.means.as_bytes());
            out.value(elevation.user.as_bytes());
        });
        out.option(stdin_sha256, |out, digest| out.value(&digest));
        out.value(effect.as_str().as_bytes());
        out.0
    }
}

struct Canonical(Vec<u8>);

impl Canonical {
    fn count(&mut self, count: usize) {
        self.0.extend_from_slice(&(count as u64).to_be_bytes());
    }

    fn value(&mut self, value: &[u8]) {
        self.count(value.len());
        self.0.extend_from_slice(value);
    }

    fn list<'v>(&mut self, values: impl ExactSizeIterator<Item = &'v [u8]>) {
        self.count(values.len());
        values.for_each(|value| self.value(value));
    }

    fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.count(usize::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// What a key is called in remote paths: the first half of SHA-256 over `op/v1`, NUL and the key.
pub fn key_hash(key: &OperationKey) -> KeyHash {
    let digest = Sha256::new().chain_update(b"op/v1\0").chain_update(key.as_str()).finalize();
    KeyHash::of_digest(digest.into())
}

/// What an operation is called in our own tables.
pub(super) fn operation_hash(operation: &OperationId) -> String {
    let mut out = Canonical(Vec::new());
    out.value(b"ssh-cli operation 1");
    out.value(operation.target.as_str().as_bytes());
    out.value(operation.key.as_str().as_bytes());
    hex(&Sha256::digest(out.0))
}

/// What a call is called in our own tables, whatever its key: the same request to the same account.
pub(super) fn call_hash(operation: &OperationId, fingerprint: &Fingerprint) -> String {
    let mut out = Canonical(Vec::new());
    out.value(b"ssh-cli call 1");
    out.value(operation.target.as_str().as_bytes());
    out.value(fingerprint.as_str().as_bytes());
    hex(&Sha256::digest(out.0))
}

/// What a row says, chained to the row before.
pub(super) fn row_sum(before: &str, operation: &str, numbers: [u64; 3], kind: &str, json: &str) -> String {
    let mut out = Canonical(Vec::new());
    out.value(before.as_bytes());
    out.value(operation.as_bytes());
    for number in numbers {
        out.value(&number.to_be_bytes());
    }
    out.value(kind.as_bytes());
    out.value(json.as_bytes());
    hex(&Sha256::digest(out.0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn text(command: &[u8]) -> Request<'_> {
        Request { command: Command::Text(command), ..Request::default() }
    }

    #[test]
    fn no_two_ways_to_split_the_same_bytes_are_the_same_request() {
        let digest = Some([b'a'; 32]);
        let all = [
            Request::default(),
            text(b""),
            text(b"ab c"),
            text(b"abc"),
            Request { command: Command::Argv(&[]), ..Request::default() },
            Request { command: Command::Argv(&[b""]), ..Request::default() },
            Request { command: Command::Argv(&[b"", b""]), ..Request::default() },
            Request { command: Command::Argv(&[b"ab c"]), ..Request::default() },
            Request { command: Command::Argv(&[b"ab", b"c"]), ..Request::default() },
            Request { command: Command::Argv(&[b"a", b"bc"]), ..Request::default() },
            Request { script: Some(Script { bytes: b"abc", interpreter: b"" }), ..Request::default() },
            Request { script: Some(Script { bytes: b"ab", interpreter: b"c" }), ..Request::default() },
            Request { script: Some(Script { bytes: b"", interpreter: b"abc" }), ..Request::default() },
            Request { cwd: Some(b"abc"), ..text(b"") },
            Request { cwd: Some(b""), ..text(b"abc") },
            Request { cwd: Some(b""), ..text(b"") },
            Request { env: &[("A", b"bc")], ..text(b"") },
            Request { env: &[("AB", b"c")], ..text(b"") },
            Request { env: &[("A", b""), ("B", b"c")], ..text(b"") },
            Request { env: &[("A", b"")], secret_env: &["B"], ..text(b"") },
            Request { secret_env: &["A", "B"], ..text(b"") },
            Request { secret_env: &["AB"], ..text(b"") },
            Request { login: true, ..text(b"") },
            Request { elevation: Some(Elevation { means: "sudo", user: "root" }), ..text(b"") },
            Request { elevation: Some(Elevation { means: "su", user: "root" }), ..text(b"") },
            Request { elevation: Some(Elevation { means: "sudo", user: "" }), ..text(b"") },
            Request { stdin_sha256: digest, ..text(b"") },
            Request { stdin_sha256: digest, effect: Effect::Read, ..text(b"") },
            Request { effect: Effect::Read, ..text(b"") },
            Request { effect: Effect::Idempotent, ..text(b"") },
        ];
        let fingerprints: BTreeSet<_> = all.iter().map(Request::fingerprint).collect();
        assert_eq!(fingerprints.len(), all.len());
    }

    #[test]
    fn the_order_of_variables_says_nothing() {
        let one = Request { env: &[("A", b"1"), ("B", b"2")], secret_env: &["C", "D"], ..text(b"x") };
        let other = Request { env: &[("B", b"2"), ("A", b"1")], secret_env: &["D", "C"], ..text(b"x") };
        assert_eq!(one.fingerprint(), other.fingerprint());
    }

    #[test]
    fn fingerprints_and_hashes_do_not_change_from_version_to_version() {
        assert_eq!(
            text(b"uptime").fingerprint().as_str(),
            "c6e430fdff4e9037cb3b7801b496392af86b134e98c2fdfefc14f375a07a7adc"
        );
        // printf 'op/v1\0deploy' | sha256sum
        assert_eq!(key_hash(&"deploy".parse().unwrap()).as_str(), "e384a5c8edd4390ac30887451bf188e6");
    }

    type Parts = (Vec<Vec<u8>>, bool, Option<Vec<u8>>, std::collections::BTreeMap<String, Vec<u8>>, BTreeSet<String>);

    fn parts() -> impl Strategy<Value = Parts> {
        let bytes = || prop::collection::vec(prop::sample::select(vec![0, 1, b'a']), 0..4);
        let name = || "[AB]{1,2}";
        (
            prop::collection::vec(bytes(), 0..4),
            any::<bool>(),
            prop::option::of(bytes()),
            prop::collection::btree_map(name(), bytes(), 0..3),
            prop::collection::btree_set(name(), 0..3),
        )
    }

    fn canonical((words, as_text, cwd, env, secret_env): &Parts) -> Vec<u8> {
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let command = match words.as_slice() {
            [word] if *as_text => Command::Text(word),
            words => Command::Argv(words),
        };
        let env: Vec<(&str, &[u8])> = env.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let secret_env: Vec<&str> = secret_env.iter().map(String::as_str).collect();
        let (env, secret_env) = (env.as_slice(), secret_env.as_slice());
        Request { command, cwd: cwd.as_deref(), env, secret_env, ..Request::default() }.canonical_bytes()
    }

    proptest! {
        /// Equal bytes come from equal requests only.
        #[test]
        fn the_canonical_bytes_tell_requests_apart(one in parts(), other in parts()) {
            let plain = |parts: &Parts| {
                let (words, as_text, cwd, env, secret_env) = parts.clone();
                let as_text = as_text && words.len() == 1;
                (words, as_text, cwd, env, secret_env)
            };
            prop_assert_eq!(canonical(&one) == canonical(&other), plain(&one) == plain(&other));
        }
    }
}
