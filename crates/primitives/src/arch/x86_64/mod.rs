//! Kernels for x86-64. Each may be called only on a processor with the instruction sets named under `# Safety`;
//! a [`Backend`](super::Backend) is the proof of that.

pub mod accumulate;
pub mod aes;
pub mod aes512;
pub mod blake3;
pub mod clmul;
pub mod curve25519;
pub mod gf64;
pub mod rekeyed;
pub mod sums;
pub mod tower;
pub mod transpose;
pub mod word_sums;

/// Starts fetching the first cache line of `what` into all caches.
#[inline(always)]
pub fn prefetch<T>(what: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: every x86-64 processor has SSE; a prefetch reads nothing that the program sees, and the address comes
    // from a reference.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(what).cast()) };
}
