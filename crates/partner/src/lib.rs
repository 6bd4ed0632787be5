//! Two organisations that run again and again: what they agreed on, what a run may reveal, and what was done.
//!
//! One side makes an [invitation](agreement::Invitation), the other accepts it, and both then hold one
//! [agreement](agreement::Agreement). Its [policy](policy::Policy) is checked before each run and before each result by the
//! program of each side, against the [ledger](ledger::Ledger) of that side. At the end of a run both sign a
//! [record](record::Record).
//!
//! **Must never import** a run or the command line: a run asks it, and hands it the facts of its end.

pub mod account;
pub mod agreement;
pub mod armour;
mod checked;
pub mod entry;
mod history;
pub mod ledger;
pub mod outlook;
pub mod page;
pub mod partnership;
pub mod party;
pub mod phrase;
pub mod policy;
pub mod record;
pub mod signed;
pub mod summary;
