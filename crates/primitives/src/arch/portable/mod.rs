//! Plain Rust, without `unsafe`: the truth that every other backend is held against.

pub mod aes;
pub mod blake3;
pub mod transpose;
