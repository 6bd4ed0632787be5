//! Carry-less multiplication of 64-bit polynomials, in constant time.

/// The product of two polynomials over GF(2) of degree below 64, bit i being the coefficient of x^i.
///
/// Integer multiplication with holes: operands are spread so that carries end in the gaps (the method of
/// BearSSL's `ctmul64`). The operands of every product have one used bit in four.
pub fn multiply(a: u64, b: u64) -> u128 {
    const HOLES: u128 = 0x1111_1111_1111_1111_1111_1111_1111_1111;
    let part = |x: u64, i: u32| u128::from(x) & (HOLES << i);
    let mut product = 0;
    for i in 0..4 {
        // Up to sixteen terms meet in one bit of a product, too many for three holes; so the upper half of one
        // operand is multiplied separately, which leaves eight.
        let mut column = 0;
        for j in 0..4 {
            let (x, y) = (part(a, j), part(b, (4 + i - j) % 4));
            let (low, high) = (y & 0xffff_ffff, y >> 32);
            column ^= x.wrapping_mul(low) ^ (x.wrapping_mul(high) << 32);
        }
        product |= column & (HOLES << i);
    }
    product
}

#[cfg(test)]
mod tests {
    #[test]
    fn equals_shift_and_add() {
        let by_hand = |a: u64, b: u64| {
            let terms = (0..64).filter(|i| b >> i & 1 == 1);
            terms.fold(0u128, |sum, i| sum ^ u128::from(a) << i)
        };
        let mut x = 1u64;
        let mut next = || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            x ^ x >> 29
        };
        let edge = [0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63];
        let edges = edge.into_iter().flat_map(|a| edge.map(|b| (a, b)));
        let random = std::iter::repeat_with(|| (next(), next())).take(1000);
        for (a, b) in edges.chain(random) {
            assert_eq!(super::multiply(a, b), by_hand(a, b), "{a:x} {b:x}");
        }
    }
}
