//! `ops show`: how it stands. Nothing is changed.

use super::scene::Scene;
use crate::errors::Fault;
use crate::model::sink::Sink;

impl<S: Sink> Scene<'_, '_, S> {
    /// All there is to tell was told when the host answered.
    pub(super) async fn show(&mut self) -> Result<(), Fault> {
        self.find().await?;
        self.refuse_unknown()
    }
}
