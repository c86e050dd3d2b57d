//! A POSIX shell on the host that does what the protocol has no word for: looks, makes directories, compares, renames.
//!
//! It reads one command a line and answers each, in order, with what the command said and a mark with its status. So many can
//! be on their way at once, and none is as long as to be dropped by a server.

use bytes::Bytes;

use super::super::{Broken, Line};
use super::AGAIN;
use super::said::quoted;
use super::sink::no_protocol;
use super::wire::{Ended, Wire, lost};
use super::words;
use crate::connection::Patience;
use crate::errors::Fault;
use crate::model::outcome::Phase;

/// The most that one answer may hold.
const ANSWER_MAX: usize = 64 * 1024;

/// A shell that waits for the next errand.
pub struct Errands {
    wire: Wire,
    tag: String,
    mark: Vec<u8>,
    resting: bool,
    /// What came instead of an answer.
    noise: Vec<u8>,
    /// Where the account begins.
    pub home: Vec<u8>,
    /// What its umask takes away.
    pub umask: u32,
}

/// What came of an errand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its exit status.
    pub status: u32,
    /// What it said.
    pub text: Vec<u8>,
}

/// The status of what was not done because something is there, and stays.
pub const EXISTS: u32 = 6;

/// What the shell knows before the first errand. Each is one line; `$1` is always the file or directory that it is about.
const KNOWS: [&str; 11] = [
    "unset CDPATH; LC_ALL=C; export LC_ALL",
    // What stands there; links are followed.
    r#"stands() { if [ -d "$1" ]; then echo directory; elif [ -e "$1" ]; then echo other; else echo missing; fi; }"#,
    // Makes a directory, for us alone as long as it is filled; of one that is there it tells the mode, and opens it.
    r#"enter() { if e=$( (umask 077; mkdir "$1") 2>&1 ); then echo new; elif [ -d "$1" ]; then ls -lnd "$1/." || return; [ -w "$1" ] && [ -x "$1" ] || chmod u+rwx "$1" 2>/dev/null; return 0; else [ -e "$1" ] && e='Not a directory'; echo "$e"; return 1; fi; }"#,
    // Whether there is something to be read in a file that says it has no bytes, as in /proc: 0, 1 where there is not, 5 where that
    // is not known.
    r#"holds() { [ -f "$1" ] && [ -r "$1" ] || return 5; n=$(head -c 1 <"$1" 2>/dev/null | wc -c) || return 5; [ "$n" -gt 0 ]; }"#,
    // Its SHA-256, somewhere in what is printed.
    r#"sum() { sha256sum <"$1" 2>/dev/null || shasum -a 256 <"$1" 2>/dev/null || openssl dgst -sha256 <"$1" 2>/dev/null; }"#,
    // $2: its size; $3: the hash that it has to have. 3: it is not all there; 4: it differs; 5: nothing can hash; 7: it is not there.
    r#"same() { [ -f "$1" ] || return 7; n=$(wc -c <"$1") || return 1; [ "$n" -eq "$2" ] || return 3; [ -z "$3" ] && return 0; h=$(sum "$1") || return 5; case $h in *"$3"*) ;; *) return 4;; esac; }"#,
    // $2: USER:GROUP, or nothing; $3: its mode, or nothing.
    r#"dress() { [ -z "$2" ] || chown "$2" "$1" 2>/dev/null || chgrp "${2#*:}" "$1" 2>/dev/null || echo group; [ -z "$3" ] || chmod "$3" "$1"; }"#,
    // $2: its name; $3: not empty where nothing may be replaced.
    r#"name() { sync -d "$1" 2>/dev/null; if [ -n "$3" ]; then ln "$1" "$2" 2>/dev/null && { rm -f "$1"; return; }; [ -e "$2" ] || [ -h "$2" ] && return 6; fi; [ -d "$2" ] && { echo 'Is a directory'; return 1; }; [ -e "$2" ] && [ ! -f "$2" ] && { echo 'not a regular file'; return 1; }; mv -f "$1" "$2"; }"#,
    // $2: its name; $3: size; $4: hash; $5: owner; $6: mode; $7: nothing is replaced.
    r#"land() { { same "$1" "$3" "$4" && dress "$1" "$5" "$6" && name "$1" "$2" "$7"; } 2>&1; s=$?; [ "$s" = 0 ] || rm -f "$1"; return "$s"; }"#,
    // The same of one that was written in its place. $2: size; $3: hash; $4: mode.
    r#"stay() { { same "$1" "$2" "$3" && dress "$1" '' "$4"; } 2>&1; }"#,
    // $2: what the link says; $3: a name for it beside; $4: nothing is replaced.
    r#"link() { { [ -h "$1" ] && [ "$(readlink "$1")" = "$2" ] && return 0; if [ -e "$1" ] || [ -h "$1" ]; then [ -n "$4" ] && return 6; [ -h "$1" ] || [ -f "$1" ] || { if [ -d "$1" ]; then echo 'Is a directory'; else echo 'not a regular file'; fi; return 1; }; fi; rm -f "$3"; ln -s -- "$2" "$3" || return 1; [ -h "$1" ] && [ -d "$1" ] && rm -f "$1"; mv -f "$3" "$1"; } 2>&1; }"#,
];

