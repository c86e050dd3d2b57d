//! The words of one line, and what they mean.

use super::wire::{Detached, End, Event, Fence, Flags, Hello, Life, NoRoot, Settled, State, Stream};

/// The longest word but the root's path.
const WORD_MAX_BYTES: usize = 200;

/// The largest offset or size: what a file may have.
const SIZE_MAX: u64 = 1 << 62;

/// A line between the nonce and the last ` .`, both taken off.
pub struct Words<'a> {
    line: &'a [u8],
    words: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// None where the line does not end as ours do.
    pub fn new(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_suffix(b" .")?;
        // More than any line has; of bytes that are no words there are none.
        let words = line.split(|byte| *byte == b' ').take(32).map(word).collect();
        Some(Self { line, words })
    }

    /// The first line of all, or the version of a HELLO that is not ours.
    pub fn first(&self) -> Result<Event, Option<u64>> {
        match self.words[..] {
            ["HELLO", "1", root_id, node, boot, namespace, uid, ..] => {
                let hello = || {
                    // The path comes last, for it may hold blanks.
                    let root =
                        self.line.splitn(8, |byte| *byte == b' ').nth(7).filter(|root| root.starts_with(b"/"))?;
                    Some(Hello {
                        root_id: token(root_id)?,
                        node: token(node)?,
                        boot: token(boot)?,
                        namespace: token(namespace)?,
                        uid: number(uid)?,
                        root: String::from_utf8_lossy(root).into_owned(),
                    })
                };
                hello().map(Event::Hello).ok_or(None)
            }
            ["HELLO", version, ..] => Err(number(version)),
            ["NOROOT", "unsupported", why] => Ok(Event::NoRoot(NoRoot::Unsupported, why.to_owned())),
            ["NOROOT", "unwritable", why] => Ok(Event::NoRoot(NoRoot::Unwritable, why.to_owned())),
            _ => Err(None),
        }
    }

    /// The head of a frame: stream, offset and length.
    pub fn frame(&self) -> Option<(Stream, u64, u64)> {
        let (stream, offset, length) = match self.words[..] {
            ["O", offset, length] => (Stream::Out, offset, length),
            ["E", offset, length] => (Stream::Err, offset, length),
            _ => return None,
        };
        Some((stream, size(offset)?, size(length)?))
    }

    /// Any other line.
    pub fn event(&self) -> Option<Event> {
        Some(match self.words[..] {
            ["STATE", generation, name, attempt, fp, rc, out, err, flags, why, settled, ack] => {
                Event::State(state([generation, name, attempt, fp, rc, out, err, flags, why, settled, ack])?)
            }
            ["STARTED", generation, attempt, isolation, signals, detach] => {
                let detached = Detached {
                    isolation: isolation.to_owned(),
                    ignores_sigint: signals != "default",
                    session_bound: detach != "ok",
                };
                Event::Started { generation: number(generation)?, attempt: hex(attempt)?, detached }
            }
            ["EXISTS", generation, attempt] => {
                Event::Exists { generation: number(generation)?, attempt: hex(attempt)? }
            }
            ["MISMATCH", generation, attempt, fp] => {
                Event::Mismatch { generation: number(generation)?, attempt: hex(attempt)?, fingerprint: hex(fp)? }
            }
            ["FENCED", generation, why] => Event::Fenced { generation: number(generation)?, fence: fence(why)? },
            ["SHORT", generation, part] => Event::Short { generation: number(generation)?, part: part.to_owned() },
            ["REFUSED", generation, why] => Event::Refused { generation: number(generation)?, why: why.to_owned() },
            ["UNSETTLED", generation] => Event::Unsettled { generation: number(generation)? },
            ["TICK", life] => Event::Tick(self::life(life)?),
            ["END", generation, rc, out, err, flags, out_sum, err_sum] => {
                let end = end(rc, out, err, flags)?;
                let sums = match (out_sum, err_sum) {
                    ("-", _) | (_, "-") => None,
                    (out, err) => Some((number(out)?, number(err)?)),
                };
                Event::End { generation: number(generation)?, end, sums }
            }
            ["ACKED", generation] => Event::Acked { generation: number(generation)? },
            ["GC", "0"] => Event::Collected,
            _ => return None,
        })
    }
}

/// Printable ASCII, or a word that means nothing.
fn word(bytes: &[u8]) -> &str {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if text.bytes().all(|byte| byte.is_ascii_graphic()) && text.len() <= WORD_MAX_BYTES { text } else { "" }
}

fn token(word: &str) -> Option<String> {
    (!word.is_empty()).then(|| word.to_owned())
}

fn hex(word: &str) -> Option<String> {
    let digits = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    ((1..=16).contains(&word.len()) && word.bytes().all(digits)).then(|| word.to_owned())
}

/// Digits alone: Rust would take a plus sign too.
fn number<T: std::str::FromStr>(word: &str) -> Option<T> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
}

fn size(word: &str) -> Option<u64> {
    number(word).filter(|size| *size <= SIZE_MAX)
}

fn life(word: &str) -> Option<Life> {
    Some(match word {
        "none" => Life::None,
        "running" => Life::Running,
        "orphan" => Life::Orphan,
        "dead" => Life::Dead,
        "foreign" => Life::Foreign,
        "done" => Life::Done,
        "fenced" => Life::Fenced,
        _ => return None,
    })
}

fn fence(word: &str) -> Option<Fence> {
    Some(match word {
        "cancel" => Fence::Cancelled,
        "resolve" => Fence::Resolved,
        "broken" => Fence::Broken,
        _ => return None,
    })
}

/// What `done` holds.
fn end(rc: &str, out: &str, err: &str, flags: &str) -> Option<End> {
    let mut seen = Flags::default();
    for letter in flags.chars().filter(|letter| *letter != '-') {
        *match letter {
            'l' => &mut seen.lost,
            'c' => &mut seen.cancelled,
            'd' => &mut seen.deadline,
            'o' => &mut seen.operator,
            't' => &mut seen.out_cut,
            'u' => &mut seen.err_cut,
            'h' => &mut seen.held,
            'x' => &mut seen.expired,
            _ => return None,
        } = true;
    }
    let status = if rc == "-" { None } else { Some(number(rc)?) };
    // A status that is neither known nor lost would be a claim of ours.
    if status.is_none() != seen.lost {
        return None;
    }
    Some(End { status, out: size(out)?, err: size(err)?, flags: seen })
}

fn state([generation, name, attempt, fp, rc, out, err, flags, why, settled, ack]: [&str; 11]) -> Option<State> {
    let life = life(name)?;
    let end = if [rc, out, err, flags] == ["-"; 4] { None } else { Some(end(rc, out, err, flags)?) };
    if end.is_some() != (life == Life::Done) {
        return None;
    }
    Some(State {
        generation: number(generation)?,
        life,
        gate: if attempt == "-" { None } else { Some((hex(attempt)?, hex(fp)?)) },
        end,
        fence: if why == "-" { None } else { Some(fence(why)?) },
        settled: match settled {
            "-" => None,
            "notdone" => Some(Settled::NotDone),
            other => Some(Settled::Done(number(other.strip_prefix("done-")?)?)),
        },
        acknowledged: match ack {
            "0" => false,
            "1" => true,
            _ => return None,
        },
    })
}
