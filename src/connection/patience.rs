//! One instant bounds everything up to the open channel; waiting for a person, or for a command of theirs, stops the clock.

use std::future::Future;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::wire::later;
use crate::errors::{Fault, Limit};
use crate::model::outcome::Phase;

/// What is left of `--connect-timeout`, or of `--deadline` where that is less.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    until: Option<Instant>,
    deadline: Option<(Instant, Duration)>,
    flag: &'static str,
    /// What the flag says.
    span: Duration,
}

impl Patience {
    /// Begins now.
    pub fn new(connect_timeout: Option<Duration>, deadline: Option<(Instant, Duration)>) -> Self {
        let until = later(Instant::now(), connect_timeout);
        let span = connect_timeout.unwrap_or_default();
        let mut patience = Self { until, deadline, flag: "--connect-timeout", span };
        patience.bound();
        patience
    }

    fn bound(&mut self) {
        if let Some((deadline, span)) = self.deadline
            && self.until.is_none_or(|until| deadline < until)
        {
            (self.until, self.flag, self.span) = (Some(deadline), "--deadline", span);
        }
    }

    /// Waits for a step of the connection.
    pub async fn within<T>(&self, address: &str, phase: Phase, step: impl Future<Output = T>) -> Result<T, Fault> {
        let Some(until) = self.until else { return Ok(step.await) };
        timeout_at(until, step).await.map_err(|_| Fault::ConnectTimeout {
            address: address.to_owned(),
            after: self.span,
            flag: self.flag,
            phase,
        })
    }

    /// Waits for a step in which a person may be waited for: what `person` measures is not counted.
    pub(super) async fn within_with_person<T>(
        &mut self,
        address: &str,
        phase: Phase,
        person: &PersonClock,
        step: impl Future<Output = T>,
    ) -> Result<T, Fault> {
        let mut step = std::pin::pin!(step);
        let result = loop {
            let credited = Self { until: self.until.and_then(|until| until.checked_add(person.waited())), ..*self };
            match credited.within(address, phase, &mut step).await {
                Err(_) if self.flag == "--connect-timeout" && person.is_waiting() => {}
                result => break result,
            }
        };
        let waited = person.waited();
        self.outside_by(waited);
        result
    }

    /// Waits for a person or a command; the clock stands still, save the deadline's.
    pub async fn outside<T>(&mut self, wait: impl Future<Output = T>) -> Result<T, Fault> {
        let before = Instant::now();
        let result = match self.deadline {
            None => Ok(wait.await),
            Some((at, span)) => {
                let over = |_| Fault::Timeout { limit: Limit::Deadline, after: span, confirmed: None };
                timeout_at(at, wait).await.map_err(over)
            }
        };
        self.outside_by(before.elapsed());
        result
    }

    fn outside_by(&mut self, waited: Duration) {
        if self.flag == "--connect-timeout" {
            self.until = self.until.and_then(|until| until.checked_add(waited));
        }
        self.bound();
    }
}

/// Measures how long a person was waited for, such as one who has to touch a token.
#[derive(Debug, Default)]
pub(super) struct PersonClock(Mutex<(Option<Instant>, Duration)>);

impl PersonClock {
    fn state(&self) -> std::sync::MutexGuard<'_, (Option<Instant>, Duration)> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Measures this wait.
    pub(super) async fn during<T>(&self, wait: impl Future<Output = T>) -> T {
        self.state().0 = Some(Instant::now());
        let result = wait.await;
        let mut state = self.state();
        if let Some(since) = state.0.take() {
            state.1 += since.elapsed();
        }
        result
    }

    fn is_waiting(&self) -> bool {
        self.state().0.is_some()
    }

    fn waited(&self) -> Duration {
        let state = self.state();
        state.1 + state.0.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_person_may_take_longer_than_the_network() {
        let mut patience = Patience::new(Some(Duration::from_secs(5)), None);
        patience.outside(tokio::time::sleep(Duration::from_secs(60))).await.unwrap();
        patience.within("h", Phase::Auth, tokio::time::sleep(Duration::from_secs(4))).await.unwrap();
        let late = patience.within("h", Phase::Auth, tokio::time::sleep(Duration::from_secs(4))).await;
        assert!(matches!(late, Err(Fault::ConnectTimeout { flag: "--connect-timeout", .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn a_touch_of_a_token_is_not_counted_and_a_silent_server_is() {
        let mut patience = Patience::new(Some(Duration::from_secs(5)), None);
        let person = PersonClock::default();
        let touched = person.during(tokio::time::sleep(Duration::from_secs(30)));
        patience.within_with_person("h", Phase::Auth, &person, touched).await.unwrap();
        let person = PersonClock::default();
        let silent = patience.within_with_person("h", Phase::Auth, &person, std::future::pending::<()>()).await;
        assert!(matches!(silent, Err(Fault::ConnectTimeout { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_bounds_it_whatever_happens() {
        let span = Duration::from_secs(3);
        let deadline = Instant::now() + span;
        let patience = Patience::new(Some(Duration::from_secs(5)), Some((deadline, span)));
        let late = patience.within("h", Phase::Connect, std::future::pending::<()>()).await;
        assert!(matches!(late, Err(Fault::ConnectTimeout { flag: "--deadline", .. })));
        assert_eq!(Instant::now(), deadline);
    }
}
