//! What a run waits for beside its events.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::connection::Session;
use crate::constants::HELD_OPEN_SILENCE_MS;

/// Done when both streams have been silent for two seconds after a probe, sent into that silence, was answered: nothing the
/// server sent before can still be on its way. Begun anew with every byte.
pub(super) async fn quiet(session: &Session) {
    let silence = Duration::from_millis(HELD_OPEN_SILENCE_MS);
    let begun = Instant::now();
    sleep(silence / 2).await;
    if session.ping().await.is_err() {
        // The reader sees the loss; silence is no longer the question.
        std::future::pending::<()>().await;
    }
    sleep_until(begun + silence).await;
}

/// Done when this span is over and the host still answers; on a connection that stands still, that is not the question.
pub(in crate::operation) async fn silence(session: &Session, span: Duration) {
    sleep(span).await;
    if session.ping().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What is there already; `None` where it would have to be waited for.
pub(super) async fn at_once<T>(work: impl Future<Output = T>) -> Option<T> {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

pub(super) async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

pub(super) async fn when(future: &mut Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>>) {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
