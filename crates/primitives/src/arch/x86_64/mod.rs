//! Kernels for x86-64. Each is safe to call only on a processor that has the instruction sets its
//! `# Safety` names; a [`Backend`](super::Backend) is the proof of that.

pub mod aes;
pub mod blake3;
pub mod clmul;
pub mod gf64;
pub mod rekeyed;
pub mod transpose;
