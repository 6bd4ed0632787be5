//! Pages made from records.

pub mod performance;
pub mod report;
