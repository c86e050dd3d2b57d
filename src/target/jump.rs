//! The way to a target: `ProxyJump` and `-J`, or `ProxyCommand` (`ssh_config(5)`, `ssh(1)`).

use super::destination::Destination;
use super::expand::{Allowed, Tokens};
use super::options::{Route, Settings};
use super::{DEFAULT_PORT, Resolver, Target, config_invalid};
use crate::errors::Fault;
use crate::model::request::ConnectionOptions;

/// The most bastions in a row. OpenSSH has no such limit, but starts a process for each.
const MAX_HOPS: usize = 16;

impl Resolver<'_> {
    /// The bastions in order, or the command.
    pub(super) fn route(
        &mut self,
        settings: &Settings,
        tokens: &Tokens<'_>,
        options: &ConnectionOptions,
    ) -> Result<(Vec<Target>, Option<String>), Fault> {
        match &settings.route {
            None | Some(Route::Direct | Route::NoJump) => Ok((Vec::new(), None)),
            Some(Route::Command(command)) => {
                let place = settings.place("ProxyCommand");
                let invalid = |problem| config_invalid(place, format!("ProxyCommand: {problem}"));
                Ok((Vec::new(), Some(tokens.text(command, Allowed::Proxy).map_err(invalid)?)))
            }
            Some(Route::Jump(hops)) => {
                // `-J` ends by itself; what configurations ask for may come back to where it began.
                let place = if options.jump.is_empty() { settings.place("ProxyJump") } else { "-J" };
                let invalid = |problem: String| config_invalid(place, format!("ProxyJump: {problem}"));
                if options.jump.is_empty() {
                    let asked = (tokens.typed.to_owned(), tokens.user.to_owned(), tokens.port);
                    if self.expanded.contains(&asked) {
                        return Err(invalid(format!("it leads back to {}", tokens.typed)));
                    }
                    self.expanded.push(asked);
                }
                Ok((self.hops(hops, tokens, options, &invalid)?, None))
            }
        }
    }

    /// The last bastion is reached through those before it, as by `ssh -J FIRST,SECOND LAST`: only the first one's own
    /// configuration can add to them.
    fn hops(
        &mut self,
        hops: &[String],
        tokens: &Tokens<'_>,
        options: &ConnectionOptions,
        invalid: &dyn Fn(String) -> Fault,
    ) -> Result<Vec<Target>, Fault> {
        self.hops += 1;
        if self.hops > MAX_HOPS {
            return Err(invalid(format!("there are more than {MAX_HOPS} bastions in a row")));
        }
        let expanded: Result<Vec<_>, _> = hops.iter().map(|hop| tokens.text(hop, Allowed::Proxy)).collect();
        let mut before = expanded.map_err(invalid)?;
        let Some(last) = before.pop() else { return Ok(Vec::new()) };
        let hop = Destination::parse(&last).map_err(|fault| invalid(fault.to_string()))?;
        let user = hop.user.as_deref().unwrap_or(tokens.user);
        if (hop.host.as_str(), hop.port.unwrap_or(DEFAULT_PORT), user) == (tokens.host, tokens.port, tokens.user) {
            return Err(invalid(format!("{} is its own bastion", hop.host)));
        }
        let mut target = self.target(&last, &for_a_hop(options, before))?;
        let mut all = std::mem::take(&mut target.jump);
        all.push(target);
        Ok(all)
    }
}

/// What of the command line holds for a bastion: see the module's documentation of [`super`].
fn for_a_hop(options: &ConnectionOptions, jump: Vec<String>) -> ConnectionOptions {
    ConnectionOptions {
        config: options.config.clone(),
        options: Vec::new(),
        user: None,
        port: None,
        identities: Vec::new(),
        jump,
        password: None,
        passphrase: options.passphrase.clone(),
        otp: None,
        host_key_policy: options.host_key_policy,
        host_key_pins: Vec::new(),
        connect_timeout: options.connect_timeout,
        deadline: options.deadline,
        keepalive: options.keepalive,
    }
}
