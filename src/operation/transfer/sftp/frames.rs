//! From a stream of bytes to packets: nothing is copied as long as a packet lies in a few pieces.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes, BytesMut};

use super::wire::{Frame, PACKET_MAX, Violation};

/// So many pieces are held apart; a server that sends smaller ones has them copied together.
const PIECES_MAX: usize = 64;

/// Bytes in pieces, in order.
#[derive(Debug, Default)]
pub struct Pieces {
    pieces: VecDeque<Bytes>,
    len: usize,
}

impl Pieces {
    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    fn push(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        self.len += piece.len();
        self.pieces.push_back(piece);
        if self.pieces.len() > PIECES_MAX {
            let one = std::mem::take(self).into_one();
            *self = Self { len: one.len(), pieces: VecDeque::from([one]) };
        }
    }

    /// The first so many bytes in one piece; none where there are fewer.
    pub fn take(&mut self, count: usize) -> Option<Bytes> {
        (count <= self.len).then(|| self.split(count).into_one())
    }

    fn split(&mut self, count: usize) -> Self {
        let mut front = Self { pieces: VecDeque::new(), len: count };
        let mut left = count;
        while left > 0 {
            let Some(first) = self.pieces.front_mut() else { break };
            let piece = first.split_to(left.min(first.len()));
            if first.is_empty() {
                self.pieces.pop_front();
            }
            left -= piece.len();
            front.pieces.push_back(piece);
        }
        self.len -= count;
        front
    }

    /// All of it in one piece.
    pub fn into_one(mut self) -> Bytes {
        if self.pieces.len() == 1 {
            return self.pieces.pop_front().unwrap_or_default();
        }
        let mut one = BytesMut::with_capacity(self.len);
        for piece in self.pieces {
            one.extend_from_slice(&piece);
        }
        one.freeze()
    }

    /// The pieces.
    pub fn into_pieces(self) -> Vec<Bytes> {
        self.pieces.into()
    }
}

/// Puts packets together.
#[derive(Debug, Default)]
pub struct Frames {
    held: Pieces,
    /// The length of the packet that is arriving.
    due: Option<usize>,
}

impl Frames {
    /// More of the stream.
    pub fn push(&mut self, bytes: Bytes) {
        self.held.push(bytes);
    }

    /// The next packet, once it is whole. After a violation the stream has no meaning any more.
    pub fn next(&mut self) -> Result<Option<Frame>, Violation> {
        let due = if let Some(due) = self.due {
            due
        } else {
            let Some(mut head) = self.held.take(4) else { return Ok(None) };
            let due = head.get_u32() as usize;
            if !(1..=PACKET_MAX).contains(&due) {
                return Err(Violation(format!("an SFTP packet of {due} bytes")));
            }
            due
        };
        if self.held.len() < due {
            self.due = Some(due);
            return Ok(None);
        }
        self.due = None;
        let mut body = self.held.split(due);
        let kind = body.take(1).and_then(|first| first.first().copied()).unwrap_or_default();
        Ok(Some(Frame { kind, body }))
    }
}
