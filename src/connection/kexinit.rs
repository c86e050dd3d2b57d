//! The server's first packet, `SSH_MSG_KEXINIT` (RFC 4253 section 7.1). It comes in the clear, right after the version line, and
//! says what the server can do; russh keeps of it only what was agreed on.

use crate::errors::clean;
use crate::model::check::Offers;

/// How much of a connection's beginning is kept for it. OpenSSH's takes 1,100 bytes; what is larger is not shown.
const OPENING_BYTES: usize = 16 * 1024;

/// `SSH_MSG_IGNORE` to `SSH_MSG_DEBUG` may come before it (RFC 4253 section 11).
const MSG_IGNORE: u8 = 2;
const MSG_DEBUG: u8 = 4;
const MSG_KEXINIT: u8 = 20;
/// The message number and the cookie.
const BEFORE_LISTS: usize = 1 + 16;

/// The first bytes that came, until they are read.
#[derive(Debug)]
pub(super) enum Opening {
    /// As they came.
    Bytes(Vec<u8>),
    /// Read and dropped.
    Read(Option<Offers>),
}

impl Default for Opening {
    fn default() -> Self {
        Self::Bytes(Vec::new())
    }
}

impl Opening {
    /// Bytes came in. Only the first are kept.
    pub(super) fn received(&mut self, data: &[u8]) {
        if let Self::Bytes(bytes) = self {
            let room = OPENING_BYTES - bytes.len();
            bytes.extend_from_slice(&data[..room.min(data.len())]);
        }
    }

    /// The packet has arrived, whole: nothing more is kept.
    pub(super) fn settle(&mut self) {
        if let Self::Bytes(bytes) = self {
            *self = Self::Read(parse(bytes));
        }
    }

    /// What the server offers, as far as it has arrived.
    pub(super) fn offers(&self) -> Option<Offers> {
        match self {
            Self::Bytes(bytes) => parse(bytes),
            Self::Read(offers) => offers.clone(),
        }
    }
}

/// `None` where the packet is not there, not whole, or not what it should be.
fn parse(stream: &[u8]) -> Option<Offers> {
    let mut rest = after_version(stream)?;
    loop {
        let (payload, after) = packet(rest)?;
        match *payload.first()? {
            MSG_KEXINIT => return lists(payload.get(BEFORE_LISTS..)?),
            MSG_IGNORE..=MSG_DEBUG => rest = after,
            _ => return None,
        }
    }
}

/// What follows the version line; other lines may precede it (RFC 4253 section 4.2).
fn after_version(stream: &[u8]) -> Option<&[u8]> {
    let mut rest = stream;
    loop {
        let end = rest.iter().position(|b| *b == b'\n')?;
        let (line, after) = rest.split_at(end + 1);
        if line.starts_with(b"SSH-") {
            return Some(after);
        }
        rest = after;
    }
}

/// The payload of a plain packet, and what follows the packet (RFC 4253 section 6).
fn packet(stream: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = stream.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (body, after) = rest.split_at_checked(length)?;
    let (padding, payload) = body.split_first()?;
    let payload = payload.get(..payload.len().checked_sub(usize::from(*padding))?)?;
    Some((payload, after))
}

