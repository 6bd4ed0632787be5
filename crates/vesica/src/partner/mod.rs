//! Two organisations that run again and again: what they agreed on, what a run may reveal, and what was done.
//!
//! One side makes an [invitation](agreement::Invitation), the other accepts it, and both then hold one
//! [agreement](agreement::Agreement). Its [policy](policy::Policy) is checked before each run and before each result by the
//! program of each side, against the [ledger](ledger::Ledger) of that side. At the end of a run both sign a
//! [record](record::Record).

pub(crate) mod account;
pub(crate) mod agreement;
pub(crate) mod armour;
mod checked;
pub(crate) mod entry;
mod history;
pub(crate) mod ledger;
pub(crate) mod moment;
pub(crate) mod outlook;
pub(crate) mod page;
pub(crate) mod partnership;
pub(crate) mod party;
pub(crate) mod phrase;
pub(crate) mod policy;
pub(crate) mod record;
pub(crate) mod signed;
pub(crate) mod sketch;
pub(crate) mod summary;
