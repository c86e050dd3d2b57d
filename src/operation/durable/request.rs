//! What the client says.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::cksum::Cksum;
use crate::model::operation::Fingerprint;
use crate::secret::Secret;
use crate::shell;

/// The most bytes that the text part may have: it travels as one string of an environment, of which Linux takes 128 KiB.
pub const TEXT_MAX_BYTES: usize = 100_000;

/// The most that the program computes with: some shells have 32 bits.
const NUMBER_MAX: u64 = 2_000_000_000;

/// In what the command's outputs are cut.
const CAP_BLOCK_BYTES: u64 = 65_536;

/// What stands in the gate for a request.
pub fn fingerprint_word(fingerprint: &Fingerprint) -> String {
    fingerprint.as_str().chars().take(12).collect()
}

/// How the command is run in the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// `$SHELL -c`, as sshd does.
    User,
    /// `sh -c`, with the path of the script part as `$1`.
    Sh,
    /// `$SHELL`, with the script part as its file.
    File,
}

/// A part that travels after the line.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its bytes.
    pub length: u64,
    /// Their `cksum`.
    pub crc: u32,
}

impl Part {
    /// The part that has these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len() as u64, crc: Cksum::of(bytes) }
    }
}

/// All that is said with GO; the bytes of text, script and input follow in this order.
#[derive(Clone, Copy, Debug)]
pub struct Go<'a> {
    /// Which permission to start once is used.
    pub generation: u32,
    /// This invocation's random id: hex, up to 16 digits.
    pub attempt: &'a str,
    /// The first 12 hex digits of the request's fingerprint.
    pub fingerprint: &'a str,
    /// How long it may run, from its start; kept on the host. Up to 23 days.
    pub deadline: Option<Duration>,
    /// From TERM to KILL.
    pub grace: Duration,
    /// The bytes of each output that are kept.
    pub cap_bytes: u64,
    /// How it is run.
    pub mode: Mode,
    /// Exports, directory and command: [`text`].
    pub text: Part,
    /// A script.
    pub script: Option<Part>,
    /// Standard input.
    pub input: Option<Part>,
}

/// What a person says about an operation that nobody can know the end of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Resolution {
    /// It has not happened; the next generation may start.
    NotDone,
    /// It has, with this status.
    Done(u8),
}

/// One line of the client.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// Start, if nobody has.
    Go(Go<'a>),
    /// Follow from these offsets.
    Attach { generation: u32, out: u64, err: u64 },
    /// Tell.
    State { generation: u32 },
    /// Nothing shall start any more.
    Fence { generation: u32 },
    /// Fence or stop.
    Cancel { generation: u32, grace: Duration },
    /// The end is safe here.
    Ack { generation: u32 },
    /// A person's word.
    Resolve { generation: u32, resolution: Resolution },
    /// Remove what is old. A host does so by itself.
    #[cfg(test)]
    Collect,
    /// A sign of life.
    Alive,
    /// No more.
    Bye,
}

impl Request<'_> {
    /// The line, with its line feed.
    pub fn line(&self) -> String {
        match self {
            Self::Go(go) => go.line(),
            Self::Attach { generation, out, err } => format!("ATTACH {generation} {out} {err} .\n"),
            Self::State { generation } => format!("STATE {generation} .\n"),
            Self::Fence { generation } => format!("FENCE {generation} .\n"),
            Self::Cancel { generation, grace } => format!("CANCEL {generation} {} .\n", millis(*grace)),
            Self::Ack { generation } => format!("ACK {generation} .\n"),
            Self::Resolve { generation, resolution: Resolution::NotDone } => {
                format!("RESOLVE {generation} notdone .\n")
            }
            Self::Resolve { generation, resolution: Resolution::Done(status) } => {
                format!("RESOLVE {generation} done {status} .\n")
            }
            #[cfg(test)]
            Self::Collect => "GC 0 .\n".to_owned(),
            Self::Alive => "ALIVE\n".to_owned(),
            Self::Bye => "BYE\n".to_owned(),
        }
    }
}

