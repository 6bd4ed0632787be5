//! Agreement before any data moves: [offers](offer), the [terms] to which they merge, the [choice] of a method for
//! which both sides have the [memory], and the point from which an interrupted run [resumes](resume).
//!
//! **Must never import** a run, a partner or a file: it sees offers and the terms to which they merge.

pub mod choice;
mod clauses;
pub mod disclosed;
pub mod joint;
pub mod memory;
mod mirror;
pub mod offer;
pub mod pledge;
pub mod resume;
pub mod rule_terms;
pub mod terms;
