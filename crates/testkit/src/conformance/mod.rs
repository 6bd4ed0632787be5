//! Suites that test any implementation of a layer, each called in one line.
//!
//! A suite panics at the first violation, and names the case.

pub mod one_of_n;
pub mod oprf;
pub mod ot;
pub mod psi;
