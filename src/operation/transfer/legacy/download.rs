//! From there to here: `scp -f` sends what it likes, and only what was asked for is taken.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::super::Broken;
use super::ask::is_no_match;
use super::errands::Errands;
use super::meter::{Meter, Outcome};
use super::record::{Head, LINE_MAX, Record, record};
use super::said::{self, Act};
use super::sink::no_protocol;
use super::take::Level;
use super::wire::{Ended, Wire, lost};
use super::words;
use crate::errors::Fault;
use crate::model::copy::{LocalTarget, RemotePath, Symlinks};
use crate::model::outcome::Phase;
use crate::model::sink::Sink;
use crate::operation::transfer::local::target::{Settled, Times, Tree, standing};
use crate::operation::transfer::place::{Place, Standing, Subject, name_of, place};
use crate::wildcard::fits_bytes;

/// Copies all sources.
pub async fn download<S: Sink>(
    meter: &Meter<'_, '_, S>,
    sources: &[RemotePath],
    target: &LocalTarget,
) -> Result<(), Broken> {
    let options = meter.options();
    if options.symlinks != Symlinks::Follow {
        let problem = "the legacy protocol follows links and does not tell them; --symlinks needs SFTP".to_owned();
        return Err(Fault::TransferRefused { path: meter.job.plan.host.clone(), problem }.into());
    }
    if sources.iter().any(|source| source.0.contains(&0)) {
        return Err(Fault::Usage { message: "a NUL byte cannot be part of a path".to_owned() }.into());
    }
    let (path, to_stdout) = match target {
        LocalTarget::Stdout => (Path::new("-"), true),
        LocalTarget::Path(path) => (path.as_path(), false),
    };
    let mut download = Download {
        meter,
        shell: None,
        no_shell: false,
        target: path,
        to_stdout,
        tree: Tree::open(path, options, &meter.job.leftovers),
        standing: if to_stdout { Standing::Missing } else { standing(path)? },
        several: sources.len() > 1,
        names: BTreeSet::new(),
        skip: 0,
        begun: false,
        printed: false,
    };
    if let ([source], false) = (sources, to_stdout) {
        download.several = download.is_several(source).await?;
    }
    if download.several && !to_stdout {
        download.meter.job.lands_at(path);
    }
    for source in sources {
        match download.source(source).await {
            Ok(()) => {}
            Err(Broken::Fault(fault @ Fault::ServerViolation { .. })) => {
                let below = download.top(source);
                meter.settle(&below, Err(fault.clone()))?;
                return Err(fault.into());
            }
            Err(Broken::Fault(fault)) => {
                let below = download.top(source);
                meter.settle(&below, Err(fault))?;
            }
            Err(broken) => return Err(broken),
        }
    }
    Ok(download.finish()?)
}

/// What is being fetched.
pub struct Download<'m, 'a, 'j, S> {
    /// What all of it shares.
    pub meter: &'m Meter<'a, 'j, S>,
    /// A shell beside it, where one was needed.
    pub(super) shell: Option<Errands>,
    /// There is none to be had.
    pub(super) no_shell: bool,
    target: &'m Path,
    /// It goes to our standard output.
    pub to_stdout: bool,
    /// Where it goes else.
    pub tree: Tree,
    standing: Standing,
    several: bool,
    names: BTreeSet<Vec<u8>>,
    /// How much longer the paths of the tree are than those of the report.
    skip: usize,
    /// The protocol is spoken there.
    begun: bool,
    /// A file went to standard output.
    pub printed: bool,
}

