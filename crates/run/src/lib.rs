//! A run: the [job] of one side, the [session] with the other, and the [report].
//!
//! **Must never import** a cluster or the command line.

pub mod diagnosis;
pub mod job;
pub mod joint;
pub mod journal;
pub mod ladder;
pub mod meet;
mod partitions;
pub mod permits;
pub mod phases;
pub mod report;
pub mod seat;
pub mod session;
pub mod shortfall;
pub mod standing;
