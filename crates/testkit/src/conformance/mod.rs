//! Suites that each implementation of a layer runs in one line.
//!
//! A suite panics at the first thing that is not as it has to be, and says which case that was.

pub mod one_of_n;
pub mod oprf;
pub mod ot;
pub mod psi;
