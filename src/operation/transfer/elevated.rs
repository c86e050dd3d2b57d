//! An SFTP server with another user's rights: the host's own `sftp-server` program, which is what OpenSSH itself would run, begun
//! by a small POSIX sh program of ours once sudo has let us through.
//!
//! For an upload that program first makes a directory that is nobody else's, in the directory that the target is in or is: there the
//! files are written, and from there each is renamed to its place in one step, since both are on one file system. The program
//! waits for the server's end, however that comes about, and removes what is left of the directory. So nothing of a copy that
//! failed stays, not even where the connection was cut and nobody can ask for it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use super::legacy::said::{self, Act};
use super::legacy::words;
use super::place::means_into;
use super::sftp::PATH_MOST;
use super::{Broken, Job, Line};
use crate::connection::channel::{ChannelEvent, ChannelReader, ChannelWriter};
use crate::errors::Fault;
use crate::model::copy::Way;
use crate::model::outcome::Phase;
use crate::model::sink::Stream;
use crate::operation::elevate::entrance::{Rights, enter};
use crate::operation::exec::marker::Word;
use crate::operation::transfer::part;
use crate::shell;

/// Why the directory may still be there.
pub const NOT_SEEN_TO_GO: &str = "not_seen_to_go: the host removes it when it sees the connection's end";

/// How long what follows a word may take.
const DETAIL: Duration = Duration::from_secs(15);
/// The most that a refusal may hold.
const REFUSAL_MAX: usize = 4096;

/// What the program says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// The server is next. `UID:GID:DIRECTORY` and a NUL follow; each may be empty.
    Serves,
    /// There is no such program.
    NoServer,
    /// There is no such user.
    NoOwner,
    /// There is no such group.
    NoGroup,
    /// The directory could not be made; why follows.
    NoStage,
}

const WORDS: [Word<Said>; 5] = [
    (b"serves;", Said::Serves),
    (b"server;", Said::NoServer),
    (b"owner;", Said::NoOwner),
    (b"group;", Said::NoGroup),
    (b"stage;", Said::NoStage),
];

/// A server that runs.
pub struct Served {
    /// Its channel.
    pub channel: (ChannelReader, ChannelWriter),
    /// Who is to own what is copied.
    pub owner: Option<u32>,
    /// And its group.
    pub group: Option<u32>,
}

/// Begins one.
pub async fn serve<S>(line: Line<'_>, job: &Job<'_, S>, rights: &Rights) -> Result<Served, Broken> {
    let channel = line.session.open_channel(line.patience, line.address).await?;
    let nonce = rights.nonce();
    let program =
        program(job, &nonce).map_err(|_| Fault::Usage { message: "a NUL byte cannot be part of a path".to_owned() })?;
    let mut entered = enter(line.session, channel, rights, (&nonce, program), &WORDS).await?;
    let mut detail = entered.rest.to_vec();
    if entered.word == Said::Serves {
        let most = PATH_MOST + 64;
        read_until(&mut entered.reader, &mut detail, |detail| detail.contains(&0) || detail.len() > most).await?;
        return served(job, &detail, (entered.reader, entered.writer));
    }
    let whole = read_until(&mut entered.reader, &mut detail, |detail| detail.len() >= REFUSAL_MAX);
    // What was said is enough, should the end of it not come.
    let _ = whole.await;
    let install = job.plan.options.sudo.as_ref();
    let named = |flag: &str, name: Option<&String>| format!("{flag} {}", name.map_or("", String::as_str));
    let nobody = |flag, name, what: &str| Fault::TransferRefused {
        path: named(flag, name),
        problem: format!("there is no such {what} on the host"),
    };
    Err(Broken::Fault(match entered.word {
        Said::NoOwner => nobody("--owner", install.and_then(|sudo| sudo.owner.as_ref()), "user"),
        Said::NoGroup => nobody("--group", install.and_then(|sudo| sudo.group.as_ref()), "group"),
        Said::NoStage => {
            let target = String::from_utf8_lossy(target(job).unwrap_or_default());
            said::fault(&detail, &format!("{}{target}", job.plan.host), Act::Write)
        }
        Said::Serves | Said::NoServer => return Err(Broken::NoProtocol(Fault::NoSftpServer)),
    }))
}

