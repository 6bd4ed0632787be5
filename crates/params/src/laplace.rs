//! Noise that hides a single item: the discrete Laplace distribution, from bits that are each 1 with a known
//! probability.
//!
//! A number changes by at most Δ when an item joins or leaves one of the sets. With noise that is k with probability
//! proportional to e^(−ε·|k|/Δ), it is ε-differentially private (Ghosh, Roughgarden and Sundararajan, STOC 2009).
//!
//! - That noise is the difference of two geometric numbers, which are g with probability (1 − q)·q^g, where q =
//!   e^(−ε/Δ).
//! - The binary digits of a geometric number are independent; digit i is 1 with probability 1 / (1 + e^(2^i·ε/Δ)),
//!   because q^g is a product over the digits of g (Dwork, Kenthapadi, McSherry, Mironov and Naor, EUROCRYPT 2006,
//!   Section 4).
//! - A digit is 1 if [`PRECISION`] random bits, as a number, are below its [threshold](Laplace::thresholds).
//!
//! The samples differ from the distribution by at most η < 2^-70, in total variation: a geometric number is cut off
//! after its [digits](Laplace::digits), where the next would be 1 with a probability of at most e^-50, and thresholds
//! are rounded down. A number with this noise is therefore (ε, δ)-differentially private for δ = (1 + e^ε)·η, which is
//! below 2^-55 for the largest ε.
//!
//! Thresholds are computed only with whole numbers, so that both parties get the same ones on every machine.

/// Random bits for each digit.
pub const PRECISION: usize = 80;

/// The next digit of a geometric number would be 1 with a probability of at most e^-this.
const TAIL: u128 = 50;

/// Bits after the point in intermediate results, which are all at most 1.
const FRACTION: u32 = 126;

const ONE: u128 = 1 << FRACTION;

/// e^-1.
const INVERSE_OF_E: u128 = 31_295_721_745_842_633_029_312_681_574_537_707_075;

/// The noise for a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Laplace {
    epsilon: u32,
    sensitivity: u64,
}

impl Laplace {
    /// Millionths of the largest ε: with more, one item shows in the number nearly for certain.
    pub const LARGEST_EPSILON: u32 = 10_000_000;

    /// The largest sensitivity.
    pub const LARGEST_SENSITIVITY: u64 = 1 << 62;

    /// Creates the noise for ε in millionths, and the most by which an item changes the number. `None` if one of them
    /// is 0 or too large.
    pub fn new(epsilon: u32, sensitivity: u64) -> Option<Self> {
        let is_possible = (1..=Self::LARGEST_EPSILON).contains(&epsilon)
            && (1..=Self::LARGEST_SENSITIVITY).contains(&sensitivity);
        is_possible.then_some(Self { epsilon, sensitivity })
    }

    /// ε, in millionths.
    pub fn epsilon(self) -> u32 {
        self.epsilon
    }

    /// The most by which an item changes the number.
    pub fn sensitivity(self) -> u64 {
        self.sensitivity
    }

    /// The standard deviation of the noise.
    pub fn deviation(self) -> f64 {
        let q = libm::exp(-f64::from(self.epsilon) / 1e6 / self.sensitivity as f64);
        libm::sqrt(2.0 * q) / (1.0 - q)
    }

    /// 2^i·ε/Δ, as a numerator and a denominator.
    fn exponent(self, digit: usize) -> (u128, u128) {
        (u128::from(self.epsilon) << digit, 1_000_000 * u128::from(self.sensitivity))
    }

    /// The number of binary digits of a geometric number: at most 88.
    pub fn digits(self) -> usize {
        let reaches = |digit: &usize| {
            let (numerator, denominator) = self.exponent(*digit);
            numerator >= TAIL * denominator
        };
        (0..).find(reaches).expect("the numerator doubles")
    }

    /// For each digit, from the lowest: it is 1 if [`PRECISION`] random bits are below this. None is 0.
    pub fn thresholds(self) -> Vec<u128> {
        (0..self.digits()).map(|digit| self.threshold(digit)).collect()
    }

    /// 2^80·q / (1 + q), rounded down, where q = e^-x.
    fn threshold(self, digit: usize) -> u128 {
        let (numerator, denominator) = self.exponent(digit);
        let q = exp(numerator, denominator);
        divide(q, ONE + q, PRECISION as u32)
    }
}

/// e^-(numerator / denominator), which is at most [`TAIL`], within 2^-118.
fn exp(numerator: u128, denominator: u128) -> u128 {
    let whole = (0..numerator / denominator).fold(ONE, |power, _| multiply(power, INVERSE_OF_E));
    let x = divide(numerator % denominator, denominator, FRACTION);
    // The series of e^-x alternates in sign: even terms and odd ones are added up on their own.
    let (mut sums, mut term) = ([ONE, 0], ONE);
    for i in 1.. {
        term = multiply(term, x) / i;
        if term == 0 {
            break;
        }
        sums[i as usize % 2] += term;
    }
    multiply(whole, sums[0] - sums[1])
}

