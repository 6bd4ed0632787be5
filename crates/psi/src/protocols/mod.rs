//! The protocols that return positions: one file or folder per paper, under the paper's key.
//! `vole_oprf` is the construction whose variants are in `rs21` and `rr22`.

pub mod blind_rsa;
pub mod cm20;
pub mod dcw13;
pub mod dh;
#[cfg(test)]
mod example;
pub mod hl08;
pub mod kkrt16;
pub mod naive;
pub mod prty19;
pub mod prty20;
pub mod pssz15;
pub mod psz14;
pub mod rr16;
pub mod rr17;
pub mod rr22;
pub mod rs21;
pub mod scs;
pub mod vole_oprf;
