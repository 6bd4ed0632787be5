//! A run: the [job] of one side, the [session] with the other, and the [report].

pub(crate) mod diagnosis;
pub mod job;
pub mod journal;
pub mod meet;
mod partitions;
pub(crate) mod permits;
pub mod phases;
pub mod report;
pub mod session;
pub(crate) mod standing;
mod threshold;
