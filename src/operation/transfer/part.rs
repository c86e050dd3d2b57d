//! The names of our temporary files: one function makes them, one recognises them.
//!
//! `.NAME.TAG.ssh-cli-part`, beside the file that it becomes. TAG is eight hex digits.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

const SUFFIX: &[u8] = b".ssh-cli-part";

/// The digits of a tag.
const TAG: usize = 8;

/// Why a part stays that `--resume` continues.
pub const RESUMABLE: &str = "resumable: --resume continues it";
/// Why a part stays that should not.
pub const NOT_REMOVED: &str = "not_removed: a temporary file of ours";

/// The longest name that file systems take.
const NAME_MAX: usize = 255;

/// The name of the part that becomes `final_name`. A name too long for that is cut, and told apart from others that begin the
/// same by eight digits of its hash.
pub fn name(final_name: &[u8], tag: &str) -> Vec<u8> {
    let room = NAME_MAX - 1 - 1 - TAG - SUFFIX.len();
    let mut name = b".".to_vec();
    if final_name.len() <= room {
        name.extend_from_slice(final_name);
    } else {
        name.extend_from_slice(cut(final_name, room - 1 - TAG));
        name.push(b'~');
        name.extend_from_slice(hex8(&Sha256::digest(final_name)).as_bytes());
    }
    name.push(b'.');
    name.extend_from_slice(tag.as_bytes());
    name.extend_from_slice(SUFFIX);
    name
}

/// Whether a name is one of a temporary file of ours.
pub fn is_part(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(b".").and_then(|rest| rest.strip_suffix(SUFFIX)) else { return false };
    // At least one byte of a name, a point and the tag.
    let Some((before, tag)) = rest.split_at_checked(rest.len().wrapping_sub(TAG)) else { return false };
    before.len() > 1 && before.ends_with(b".") && tag.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a part, by its name or path, has this tag.
pub fn has_tag(part: &[u8], tag: &str) -> bool {
    part.strip_suffix(SUFFIX)
        .and_then(|rest| rest.strip_suffix(tag.as_bytes()))
        .is_some_and(|rest| rest.ends_with(b"."))
}

/// The tag with `--resume`: the same source in the same state gives the same one, so that the next attempt finds the part.
pub fn resume_tag(size: u64, mtime: i64) -> String {
    let mut state = Sha256::new();
    state.update(size.to_be_bytes());
    state.update(mtime.to_be_bytes());
    hex8(&state.finalize())
}

/// The beginning of a name, cut between characters where it is UTF-8: some file systems insist on that.
fn cut(name: &[u8], room: usize) -> &[u8] {
    match std::str::from_utf8(name) {
        Ok(text) => &name[..text.floor_char_boundary(room)],
        Err(_) => &name[..room],
    }
}

fn hex8(hash: &[u8]) -> String {
    hash.iter().take(TAG / 2).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_recognised() {
        for final_name in [&b"a"[..], b".a", b"a b\nc", b"\xff\xfe", &[b'x'; 255], "ü".repeat(127).as_bytes()] {
            let name = name(final_name, "0123abcd");
            assert!(is_part(&name) && name.len() <= NAME_MAX, "{}", String::from_utf8_lossy(&name));
            assert_eq!(std::str::from_utf8(&name).is_ok(), std::str::from_utf8(final_name).is_ok());
        }
        assert_eq!(name(b"conf.txt", "0123abcd"), b".conf.txt.0123abcd.ssh-cli-part");
        assert!(has_tag(b"dir/.conf.txt.0123abcd.ssh-cli-part", "0123abcd"));
        assert!(!has_tag(b".conf.txt.0123abcd.ssh-cli-part", "0123abce") && !has_tag(b"0123abcd", "0123abcd"));
    }

    #[test]
    fn nothing_else_is() {
        for name in
            [&b""[..], b".ssh-cli-part", b".x.ssh-cli-part", b"..0123abcd.ssh-cli-part", b".x.0123ABCD.ssh-cli-part"]
        {
            assert!(!is_part(name), "{}", String::from_utf8_lossy(name));
        }
        assert!(!is_part(b"x.0123abcd.ssh-cli-part") && !is_part(b".x0123abcd.ssh-cli-part"));
    }

    #[test]
    fn long_names_that_begin_the_same_stay_apart() {
        let (one, other) = ([b'x'; 254].to_vec(), [b'x'; 255].to_vec());
        assert_ne!(name(&one, "0123abcd"), name(&other, "0123abcd"));
    }

    #[test]
    fn the_tag_of_a_resumed_copy_is_that_of_the_source() {
        assert_eq!(resume_tag(5, 7), resume_tag(5, 7));
        assert_ne!(resume_tag(5, 7), resume_tag(7, 5));
        assert!(is_part(&name(b"x", &resume_tag(u64::MAX, -1))));
    }
}
