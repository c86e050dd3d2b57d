//! One line of `ssh_config(5)`, cut up the way OpenSSH does it (readconf.c `process_config_line_depth`, misc.c `strdelim`
//! and `argv_split`): two cutters with different rules, and configurations that rely on each.

/// What separates words, for [`delimited`].
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// The keyword of a line and the rest of it; nothing for an empty line or a comment.
pub(in crate::target) fn keyword(line: &str) -> Option<(String, &str)> {
    let line = line.trim_end_matches([' ', '\t', '\r', '\n', '\x0c']);
    let mut rest = Some(line);
    let mut word = delimited(&mut rest)?;
    if word.is_empty() {
        word = delimited(&mut rest)?;
    }
    if word.is_empty() || word.starts_with('#') {
        return None;
    }
    Some((word, rest.unwrap_or_default().trim_start_matches(BLANKS)))
}

/// The next word, as `strdelim` takes it: ended by white space, by one `=`, or quoted with `"`. Nothing at the end, and
/// where a quote is not closed.
pub(super) fn delimited(rest: &mut Option<&str>) -> Option<String> {
    let text = (*rest)?;
    let Some(at) = text.find(|c| BLANKS.contains(&c) || c == '"' || c == '=') else {
        *rest = None;
        return Some(text.to_owned());
    };
    let (word, after) = text.split_at(at);
    if let Some(quoted) = after.strip_prefix('"') {
        let Some((inside, after)) = quoted.split_once('"') else {
            *rest = None;
            return None;
        };
        *rest = Some(after.trim_start_matches(BLANKS));
        return Some(format!("{word}{inside}"));
    }
    let spaced = after.trim_start_matches(BLANKS);
    *rest = Some(spaced.strip_prefix('=').map_or(spaced, |value| value.trim_start_matches(BLANKS)));
    Some(word.to_owned())
}

/// Words as `argv_split` takes them: separated by spaces and tabs; both kinds of quotes, and backslashes before what
/// would else be special; a `#` that begins a word ends the line.
pub(in crate::target) fn arguments(text: &str) -> Result<Vec<String>, String> {
    let blank = |c: &char| matches!(c, ' ' | '\t');
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(blank).is_some() {}
        if chars.peek().is_none_or(|c| *c == '#') {
            return Ok(words);
        }
        let mut word = String::new();
        let mut quote = None;
        while let Some(c) = chars.next_if(|c| quote.is_some() || !blank(c)) {
            match (c, quote) {
                ('\\', _) => {
                    match chars.next_if(|c| matches!(c, '\'' | '"' | '\\') || (quote.is_none() && *c == ' ')) {
                        Some(escaped) => word.push(escaped),
                        None => word.push('\\'),
                    }
                }
                ('"' | '\'', None) => quote = Some(c),
                (c, Some(q)) if c == q => quote = None,
                (c, _) => word.push(c),
            }
        }
        if quote.is_some() {
            return Err("a quote is not closed".to_owned());
        }
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keywords_and_what_follows() {
        for (line, word, rest) in [
            ("User x", "User", "x"),
            ("  User\t x  \r\n", "User", "x"),
            ("User=x", "User", "x"),
            ("User = x", "User", "x"),
            ("User == x", "User", "= x"),
            ("\"User\" x", "User", "x"),
            ("User", "User", ""),
            ("ProxyCommand nc %h # not a comment", "ProxyCommand", "nc %h # not a comment"),
        ] {
            assert_eq!(keyword(line), Some((word.to_owned(), rest)), "{line:?}");
        }
        for line in ["", "   ", "\t\r\n", "# User x", "   # User x", "\"User x"] {
            assert_eq!(keyword(line), None, "{line:?}");
        }
    }

    #[test]
    fn words_of_a_line() {
        let words = |text: &str| arguments(text).unwrap();
        assert_eq!(words(r#"a "b c"  'd "e' f\ g h#i # j"#), ["a", "b c", "d \"e", "f g", "h#i"]);
        assert_eq!(words(r#""" \x "a\"b""#), ["", r"\x", "a\"b"]);
        assert!(arguments("a 'b").is_err() && arguments("\"").is_err());
    }

    #[test]
    fn criteria_are_cut_at_equals_signs_too() {
        let mut rest = Some(r#"host=a,b user "c d" exec  = "test x" "#);
        let mut words = Vec::new();
        while let Some(word) = delimited(&mut rest) {
            words.push(word);
        }
        assert_eq!(words, ["host", "a,b", "user", "c d", "exec", "test x", ""]);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,60}|[\"'\\\\= \t#a]{0,20}") {
            let _ = keyword(&text);
            let _ = arguments(&text);
            let mut rest = Some(text.as_str());
            while delimited(&mut rest).is_some() {}
        }
    }
}
