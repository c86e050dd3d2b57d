//! Shell mode: a command that needs a directory, an environment, a login shell or a script is started by a small POSIX sh
//! program of ours.
//!
//! The program does not travel in the command line, where `ps` would show it: the exec request is a fixed loader that reads so
//! many bytes from standard input and refuses a program that was cut short. Then come the script, if there is one, and the
//! command's own input. The program says `NONCE:start;` on standard output just before the command, which is how we know that
//! it started, and how a host without a POSIX shell is told from one with a failing command.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::secret::Secret;
use crate::shell;

/// What the start program waits for after its mark. Until it came, nothing has started: whoever changes what the program prints,
/// or eats it, cannot make us claim more than we know.
pub const GO: &[u8] = b"go;";
/// The same for a terminal in its usual modes.
pub const GO_LINE: &[u8] = b"go;\n";

/// What the start program has to do.
#[derive(Debug, Default)]
pub struct Start<'a> {
    /// Random, per run.
    pub nonce: &'a str,
    /// Where to change to.
    pub cwd: Option<&'a OsStr>,
    /// What to export, in order. Secret or not, it arrives by standard input.
    pub exports: Vec<(&'a str, Secret)>,
    /// A login shell.
    pub login: bool,
    /// A terminal was asked for in transparent modes: set it back to usual ones.
    pub pty: bool,
    /// The command has no input: where standard input is a terminal all the same, it is not the command's.
    pub detach: bool,
    /// Whose shell runs a command.
    pub shell: Shell,
    /// What to run.
    pub body: Body<'a>,
}

/// Whose shell runs a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// The account's, as sshd would have used it.
    #[default]
    Account,
    /// `sh`, whatever the account has: one that may not log in has none that runs anything.
    Posix,
}

/// What the start program runs in the end.
#[derive(Debug)]
pub enum Body<'a> {
    /// A command for the account's shell.
    Command(&'a [u8]),
    /// A script of so many bytes, which follows on standard input.
    Script {
        /// Its length.
        bytes: usize,
        /// Its `#!` line split as the kernel does: the interpreter, and at most one argument.
        interpreter: (&'a OsStr, Option<&'a OsStr>),
        /// Its name here, for its `$0`.
        name: &'a str,
        /// Its arguments, quoted.
        arguments: &'a [u8],
    },
}

impl Default for Body<'_> {
    fn default() -> Self {
        Self::Command(b"")
    }
}

/// The exec request for a start program of this length, which ends with the nonce: a part of it, or something else of that
/// length, is not run. It passes through every login shell unchanged: no quote inside, no `!`, no backslash.
pub fn loader(program: &[u8], nonce: &str) -> Vec<u8> {
    format!("exec sh -c '{}'", reader(program, nonce)).into_bytes()
}

/// The same as text for a POSIX shell that is there already; it may stand between single quotes.
pub fn reader(program: &[u8], nonce: &str) -> String {
    let length = program.len();
    format!("_sc=$(dd bs=1 count={length} 2>/dev/null); case $_sc in *\"#{nonce}\") eval \"$_sc\";; esac")
}

