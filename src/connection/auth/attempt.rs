//! One authentication as it goes: what was offered, what the server accepts, and what its answers mean.

use russh::MethodSet;
use russh::client::{AuthResult, Handle};

use crate::connection::handler::Guard;
use crate::connection::patience::Patience;
use crate::connection::reach::Progress;
use crate::errors::Fault;
use crate::model::outcome::Phase;
use crate::secret::Secret;
use crate::target::Target;
use crate::target::secrets::{Ask, SecretStore, Shape};

/// An answer to one offer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// In, by this method.
    Accepted(String),
    /// Not by this alone.
    Refused,
}

pub(super) struct Attempt<'a> {
    pub(super) handle: &'a mut Handle<Guard>,
    pub(super) target: &'a Target,
    pub(super) patience: &'a mut Patience,
    pub(super) progress: &'a mut Progress,
    /// What was offered, for the error.
    pub(super) tried: Vec<String>,
    /// The password was offered, and alone it was not enough.
    pub(super) password_refused: bool,
    /// What was accepted in part.
    pub(super) partial: Vec<String>,
    /// What the server last said that it accepts; `None` before its first answer.
    pub(super) accepted: Option<Vec<String>>,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(
        handle: &'a mut Handle<Guard>,
        target: &'a Target,
        patience: &'a mut Patience,
        progress: &'a mut Progress,
    ) -> Self {
        Self {
            handle,
            target,
            patience,
            progress,
            tried: Vec::new(),
            password_refused: false,
            partial: Vec::new(),
            accepted: None,
        }
    }

    /// Until it has answered once, everything may be acceptable.
    pub(super) fn server_accepts(&self, method: &str) -> bool {
        self.accepted.as_ref().is_none_or(|accepted| accepted.iter().any(|name| name == method))
    }

    pub(super) fn address(&self) -> String {
        self.progress.address.clone().unwrap_or_else(|| self.target.host.clone())
    }

    /// Asks without offering anything, to learn what is accepted (RFC 4252 section 5.2).
    pub(super) async fn none(&mut self) -> Result<Answer, Fault> {
        let address = self.address();
        let asked = self.handle.authenticate_none(self.target.user.clone());
        let result = self.patience.within(&address, Phase::Auth, asked).await?;
        self.judge(result.map_err(|_| ()), "none".to_owned())
    }

    /// RFC 4252 section 8.
    pub(super) async fn password(&mut self, secrets: &SecretStore) -> Result<Answer, Fault> {
        let Some(source) = &self.target.password else { return Ok(Answer::Refused) };
        let prompt = format!("Password of {}@{}", self.target.user, self.target.host);
        let ask = Ask { what: "--password", prompt: &prompt, shape: Shape::Line };
        let text = text(&self.patience.outside(secrets.get(source, ask)).await??, ask.what)?;
        let address = self.address();
        let asked = self.handle.authenticate_password(self.target.user.clone(), text);
        let result = self.patience.within(&address, Phase::Auth, asked).await?;
        self.tried.push("password".to_owned());
        let before = self.partial.len();
        let answer = self.judge(result.map_err(|_| ()), "password".to_owned())?;
        // A server that does not list the method has not looked at the password.
        let looked_at = self.accepted.as_ref().is_some_and(|accepted| accepted.iter().any(|name| name == "password"));
        self.password_refused = answer == Answer::Refused && self.partial.len() == before && looked_at;
        Ok(answer)
    }

    /// The server refused, in our words.
    pub(super) fn refused(&self, reason: &str) -> Fault {
        Fault::AuthFailed {
            user: self.target.user.clone(),
            reason: format!("{reason}; offered: {}", self.tried.join(", ")),
            tried: self.tried.clone(),
            accepted: self.accepted.clone().unwrap_or_default(),
        }
    }

    /// What the server's answer to an offer means. The error of `result`: the session takes nothing any more.
    pub(super) fn judge(&mut self, result: Result<AuthResult, ()>, how: String) -> Result<Answer, Fault> {
        log::info!("offered {how}");
        match result {
            Ok(AuthResult::Success) => Ok(Answer::Accepted(how)),
            // russh reports a session that died as a refusal that names no method.
            Err(()) => Err(self.gone()),
            Ok(AuthResult::Failure { ref remaining_methods, .. })
                if remaining_methods.is_empty() && self.handle.is_closed() =>
            {
                Err(self.gone())
            }
            Ok(AuthResult::Failure { remaining_methods, partial_success }) => {
                if partial_success {
                    self.partial.push(how);
                }
                let accepted = names(&remaining_methods);
                log::info!("the server accepts {}", accepted.join(", "));
                self.accepted = Some(accepted);
                Ok(Answer::Refused)
            }
        }
    }

    /// The connection ended meanwhile. Only the server's word makes it a refusal.
    fn gone(&self) -> Fault {
        match self.progress.link.server_word() {
            Some(word) if word.to_ascii_lowercase().contains("authentication") => {
                self.refused(&format!("the server said: {word}"))
            }
            _ if says_expired(&self.progress.link.banner_text()) => {
                Fault::AccountExpired { user: self.target.user.clone() }
            }
            _ if self.progress.link.is_violated() => {
                Fault::ServerViolation { problem: self.progress.link.end_reason(), phase: Phase::Auth }
            }
            _ => Fault::ConnectionLost { phase: Phase::Auth, problem: self.progress.link.end_reason() },
        }
    }
}

/// However it ends, what was learned is told.
impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.progress.tried = std::mem::take(&mut self.tried);
        self.progress.accepted = self.accepted.take();
    }
}

/// A secret as the protocol wants it (RFC 4252 section 8). `what`: the option it belongs to.
pub(super) fn text(secret: &Secret, what: &str) -> Result<String, Fault> {
    secret.expose_str().map(str::to_owned).map_err(|_| Fault::SecretSourceEmpty {
        what: what.to_owned(),
        origin: "its source".to_owned(),
        problem: "it is not UTF-8 text".to_owned(),
    })
}

/// PAM's words for an account that is over; sshd passes them on as a banner, and hangs up (auth2.c).
fn says_expired(banner: &str) -> bool {
    banner.to_ascii_lowercase().contains("account has expired")
}

fn names(methods: &MethodSet) -> Vec<String> {
    methods.iter().map(String::from).collect()
}
