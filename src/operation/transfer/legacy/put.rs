//! One file, from here to there: sent beside its place, and moved there once all of it is known to have arrived.

use sha2::{Digest as _, Sha256};

use super::super::Broken;
use super::errands::{Answer, EXISTS, command};
use super::feed::Feed;
use super::meter::{Meter, Outcome};
use super::said::{self, Act};
use super::sink::{Refused, Taker};
use super::spot::{Spot, option_free};
use super::turns::in_directory;
use super::upload::{Upload, Waiting};
use crate::errors::Fault;
use crate::model::outcome::Warning;
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::command::hex;
use crate::operation::transfer::local::Meta;
use crate::operation::transfer::part;
use crate::operation::transfer::place::{name_of, parent_of};

/// A file to be sent.
#[derive(Debug)]
pub struct Outgoing {
    /// What is read.
    pub feed: Feed,
    /// What is known of it; nothing of a stream.
    pub meta: Option<Meta>,
    /// Where it goes.
    pub to: Vec<u8>,
    /// Nothing can stand there.
    pub is_free: bool,
    /// Its path in the report.
    pub entry: Vec<u8>,
}

/// One that was sent.
#[derive(Debug)]
pub struct Arrived {
    part: Option<Vec<u8>>,
    path: Vec<u8>,
    told: Entry,
    below: Vec<u8>,
}

impl<S: Sink> Upload<'_, '_, '_, S> {
    /// Sends it.
    pub async fn put(&mut self, file: Outgoing) -> Result<(), Broken> {
        let Outgoing { mut feed, meta, to, is_free, entry } = file;
        let (meter, options) = (self.meter, self.meter.options());
        let spot = if is_free {
            Spot::free(to)
        } else {
            self.drain(0).await?;
            self.wake().await?;
            Spot::find(meter, &mut self.shell, &to).await?
        };
        if options.no_clobber && spot.replaced.is_some() {
            meter.settle(&entry, Ok(Outcome::Kept))?;
            return Ok(());
        }
        let name = name_of(&spot.path).ok_or_else(|| Fault::IsDirectory { path: meter.shown(&spot.path) })?;
        let directory = parent_of(&spot.path);
        let usual = meta.map_or(0o666, |meta| meta.mode & 0o777);
        let part = (!options.in_place).then(|| part::name(name, &meter.job.plan.tag));
        let part_path = part.as_ref().map(|part| in_directory(directory, part));
        // What may become narrower in the end is not open to others before.
        let mode = if part.is_some() { 0o600 } else { usual & !self.shell.umask | 0o200 };
        let times = meta.filter(|_| options.preserve);
        self.taker(directory).await?;
        let way = self.way(directory);
        let taker = self.taker(directory).await?;
        let mut hash = options.verify.then(Sha256::new);
        meter.asked();
        meter.job.parts.borrow_mut().extend(part_path.clone());
        let name_there = part.as_deref().unwrap_or(name);
        let sent = send(meter, taker, &way, (name_there, mode, times), &mut feed, hash.as_mut(), &entry).await;
        if let Some(fault) = self.refused(sent, &spot.path).or(feed.fault()) {
            self.give_up(part_path, &fault).await?;
            return Err(fault.into());
        }
        let hash = hash.map(|hash| hex(&hash.finalize().into()));
        let errand = self.landing(&spot, part_path.as_deref(), feed.size, hash.as_deref(), usual, meta);
        let mut told = Entry::new(&entry, EntryAction::Copied, feed.size);
        told.sha256 = hash;
        let arrived = Arrived { part: part_path, path: spot.path, told, below: entry };
        Ok(self.send(errand, Waiting::Landing(arrived)).await?)
    }

    /// What is wrong, where it was not taken.
    fn refused(&mut self, sent: Result<(), Refused>, path: &[u8]) -> Option<Fault> {
        match sent {
            Ok(()) => None,
            Err(Refused::Broke(fault)) => {
                self.forget_taker();
                Some(fault)
            }
            Err(Refused::Said(said)) => {
                if said.is_last {
                    self.forget_taker();
                }
                Some(said::fault(&said.text, &self.meter.shown(path), Act::Write))
            }
        }
    }

    /// Removes what was written of it.
    async fn give_up(&mut self, part: Option<Vec<u8>>, fault: &Fault) -> Result<(), Fault> {
        if let Some(part) = part
            && !matches!(fault, Fault::ConnectionLost { .. })
            && self.ask(command("rm -f", &[&option_free(&part)])).await?.status == 0
        {
            self.meter.job.parts.borrow_mut().remove(&part);
        }
        Ok(())
    }

    /// The errand that brings it to its place.
    fn landing(
        &self,
        spot: &Spot,
        part: Option<&[u8]>,
        size: u64,
        hash: Option<&str>,
        usual: u32,
        meta: Option<Meta>,
    ) -> Vec<u8> {
        let options = self.meter.options();
        let exact = options.mode.map(|mode| mode & 0o777);
        let preserved = meta.filter(|_| options.preserve).map(|meta| meta.mode & 0o777);
        let (size, hash) = (size.to_string(), hash.unwrap_or_default());
        let path = option_free(&spot.path);
        let Some(part) = part else {
            // It keeps what it has, but for what was asked for.
            let mode = exact.or(preserved.filter(|_| spot.replaced.is_none()));
            let mode = mode.map(|mode| format!("{mode:o}")).unwrap_or_default();
            return command("stay", &[&path, size.as_bytes(), hash.as_bytes(), mode.as_bytes()]);
        };
        let kept = spot.replaced.as_ref();
        let mode = exact.or(kept.map(|kept| kept.mode)).or(preserved).unwrap_or(usual & !self.shell.umask);
        let owner = kept.map(|kept| kept.owner.clone()).unwrap_or_default();
        let keep: &[u8] = if options.no_clobber { b"1" } else { b"" };
        let mode = format!("{mode:o}");
        let part = option_free(part);
        command("land", &[&part, &path, size.as_bytes(), hash.as_bytes(), owner.as_bytes(), mode.as_bytes(), keep])
    }
}

