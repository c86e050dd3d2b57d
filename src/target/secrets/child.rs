//! A secret from a program: `cmd:COMMAND` and `SSH_ASKPASS`.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use zeroize::{Zeroize, Zeroizing};

use super::{Shape, too_long, trim_line_end};
use crate::errors::clean;
use crate::secret::Secret;

/// How much of a failed program's standard error is told, in bytes.
const STDERR_MAX_BYTES: usize = 4 * 1024;

/// After the program's end: how long its output is still read. A daemon that it left behind may hold the pipes for
/// ever.
const DRAIN: Duration = Duration::from_millis(500);

/// `sh -c COMMAND`.
pub(super) fn shell(command: &str) -> Command {
    let mut it = Command::new("sh");
    it.arg("-c").arg(command);
    it
}

/// The askpass program, as ssh(1) calls it.
pub(super) fn askpass(program: &OsStr, prompt: &str) -> Command {
    let mut it = Command::new(program);
    it.arg(prompt);
    it
}

/// Runs it with no standard input and gives its output, once it ended with 0.
pub(super) async fn output(mut command: Command, shape: Shape) -> Result<Secret, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("it cannot be run: {error}"))?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("it has no output".to_owned());
    };
    let mut out = Gathered::new(stdout, shape.limit());
    let mut err = Gathered::new(stderr, STDERR_MAX_BYTES);
    let status = {
        let fill = async { tokio::join!(out.fill(), err.fill()) };
        tokio::pin!(fill);
        let ended = tokio::select! {
            status = child.wait() => Some(status),
            _ = &mut fill => None,
        };
        match ended {
            Some(status) => {
                let _ = tokio::time::timeout(DRAIN, &mut fill).await;
                status
            }
            None => child.wait().await,
        }
    };
    let status = status.map_err(|error| format!("its end was not seen: {error}"))?;
    if !status.success() {
        let said = clean(String::from_utf8_lossy(&err.bytes).trim());
        return Err(if said.is_empty() { status.to_string() } else { format!("{status}: {said}") });
    }
    if out.over {
        return Err(too_long(shape));
    }
    let mut bytes = std::mem::take(&mut *out.bytes);
    if shape == Shape::Line {
        let end = bytes.iter().position(|b| *b == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes[end..].zeroize();
        bytes.truncate(end);
        trim_line_end(&mut bytes);
    }
    Ok(Secret::new(bytes))
}

/// The beginning of a stream; the rest is read too, and dropped, so that the writer is never stuck.
struct Gathered<R> {
    reader: R,
    bytes: Zeroizing<Vec<u8>>,
    limit: usize,
    over: bool,
}

impl<R: AsyncRead + Unpin> Gathered<R> {
    fn new(reader: R, limit: usize) -> Self {
        Self { reader, bytes: Zeroizing::new(Vec::with_capacity(limit)), limit, over: false }
    }

    /// Up to the end of the stream. May be dropped at any time: what was read is kept.
    async fn fill(&mut self) {
        let mut chunk = Zeroizing::new([0; 4096]);
        while let Ok(n @ 1..) = self.reader.read(&mut chunk[..]).await {
            let room = n.min(self.limit - self.bytes.len());
            self.bytes.extend_from_slice(&chunk[..room]);
            self.over |= room < n;
        }
    }
}
