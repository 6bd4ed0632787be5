//! Exact decimals, and the statistics that are computed from exact sums.

use std::{cmp::Ordering, fmt};

/// The largest scale of a decimal.
const MAX_SCALE: u8 = 38;

/// The number of places that a mean and a variance have in addition to the places of their column.
pub const MORE_PLACES: u8 = 6;

/// An exact decimal: `number` in units of 10^−`scale`. Decimals of different scales are equal
/// if their values are.
#[derive(Debug, Clone, Copy)]
pub struct FixedPoint {
    number: i128,
    scale: u8,
}

impl FixedPoint {
    /// Returns `number` in units of 10^−`scale`.
    ///
    /// # Panics
    /// If the scale is above 38.
    pub const fn new(number: i128, scale: u8) -> Self {
        assert!(scale <= MAX_SCALE, "a decimal has at most 38 places");
        Self { number, scale }
    }

    /// Returns the number without its decimal point.
    pub const fn number(self) -> i128 {
        self.number
    }

    /// Returns the number of decimal places.
    pub const fn scale(self) -> u8 {
        self.scale
    }

    /// Returns the same value without zeros at the end of its fraction.
    pub(crate) fn shortest(mut self) -> Self {
        while self.scale > 0 && self.number % 10 == 0 {
            self = Self { number: self.number / 10, scale: self.scale - 1 };
        }
        self
    }

    /// Returns the number in units of 10^−`scale`, if it is whole and fits.
    pub(crate) fn in_units(self, scale: u8) -> Option<i64> {
        let short = self.shortest();
        let more = scale.checked_sub(short.scale)?;
        i64::try_from(short.number.checked_mul(power(more.min(MAX_SCALE)))?).ok()
    }
}

impl Ord for FixedPoint {
    fn cmp(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        // A fraction is below 10^38 in units of the larger scale.
        let parts = |one: &Self| {
            let unit = power(one.scale);
            let fraction = one.number.rem_euclid(unit) * power(scale - one.scale);
            (one.number.div_euclid(unit), fraction)
        };
        parts(self).cmp(&parts(other))
    }
}

impl PartialOrd for FixedPoint {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FixedPoint {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for FixedPoint {}

impl fmt::Display for FixedPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.number < 0 { "-" } else { "" };
        let scale = usize::from(self.scale);
        let digits = format!("{:0>width$}", self.number.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let point = if scale > 0 { "." } else { "" };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}

/// Returns 10^`exponent`, which is at most 38.
fn power(exponent: u8) -> i128 {
    10i128.pow(u32::from(exponent))
}

/// Returns the mean of `count` numbers in units of 10^−`scale` from their sum, with six more places, rounded half to
/// even; `None` for no numbers, or if it does not fit.
pub fn mean(sum: i128, count: u64, scale: u8) -> Option<FixedPoint> {
    let magnitude = Wide::product(sum.unsigned_abs(), power(MORE_PLACES).unsigned_abs());
    let rounded = i128::try_from(magnitude.divided(u128::from(count))?).ok()?;
    Some(FixedPoint::new(if sum < 0 { -rounded } else { rounded }, scale + MORE_PLACES))
}

/// Returns the sample variance of `count` numbers in units of 10^−`scale` from their sum and the sum of their squares,
/// with six more places than the numbers, rounded half to even; `None` for fewer than two numbers, for sums that no
/// numbers have, or if it does not fit. The count is below 2^32 and the scale is at most 18.
pub fn variance(sum: i128, squares: i128, count: u64, scale: u8) -> Option<FixedPoint> {
    let (count, squares) = (u128::from(u32::try_from(count).ok()?), u128::try_from(squares).ok()?);
    let sum = sum.unsigned_abs();
    let mut numerator = Wide::product(squares, count).less(Wide::product(sum, sum))?;
    let mut denominator = count * count.checked_sub(1)?;
    // The quotient is in units of 10^(−2 scale).
    match scale.checked_sub(MORE_PLACES) {
        None => numerator = numerator.times(power(MORE_PLACES - scale).unsigned_abs())?,
        Some(surplus) => {
            denominator = denominator.checked_mul(power(surplus).unsigned_abs())?;
        }
    }
    let rounded = i128::try_from(numerator.divided(denominator)?).ok()?;
    Some(FixedPoint::new(rounded, scale + MORE_PLACES))
}

/// A number below 2^256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wide {
    high: u128,
    low: u128,
}

impl Wide {
    /// Multiplies two numbers by their halves.
    fn product(x: u128, y: u128) -> Self {
        let halves = |n: u128| (n >> 64, n & u128::from(u64::MAX));
        let ((x1, x0), (y1, y0)) = (halves(x), halves(y));
        let (middle, carry) = (x1 * y0).overflowing_add(x0 * y1);
        let (low, carry_low) = (x0 * y0).overflowing_add(middle << 64);
        let high = x1 * y1 + (middle >> 64) + (u128::from(carry) << 64) + u128::from(carry_low);
        Self { high, low }
    }

    fn times(self, factor: u128) -> Option<Self> {
        let Self { high, low } = Self::product(self.low, factor);
        Some(Self { high: high.checked_add(self.high.checked_mul(factor)?)?, low })
    }

