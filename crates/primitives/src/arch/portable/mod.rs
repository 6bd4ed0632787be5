//! Plain Rust without `unsafe`: the reference for every other backend.

pub mod accumulate;
pub mod aes;
pub mod blake3;
pub mod clmul;
pub mod curve25519;
pub mod gf;
pub mod rekeyed;
pub mod sums;
pub mod tower;
pub mod transform;
pub mod transpose;
pub mod word_sums;
