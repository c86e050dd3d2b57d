//! What the program says, read from bytes that may be anything.
//!
//! The parser keeps one line at most, hands out the bytes of frames as they lie in the input, and accepts nothing that the
//! protocol ([`super`]) does not have: after the first [`Broken`] the channel is of no more use.

use super::words::Words;

/// The longest line of the program: its root may be a path of 4,096 bytes.
const LINE_MAX_BYTES: usize = 8192;

/// How much a log-in may print before HELLO.
const NOISE_MAX_BYTES: u64 = 1 << 20;

/// How much of it is kept, for whoever wants to know what came instead of HELLO.
const NOISE_KEPT_BYTES: usize = 2048;

/// The largest frame.
const FRAME_MAX_BYTES: u64 = 262_144;

/// One of the command's outputs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Who and where the program is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hello {
    /// Random, made with the root: another one is another memory.
    pub root_id: String,
    /// The host.
    pub node: String,
    /// Its boot.
    pub boot: String,
    /// The pid namespace, or `-`.
    pub namespace: String,
    /// The effective user.
    pub uid: u32,
    /// The directory of the receipts, as it may be shown.
    pub root: String,
}

/// Why there is no HELLO.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoRoot {
    /// No home, one that is not ours alone, or a file system without symlinks.
    Unsupported,
    /// A full disk, or a read-only one.
    Unwritable,
}

/// What became of a generation, as its registers and processes say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Life {
    /// Nobody has taken the gate.
    None,
    /// Somebody is there to publish the end.
    Running,
    /// Nobody is, and the command runs on.
    Orphan,
    /// All are gone, and no end was published.
    Dead,
    /// On another node, or behind another pid namespace; its heart does not beat, as far as anybody has looked.
    Foreign,
    /// Its end is published.
    Done,
    /// It can start no more.
    Fenced,
}

/// Why a gate is fenced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fence {
    /// Cancelled before it started.
    Cancelled,
    /// To make a new generation sound.
    Resolved,
    /// The launch broke off before the gate: its launcher waited in vain for 12 seconds, or its wrapper was killed.
    Broken,
}

/// What a person has said.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Settled {
    /// It has not happened.
    NotDone,
    /// It has, with this status.
    Done(u8),
}

/// What is to be known about an end beside its status.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flags {
    /// Nobody has seen the status.
    pub lost: bool,
    /// It was cancelled.
    pub cancelled: bool,
    /// Its deadline was over.
    pub deadline: bool,
    /// An operator said so.
    pub operator: bool,
    /// Standard output was cut at the cap.
    pub out_cut: bool,
    /// Standard error was.
    pub err_cut: bool,
    /// A stream's end was not seen: something left behind held it, or its relay was killed.
    pub held: bool,
    /// The bytes are no longer there.
    pub expired: bool,
}

/// How it ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct End {
    /// Exit status as sh has it; none where it is lost.
    pub status: Option<u8>,
    /// Bytes of standard output.
    pub out: u64,
    /// Bytes of standard error.
    pub err: u64,
    /// The rest.
    pub flags: Flags,
}

/// A generation, looked at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct State {
    pub generation: u32,
    pub life: Life,
    /// Whose attempt has the gate, and for which fingerprint.
    pub gate: Option<(String, String)>,
    /// Its end, where there is one.
    pub end: Option<End>,
    pub fence: Option<Fence>,
    pub settled: Option<Settled>,
    pub acknowledged: bool,
}

/// How far the command is from our session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Detached {
    /// `setsid`, `perl`, `setsid-`, `setm`, or `none`: then it has no group of its own.
    pub isolation: String,
    /// Whether the command starts with SIGINT ignored.
    pub ignores_sigint: bool,
    /// Whether the host's log-in manager will end it with the session.
    pub session_bound: bool,
}

/// One thing in the input.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Heard<'a> {
    /// A piece of a frame, at its place in the stream; without a gap to the last one.
    Data { stream: Stream, offset: u64, bytes: &'a [u8] },
    /// A line.
    Said(Event),
}

/// One line of the program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Event {
    Hello(Hello),
    NoRoot(NoRoot, String),
    State(State),
    Started {
        generation: u32,
        attempt: String,
        detached: Detached,
    },
    Exists {
        generation: u32,
        attempt: String,
    },
    Mismatch {
        generation: u32,
        attempt: String,
        fingerprint: String,
    },
    Fenced {
        generation: u32,
        fence: Fence,
    },
    Short {
        generation: u32,
        part: String,
    },
    Refused {
        generation: u32,
        why: String,
    },
    Unsettled {
        generation: u32,
    },
    Tick(Life),
    /// With the `cksum` of both streams where the bytes are still there.
    End {
        generation: u32,
        end: End,
        sums: Option<(u32, u32)>,
    },
    Acked {
        generation: u32,
    },
    Collected,
}

/// Why the channel is of no more use.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Broken {
    /// A megabyte, and no HELLO in it.
    Noise,
    /// A line that the protocol does not have; its beginning, not cleaned.
    Line(String),
    /// HELLO of another version.
    Version(u64),
    /// A frame that does not follow the last one.
    Gap { stream: Stream, expected: u64, found: u64 },
}