/// Reads what follows a word.
async fn read_until(
    reader: &mut ChannelReader,
    detail: &mut Vec<u8>,
    mut is_enough: impl FnMut(&[u8]) -> bool,
) -> Result<(), Fault> {
    let lost = |problem: &str| Fault::ConnectionLost { phase: Phase::Elevate, problem: problem.to_owned() };
    let read = async {
        while !is_enough(detail) {
            match reader.next().await {
                ChannelEvent::Data(Stream::Stdout, data) => detail.extend_from_slice(&data),
                ChannelEvent::Lost(problem) => return Err(lost(&problem)),
                ChannelEvent::Closed => return Err(lost("the host ended the channel")),
                _ => {}
            }
        }
        Ok(())
    };
    tokio::time::timeout(DETAIL, read).await.unwrap_or_else(|_| Err(lost("the host does not go on")))
}

/// Takes in what the program said.
fn served<S>(job: &Job<'_, S>, detail: &[u8], channel: (ChannelReader, ChannelWriter)) -> Result<Served, Broken> {
    let unclear = || said::violation("where the SFTP server should begin, something else is said");
    let detail = detail.strip_suffix(b"\0").ok_or_else(unclear)?;
    let mut fields = detail.splitn(3, |byte| *byte == b':');
    let mut number = || match fields.next() {
        Some(b"") => Ok(None),
        Some(text) => {
            let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            number.map(Some).ok_or_else(unclear)
        }
        None => Err(unclear()),
    };
    let (owner, group) = (number()?, number()?);
    let stage = fields.next().ok_or_else(unclear)?;
    if !stage.is_empty() {
        *job.stage.borrow_mut() = Some(stage.to_vec());
    }
    Ok(Served { channel, owner, group })
}

/// Where an upload goes, as it was typed.
fn target<'j, S>(job: &Job<'j, S>) -> Option<&'j [u8]> {
    match job.plan.way {
        Way::Upload { target, .. } => Some(&target.0),
        Way::Download { .. } => None,
    }
}

/// The program. It arrives by standard input, so nothing of it is in a list of processes.
fn program<S>(job: &Job<'_, S>, nonce: &str) -> Result<Vec<u8>, shlex::QuoteError> {
    let options = job.plan.options;
    let sudo = options.sudo.as_ref();
    let quoted = |text: Option<&String>| shell::quote(OsStr::new(text.map_or("", String::as_str)));
    let mut out = format!("_sc_n={nonce}\n").into_bytes();
    let mut line = |parts: &[&[u8]]| {
        for part in parts {
            out.extend_from_slice(part);
        }
        out.push(b'\n');
    };
    line(&[BEGINS.as_bytes()]);
    line(&[b"_sc_w=", &quoted(sudo.and_then(|sudo| sudo.owner.as_ref()))?, b"\n", OWNER.as_bytes()]);
    line(&[b"_sc_w=", &quoted(sudo.and_then(|sudo| sudo.group.as_ref()))?, b"\n", GROUP.as_bytes()]);
    line(&[b"_sc_d="]);
    if let Some(target) = target(job).filter(|_| !options.in_place) {
        let flag = |is_so: bool| if is_so { &b"1"[..] } else { b"" };
        let into = means_into(target) || !job.plan.way.is_single();
        let name = part::name(b"staging", &job.plan.tag);
        line(&[b"_sc_d=", &expanded(target)?, b"\n_sc_i=", flag(into), b"\n_sc_p=", flag(options.parents)]);
        line(&[b"_sc_w=", &shell::quote(OsStr::from_bytes(&name))?, b"\n", STAGE.as_bytes()]);
    }
    line(&[SERVE.as_bytes()]);
    out.extend_from_slice(format!("#{nonce}").as_bytes());
    Ok(out)
}

