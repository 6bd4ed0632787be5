//! What the two sides settle before any data moves: [offers](offer) and the [terms] they merge to, the
//! [choice] of a protocol for which both have the [memory], and the [seed] of the run.

pub mod choice;
pub mod memory;
pub mod offer;
pub mod seed;
pub mod terms;
