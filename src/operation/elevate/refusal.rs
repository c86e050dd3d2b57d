//! Why the rights were not given: the most certain thing that can be said. The programs speak English here, since their locale
//! was set; what is not recognised is told in their own words.

use super::Dialogue;
use crate::errors::Fault;
use crate::model::request::Method;

/// What about the request bears on the refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// By which program.
    pub method: Method,
    /// As whom.
    pub user: String,
    /// Who is logged in.
    pub login: String,
    /// A password was given.
    pub given: bool,
    /// The program starts the command itself.
    pub direct: bool,
}

/// The words of a PAM that will not go on without a new password.
pub(super) fn wants_a_new_password(words: &str) -> bool {
    ["Account or password is expired", "required to change your password", "new one required"]
        .iter()
        .any(|text| words.contains(text))
}

/// The fault, where the program did not let us through; none where it was never run.
pub fn refusal(dialogue: &Dialogue, asked: &Asked) -> Option<Fault> {
    if !dialogue.begun && !dialogue.absent {
        return None;
    }
    Some(match asked.method {
        Method::Sudo if dialogue.absent => Fault::SudoNotFound,
        Method::Su if dialogue.absent => Fault::SuNotFound,
        Method::Sudo => sudo(dialogue, asked),
        Method::Su => su(dialogue, asked),
    })
}

/// Su insists on a terminal: nothing was asked, and it may do better with one.
pub fn needs_terminal(dialogue: &Dialogue) -> bool {
    !dialogue.answered && dialogue.words.contains("must be run from a terminal")
}

fn sudo(dialogue: &Dialogue, asked: &Asked) -> Fault {
    let words = dialogue.words.as_str();
    let says = |texts: &[&str]| texts.iter().find_map(|text| words.lines().find(|line| line.contains(text)));
    if says(&["must have a tty", "a terminal is required"]).is_some() {
        return Fault::SudoRequiresTty;
    }
    if wants_a_new_password(words) {
        return Fault::PasswordExpired { user: asked.login.clone() };
    }
    if says(&["account validation failure", "account has expired", "Account expired"]).is_some() {
        return Fault::AccountExpired { user: asked.login.clone() };
    }
    let refused = ["not in the sudoers file", "is not allowed to", "may not run", "afraid I can't", "unknown user"];
    if let Some(line) = says(&refused) {
        return Fault::SudoNotPermitted { problem: in_short(line) };
    }
    if dialogue.prompts > 1 || says(&["incorrect password attempt", "incorrect authentication attempt"]).is_some() {
        return Fault::SudoPasswordWrong;
    }
    if !asked.given && says(&["a password is required", "interactive authentication is required"]).is_some() {
        return Fault::SudoPasswordRequired;
    }
    Fault::SudoNotPermitted { problem: all(dialogue) }
}

fn su(dialogue: &Dialogue, asked: &Asked) -> Fault {
    let words = dialogue.words.as_str();
    let says = |texts: &[&str]| texts.iter().find_map(|text| words.lines().find(|line| line.contains(text)));
    if wants_a_new_password(words) {
        return Fault::PasswordExpired { user: asked.user.clone() };
    }
    if says(&["account has expired", "Account expired"]).is_some() {
        return Fault::AccountExpired { user: asked.user.clone() };
    }
    if let Some(line) = says(&["Permission denied", "does not exist", "not available", "must be run from a terminal"]) {
        return Fault::SuNotPermitted { problem: in_short(line) };
    }
    if dialogue.prompts > 0 && !asked.given {
        return Fault::SuPasswordRequired;
    }
    if dialogue.prompts > 1 || dialogue.answered && says(&["uthentication failure", "ncorrect password"]).is_some() {
        return Fault::SuPasswordWrong;
    }
    Fault::SuNotPermitted { problem: all(dialogue) }
}

/// What sudo itself said after it was told to start the command directly. The command may have said it as well.
pub fn claimed(stderr: &[u8]) -> Option<Fault> {
    let words = String::from_utf8_lossy(stderr);
    let line = words.lines().next()?;
    if line.starts_with("sudo: ") && line.contains("password is required") {
        return Some(Fault::SudoPasswordRequired);
    }
    let refused = line.starts_with("Sorry, user ") && line.contains("is not allowed to");
    refused.then(|| Fault::SudoNotPermitted { problem: in_short(line) })
}

