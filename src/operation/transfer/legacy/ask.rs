//! What a shell on the host is asked about the sources of a download.

use super::super::Broken;
use super::download::Download;
use super::errands::{Errands, command};
use super::meter::Meter;
use super::words;
use crate::errors::Fault;
use crate::model::copy::RemotePath;
use crate::model::outcome::Phase;
use crate::model::sink::Sink;

impl<S: Sink> Download<'_, '_, '_, S> {
    /// Whether one source, a pattern, stands for several. Where nobody can tell, it may.
    pub async fn is_several(&mut self, source: &RemotePath) -> Result<bool, Fault> {
        if !words::is_pattern(&source.0) {
            return Ok(false);
        }
        let Some(shell) = self.shell().await? else { return Ok(true) };
        let word = words::pattern(&source.0);
        if word.contains(&b'\n') {
            return Ok(true);
        }
        shell.send([b"set -- ", &word[..], b"; echo $#"].concat()).await?;
        let count = shell.next().await?.text;
        if let Some(mut shell) = self.shell.take() {
            // There may be no other session for the copy.
            shell.rest(self.meter.line).await;
        }
        Ok(count != b"1")
    }

    /// A shell there; none where none is to be had.
    pub async fn shell(&mut self) -> Result<Option<&mut Errands>, Fault> {
        if self.shell.is_none() && !self.no_shell {
            let patience = Meter::<S>::patience();
            let line = self.meter.line;
            let begun = Errands::begin(line, &patience, &self.meter.job.plan.tag, "a copy by the legacy protocol");
            match patience.within(line.address, Phase::Channel, begun).await {
                Ok(Ok(shell)) => self.shell = Some(shell),
                Ok(Err(Broken::Fault(fault @ Fault::ConnectionLost { .. }))) => return Err(fault),
                Ok(Err(Broken::Fault(fault) | Broken::NoProtocol(fault))) | Err(fault) => {
                    log::info!("no shell on the host: {fault}");
                    self.no_shell = true;
                }
            }
        }
        Ok(self.shell.as_mut())
    }

    /// Whether a file that was announced with no bytes is empty: the protocol sends of a file what it says of its length, and one as in
    /// `/proc` says nothing. None where nobody can tell.
    pub async fn is_empty(&mut self, there: Option<&[u8]>) -> Result<Option<bool>, Fault> {
        let Some(there) = there.filter(|there| !there.contains(&b'\n')) else { return Ok(None) };
        let Some(shell) = self.shell().await? else { return Ok(None) };
        shell.send([b"holds ", there].concat()).await?;
        Ok(match shell.next().await?.status {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        })
    }

    /// Whether it is a directory, as far as that can be told.
    pub async fn is_directory(&mut self, source: &RemotePath) -> Result<bool, Fault> {
        let word = words::pattern(&source.0);
        if words::is_pattern(&source.0) || word.contains(&b'\n') {
            return Ok(false);
        }
        let Some(shell) = self.shell().await? else { return Ok(false) };
        shell.send([b"[ -d ", &word[..], b" ]"].concat()).await?;
        Ok(shell.next().await?.status == 0)
    }
}

/// A command for one file there: it is what it was when it was sent.
pub fn same(word: &[u8], size: u64, hash: &str) -> Vec<u8> {
    let rest = command("", &[size.to_string().as_bytes(), hash.as_bytes()]);
    [b"same ", word, &rest[..]].concat()
}

/// What a shell says that does not run a command where nothing fits its pattern.
pub fn is_no_match(stderr: &[u8]) -> bool {
    let said = stderr.to_ascii_lowercase();
    [&b"no match"[..], b"no wildcard match"]
        .iter()
        .any(|words| said.windows(words.len()).any(|window| window == *words))
}
