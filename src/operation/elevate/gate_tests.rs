//! The gate against every order in which things can be said, whole and in pieces.

use bytes::Bytes;
use proptest::prelude::*;

use super::gate::{Cue, Gate};
use super::{Dialogue, Elevated, Place};
use crate::model::request::Method;
use crate::model::sink::Stream::{self, Stderr, Stdout};
use crate::secret::Secret;

const NONCE: &str = "5f0c1a";
const NEXT: &[u8] = b"5f0c1a:next;";
const PROMPT: &[u8] = b"5f0c1a:password;";
const READY: &[u8] = b"5f0c1a:ready;12 34;";

fn gate(method: Method, password: Option<&str>) -> Gate {
    let password = password.map(|password| Secret::new(password.as_bytes().to_vec()));
    let elevated = Elevated { method, user: "root".into(), password, direct: false, stop_nonce: "other".into() };
    Gate::new(&elevated, NONCE)
}

/// Everything that came of it: the cues, what was passed as noise of each stream, what followed, and the dialogue.
fn said(gate: Gate, pieces: &[(Stream, &[u8])]) -> (Vec<Cue>, [String; 2], String, Option<Place>, Dialogue) {
    let mut gate = gate;
    let (mut cues, mut noise, mut rest) = (Vec::new(), [String::new(), String::new()], String::new());
    for (stream, piece) in pieces {
        if gate.is_open() {
            rest.push_str(std::str::from_utf8(piece).unwrap());
            continue;
        }
        let seen = gate.see(*stream, Bytes::copy_from_slice(piece));
        cues.extend(seen.cues);
        for (stream, text) in seen.noise {
            noise[usize::from(stream == Stderr)].push_str(std::str::from_utf8(&text).unwrap());
        }
        rest.push_str(std::str::from_utf8(&seen.rest).unwrap());
    }
    let place = gate.place();
    (cues, noise, rest, place, gate.end())
}

fn answer() -> Cue {
    Cue::Answer(Secret::new(b"pw".to_vec()))
}

#[test]
fn where_nothing_is_asked_nothing_is_sent() {
    let (cues, noise, rest, place, dialogue) =
        said(gate(Method::Sudo, Some("pw")), &[(Stderr, NEXT), (Stdout, NEXT), (Stdout, READY), (Stdout, b"x")]);
    assert_eq!((cues, rest.as_str()), (vec![Cue::Open], "x"));
    assert_eq!(noise, ["", ""]);
    assert_eq!(place, Some(Place { pid: 12, group: 34 }));
    assert!(dialogue.open && !dialogue.answered && dialogue.prompts == 0);
}

#[test]
fn the_password_is_sent_once_and_a_second_prompt_ends_it() {
    let (cues, _, _, _, dialogue) = said(
        gate(Method::Sudo, Some("pw")),
        &[(Stderr, NEXT), (Stderr, PROMPT), (Stderr, b"Sorry, try again.\n"), (Stderr, PROMPT), (Stderr, PROMPT)],
    );
    assert_eq!(cues, [answer(), Cue::HangUp]);
    assert_eq!(dialogue.words, "Sorry, try again.\n");
    assert!(!dialogue.open && dialogue.prompts == 3);
}

#[test]
fn a_prompt_before_sudo_was_run_or_after_it_let_us_through_is_none() {
    let (cues, noise, ..) = said(gate(Method::Sudo, Some("pw")), &[(Stderr, PROMPT), (Stdout, PROMPT)]);
    assert!(cues.is_empty() && noise == ["", ""], "{cues:?}");
    let (cues, _, rest, ..) =
        said(gate(Method::Sudo, Some("pw")), &[(Stderr, NEXT), (Stdout, READY), (Stderr, PROMPT), (Stdout, PROMPT)]);
    assert_eq!((cues, rest.len()), (vec![Cue::Open], 2 * PROMPT.len()));
    // The start-up files of a shell may ask what they like.
    let (cues, noise, ..) = said(gate(Method::Su, Some("pw")), &[(Stderr, b"Password: "), (Stdout, b"Password: ")]);
    assert!(cues.is_empty() && noise == ["Password: ", "Password: "], "{cues:?}");
}

#[test]
fn without_a_password_a_prompt_ends_it() {
    let (cues, _, _, _, dialogue) = said(gate(Method::Su, None), &[(Stderr, NEXT), (Stderr, b"Password: ")]);
    assert_eq!((cues, dialogue.prompts, dialogue.answered), (vec![Cue::HangUp], 1, false));
}