/// A path as the SFTP driver will read it: from the home directory, where the program begins.
fn expanded(path: &[u8]) -> Result<Vec<u8>, shlex::QuoteError> {
    let (who, rest) = path.split_at(words::home(path));
    let rest = if who.is_empty() { rest } else { rest.strip_prefix(b"/").unwrap_or(rest) };
    let quoted = shell::quote(OsStr::from_bytes(if rest.is_empty() { b"." } else { rest }))?;
    Ok(match who {
        b"" | b"~" => quoted,
        who => [who, b"/", &quoted].concat(),
    })
}

/// The words, and where the server is: where OpenSSH's packages have it.
const BEGINS: &str = r#"say() { printf '%s:%s' "$_sc_n" "$1" || exit 1; }
unset CDPATH; LC_ALL=C; export LC_ALL
_sc_s=
for _sc_f in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/libexec/sftp-server /usr/lib/ssh/sftp-server /usr/lib/misc/sftp-server /usr/local/libexec/sftp-server /run/current-system/sw/libexec/sftp-server; do
[ -f "$_sc_f" ] && [ -x "$_sc_f" ] && { _sc_s=$_sc_f; break; }
done
[ -n "$_sc_s" ] || { say 'server;'; exit 1; }"#;

/// A name, and where there is none such, a number.
const OWNER: &str = r#"_sc_u=
if [ -n "$_sc_w" ]; then
_sc_u=$(id -u "$_sc_w" 2>/dev/null) || case $_sc_w in *[!0-9]*) say 'owner;'; exit 1;; *) _sc_u=$_sc_w;; esac
fi"#;

/// The same of a group; where there is no `getent`, by the file.
const GROUP: &str = r#"_sc_g=
if [ -n "$_sc_w" ]; then
_sc_e=$(getent group "$_sc_w" 2>/dev/null)
[ -n "$_sc_e" ] || while IFS= read -r _sc_l; do case $_sc_l in "$_sc_w":*) _sc_e=$_sc_l; break;; esac; done 2>/dev/null </etc/group
case $_sc_e in *:*:*) _sc_e=${_sc_e#*:*:}; _sc_g=${_sc_e%%:*};; esac
[ -n "$_sc_g" ] || case $_sc_w in *[!0-9]*) say 'group;'; exit 1;; *) _sc_g=$_sc_w;; esac
fi"#;

