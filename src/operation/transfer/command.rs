//! A small command on the host, beside the copy: what cannot be asked in the copy's own protocol.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use super::Line;
use crate::connection::Patience;
use crate::connection::channel::ChannelEvent;
use crate::errors::Fault;
use crate::model::outcome::Phase;
use crate::model::sink::Stream;
use crate::shell;

/// How long a command may take to begin, and to end.
pub const COMMAND_BEGINS: Duration = Duration::from_secs(10);
/// A file is hashed at least so fast.
const SLOWEST_BYTES_PER_SEC: u64 = 20 << 20;
/// How much is kept of what it says on each stream.
const SAID_MAX: usize = 64 * 1024;

/// What a command said and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Its status, where one came.
    pub status: Option<u32>,
    /// Standard output, its beginning.
    pub out: Vec<u8>,
    /// Standard error, its beginning.
    pub err: Vec<u8>,
}

/// Runs a POSIX sh program as the account. None: no command ran there, or not in time. The error: the connection is gone.
pub async fn sh(line: Line<'_>, program: &[u8], limit: Duration) -> Result<Option<Said>, Fault> {
    if line.rights.is_some() {
        // It would run as the account, which may not be able to see what is asked about.
        return Ok(None);
    }
    let Ok(quoted) = shell::quote(OsStr::from_bytes(program)) else { return Ok(None) };
    let command = [b"exec sh -c ", &quoted[..]].concat();
    tokio::time::timeout(limit, run(line, &command)).await.unwrap_or(Ok(None))
}

async fn run(line: Line<'_>, command: &[u8]) -> Result<Option<Said>, Fault> {
    let patience = Patience::new(Some(COMMAND_BEGINS), None);
    let (mut reader, writer) = match line.session.open_channel(&patience, line.address).await {
        Ok(channel) => channel,
        Err(Fault::ConnectionLost { problem, .. }) => return Err(lost(problem)),
        // No further channel, or not in time: the copy goes on without.
        Err(fault) => {
            log::info!("no command on the host: {fault}");
            return Ok(None);
        }
    };
    // A session that is gone shows itself to the reader.
    let _ = writer.exec(command).await;
    let _ = writer.eof().await;
    let mut said = Said::default();
    loop {
        match reader.next().await {
            ChannelEvent::Data(stream, data) => {
                let kept = match stream {
                    Stream::Stdout => &mut said.out,
                    Stream::Stderr => &mut said.err,
                };
                let room = SAID_MAX.saturating_sub(kept.len());
                kept.extend_from_slice(&data[..data.len().min(room)]);
            }
            ChannelEvent::ExitStatus(status) => said.status = Some(status),
            ChannelEvent::Closed => return Ok(Some(said)),
            ChannelEvent::Refused => return Ok(None),
            ChannelEvent::Lost(problem) => return Err(lost(problem)),
            ChannelEvent::Granted | ChannelEvent::ExitSignal(_) | ChannelEvent::Eof => {}
        }
    }
}

fn lost(problem: String) -> Fault {
    Fault::ConnectionLost { phase: Phase::Transfer, problem }
}

/// The SHA-256 of the first so many bytes of a file there. None where there is no command for it, or no command at all, or it did
/// not say what is expected of it.
pub async fn sha256(line: Line<'_>, path: &[u8], length: u64) -> Result<Option<[u8; 32]>, Fault> {
    let Ok(quoted) = shell::quote(OsStr::from_bytes(path)) else { return Ok(None) };
    // A file that is not there, or may not be read, ends the shell: a hash of nothing would be one of something else.
    let mut program = b"exec <".to_vec();
    program.extend_from_slice(&quoted);
    program.extend_from_slice(format!(" || exit 1; head -c {length}").as_bytes());
    program.extend_from_slice(b" | { sha256sum 2>/dev/null || shasum -a 256 2>/dev/null || openssl dgst -sha256; }");
    let limit = COMMAND_BEGINS + Duration::from_secs(length / SLOWEST_BYTES_PER_SEC);
    let said = sh(line, &program, limit).await?;
    Ok(said.filter(|said| said.status == Some(0)).and_then(|said| hash_in(&said.out)))
}

/// The fault of a host that runs no commands, where one would have to tell.
pub fn nobody_answers(what: &str) -> Fault {
    Fault::TransferRefused { path: what.to_owned(), problem: "the host runs no command that could tell".to_owned() }
}

/// In hexadecimal digits.
pub fn hex(hash: &[u8; 32]) -> String {
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
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
        let digits = "ab".repeat(32);
        for output in [format!("{digits}  -\n"), format!("hello\nSHA2-256(stdin)= {digits}\n")] {
            assert_eq!(hash_in(output.as_bytes()), Some([0xab; 32]));
        }
        for output in ["", "This service allows sftp connections only.\n", &"g".repeat(64), &"a".repeat(65)] {
            assert_eq!(hash_in(output.as_bytes()), None);
        }
    }
}
