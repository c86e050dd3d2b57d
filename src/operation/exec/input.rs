//! The command's standard input: what we send first, then what the caller gave, then its end.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::start::{GO, GO_LINE};
use crate::connection::channel::ChannelWriter;

/// How much is read at once.
const CHUNK_BYTES: usize = 256 * 1024;
/// How many such chunks wait for the window.
const CHUNKS: usize = 2;
/// The usual VEOF character: what a terminal takes for the end of the input (termios(3)).
const END_OF_TRANSMISSION: u8 = 0x04;

/// Where the caller's input comes from.
#[derive(Debug)]
pub enum Input {
    /// Nowhere: it ends at once.
    Closed,
    /// A file, or our own standard input as one.
    File(File),
}

/// What is due now, where somebody on the other side has to be ready for it.
#[derive(Debug)]
pub(super) enum Due {
    /// This: a password that was asked for.
    Line(Bytes),
    /// The start program and the script.
    Program,
    /// The word [`GO`], without which the start program starts nothing, and the caller's input.
    Word,
    /// The caller's input alone.
    Input,
    /// The end, before anything began.
    End,
}

/// What is sent, in order.
pub(super) struct Feed {
    /// The start program and the script.
    pub(super) prelude: Bytes,
    /// Says what is due; without it the caller's input is, at once.
    pub(super) due: Option<mpsc::UnboundedReceiver<Due>>,
    /// The caller's.
    pub(super) input: Input,
    /// There is a terminal on the other side, which wants to be told of the end in its own way.
    pub(super) pty: bool,
}

/// Sends it all. The error is our side's: a channel that takes no more input is the command's business, as with ssh.
pub(super) async fn feed(writer: Arc<ChannelWriter>, feed: Feed) -> io::Result<()> {
    if let Some(due) = feed.due
        && !wait_for_turn(&writer, due, feed.prelude, if feed.pty { GO_LINE } else { GO }).await
    {
        return Ok(());
    }
    let mut line_open = false;
    if let Input::File(file) = feed.input {
        let mut chunks = read_in_background(file);
        while let Some(chunk) = chunks.recv().await {
            let chunk = chunk?;
            line_open = chunk.last().is_some_and(|last| *last != b'\n');
            if writer.send(chunk).await.is_err() {
                return Ok(());
            }
        }
    }
    if feed.pty {
        // In the middle of a line the first only ends the line.
        let ends = vec![END_OF_TRANSMISSION; if line_open { 2 } else { 1 }];
        if writer.send(ends.into()).await.is_err() {
            return Ok(());
        }
    }
    // The session's end is seen, with its reason, by whoever reads.
    let _ = writer.eof().await;
    Ok(())
}

/// Sends what is due until the caller's input is. False: it never will be.
async fn wait_for_turn(
    writer: &ChannelWriter,
    mut due: mpsc::UnboundedReceiver<Due>,
    mut prelude: Bytes,
    word: &'static [u8],
) -> bool {
    while let Some(now) = due.recv().await {
        let sent = match now {
            Due::Line(line) => writer.send(line).await,
            Due::Program => writer.send(std::mem::take(&mut prelude)).await,
            Due::Word => return writer.send(Bytes::from_static(word)).await.is_ok(),
            Due::Input => return true,
            Due::End => writer.eof().await,
        };
        if sent.is_err() {
            return false;
        }
    }
    false
}

/// A thread, because a pipe or a terminal cannot be read otherwise without changing it for everybody who shares it.
fn read_in_background(mut file: File) -> mpsc::Receiver<io::Result<Bytes>> {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    std::thread::spawn(move || {
        loop {
            let mut chunk = vec![0; CHUNK_BYTES];
            let read = match file.read(&mut chunk) {
                Ok(0) => return,
                Ok(n) => {
                    chunk.truncate(n);
                    Ok(Bytes::from(chunk))
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let failed = read.is_err();
            if sender.blocking_send(read).is_err() || failed {
                return;
            }
        }
    });
    receiver
}