#[test]
fn a_prompt_of_su_is_a_line_that_is_not_ended_and_asks() {
    for (line, is) in [
        (&b"Password: "[..], true),
        (b"root's Password:", true),
        (b"Notice of today.\n[admin] password for root: ", true),
        (b"Your password expires: soon", false),
        (b"Password: \n", false),
        (b"login:", false),
    ] {
        let (cues, ..) = said(gate(Method::Su, Some("pw")), &[(Stderr, NEXT), (Stderr, line)]);
        assert_eq!(cues == [answer()], is, "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn a_mark_of_another_nonce_and_a_mark_without_numbers_open_nothing() {
    for ready in [&b"5f0c1b:ready;12 34;"[..], b"5f0c1a:ready;$$ ${_sc_g:-0};", b"5f0c1a:ready;;"] {
        let (cues, _, _, place, dialogue) = said(gate(Method::Sudo, Some("pw")), &[(Stdout, NEXT), (Stdout, ready)]);
        assert!(cues.is_empty() && place.is_none() && !dialogue.open, "{}", String::from_utf8_lossy(ready));
    }
}

#[test]
fn an_echoed_password_is_in_no_output_and_no_message() {
    let echoed = &[(Stdout, NEXT), (Stdout, PROMPT), (Stdout, b"p"), (Stdout, b"w\r\nhello "), (Stdout, READY)];
    let (_, noise, ..) = said(gate(Method::Sudo, Some("pw")), echoed);
    assert_eq!(noise, ["hello ", ""]);
    let (.., dialogue) = said(gate(Method::Sudo, Some("pw")), &echoed[..4]);
    assert_eq!(dialogue.words, "hello ");
}

#[test]
fn what_sudo_rs_puts_around_its_prompt_is_taken_away() {
    let (cues, noise, ..) = said(
        gate(Method::Sudo, Some("pw")),
        &[(Stderr, NEXT), (Stderr, b"[sudo: "), (Stderr, PROMPT), (Stderr, b"] Password: "), (Stdout, READY)],
    );
    assert_eq!((cues, noise), (vec![answer(), Cue::Open], [String::new(), String::new()]));
}

#[test]
fn a_new_password_is_not_given() {
    let (cues, ..) = said(
        gate(Method::Sudo, Some("pw")),
        &[
            (Stderr, NEXT),
            (Stderr, PROMPT),
            (Stderr, b"sudo: Account or password is expired, reset your password and try again\n"),
        ],
    );
    assert_eq!(cues, [answer(), Cue::HangUp]);
}

#[test]
fn a_second_prompt_is_answered_where_it_was_announced() {
    let again = b"5f0c1a:again;beef;";
    let begin = [(Stderr, NEXT), (Stderr, PROMPT), (Stdout, &again[..])];
    let (cues, _, rest, ..) =
        said(gate(Method::Sudo, Some("pw")), &[&begin[..], &[(Stderr, b"be"), (Stderr, b"efout")]].concat());
    assert_eq!((cues, rest.as_str()), (vec![answer(), answer(), Cue::Open], "out"));
    let (cues, _, rest, ..) = said(gate(Method::Sudo, Some("pw")), &[&begin[..], &[(Stdout, b"beef")]].concat());
    assert_eq!((cues, rest.as_str()), (vec![answer(), Cue::Open], "beef"));
}

proptest! {
    #[test]
    fn any_cutting_into_pieces_gives_the_same(noise in "[5f0c1a:;pr \n]{0,12}", cuts in proptest::collection::vec(0_usize..120, 0..8)) {
        let whole = [noise.as_bytes(), NEXT, b"lecture\n", PROMPT, b"more\n", READY, b"tail"].concat();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut % (whole.len() + 1)).collect();
        at.extend([0, whole.len()]);
        at.sort_unstable();
        let pieces: Vec<(Stream, &[u8])> = at.windows(2).map(|w| (Stdout, &whole[w[0]..w[1]])).collect();
        let (cues, heard, rest, place, dialogue) = said(gate(Method::Sudo, Some("pw")), &pieces);
        prop_assert_eq!(cues, vec![answer(), Cue::Open]);
        prop_assert_eq!(heard, [format!("{noise}lecture\nmore\n"), String::new()]);
        prop_assert_eq!(rest, "tail");
        prop_assert_eq!(place, Some(Place { pid: 12, group: 34 }));
        prop_assert!(dialogue.open);
    }

    #[test]
    fn no_bytes_of_a_server_get_the_password_without_the_nonce(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut gate = gate(Method::Sudo, Some("pw"));
        gate.see(Stderr, Bytes::from_static(NEXT));
        let seen = gate.see(Stderr, bytes.into());
        prop_assert!(!seen.cues.contains(&answer()) && !gate.is_open());
    }
}
