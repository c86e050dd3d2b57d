//! From a name of ours to its place: a small POSIX sh program does on the host what the protocol cannot. Nothing that is there is
//! touched before the new content is whole beside it.

use super::quoted;
use super::talk::fault_of;
use crate::errors::Fault;
use crate::operation::transfer::command::{COMMAND_BEGINS, Said};
use crate::operation::transfer::{Line, command};

/// So many files at once.
pub const BATCH: usize = 16;
/// Dropbear drops a connection on a command of 9 kB.
const PROGRAM_MAX: usize = 7000;

/// What every program begins with. `r` tells of one file; `i` installs one: its number, size and part, its place, the mode of a new
/// file, and the mode that even a file that is there gets, or nothing.
const INSTALL: &str = r#"r() { printf '@TAG@:%s:%s\n' "$1" "$2"; }
i() { s=$(wc -c <"$3") || { r "$1" gone; return; }
[ "$s" -eq "$2" ] || { r "$1" size; return; }
t=$4
if [ -h "$t" ]; then l=$(readlink -f -- "$t") && [ -n "$l" ] && t=$l || { r "$1" link; return; }; fi
if [ -d "$t" ]; then r "$1" directory
elif [ -e "$t" ] && [ ! -f "$t" ]; then r "$1" other
elif [ -f "$t" ]; then
[ -z "@KEEP@" ] || { r "$1" exists; return; }
case $t in */*) k=${t%/*}/;; *) k=./;; esac
k=$k.k${3##*/}
e=$( { cp -p -- "$t" "$k" && cat -- "$3" >"$k" && { [ -z "$6" ] || chmod "$6" "$k"; } &&
{ [ -z "@TIMES@" ] || touch -r "$3" "$k"; } && mv -f -- "$k" "$t"; } 2>&1 ) && rm -f -- "$3" && r "$1" ok || { rm -f -- "$k"; r "$1" "no:$e"; }
else e=$( { chmod "$5" "$3" && mv -f -- "$3" "$t"; } 2>&1 ) && r "$1" ok || r "$1" "no:$e"
fi; }
"#;

/// A file that waits for its place.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Where it is.
    pub part: Vec<u8>,
    /// Where it goes.
    pub to: Vec<u8>,
    /// How long it is.
    pub size: u64,
    /// Its mode, where nothing is there.
    pub mode: u32,
    /// The path in the report.
    pub below: Vec<u8>,
    /// SHA-256 of what was sent, where it is to be verified.
    pub hash: Option<[u8; 32]>,
}

/// What is the same for all.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Random, in each line that is ours.
    pub tag: &'a str,
    /// `--no-clobber`.
    pub keep: bool,
    /// `--preserve`.
    pub times: bool,
    /// `--mode`.
    pub mode: Option<u32>,
}

/// What became of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// It is in its place.
    Yes,
    /// Something is there, and stays.
    Kept,
    /// It is not.
    No(Fault),
}

/// Brings files to their places; in order, one answer for each.
pub async fn install(line: Line<'_>, files: &[Pending], terms: Terms<'_>, host: &str) -> Result<Vec<Installed>, Fault> {
    let mut all = Vec::new();
    let mut rest = files;
    while !rest.is_empty() {
        let (program, count) = program(rest, terms)?;
        let (now, later) = rest.split_at(count);
        rest = later;
        // Each file may have to be copied once more there.
        let bytes: u64 = now.iter().map(|file| file.size).sum();
        let limit = COMMAND_BEGINS + std::time::Duration::from_secs(bytes / (5 << 20));
        let said = command::sh(line, &program, limit).await?;
        let said = said.ok_or_else(|| command::nobody_answers(&shown(host, &now[0].to)))?;
        all.extend(now.iter().enumerate().map(|(n, file)| answer(&said, n, file, terms.tag, host)));
    }
    Ok(all)
}

fn program(files: &[Pending], terms: Terms<'_>) -> Result<(Vec<u8>, usize), Fault> {
    let flag = |on: bool| if on { "1" } else { "" };
    let begin =
        INSTALL.replace("@TAG@", terms.tag).replace("@KEEP@", flag(terms.keep)).replace("@TIMES@", flag(terms.times));
    let mut program = begin.into_bytes();
    let mut count = 0;
    for (n, file) in files.iter().take(BATCH).enumerate() {
        let always = terms.mode.map(|mode| format!("{mode:o}")).unwrap_or_default();
        let call = [
            format!("i {n} {} ", file.size).as_bytes(),
            &quoted(&plain(&file.part))?,
            b" ",
            &quoted(&plain(&file.to))?,
            format!(" {:o} '{always}'\n", file.mode).as_bytes(),
        ]
        .concat();
        if n > 0 && program.len() + call.len() > PROGRAM_MAX {
            break;
        }
        program.extend_from_slice(&call);
        count += 1;
    }
    Ok((program, count))
}

