//! The lengths of the final values that a sender sends, and of their sorted list.

use crate::log2;

/// Bits of a tag such that, if `receiver` values are each compared with `sender` values, some two different
/// ones have equal tags with probability at most 2^-λ: ⌈λ + log receiver + log sender⌉.
pub fn bits(receiver: usize, sender: usize, lambda: u32) -> u32 {
    libm::ceil(f64::from(lambda) + log2(receiver) + log2(sender)) as u32
}

/// log2 of a bound on the probability that two different values have equal tags of `bits` bits, where such numbers of
/// them are compared.
pub fn log2_failure(receiver: usize, sender: usize, bits: u32) -> f64 {
    log2(receiver) + log2(sender) - f64::from(bits)
}

/// The number of low bits of each `bits`-bit value that a sorted list of `n` of them stores verbatim; the rest
/// is stored as differences in unary.
///
/// The list takes n (r + 1) + 2^(bits − r) bits. One more for r adds n and takes away 2^(bits − r − 1), so that it
/// saves as long as n is below that: r = bits − ⌈log n⌉ is the best.
pub fn rice_parameter(n: usize, bits: u32) -> u32 {
    // Low parts are numbers of fewer than 128 bits.
    bits.saturating_sub(n.max(1).next_power_of_two().ilog2()).min(127)
}

/// The length in bits of a sorted list of `n` values of `bits` bits with Rice parameter `rice`.
pub fn sorted_list_bits(n: usize, bits: u32, rice: u32) -> u128 {
    n as u128 * (u128::from(rice) + 1) + (1u128 << (bits - rice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_equal_sets() {
        assert_eq!([8, 12, 16, 20, 24].map(|e| bits(1 << e, 1 << e, 40)), [56, 64, 72, 80, 88]);
        assert_eq!(bits(0, 0, 40), 40);
        assert_eq!(bits(1, 3, 40), 42);
    }

    #[test]
    fn a_sorted_list_beats_a_plain_one() {
        let bits_per_item = |n: usize, bits: u32| {
            sorted_list_bits(n, bits, rice_parameter(n, bits)) as f64 / n as f64
        };
        assert_eq!(bits_per_item(1 << 20, 80), 62.0);
        assert!(bits_per_item(1_000_000, 80) < 62.1);
        assert_eq!(bits_per_item(1 << 20, 128), 110.0);
        assert_eq!(
            [1, 2, 3, 4, 5, 1 << 20].map(|n| rice_parameter(n, 80)),
            [80, 79, 78, 78, 77, 60]
        );
        assert_eq!((rice_parameter(1, 128), rice_parameter(100, 3)), (127, 0));
        // No other parameter is better.
        for n in [1, 2, 3, 100, 1000, 999_983] {
            let best = sorted_list_bits(n, 80, rice_parameter(n, 80));
            assert!((0..80).all(|r| sorted_list_bits(n, 80, r) >= best), "{n}");
        }
    }
}
