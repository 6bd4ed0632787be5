//! What a run can be for: each task and its output.

pub mod shares;