impl Go<'_> {
    fn line(&self) -> String {
        let Self { generation, attempt, fingerprint, text, .. } = self;
        // No deadline is 0, so the shortest one is not.
        let deadline = self.deadline.map_or(0, |deadline| millis(deadline).max(1));
        let cap = (self.cap_bytes.min(NUMBER_MAX) / CAP_BLOCK_BYTES).max(1) * CAP_BLOCK_BYTES;
        let mode = match self.mode {
            Mode::User => "user",
            Mode::Sh => "sh",
            Mode::File => "file",
        };
        let part = |part: Option<Part>| {
            part.map_or_else(|| "- -".to_owned(), |Part { length, crc }| format!("{length} {crc}"))
        };
        format!(
            "GO {generation} {attempt} {fingerprint} {deadline} {} {cap} {mode} {} {} {} .\n",
            millis(self.grace),
            part(Some(*text)),
            part(self.script),
            part(self.input),
        )
    }
}

/// Milliseconds, rounded up.
fn millis(span: Duration) -> u64 {
    let millis = span.as_nanos().div_ceil(1_000_000);
    u64::try_from(millis).unwrap_or(NUMBER_MAX).min(NUMBER_MAX)
}

/// The text part: what is exported, where it runs, and the command, which may be empty where the script part is what runs.
///
/// The only error is a NUL in a value, which no argument vector can hold.
pub fn text(exports: &[(&str, &Secret)], cwd: Option<&OsStr>, command: &[u8]) -> Result<Secret, shlex::QuoteError> {
    let mut out = Vec::new();
    if let Some(cwd) = cwd {
        out.extend_from_slice(b"CDPATH= cd -- ");
        out.extend_from_slice(&shell::quote(cwd)?);
        out.extend_from_slice(b" >/dev/null || _why=cwd\n");
    }
    for (name, value) in exports {
        out.extend_from_slice(b"export ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        out.extend_from_slice(&shell::quote(OsStr::from_bytes(value.expose()))?);
        out.push(b'\n');
    }
    out.extend_from_slice(b"_cmd=");
    out.extend_from_slice(&shell::quote(OsStr::from_bytes(command))?);
    out.push(b'\n');
    Ok(Secret::new(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_says_all_of_it_in_one_line() {
        let go = Go {
            generation: 2,
            attempt: "00ff",
            fingerprint: "0123456789ab",
            deadline: Some(Duration::from_micros(1_500_001)),
            grace: Duration::from_millis(700),
            cap_bytes: 100_000,
            mode: Mode::Sh,
            text: Part::of(b"_cmd=''\n"),
            script: None,
            input: Some(Part::of(b"")),
        };
        let crc = Cksum::of(b"_cmd=''\n");
        let line = format!("GO 2 00ff 0123456789ab 1501 700 65536 sh 8 {crc} - - 0 4294967295 .\n");
        assert_eq!(Request::Go(go).line(), line);
        // Neither a deadline of nothing nor one of a century is none.
        let of = |deadline| Request::Go(Go { deadline, ..go }).line().split(' ').nth(4).unwrap().to_owned();
        assert_eq!(of(Some(Duration::ZERO)), "1");
        assert_eq!(of(Some(Duration::from_secs(3_000_000_000))), "2000000000");
        assert_eq!(of(None), "0");
    }

    #[test]
    fn the_text_quotes_what_it_is_given() {
        let secret = Secret::new(b"it's $HOME".to_vec());
        let text = text(&[("TOKEN", &secret)], Some(OsStr::new("/a b")), b"echo 'x'").unwrap();
        let script = [text.expose(), b"printf '%s|%s|%s' \"$TOKEN\" \"$_cmd\" \"$_why\""].concat();
        let out = std::process::Command::new("sh").arg("-c").arg(OsStr::from_bytes(&script)).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stdout), "it's $HOME|echo 'x'|cwd");
    }
}
