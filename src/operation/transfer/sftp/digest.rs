//! SHA-256 of files on the host: by a command there where there is one, else by reading the file back.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::faults::Act;
use super::stream::stream;
use super::work::Work;
use crate::connection::Patience;
use crate::connection::channel::ChannelEvent;
use crate::errors::Fault;
use crate::model::sink::{Sink, Stream};
use crate::shell;

/// How long a command may take to begin, and to end once the file was hashed at the slowest speed that is believed.
const COMMAND_BEGINS: Duration = Duration::from_secs(10);
const SLOWEST_BYTES_PER_SEC: u64 = 20 << 20;
/// How much of its output is looked at.
const OUTPUT_MAX: usize = 512;

/// In hexadecimal digits.
pub fn hex(hash: &[u8; 32]) -> String {
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Of the first so many bytes of a file on the host, which has at least those.
pub async fn of_remote<S: Sink>(work: &Work<'_, '_, S>, path: &[u8], length: u64) -> Result<[u8; 32], Fault> {
    if !work.no_hasher.get() {
        if let Some(hash) = by_command(work, path, length).await {
            return Ok(hash);
        }
        work.no_hasher.set(true);
    }
    read_back(work, path, length).await
}

async fn read_back<S: Sink>(work: &Work<'_, '_, S>, path: &[u8], length: u64) -> Result<[u8; 32], Fault> {
    let handle = match work.remote.open_to_read(path).await {
        Ok(handle) => handle,
        Err(denied) => return Err(work.explain(denied, path, Act::Read).await),
    };
    let mut hash = Sha256::new();
    let read = stream(work, &handle, 0, length, async |piece| {
        hash.update(&piece);
        Ok(())
    });
    let read = read.await;
    let closed = work.remote.close(&handle);
    match read {
        Ok(_) => {
            // It was only read.
            let _ = closed.await;
            Ok(hash.finalize().into())
        }
        Err(super::pump::Broke::Here(fault)) => Err(fault),
        Err(super::pump::Broke::There(denied)) => Err(work.explain(denied, path, Act::Read).await),
    }
}

/// None where there is no such command, or no command at all, or it did not say what is expected of it.
pub async fn by_command<S: Sink>(work: &Work<'_, '_, S>, path: &[u8], length: u64) -> Option<[u8; 32]> {
    let quoted = shell::quote(std::ffi::OsStr::from_bytes(path)).ok()?;
    let mut script = format!("head -c {length} < ").into_bytes();
    script.extend_from_slice(&quoted);
    script.extend_from_slice(b" | { sha256sum 2>/dev/null || shasum -a 256 2>/dev/null || openssl dgst -sha256; }");
    let script = shell::quote(std::ffi::OsStr::from_bytes(&script)).ok()?;
    let command = [b"exec sh -c ", &script[..]].concat();
    let line = work.line();
    let patience = Patience::new(Some(COMMAND_BEGINS), None);
    let limit = COMMAND_BEGINS + Duration::from_secs(length / SLOWEST_BYTES_PER_SEC);
    let hashed = async {
        let (mut reader, writer) = line.session.open_channel(&patience, line.address).await.ok()?;
        writer.exec(&command).await.ok()?;
        writer.eof().await.ok()?;
        let mut output = Vec::new();
        let mut succeeded = false;
        loop {
            match reader.next().await {
                ChannelEvent::Data(Stream::Stdout, data) => {
                    output.extend_from_slice(&data[..data.len().min(OUTPUT_MAX.saturating_sub(output.len()))]);
                }
                ChannelEvent::ExitStatus(status) => succeeded = status == 0,
                ChannelEvent::Closed => break,
                ChannelEvent::Refused | ChannelEvent::Lost(_) => return None,
                _ => {}
            }
        }
        succeeded.then(|| hash_in(&output)).flatten()
    };
    tokio::time::timeout(limit, hashed).await.ok().flatten()
}

/// The one word of 64 hexadecimal digits; shells may greet before it, and `openssl` names the file first.
fn hash_in(output: &[u8]) -> Option<[u8; 32]> {
    let text = std::str::from_utf8(output).ok()?;
    let word = text.split_whitespace().find(|word| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit()))?;
    let mut hash = [0; 32];
    for (n, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&word[2 * n..2 * n + 2], 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_found_and_nothing_else() {
        let hash: [u8; 32] = Sha256::digest(b"x").into();
        for output in [format!("{}  -\n", hex(&hash)), format!("hello\nSHA2-256(stdin)= {}\n", hex(&hash))] {
            assert_eq!(hash_in(output.as_bytes()), Some(hash));
        }
        for output in ["", "This service allows sftp connections only.\n", &"g".repeat(64), &"a".repeat(65)] {
            assert_eq!(hash_in(output.as_bytes()), None);
        }
    }
}
