//! All parameters on which security or correctness depends, computed from λ, κ and the set sizes.
//!
//! Each function states the bound it meets, the condition under which it holds, and its source. Both parties
//! compute their parameters independently and must agree to the bit. Logarithms and gamma functions therefore
//! come from `libm`, which gives the same result on every machine, and never from the platform.
//!
//! **Must never import** any other crate of the project.

pub mod adversary;
pub mod binomial;
pub mod bins;
pub mod code;
pub mod cut_and_choose;
pub mod document;
mod effective;
mod failure;
pub mod filter;
pub mod laplace;
pub mod lpn;
pub mod matrix;
pub mod okvs;
pub mod search;
pub mod slices;
pub mod subfield;
pub mod tag;

pub use adversary::Adversary;
pub use document::markdown;
pub use effective::{effective_inputs, entry_bits};
pub use failure::{Failure, log2_sum};
pub use laplace::Laplace;

/// Computational security in bits: key, label and digest-half length.
pub const KAPPA: u32 = 128;

/// Statistical security in bits: each failure event of a run has probability at most 2^-λ, over all of its partitions
/// together.
pub const LAMBDA: u32 = 40;

/// log2 of a count; 0 for a count of 0, so that empty sets need no special case.
pub(crate) fn log2(count: usize) -> f64 {
    libm::log2(count.max(1) as f64)
}
