//! Logarithms and powers of two in integer arithmetic: fixed-point numbers with 32 fractional bits.
//!
//! Both parties compute the shape of a store and must agree exactly. Integer arithmetic has one result on every
//! machine and with every version of every library. Floating point does not: an error in the last place,
//! harmless in itself, shifts a rounded product by a column.

/// 1.
pub const ONE: u64 = 1 << 32;

/// log2 of a number of at least 1, rounded down in its last bits.
pub fn log2(n: u64) -> u64 {
    let whole = n.ilog2();
    // The mantissa, 1 ≤ x < 2, with 63 bits after the point. Squaring it doubles its logarithm, whose next bit
    // is 1 if the square reaches 2.
    let mut x = u128::from(n) << (63 - whole);
    let mut log = u64::from(whole);
    for _ in 0..32 {
        x = (x * x) >> 63;
        let bit = (x >> 64) as u64;
        x >>= bit;
        log = log << 1 | bit;
    }
    log
}

/// `factor` · 2^-x for a factor below 2^64, rounded down in its last bits.
pub fn times_exp2_minus(factor: u64, x: u64) -> u64 {
    const POINT: u32 = 62;
    // 2^-(1/2), 2^-(1/4), …: each the root of the one before.
    let (mut root, mut power) = (1u128 << (POINT - 1), 1u128 << POINT);
    for i in (0..32).rev() {
        root = (root << POINT).isqrt();
        if x >> i & 1 == 1 {
            power = (power * root) >> POINT;
        }
    }
    let product = (u128::from(factor) * power) >> POINT;
    product.checked_shr((x >> 32) as u32).unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(x: u64) -> f64 {
        x as f64 / ONE as f64
    }

    #[test]
    fn equal_floating_point_to_its_precision() {
        for n in (1..2000).chain([1 << 20, (1 << 20) + 1, 999_983, u64::MAX]) {
            assert!((real(log2(n)) - libm::log2(n as f64)).abs() < 1e-9, "{n}");
            let x = log2(n);
            let expected = 49.2 * libm::exp2(-real(x));
            let factor = (49.2 * ONE as f64) as u64;
            assert!((real(times_exp2_minus(factor, x)) - expected).abs() < 1e-9, "{n}");
        }
        assert_eq!(log2(1 << 17), 17 << 32);
        assert_eq!(times_exp2_minus(ONE, 200 << 32), 0);
        assert_eq!(times_exp2_minus(ONE, 3 << 32), ONE / 8);
    }
}
