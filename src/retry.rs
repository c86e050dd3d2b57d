//! Whether to try again, and after how long: pure arithmetic, without a clock and without a sleep.
//!
//! The waits follow *full jitter*: each is drawn evenly from zero to an exponentially growing bound, so that many callers who
//! failed together do not come back together. An attempt's number is that of the tries already made: 1 at the first wait.
//!
//! What is safe to repeat is decided elsewhere ([`crate::effect`] for the effect, [`crate::errors`] for the failure): here,
//! exit 74 says it, and nothing else does.
//!
//! Out of scope, because a one-shot SSH command line has no use for it: HTTP and gRPC status codes, `Retry-After` headers,
//! circuit breakers, retry budgets shared between calls, hedged requests, `OAuth` token refresh, outboxes and sagas, and
//! `Idempotency-Key` headers.

use std::time::Duration;

use rand::{Rng, RngExt};

use crate::constants::{
    AGENT_RETRY_MAX_RETRIES, RETRY_BASE_MS, RETRY_CAP_DELAY_MS, RETRY_CAP_RETRIES, RETRY_MAX_DELAY_MS,
};
use crate::errors::exit_codes;

/// The exponent stops growing here: the bound is then 65,536 times the base.
const MAX_EXPONENT: u32 = 16;

/// How often to try again, and how long to wait in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryConfig {
    /// Tries after the first.
    pub max_retries: u32,
    /// The base of the exponential bound, in milliseconds.
    pub base_ms: u64,
    /// The bound never passes this, in milliseconds.
    pub max_delay_ms: u64,
    /// False: one try, whatever the rest says.
    pub enabled: bool,
}

impl Default for RetryConfig {
    /// Disabled: nothing is tried again unless somebody asked for it.
    fn default() -> Self {
        Self { max_retries: 0, base_ms: RETRY_BASE_MS, max_delay_ms: RETRY_MAX_DELAY_MS, enabled: false }
    }
}

impl RetryConfig {
    /// What an agent does on exit 74: two more tries, 200 ms doubling, never over 5 s.
    pub const fn agent_default() -> Self {
        Self {
            max_retries: AGENT_RETRY_MAX_RETRIES,
            base_ms: RETRY_BASE_MS,
            max_delay_ms: RETRY_MAX_DELAY_MS,
            enabled: true,
        }
    }

    /// Within the hard caps: 10 retries, 60 s.
    #[must_use]
    pub fn clamped(self) -> Self {
        Self {
            max_retries: self.max_retries.min(RETRY_CAP_RETRIES),
            base_ms: self.base_ms.min(RETRY_CAP_DELAY_MS),
            max_delay_ms: self.max_delay_ms.min(RETRY_CAP_DELAY_MS),
            ..self
        }
    }

    /// The most tries there can be, the first included.
    pub const fn max_attempts(&self) -> u32 {
        if self.enabled { self.max_retries.saturating_add(1) } else { 1 }
    }

    /// Whether another try may follow after `attempt` of them.
    pub const fn may_retry(&self, attempt: u32) -> bool {
        attempt < self.max_attempts()
    }

    /// A fresh draw of the wait after `attempt` tries.
    pub fn delay_for_attempt(&self, attempt: u32) -> Duration {
        backoff_full_jitter(self.base_ms, attempt, self.max_delay_ms)
    }
}

/// Drawn evenly from 0 to `min(base_ms · 2^min(attempt, 16), max_delay_ms)` milliseconds, both ends included.
pub fn backoff_full_jitter(base_ms: u64, attempt: u32, max_delay_ms: u64) -> Duration {
    backoff_full_jitter_with(&mut rand::rng(), base_ms, attempt, max_delay_ms)
}

/// [`backoff_full_jitter`] with the caller's generator.
pub fn backoff_full_jitter_with(rng: &mut impl Rng, base_ms: u64, attempt: u32, max_delay_ms: u64) -> Duration {
    let bound = base_ms.saturating_mul(1 << attempt.min(MAX_EXPONENT)).min(max_delay_ms);
    Duration::from_millis(rng.random_range(0..=bound))
}

/// How long to wait after `attempt` tries: the hint where somebody gave one, never over the longest wait, else a draw. It only
/// computes; whoever calls it waits.
pub fn wait_for_retry(policy: RetryConfig, attempt: u32, hint: Option<Duration>) -> Duration {
    match hint {
        Some(hint) => hint.min(Duration::from_millis(policy.max_delay_ms)),
        None => policy.delay_for_attempt(attempt),
    }
}

