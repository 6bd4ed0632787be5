//! What the two sides agree on before any data moves: [offers](offer) and the [terms] to which they merge, the
//! [choice] of a method for which both have the [memory]; or where an interrupted run [goes on](resume).
//!
//! **Must never import** a run, a partner or a file: it sees offers and the terms to which they merge.

pub mod choice;
mod clauses;
pub mod disclosed;
pub mod memory;
mod mirror;
pub mod offer;
pub mod pledge;
pub mod resume;
pub mod terms;
