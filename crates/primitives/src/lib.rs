//! Blocks, ciphers, hashes, groups and bit matrices: the building blocks of every protocol.
//!
//! Pure functions and small types, without a peer. The kernels that use a processor's vector instructions
//! live in [`arch`], each beside its portable counterpart, and are selected at run time. Nothing outside
//! `arch` knows which one runs, and `unsafe` is allowed nowhere else.
//!
//! **Must never import** any other crate of the project.

#[cfg(target_endian = "big")]
compile_error!("blocks travel as the bytes they have in memory, which must be little endian");

pub mod aes;
#[allow(unsafe_code)]
pub mod arch;
pub mod binary;
pub mod bits;
pub mod block;
pub mod code;
mod declassify;
pub mod fingerprint;
pub mod gf;
pub mod group;
pub mod hash;
pub mod matrix;
pub mod packed;
pub mod paillier;
pub mod poly;
pub mod rsa;
pub mod secret;
pub mod threads;
mod word_sums;

pub use binary::{BinaryVector, CacheLine, Words};
pub use bits::Bits;
pub use block::Block;
pub use declassify::{Declassified, are_equal, declassify, declassify_all, declassify_choice};
pub use secret::{Delta, Seed};
pub use word_sums::{WordSums, change_pair};
