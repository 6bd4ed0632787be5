//! The length that the hash of a point must have in a VOLE-based OPRF.

use crate::log2;

/// Bits of the hash h in an OPRF with `sender` points on the sender's side, and so of each entry of
/// the receiver's message.
///
/// At a point y that is not the receiver's, the sender's function is a fresh random value unless Decode(P, y) =
/// h(y). If h is independent of the hash that determines rows, this equality has probability 2^-bits for each
/// y, so ⌈λ + log sender⌉ bits suffice for 2^-λ; the proof is in `docs/protocols/vole.md`. RR22 §5 requires λ + log
/// receiver + log sender, which also covers rows and h derived from the same hash.
pub fn bits(sender: usize, lambda: u32) -> u32 {
    libm::ceil(f64::from(lambda) + log2(sender)) as u32
}

/// log2 of a bound on the probability that any of the sender's points is such a y.
pub fn log2_failure(sender: usize, bits: u32) -> f64 {
    log2(sender) - f64::from(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LAMBDA;

    #[test]
    fn bits_grow_with_the_sender() {
        assert_eq!([0, 8, 20, 24, 25].map(|e: u32| bits(1 << e, LAMBDA)), [40, 48, 60, 64, 65]);
        assert_eq!(bits((1 << 20) + 1, LAMBDA), 61);
        assert_eq!((bits(1 << 20, 52), log2_failure(1 << 20, 72)), (72, -52.0));
    }
}
