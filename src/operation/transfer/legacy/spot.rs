//! Where a file goes on the host: what stands there, and what a link there leads to.

use super::errands::{Errands, command};
use super::meter::Meter;
use super::said::{self, Act};
use crate::errors::Fault;
use crate::model::sink::Sink;
use crate::operation::transfer::place::{join, parent_of};

/// So many links are followed, as Linux does (`path_resolution(7)`).
const LINKS_MAX: usize = 40;

/// A place for a file.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The path, which is no link.
    pub path: Vec<u8>,
    /// The regular file that stands there.
    pub replaced: Option<Standing>,
}

/// What is kept of a file that is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Permission bits.
    pub mode: u32,
    /// `USER:GROUP`, by numbers.
    pub owner: String,
}

impl Spot {
    /// One in a directory that was just made.
    pub fn free(path: Vec<u8>) -> Self {
        Self { path, replaced: None }
    }

    /// Looks. Only a regular file is ever replaced. Nothing else may be on its way to the shell.
    pub async fn find<S: Sink>(meter: &Meter<'_, '_, S>, shell: &mut Errands, path: &[u8]) -> Result<Self, Fault> {
        let mut path = path.to_vec();
        for _ in 0..LINKS_MAX {
            check(meter, &path)?;
            // POSIX gives this form: type and mode, links, user, group.
            shell.send([command("ls -lnd", &[&option_free(&path)]), b" 2>&1".to_vec()].concat()).await?;
            let answer = shell.next().await?;
            if answer.status != 0 {
                if said::is_missing(&answer.text) {
                    return Ok(Self::free(path));
                }
                return Err(said::fault(&answer.text, &meter.shown(&path), Act::Write));
            }
            match answer.text.first() {
                Some(b'-') => match standing(&answer.text) {
                    Some(found) => return Ok(Self { path, replaced: Some(found) }),
                    None => return Err(unclear(meter, &path)),
                },
                Some(b'd') => return Err(Fault::IsDirectory { path: meter.shown(&path) }),
                Some(b'l') => {
                    shell.send(command("readlink", &[&option_free(&path)])).await?;
                    let link = shell.next().await?;
                    if link.status != 0 || link.text.is_empty() {
                        let problem = "it is a link, and the host cannot say where it leads".to_owned();
                        return Err(Fault::TransferRefused { path: meter.shown(&path), problem });
                    }
                    path = if link.text.starts_with(b"/") { link.text } else { join(parent_of(&path), &link.text) };
                }
                Some(b'p' | b's' | b'c' | b'b') => return Err(Fault::NotRegular { path: meter.shown(&path) }),
                _ => return Err(unclear(meter, &path)),
            }
        }
        Err(Fault::TransferRefused { path: meter.shown(&path), problem: "too many links lead on from it".to_owned() })
    }
}

fn unclear<S: Sink>(meter: &Meter<'_, '_, S>, path: &[u8]) -> Fault {
    Fault::TransferRefused { path: meter.shown(path), problem: "the host does not say what stands there".to_owned() }
}

/// A name with a line break cannot be said.
pub fn check<S: Sink>(meter: &Meter<'_, '_, S>, path: &[u8]) -> Result<(), Fault> {
    if path.contains(&0) {
        return Err(Fault::Usage { message: "a NUL byte cannot be part of a path".to_owned() });
    }
    if !path.contains(&b'\n') {
        return Ok(());
    }
    let problem = "the legacy protocol has no way to say a line break in a name; --protocol sftp has".to_owned();
    Err(Fault::TransferRefused { path: meter.shown(path), problem })
}

/// The same path, which no command takes for an option.
pub fn option_free(path: &[u8]) -> Vec<u8> {
    match path {
        [] => b".".to_vec(),
        [b'-', ..] => [b"./", path].concat(),
        path => path.to_vec(),
    }
}

/// `-rw-r--r-- 1 1000 1000 …`, as `ls -lnd` says it.
pub fn standing(line: &[u8]) -> Option<Standing> {
    let mut fields = line.split(|b| *b == b' ').filter(|field| !field.is_empty());
    let mode = fields.next()?;
    let (user, group) = (fields.nth(1)?, fields.next()?);
    let number =
        |field: &[u8]| field.iter().all(u8::is_ascii_digit).then(|| String::from_utf8_lossy(field).into_owned());
    let bits = mode.get(1..10)?.iter().try_fold(0, |bits, letter| {
        let bit = match letter {
            b'-' | b'S' | b'T' => 0,
            b'r' | b'w' | b'x' | b's' | b't' => 1,
            _ => return None,
        };
        Some(bits << 1 | bit)
    })?;
    Some(Standing { mode: bits, owner: format!("{}:{}", number(user)?, number(group)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ls_says() {
        let of = |line: &str| standing(line.as_bytes()).map(|found| (found.mode, found.owner));
        assert_eq!(of("-rw-r--r-- 1 1000 100 5 Jan  1 00:00 x y"), Some((0o644, "1000:100".to_owned())));
        assert_eq!(of("-rwsr-sr-T.  1 0 0 5 x"), Some((0o754, "0:0".to_owned())));
        assert_eq!(of("-rw-r--r-- 1 root 0 5 x"), None);
        assert_eq!(of("-rw"), None);
        assert_eq!(of("total 5 and more words"), None);
    }
}
