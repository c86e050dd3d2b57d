//! A point in time, as it is stored and printed.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

const MS_PER_DAY: u64 = 24 * 60 * 60 * 1000;

/// Milliseconds of the system's clock since 1970 (UTC). Stored as the number, printed as RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct Moment(pub u64);

impl Moment {
    /// Now, by a clock that may be set while we look: good for telling and for expiry, for nothing else.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// How long ago `earlier` was; nothing where it lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// So much earlier.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.0 / MS_PER_DAY);
        let ms = self.0 % MS_PER_DAY;
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The Gregorian date of a day since 1970. Counted in years that begin in March, a leap day is the last day of its year; 400 of
/// them have 146,097 days.
const fn date(day: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    // 0000-03-01 is 719,468 days before 1970.
    let day = day + 719_468;
    let (era, of_era) = (day / DAYS_OF_400_YEARS, day % DAYS_OF_400_YEARS);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Five months from March on have 153 days, and so have the next five.
    let month_from_march = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let january_or_february = if month <= 2 { 1 } else { 0 };
    (year_of_era + 400 * era + january_or_february, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_as_rfc_3339() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_210_096_007, "2024-02-29T12:34:56.007Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Moment(ms).to_string(), text);
        }
        // No number makes it panic.
        let _ = Moment(u64::MAX).to_string();
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut before = date(0);
        for day in 1..200_000 {
            let today = date(day);
            assert!(today > before, "{before:?} {today:?}");
            assert!(today.2 == before.2 + 1 || today.2 == 1, "{before:?} {today:?}");
            before = today;
        }
        assert_eq!(before, (2517, 7, 31));
    }
}
