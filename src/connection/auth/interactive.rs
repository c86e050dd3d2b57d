//! keyboard-interactive (RFC 4256): the server asks, and only what an option answers is answered.

use russh::client::{KeyboardInteractiveAuthResponse as Reply, Prompt};

use super::attempt::{Answer, Attempt, text};
use crate::errors::Fault;
use crate::model::outcome::Phase;
use crate::target::secrets::{Ask, SecretStore, Shape};

/// How often the server may ask before it counts as a server that only asks.
const MAX_ROUNDS: usize = 16;

/// What a prompt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Password,
    NewPassword,
    Otp,
    Other,
}

impl Wanted {
    /// By the words that servers use: PAM's, and those of the usual second factors.
    fn of(prompt: &str) -> Self {
        let text = prompt.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if says(&["new password", "new unix password", "retype", "current password", "(current)"]) {
            Self::NewPassword
        } else if says(&[
            "verification code",
            "one-time",
            "one time",
            "otp",
            "passcode",
            "token",
            "authenticator",
            "2fa",
            "mfa",
            "code",
        ]) {
            Self::Otp
        } else if says(&["password", "passwort", "mot de passe", "contraseña"]) {
            Self::Password
        } else {
            Self::Other
        }
    }
}

/// Answers what the server asks. A password is given once: one that was not accepted is not tried again.
pub(super) async fn answer(attempt: &mut Attempt<'_>, secrets: &SecretStore) -> Result<Answer, Fault> {
    let how = "keyboard-interactive".to_owned();
    attempt.tried.push(how.clone());
    let address = attempt.address();
    let asked = attempt.handle.authenticate_keyboard_interactive_start(attempt.target.user.clone(), None);
    let mut reply = attempt.patience.within(&address, Phase::Auth, asked).await?;
    let mut password_given = false;
    for _ in 0..MAX_ROUNDS {
        let prompts = match reply {
            Ok(Reply::InfoRequest { prompts, .. }) => prompts,
            Ok(Reply::Success) => return Ok(Answer::Accepted(how)),
            Ok(Reply::Failure { remaining_methods, partial_success }) => {
                return attempt
                    .judge(Ok(russh::client::AuthResult::Failure { remaining_methods, partial_success }), how);
            }
            Err(_) => return attempt.judge(Err(()), how),
        };
        let mut answers = Vec::with_capacity(prompts.len());
        for prompt in &prompts {
            answers.push(one(prompt, attempt, secrets, &mut password_given).await?);
        }
        let asked = attempt.handle.authenticate_keyboard_interactive_respond(answers);
        reply = attempt.patience.within(&address, Phase::Auth, asked).await?;
    }
    Err(Fault::AuthInteractiveRequired { prompt: "it does not stop asking".to_owned() })
}

async fn one(
    prompt: &Prompt,
    attempt: &mut Attempt<'_>,
    secrets: &SecretStore,
    password_given: &mut bool,
) -> Result<String, Fault> {
    let shown = prompt.prompt.trim().to_owned();
    let target = attempt.target;
    match Wanted::of(&shown) {
        Wanted::NewPassword => Err(Fault::PasswordExpired { user: target.user.clone() }),
        Wanted::Password if *password_given => Err(attempt.refused("the password was not accepted")),
        Wanted::Password => match &target.password {
            Some(source) => {
                *password_given = true;
                let asked = format!("Password of {}@{}", target.user, target.host);
                let ask = Ask { what: "--password", prompt: &asked, shape: Shape::Line };
                text(&attempt.patience.outside(secrets.get(source, ask)).await??, ask.what)
            }
            None => Err(Fault::PasswordRequired { user: target.user.clone() }),
        },
        Wanted::Otp | Wanted::Other => match &target.otp {
            Some(source) => {
                let asked = format!("{shown} ({}@{})", target.user, target.host);
                let ask = Ask { what: "--otp", prompt: &asked, shape: Shape::Line };
                text(&attempt.patience.outside(secrets.get_anew(source, ask)).await??, ask.what)
            }
            None => Err(Fault::AuthInteractiveRequired { prompt: shown }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::Wanted;

    #[test]
    fn prompts_are_known_by_their_words() {
        for (prompt, wanted) in [
            ("Password: ", Wanted::Password),
            ("(deploy@web1) Password: ", Wanted::Password),
            ("Verification code: ", Wanted::Otp),
            ("One-time password (OATH) for `u': ", Wanted::Otp),
            ("Current password: ", Wanted::NewPassword),
            ("New password: ", Wanted::NewPassword),
            ("Favourite colour? ", Wanted::Other),
        ] {
            assert_eq!(Wanted::of(prompt), wanted, "{prompt}");
        }
    }
}
