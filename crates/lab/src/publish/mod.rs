//! Pages made of records.

pub mod performance;
pub mod report;
