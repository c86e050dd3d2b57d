//! What is said before the command may begin, and what we owe to it: the password once, and only on its prompt.

use bytes::Bytes;

use super::{Dialogue, Elevated, Place};
use crate::model::request::Method;
use crate::model::sink::Stream;
use crate::operation::exec::marker::{Scanner, Word};
use crate::secret::Secret;

/// How much of the dialogue is kept of each stream.
const DIALOGUE_BYTES: usize = 16 * 1024;
/// How much of a line may be a prompt of su's, which is not ours to choose.
const PROMPT_BYTES: usize = 256;
/// The longest text of numbers, or of a prompt, after a mark.
const DETAIL_BYTES: usize = 64;

/// What sudo-rs puts around a prompt.
const SUDO_RS_BEFORE: &[u8] = b"[sudo: ";
/// And behind it.
const SUDO_RS_AFTER: &[u8] = b"] Password: ";

/// What may be said before the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Absent,
    Next,
    Password,
    Ready,
    Again,
}

const WORDS: [Word<Said>; 5] = [
    (b"absent;", Said::Absent),
    (b"next;", Said::Next),
    (b"password;", Said::Password),
    (b"ready;", Said::Ready),
    (b"again;", Said::Again),
];

/// What is to be done now.
#[derive(Debug, PartialEq, Eq)]
pub enum Cue {
    /// Send the password.
    Answer(Secret),
    /// Nobody will be satisfied: end the input.
    HangUp,
    /// The rights are there. Nothing of ours was sent but the password.
    Open,
}

/// What one piece of output came to.
#[derive(Debug)]
pub struct Seen {
    /// What to do, in this order.
    pub cues: Vec<Cue>,
    /// What was said by others, or by the program beside its prompt: noise before the command.
    pub noise: Vec<(Stream, Bytes)>,
    /// What came after the word that opened.
    pub rest: Bytes,
}

/// Stands before the command.
#[derive(Debug)]
pub struct Gate {
    method: Method,
    password: Option<Secret>,
    streams: [Ear; 2],
    dialogue: Dialogue,
    place: Option<Place>,
    /// The prompt that stands in no list of processes, where sudo will ask a second time.
    again: Option<Vec<u8>>,
    hung_up: bool,
}

/// One stream.
#[derive(Debug)]
struct Ear {
    scanner: Scanner<Said>,
    /// The program is next, and what follows is its own.
    begun: bool,
    /// What the program said.
    said: Vec<u8>,
    /// Where the line begins in it that may become a prompt.
    line: usize,
    /// Where it went on after its prompt: a terminal on which nobody sees the password gets a new line.
    answered_at: Option<usize>,
    /// The numbers, or the prompt, that follow a mark.
    detail: Option<(Said, Vec<u8>)>,
}

impl Gate {
    /// For one channel, whose words have this nonce.
    pub fn new(elevated: &Elevated, nonce: &str) -> Self {
        let ear = || Ear {
            scanner: Scanner::of(nonce, &WORDS),
            begun: false,
            said: Vec::new(),
            line: 0,
            answered_at: None,
            detail: None,
        };
        Self {
            method: elevated.method,
            password: elevated.password.clone(),
            streams: [ear(), ear()],
            dialogue: Dialogue::default(),
            place: None,
            again: None,
            hung_up: false,
        }
    }

    /// It let us through: what comes now is not for this gate.
    pub fn is_open(&self) -> bool {
        self.dialogue.open
    }

    /// The program was about to be run.
    pub fn has_begun(&self) -> bool {
        self.dialogue.begun
    }

    /// Where the command runs, once it is open and the loader said so.
    pub fn place(&self) -> Option<Place> {
        self.place.filter(|place| place.pid > 1)
    }

    /// Sudo was told to start the command, and has not asked so far: it does not ask.
    pub fn waits_for_second_prompt(&self) -> bool {
        self.again.is_some() && !self.dialogue.open
    }