/// a·b, rounded down, or less by at most 2.
fn multiply(a: u128, b: u128) -> u128 {
    let halves = |number: u128| (number >> 64, number & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
    ((a1 * b1) << 2) + ((a1 * b0 + a0 * b1) >> 62)
}

/// The first bits after the point of a fraction below 1, whose denominator is below 2^127.
fn divide(numerator: u128, denominator: u128, bits: u32) -> u128 {
    let (mut rest, mut quotient) = (numerator, 0);
    for _ in 0..bits {
        rest <<= 1;
        let fits = rest >= denominator;
        rest -= if fits { denominator } else { 0 };
        quotient = quotient << 1 | u128::from(fits);
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laplace(epsilon: u32, sensitivity: u64) -> Laplace {
        Laplace::new(epsilon, sensitivity).unwrap()
    }

    #[test]
    fn noise_keeps_its_parameters() {
        let laplace = laplace(500_000, 17);
        assert_eq!((laplace.epsilon(), laplace.sensitivity()), (500_000, 17));
    }

    /// Computed with 60 digits elsewhere.
    #[test]
    fn thresholds_are_those_of_the_formula() {
        for ((epsilon, sensitivity), digit, right) in [
            ((1, 4_611_686_018_427_387_904), 0, 604_462_909_807_314_587_353_087),
            ((1, 4_611_686_018_427_387_904), 44, 604_462_909_806_161_665_848_481),
            ((1, 4_611_686_018_427_387_904), 87, 3_235_154_248),
            ((100_000, 1), 0, 574_264_925_111_029_582_021_260),
            ((100_000, 1), 4, 203_077_311_432_159_322_415_445),
            ((100_000, 1), 8, 9_214_269_627_198),
            ((1_000_000, 1), 0, 325_130_228_258_044_697_238_242),
            ((1_000_000, 1), 3, 405_413_431_332_059_867_702),
            ((1_000_000, 1), 5, 15_310_036_716),
            ((1_000_000, 12_345_678), 0, 604_462_885_326_564_732_735_372),
            ((1_000_000, 12_345_678), 15, 603_660_725_067_015_761_235_958),
            ((1_000_000, 12_345_678), 29, 157_192),
            ((10_000_000, 1), 0, 54_882_655_629_847_822_244),
            ((10_000_000, 1), 1, 2_491_781_827_222_250),
            ((10_000_000, 1), 2, 5_135_945),
            ((693_147, 7), 0, 574_560_078_419_292_010_257_638),
            ((693_147, 7), 4, 205_737_746_238_577_945_936_180),
            ((693_147, 7), 8, 11_838_741_467_805),
        ] {
            assert_eq!(laplace(epsilon, sensitivity).thresholds()[digit], right);
        }
    }

    #[test]
    fn digits_reach_far_enough() {
        for (epsilon, sensitivity) in [
            (1, 1 << 62),
            (1, 1),
            (10, 3),
            (100_000, 1),
            (1_000_000, 1),
            (1_000_000, 12_345_678),
            (10_000_000, 1),
            (10_000_000, 1 << 62),
        ] {
            let noise = laplace(epsilon, sensitivity);
            let x = f64::from(epsilon) / 1e6 / sensitivity as f64;
            let digits = noise.digits();
            assert!(digits <= 88);
            assert!(x * 2f64.powi(digits as i32) >= 50.0 * (1.0 - 1e-12));
            assert!(digits == 0 || x * 2f64.powi(digits as i32 - 1) < 50.0 * (1.0 + 1e-12));
            let thresholds = noise.thresholds();
            assert!(thresholds.iter().all(|bound| (1..=1 << (PRECISION - 1)).contains(bound)));
            assert!(thresholds.is_sorted_by(|a, b| a >= b));
        }
    }

    /// The bound on the distance of the samples from the distribution: for each of two geometric numbers, the part that
    /// is cut off, and a unit for each digit.
    #[test]
    fn the_distance_is_below_its_bound() {
        let eta = 2.0 * (libm::exp(-50.0) + 88.0 * libm::exp2(-(PRECISION as f64)));
        assert!(eta < libm::exp2(-70.0));
        let largest = f64::from(Laplace::LARGEST_EPSILON) / 1e6;
        assert!((1.0 + libm::exp(largest)) * eta < libm::exp2(-55.0));
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for (epsilon, sensitivity) in [(0, 1), (1, 0), (10_000_001, 1), (1, (1 << 62) + 1)] {
            assert_eq!(Laplace::new(epsilon, sensitivity), None);
        }
    }

    #[test]
    fn the_deviation_is_that_of_the_distribution() {
        for (epsilon, sensitivity) in [(1_000_000, 1), (300_000, 2), (10_000_000, 1)] {
            let noise = laplace(epsilon, sensitivity);
            let q = libm::exp(-f64::from(epsilon) / 1e6 / sensitivity as f64);
            let weight = |k: i32| (1.0 - q) / (1.0 + q) * q.powi(k.abs());
            let variance: f64 = (-2000..=2000).map(|k| f64::from(k * k) * weight(k)).sum();
            assert!((noise.deviation() - variance.sqrt()).abs() < 1e-6 * variance.sqrt());
        }
    }
}
