//! One event a line, as it happens.

use std::borrow::Cow;
use std::io;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::encoding::{Watch, unfinished};
use super::envelope::{Envelope, StreamFacts, Streams};
use super::json;
use super::live::Live;
use crate::model::outcome::Warning;
use crate::model::sink::{Sink, Stream};

/// One line of `--output ndjson`. The last one is `result`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// Bytes of the command's standard output.
    Stdout(Output<'a>),
    /// Bytes of its standard error.
    Stderr(Output<'a>),
    /// How far a copy has come.
    Progress {
        /// The entry that is being copied, as in `transfer.entries`.
        path: Cow<'a, str>,
        /// Bytes copied so far.
        bytes: u64,
        /// Bytes to copy in all, where that is known.
        total_bytes: Option<u64>,
    },
    /// A connection is about to be tried.
    Attempt {
        /// From 1.
        number: u32,
    },
    /// Worth saying, and no failure.
    Warning(Cow<'a, Warning>),
    /// The envelope, with null streams.
    Result(&'a Envelope),
}

/// Some bytes of a stream. Characters are never split between two events.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output<'a> {
    /// Text, or what `encoding` says.
    pub data: Cow<'a, str>,
    /// `base64` where the bytes are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<&'static str>,
}

/// Writes events.
#[derive(Debug)]
pub struct Ndjson {
    live: Live,
    stdout: Side,
    stderr: Side,
    warned: Vec<Warning>,
}

#[derive(Debug, Default)]
struct Side {
    /// The beginning of a character whose rest is still to come.
    unfinished: Vec<u8>,
    bytes: u64,
    watch: Watch,
}

impl Ndjson {
    pub(super) fn on(live: Live) -> Self {
        Self { live, stdout: Side::default(), stderr: Side::default(), warned: Vec::new() }
    }

    /// Waits until every event so far is written.
    pub(super) async fn drained(&mut self) -> io::Result<()> {
        self.post_rest();
        self.live.drained().await
    }

    /// The end of the stream: what could not be given to the thread, and whether the rest went out.
    pub(super) fn close(&mut self) -> (Vec<u8>, io::Result<()>) {
        self.post_rest();
        let (left, ended) = self.live.join();
        (left.into_iter().flatten().collect(), ended)
    }

    /// The last lines: warnings that were not told when they were found, and the result.
    pub(super) fn last_lines(&self, result: &Envelope) -> Vec<u8> {
        let untold = result.warnings.iter().filter(|warning| !self.warned.contains(warning));
        let mut out: Vec<u8> = untold.flat_map(|warning| json::line(&Event::Warning(Cow::Borrowed(warning)))).collect();
        out.extend(json::line(&Event::Result(result)));
        out
    }

    /// Facts about the streams, where they are worth saying.
    pub(super) fn streams(&self, held_open: bool, detail: bool) -> Option<Streams> {
        (held_open || detail).then(|| Streams { stdout: self.stdout.facts(), stderr: self.stderr.facts(), held_open })
    }

    pub(super) fn warned(&self) -> &[Warning] {
        &self.warned
    }

    fn post_rest(&mut self) {
        for (stream, side) in [(Stream::Stdout, &mut self.stdout), (Stream::Stderr, &mut self.stderr)] {
            let rest = std::mem::take(&mut side.unfinished);
            if !rest.is_empty() {
                self.live.post(output(stream, &rest));
            }
        }
    }
}

impl Side {
    fn facts(&self) -> StreamFacts {
        let encoding = self.watch.encoding();
        StreamFacts { bytes: self.bytes, encoding, truncated: false, omitted_bytes: 0, path: None }
    }

    /// The line for these bytes and the ones that waited; none while all of them wait for more.
    fn line(&mut self, stream: Stream, data: &[u8]) -> Option<Bytes> {
        self.bytes += data.len() as u64;
        self.watch.feed(data);
        let mut joined = std::mem::take(&mut self.unfinished);
        let data = if joined.is_empty() {
            data
        } else {
            joined.extend_from_slice(data);
            &joined
        };
        let (now, later) = data.split_at(data.len() - unfinished(data));
        self.unfinished = later.to_vec();
        (!now.is_empty()).then(|| output(stream, now))
    }
}

fn output(stream: Stream, data: &[u8]) -> Bytes {
    let output = match std::str::from_utf8(data) {
        Ok(text) => Output { data: Cow::Borrowed(text), encoding: None },
        Err(_) => Output { data: Cow::Owned(BASE64_STANDARD.encode(data)), encoding: Some("base64") },
    };
    let event = match stream {
        Stream::Stdout => Event::Stdout(output),
        Stream::Stderr => Event::Stderr(output),
    };
    json::line(&event).into()
}

impl Sink for Ndjson {
    async fn write(&mut self, stream: Stream, data: Bytes) -> io::Result<()> {
        // Nothing is taken before there is room: a dropped future must not have split a character.
        let room = self.live.room().await?;
        let side = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        if let Some(line) = side.line(stream, &data) {
            room.send(line);
        }
        Ok(())
    }

    fn attempt(&mut self, number: u32) {
        self.live.post(json::line(&Event::Attempt { number }).into());
    }

    /// Left out while the reader is behind: the next one says more.
    fn progress(&mut self, path: &[u8], bytes: u64, total_bytes: Option<u64>) {
        let path = String::from_utf8_lossy(path);
        self.live.offer(json::line(&Event::Progress { path, bytes, total_bytes }).into());
    }

    fn warning(&mut self, warning: &Warning) {
        self.live.post(json::line(&Event::Warning(Cow::Borrowed(warning))).into());
        self.warned.push(warning.clone());
    }
}
