//! Chance that can be repeated: what a seed gave once it gives again.

use super::random_hex;

/// Numbers that look random; the same ones for the same seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        // splitmix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }

    /// Once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

/// `SSH_CLI_TESTS_LONG=1`: many more rounds of the same.
pub fn long() -> bool {
    std::env::var_os("SSH_CLI_TESTS_LONG").is_some_and(|value| value == "1")
}

/// The seeds of so many rounds, or of so many more in a long run. The first one is printed; `SSH_CLI_TESTS_SEED` sets it, so a
/// round that failed is the first one of another run.
pub fn seeds(rounds: u64, in_a_long_run: u64) -> Vec<u64> {
    let given = std::env::var("SSH_CLI_TESTS_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let first = given.unwrap_or_else(|| u64::from_str_radix(&random_hex(4), 16).unwrap());
    println!("SSH_CLI_TESTS_SEED={first}");
    (0..if long() { in_a_long_run } else { rounds }).map(|round| first.wrapping_add(round)).collect()
}
