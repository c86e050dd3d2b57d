//! What is known of a host's keys: the `known_hosts` files, what `KnownHostsCommand` prints, and `RevokedHostKeys`.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::target::known_hosts::{KnownHosts, Pin};
use crate::target::{Target, known_hosts_argv};

/// How long `KnownHostsCommand` may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);
/// The most that is read of `RevokedHostKeys`.
const REVOKED_MAX_BYTES: usize = 16 * 1024 * 1024;
/// How the binary form begins (OpenSSH's PROTOCOL.krl).
const KRL_MAGIC: &[u8] = b"SSHKRL\n\0";

/// Everything known of this host, and what is worth saying about it.
pub async fn of(target: &Target) -> Result<(KnownHosts, Vec<Warning>), Fault> {
    let rules = target.host_keys.clone();
    let loaded = tokio::task::spawn_blocking(move || rules.load()).await;
    let (mut known, mut warnings) = loaded.map_err(|error| Fault::Internal { problem: error.to_string() })?;
    if let Some(command) = &target.known_hosts_command {
        let text = printed(command, &target.host_keys.lookup_name).await?;
        warnings.extend(known.add(&target.host_keys, Path::new("KnownHostsCommand"), &text));
    }
    if let Some(path) = &target.revoked_host_keys {
        for blob in revoked(path)? {
            known.revoke(blob, path);
        }
    }
    Ok((known, warnings))
}

/// It is asked once, before the key exchange (`%I` is `ORDER`), for everything that it knows of the host.
async fn printed(command: &str, host: &str) -> Result<Vec<u8>, Fault> {
    let failed = |problem: String| Fault::ConfigInvalid { place: format!("KnownHostsCommand {command}"), problem };
    let token = |letter| match letter {
        'H' => host.to_owned(),
        'I' => "ORDER".to_owned(),
        // What is not known before the key exchange, as ssh says it.
        _ => "NONE".to_owned(),
    };
    let mut words = known_hosts_argv(command, token).map_err(failed)?.into_iter();
    let program = words.next().ok_or_else(|| failed("it is empty".to_owned()))?;
    let mut run = Command::new(program);
    run.args(words).stdin(Stdio::null()).kill_on_drop(true);
    let output =
        tokio::time::timeout(COMMAND_LIMIT, run.output()).await.map_err(|_| failed("it takes too long".to_owned()))?;
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())));
    }
    Ok(output.stdout)
}

/// The keys listed in `RevokedHostKeys`. A list that cannot be read refuses every host (`ssh_config(5)`).
fn revoked(path: &Path) -> Result<Vec<Vec<u8>>, Fault> {
    let failed =
        |problem: String| Fault::ConfigInvalid { place: format!("RevokedHostKeys {}", path.display()), problem };
    let text = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    if text.len() > REVOKED_MAX_BYTES {
        return Err(failed(format!("it is over {REVOKED_MAX_BYTES} bytes")));
    }
    if text.starts_with(KRL_MAGIC) {
        return Err(failed(
            "a binary key revocation list cannot be read here; list the public keys as text".to_owned(),
        ));
    }
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
    let keys = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    keys.map(|(n, line)| match Pin::parse(line) {
        Ok(Pin::Key { blob, .. }) => Ok(blob),
        Ok(Pin::Fingerprint(_)) | Err(_) => Err(failed(format!("line {n} is no public key"))),
    })
    .collect()
}
