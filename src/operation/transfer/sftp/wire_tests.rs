//! Packets, against whatever bytes a server may send, and against themselves.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;

use super::attributes::Attributes;
use super::frames::Frames;
use super::wire::{Fields, Frame, Name, PACKET_MAX, Packet, Reply, Status, Violation, kind};

/// Everything that comes of a stream which arrives in pieces of these sizes, up to the first violation.
fn taken(stream: &[u8], sizes: &[usize]) -> (Vec<Frame>, Option<Violation>) {
    let (mut frames, mut found, mut rest) = (Frames::default(), Vec::new(), stream);
    let mut sizes = sizes.iter().copied().chain(std::iter::repeat(usize::MAX));
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(sizes.next().unwrap_or(1).clamp(1, rest.len()));
        rest = more;
        frames.push(Bytes::copy_from_slice(piece));
        loop {
            match frames.next() {
                Ok(Some(frame)) => found.push(frame),
                Ok(None) => break,
                Err(violation) => return (found, Some(violation)),
            }
        }
    }
    (found, None)
}

/// What a reply holds of what the server said, in bytes.
fn held(reply: &Reply) -> usize {
    match reply {
        Reply::Status(status) => status.message.len(),
        Reply::Handle(bytes) | Reply::Extended(bytes) => bytes.len(),
        Reply::Data(pieces) => pieces.iter().map(Bytes::len).sum(),
        Reply::Names(names) => names.iter().map(|name| name.name.len()).sum(),
        Reply::Attributes(_) => 0,
    }
}

/// A packet of the server: its type, a number and the rest.
fn packet(kind: u8, id: u32, rest: &[u8]) -> Vec<u8> {
    let length = u32::try_from(5 + rest.len()).unwrap();
    [&length.to_be_bytes()[..], &[kind], &id.to_be_bytes(), rest].concat()
}

