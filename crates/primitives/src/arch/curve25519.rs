//! ristretto255, eight points at a time, on processors with the instructions for it. The portable counterpart is
//! the crate `curve25519-dalek`, one point at a time, with which every function is compared.

#[cfg(target_arch = "x86_64")]
use super::x86_64::curve25519 as ifma;

pub use super::portable::curve25519::{DIGITS, Digits, LANES, Points, Table, digits};

/// Proof that the processor has the instructions.
#[derive(Debug, Clone, Copy)]
pub struct Vectors(Kind);

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// AVX-512 F, DQ and IFMA.
    #[cfg(target_arch = "x86_64")]
    Ifma,
}

macro_rules! call {
    ($vectors:ident, $function:ident($($argument:expr),*)) => {
        match $vectors.0 {
            // SAFETY: this kind exists only where the three instruction sets were found.
            #[cfg(target_arch = "x86_64")]
            Kind::Ifma => unsafe { ifma::$function($($argument),*) },
        }
    };
}

#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
impl Vectors {
    /// Returns the vectors of this processor, unless the environment forces portable code.
    pub fn current() -> Option<Self> {
        if super::Backend::current() == super::Backend::PORTABLE {
            return None;
        }
        Self::available()
    }

    fn available() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512ifma")
        {
            return Some(Self(Kind::Ifma));
        }
        None
    }

    /// The points to which RFC 9496 maps uniform bytes.
    pub fn from_uniform(self, bytes: &[[u8; 64]; LANES]) -> Points {
        call!(self, from_uniform(bytes))
    }

    /// The points with these encodings, and the lanes, as bits, that hold a valid one. The other lanes hold the
    /// identity, or bytes that are not an encoding.
    pub fn decode(self, bytes: &[[u8; 32]; LANES]) -> (Points, u8) {
        call!(self, decode(bytes))
    }

    /// The encodings.
    pub fn encode(self, points: &Points) -> [[u8; 32]; LANES] {
        call!(self, encode(points))
    }

    /// Twice each point.
    pub fn double(self, points: &Points) -> Points {
        call!(self, double_all(points))
    }

    /// The sum in each lane.
    pub fn add(self, left: &Points, right: &Points) -> Points {
        call!(self, add(left, right))
    }

    /// The difference in each lane.
    pub fn sub(self, left: &Points, right: &Points) -> Points {
        call!(self, sub(left, right))
    }

    /// The points of `other` in these lanes and of `points` in the others; in constant time.
    pub fn select(self, points: &Points, other: &Points, lanes: u8) -> Points {
        call!(self, select(points, other, lanes))
    }

    /// The product of each lane's point and scalar, in constant time.
    pub fn mul(self, points: &Points, digits: &Digits) -> Points {
        call!(self, mul(points, digits))
    }

    /// Multiples of the point in the first lane, for [`Vectors::mul_table`].
    pub fn table(self, points: &Points) -> Table {
        call!(self, table(points))
    }

    /// The products of each lane's scalar and the point of the table, in constant time.
    pub fn mul_table(self, table: &Table, digits: &Digits) -> Points {
        call!(self, mul_table(table, digits))
    }
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::{RistrettoPoint, Scalar, ristretto::CompressedRistretto};
    use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    type Eight = [RistrettoPoint; LANES];

    fn uniform(rng: &mut StdRng) -> [[u8; 64]; LANES] {
        std::array::from_fn(|_| {
            let mut bytes = [0; 64];
            rng.fill_bytes(&mut bytes);
            bytes
        })
    }

    fn encoded(points: &Eight) -> [[u8; 32]; LANES] {
        points.map(|point| point.compress().to_bytes())
    }

    /// Extreme scalars and random ones.
    fn scalars(rng: &mut StdRng) -> [Scalar; LANES] {
        let mut random = || {
            let mut wide = [0; 64];
            rng.fill_bytes(&mut wide);
            Scalar::from_bytes_mod_order_wide(&wide)
        };
        let eights = Scalar::from_bytes_mod_order([0x88; 32]);
        let [a, b, c] = [random(), random(), random()];
        [Scalar::ZERO, Scalar::ONE, -Scalar::ONE, eights, Scalar::from(8u8), a, b, c]
    }

    /// Edges of the map and of the field's representation beside random bytes.
    fn cases() -> Vec<[[u8; 64]; LANES]> {
        let mut rng = StdRng::seed_from_u64(1);
        let mut cases: Vec<_> = (0..40).map(|_| uniform(&mut rng)).collect();
        let edges = [[0; 64], [0xff; 64], [0xec; 64], [0x7f; 64], [1; 64], [0x80; 64]];
        for edge in edges {
            let mut case = uniform(&mut rng);
            case[..4].fill(edge);
            case[3][32..].fill(rng.random());
            // p and p ± 1 in one half.
            for (lane, low) in [(4, 0xed), (5, 0xee), (6, 0xec)] {
                case[lane][..32].fill(0xff);
                (case[lane][0], case[lane][31]) = (low, 0x7f);
            }
            cases.push(case);
        }
        cases
    }

    #[test]
    fn points_are_those_of_the_crate() {
        let Some(vectors) = Vectors::available() else { return };
        let mut rng = StdRng::seed_from_u64(2);
        let mut previous: Option<(Points, Eight)> = None;
        for bytes in cases() {
            let points = vectors.from_uniform(&bytes);
            let expected = bytes.map(|bytes| RistrettoPoint::from_uniform_bytes(&bytes));
            assert_eq!(vectors.encode(&points), encoded(&expected), "mapped");
            let doubled = vectors.encode(&vectors.double(&points));
            assert_eq!(doubled, encoded(&expected.map(|point| point + point)), "doubled");
            let scalars = scalars(&mut rng);
            let digits = digits(&scalars.map(|scalar| scalar.to_bytes()));
            let products: Eight = std::array::from_fn(|lane| expected[lane] * scalars[lane]);
            let multiplied = vectors.mul(&points, &digits);
            assert_eq!(vectors.encode(&multiplied), encoded(&products), "multiplied");
            let table = vectors.table(&points);
            let products = scalars.map(|scalar| expected[0] * scalar);
            let found = vectors.encode(&vectors.mul_table(&table, &digits));
            assert_eq!(found, encoded(&products), "multiplied by a table");
            if let Some((other, theirs)) = &previous {
                let sums: Eight = std::array::from_fn(|lane| expected[lane] + theirs[lane]);
                assert_eq!(vectors.encode(&vectors.add(&points, other)), encoded(&sums), "added");
                let rest: Eight = std::array::from_fn(|lane| expected[lane] - theirs[lane]);
                assert_eq!(vectors.encode(&vectors.sub(&points, other)), encoded(&rest), "less");
                let zero = vectors.encode(&vectors.sub(&points, &points));
                assert_eq!(zero, [[0; 32]; LANES], "the identity");
                let lanes = rng.random();
                let chosen: Eight = std::array::from_fn(|lane| {
                    if lanes >> lane & 1 == 1 { theirs[lane] } else { expected[lane] }
                });
                let selected = vectors.select(&points, other, lanes);
                assert_eq!(vectors.encode(&selected), encoded(&chosen), "selected");
            }
            previous = Some((points, expected));
        }
    }

    #[test]
    fn encodings_are_accepted_as_by_the_crate() {
        let Some(vectors) = Vectors::available() else { return };
        let mut rng = StdRng::seed_from_u64(3);
        let mut accepted = 0;
        for round in 0..400 {
            let mut bytes: [[u8; 32]; LANES] = std::array::from_fn(|lane| {
                let mut bytes = [0; 64];
                rng.fill_bytes(&mut bytes);
                match lane % 4 {
                    // An encoding, and one with a bit changed.
                    0 => RistrettoPoint::from_uniform_bytes(&bytes).compress().to_bytes(),
                    1 => {
                        let mut near = RistrettoPoint::from_uniform_bytes(&bytes).compress().0;
                        near[lane + round % 24] ^= 1 << (round % 8);
                        near
                    }
                    // Even and below 2^255, or anything.
                    2 => {
                        let mut even = *bytes.first_chunk().expect("64 are more than 32");
                        even[0] &= !1;
                        even[31] &= 0x7f;
                        even
                    }
                    _ => *bytes.first_chunk().expect("64 are more than 32"),
                }
            });
            if round < 20 {
                // 0, small numbers, and numbers around the modulus.
                let number = round as u8;
                (bytes[1], bytes[3]) = ([0; 32], [0xff; 32]);
                bytes[1][0] = number;
                (bytes[3][0], bytes[3][31]) = (0xe4 + number, 0x7f);
            }
            let (points, is_point) = vectors.decode(&bytes);
            let again = vectors.encode(&points);
            for lane in 0..LANES {
                let expected = CompressedRistretto(bytes[lane]).decompress();
                let expected = expected.filter(|_| bytes[lane] != [0; 32]);
                assert_eq!(is_point >> lane & 1 == 1, expected.is_some(), "{:?}", bytes[lane]);
                if expected.is_some() {
                    assert_eq!(again[lane], bytes[lane]);
                    accepted += 1;
                }
            }
        }
        assert!((900..2400).contains(&accepted), "{accepted}");
    }

    #[test]
    fn digits_are_those_of_the_scalar() {
        let mut rng = StdRng::seed_from_u64(4);
        let scalars = scalars(&mut rng);
        let digits = digits(&scalars.map(|scalar| scalar.to_bytes()));
        for (lane, scalar) in scalars.iter().enumerate() {
            let mut sum = Scalar::ZERO;
            for digits in digits.iter().rev() {
                assert!((-8..=8).contains(&digits[lane]));
                let size = Scalar::from(digits[lane].unsigned_abs());
                sum = sum * Scalar::from(16u8) + if digits[lane] < 0 { -size } else { size };
            }
            assert_eq!(sum, *scalar);
        }
    }
}
