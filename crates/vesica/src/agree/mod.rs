//! What the two sides agree on before any data moves: [offers](offer) and the [terms] to which they merge, the
//! [choice] of a method for which both have the [memory], and the [seed] of the run; or where an
//! interrupted one [goes on](resume).

pub mod choice;
mod clauses;
pub(crate) mod disclosed;
pub mod memory;
mod mirror;
pub mod offer;
pub(crate) mod pledge;
pub mod resume;
pub mod seed;
pub mod terms;
