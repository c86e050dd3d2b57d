//! The texts of the exec requests. Each is a line that every login shell passes on unchanged: single quotes around, and inside no
//! quote, no `!` and no backslash.
//!
//! A small shell of the account's own begins. It says whether the program is there, puts aside the locale for the program's
//! words, and says on both streams that the program is next: what a shell's start-up files print or ask is before that.
//!
//! No text holds a mark as it is printed: sudo repeats the command that it does not permit, and that must not look like one.

use std::ffi::{OsStr, OsString};

use super::{Elevated, Place};
use crate::model::request::Method;
use crate::shell;

/// How the exec request for an elevated run is made.
#[derive(Debug)]
pub struct Line<'a> {
    /// By whom and as whom.
    pub elevated: &'a Elevated,
    /// The nonce of the words of this channel.
    pub nonce: &'a str,
    /// The other user's own surroundings.
    pub login: bool,
}

/// Gives the account's locale back to what runs in the end, where the program passed the one on that was set for its words.
const LOCALE: &str = r#"if [ "${LC_ALL-}" = C ]; then if [ -n "${1-}" ]; then LC_ALL=$1; else unset LC_ALL; fi; fi"#;

/// Says that the rights are there, and under which numbers.
const READY: &str = r#"read -r _sc_x _sc_x _sc_x _sc_x _sc_g _sc_x 2>/dev/null </proc/$$/stat || _sc_g=$(ps -o pgid= -p $$ 2>/dev/null); printf %s:%s @NONCE@ "ready;$$ ${_sc_g:-0};""#;

/// Ends a group: reads the names of signals, a line each, and says when nothing of it is left. A process that is dead and not yet
/// asked about still takes signals, and one of another user looks as if it were gone, so `/proc` is read where it shows all; that
/// is slow on a busy host, and the next signal waits meanwhile, so it is read only where a signal does not say already that
/// something is left, and once before the next one.
const STOP: &str = r#"left() { [ -r /proc/1/stat ] || { kill -s 0 @WHOM@; return; }; for f in /proc/[0-9]*/stat; do read -r l <$f || continue; set -- ${l##*) }; case $1:$3: in [ZX]:*) ;; *:@GROUP@:) return 0;; esac; done 2>/dev/null; return 1; }; while read -r s; do kill -s $s @WHOM@ 2>/dev/null; i=0; while [ $i -lt 8 ]; do i=$((i+1)); { [ $i -lt 8 ] && kill -s 0 @WHOM@ 2>/dev/null; } || left 2>/dev/null || { printf %s:%s @NONCE@ "gone;"; exit 0; }; sleep 0.1 2>/dev/null || sleep 1; done; done"#;

/// What comes before the program.
const BEFORE: &str = r#"command -v @METHOD@ >/dev/null 2>&1 || { printf %s:%s @NONCE@ "absent;"; exit 127; }; _sc_l=${LC_ALL-}; export _sc_l; printf %s:%s @NONCE@ "next;"; printf %s:%s @NONCE@ "next;" >&2;"#;

impl Line<'_> {
    /// Runs `body`, text for a POSIX shell without single quotes, with the other user's rights.
    fn request(&self, body: &str) -> Result<Vec<u8>, shlex::QuoteError> {
        let method = match self.elevated.method {
            Method::Sudo => "sudo",
            Method::Su => "su",
        };
        let before = self.fill(&BEFORE.replace("@METHOD@", method));
        let user = shell::quote(OsStr::new(&self.elevated.user))?;
        let user = String::from_utf8_lossy(&user);
        let ready = self.fill(READY);
        let text = match self.elevated.method {
            Method::Sudo => {
                let home = if self.login { "-H " } else { "" };
                let ask = self.ask();
                format!(
                    "exec sh -c '{before} LC_ALL=C; export LC_ALL; exec sudo \"$@\" \"$_sc_l\"' sudo {ask} {home}-u {user} -- sh -c \
                     '{LOCALE}; {ready}; {body}' sh"
                )
            }
            Method::Su => {
                // The quotes of the inner command line come as a word of their own: there are none inside single quotes.
                let login = if self.login { "- " } else { "" };
                format!(
                    "exec sh -c '{before} LC_ALL=C; export LC_ALL; exec su {login}\"$1\" -c \"exec sh -c $3$2$3\"' su {user} \
                     'set -- \"${{_sc_l-}}\"; unset _sc_l; {LOCALE}; {ready}; {body}' \"'\""
                )
            }
        };
        Ok(text.into_bytes())
    }

    /// The request for a start program, which is read by `reader` ([`crate::operation::exec::start::reader`]).
    pub fn run(&self, reader: &str) -> Result<Vec<u8>, shlex::QuoteError> {
        self.request(reader)
    }

    /// The request that stops what runs in this place.
    pub fn stop(&self, place: Place) -> Result<Vec<u8>, shlex::QuoteError> {
        let whom = match place {
            Place { group, .. } if group > 1 => format!("-- -{group}"),
            Place { pid, .. } => pid.to_string(),
        };
        // Where the host did not tell the group, nothing is claimed of it.
        let group = if place.group > 1 { place.group.to_string() } else { "*".to_owned() };
        let text = STOP.replace("@WHOM@", &whom).replace("@GROUP@", &group);
        self.request(&self.fill(&text))
    }

    /// The request for a command that sudo itself starts. Whether it would is asked first, in words that do not start
    /// anything; so the command's own words are not taken for sudo's.
    pub fn direct(&self, argv: &[OsString]) -> Result<Vec<u8>, shlex::QuoteError> {
        let user = OsString::from(&self.elevated.user);
        let words: Vec<&OsStr> = [OsStr::new("-u"), &user, OsStr::new("--")]
            .into_iter()
            .chain(argv.iter().map(OsString::as_os_str))
            .collect();
        let words = String::from_utf8_lossy(&shell::join(&words)?).into_owned();
        let before = self.fill(&BEFORE.replace("@METHOD@", "sudo"));
        let rest = self.fill(if self.elevated.password.is_some() { DIRECT_ASKED } else { DIRECT });
        let list = self.fill(DIRECT_LIST);
        Ok(format!("exec sh -c '{before} {list} {rest}' sudo {words}").into_bytes())
    }

    fn ask(&self) -> String {
        match self.elevated.password {
            Some(_) => format!("-S -p '{}:password;'", self.nonce),
            None => "-n".to_owned(),
        }
    }

    fn fill(&self, text: &str) -> String {
        text.replace("@NONCE@", self.nonce)
    }
}

