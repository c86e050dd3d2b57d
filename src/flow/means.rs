//! Another user's rights: what is needed to get them, read before anybody is called.

use crate::errors::Fault;
use crate::model::request::{Elevation, Method};
use crate::operation::elevate::Elevated;
use crate::operation::elevate::refusal::Asked;
use crate::target::secrets::{Ask, SecretStore, Shape};

/// What gets them, and what tells why it did not. Both none for whoever logs in.
pub(super) struct Means {
    pub(super) elevated: Option<Elevated>,
    pub(super) asked: Option<Asked>,
}

impl Means {
    /// `login`: the account that asks.
    pub(super) async fn read(
        elevation: Option<&Elevation>,
        login: &str,
        secrets: &SecretStore,
        stop_nonce: &str,
    ) -> Result<Self, Fault> {
        Ok(match elevation {
            Some(elevation) => Self {
                elevated: Some(elevated(elevation, secrets, stop_nonce).await?),
                asked: Some(asked(elevation, login)),
            },
            None => Self { elevated: None, asked: None },
        })
    }
}

/// What the judgement of a refusal needs to know. `login`: the account that asks.
fn asked(elevation: &Elevation, login: &str) -> Asked {
    Asked {
        method: elevation.method,
        user: elevation.user.clone(),
        login: login.to_owned(),
        given: elevation.password.is_some(),
        direct: elevation.direct,
    }
}

/// Reads the password; nobody is asked for one again.
async fn elevated(elevation: &Elevation, secrets: &SecretStore, stop_nonce: &str) -> Result<Elevated, Fault> {
    let (what, prompt) = match elevation.method {
        Method::Sudo => ("--sudo-password", "password for sudo"),
        Method::Su => ("--su-password", "password for su"),
    };
    let password = match &elevation.password {
        Some(source) => Some(secrets.get(source, Ask { what, prompt, shape: Shape::Line }).await?),
        None => None,
    };
    Ok(Elevated {
        method: elevation.method,
        user: elevation.user.clone(),
        password,
        direct: elevation.direct,
        stop_nonce: stop_nonce.to_owned(),
    })
}