fn string(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

fn written(attributes: &Attributes) -> Vec<u8> {
    let mut out = Vec::new();
    attributes.write(&mut out);
    out
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let pair = || proptest::option::of(any::<(u32, u32)>());
    let all = (proptest::option::of(any::<u64>()), pair(), proptest::option::of(any::<u32>()), pair());
    all.prop_map(|(size, owner, permissions, times)| Attributes { size, owner, permissions, times })
}

fn name() -> impl Strategy<Value = Name> {
    (vec(any::<u8>(), 0..40), attributes()).prop_map(|(name, attributes)| Name { name: name.into(), attributes })
}

/// Replies that can be told apart after they were written down.
fn reply() -> impl Strategy<Value = Reply> {
    let bytes = |most| vec(any::<u8>(), 1..most).prop_map(Bytes::from);
    prop_oneof![
        (any::<u32>(), "[ -~]{0,40}").prop_map(|(code, message)| Reply::Status(Status { code, message })),
        bytes(256).prop_map(Reply::Handle),
        bytes(3000).prop_map(|data| Reply::Data(vec![data])),
        vec(name(), 0..20).prop_map(Reply::Names),
        attributes().prop_map(Reply::Attributes),
        bytes(100).prop_map(Reply::Extended),
    ]
}

/// As a server writes it.
fn as_sent(id: u32, reply: &Reply) -> Vec<u8> {
    match reply {
        Reply::Status(Status { code, message }) => {
            packet(kind::STATUS, id, &[&code.to_be_bytes()[..], &string(message.as_bytes()), &string(b"en")].concat())
        }
        Reply::Handle(handle) => packet(kind::HANDLE, id, &string(handle)),
        Reply::Data(pieces) => packet(kind::DATA, id, &string(&pieces.concat())),
        Reply::Names(names) => {
            let mut rest = u32::try_from(names.len()).unwrap().to_be_bytes().to_vec();
            for Name { name, attributes } in names {
                rest.extend([string(name), string(b"-rw-r--r-- and so on"), written(attributes)].concat());
            }
            packet(kind::NAME, id, &rest)
        }
        Reply::Attributes(attributes) => packet(kind::ATTRS, id, &written(attributes)),
        Reply::Extended(bytes) => packet(kind::EXTENDED_REPLY, id, bytes),
    }
}

/// The same, however many pieces its data came in.
fn in_one(reply: Reply) -> Reply {
    match reply {
        Reply::Data(pieces) => Reply::Data(vec![pieces.concat().into()]),
        reply => reply,
    }
}

proptest! {
    #[test]
    fn no_bytes_panic_and_none_grow(stream in vec(any::<u8>(), 0..4000), sizes in vec(1_usize..300, 0..40)) {
        for frame in taken(&stream, &sizes).0 {
            if let Ok((_, reply)) = frame.reply() {
                prop_assert!(held(&reply) <= stream.len() * 3);
            }
        }
        for frame in taken(&stream, &sizes).0 {
            let _ = frame.version();
        }
    }

    #[test]
    fn nor_do_packets_that_almost_fit(
        kind in prop_oneof![Just(2_u8), 101_u8..=105, Just(201), any::<u8>()],
        id in any::<u32>(),
        // Numbers that are small, as lengths and counts would be, and a few that are not.
        words in vec(prop_oneof![0_u32..20, any::<u32>()], 0..60),
        tail in vec(any::<u8>(), 0..200),
        sizes in vec(1_usize..50, 0..40),
    ) {
        let rest: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).chain(tail).collect();
        let stream = packet(kind, id, &rest);
        let (frames, violation) = taken(&stream, &sizes);
        prop_assert!(frames.len() == 1 && violation.is_none());
        for frame in frames {
            match frame.reply() {
                Ok((answered, Reply::Names(names))) => prop_assert!(answered == id && names.len() * 12 <= rest.len()),
                // What is no text becomes at most three bytes for each.
                Ok((answered, reply)) => prop_assert!(answered == id && held(&reply) <= rest.len() * 3),
                Err(Violation(said)) => prop_assert!(said.len() < 200),
            }
        }
        for frame in taken(&stream, &sizes).0 {
            if let Ok((_, extensions)) = frame.version() {
                prop_assert!(extensions.len() * 8 <= rest.len());
            }
        }
    }

    #[test]
    fn what_a_server_says_is_read_as_it_was_said(
        said in vec((any::<u32>(), reply()), 1..8),
        sizes in vec(1_usize..200, 0..200),
    ) {
        let stream: Vec<u8> = said.iter().flat_map(|(id, reply)| as_sent(*id, reply)).collect();
        let (frames, violation) = taken(&stream, &sizes);
        prop_assert!(violation.is_none());
        let read: Vec<_> = frames.into_iter().map(|frame| frame.reply().map(|(id, reply)| (id, in_one(reply)))).collect();
        prop_assert_eq!(read, said.into_iter().map(Ok).collect::<Vec<_>>());
    }

    #[test]
    fn what_we_say_can_be_read(
        id in any::<u32>(),
        path in vec(any::<u8>(), 0..300),
        (number, long) in any::<(u32, u64)>(),
        wish in attributes(),
        data in vec(any::<u8>(), 0..2000),
    ) {
        let sent = Packet::about(kind::OPEN, &path).u32_more(number).attributes(&wish).u64(long).finish(id);
        prop_assert_eq!(&sent[..4], &u32::try_from(sent.len() - 4).unwrap().to_be_bytes()[..]);
        prop_assert_eq!((sent[4], &sent[5..9]), (kind::OPEN, &id.to_be_bytes()[..]));
        let mut fields = Fields(sent.slice(9..));
        prop_assert_eq!(fields.string().unwrap(), path.clone());
        prop_assert_eq!(fields.u32().unwrap(), number);
        prop_assert_eq!(Attributes::read(&mut fields).unwrap(), wish);
        prop_assert_eq!(fields.u64().unwrap(), long);
        prop_assert!(fields.0.is_empty());

        let filled = Packet::write(&path, long, data.len(), |packet| {
            packet.extend_from_slice(&data);
            Ok::<_, ()>(())
        });
        let (written, length) = filled.unwrap();
        prop_assert_eq!((length, written.tail(length)), (data.len(), &data[..]));
        let mut fields = Fields(written.finish(id).slice(9..));
        prop_assert_eq!((fields.string().unwrap(), fields.u64().unwrap(), fields.string().unwrap()), (path.into(), long, data.into()));
    }

    #[test]
    fn a_packet_that_is_too_long_ends_it_before_it_is_here(over in 1..u32::MAX - u32::try_from(PACKET_MAX).unwrap()) {
        let length = u32::try_from(PACKET_MAX).unwrap() + over;
        let (frames, violation) = taken(&length.to_be_bytes(), &[]);
        prop_assert!(frames.is_empty() && violation.is_some());
    }
}

#[test]
fn attributes_end_where_the_packet_does() {
    // A count of pairs without end.
    let mut lie = 0x8000_0000_u32.to_be_bytes().to_vec();
    lie.extend_from_slice(&u32::MAX.to_be_bytes());
    lie.extend(string(b"a").repeat(6));
    assert!(Attributes::read(&mut Fields(lie.into())).is_err());
    // Pairs that nobody asked for are read past.
    let mut more = 0x8000_0004_u32.to_be_bytes().to_vec();
    more.extend_from_slice(&0o644_u32.to_be_bytes());
    more.extend_from_slice(&1_u32.to_be_bytes());
    more.extend([string(b"acl@example.com"), string(b"x"), string(b"next")].concat());
    let mut fields = Fields(more.into());
    assert_eq!(Attributes::read(&mut fields).unwrap(), Attributes::mode(0o644));
    assert_eq!(fields.string().unwrap(), Bytes::from_static(b"next"));
}