    /// Takes output in.
    pub fn see(&mut self, stream: Stream, data: Bytes) -> Seen {
        let mut seen = Seen { cues: Vec::new(), noise: Vec::new(), rest: Bytes::new() };
        let mut data = data;
        while !self.dialogue.open {
            if self.again.is_some() {
                self.second_prompt(stream, data, &mut seen);
                return seen;
            }
            let ear = &mut self.streams[index(stream)];
            if let Some((word, detail)) = &mut ear.detail {
                let room = DETAIL_BYTES.saturating_sub(detail.len());
                let end = data.iter().take(room + 1).position(|byte| *byte == b';');
                detail.extend_from_slice(&data[..end.unwrap_or(room.min(data.len()))]);
                if end.is_none() && detail.len() < DETAIL_BYTES {
                    return seen;
                }
                let (word, detail) = (*word, std::mem::take(detail));
                ear.detail = None;
                data = data.slice(end.map_or(data.len(), |end| end + 1)..);
                self.told(word, &detail, &mut seen);
                continue;
            }
            let (before, after) = ear.scanner.pass(data);
            let word = ear.scanner.take();
            self.hear(stream, &before, &mut seen);
            match word {
                None => return seen,
                Some(word) => self.mark(stream, word, &mut seen),
            }
            data = after;
        }
        seen.rest = data;
        seen
    }

    fn mark(&mut self, stream: Stream, word: Said, seen: &mut Seen) {
        let ear = &mut self.streams[index(stream)];
        match word {
            Said::Absent => self.dialogue.absent = true,
            Said::Next => {
                ear.begun = true;
                self.dialogue.begun = true;
            }
            // A prompt that su did not choose is none.
            Said::Password if self.method == Method::Sudo && self.dialogue.begun => {
                ear.answered_at = Some(ear.said.len());
                self.prompted(seen);
            }
            Said::Password => {}
            Said::Ready | Said::Again => ear.detail = Some((word, Vec::new())),
        }
    }

    /// What stands between two marks.
    fn hear(&mut self, stream: Stream, text: &Bytes, seen: &mut Seen) {
        if text.is_empty() {
            return;
        }
        let ear = &mut self.streams[index(stream)];
        if !ear.begun {
            seen.noise.push((stream, text.clone()));
            return;
        }
        let room = DIALOGUE_BYTES.saturating_sub(ear.said.len());
        if room == 0 {
            return;
        }
        ear.said.extend_from_slice(&text[..room.min(text.len())]);
        if let Some(at) = ear.said.iter().rposition(|byte| *byte == b'\n') {
            ear.line = ear.line.max(at + 1);
        }
        let line = ear.line;
        if self.method == Method::Su && is_prompt(&ear.said[line..]) {
            ear.said.truncate(line);
            ear.answered_at = Some(line);
            self.prompted(seen);
        } else if self.wants_a_new_password() {
            // It goes on asking, and nothing of ours is an answer.
            self.hang_up(seen);
        }
    }

    fn wants_a_new_password(&self) -> bool {
        let said = &self.streams[index(Stream::Stderr)].said;
        let also = &self.streams[index(Stream::Stdout)].said;
        [said, also].into_iter().any(|said| super::refusal::wants_a_new_password(&String::from_utf8_lossy(said)))
    }

    fn prompted(&mut self, seen: &mut Seen) {
        self.dialogue.prompts += 1;
        match &self.password {
            Some(password) if self.dialogue.prompts == 1 && !self.hung_up => {
                self.dialogue.answered = true;
                seen.cues.push(Cue::Answer(password.clone()));
            }
            _ => self.hang_up(seen),
        }
    }

    fn hang_up(&mut self, seen: &mut Seen) {
        if !self.hung_up {
            self.hung_up = true;
            seen.cues.push(Cue::HangUp);
        }
    }

    fn told(&mut self, word: Said, detail: &[u8], seen: &mut Seen) {
        if word == Said::Again {
            self.again = Some(detail.to_vec());
            return;
        }
        let text = String::from_utf8_lossy(detail);
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        if let Some(Ok(pid)) = numbers.next() {
            let group = numbers.next().and_then(Result::ok).unwrap_or(0);
            self.place = Some(Place { pid, group });
            self.open(seen);
        }
    }

