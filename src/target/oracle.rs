//! Every configuration here is also asked of `ssh -G`: what it prints is what we have to find, and where it refuses, so
//! do we.

mod errors;
mod hops;
mod includes;
mod matches;
mod mixed;
mod options;
mod theirs;
mod tokens;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::config::Reader;
use super::destination::Destination;
use super::local::Local;
use super::local::tests::local;
use super::resolver::Resolver;
use super::*;
use crate::model::request::ConfigFile;
use theirs::Printed;

/// A configuration, and how it is asked.
pub(super) struct Case<'t> {
    pub(super) files: &'t [(&'t str, &'t str)],
    pub(super) options: &'t [&'t str],
    pub(super) destination: &'t str,
}

/// A directory with the files of a case; `DIR` in them is its path.
pub(super) struct Setting {
    dir: TempDir,
}

impl Setting {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.replace("DIR", dir.path().to_str().unwrap())).unwrap();
        }
        Self { dir }
    }

    pub(super) fn config(&self) -> PathBuf {
        self.dir.path().join("config")
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Whoever runs the tests, as ssh sees them: passwd's home, not `$HOME`.
    pub(super) fn local(&self) -> Local {
        let here = Local::of_this_process();
        let home = here.user.as_deref().and_then(|user| here.home_of(user)).map(Path::to_owned);
        let mut it = local(self.path(), &[("SHELL", "/bin/sh"), ("ORACLE_SET", "set")]);
        (it.home, it.user, it.uid, it.hostname) = (home, here.user, here.uid, here.hostname);
        it
    }

    fn connection(&self, options: &[&str]) -> ConnectionOptions {
        let options = options.iter().map(|option| option.replace("DIR", self.path().to_str().unwrap())).collect();
        ConnectionOptions { config: ConfigFile::File(self.config()), options, ..super::tests::options() }
    }

    /// What we make of it.
    pub(super) fn ours(&self, destination: &str, options: &[&str]) -> Result<Printed, Fault> {
        let local = self.local();
        let options = self.connection(options);
        let mut resolver = Resolver::new(&local, Reader::new(&local, Vec::new()));
        let typed = Destination::parse(destination)?;
        let (settings, ..) = resolver.settings(&typed, &options)?;
        let (target, _) = resolve_for(&local, destination, &options)?;
        Ok(Printed::ours(&settings, &target))
    }

    /// What ssh makes of it.
    pub(super) fn theirs(&self, destination: &str, options: &[&str]) -> Result<Printed, String> {
        let options = options.iter().map(|option| option.replace("DIR", self.path().to_str().unwrap()));
        let arguments = options.flat_map(|option| ["-o".to_owned(), option]);
        Printed::theirs(&self.config(), arguments.collect(), destination)
    }
}

/// Ours and theirs have to be the same, or both refusals. What they have in common is given back.
pub(super) fn same(case: &Case<'_>) -> Option<Printed> {
    let setting = Setting::new(case.files);
    let ours = setting.ours(case.destination, case.options);
    let theirs = setting.theirs(case.destination, case.options);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            let theirs = theirs.comparable(&ours);
            let named = ours.clone().comparable(&ours);
            assert_eq!(named.0, theirs.0, "{} {:?} {:?}", case.destination, case.options, case.files);
            Some(ours)
        }
        (Err(fault), Err(_)) => {
            assert!(
                matches!(fault, Fault::ConfigInvalid { .. } | Fault::Usage { .. } | Fault::MatchExecFailed { .. }),
                "{fault:?}"
            );
            None
        }
        (ours, theirs) => panic!(
            "{} {:?} {:?}\nours: {:?}\ntheirs: {:?}",
            case.destination,
            case.options,
            case.files,
            ours.map(|printed| printed.0),
            theirs.map(|printed| printed.0)
        ),
    }
}

/// One file, for `web1`.
pub(super) fn same_file(text: &str) -> Option<Printed> {
    same(&Case { files: &[("config", text)], options: &[], destination: "web1" })
}

/// Both resolve it, and to this.
pub(super) fn resolves(text: &str, wanted: &[(&str, &str)]) {
    let printed = same_file(text).unwrap_or_else(|| panic!("refused: {text}"));
    for (key, value) in wanted {
        assert_eq!(printed.value(key), *value, "{key} of {text}");
    }
}

/// Both refuse it.
pub(super) fn refused(text: &str) {
    assert!(same_file(text).is_none(), "{text}");
}
