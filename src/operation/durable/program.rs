//! The program's text, and the exec request that loads it.

/// The program as it is written; see [`super`].
const RECEIPT: &str = include_str!("receipt.sh");

/// What the program is told before its first line. Hex and digits only: nothing here needs a quote.
#[derive(Clone, Copy, Debug)]
pub struct Prologue<'a> {
    /// Random, per run: letters and digits.
    pub nonce: &'a str,
    /// The hash of the key, hex.
    pub key_hash: &'a str,
    /// The generation whose state comes with HELLO; 0 for none.
    pub generation: u32,
}

/// The whole program for one run, about 24 KB. It ends with the nonce, by which the loader knows that it is whole.
///
/// Every name that the program reads before it has set it is set here: the user's environment has no say.
pub fn program(prologue: &Prologue<'_>) -> String {
    let Prologue { nonce, key_hash, generation } = prologue;
    let mut text = format!("_n={nonce}\n_kh={key_hash}\n_g0={generation}\n_home0=\n_bid0=\n");
    for line in RECEIPT.lines().map(str::trim_start) {
        if !line.is_empty() && !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text + "#" + nonce
}

/// The exec request for a program of this length, which ends with the nonce: a part of it, or something else of that length, is
/// not run. It passes through every login shell unchanged: no quote inside, no `!`, no backslash. It reads in as few pieces as the
/// text comes in, and no byte more than the text has.
pub fn loader(program: &str, nonce: &str) -> String {
    format!("exec sh -c '{}'", reader(program, nonce))
}

/// The same for a shell that is there already, as behind sudo.
pub fn reader(program: &str, nonce: &str) -> String {
    let length = program.len();
    format!(
        "_prog=;while [ ${{#_prog}} -lt {length} ];do \
         _v=$(dd bs=$(({length}-${{#_prog}})) count=1 2>/dev/null;echo x);\
         [ \"$_v\" = x ]&&exit;_prog=$_prog${{_v%x}};done;\
         case $_prog in *\"#{nonce}\")eval \"$_prog\";;esac"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    const PROLOGUE: Prologue<'static> = Prologue { nonce: "n0", key_hash: "ab12", generation: 1 };

    #[test]
    fn the_loader_is_one_plain_line() {
        let loader = loader(&program(&PROLOGUE), "n0");
        assert_eq!(loader.matches('\'').count(), 2, "{loader}");
        assert!(!loader.contains(['!', '\\', '\n']) && loader.len() < 300, "{loader}");
    }

    #[test]
    fn the_program_is_plain_ascii_and_one_environment_string() {
        let program = program(&PROLOGUE);
        assert!(program.is_ascii() && program.ends_with("\n#n0") && program.len() < 60_000, "{}", program.len());
        // Indented comments are gone too, and nothing but comments is.
        assert!(!program.contains("\n#\n") && !program.contains("\n\n"));
    }

    #[test]
    fn what_is_cut_short_is_not_run() {
        let whole = "echo ran\n#n0";
        let loader = loader(whole, "n0");
        for cut in 0..=whole.len() {
            let mut child =
                Command::new("sh").arg("-c").arg(&loader).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(&whole.as_bytes()[..cut]).unwrap();
            let said = child.wait_with_output().unwrap().stdout;
            assert_eq!(said, if cut == whole.len() { &b"ran\n"[..] } else { b"" }, "cut at {cut}");
        }
    }
}