/// The start program. The only error is a NUL in a value, which no argument vector can hold.
pub fn program(start: &Start<'_>) -> Result<Vec<u8>, shlex::QuoteError> {
    let mut out = Vec::new();
    let mut line = |parts: &[&[u8]]| {
        for part in parts {
            out.extend_from_slice(part);
        }
        out.push(b'\n');
    };
    line(&[b"_sc_n=", start.nonce.as_bytes()]);
    line(&[br#"say() { printf '%s' "$_sc_n:$1;" || exit 1; }"#]);
    let script = matches!(start.body, Body::Script { .. });
    let posix = start.shell == Shell::Posix;
    if start.login && posix {
        line(&[b"cd 2>/dev/null"]);
    }
    if start.login && (script || posix) {
        line(&[b"for _sc_p in /etc/profile \"$HOME/.profile\"; do [ -r \"$_sc_p\" ] && . \"$_sc_p\"; done"]);
    }
    if let Body::Script { bytes, name, .. } = &start.body {
        line(&[RECEIVE.replace("@BYTES@", &bytes.to_string()).replace("@NAME@", name).as_bytes()]);
    }
    if let Some(cwd) = start.cwd {
        // CDPATH would send a relative directory elsewhere; without redirection cd may print where it went.
        let cwd = shell::quote(cwd)?;
        line(&[b"unset CDPATH; _sc_e=$(cd -- ", &cwd, b" 2>&1 >/dev/null) && cd -- ", &cwd, b" >/dev/null || {"]);
        line(&[b"say cwd; printf %s \"$_sc_e\"; exit 1; }"]);
    }
    for (name, value) in &start.exports {
        line(&[b"export ", name.as_bytes(), b"=", &shell::quote(OsStr::from_bytes(value.expose()))?]);
    }
    // A terminal in its usual modes gives a line at a time, and repeats what it is given: the word shall not be seen. What marks
    // the end of the input is told from data only in these modes, so they have to be there before the word.
    let terminal: &[u8] = match start {
        Start { pty: true, .. } => b"stty echo 2>/dev/null",
        Start { detach: true, .. } => b"[ -t 0 ] && exec </dev/null",
        _ => b":",
    };
    match &start.body {
        Body::Command(command) => {
            line(&[b"_sc_c=", &shell::quote(OsStr::from_bytes(command))?]);
            line(&[if start.pty { START_ON_TERMINAL } else { START }]);
            line(&[terminal]);
            line(&[match start.shell {
                Shell::Posix => POSIX_COMMAND,
                Shell::Account if start.login => LOGIN_COMMAND,
                Shell::Account => COMMAND,
            }]);
        }
        Body::Script { interpreter: (program, argument), name, arguments, .. } => {
            let argument = argument.map(shell::quote).transpose()?.unwrap_or_default();
            line(&[if start.pty { START_ON_TERMINAL } else { START }]);
            line(&[terminal]);
            line(&[&shell::quote(program)?, b" ", &argument, b" \"$_sc_d/", name.as_bytes(), b"\" ", arguments]);
            line(&[b"exit $?"]);
        }
    }
    line(&[]);
    out.pop();
    out.extend_from_slice(format!("#{}", start.nonce).as_bytes());
    Ok(out)
}

/// Says that all is ready, and waits for the word.
const START: &[u8] = br#"say start
[ "$(dd bs=1 count=3 2>/dev/null)" = "go;" ] || exit 1"#;

/// The same on a terminal, where the word is a line.
const START_ON_TERMINAL: &[u8] = br#"stty sane -echo 2>/dev/null
say start
[ "$(dd bs=1 count=4 2>/dev/null)" = "go;" ] || exit 1"#;

/// The account's shell, as sshd would have used it.
const COMMAND: &[u8] = br#"exec "${SHELL:-/bin/sh}" -c "$_sc_c""#;

/// Of a user whose own shell is not asked.
const POSIX_COMMAND: &[u8] = br#"exec sh -c "$_sc_c""#;

/// The same as a login shell. csh takes `-l` only alone, so there the profile is read by sh.
const LOGIN_COMMAND: &[u8] = br#"case ${SHELL##*/} in
bash|zsh|ksh*|mksh|fish|dash|ash|yash|sh) exec "$SHELL" -l -c "$_sc_c";;
esac
for _sc_p in /etc/profile "$HOME/.profile"; do [ -r "$_sc_p" ] && . "$_sc_p"; done
exec "${SHELL:-/bin/sh}" -c "$_sc_c""#;

/// Takes the script from standard input, no byte more, into a directory of its own. dd copies what one read gives, so the
/// loop counts what has arrived; a read that adds nothing is the end of the input.
const RECEIVE: &str = r#"_sc_m=$(umask); umask 077
_sc_d=${TMPDIR:-/tmp}/ssh-cli-$_sc_n
_sc_e=$(mkdir "$_sc_d" 2>&1) || { say staging; printf %s "$_sc_e"; exit 1; }
trap 'rm -rf "$_sc_d"' EXIT
trap : HUP INT TERM
_sc_l=@BYTES@
: >"$_sc_d/@NAME@"
while [ "$_sc_l" -gt 0 ]; do
_sc_b=$_sc_l; [ "$_sc_b" -gt 65536 ] && _sc_b=65536
dd bs="$_sc_b" count=1 2>/dev/null >>"$_sc_d/@NAME@" || { say staging; exit 1; }
_sc_h=$(wc -c <"$_sc_d/@NAME@"); _sc_h=$((@BYTES@ - _sc_h))
[ "$_sc_h" -eq "$_sc_l" ] && { say short; exit 1; }
_sc_l=$_sc_h
done
umask "$_sc_m""#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Output, Stdio};

    fn run(start: &Start<'_>, input: &[u8]) -> Output {
        let program = program(start).unwrap();
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(OsStr::from_bytes(&loader(&program, start.nonce)))
            .env_remove("BASH_ENV")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // The script comes before the mark, the caller's input after the word.
        let (script, rest) = input.split_at(match start.body {
            Body::Script { bytes, .. } => bytes.min(input.len()),
            Body::Command(_) => 0,
        });
        stdin.write_all(&[&program[..], script, GO, rest].concat()).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap()
    }

    #[test]
    fn the_command_gets_the_rest_of_the_input_and_the_environment() {
        let start = Start {
            nonce: "abc",
            cwd: Some(OsStr::new("/")),
            exports: vec![("GREETING", Secret::new(b"it's $HOME\nand more".to_vec()))],
            body: Body::Command(b"pwd; echo \"$GREETING\"; cat"),
            ..Start::default()
        };
        let out = run(&start, b"input\n");
        assert_eq!(String::from_utf8(out.stdout).unwrap(), "abc:start;/\nit's $HOME\nand more\ninput\n");
        assert_eq!(String::from_utf8(out.stderr).unwrap(), "");
    }

    #[test]
    fn a_missing_directory_starts_nothing() {
        let start = Start {
            nonce: "abc",
            cwd: Some(OsStr::new("/no such dir")),
            body: Body::Command(b"echo ran"),
            ..Start::default()
        };
        let out = run(&start, b"");
        let said = String::from_utf8(out.stdout).unwrap();
        assert!(said.starts_with("abc:cwd;") && said.contains("no such dir"), "{said}");
        assert!(!said.contains("ran") && out.stderr.is_empty());
    }

    #[test]
    fn every_truncation_of_the_program_runs_nothing() {
        let start = Start { nonce: "abc", body: Body::Command(b"echo ran"), ..Start::default() };
        let whole = program(&start).unwrap();
        for cut in (0..whole.len()).step_by(7) {
            let mut child = Command::new("sh")
                .arg("-c")
                .arg(OsStr::from_bytes(&loader(&whole, start.nonce)))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(&whole[..cut]).unwrap();
            assert_eq!(child.wait_with_output().unwrap().stdout, b"", "cut at {cut}");
        }
    }

    #[test]
    fn without_the_word_nothing_starts() {
        let start = Start { nonce: "abc", body: Body::Command(b"echo ran"), ..Start::default() };
        let whole = program(&start).unwrap();
        let loader = loader(&whole, start.nonce);
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(OsStr::from_bytes(&loader))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&[&whole[..], b"gone"].concat()).unwrap();
        assert_eq!(child.wait_with_output().unwrap().stdout, b"abc:start;");
    }

    fn script(bytes: usize) -> Start<'static> {
        let body =
            Body::Script { bytes, interpreter: (OsStr::new("sh"), None), name: "job", arguments: b"one 'two  words'" };
        Start { nonce: "abcscript", body, ..Start::default() }
    }

    #[test]
    fn a_script_runs_whole_with_its_arguments_and_leaves_nothing() {
        let text = b"echo \"$# $2 a!b\" 'c$d' \"e'f\" \xc3\xbc\ncat\nexit 7";
        let out = run(&script(text.len()), &[&text[..], b"its input"].concat());
        assert_eq!(String::from_utf8(out.stdout).unwrap(), "abcscript:start;2 two  words a!b c$d e'f ü\nits input");
        assert_eq!(out.status.code(), Some(7));
        assert!(!std::env::temp_dir().join("ssh-cli-abcscript").exists());
    }

    #[test]
    fn a_script_that_is_cut_short_runs_no_line() {
        let mut start = script(1000);
        start.nonce = "abcshort";
        let out = run(&start, b"echo ran\n");
        assert_eq!(String::from_utf8(out.stdout).unwrap(), "abcshort:short;");
        assert!(!std::env::temp_dir().join("ssh-cli-abcshort").exists());
    }

    #[test]
    fn a_large_script_arrives_whole() {
        let mut text = b"wc -c <\"$0\"\n".to_vec();
        text.resize(300_000, b'#');
        let mut start = script(text.len());
        start.nonce = "abclarge";
        let out = run(&start, &text);
        assert_eq!(String::from_utf8(out.stdout).unwrap().split_once(';').unwrap().1.trim(), "300000");
    }
}
