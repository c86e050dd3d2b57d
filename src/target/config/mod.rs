//! The files of `ssh_config(5)`: which are read, what of them counts for a host, and what each may include. The values
//! themselves are [`super::options`]' business.

mod exec;
mod glob;
mod line;
mod matching;
mod pattern;
mod source;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub(super) use line::{arguments as words, keyword};
pub(super) use matching::last_hop;
pub(super) use pattern::{fits, list_fits};

use super::local::Local;
use super::options::{Applied, Settings};
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::request::ConfigFile;
use source::{Load, Sources};

/// How deep files may include each other (readconf.c `READCONF_MAX_DEPTH`).
const MAX_DEPTH: usize = 16;

/// How many files one reading may include.
const MAX_INCLUDED: usize = 1_000;

/// Reads configuration for one invocation. Each file is read once, and each command of `Match exec` run once, however
/// often hops and passes come back to them.
pub(super) struct Reader<'a> {
    local: &'a Local,
    sources: Sources,
    commands: exec::Commands,
    /// What is worth saying; one for each ignored keyword.
    pub(super) warnings: Vec<Warning>,
    ignored: Vec<&'static str>,
}

/// For whom the files are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    /// The name as typed.
    pub(super) typed: &'a str,
    /// The name that `Host` looks at: as typed, and in the second pass what `HostName` made of it.
    pub(super) host: &'a str,
    /// The second pass, which `Match final` asks for.
    pub(super) last: bool,
}

/// One way through the files.
struct Pass<'p> {
    settings: &'p mut Settings,
    subject: Subject<'p>,
    wants_last: bool,
    /// The files that are open now, by their canonical names.
    open: Vec<PathBuf>,
    included: usize,
}

/// What is the same for all lines of a file.
#[derive(Clone, Copy)]
struct Place<'p> {
    path: &'p Path,
    /// `~/.ssh/config` or `-F`, and what they include: `~` is allowed, and `~/.ssh` is where they look.
    users: bool,
    /// It was included where nothing counts.
    never: bool,
}

impl<'a> Reader<'a> {
    /// `withheld`: variables that hold secrets, for no command to see.
    pub(super) fn new(local: &'a Local, withheld: Vec<String>) -> Self {
        Self {
            local,
            sources: Sources::default(),
            commands: exec::Commands::new(local, withheld),
            warnings: Vec::new(),
            ignored: Vec::new(),
        }
    }

    /// Fills in what is not set yet. True when a `Match final` (or `canonical`) waits for the second pass.
    pub(super) fn read(
        &mut self,
        config: &ConfigFile,
        settings: &mut Settings,
        subject: Subject<'_>,
    ) -> Result<bool, Fault> {
        let mut pass = Pass { settings, subject, wants_last: false, open: Vec::new(), included: 0 };
        match config {
            ConfigFile::None => {}
            // Whoever names a file answers for its mode.
            ConfigFile::File(path) => match self.sources.load(path, None) {
                Load::Text(text) => {
                    self.file(&mut pass, &text, Place { path, users: true, never: false }, &mut true)?;
                }
                Load::Missing(problem) | Load::Unreadable(problem) | Load::Refused(problem) => {
                    return Err(invalid(path, problem));
                }
            },
            ConfigFile::Default => {
                if let Some(path) = self.local.home.as_ref().map(|home| home.join(".ssh/config")) {
                    self.default_file(&mut pass, &path, true)?;
                }
                let path = self.local.system_config.clone();
                self.default_file(&mut pass, &path, false)?;
            }
        }
        Ok(pass.wants_last)
    }

    /// One of the files that need not be there. Only the user's own has to be safe from others: the system's is root's.
    fn default_file(&mut self, pass: &mut Pass<'_>, path: &Path, users: bool) -> Result<(), Fault> {
        match self.sources.load(path, users.then_some(self.local.uid)) {
            Load::Text(text) => self.file(pass, &text, Place { path, users, never: false }, &mut true),
            Load::Missing(_) => Ok(()),
            Load::Unreadable(problem) => {
                self.warn(Warning::new("config_not_read", format!("{} was not read: {problem}", path.display())));
                Ok(())
            }
            Load::Refused(problem) => Err(invalid(path, problem)),
        }
    }

    fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn file(&mut self, pass: &mut Pass<'_>, text: &[u8], place: Place<'_>, active: &mut bool) -> Result<(), Fault> {
        pass.open.push(source::identity(place.path));
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let at = || format!("{}:{number}", place.path.display());
            let Ok(line) = std::str::from_utf8(line) else {
                if line.trim_ascii_start().starts_with(b"#") {
                    continue;
                }
                return Err(Fault::ConfigInvalid { place: at(), problem: "the line is not UTF-8".to_owned() });
            };
            if let Some((word, rest)) = keyword(line) {
                self.line(pass, (&word, rest), place, &at(), active)?;
            }
        }
        pass.open.pop();
        Ok(())
    }

    fn line(
        &mut self,
        pass: &mut Pass<'_>,
        (word, rest): (&str, &str),
        place: Place<'_>,
        at: &str,
        active: &mut bool,
    ) -> Result<(), Fault> {
        let wrong =
            |problem: String| Fault::ConfigInvalid { place: at.to_owned(), problem: format!("`{word}`: {problem}") };
        match word.to_ascii_lowercase().as_str() {
            "host" | "match" | "include" if rest.is_empty() => Err(wrong("it has no value".to_owned())),
            "host" => {
                let patterns = words(rest).map_err(wrong)?;
                *active = host_counts(&patterns, pass.subject.host).map_err(wrong)? && !place.never;
                Ok(())
            }
            "match" => {
                // OpenSSH reads the line both ways.
                words(rest).map_err(wrong)?;
                *active = self.criteria(pass, rest, at, place.never)?;
                Ok(())
            }
            "include" => {
                let patterns = words(rest).map_err(wrong)?;
                for pattern in &patterns {
                    let files = self.included(pattern, place).map_err(wrong)?;
                    for path in files {
                        self.include(pass, &path, place, at, *active)?;
                    }
                }
                Ok(())
            }
            _ if *active => {
                match pass.settings.apply(word, rest, at).map_err(wrong)? {
                    Applied::Honoured => {}
                    Applied::Ignored(name) if self.ignored.contains(&name) => {}
                    Applied::Ignored(name) => {
                        self.ignored.push(name);
                        let message = format!("{at}: `{name}` is not supported and was ignored");
                        self.warn(Warning::new("option_ignored", message));
                    }
                }
                Ok(())
            }
            _ => pass.settings.check(word, rest).map_err(wrong),
        }
    }

    /// The files of one `Include`: in `~/.ssh` for the user's files and beside the system's for those.
    fn included(&self, pattern: &str, place: Place<'_>) -> Result<Vec<PathBuf>, String> {
        if pattern.is_empty() {
            return Err("a file name is empty".to_owned());
        }
        let home = || self.local.home.clone().ok_or("no home directory is known");
        let path = match pattern.strip_prefix('~') {
            Some(_) if !place.users => return Err("`~` cannot be used in the system's files".to_owned()),
            Some(rest) => match rest.split_once('/').unwrap_or((rest, "")) {
                ("", rest) => home()?.join(rest),
                (name, rest) => match self.local.home_of(name) {
                    Some(home) => home.join(rest),
                    None => return Ok(Vec::new()),
                },
            },
            None if pattern.starts_with('/') => PathBuf::from(pattern),
            None if place.users => home()?.join(".ssh").join(pattern),
            None => self.local.system_config.parent().unwrap_or(Path::new("/")).join(pattern),
        };
        Ok(glob::files(&path))
    }

    fn include(
        &mut self,
        pass: &mut Pass<'_>,
        path: &Path,
        place: Place<'_>,
        at: &str,
        active: bool,
    ) -> Result<(), Fault> {
        let wrong = |problem: String| Fault::ConfigInvalid { place: at.to_owned(), problem };
        pass.included += 1;
        if pass.open.contains(&source::identity(path)) {
            return Err(wrong(format!("`Include`: {} includes itself", path.display())));
        }
        if pass.open.len() > MAX_DEPTH || pass.included > MAX_INCLUDED {
            let limits = format!("{MAX_DEPTH} levels and {MAX_INCLUDED} files");
            return Err(wrong(format!("`Include`: {} goes over the limit of {limits}", path.display())));
        }
        match self.sources.load(path, Some(self.local.uid)) {
            // What matches in there says nothing about the lines after it.
            Load::Text(text) => {
                let inner = Place { path, users: place.users, never: place.never || !active };
                self.file(pass, &text, inner, &mut active.clone())
            }
            Load::Missing(_) => Ok(()),
            Load::Unreadable(problem) | Load::Refused(problem) => Err(invalid(path, problem)),
        }
    }
}

fn invalid(path: &Path, problem: String) -> Fault {
    Fault::ConfigInvalid { place: path.display().to_string(), problem }
}

/// `Host`: one pattern has to fit, and none of those with `!` may.
fn host_counts(patterns: &[String], host: &str) -> Result<bool, String> {
    if patterns.iter().any(String::is_empty) {
        return Err("a pattern is empty".to_owned());
    }
    let refused = |pattern: &String| pattern.strip_prefix('!').is_some_and(|pattern| fits(host, pattern));
    Ok(!patterns.iter().any(refused) && patterns.iter().any(|pattern| fits(host, pattern)))
}
