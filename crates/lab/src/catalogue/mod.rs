//! Measurable parts of protocols: oblivious transfers, structures and primitives.

pub mod ot;
pub mod primitives;
pub mod structures;
