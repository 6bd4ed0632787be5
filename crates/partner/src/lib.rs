//! Repeated runs of two organisations: their agreements, the limits on what runs reveal, and a log of every run.
//!
//! One side makes an [invitation](agreement::Invitation), the other accepts it, and both then hold one
//! [agreement](agreement::Agreement). Before each run and each result, each side's program checks the agreement's
//! [policy](policy::Policy) against that side's [ledger](ledger::Ledger). At the end of a run both sign a
//! [record](record::Record).
//!
//! **Must never import** a run or the command line: a run calls this crate, and passes it the facts of its end.

pub mod account;
pub mod agreement;
pub mod any_agreement;
pub mod armour;
mod checked;
pub mod entry;
mod history;
pub mod joint;
pub mod ledger;
mod limits;
pub mod outlook;
pub mod page;
pub mod partnership;
pub mod party;
pub mod phrase;
pub mod policy;
pub mod record;
pub mod signed;
pub mod summary;
