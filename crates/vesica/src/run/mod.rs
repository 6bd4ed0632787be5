//! A run: the [job] of one side, the [session] with the other, and the [report].

mod diagnosis;
pub mod job;
pub mod journal;
pub mod meet;
pub mod observe;
mod partitions;
pub mod report;
pub mod session;
mod threshold;