    fn less(self, other: Self) -> Option<Self> {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        let high = self.high.checked_sub(other.high)?.checked_sub(u128::from(borrow))?;
        Some(Self { high, low })
    }

    /// Divides, rounding half to even; `None` for a divisor of 0 or of 2^127 and more, or if the quotient does not fit.
    fn divided(self, divisor: u128) -> Option<u128> {
        if divisor == 0 || divisor >> 127 != 0 || self.high >= divisor {
            return None;
        }
        let (mut quotient, mut rest) = (0, self.high);
        for i in (0..128).rev() {
            rest = rest << 1 | self.low >> i & 1;
            quotient <<= 1;
            if rest >= divisor {
                rest -= divisor;
                quotient |= 1;
            }
        }
        let up = match (2 * rest).cmp(&divisor) {
            Ordering::Less => 0,
            Ordering::Equal => quotient & 1,
            Ordering::Greater => 1,
        };
        u128::checked_add(quotient, up)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn decimals_compare_by_value() {
        let of = FixedPoint::new;
        assert_eq!(of(150, 2), of(15, 1));
        assert!(of(-1, 18) < of(0, 0) && of(-15, 1) < of(-14, 1));
        assert!(of(i128::MAX, 38) < of(2, 0) && of(i128::MAX, 38) > of(1, 0));
        assert!(of(i128::MIN, 0) < of(i128::MIN, 1));
        let shown = [of(-5, 2), of(1234, 3), of(7, 0), of(0, 2)].map(|one| one.to_string());
        assert_eq!(shown, ["-0.05", "1.234", "7", "0.00"]);
        assert_eq!(of(1200, 3).shortest().to_string(), "1.2");
        assert_eq!(of(5, 1).in_units(2), Some(50));
        assert_eq!((of(5, 1).in_units(0), of(i128::from(i64::MAX), 0).in_units(1)), (None, None));
    }

    #[test]
    fn means_and_variances_round_half_to_even() {
        let shown = |one: Option<FixedPoint>| one.map(|one| one.to_string());
        assert_eq!(shown(mean(7, 2, 0)).as_deref(), Some("3.500000"));
        assert_eq!(shown(mean(-2, 3, 2)).as_deref(), Some("-0.00666667"));
        // 1/2^7 and 3/2^7 end in a five at the seventh place.
        assert_eq!(shown(mean(1, 128, 0)).as_deref(), Some("0.007812"));
        assert_eq!(shown(mean(3, 128, 0)).as_deref(), Some("0.023438"));
        assert_eq!(shown(mean(-3, 128, 0)).as_deref(), Some("-0.023438"));
        assert_eq!(mean(0, 0, 0), None);
        // What DuckDB answers for 1, 2, 4 and for 1.50, 2.25.
        assert_eq!(shown(variance(7, 21, 3, 0)).as_deref(), Some("2.333333"));
        assert_eq!(shown(variance(375, 73125, 2, 2)).as_deref(), Some("0.28125000"));
        assert_eq!((variance(7, 49, 1, 0), variance(0, 0, 0, 0)), (None, None));
        assert_eq!(variance(7, 3, 2, 0), None, "no numbers have these sums");
        let largest = i128::from(i64::MAX);
        assert_eq!(mean(largest * 2, 2, 18), Some(FixedPoint::new(largest, 18)));
        assert_eq!(
            variance(2 * largest, 2 * largest * largest, 2, 18),
            Some(FixedPoint::new(0, 0))
        );
        // (2^63 − 1)^2 · 2 in units of 10^−36, to 24 places.
        let spread = variance(0, 2 * largest * largest, 2, 18).map(|one| one.number());
        assert_eq!(spread, Some(170_141_183_460_469_231_694_793_816));
    }

    /// Sums of small numbers, whose statistics an `i128` holds without rounding in between.
    #[test]
    fn statistics_agree_with_plain_arithmetic() {
        let mut rng = StdRng::seed_from_u64(1);
        for _ in 0..10_000 {
            let scale = rng.random_range(0..=9);
            let numbers: Vec<i128> = (0..rng.random_range(2..9))
                .map(|_| i128::from(rng.random_range(-1_000_000..1_000_000)))
                .collect();
            let (n, sum) = (numbers.len() as i128, numbers.iter().sum::<i128>());
            let squares = numbers.iter().map(|x| x * x).sum::<i128>();
            let count = numbers.len() as u64;
            is_nearest(mean(sum, count, scale), sum * 1_000_000, n);
            let spread: i128 = numbers.iter().map(|x| (n * x - sum) * (n * x - sum)).sum();
            let unit = 10i128.pow(u32::from(scale));
            is_nearest(
                variance(sum, squares, count, scale),
                spread * 1_000_000,
                n * n * (n - 1) * unit,
            );
        }
    }

    /// Checks that a decimal is the nearest to a fraction, and the even one of two.
    #[track_caller]
    fn is_nearest(rounded: Option<FixedPoint>, numerator: i128, denominator: i128) {
        let number = rounded.unwrap().number();
        let off = 2 * (numerator - number * denominator).abs();
        assert!(
            off < denominator || off == denominator && number % 2 == 0,
            "{numerator} / {denominator}"
        );
    }
}