fn lists(mut payload: &[u8]) -> Option<Offers> {
    let mut next = || {
        let (length, rest) = payload.split_first_chunk::<4>()?;
        let (list, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        payload = rest;
        let names = String::from_utf8_lossy(list);
        Some(names.split(',').filter(|name| !name.is_empty()).map(clean).collect::<Vec<_>>())
    };
    let (kex, host_keys) = (next()?, next()?);
    let (ciphers, _) = (next()?, next()?);
    let (macs, _) = (next()?, next()?);
    let compression = next()?;
    Some(Offers { kex, host_keys, ciphers, macs, compression })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LISTS: [&str; 10] =
        ["kex-a,ext-info-s", "ssh-ed25519", "up1,up2", "down", "mac-up", "mac-down", "none,zlib", "none", "", ""];

    fn plain_packet(payload: &[u8], padding: u8) -> Vec<u8> {
        let length = u32::try_from(1 + payload.len() + usize::from(padding)).unwrap();
        [&length.to_be_bytes()[..], &[padding], payload, &vec![0; usize::from(padding)]].concat()
    }

    fn kexinit() -> Vec<u8> {
        let mut payload = [&[MSG_KEXINIT][..], &[7; 16]].concat();
        for list in LISTS {
            payload.extend(u32::try_from(list.len()).unwrap().to_be_bytes());
            payload.extend(list.as_bytes());
        }
        payload.extend([0; 5]);
        plain_packet(&payload, 6)
    }

    fn read(parts: &[&[u8]]) -> Option<Offers> {
        let mut opening = Opening::default();
        for part in parts {
            opening.received(part);
        }
        let before = opening.offers();
        opening.settle();
        opening.received(b"what follows is not kept");
        assert_eq!(opening.offers(), before);
        before
    }

    #[test]
    fn the_lists_are_the_servers_in_its_order() {
        let offers = read(&[b"SSH-2.0-x\r\n", &kexinit(), b"more"]).unwrap();
        assert_eq!(offers.kex, ["kex-a", "ext-info-s"]);
        assert_eq!((offers.ciphers, offers.macs), (vec!["up1".into(), "up2".into()], vec!["mac-up".to_owned()]));
        assert_eq!((offers.host_keys, offers.compression.len()), (vec!["ssh-ed25519".to_owned()], 2));
    }

    #[test]
    fn lines_before_the_version_and_packets_to_ignore_are_passed_over() {
        let ignored = plain_packet(&[MSG_IGNORE, 0, 0, 0, 0], 4);
        assert!(read(&[b"hello\r\nSSH-2.0-x\n", &ignored, &kexinit()]).is_some());
        let other = plain_packet(&[1, 0, 0, 0, 2], 4);
        assert!(read(&[b"SSH-2.0-x\n", &other, &kexinit()]).is_none());
    }

    #[test]
    fn a_cut_packet_gives_nothing() {
        let whole = [&b"SSH-2.0-x\r\n"[..], &kexinit()].concat();
        for end in 0..whole.len() {
            assert_eq!(read(&[&whole[..end]]), None, "{end}");
        }
        assert_eq!(read(&[b"SSH-2.0-x\n", &[0xff; 64]]), None);
        assert_eq!(read(&[b"SSH-2.0-x\n", &[0, 0, 0, 1, 9]]), None);
    }

    #[test]
    fn names_that_would_move_a_cursor_are_cleaned() {
        let mut payload = [&[MSG_KEXINIT][..], &[0; 16]].concat();
        for _ in 0..10 {
            payload.extend(b"\0\0\0\x04\x1b[2J");
        }
        assert_eq!(read(&[b"SSH-2.0-x\n", &plain_packet(&payload, 4)]).unwrap().kex, ["\\u{1b}[2J"]);
    }

    #[test]
    fn an_endless_opening_stays_small() {
        let mut opening = Opening::default();
        for _ in 0..100 {
            opening.received(&[b'\n'; 4096]);
        }
        let Opening::Bytes(bytes) = &opening else { panic!() };
        assert_eq!(bytes.len(), OPENING_BYTES);
        assert_eq!(opening.offers(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            read(&[&bytes]);
            read(&[b"SSH-2.0-x\n", &bytes]);
            read(&[b"SSH-2.0-x\n", &plain_packet(&[&[MSG_KEXINIT][..], &bytes].concat(), 4)]);
        }

        #[test]
        fn one_wrong_byte_is_survived(at in 0_usize..400, byte in any::<u8>()) {
            let mut packet = kexinit();
            let at = at % packet.len();
            packet[at] = byte;
            read(&[b"SSH-2.0-x\n", &packet]);
        }
    }
}