impl<S: Sink> Download<'_, '_, '_, S> {
    async fn source(&mut self, source: &RemotePath) -> Result<(), Broken> {
        let options = self.meter.options();
        let mut command = b"scp".to_vec();
        command.extend_from_slice(if options.recursive { b" -r" } else { b"" });
        command.extend_from_slice(if options.preserve { b" -p" } else { b"" });
        command.extend_from_slice(b" -f ");
        command.extend_from_slice(&words::pattern(&source.0));
        let line = self.meter.line;
        let again = Meter::<S>::patience();
        let patience = if self.begun { &again } else { line.patience };
        let started = async {
            let mut wire = Wire::start(line, patience, &command).await?;
            let ready = async {
                wire.send(vec![0].into()).await?;
                wire.peek().await
            };
            let ready = ready.await;
            Ok::<_, Fault>((wire, ready))
        };
        let (mut wire, ready) = patience.within(line.address, Phase::Channel, started).await??;
        let first = match ready {
            Ok(first) => first,
            Err(Ended::Over) if words::is_pattern(&source.0) && is_no_match(wire.stderr()) => {
                let problem = "nothing on the host fits it".to_owned();
                return Err(Fault::SourceNotFound { path: self.meter.shown(&source.0), problem }.into());
            }
            Err(ended) => return Err(no_protocol(&wire, &ended, b"")),
        };
        if !matches!(first, 1 | 2 | b'C' | b'D' | b'T' | b'E') {
            let noise = wire.noise(Vec::new()).await;
            return Err(no_protocol(&wire, &Ended::Over, &noise));
        }
        let received = self.receive(&mut wire, source).await;
        wire.close().await;
        received
    }

    /// Takes what is sent, until there is no more.
    async fn receive(&mut self, wire: &mut Wire, source: &RemotePath) -> Result<(), Broken> {
        let mut inside: Vec<Level> = Vec::new();
        let mut times = None;
        loop {
            let first = match wire.byte().await {
                Ok(first) => first,
                Err(Ended::Over) if inside.is_empty() => return Ok(()),
                Err(ended) => return Err(broke(wire, &ended).into()),
            };
            let rest = wire.line(LINE_MAX).await.map_err(|ended| broke(wire, &ended))?;
            if let 1 | 2 = first {
                self.begun = true;
                self.refused(&rest, &inside, source).await?;
                if first == 2 {
                    return Ok(());
                }
                continue;
            }
            let Some(record) = record(first, &rest) else {
                let line = [&[first], &rest[..]].concat();
                if self.begun {
                    return Err(said::violation(format!("`{}` is no line of the protocol", said::quoted(&line))).into());
                }
                let noise = wire.noise(line).await;
                return Err(no_protocol(wire, &Ended::Over, &noise));
            };
            self.begun = true;
            let taken = match record {
                Record::Times(told) => {
                    times = Some(told);
                    true
                }
                Record::End => {
                    let Some(level) = inside.pop() else {
                        return Err(said::violation("a directory ends that did not begin").into());
                    };
                    self.leave(&level)?;
                    true
                }
                Record::File(head) => {
                    let level = self.place(&inside, &head, source, false)?;
                    self.file(wire, &head, level, times.take()).await?
                }
                Record::Directory(head) => {
                    let level = self.place(&inside, &head, source, true)?;
                    let taken = self.enter(&head, &level, inside.len(), times.take())?;
                    if taken {
                        inside.push(level);
                    } else {
                        self.refuse(wire).await?;
                    }
                    taken
                }
            };
            if taken {
                wire.send(vec![0].into()).await.map_err(|ended| broke(wire, &ended))?;
            }
        }
    }

    /// Says that the next entry is not wanted: the host goes on with the one after it.
    pub async fn refuse(&self, wire: &mut Wire) -> Result<(), Fault> {
        let word = &b"\x01ssh-cli: not taken\n"[..];
        wire.send(word.into()).await.map_err(|ended| broke(wire, &ended))
    }

    /// The host could not read something.
    async fn refused(&mut self, text: &[u8], inside: &[Level], source: &RemotePath) -> Result<(), Fault> {
        // `scp: PATH: why`
        let words: Vec<&[u8]> = text.split(|b| *b == b':').collect();
        let path = if words.len() >= 3 { words[1..words.len() - 1].join(&b':') } else { Vec::new() };
        let name = name_of(path.trim_ascii_start()).map(<[u8]>::to_vec);
        let below = match (inside.last(), name) {
            (Some(level), Some(name)) => level.child(&name).below(self.skip).to_vec(),
            (Some(level), None) => level.below(self.skip).to_vec(),
            (None, Some(name)) if self.several && words::is_pattern(&source.0) => name,
            (None, _) => self.top(source),
        };
        let whole =
            if inside.is_empty() { self.meter.shown(&source.0) } else { self.meter.shown(path.trim_ascii_start()) };
        if said::is_no_file(text) {
            if inside.is_empty() && !self.meter.options().recursive && self.is_directory(source).await? {
                return self.meter.settle(&below, Err(Fault::SourceIsDirectory { path: whole }));
            }
            if inside.is_empty() && !words::is_pattern(&source.0) {
                let problem = "it is no regular file".to_owned();
                return self.meter.settle(&below, Err(Fault::SourceNotFound { path: whole, problem }));
            }
            self.meter.job.ledger.borrow_mut().skipped(&below, "not_regular: the host does not say what it is");
            return Ok(());
        }
        self.meter.settle(&below, Err(said::fault(text, &whole, Act::Read)))
    }

    /// The path of a source in the report.
    fn top(&self, source: &RemotePath) -> Vec<u8> {
        if self.several { name_of(&source.0).map(words::unescaped).unwrap_or_default() } else { Vec::new() }
    }

    /// Where an entry goes: below the directory that is open, or where the source goes. The name is the server's.
    fn place(
        &mut self,
        inside: &[Level],
        head: &Head,
        source: &RemotePath,
        is_directory: bool,
    ) -> Result<Level, Fault> {
        let name = &head.name[..];
        let told = || said::quoted(name);
        let asked = name_of(&source.0).filter(|asked| !(source.0.starts_with(b"~") && *asked == source.0));
        // Where the source has no name, that of what comes is not used.
        let is_nameless = inside.is_empty() && asked.is_none() && matches!(name, b"" | b"." | b"..");
        if !is_nameless && (matches!(name, b"" | b"." | b"..") || name.iter().any(|b| matches!(b, b'/' | 0))) {
            return Err(said::violation(format!("`{}` is no name", told())));
        }
        if let Some(above) = inside.last() {
            return Ok(above.child(name));
        }
        if asked.is_some_and(|asked| words::unescaped(asked) != name && !fits_bytes(name, asked)) {
            return Err(said::violation(format!("`{}` came, and was not asked for", told())));
        }
        if is_directory && !self.meter.options().recursive {
            return Err(said::violation(format!("`{}` came as a directory, and none was asked for", told())));
        }
        let subject = Subject { is_directory, has_name: asked.is_some(), among_several: self.several };
        let shown = |below: &[u8]| self.target.join(OsStr::from_bytes(below)).to_string_lossy().into_owned();
        let at = match place(self.target.as_os_str().as_bytes(), self.standing, subject, self.meter.options().parents) {
            Ok(Place::Itself) => Vec::new(),
            Ok(Place::Into) => name.to_vec(),
            Err(no_place) => {
                return Err(no_place.fault(self.target.to_string_lossy().into_owned(), shown(name)));
            }
        };
        if !self.names.insert(at.clone()) {
            if !self.several {
                return Err(said::violation(format!("`{}` came, and one was asked for", told())));
            }
            return Err(Fault::TransferRefused {
                path: told(),
                problem: "another source has the same name".to_owned(),
            });
        }
        if !self.several && !self.to_stdout {
            self.meter.job.lands_at(&if at.is_empty() {
                self.target.to_owned()
            } else {
                self.target.join(OsStr::from_bytes(&at))
            });
            self.skip = if at.is_empty() { 0 } else { at.len() + 1 };
            self.meter.total.set(Some(head.size).filter(|_| !is_directory));
        }
        Ok(Level::top(at, &source.0, name))
    }

    fn enter(&mut self, head: &Head, level: &Level, depth: usize, times: Option<Times>) -> Result<bool, Fault> {
        let below = level.below(self.skip).to_vec();
        if self.to_stdout {
            return Err(Fault::SourceIsDirectory { path: self.meter.job.plan.host.clone() });
        }
        let made = if depth >= crate::operation::transfer::local::DEPTH_MAX {
            Err(crate::operation::transfer::local::too_deep(&below))
        } else {
            self.tree.directory(&level.at, head.mode, times)
        };
        match made {
            Ok(is_new) => {
                if is_new {
                    self.meter.touched();
                    self.meter.made(&below);
                }
                Ok(true)
            }
            Err(fault) => self.meter.settle(&below, Err(fault)).map(|()| false),
        }
    }

    fn leave(&mut self, level: &Level) -> Result<(), Fault> {
        let left = self.tree.leave(&level.at);
        left.or_else(|fault| self.meter.settle(level.below(self.skip), Err(fault)))
    }

    /// How much longer the paths of the tree are than those of the report.
    pub fn skip(&self) -> usize {
        self.skip
    }

    /// Modes and times of directories.
    fn finish(self) -> Result<(), Fault> {
        let Self { meter, tree, skip, .. } = self;
        let mut result = Ok(());
        tree.finish(|settled| {
            let (at, outcome) = match settled {
                Settled::Failed(at, fault) => (at, Err(fault)),
                // There are no links in this protocol.
                Settled::Linked(_) => return,
                Settled::Kept(at) => (at, Ok(Outcome::Kept)),
            };
            let told = meter.settle(at.get(skip..).unwrap_or_default(), outcome);
            if result.is_ok() {
                result = told;
            }
        });
        result
    }
}

/// It ended where more was due.
pub fn broke(wire: &Wire, ended: &Ended) -> Fault {
    match ended {
        Ended::Lost(problem) => lost(problem),
        Ended::Over => {
            let said = said::quoted(wire.stderr());
            let beside = if said.is_empty() { String::new() } else { format!(": {said}") };
            lost(&format!("the host's scp ended before all was here{beside}"))
        }
        Ended::TooMuch => said::violation("what the host's scp says has no end"),
    }
}