/// A relative path that no program takes for an option.
pub fn plain(path: &[u8]) -> Vec<u8> {
    if path.starts_with(b"-") { [b"./", path].concat() } else { path.to_vec() }
}

fn answer(said: &Said, n: usize, file: &Pending, tag: &str, host: &str) -> Installed {
    let path = shown(host, &file.to);
    let prefix = format!("{tag}:{n}:");
    let found = said.out.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(prefix.as_bytes()));
    let refused = |problem: &str| Fault::TransferRefused { path: path.clone(), problem: problem.to_owned() };
    Installed::No(match found {
        Some(b"ok") => return Installed::Yes,
        Some(b"exists") => return Installed::Kept,
        Some(b"size") => Fault::VerifyMismatch { path },
        Some(b"directory") => Fault::IsDirectory { path },
        Some(b"other") => Fault::NotRegular { path },
        Some(b"gone") => refused("what was sent is not there"),
        Some(b"link") => refused("the link there leads nowhere, or the host has no readlink"),
        Some(line) => fault_of(line.strip_prefix(b"no:").unwrap_or(line), &path, false),
        None => fault_of(&said.err, &path, false),
    })
}

fn shown(host: &str, path: &[u8]) -> String {
    format!("{host}{}", String::from_utf8_lossy(path))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    const TERMS: Terms<'static> = Terms { tag: "t0", keep: false, times: false, mode: None };

    fn pending(dir: &Path, name: &str, content: &str) -> Pending {
        let part = dir.join(format!(".{name}.part"));
        fs::write(&part, content).unwrap();
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let size = content.len() as u64;
        Pending { part: bytes(&part), to: bytes(&dir.join(name)), size, mode: 0o640, below: Vec::new(), hash: None }
    }

    fn run(files: &[Pending], terms: Terms<'_>) -> Vec<Installed> {
        let (program, count) = program(files, terms).unwrap();
        let out = Command::new("sh").arg("-c").arg(OsStr::from_bytes(&program)).output().unwrap();
        let said = Said { status: out.status.code().map(i32::cast_unsigned), out: out.stdout, err: out.stderr };
        (0..count).map(|n| answer(&said, n, &files[n], terms.tag, "")).collect()
    }

    #[test]
    fn a_new_file_gets_its_mode_and_one_that_is_there_keeps_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("old"), "old").unwrap();
        fs::set_permissions(at("old"), PermissionsExt::from_mode(0o604)).unwrap();
        std::os::unix::fs::symlink("old2", at("link")).unwrap();
        fs::write(at("old2"), "x").unwrap();
        let files =
            [pending(dir.path(), "new", "new!"), pending(dir.path(), "old", "newer"), pending(dir.path(), "link", "y")];
        assert_eq!(run(&files, TERMS), [Installed::Yes, Installed::Yes, Installed::Yes]);
        let told = |name: &str| {
            (fs::read_to_string(at(name)).unwrap(), fs::metadata(at(name)).unwrap().permissions().mode() & 0o777)
        };
        assert_eq!(told("new"), ("new!".into(), 0o640));
        assert_eq!(told("old"), ("newer".into(), 0o604));
        assert_eq!(told("old2").0, "y");
        assert!(at("link").is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4, "nothing else is left");
    }

    #[test]
    fn what_is_no_regular_file_stays_and_short_ones_are_told() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("dir")).unwrap();
        Command::new("mkfifo").arg(dir.path().join("fifo")).status().unwrap();
        fs::write(dir.path().join("kept"), "1").unwrap();
        let mut short = pending(dir.path(), "short", "abc");
        short.size = 4;
        let files =
            [pending(dir.path(), "dir", ""), pending(dir.path(), "fifo", ""), short, pending(dir.path(), "kept", "2")];
        let answers = run(&files, Terms { keep: true, ..TERMS });
        assert!(matches!(answers[0], Installed::No(Fault::IsDirectory { .. })), "{answers:?}");
        assert!(matches!(answers[1], Installed::No(Fault::NotRegular { .. })), "{answers:?}");
        assert!(matches!(answers[2], Installed::No(Fault::VerifyMismatch { .. })), "{answers:?}");
        assert_eq!(answers[3], Installed::Kept);
    }

    #[test]
    fn a_program_stays_short_enough_for_every_server() {
        let file =
            Pending { part: vec![b'\''; 250], to: vec![b'a'; 900], size: 1, mode: 0o600, below: vec![], hash: None };
        let (text, count) = program(&vec![file; 40], TERMS).unwrap();
        assert!(text.len() <= PROGRAM_MAX && (1..BATCH).contains(&count), "{} {count}", text.len());
    }
}