/// In the target, where that is a directory, else in the one that it is in, or with `--parents` will be. Where there is none the
/// driver says so. Nobody but this user can look into what is made, nor was it there before.
const STAGE: &str = r#"above() {
while case $_sc_d in ?*/) :;; *) false;; esac; do _sc_d=${_sc_d%/}; done
case $_sc_d in */*) _sc_d=${_sc_d%/*}; _sc_d=${_sc_d:-/};; *) _sc_d=.;; esac
}
if [ ! -d "$_sc_d" ]; then
if [ -n "$_sc_p" ]; then
while [ ! -d "$_sc_d" ]; do
case $_sc_d in .|/) _sc_d=; break;; esac
above
done
elif [ -n "$_sc_i" ]; then
_sc_d=
else
above
[ -d "$_sc_d" ] || _sc_d=
fi
fi
if [ -n "$_sc_d" ]; then
_sc_d=${_sc_d%/}/$_sc_w
_sc_e=$(mkdir -m 700 -- "$_sc_d" 2>&1) || { say 'stage;'; printf %s "$_sc_e"; exit 1; }
trap 'rm -rf -- "$_sc_d"' EXIT
trap : HUP INT TERM PIPE
fi"#;

/// Not `exec`: the directory is removed after it.
const SERVE: &str = r#"say 'serves;'
printf '%s:%s:%s\0' "$_sc_u" "$_sc_g" "$_sc_d" || exit 1
if [ -z "$_sc_d" ]; then exec "$_sc_s"; fi
"$_sc_s"
exit"#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// What the directory is that is made for this target: relative to where the shell runs.
    fn staged(shell: &str, dir: &std::path::Path, target: &str, into: bool, parents: bool) -> String {
        let flag = |is_so: bool| if is_so { "1" } else { "" };
        let expanded = String::from_utf8(expanded(target.as_bytes()).unwrap()).unwrap();
        let begins = BEGINS.lines().next().unwrap();
        let program = format!(
            "_sc_n=n; {begins}\n_sc_d={expanded}; _sc_i={}; _sc_p={}; _sc_w=stage\n{STAGE}\nprintf '%s' \"$_sc_d\"; [ -z \"$_sc_d\" ] || [ -d \"$_sc_d\" ]",
            flag(into),
            flag(parents)
        );
        let out = Command::new(shell).args(["-c", &program]).current_dir(dir).output().unwrap();
        assert!(out.status.success(), "{target}: {out:?}");
        String::from_utf8(out.stdout).unwrap()
    }

    #[test]
    fn it_is_made_where_the_target_is_and_goes_with_the_shell() {
        let dir = tempfile::TempDir::new().unwrap();
        let dir = dir.path();
        std::fs::create_dir_all(dir.join("d/-e")).unwrap();
        std::fs::create_dir_all(dir.join("it's\na $dir\n")).unwrap();
        std::fs::write(dir.join("d/file"), "").unwrap();
        for shell in ["sh", "bash"] {
            for (target, into, parents, at) in [
                ("d", false, false, "d/stage"),
                ("d/", true, false, "d/stage"),
                ("d/file", false, false, "d/stage"),
                ("d/new", false, false, "d/stage"),
                ("d/new/", true, false, ""),
                ("d/new/", true, true, "d/stage"),
                ("d/a/b//c", false, false, ""),
                ("d/a/b//c", false, true, "d/stage"),
                ("new", false, false, "./stage"),
                ("a/b", false, true, "./stage"),
                ("", false, false, "./stage"),
                ("~", true, false, "./stage"),
                ("~/d", false, false, "d/stage"),
                ("d/-e/x", false, false, "d/-e/stage"),
                ("it's\na $dir\n/x", false, false, "it's\na $dir\n/stage"),
                ("it's\na $dir\n", false, false, "it's\na $dir\n/stage"),
            ] {
                assert_eq!(staged(shell, dir, target, into, parents), at, "{shell}: {target:?}");
            }
        }
        let left = Command::new("find").arg(dir).args(["-name", "stage"]).output().unwrap();
        assert_eq!(left.stdout, b"", "it goes with the shell");
        assert_eq!(expanded(b"~root/it's").unwrap(), b"~root/\"it's\"");
        assert_eq!(expanded(b"~a b").unwrap(), b"'~a b'");
    }

    #[test]
    fn where_there_is_no_server_that_is_said() {
        let program = format!("_sc_n=n\n{}\necho on", BEGINS.replace("/sftp-server", "/no-such-server"));
        let out = Command::new("sh").args(["-c", &program]).output().unwrap();
        assert_eq!((String::from_utf8(out.stdout).unwrap().as_str(), out.status.code()), ("n:server;", Some(1)));
    }

    #[test]
    fn a_user_and_a_group_by_name_or_number() {
        let found = |name: &str| {
            let begins = BEGINS.lines().next().unwrap();
            let program = format!("_sc_n=n; {begins}\n_sc_w={name}\n{OWNER}\n{GROUP}\necho \"$_sc_u:$_sc_g\"");
            let out = Command::new("sh").args(["-c", &program]).output().unwrap();
            String::from_utf8(out.stdout).unwrap()
        };
        assert_eq!((found("root"), found("54321"), found("")), ("0:0\n".into(), "54321:54321\n".into(), ":\n".into()));
        assert_eq!(found("no-such-name"), "n:owner;");
    }

    #[test]
    fn the_whole_program_is_sound() {
        let whole = [BEGINS, OWNER, GROUP, STAGE, SERVE].join("\n");
        for shell in ["sh", "bash"] {
            let out = Command::new(shell).args(["-n", "-c", &whole]).output().unwrap();
            assert!(out.status.success(), "{shell}: {out:?}");
        }
    }
}