impl Errands {
    /// Begins. `tag`: of the attempt. The fault of a host without such a shell names `what` needs it.
    pub async fn begin(line: Line<'_>, patience: &Patience, tag: &str, what: &str) -> Result<Self, Broken> {
        let mark = format!("ssh-cli-{tag}");
        // Nothing in it that a shell which is not a POSIX one would read otherwise.
        let program = format!(
            "exec sh -c 'while IFS= read -r l; do eval \"$l\" </dev/null; s=$?; echo; echo \"{mark} $s.\"; done'"
        );
        let mut wire = Wire::start(line, patience, program.as_bytes()).await?;
        let mark = [mark.as_bytes(), b" "].concat();
        let mut lines = KNOWS.join("\n").into_bytes();
        lines.extend_from_slice(b"\npwd\numask\n");
        let sent = wire.send(lines.into()).await;
        let (tag, noise, home) = (tag.to_owned(), Vec::new(), Vec::new());
        let mut shell = Self { wire, tag, mark, resting: false, noise, home, umask: 0o022 };
        let begun = async {
            sent?;
            for _ in KNOWS {
                shell.answer().await?;
            }
            Ok::<_, Ended>((shell.answer().await?, shell.answer().await?))
        };
        let (home, umask) = match begun.await {
            Ok(both) => both,
            Err(ended) => return Err(shell.never_began(&ended, what)),
        };
        shell.home = home.text;
        let bits = std::str::from_utf8(&umask.text).ok().and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
        shell.umask = bits.unwrap_or(shell.umask) & 0o777;
        Ok(shell)
    }

    /// Ends it for now; its session is free then. Nothing may be on its way to it.
    pub async fn rest(&mut self, line: Line<'_>) {
        self.wire.release(line).await;
        self.resting = true;
    }

    /// Whether it has ended for now.
    pub fn is_resting(&self) -> bool {
        self.resting
    }

    /// Begins anew.
    pub async fn wake(&mut self, line: Line<'_>) -> Result<(), Fault> {
        let patience = Patience::new(Some(AGAIN), None);
        let begun = Self::begin(line, &patience, &self.tag, "the rest of the copy");
        *self = match patience.within(line.address, Phase::Channel, begun).await? {
            Ok(shell) => shell,
            Err(Broken::Fault(fault) | Broken::NoProtocol(fault)) => return Err(fault),
        };
        Ok(())
    }

    fn never_began(&self, ended: &Ended, what: &str) -> Broken {
        if matches!(ended, Ended::Over) && self.noise.is_empty() && !self.wire.is_refused() {
            // Nothing is run there: nor will scp be.
            let said = quoted(self.wire.stderr());
            return Broken::NoProtocol(if said.is_empty() {
                Fault::NoTransferProtocol
            } else {
                Fault::NoPosixShell { options: what.to_owned(), said }
            });
        }
        no_protocol(&self.wire, ended, &self.noise)
    }

    /// Sends one without waiting.
    pub async fn send(&mut self, command: Vec<u8>) -> Result<(), Fault> {
        let mut line = command;
        if line.contains(&b'\n') {
            return Err(Fault::Internal { problem: "an errand of two lines".to_owned() });
        }
        line.push(b'\n');
        let sent = self.wire.send(Bytes::from(line)).await;
        sent.map_err(|ended| self.broke(&ended))
    }

    /// The answer to the oldest one that was sent.
    pub async fn next(&mut self) -> Result<Answer, Fault> {
        let answer = self.answer().await;
        answer.map_err(|ended| self.broke(&ended))
    }

    async fn answer(&mut self) -> Result<Answer, Ended> {
        let mut text = Vec::new();
        loop {
            let line = match self.wire.line(ANSWER_MAX).await {
                Ok(line) => line,
                Err(ended) => {
                    self.noise = text;
                    return Err(ended);
                }
            };
            if let Some(status) = line.strip_prefix(&self.mark[..]).and_then(status) {
                while text.last() == Some(&b'\n') {
                    text.pop();
                }
                return Ok(Answer { status, text });
            }
            text.extend_from_slice(&line);
            text.push(b'\n');
            if text.len() > ANSWER_MAX {
                return Err(Ended::TooMuch);
            }
        }
    }

    fn broke(&self, ended: &Ended) -> Fault {
        let problem = match ended {
            Ended::Lost(problem) => return lost(problem),
            Ended::Over => format!("its shell ended early: {}", quoted(self.wire.stderr())),
            Ended::TooMuch => "its shell says more than it was asked for".to_owned(),
        };
        Fault::ServerViolation { problem, phase: Phase::Transfer }
    }
}

/// `STATUS.`
fn status(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text.strip_suffix(b".")?).ok()?.parse().ok()
}

/// A command of these words, each as it is.
pub fn command(name: &str, arguments: &[&[u8]]) -> Vec<u8> {
    let mut out = name.as_bytes().to_vec();
    for argument in arguments {
        out.push(b' ');
        out.extend_from_slice(&words::quoted(argument));
    }
    out
}
