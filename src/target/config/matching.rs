//! `Match` (`ssh_config(5)`, readconf.c `match_cfg_line`).

use super::super::DEFAULT_PORT;
use super::super::destination::Destination;
use super::super::expand::{Allowed, Tokens};
use super::super::local::Local;
use super::super::options::{Route, Settings};
use super::line::delimited;
use super::pattern::{host_fits, list_fits};
use super::{Pass, Reader, Subject, exec};
use crate::errors::Fault;
use crate::model::outcome::Warning;

/// Criteria of newer versions, about things that are not known here.
const UNSUPPORTED: [&str; 4] = ["localnetwork", "sessiontype", "command", "version"];

impl Reader<'_> {
    /// Whether the block counts. `never`: it does not, but its line has to be right.
    pub(super) fn criteria(&mut self, pass: &mut Pass<'_>, line: &str, at: &str, never: bool) -> Result<bool, Fault> {
        let wrong =
            |problem: String| Fault::ConfigInvalid { place: at.to_owned(), problem: format!("`Match`: {problem}") };
        let local = self.local;
        let known = Known::new(local, pass.settings, pass.subject).map_err(wrong)?;
        let mut rest = Some(line);
        let mut counts = true;
        let mut seen = 0;
        while let Some(criterion) = delimited(&mut rest).filter(|word| !word.is_empty()) {
            if criterion.starts_with('#') {
                rest = None;
                break;
            }
            let (negated, name) = match criterion.strip_prefix('!') {
                Some(name) => (true, name.to_ascii_lowercase()),
                None => (false, criterion.to_ascii_lowercase()),
            };
            if name == "all" {
                let more = delimited(&mut rest).filter(|word| !word.is_empty());
                if seen > 1 || more.is_some_and(|word| !word.starts_with('#')) {
                    return Err(wrong("`all` stands alone".to_owned()));
                }
                return Ok(counts && !negated && !never);
            }
            seen += 1;
            if name == "canonical" || name == "final" {
                pass.wants_last |= name == "final";
                counts &= pass.subject.last != negated;
                continue;
            }
            let argument = delimited(&mut rest).filter(|word| !word.is_empty() && !word.starts_with('#'));
            let argument = argument.ok_or_else(|| wrong(format!("`{name}` has no value")))?;
            let fits = match name.as_str() {
                "host" => host_fits(&known.host, &argument),
                "originalhost" => host_fits(pass.subject.typed, &argument),
                "user" => list_fits(&known.user, &argument),
                "localuser" => list_fits(local.user.as_deref().unwrap_or_default(), &argument),
                "tagged" => list_fits(pass.settings.tag.as_deref().unwrap_or_default(), &argument),
                "exec" => {
                    let command = known.tokens(local, pass.subject).text(&argument, Allowed::Command).map_err(wrong)?;
                    // Not worth running, and perhaps not meant to be, once something before it did not fit.
                    if !counts || never {
                        continue;
                    }
                    self.succeeds(&command, at)?
                }
                name if UNSUPPORTED.contains(&name) => {
                    if counts && !never {
                        return Err(wrong(format!("the criterion `{name}` is not supported")));
                    }
                    continue;
                }
                name => return Err(wrong(format!("`{name}` is no criterion"))),
            };
            counts &= fits != negated;
        }
        if rest.is_some_and(|rest| !rest.is_empty()) {
            return Err(wrong("there is something after the criteria".to_owned()));
        }
        if seen == 0 {
            return Err(wrong("it names no criterion".to_owned()));
        }
        Ok(counts && !never)
    }

    fn succeeds(&mut self, command: &str, at: &str) -> Result<bool, Fault> {
        let failed = |problem| Fault::MatchExecFailed { command: command.to_owned(), problem };
        let ran = self.commands.run(command).map_err(failed)?;
        if let exec::Ran { status: 126 | 127, said, .. } = &ran {
            // It counts as a "no", as in OpenSSH; but it looks like a mistake.
            let said = if said.is_empty() { format!("status {}", ran.status) } else { said.clone() };
            let message = format!("{at}: the command of `Match exec` was not run, so it does not match: {said}");
            self.warn(Warning::new("match_exec_not_run", message));
        }
        Ok(ran.status == 0)
    }
}

/// What is known so far, with defaults for the rest.
struct Known {
    host: String,
    user: String,
    port: u16,
    alias: String,
    jump: String,
}

impl Known {
    fn new(local: &Local, settings: &Settings, subject: Subject<'_>) -> Result<Self, String> {
        let mut known = Self {
            host: subject.host.to_owned(),
            user: settings.user.clone().or_else(|| local.user.clone()).unwrap_or_default(),
            port: settings.port.unwrap_or(DEFAULT_PORT),
            alias: String::new(),
            jump: last_hop(settings),
        };
        if let (Some(name), false) = (&settings.host_name, subject.last) {
            known.host = known.tokens(local, subject).text(name, Allowed::Host)?;
        }
        known.alias = settings.host_key_alias.clone().unwrap_or_else(|| known.host.clone());
        Ok(known)
    }

    fn tokens<'a>(&'a self, local: &'a Local, subject: Subject<'a>) -> Tokens<'a> {
        let Self { host, user, port, alias, jump } = self;
        Tokens { local, host, typed: subject.typed, port: *port, user, alias, jump }
    }
}

/// `%j`: the host of the last hop.
pub(in crate::target) fn last_hop(settings: &Settings) -> String {
    match &settings.route {
        Some(Route::Jump(hops)) => {
            hops.last().and_then(|hop| Destination::parse(hop).ok()).map(|hop| hop.host).unwrap_or_default()
        }
        _ => String::new(),
    }
}