/// One line, without the name of the program before it, and without the loader that it names as the command.
fn in_short(line: &str) -> String {
    let line = line.trim();
    let line = line.strip_prefix("sudo: ").or_else(|| line.strip_prefix("su: ")).unwrap_or(line);
    match (line.find('\''), line.rfind('\'')) {
        (Some(begin), Some(end)) if line[begin..end].contains("_sc") => {
            format!("{}a shell{}", &line[..begin], &line[end + 1..])
        }
        _ => line.to_owned(),
    }
}

fn all(dialogue: &Dialogue) -> String {
    let lines: Vec<String> = dialogue.words.lines().map(in_short).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [] => "it ended without a word".to_owned(),
        lines => lines.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(method: Method, given: bool, prompts: u32, words: &str) -> Fault {
        let dialogue = Dialogue {
            begun: true,
            prompts,
            answered: given && prompts > 0,
            words: words.into(),
            ..Dialogue::default()
        };
        let asked = Asked { method, user: "root".into(), login: "u".into(), given, direct: false };
        refusal(&dialogue, &asked).unwrap()
    }

    #[test]
    fn each_refusal_of_sudo_has_its_name() {
        let sudo = |given, prompts, words| told(Method::Sudo, given, prompts, words);
        assert_eq!(sudo(false, 0, "sudo: a password is required\n"), Fault::SudoPasswordRequired);
        assert_eq!(sudo(false, 0, "sudo: interactive authentication is required\n"), Fault::SudoPasswordRequired);
        assert_eq!(sudo(true, 2, "Sorry, try again.\n"), Fault::SudoPasswordWrong);
        assert_eq!(sudo(true, 1, "sudo: 1 incorrect password attempt\n"), Fault::SudoPasswordWrong);
        assert_eq!(sudo(true, 0, "sudo: sorry, you must have a tty to run sudo\n"), Fault::SudoRequiresTty);
        assert_eq!(
            sudo(true, 1, "sudo: account validation failure, is your account locked?\nsudo: a password is required\n"),
            Fault::AccountExpired { user: "u".into() }
        );
        let problem = "u is not in the sudoers file.".to_owned();
        assert_eq!(sudo(true, 1, "u is not in the sudoers file.\n"), Fault::SudoNotPermitted { problem });
        let problem = "Sorry, user u is not allowed to execute a shell as root on h.".to_owned();
        assert_eq!(
            sudo(true, 1, "Sorry, user u is not allowed to execute '/usr/bin/sh -c _sc=$(it's)' as root on h.\n"),
            Fault::SudoNotPermitted { problem }
        );
        let problem = "effective uid is not 0".to_owned();
        assert_eq!(sudo(true, 0, "sudo: effective uid is not 0\n"), Fault::SudoNotPermitted { problem });
        assert_eq!(sudo(true, 0, ""), Fault::SudoNotPermitted { problem: "it ended without a word".into() });
    }

    #[test]
    fn each_refusal_of_su_has_its_name() {
        let su = |given, prompts, words| told(Method::Su, given, prompts, words);
        assert_eq!(su(false, 1, "su: Authentication failure\n"), Fault::SuPasswordRequired);
        assert_eq!(su(true, 1, "su: Authentication failure\n"), Fault::SuPasswordWrong);
        // Refused before it asked: the password is not to blame.
        let problem = "Authentication failure".to_owned();
        assert_eq!(su(true, 0, "su: Authentication failure\n"), Fault::SuNotPermitted { problem });
        let problem = "Permission denied".to_owned();
        assert_eq!(su(true, 1, "su: Permission denied\n"), Fault::SuNotPermitted { problem });
        let expired =
            "Your account has expired; please contact your system administrator.\nsu: Authentication failure\n";
        assert_eq!(su(true, 1, expired), Fault::AccountExpired { user: "root".into() });
    }

    #[test]
    fn what_never_ran_refused_nothing() {
        let asked = Asked { method: Method::Sudo, user: "root".into(), login: "u".into(), given: true, direct: false };
        assert_eq!(refusal(&Dialogue::default(), &asked), None);
        let absent = Dialogue { absent: true, ..Dialogue::default() };
        assert_eq!(refusal(&absent, &asked), Some(Fault::SudoNotFound));
    }
}