    /// Sudo asks again, with the prompt that only it knows, or it does not and the command speaks.
    fn second_prompt(&mut self, stream: Stream, data: Bytes, seen: &mut Seen) {
        if data.is_empty() {
            return;
        }
        let prompt = self.again.clone().unwrap_or_default();
        if stream == Stream::Stdout || prompt.is_empty() {
            self.open(seen);
            seen.rest = data;
            return;
        }
        let ear = &mut self.streams[index(stream)];
        let begin = ear.said.len();
        ear.said.extend_from_slice(&data);
        if let Some(at) = ear.said[begin.saturating_sub(prompt.len())..].windows(prompt.len()).position(|w| w == prompt)
        {
            let at = begin.saturating_sub(prompt.len()) + at;
            let rest = Bytes::from(ear.said.split_off(at).split_off(prompt.len()));
            let rest = if rest.starts_with(SUDO_RS_AFTER) { rest.slice(SUDO_RS_AFTER.len()..) } else { rest };
            self.dialogue.answered = true;
            // It accepted this password a moment ago.
            seen.cues.extend(self.password.clone().map(Cue::Answer));
            self.open(seen);
            seen.rest = rest;
        } else if ear.said.len() > DIALOGUE_BYTES
            || ear
                .said
                .split_inclusive(|byte| *byte == b'\n')
                .any(|line| line.ends_with(b"\n") && !line.starts_with(b"sudo"))
        {
            self.open(seen);
        }
    }

    /// Nothing more was said for so long that nothing more will be asked.
    pub fn presume_open(&mut self) -> Seen {
        let mut seen = Seen { cues: Vec::new(), noise: Vec::new(), rest: Bytes::new() };
        self.open(&mut seen);
        seen
    }

    fn open(&mut self, seen: &mut Seen) {
        self.dialogue.open = true;
        for stream in [Stream::Stdout, Stream::Stderr] {
            let said = self.heard(stream);
            if !said.is_empty() {
                seen.noise.push((stream, said.into()));
            }
        }
        seen.cues.push(Cue::Open);
    }

    /// What the program said on one stream, without the password, should a terminal have echoed it, and without what sudo-rs
    /// puts around a prompt.
    fn heard(&mut self, stream: Stream) -> Vec<u8> {
        let ear = &mut self.streams[index(stream)];
        let mut said = std::mem::take(&mut ear.said);
        ear.line = 0;
        if let Some(at) = ear.answered_at.take() {
            let length =
                [&b"\r\n"[..], b"\n"].into_iter().find(|end| said[at..].starts_with(end)).map_or(0, <[u8]>::len);
            said.drain(at..at + length);
        }
        if self.dialogue.prompts > 0 && self.method == Method::Sudo {
            without(&mut said, &[SUDO_RS_BEFORE, SUDO_RS_AFTER].concat());
        }
        if let Some(password) = self.password.as_ref().filter(|password| self.dialogue.answered && !password.is_empty())
        {
            let mut line = password.expose().to_vec();
            for end in [&b"\r\n"[..], b"\n", b""] {
                line.truncate(password.expose().len());
                line.extend_from_slice(end);
                without(&mut said, &line);
            }
        }
        said
    }

    /// What became of it, when it is over.
    pub fn end(mut self) -> Dialogue {
        if !self.dialogue.open {
            let said = [self.heard(Stream::Stderr), self.heard(Stream::Stdout)].concat();
            self.dialogue.words = String::from_utf8_lossy(&said).into_owned();
        }
        self.dialogue
    }
}

const fn index(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
    }
}

/// Takes every occurrence out.
fn without(text: &mut Vec<u8>, part: &[u8]) {
    let mut from = 0;
    while let Some(at) = text[from..].windows(part.len()).position(|window| window == part) {
        text.drain(from + at..from + at + part.len());
        from += at;
    }
}

/// A line that is not ended and asks for a password. PAM modules choose the words (in English, since the locale is set), so
/// these are the ones that all have in common.
fn is_prompt(line: &[u8]) -> bool {
    let text =
        String::from_utf8_lossy(line.get(..PROMPT_BYTES.min(line.len())).unwrap_or_default()).to_ascii_lowercase();
    line.len() <= PROMPT_BYTES && text.contains("password") && text.trim_end().ends_with(':')
}
