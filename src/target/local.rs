//! Who runs us: the local account and its surroundings, captured once so that resolving is a pure function of it.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most that is read of `/etc/passwd`, in bytes.
const PASSWD_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Looks up an environment variable.
pub type Lookup = Box<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// The local side of a resolution.
pub struct Local {
    /// The login name: passwd's for our uid (as OpenSSH), else `USER` or `LOGNAME`. `None` in a container without
    /// either.
    pub user: Option<String>,
    /// The home directory: `$HOME` (agents and tests set it), else passwd's.
    pub home: Option<PathBuf>,
    /// Our real user id.
    pub uid: u32,
    /// The name of this machine: `%l`.
    pub hostname: String,
    /// The system's `ssh_config`.
    pub system_config: PathBuf,
    /// The variables that `SendEnv` can name, in the environment's order.
    pub variables: Vec<(String, String)>,
    passwd: String,
    env: Lookup,
}

impl Local {
    /// This process, as it is now.
    pub fn of_this_process() -> Self {
        let passwd = std::fs::File::open("/etc/passwd").and_then(|file| {
            let mut text = Vec::new();
            file.take(PASSWD_MAX_BYTES).read_to_end(&mut text)?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        });
        let uid = rustix::process::getuid().as_raw();
        let text =
            |variable: (OsString, OsString)| Some((variable.0.into_string().ok()?, variable.1.into_string().ok()?));
        Self {
            hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            variables: std::env::vars_os().filter_map(text).collect(),
            ..Self::new(uid, passwd.unwrap_or_default(), Box::new(|name| std::env::var_os(name)))
        }
    }

    /// An account described by its uid, the text of a passwd file, and a way to look up environment variables; on a
    /// machine of no name.
    pub fn new(uid: u32, passwd: String, env: Lookup) -> Self {
        let filled = |name: &str| env(name).filter(|value| !value.is_empty());
        let record = record(&passwd, |fields| fields[2].parse() == Ok(uid));
        let user = record
            .map(|fields| fields[0].to_owned())
            .or_else(|| filled("USER").or_else(|| filled("LOGNAME")).and_then(|name| name.into_string().ok()));
        let home = filled("HOME").map(PathBuf::from).or_else(|| record.map(|fields| PathBuf::from(fields[5])));
        Self {
            user,
            home,
            uid,
            hostname: "localhost".to_owned(),
            system_config: PathBuf::from("/etc/ssh/ssh_config"),
            variables: Vec::new(),
            passwd,
            env,
        }
    }

    /// An environment variable; an empty one counts as unset.
    pub fn env(&self, name: &str) -> Option<OsString> {
        (self.env)(name).filter(|value| !value.is_empty())
    }

    /// An environment variable, an empty one too: for `${NAME}`.
    pub fn env_as_set(&self, name: &str) -> Option<OsString> {
        (self.env)(name)
    }

    /// The home directory of another account, for `~name/`.
    pub fn home_of(&self, name: &str) -> Option<&Path> {
        record(&self.passwd, |fields| fields[0] == name).map(|fields| Path::new(fields[5]))
    }
}

/// The first record of a passwd file (passwd(5)) that `wanted` accepts.
fn record(passwd: &str, wanted: impl Fn(&[&str; 7]) -> bool) -> Option<[&str; 7]> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        <[&str; 7]>::try_from(fields).ok().filter(|fields| !fields[0].is_empty() && wanted(fields))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashMap;

    use super::*;

    /// An account `me` (uid 1000) whose home is `home`, with these variables.
    pub(in crate::target) fn local(home: &Path, vars: &[(&str, &str)]) -> Local {
        let vars: HashMap<String, OsString> = vars.iter().map(|(k, v)| ((*k).to_owned(), OsString::from(v))).collect();
        let passwd = format!(
            "root:x:0:0:root:/root:/bin/sh\nbroken\nme:x:1000:1000::{}:/bin/sh\nother:x:1001:1001::/home/other:/bin/sh\n",
            home.display()
        );
        Local {
            system_config: home.join("etc/ssh_config"),
            ..Local::new(1000, passwd, Box::new(move |name| vars.get(name).cloned()))
        }
    }

    #[test]
    fn passwd_names_the_user_and_home_is_the_environments() {
        let it = local(Path::new("/home/me"), &[("USER", "liar"), ("HOME", "/elsewhere")]);
        assert_eq!(it.user.as_deref(), Some("me"));
        assert_eq!(it.home.as_deref(), Some(Path::new("/elsewhere")));
        assert_eq!(it.home_of("other"), Some(Path::new("/home/other")));
        assert_eq!(it.home_of("nobody-here"), None);
    }

    #[test]
    fn without_a_record_the_environment_speaks() {
        let it = Local::new(7, String::new(), Box::new(|name| (name == "LOGNAME").then(|| "svc".into())));
        assert_eq!((it.user.as_deref(), it.home), (Some("svc"), None));
    }
}
