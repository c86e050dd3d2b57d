//! Authentication (RFC 4252): the methods are rows of a table, tried in its order as long as the server accepts them.

mod attempt;
mod certificate;
mod interactive;
mod keyring;
mod offer;

use russh::client::Handle;

use attempt::{Answer, Attempt};
pub use keyring::Keyring;

use super::handler::Guard;
use super::patience::Patience;
use super::reach::Progress;
use crate::errors::Fault;
use crate::target::Target;
use crate::target::secrets::SecretStore;

/// One way to authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    PublicKey,
    Password,
    KeyboardInteractive,
}

/// The table, in the order in which the methods are tried: what costs nobody anything first.
const METHODS: [Method; 3] = [Method::PublicKey, Method::Password, Method::KeyboardInteractive];

impl Method {
    /// Its name in the protocol.
    const fn name(self) -> &'static str {
        match self {
            Self::PublicKey => "publickey",
            Self::Password => "password",
            Self::KeyboardInteractive => "keyboard-interactive",
        }
    }

    /// Whether there is anything to offer.
    fn available(self, target: &Target, keyring: &Keyring) -> bool {
        match self {
            Self::PublicKey => target.pubkey_enabled && keyring.may_offer(),
            Self::Password => target.password_enabled && target.password.is_some(),
            Self::KeyboardInteractive => {
                target.kbd_interactive_enabled && (target.otp.is_some() || target.password.is_some())
            }
        }
    }
}

/// Authenticates; the result names the method, with the key where there was one.
pub(super) async fn authenticate(
    handle: &mut Handle<Guard>,
    target: &Target,
    keyring: &Keyring,
    secrets: &SecretStore,
    patience: &mut Patience,
    progress: &mut Progress,
) -> Result<String, Fault> {
    let mut attempt = Attempt::new(handle, target, patience, progress);
    let mut passed: Vec<Method> = Vec::new();
    // A method may be asked for again after another was accepted in part, but never twice: the bound is the table's length.
    loop {
        let next = in_order(target).into_iter().find(|method| {
            !passed.contains(method) && method.available(target, keyring) && attempt.server_accepts(method.name())
        });
        let Some(method) = next else { break };
        passed.push(method);
        if method == Method::KeyboardInteractive && attempt.password_refused && target.otp.is_none() {
            // The same password in another form would count against the account once more.
            continue;
        }
        let answer = match method {
            Method::PublicKey => offer::offer(keyring, &mut attempt).await?,
            Method::Password => attempt.password(secrets).await?,
            Method::KeyboardInteractive => interactive::answer(&mut attempt, secrets).await?,
        };
        if let Answer::Accepted(how) = answer {
            return Ok(how);
        }
    }
    if attempt.tried.is_empty()
        && let Answer::Accepted(how) = attempt.none().await?
    {
        return Ok(how);
    }
    Err(failure(&attempt, keyring))
}

/// The table, as `PreferredAuthentications` orders it; a method that it does not name is not used.
fn in_order(target: &Target) -> Vec<Method> {
    match &target.preferred_authentications {
        None => METHODS.to_vec(),
        Some(names) => {
            names.iter().filter_map(|name| METHODS.into_iter().find(|method| method.name() == name)).collect()
        }
    }
}

fn failure(attempt: &Attempt<'_>, keyring: &Keyring) -> Fault {
    let user = attempt.target.user.clone();
    let accepted = attempt.accepted.clone().unwrap_or_default();
    let accepts = |name: &str| accepted.iter().any(|method| method == name);
    if accepts("publickey")
        && let Some(path) = keyring.locked(&attempt.tried)
    {
        return Fault::PassphraseRequired { path };
    }
    let wants_password = accepts("password") || accepts("keyboard-interactive");
    if wants_password && !accepts("publickey") && attempt.target.password.is_none() {
        return Fault::PasswordRequired { user };
    }
    if accepts("publickey")
        && let Some(trouble) = keyring.certificate_trouble(&user)
    {
        return trouble;
    }
    let list = |items: &[String]| if items.is_empty() { "nothing".to_owned() } else { items.join(", ") };
    let partial = if attempt.partial.is_empty() {
        String::new()
    } else {
        format!("{} was accepted, and more is needed; ", attempt.partial.join(", "))
    };
    let banner = attempt.progress.link.banner_text();
    let said = if banner.trim().is_empty() { String::new() } else { format!("; it said: {}", banner.trim()) };
    let orphans = keyring.orphans(&attempt.tried);
    let missing = if orphans.is_empty() {
        String::new()
    } else {
        format!("; not offered, because the agent does not hold its private key: {}", orphans.join(", "))
    };
    let (accepts, offered) = (list(&accepted), list(&attempt.tried));
    let reason = format!("{partial}the server accepts {accepts}; offered: {offered}{missing}{said}");
    Fault::AuthFailed { user, reason, tried: attempt.tried.clone(), accepted }
}