/// True for 74 alone.
pub const fn exit_code_is_retryable(code: i32) -> bool {
    code == exit_codes::EX_IOERR
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn nothing_is_tried_again_by_default() {
        let off = RetryConfig::default();
        assert!(!off.enabled && !off.may_retry(1));
        assert_eq!(off.max_attempts(), 1);
        assert_eq!(RetryConfig { max_retries: 9, ..off }.max_attempts(), 1);
    }

    #[test]
    fn an_agent_tries_three_times_in_all() {
        let agent = RetryConfig::agent_default();
        assert_eq!(agent, RetryConfig { max_retries: 2, base_ms: 200, max_delay_ms: 5000, enabled: true });
        assert_eq!(agent.max_attempts(), 3);
        assert_eq!([1, 2, 3, 4].map(|attempt| agent.may_retry(attempt)), [true, true, false, false]);
    }

    #[test]
    fn the_caps_are_hard() {
        let wild = RetryConfig { max_retries: u32::MAX, base_ms: u64::MAX, max_delay_ms: u64::MAX, enabled: true };
        assert_eq!(wild.max_attempts(), u32::MAX);
        let tame = RetryConfig { max_retries: 10, base_ms: 60_000, max_delay_ms: 60_000, enabled: true };
        assert_eq!(wild.clamped(), tame);
        assert_eq!(RetryConfig::agent_default().clamped(), RetryConfig::agent_default());
    }

    #[test]
    fn a_hint_is_taken_up_to_the_longest_wait() {
        let agent = RetryConfig::agent_default();
        assert_eq!(wait_for_retry(agent, 1, Some(Duration::from_millis(7))), Duration::from_millis(7));
        assert_eq!(wait_for_retry(agent, 1, Some(Duration::from_secs(70))), Duration::from_secs(5));
        assert!(wait_for_retry(agent, 1, None) <= Duration::from_millis(400));
    }

    #[test]
    fn only_74_is_retryable() {
        assert!((-300..300).all(|code| exit_code_is_retryable(code) == (code == 74)));
    }

    #[test]
    fn every_draw_is_within_its_bound() {
        let mut rng = StdRng::seed_from_u64(74);
        for _ in 0..1_000_000 {
            // Shifted by a random amount, so that small and huge values both occur.
            let base: u64 = rng.random::<u64>() >> rng.random_range(0..64);
            let max: u64 = rng.random::<u64>() >> rng.random_range(0..64);
            let attempt: u32 = rng.random::<u32>() >> rng.random_range(0..32);
            let bound = (u128::from(base) << attempt.min(16)).min(u128::from(max));
            let draw = backoff_full_jitter_with(&mut rng, base, attempt, max);
            assert!(draw.as_millis() <= bound, "{base} {attempt} {max}: {draw:?}");
        }
    }

    #[test]
    fn the_bound_grows_and_then_stays() {
        let mut rng = StdRng::seed_from_u64(2);
        let mut highest = |attempt, max| {
            (0..20_000).map(|_| backoff_full_jitter_with(&mut rng, 3, attempt, max).as_millis()).max().unwrap()
        };
        assert_eq!([0, 1, 2, 3].map(|attempt| highest(attempt, 5000)), [3, 6, 12, 24]);
        assert_eq!(highest(u32::MAX, 40), 40);
        assert_eq!(highest(5, 0), 0);
    }

    /// Pearson's test over 20 cells: with 19 degrees of freedom 43.8 is passed by one sample in a thousand; the seed is fixed.
    #[test]
    fn the_draw_is_even() {
        let (mut rng, mut cells) = (StdRng::seed_from_u64(20), [0_u32; 20]);
        let draws = 200_000;
        for _ in 0..draws {
            // 0..=399: twenty values to a cell.
            let ms = backoff_full_jitter_with(&mut rng, 400, 0, 399).as_millis();
            cells[usize::try_from(ms / 20).unwrap()] += 1;
        }
        let expected = f64::from(draws) / 20.0;
        let chi_squared: f64 = cells.iter().map(|seen| (f64::from(*seen) - expected).powi(2) / expected).sum();
        assert!(chi_squared < 43.8, "{chi_squared}: {cells:?}");
    }
}
