//! One file, from there to our standard output.

use sha2::{Digest as _, Sha256};

use super::attributes::{Attributes, Type};
use super::digest;
use super::faults::Act;
use super::get::read;
use super::work::{Outcome, Work};
use crate::errors::Fault;
use crate::model::sink::Sink;
use crate::model::transfer::{Entry, EntryAction};
use crate::operation::transfer::command;

/// Copies what was found to our standard output: one file.
pub async fn to_stdout<S: Sink>(work: &Work<'_, '_, S>, found: &[Vec<u8>]) -> Result<(), Fault> {
    let path = match found {
        [] => return Ok(()),
        [path] => path,
        _ => {
            let message = "standard output takes one file, and the source stands for several".to_owned();
            return Err(Fault::Usage { message });
        }
    };
    let known = match work.remote.stat(path).await {
        Ok(known) => known,
        Err(denied) => return Err(work.explain(denied, path, Act::Read).await),
    };
    let printed = match known.file_type() {
        Some(Type::Directory) => Err(Fault::SourceIsDirectory { path: work.shown(path) }),
        Some(Type::Other(kind)) => {
            work.job.ledger.borrow_mut().skipped(b"", kind);
            return Ok(());
        }
        _ => print(work, path, &known).await,
    };
    // Half of a file went out: that ends it, whatever it was.
    let result = work.settle(
        b"",
        printed.as_ref().map_err(Clone::clone).map(|outcome| match outcome {
            Outcome::Done(entry) => Outcome::Done(entry.clone()),
            Outcome::Kept => Outcome::Kept,
        }),
    );
    printed.map(drop).and(result)
}

/// Fetches a file to our standard output.
async fn print<S: Sink>(work: &Work<'_, '_, S>, path: &[u8], known: &Attributes) -> Result<Outcome, Fault> {
    let handle = match work.remote.open_to_read(path).await {
        Ok(handle) => handle,
        Err(denied) => return Err(work.explain(denied, path, Act::Read).await),
    };
    work.touched();
    let look = work.remote.fstat(&handle);
    let mut hash = work.options().verify.then(Sha256::new);
    let size = read(work, &handle, path, known, 0, look, async |piece| {
        if let Some(hash) = &mut hash {
            hash.update(&piece);
        }
        work.job.print(piece).await
    })
    .await?;
    drop(work.remote.close(&handle));
    let mut entry = Entry::new(b"", EntryAction::Copied, size);
    if let Some(hash) = hash {
        let ours: [u8; 32] = hash.finalize().into();
        if !digest::is(work, path, size, ours).await? {
            return Err(Fault::VerifyMismatch { path: "standard output".to_owned() });
        }
        entry.sha256 = Some(command::hex(&ours));
    }
    Ok(Outcome::Done(entry))
}
