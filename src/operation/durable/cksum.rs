//! The checksum of POSIX `cksum`: the one that every host can compute.

/// A running sum.
#[derive(Clone, Debug, Default)]
pub struct Cksum {
    state: u32,
    length: u64,
}

/// CRC of one byte, most significant bit first.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation, reason = "below 256")]
        let mut crc = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000_0000 == 0 { crc << 1 } else { (crc << 1) ^ 0x04C1_1DB7 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

fn step(state: u32, byte: u8) -> u32 {
    (state << 8) ^ TABLE[usize::from(state.to_be_bytes()[0] ^ byte)]
}

impl Cksum {
    /// The sum of these bytes.
    pub fn of(bytes: &[u8]) -> u32 {
        let mut sum = Self::default();
        sum.add(bytes);
        sum.value()
    }

    /// Takes more bytes in.
    pub fn add(&mut self, bytes: &[u8]) {
        self.state = bytes.iter().fold(self.state, |state, byte| step(state, *byte));
        self.length += bytes.len() as u64;
    }

    /// The sum of all bytes so far; their count goes into it, low byte first and as short as it can be.
    pub fn value(&self) -> u32 {
        let length = self.length.to_le_bytes();
        let used = length.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        !length[..used].iter().fold(self.state, |state, byte| step(state, *byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_cksum_prints() {
        assert_eq!(Cksum::of(b""), 4_294_967_295);
        assert_eq!(Cksum::of(b"123456789"), 930_766_865);
        let mut sum = Cksum::default();
        let long: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        for piece in long.chunks(333) {
            sum.add(piece);
        }
        assert_eq!(sum.value(), Cksum::of(&long));
    }
}
