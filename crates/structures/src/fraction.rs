//! Random numbers below arbitrary bounds, from one random fraction of 128 bits.

/// The first digit of a fraction in base `range`, a number below 2^32. The fraction is replaced by the
/// remainder, from which further digits are taken.
#[inline]
pub fn digit(fraction: &mut u128, range: usize) -> u32 {
    let low = u128::from(*fraction as u64) * range as u128;
    let high = (*fraction >> 64) * range as u128 + (low >> 64);
    *fraction = high << 64 | u128::from(low as u64);
    (high >> 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_taken_from_a_fraction_are_its_digits() {
        // 0.7265625 = 0.BA in hexadecimal; its decimal digits are 7, 2, 6.
        let mut fraction = 0xba << 120;
        assert_eq!([(); 3].map(|()| digit(&mut fraction, 10)), [7, 2, 6]);
        let mut fraction = u128::MAX;
        assert_eq!(digit(&mut fraction, 1 << 30), (1 << 30) - 1);
        assert_eq!(digit(&mut fraction, u32::MAX as usize), u32::MAX - 1);
    }
}
