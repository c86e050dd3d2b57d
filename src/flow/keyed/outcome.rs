//! What a completion says, to whoever asks: the one who saw the end and the one who is told of it later are told the same.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::errors::Fault;
use crate::journal::{Completion, StreamDigest};
use crate::model::operation::{Generation, OperationId, OperationState, hex};
use crate::model::outcome::{Outcome, Warning};
use crate::operation::durable::wire::End;

/// As the journal keeps it. None where no status was seen: that is no completion.
pub(in crate::flow) fn completion(end: &End, (stdout, stderr): (StreamDigest, StreamDigest)) -> Option<Completion> {
    Some(Completion {
        remote_exit: end.status?,
        cancelled: end.flags.cancelled,
        timed_out: end.flags.deadline,
        held_open: end.flags.held,
        stdout,
        stderr,
    })
}

/// The streams of an end whose bytes are not on the host any more.
pub(in crate::flow) fn expired(end: &End) -> (StreamDigest, StreamDigest) {
    let stream = |bytes, truncated| StreamDigest { bytes, truncated, sha256: None, spool: None };
    (stream(end.out, end.flags.out_cut), stream(end.err, end.flags.err_cut))
}

/// What became of the command.
pub(in crate::flow) fn judged(completion: &Completion) -> (Outcome, OperationState, Option<Fault>) {
    let status = u32::from(completion.remote_exit);
    if completion.cancelled {
        return (Outcome::Stopped, OperationState::Cancelled, Some(Fault::OpCancelled));
    }
    if completion.timed_out {
        return (Outcome::Stopped, OperationState::Completed, Some(Fault::OpTimeout));
    }
    match status {
        0 => (Outcome::Succeeded, OperationState::Completed, None),
        status => (Outcome::Failed, OperationState::Completed, Some(Fault::RemoteExit { status })),
    }
}

/// What is worth saying about its streams.
pub(super) fn warnings(completion: &Completion) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if completion.stdout.truncated || completion.stderr.truncated {
        let message = "the command wrote more than the host keeps of a stream: the rest is lost";
        warnings.push(Warning::new("output_capped", message));
    }
    if completion.held_open {
        let message = "the command ended, and something that it left behind kept its output open: what that wrote later was not kept";
        warnings.push(Warning::new("held_open", message));
    }
    warnings
}

/// The name of the files for the output of one generation: equal for whoever fetches it.
pub(in crate::flow) fn spool_name(operation: &OperationId, generation: Generation) -> String {
    let digest = Sha256::new()
        .chain_update(operation.target.as_str())
        .chain_update(b"\0")
        .chain_update(operation.key.as_str())
        .finalize();
    format!("{}.{generation}", hex(&digest[..16]))
}

/// A key that is the name of a file was meant for another option.
pub(super) fn refuse_file_name(key: &str) -> Result<(), Fault> {
    if Path::new(key).is_file() {
        let message =
            format!("--op {key}: there is a file of that name; a key is a name of yours, and an identity is `-i`");
        return Err(Fault::Usage { message });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::durable::wire::Flags;

    fn end(status: Option<u8>, flags: Flags) -> End {
        End { status, out: 3, err: 0, flags }
    }

    #[test]
    fn an_end_without_a_status_is_no_completion() {
        let lost = end(None, Flags { lost: true, ..Flags::default() });
        assert_eq!(completion(&lost, expired(&lost)), None);
    }

    #[test]
    fn what_ended_it_is_told() {
        let judge = |status, flags| {
            let end = end(Some(status), flags);
            judged(&completion(&end, expired(&end)).unwrap())
        };
        let flags = Flags::default;
        assert_eq!(judge(0, flags()), (Outcome::Succeeded, OperationState::Completed, None));
        let failed = Some(Fault::RemoteExit { status: 137 });
        assert_eq!(judge(137, flags()), (Outcome::Failed, OperationState::Completed, failed));
        let cancelled = Flags { cancelled: true, ..flags() };
        assert_eq!(judge(143, cancelled).2, Some(Fault::OpCancelled));
        let timed_out = Flags { deadline: true, ..flags() };
        assert_eq!(judge(143, timed_out).2, Some(Fault::OpTimeout));
    }

    #[test]
    fn only_a_file_is_no_key() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(refuse_file_name(file.path().to_str().unwrap()).is_err());
        assert_eq!(refuse_file_name("deploy 1"), Ok(()));
    }
}