impl Arrived {
    /// Writes down what became of it.
    pub fn settle<S: Sink>(self, meter: &Meter<'_, '_, S>, answer: &Answer) -> Result<(), Fault> {
        let path = meter.shown(&self.path);
        if let Some(part) = &self.part {
            // It has its name, or the shell has removed it.
            meter.job.parts.borrow_mut().remove(part);
        }
        let outcome = match answer.status {
            0 => {
                if answer.text.ends_with(b"group") {
                    let message = format!("the group of {path} could not be kept");
                    meter.job.landing.borrow_mut().warnings.push(Warning::new("group_not_kept", message));
                }
                Ok(Outcome::Done(self.told))
            }
            3 | 4 => Err(Fault::VerifyMismatch { path }),
            5 => {
                let problem = "--verify: nothing on the host computes SHA-256".to_owned();
                Err(Fault::TransferRefused { path, problem })
            }
            EXISTS => Ok(Outcome::Kept),
            7 => Err(said::violation(format!("{path}: the host's scp says that it is there, and it is not"))),
            _ => Err(said::fault(&answer.text, &path, Act::Write)),
        };
        meter.settle(&self.below, outcome)
    }
}

async fn send<S: Sink>(
    meter: &Meter<'_, '_, S>,
    taker: &mut Taker,
    way: &[&[u8]],
    (name, mode, times): (&[u8], u32, Option<Meta>),
    feed: &mut Feed,
    mut hash: Option<&mut Sha256>,
    entry: &[u8],
) -> Result<(), Refused> {
    taker.enter(way).await?;
    taker.file(name, mode, feed.size, times).await?;
    meter.touched();
    while let Some(piece) = feed.next() {
        if let Some(hash) = &mut hash {
            hash.update(&piece);
        }
        let length = piece.len();
        taker.piece(piece).await?;
        meter.moved(entry, length);
    }
    taker.end(feed.problem.is_none()).await
}
