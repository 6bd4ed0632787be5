//! Suites that each implementation of a layer runs in one line.
//!
//! A suite panics at the first violation, and names the case.

pub mod one_of_n;
pub mod oprf;
pub mod ot;
pub mod psi;
