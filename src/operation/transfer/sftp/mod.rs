//! SFTP.

use super::{Broken, Job, Line};
use crate::errors::Fault;
use crate::model::sink::Sink;

/// Copies.
pub(super) async fn run<S: Sink>(_line: Line<'_>, _job: &Job<'_, S>) -> Result<(), Broken> {
    Err(Broken::NoProtocol(Fault::NoTransferProtocol))
}

/// Removes the parts that are not finished, each from the list as it is gone.
pub(super) async fn sweep<S: Sink>(_line: Line<'_>, _job: &Job<'_, S>) {}
