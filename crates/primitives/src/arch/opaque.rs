//! A value about which the compiler knows nothing, so that it cannot branch on the possible values of a secret.

/// Returns the same value. A compiler that sees that a mask is all ones or all zeros may turn a selection by it into a
/// branch; this function hides that. It takes no instruction.
#[inline(always)]
pub fn opaque(value: u64) -> u64 {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    {
        let mut value = value;
        // SAFETY: the assembly is empty: it reads and writes one register that is declared, and nothing else.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) value, options(pure, nomem, nostack, preserves_flags));
        }
        value
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    std::hint::black_box(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_the_same() {
        for value in [0, 1, 1 << 63, u64::MAX, 0x0123_4567_89ab_cdef] {
            assert_eq!(opaque(value), value);
        }
    }
}
