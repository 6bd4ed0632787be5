//! The faults of a run after its results are in place.

use vesica_core::error::Error;

/// What went wrong after this side's results were in place. They are complete, and stay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Shortfall {
    /// The other side did not say that its results are in place; they may be or not.
    #[error(
        "the result of this side is complete and in place, but the other side did not confirm that its \
         own is: {0}"
    )]
    Unconfirmed(vesica_net::Error),
    /// The record was not written, or the ledger has no line of it.
    #[error("the result is complete and in place, but there is no record: {0}")]
    Record(Error),
    /// The files of this side have their names, but the system does not promise that these outlast a power failure.
    #[error(
        "the files of this side are complete and in place, but may be gone after a power failure: {0}"
    )]
    Unkept(Error),
    /// The report was not written.
    #[error("the result is complete and in place, but there is no report: {0}")]
    Report(Error),
}
