//! The parser, with what the program says and with what anybody else might.

use proptest::prelude::*;

use super::wire::*;

const SAID: &[u8] = b"Welcome!\nn1 HELLO in the motd\n\nn1 HELLO 1 ab node.x boot-1 4026531836 1000 /home/a b/ops1 .\n\
n1 STATE 1 none - - - - - - - - 0 .\nn1 STARTED 1 aa11 setsid default ok .\nn1 O 0 3 .\nn1 n1 E 0 1 .\n.n1 TICK running .\n\
n1 O 3 2 .\n\n\nn1 END 1 7 5 1 - 1 2 .\nn1 ACKED 1 .\n";

/// What the pieces say, with adjoining data joined.
fn heard(pieces: &[&[u8]]) -> (Vec<String>, Parser) {
    let mut parser = Parser::new("n1");
    let mut said = Vec::new();
    let mut streams = [Vec::new(), Vec::new()];
    for piece in pieces {
        let mut input = *piece;
        while let Some(event) = parser.next(&mut input) {
            match event {
                Ok(Heard::Data { stream, offset, bytes }) => {
                    let so_far = &mut streams[stream as usize];
                    assert_eq!(so_far.len() as u64, offset);
                    so_far.extend_from_slice(bytes);
                }
                Ok(Heard::Said(event)) => said.push(format!("{event:?}")),
                Err(broken) => {
                    said.push(format!("{broken:?}"));
                    break;
                }
            }
        }
    }
    said.extend(streams.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
    (said, parser)
}

#[test]
fn a_whole_conversation_is_understood() {
    let (said, parser) = heard(&[SAID]);
    assert_eq!(said.len(), 8, "{said:#?}");
    assert!(said[0].contains("root: \"/home/a b/ops1\"") && said[0].contains("uid: 1000"), "{}", said[0]);
    assert!(said[4].contains("status: Some(7), out: 5, err: 1"), "{}", said[4]);
    assert_eq!(&said[6..], ["n1 \n\n", "."]);
    assert_eq!((parser.noise(), parser.received()), (&b"Welcome!\nn1 HELLO in the motd\n\n"[..], (5, 1)));
}

#[test]
fn each_end_is_read_or_refused() {
    let end = |line: &str| {
        let hello = "n1 HELLO 1 ab n b - 0 /r .\n".to_owned();
        heard(&[(hello + line + "\n").as_bytes()]).0[1].clone()
    };
    assert!(end("n1 END 1 - 0 0 lc - - .").contains("status: None"));
    assert!(end("n1 STATE 2 done aa 0123456789ab 0 1 2 x - done-3 1 .").contains("settled: Some(Done(3))"));
    assert!(end("n1 STATE 2 fenced - - - - - - cancel - 0 .").contains("fence: Some(Cancelled)"));
    for line in [
        "n1 END 1 - 0 0 - - - .",
        "n1 END 1 256 0 0 - - - .",
        "n1 END 1 0 0 0 z - - .",
        "n1 END 1 0 +1 0 - - - .",
        "n1 END 1 0 0 0 - - -",
        "n1 STATE 1 done - - - - - - - - 0 .",
        "n1 STATE 1 none - - 0 0 0 - - - 0 .",
        "n1 O 1 1 .",
        "n1 O 0 0 .",
        "n1 O 0 262145 .",
        "n2 TICK running .",
        "",
    ] {
        let said = end(line);
        assert!(said.starts_with("Line") || said.starts_with("Gap"), "{line}: {said}");
    }
    assert_eq!(heard(&[b"n1 HELLO 2 .\n"]).0[0], "Version(2)");
    assert_eq!(heard(&[b"x\nn1 NOROOT unwritable root .\n"]).0[0], "NoRoot(Unwritable, \"root\")");
}

#[test]
fn noise_has_an_end_and_leaves_little() {
    let line = vec![b'x'; 70_000];
    let mut parser = Parser::new("n1");
    let mut pieces = 0;
    let broken = loop {
        let mut input = &line[..];
        pieces += 1;
        if let Some(said) = parser.next(&mut input) {
            break said;
        }
    };
    assert_eq!((broken, pieces), (Err(Broken::Noise), 15));
    assert_eq!(parser.noise().len(), 2048);
    // A long line is no obstacle for what comes behind it.
    let (said, _) = heard(&[&line, b"\nn1 NOROOT unsupported home .\n"]);
    assert_eq!(said[0], "NoRoot(Unsupported, \"home\")");
    // After HELLO it is one.
    let (said, _) = heard(&[b"n1 HELLO 1 ab n b - 0 /r .\n", &line]);
    assert!(said[1].starts_with("Line"), "{said:?}");
}

proptest! {
    #[test]
    fn it_does_not_matter_where_the_pieces_end(mut cuts in proptest::collection::vec(0..SAID.len(), 0..40)) {
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&SAID[from..cut]);
            from = cut;
        }
        pieces.push(&SAID[from..]);
        prop_assert_eq!(heard(&pieces).0, heard(&[SAID]).0);
    }

    #[test]
    fn flipped_bytes_end_in_an_answer(flips in proptest::collection::vec((0..SAID.len(), any::<u8>()), 1..8)) {
        let mut said = SAID.to_vec();
        for (at, byte) in flips {
            said[at] = byte;
        }
        let (_, parser) = heard(&[&said]);
        prop_assert!(parser.noise().len() <= 2048);
    }

    #[test]
    fn anything_at_all_ends_in_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..4096), after_hello in any::<bool>()) {
        let hello: &[u8] = if after_hello { b"n1 HELLO 1 ab n b - 0 /r .\nn1 " } else { b"n1 " };
        heard(&[hello, &bytes]);
    }
}
