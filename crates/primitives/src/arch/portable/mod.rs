//! Plain Rust, without `unsafe`: the truth that every other backend is held against.

pub mod aes;
pub mod blake3;
pub mod clmul;
pub mod gf;
pub mod rekeyed;
pub mod transform;
pub mod transpose;
