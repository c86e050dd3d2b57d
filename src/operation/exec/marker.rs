//! Finds the start program's mark in standard output and takes it out; everything else passes unchanged.

use bytes::{Bytes, BytesMut};

use super::facts::Mark;

/// The words after the nonce; each ends with `;`.
const WORDS: [Word<Mark>; 4] =
    [(b"start;", Mark::Start), (b"cwd;", Mark::Cwd), (b"short;", Mark::Short), (b"staging;", Mark::Staging)];

/// A word that may follow the nonce, with its `;`, and what it means.
pub type Word<M> = (&'static [u8], M);

/// Looks for `NONCE:WORD;` once.
#[derive(Debug)]
pub struct Scanner<M: 'static = Mark> {
    nonce: Vec<u8>,
    words: &'static [Word<M>],
    held: BytesMut,
    found: Option<M>,
}

impl Scanner {
    /// `nonce`: what the start program was given; unguessable, so that nothing else can print it.
    pub fn new(nonce: &str) -> Self {
        Self::of(nonce, &WORDS)
    }
}

impl<M: Copy> Scanner<M> {
    /// For other words than those of the start program.
    pub fn of(nonce: &str, words: &'static [Word<M>]) -> Self {
        Self { nonce: format!("{nonce}:").into_bytes(), words, held: BytesMut::new(), found: None }
    }

    /// The mark, once it was seen.
    pub fn found(&self) -> Option<M> {
        self.found
    }

    /// Gives the mark out and looks for another one.
    pub fn take(&mut self) -> Option<M> {
        self.found.take()
    }

    /// Takes output in, gives out what is certainly not the mark: what stood before it, and what after.
    pub fn pass(&mut self, data: Bytes) -> (Bytes, Bytes) {
        if self.found.is_some() {
            return (Bytes::new(), data);
        }
        self.held.extend_from_slice(&data);
        let mut before = BytesMut::new();
        while let Some(at) = position(&self.held, &self.nonce) {
            let rest = &self.held[at + self.nonce.len()..];
            if let Some((word, mark)) = self.words.iter().find(|(word, _)| rest.starts_with(word)) {
                self.found = Some(*mark);
                let length = self.nonce.len() + word.len();
                before.unsplit(self.held.split_to(at));
                return (before.freeze(), self.held.split().split_off(length).freeze());
            }
            if self.words.iter().any(|(word, _)| word.starts_with(rest)) {
                // The rest of the word may be on its way.
                before.unsplit(self.held.split_to(at));
                return (before.freeze(), Bytes::new());
            }
            before.unsplit(self.held.split_to(at + self.nonce.len()));
        }
        // Keep what may be the beginning of the nonce.
        let keep = (1..self.nonce.len()).rev().find(|n| self.held.ends_with(&self.nonce[..*n])).unwrap_or(0);
        before.unsplit(self.held.split_to(self.held.len() - keep));
        (before.freeze(), Bytes::new())
    }
}

fn position(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NONCE: &str = "5f0c1a";

    fn through(pieces: &[&[u8]]) -> (Vec<u8>, Option<Mark>) {
        let mut scanner = Scanner::new(NONCE);
        let mut out = Vec::new();
        for piece in pieces {
            let (before, after) = scanner.pass(Bytes::copy_from_slice(piece));
            out.extend_from_slice(&before);
            out.extend_from_slice(&after);
        }
        (out, scanner.found())
    }

    #[test]
    fn the_mark_goes_and_the_noise_around_it_stays() {
        let (out, mark) = through(&[b"motd\n5f0c1a:start;hello\n"]);
        assert_eq!((out.as_slice(), mark), (&b"motd\nhello\n"[..], Some(Mark::Start)));
    }

    #[test]
    fn a_second_mark_is_the_commands_own_output() {
        let (out, _) = through(&[b"5f0c1a:start;", b"5f0c1a:cwd;"]);
        assert_eq!(out, b"5f0c1a:cwd;");
    }

    #[test]
    fn a_nonce_without_a_word_is_no_mark_and_holds_nothing_up() {
        assert_eq!(through(&[b"x5f0c1a:other"]), (b"x5f0c1a:other".to_vec(), None));
        let (out, mark) = through(&[b"5f0c1a:5f0c1a:st", b"5f0c1a:st", b"art;x"]);
        assert_eq!((out.as_slice(), mark), (&b"5f0c1a:5f0c1a:stx"[..], Some(Mark::Start)));
    }

    proptest! {
        #[test]
        fn any_cutting_into_pieces_gives_the_same(noise in "[5f0c1a:;st]{0,12}", cuts in proptest::collection::vec(0_usize..60, 0..6)) {
            let whole = format!("{noise}\u{1}{NONCE}:start;tail{noise}").into_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|c| c % (whole.len() + 1)).collect();
            at.push(0);
            at.push(whole.len());
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|w| &whole[w[0]..w[1]]).collect();
            let (out, mark) = through(&pieces);
            prop_assert_eq!(mark, Some(Mark::Start));
            prop_assert_eq!(out, format!("{noise}\u{1}tail{noise}").into_bytes());
        }
    }
}
