//! The byte stream under SSH: counts what passes, remembers how the server began, acknowledges at once, and gives up a write
//! that makes no progress.
//!
//! Two of these are for speed and were measured: without `TCP_QUICKACK` a delayed ACK costs 41 ms per connection. The others
//! are for truth: what was never handed to the kernel was certainly never sent.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::link::Link;

/// What carries the bytes.
pub(super) trait Transport: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Called after each read.
    fn acknowledge(&self) {}
}

/// The stream that russh gets.
pub(super) struct Wire<T> {
    transport: T,
    link: Arc<Link>,
    /// Runs while a write waits. russh writes inside its event loop, where its own keepalive timer cannot fire.
    stalled: Option<Pin<Box<Sleep>>>,
    patience: Option<Duration>,
}

impl<T: Transport> Wire<T> {
    /// `patience`: how long a write may make no progress before the connection counts as lost.
    pub(super) fn new(transport: T, link: Arc<Link>, patience: Option<Duration>) -> Self {
        Self { transport, link, stalled: None, patience }
    }

    fn stalled_for_too_long(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(patience) = self.patience else { return false };
        let timer = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        timer.as_mut().poll(cx).is_ready()
    }
}

impl<T> Drop for Wire<T> {
    fn drop(&mut self) {
        self.link.carries_no_more();
    }
}

impl<T: Transport> AsyncRead for Wire<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = ready!(Pin::new(&mut self.transport).poll_read(cx, buf));
        self.transport.acknowledge();
        self.link.received(&buf.filled()[before..]);
        Poll::Ready(result)
    }
}

impl<T: Transport> AsyncWrite for Wire<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.transport).poll_write(cx, data) {
            Poll::Ready(Ok(written)) => {
                self.stalled = None;
                self.link.sent(written);
                Poll::Ready(Ok(written))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending if self.stalled_for_too_long(cx) => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the server takes no more data")))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(cx)
    }
}

/// The moment after which a wait is over; `None` waits for ever.
pub(super) fn later(from: Instant, span: Option<Duration>) -> Option<Instant> {
    span.and_then(|span| from.checked_add(span))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    impl Transport for DuplexStream {}

    #[tokio::test]
    async fn what_passes_is_counted_and_the_beginning_is_kept() {
        let (near, mut far) = tokio::io::duplex(8);
        let link = Arc::new(Link::default());
        let mut wire = Wire::new(near, Arc::clone(&link), None);
        let peer = tokio::spawn(async move {
            let mut got = [0; 12];
            far.read_exact(&mut got).await.unwrap();
            far.write_all(b"HTTP/1.1 400 Bad\r\n").await.unwrap();
        });
        wire.write_all(b"SSH-2.0-x y\n").await.unwrap();
        let mut answer = [0; 18];
        wire.read_exact(&mut answer).await.unwrap();
        peer.await.unwrap();
        assert_eq!(link.bytes_sent(), 12);
        assert_eq!(link.foreign_greeting().unwrap(), "HTTP/1.1 400 Bad");
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_without_progress_ends() {
        let (near, _far) = tokio::io::duplex(4);
        let mut wire = Wire::new(near, Arc::new(Link::default()), Some(Duration::from_secs(45)));
        let error = wire.write_all(b"more than fits").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
