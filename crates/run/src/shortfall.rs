//! Faults of a run after its results are in place.

use vesica_core::error::Error;

/// A fault that occurred after this side's results were in place. They are complete, and stay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Shortfall {
    /// The other side did not confirm that its results are in place; they may or may not be.
    #[error(
        "the result of this side is complete and in place, but the other side did not confirm that its \
         own is: {0}"
    )]
    Unconfirmed(vesica_net::Error),
    /// The record was not written, or the ledger has no line of it.
    #[error("the result is complete and in place, but the record could not be made: {0}")]
    Record(Error),
    /// The files of this side have their names, but the system does not guarantee that these outlast a power failure.
    #[error(
        "the files of this side are complete and in place, but a power failure may lose them: {0}"
    )]
    Unkept(Error),
    /// The report was not written.
    #[error("the result is complete and in place, but the report could not be written: {0}")]
    Report(Error),
}
