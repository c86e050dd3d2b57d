//! Whose operation it is: one text for one account of one target.

use std::fmt::{self, Write as _};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An account of a target, as one unambiguous line. The same account spelled in two ways is two of them: the receipt on the host
/// is what stands between a command and its second start, and this only finds our own record of it.
///
/// ```
/// use ssh_cli::model::operation::{TargetAccount, Via};
///
/// let direct = TargetAccount::located("deploy", "web1.example", 22, Via::Nothing);
/// assert_eq!(direct.as_str(), "deploy@web1.example:22");
/// let jumps = ["ops@bastion:22".to_owned()];
/// let inner = TargetAccount::located("deploy", "10.0.0.7", 22, Via::Jumps(&jumps)).elevated("root");
/// assert_eq!(inner.as_str(), "deploy@10.0.0.7:22 jump=ops%40bastion%3A22 as=root");
/// assert_eq!(TargetAccount::aliased("deploy", "web").as_str(), "deploy@alias=web");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TargetAccount(String);

/// What leads to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via<'a> {
    /// A direct connection.
    Nothing,
    /// Bastions, in the order in which they are passed.
    Jumps(&'a [String]),
    /// A `ProxyCommand`: the same address may be another host behind another one.
    ProxyCommand(&'a str),
}

impl TargetAccount {
    /// A target with a `HostKeyAlias`: the alias is what tells it from others, wherever it is reached.
    pub fn aliased(user: &str, alias: &str) -> Self {
        Self(format!("{}@alias={}", Part(user), Part(alias)))
    }

    /// Any other target.
    pub fn located(user: &str, host: &str, port: u16, via: Via<'_>) -> Self {
        let mut text = format!("{}@{}:{port}", Part(user), Part(host));
        match via {
            Via::Nothing | Via::Jumps([]) => {}
            Via::Jumps(hops) => {
                let hops: Vec<String> = hops.iter().map(|hop| Part(hop).to_string()).collect();
                text.push_str(" jump=");
                text.push_str(&hops.join(","));
            }
            Via::ProxyCommand(command) => {
                text.push_str(" proxy=");
                text.push_str(&Part(command).to_string());
            }
        }
        Self(text)
    }

    /// The same target as another user, by sudo or su: a receipt belongs to the user whom the command runs as.
    #[must_use]
    pub fn elevated(self, user: &str) -> Self {
        Self(format!("{} as={}", self.0, Part(user)))
    }

    /// The line.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TargetAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One part of the line: whatever separates parts, or is not plain, is percent-encoded.
struct Part<'a>(&'a str);

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'~' => {
                    f.write_char(char::from(byte))?;
                }
                _ => write!(f, "%{byte:02X}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_targets_share_a_line() {
        let hops = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let all = [
            TargetAccount::located("a", "h", 22, Via::Nothing),
            TargetAccount::located("a", "h", 222, Via::Nothing),
            TargetAccount::located("a", "h:22", 2, Via::Nothing),
            TargetAccount::located("a@h", "h", 22, Via::Nothing),
            TargetAccount::located("a", "h@h", 22, Via::Nothing),
            TargetAccount::located("a", "alias=h", 22, Via::Nothing),
            TargetAccount::aliased("a", "h"),
            TargetAccount::aliased("a", "h:22"),
            TargetAccount::located("a", "h", 22, Via::Jumps(&hops(&["x", "y"]))),
            TargetAccount::located("a", "h", 22, Via::Jumps(&hops(&["x,y"]))),
            TargetAccount::located("a", "h", 22, Via::Jumps(&hops(&["y", "x"]))),
            TargetAccount::located("a", "h", 22, Via::ProxyCommand("x,y")),
            TargetAccount::located("a", "h", 22, Via::ProxyCommand("x as=root")),
            TargetAccount::located("a", "h", 22, Via::ProxyCommand("x")).elevated("root"),
            TargetAccount::located("a", "h", 22, Via::Nothing).elevated("root"),
            TargetAccount::located("a", "h", 22, Via::Nothing).elevated("root as=x"),
        ];
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|account| account.as_str().chars().all(|c| c.is_ascii_graphic() || c == ' ')));
        // No hop is a direct connection.
        assert_eq!(TargetAccount::located("a", "h", 22, Via::Jumps(&[])), all[0]);
    }
}