/// What both ways need. `allowed` fails where the command is not in the list; a list that itself needs a password tells nothing.
const DIRECT_LIST: &str = r#"allowed() { _sc_e=$(LC_ALL=C sudo -n -l "$@" 2>&1 >/dev/null </dev/null) && return; case $_sc_e in *password*|*authentication*) return 1;; esac; refuse "$_sc_e"; }; refuse() { printf %s "${1:-it is not in the list}" >&2; exit 1; }; ready() { printf %s:%s @NONCE@ "ready;0 0;"; unset _sc_l; };"#;

/// Without a password: where the list says no word against it, sudo is not to ask either.
const DIRECT: &str = r#"allowed "$@" || refuse "$_sc_e"; ready; exec sudo -n "$@""#;

/// With a password: every sudo is a child of one shell, for without a terminal the parent is what sudo remembers a password by. It is
/// asked for where sudo would ask, by the list or else by the check of the password alone; and where it remembers nothing, asked
/// for a second time with a prompt that stands in no list of processes, since what runs then could read one and print it.
const DIRECT_ASKED: &str = r#"_sc_a=""; allowed "$@" || { _sc_a=1; LC_ALL=C sudo -S -p "@NONCE@:password;" -l "$@" >/dev/null || refuse; }; cached() { LC_ALL=C sudo -n -v >/dev/null 2>&1 </dev/null; }; cached || [ "$_sc_a" ] || LC_ALL=C sudo -S -p "@NONCE@:password;" -v || exit 1; if cached; then ready; sudo -n "$@"; exit $?; fi; SUDO_PROMPT=$(dd if=/dev/urandom bs=16 count=1 2>/dev/null | od -An -tx1 | tr -cd 0-9a-f); export SUDO_PROMPT; printf %s:%s @NONCE@ "again;$SUDO_PROMPT;"; unset _sc_l; sudo -S "$@"; exit $?"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<String> {
        let mut lines = Vec::new();
        for (method, password) in [(Method::Sudo, None), (Method::Sudo, Some("hunter2")), (Method::Su, Some("hunter2"))]
        {
            let password = password.map(|password| crate::secret::Secret::new(password.into()));
            let elevated = Elevated { method, user: "web-1".into(), password, direct: false, stop_nonce: "0a".into() };
            let line = Line { elevated: &elevated, nonce: "5f0c1a", login: true };
            lines.push(line.run("_sc=$(dd)").unwrap());
            lines.push(line.stop(Place { pid: 12, group: 34 }).unwrap());
            lines.push(line.stop(Place { pid: 12, group: 0 }).unwrap());
            lines.push(line.direct(&["id".into(), "-u".into()]).unwrap());
        }
        lines.into_iter().map(|line| String::from_utf8(line).unwrap()).collect()
    }

    #[test]
    fn every_login_shell_passes_the_lines_on() {
        for line in lines() {
            assert!(!line.contains(['!', '\\', '\n']) && line.starts_with("exec sh -c '"), "{line}");
            assert!(
                !line.contains("hunter2")
                    && !["@NONCE", "@WHOM", "@GROUP", "@METHOD"].iter().any(|part| line.contains(part)),
                "{line}"
            );
            // Between single quotes there is none; one word of su's is a single quote between double ones.
            assert_eq!(line.replace("\"'\"", "").matches('\'').count() % 2, 0, "{line}");
        }
    }

    #[test]
    fn no_line_holds_a_mark_as_it_is_printed() {
        for line in lines() {
            for mark in ["absent;", "next;", "ready;", "again;", "gone;", "start;"] {
                assert!(!line.contains(&format!("5f0c1a:{mark}")), "{line}");
            }
        }
    }

    #[test]
    fn the_texts_are_sound() {
        for line in lines() {
            for shell in ["sh", "bash"] {
                let out = std::process::Command::new(shell).args(["-n", "-c", &line]).output().unwrap();
                assert!(out.status.success(), "{shell}: {line}: {out:?}");
            }
        }
    }
}
