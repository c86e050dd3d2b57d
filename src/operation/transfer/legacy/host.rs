//! What a shell on the host says and does, where the protocol itself has no words for it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::install::plain;
use super::quoted;
use super::talk::fault_of;
use crate::errors::Fault;
use crate::operation::transfer::command::{self, COMMAND_BEGINS};
use crate::operation::transfer::local;
use crate::operation::transfer::place::Standing;
use crate::operation::transfer::{Broken, Line};

/// The target for a program there, which begins in the home directory.
pub fn home(path: &[u8]) -> Result<Vec<u8>, Fault> {
    match path {
        b"" | b"~" | b"~/" => Ok(b".".to_vec()),
        [b'~', b'/', rest @ ..] => Ok(rest.to_vec()),
        [b'~', ..] => {
            let problem = "the legacy protocol does not say where that home directory is; give its path".to_owned();
            Err(Fault::TransferRefused { path: String::from_utf8_lossy(path).into_owned(), problem })
        }
        _ => Ok(path.to_vec()),
    }
}

/// What a shell there says.
pub struct Host {
    /// What stands at the target.
    pub standing: Standing,
    /// What its programs do not give to new files.
    pub umask: u32,
}

impl Host {
    /// Asks it. `in_place`: what it does not say is left to scp.
    pub async fn ask(line: Line<'_>, target: &[u8], in_place: bool) -> Result<Self, Broken> {
        let target = quoted(target)?;
        let program = [
            b"t=",
            &target[..],
            b"; if [ -d \"$t\" ]; then k=directory; elif [ -e \"$t\" ] || [ -h \"$t\" ]; then k=other; else k=missing; fi; ",
            b"echo \"ssh-cli:$k:$(umask):\"",
        ]
        .concat();
        let said = command::sh(line, &program, COMMAND_BEGINS).await?.unwrap_or_default();
        let text = String::from_utf8_lossy(&said.out).into_owned();
        let mut words = text.rsplit_once("ssh-cli:").map_or("", |(_, last)| last).split(':');
        let standing = match words.next() {
            Some("directory") => Standing::Directory,
            Some("other") => Standing::Other,
            Some("missing") => Standing::Missing,
            _ if text.contains("This service allows sftp connections only.") => {
                return Err(Broken::NoProtocol(Fault::SftpOnly));
            }
            // scp itself decides.
            _ if in_place => return Ok(Self { standing: Standing::Missing, umask: 0o022 }),
            _ => return Err(Broken::NoProtocol(Fault::NoTransferProtocol)),
        };
        let umask = words.next().and_then(|umask| u32::from_str_radix(umask.trim(), 8).ok()).unwrap_or(0o022);
        Ok(Self { standing, umask: umask & 0o777 })
    }

    /// Makes a directory, where there is none; with `all` those on the way to it too.
    pub async fn make(&self, line: Line<'_>, path: &[u8], shown: &str, all: bool, mode: u32) -> Result<(), Fault> {
        let name = quoted(&plain(path))?;
        let mode = ((mode | 0o700) & !self.umask) | 0o700;
        let flag = if all { "-p --".to_owned() } else { format!("-m {mode:o} --") };
        let program = [b"[ -d ", &name[..], b" ] || mkdir ", flag.as_bytes(), b" ", &name].concat();
        done(line, &program, shown).await
    }

    /// Sets the mode of the directory that all goes into.
    pub async fn set_mode(&self, line: Line<'_>, path: &[u8], shown: &str, mode: u32) -> Result<(), Fault> {
        let program = [format!("chmod {:o} ", mode & 0o777).as_bytes(), &quoted(&plain(path))?].concat();
        done(line, &program, shown).await
    }
}

async fn done(line: Line<'_>, program: &[u8], shown: &str) -> Result<(), Fault> {
    match command::sh(line, program, COMMAND_BEGINS).await? {
        Some(said) if said.status == Some(0) => Ok(()),
        Some(said) => Err(fault_of(&said.err, shown, false)),
        None => Err(command::nobody_answers(shown)),
    }
}

/// Fills the chunk, as far as the file goes.
pub fn fill(file: &mut File, chunk: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < chunk.len() {
        match file.read(&mut chunk[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The protocol wants to know how long a file is before its first byte: standard input is put into a file without a name.
pub fn spooled(stdin: Option<&File>) -> Result<(File, u64), Fault> {
    let failed = |error: io::Error| local::unreadable(Path::new("standard input"), &error);
    let mut source = stdin.ok_or_else(|| failed(io::Error::other("it is gone")))?;
    let mut file = tempfile::tempfile().map_err(failed)?;
    let size = io::copy(&mut source, &mut file).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    Ok((file, size))
}
