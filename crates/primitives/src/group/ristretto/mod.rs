//! ristretto255 (RFC 9496).

mod batch;

use std::sync::LazyLock;

use curve25519_dalek::{
    RistrettoPoint, Scalar,
    ristretto::{CompressedRistretto, RistrettoBasepointTable},
    traits::IsIdentity,
};
use rand::CryptoRng;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

pub use batch::RistrettoBatch;

use super::{Group, Scalars};
use crate::{
    arch::curve25519::{self, Vectors},
    declassify_choice,
};

/// 1/2 modulo the order.
static HALF: LazyLock<Scalar> = LazyLock::new(|| Scalar::from(2u8).invert());

/// ristretto255: prime order, canonical encodings of 32 bytes, about 126 bits of security.
#[derive(Debug)]
pub struct Ristretto;

/// Multiples of a point.
pub enum Table {
    /// For products one by one.
    OneByOne(Box<RistrettoBasepointTable>),
    /// For eight products at once.
    Vectors(Vectors, curve25519::Table),
}

impl Group for Ristretto {
    const NAME: &'static str = "ristretto255";
    type Scalar = Scalar;
    type Element = RistrettoPoint;
    type Encoded = [u8; 32];
    type Table = Table;
    type Batch = RistrettoBatch;

    fn random_scalar(rng: &mut dyn CryptoRng) -> Scalar {
        loop {
            let scalar = Scalar::random(rng);
            // Reveals an event that occurs with probability 2^-252.
            if !declassify_choice(scalar.ct_eq(&Scalar::ZERO)) {
                return scalar;
            }
        }
    }

    fn invert(scalar: &Scalar) -> Scalar {
        scalar.invert()
    }

    /// F is 2: the double of a point is encoded without a square root.
    fn divide(scalar: &Scalar) -> Scalar {
        scalar * *HALF
    }

    fn random_element(rng: &mut dyn CryptoRng) -> RistrettoPoint {
        RistrettoPoint::random(rng)
    }

    /// The map of RFC 9496 §4.3.4 on 64 bytes of BLAKE3.
    fn hash(domain: &'static str, input: &[u8]) -> RistrettoPoint {
        RistrettoPoint::from_uniform_bytes(&uniform_bytes(domain, input))
    }

    fn mul_generator(scalar: &Scalar) -> RistrettoPoint {
        RistrettoPoint::mul_base(scalar)
    }

    fn mul(element: &RistrettoPoint, scalar: &Scalar) -> RistrettoPoint {
        element * scalar
    }

    /// Takes 30 KB and the time of 40 products; for eight at once, 61 KB and the time of 80.
    fn table(element: &RistrettoPoint) -> Table {
        match Vectors::current() {
            None => Table::OneByOne(Box::new(RistrettoBasepointTable::create(element))),
            Some(vectors) => {
                Table::Vectors(vectors, vectors.table(&batch::eight_of(vectors, element)))
            }
        }
    }

    fn mul_table(table: &Table, scalar: &Scalar) -> RistrettoPoint {
        match table {
            Table::OneByOne(table) => &**table * scalar,
            Table::Vectors(vectors, table) => {
                let digits = curve25519::digits(&[scalar.to_bytes(); curve25519::LANES]);
                let encoded = vectors.encode(&vectors.mul_table(table, &Zeroizing::new(digits)));
                let product = CompressedRistretto(encoded[0]).decompress();
                product.expect("an encoded point can be decoded")
            }
        }
    }

    fn add(left: &RistrettoPoint, right: &RistrettoPoint) -> RistrettoPoint {
        left + right
    }

    fn negate(element: &RistrettoPoint) -> RistrettoPoint {
        -element
    }

    fn encode(element: &RistrettoPoint) -> [u8; 32] {
        element.compress().to_bytes()
    }

    /// One inversion serves all.
    fn encode_multiples(elements: &[RistrettoPoint]) -> Vec<[u8; 32]> {
        let encoded = RistrettoPoint::double_and_compress_batch(elements);
        encoded.into_iter().map(|encoded| encoded.to_bytes()).collect()
    }

    fn decode(bytes: &[u8; 32]) -> Option<RistrettoPoint> {
        CompressedRistretto(*bytes).decompress().filter(|element| !element.is_identity())
    }
}

/// 64 bytes of BLAKE3, by which points are made of byte strings.
fn uniform_bytes(domain: &'static str, input: &[u8]) -> [u8; 64] {
    let mut uniform = [0; 64];
    blake3::Hasher::new_derive_key(domain).update(input).finalize_xof().fill(&mut uniform);
    uniform
}

impl Scalars for Ristretto {
    type EncodedScalar = [u8; 32];
    type WideScalar = [u8; 64];

    fn reduce(wide: &[u8; 64]) -> Scalar {
        Scalar::from_bytes_mod_order_wide(wide)
    }

    fn encode_scalar(scalar: &Scalar) -> [u8; 32] {
        scalar.to_bytes()
    }

    fn multiply_scalars(left: &Scalar, right: &Scalar) -> Scalar {
        left * right
    }

    fn select_scalar(zero: &Scalar, one: &Scalar, choice: Choice) -> Scalar {
        Scalar::conditional_select(zero, one, choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The small multiples of the generator in RFC 9496 appendix A.1.
    #[test]
    fn multiples_of_the_generator() {
        let encode = |n: u8| Ristretto::encode(&Ristretto::mul_generator(&Scalar::from(n)));
        assert_eq!(
            encode(1),
            [
                0xe2, 0xf2, 0xae, 0x0a, 0x6a, 0xbc, 0x4e, 0x71, 0xa8, 0x84, 0xa9, 0x61, 0xc5, 0x00,
                0x51, 0x5f, 0x58, 0xe3, 0x0b, 0x6a, 0xa5, 0x82, 0xdd, 0x8d, 0xb6, 0xa6, 0x59, 0x45,
                0xe0, 0x8d, 0x2d, 0x76
            ]
        );
        assert_eq!(
            encode(2),
            [
                0x6a, 0x49, 0x32, 0x10, 0xf7, 0x49, 0x9c, 0xd1, 0x7f, 0xec, 0xb5, 0x10, 0xae, 0x0c,
                0xea, 0x23, 0xa1, 0x10, 0xe8, 0xd5, 0xb9, 0x01, 0xf8, 0xac, 0xad, 0xd3, 0x09, 0x5c,
                0x73, 0xa3, 0xb9, 0x19
            ]
        );
    }
}