enum Place {
    /// Before HELLO.
    Noise,
    Line,
    /// In a frame, with so many bytes to come.
    Frame(Stream, u64),
    Broken(Broken),
}

/// Reads one channel.
pub struct Parser {
    nonce: String,
    place: Place,
    line: Vec<u8>,
    /// The rest of a line that is too long to be kept, in the noise.
    skipping: bool,
    noise: Vec<u8>,
    noise_bytes: u64,
    next: [u64; 2],
}

impl Parser {
    /// For a run with this nonce.
    pub fn new(nonce: &str) -> Self {
        Self {
            nonce: nonce.to_owned(),
            place: Place::Noise,
            line: Vec::new(),
            skipping: false,
            noise: Vec::new(),
            noise_bytes: 0,
            next: [0, 0],
        }
    }

    /// Says where the frames will go on: the offsets of an ATTACH; 0 and 0 with GO.
    pub fn expect(&mut self, out: u64, err: u64) {
        self.next = [out, err];
    }

    #[cfg(test)]
    /// Where the frames will go on: what has come so far of each stream.
    pub fn received(&self) -> (u64, u64) {
        (self.next[0], self.next[1])
    }

    /// The first of what came before HELLO.
    pub fn noise(&self) -> &[u8] {
        &self.noise
    }

    /// The next thing in the input, which is moved forward. None when all of it is used up.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Option<Result<Heard<'a>, Broken>> {
        loop {
            match &self.place {
                Place::Broken(broken) => return Some(Err(broken.clone())),
                &Place::Frame(stream, left) => {
                    if input.is_empty() {
                        return None;
                    }
                    let length = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
                    let (bytes, rest) = input.split_at(length);
                    *input = rest;
                    let left = left - length as u64;
                    self.place = if left == 0 { Place::Line } else { Place::Frame(stream, left) };
                    let next = &mut self.next[stream as usize];
                    let offset = *next;
                    *next += length as u64;
                    return Some(Ok(Heard::Data { stream, offset, bytes }));
                }
                Place::Noise | Place::Line => {
                    let line = self.take_line(input)?;
                    match self.read(&line) {
                        Ok(Some(event)) => return Some(Ok(Heard::Said(event))),
                        Ok(None) => {}
                        Err(broken) => {
                            self.place = Place::Broken(broken.clone());
                            return Some(Err(broken));
                        }
                    }
                }
            }
        }
    }

    /// A whole line without its line feed, or as much of one as is ever kept.
    fn take_line(&mut self, input: &mut &[u8]) -> Option<Vec<u8>> {
        if input.is_empty() {
            return None;
        }
        let end = input.iter().position(|byte| *byte == b'\n');
        let (piece, rest) = input.split_at(end.unwrap_or(input.len()));
        *input = rest.get(usize::from(end.is_some())..).unwrap_or_default();
        if matches!(self.place, Place::Noise) {
            self.noise_bytes += piece.len() as u64 + u64::from(end.is_some());
            let room = NOISE_KEPT_BYTES.saturating_sub(self.noise.len());
            self.noise.extend_from_slice(&piece[..piece.len().min(room)]);
            if end.is_some() && self.noise.len() < NOISE_KEPT_BYTES {
                self.noise.push(b'\n');
            }
        }
        let room = LINE_MAX_BYTES - self.line.len();
        self.line.extend_from_slice(&piece[..piece.len().min(room)]);
        self.skipping |= piece.len() > room;
        let too_much = match self.place {
            Place::Noise => self.noise_bytes > NOISE_MAX_BYTES,
            _ => self.skipping,
        };
        (end.is_some() || too_much).then(|| std::mem::take(&mut self.line))
    }

    /// None for noise.
    fn read(&mut self, line: &[u8]) -> Result<Option<Event>, Broken> {
        let broken = || Broken::Line(String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned());
        let too_long = std::mem::take(&mut self.skipping);
        let said = line.strip_prefix(self.nonce.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
        let words = said.filter(|_| !too_long).and_then(Words::new);
        if matches!(self.place, Place::Noise) {
            let Some(words) = words else {
                return if self.noise_bytes > NOISE_MAX_BYTES { Err(Broken::Noise) } else { Ok(None) };
            };
            let event = words.first().map_err(|version| version.map_or_else(broken, Broken::Version))?;
            self.place = Place::Line;
            // Our own line is no noise.
            self.noise.truncate(self.noise.len().saturating_sub(line.len() + 1));
            return Ok(Some(event));
        }
        let words = words.ok_or_else(broken)?;
        if let Some((stream, offset, length)) = words.frame() {
            let expected = self.next[stream as usize];
            if offset != expected {
                return Err(Broken::Gap { stream, expected, found: offset });
            }
            if length == 0 || length > FRAME_MAX_BYTES {
                return Err(broken());
            }
            self.place = Place::Frame(stream, length);
            return Ok(None);
        }
        words.event().map(Some).ok_or_else(broken)
    }
}
