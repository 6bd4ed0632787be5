//! Codes: those that spread the inputs of a 1-out-of-n OT far apart, and those that compress the
//! sparse noise of a silent VOLE.

pub mod expand_convolute;
mod pseudo_random;

pub use expand_convolute::ExpandConvolute;
pub use pseudo_random::PseudoRandomCode;
