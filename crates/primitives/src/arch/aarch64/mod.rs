//! Kernels for AArch64. Each may be called only on a processor with the instruction sets named under `# Safety`;
//! a [`Backend`](super::Backend) is the proof of that.
//!
//! Every AArch64 processor has NEON, so the portable kernels are compiled for it: kernels that are plain loops over
//! words have no version here.

pub mod aes;
pub mod blake3;
pub mod clmul;
pub mod gf64;
pub mod rekeyed;
pub mod sums;
pub mod transpose;

/// Starts fetching the first cache line of `what` into all caches.
#[inline(always)]
pub fn prefetch<T>(what: &T) {
    // SAFETY: a prefetch reads nothing that the program sees and cannot fault at any address.
    #[cfg(not(miri))]
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{0}]",
            in(reg) std::ptr::from_ref(what),
            options(readonly, nostack, preserves_flags)
        );
    }
    #[cfg(miri)]
    let _ = what;
}
