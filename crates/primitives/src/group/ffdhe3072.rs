//! The group of RFC 7919's ffdhe3072, in the form of signed quadratic residues.
//!
//! **The group.** p = 2^3072 − 2^3008 + (⌊2^2942 · e⌋ + 2625351) · 2^64 − 1 is a safe prime: q = (p − 1) / 2 is prime
//! too. Elements are the classes {x, p − x} of the integers 0 < x < p, multiplied modulo p. There are q of them, so the
//! group has prime order. Since q is odd, −1 is not a square, so each class contains exactly one quadratic residue, and
//! mapping a residue to its class is an isomorphism. Discrete logarithms and Diffie–Hellman problems are therefore the
//! same as in the subgroup of order q that RFC 7919 uses, and so is the generator, the class of 2 (a residue, since p ≡
//! 7 mod 8).
//!
//! **Why classes.** An element is encoded as the smaller member of its class, from 1 (the identity) to q, so
//! decoding is a comparison of integers and leaves nothing else to check. With residues it would take a
//! Jacobi symbol, which costs more than the exponentiation that follows. And every integer belongs to some
//! class, so hashing to the group is one reduction modulo p.
//!
//! **Short exponents.** RFC 7919 (appendix A.2) estimates the security of the group as 125 bits and requires short
//! exponents of at least 275 bits. [`Group::random_scalar`] draws 280. With them g^s is not uniform, but it is
//! indistinguishable from uniform if discrete logarithms with short exponents are hard; the decisional Diffie–Hellman
//! problem then stays hard if it is hard with long ones (Koshiba and Kurosawa, PKC 2004). Wherever g^s hides something
//! unconditionally in other groups, it does so computationally here. A peer cannot learn parts of a short exponent
//! through elements of small order, because the group has none.
//!
//! **Long exponents.** Inverses and products of exponents are integers modulo q, of 3071 bits, and a power
//! with such an exponent takes eleven times as long. For powers of the generator there are tables for both
//! lengths.

use std::{iter, sync::LazyLock};

use crypto_bigint::{
    Odd, U3072, const_monty_params,
    modular::{ConstMontyForm, FixedMontyForm, FixedMontyParams},
};
use rand::CryptoRng;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater};
use zeroize::{Zeroize, Zeroizing};

use super::{Group, OneByOne, Scalars};
use crate::declassify_choice;

const_monty_params!(
    Modulus,
    U3072,
    "FFFFFFFFFFFFFFFFADF85458A2BB4A9AAFDC5620273D3CF1D8B9C583CE2D3695\
     A9E13641146433FBCC939DCE249B3EF97D2FE363630C75D8F681B202AEC4617A\
     D3DF1ED5D5FD65612433F51F5F066ED0856365553DED1AF3B557135E7F57C935\
     984F0C70E0E68B77E2A689DAF3EFE8721DF158A136ADE73530ACCA4F483A797A\
     BC0AB182B324FB61D108A94BB2C8E3FBB96ADAB760D7F4681D4F42A3DE394DF4\
     AE56EDE76372BB190B07A7C8EE0A6D709E02FCE1CDF7E2ECC03404CD28342F61\
     9172FE9CE98583FF8E4F1232EEF28183C3FE3B1B4C6FAD733BB5FCBC2EC22005\
     C58EF1837D1683B2C6F34A26C1B2EFFA886B4238611FCFDCDE355B3B6519035B\
     BC34F4DEF99C023861B46FC9D6E6C9077AD91D2691F7F7EE598CB0FAC186D91C\
     AEFE130985139270B4130C93BC437944F4FD4452E2D74DD364F2E21E71F54BFF\
     5CAE82AB9C9DF69EE86D2BC522363A0DABC521979B0DEADA1DBF9A42D5C4484E\
     0ABCD06BFA53DDEF3C1B20EE3FD59D7C25E41D2B66C62E37FFFFFFFFFFFFFFFF",
    "p."
);

/// An integer modulo p in Montgomery form.
type Residue = ConstMontyForm<Modulus, { U3072::LIMBS }>;

/// p.
const MODULUS: &U3072 = Residue::MODULUS.as_ref();

/// q, the order of the group, and the largest integer on the wire.
const ORDER: U3072 = MODULUS.shr_vartime(1);

const ODD_ORDER: Odd<U3072> = ORDER.to_odd().expect_copied("q is odd");

/// A member of the generator.
const GENERATOR: Residue = Residue::new(&U3072::from_u64(2));

/// Bytes of an element on the wire.
const ENCODED: usize = 384;

/// Bytes that are reduced modulo p for a uniform element: 256 bits more than p, which leaves a statistical
/// distance below 2^-256.
const WIDE: usize = ENCODED + 32;

/// Bits of a short exponent: the minimum of RFC 7919, rounded up to whole bytes.
const SHORT: u32 = 280;

/// Bits of an exponent that a [window](Windows) takes.
const WINDOW: u32 = 4;

/// Bits of a long exponent.
const LONG: u32 = ORDER.bits_vartime();

/// The generator's table for short exponents.
static SHORT_TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(GENERATOR, SHORT));

/// The generator's table for long exponents. It takes 4.7 MB, and its first use takes about 12,000 multiplications.
static LONG_TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(GENERATOR, LONG));

/// Parameters for computing modulo q.
static MODULO_ORDER: LazyLock<FixedMontyParams<{ U3072::LIMBS }>> =
    LazyLock::new(|| FixedMontyParams::new_vartime(ODD_ORDER));

/// The group of RFC 7919's ffdhe3072: prime order, encodings of 384 bytes, about 125 bits of security.
///
/// Random exponents are short, 280 bits. That products with them look uniform relies, besides the
/// Diffie–Hellman assumption, on the assumption that discrete logarithms with short exponents are hard.
#[derive(Debug)]
pub struct Ffdhe3072;

/// An exponent. The bound on its length is public, and time depends on it.
#[derive(Clone, Zeroize)]
pub struct Scalar {
    value: U3072,
    /// The value is below 2^bits.
    bits: u32,
}

/// A class {x, p − x}, represented by either member.
#[derive(Clone, Copy)]
pub struct Element(Residue);

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        (self.0.ct_eq(&other.0) | self.0.ct_eq(&-other.0)).into()
    }
}

impl Eq for Element {}

impl ConditionallySelectable for Element {
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        Self(Residue::conditional_select(&a.0, &b.0, choice))
    }
}

impl Zeroize for Element {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl Element {
    /// Maps uniform bytes to a uniform element. A multiple of p, which is in no class, does not occur in
    /// practice: the probability is 2^-3072.
    fn from_uniform_bytes(bytes: &[u8; WIDE]) -> Self {
        const SHIFT: Residue = Residue::new(&U3072::ONE.shl_vartime(8 * (WIDE - ENCODED) as u32));
        let (high, low) = bytes.split_at(ENCODED);
        let mut padded = [0; ENCODED];
        padded[ENCODED - low.len()..].copy_from_slice(low);
        let [high, low] = [high, &padded].map(|part| Residue::new(&U3072::from_be_slice(part)));
        Self(high * SHIFT + low)
    }
}

/// Powers of an element, for exponents of up to a public number of bits. For short ones it takes 430 KB and about 1000
/// multiplications.
pub struct Table {
    base: Element,
    /// For the i-th [`WINDOW`] bits of an exponent, the contribution of each value: the base to the power of
    /// that value times 16^i.
    windows: Vec<[Residue; 1 << WINDOW]>,
}

impl Table {
    fn new(base: Residue, bits: u32) -> Self {
        let bases = iter::successors(Some(base), |b| Some(b.square_repeat_vartime(WINDOW)));
        let powers = |base: Residue| {
            let mut powers = [Residue::ONE; 1 << WINDOW];
            for i in 1..powers.len() {
                powers[i] = powers[i - 1] * base;
            }
            powers
        };
        let windows = bases.take(bits.div_ceil(WINDOW) as usize).map(powers).collect();
        Self { base: Element(base), windows }
    }

    /// Whether there are windows for all bits of an exponent.
    fn covers(&self, scalar: &Scalar) -> bool {
        scalar.bits.div_ceil(WINDOW) as usize <= self.windows.len()
    }

    fn power(&self, scalar: &Scalar) -> Element {
        let bytes: Zeroizing<[u8; ENCODED]> = Zeroizing::new(scalar.value.to_le_bytes().into());
        let mut product = Residue::ONE;
        for (i, powers) in self.windows.iter().enumerate() {
            let digit = bytes[i / 2] >> (4 * (i % 2)) & 0xf;
            let mut power = Residue::ONE;
            for (value, candidate) in (0..).zip(powers) {
                power.conditional_assign(candidate, digit.ct_eq(&value));
            }
            product *= power;
        }
        Element(product)
    }
}

impl Group for Ffdhe3072 {
    const NAME: &'static str = "ffdhe3072";
    type Scalar = Scalar;
    type Element = Element;
    type Encoded = [u8; ENCODED];
    type Table = Table;
    type Batch = OneByOne<Self>;

    /// A short exponent.
    fn random_scalar(rng: &mut dyn CryptoRng) -> Scalar {
        let mut bytes = Zeroizing::new([0; ENCODED]);
        loop {
            rng.fill_bytes(&mut bytes[ENCODED - SHORT as usize / 8..]);
            let value = U3072::from_be_slice(&*bytes);
            // Reveals an event that occurs with probability 2^-280.
            if !declassify_choice(value.ct_eq(&U3072::ZERO)) {
                return Scalar { value, bits: SHORT };
            }
        }
    }

    /// The inverse is not short, and powers with it take eleven times as long.
    fn invert(scalar: &Scalar) -> Scalar {
        let value = scalar.value.invert_odd_mod(&ODD_ORDER).unwrap_or(U3072::ZERO);
        Scalar { value, bits: LONG }
    }

    fn random_element(rng: &mut dyn CryptoRng) -> Element {
        let mut uniform = [0; WIDE];
        rng.fill_bytes(&mut uniform);
        Element::from_uniform_bytes(&uniform)
    }

    /// 416 bytes of BLAKE3, reduced modulo p.
    fn hash(domain: &'static str, input: &[u8]) -> Element {
        let mut uniform = [0; WIDE];
        blake3::Hasher::new_derive_key(domain).update(input).finalize_xof().fill(&mut uniform);
        Element::from_uniform_bytes(&uniform)
    }

    /// Time depends on the public bound of the exponent.
    fn mul_generator(scalar: &Scalar) -> Element {
        if SHORT_TABLE.covers(scalar) {
            SHORT_TABLE.power(scalar)
        } else {
            LONG_TABLE.power(scalar)
        }
    }

    /// Time depends on the public bound of the exponent.
    fn mul(element: &Element, scalar: &Scalar) -> Element {
        Element(element.0.pow_bounded_exp(&scalar.value, scalar.bits))
    }

    /// For short exponents; a product with a long one takes as long as without a table.
    fn table(element: &Element) -> Table {
        Table::new(element.0, SHORT)
    }

    /// Time depends on the public bound of the exponent.
    fn mul_table(table: &Table, scalar: &Scalar) -> Element {
        if table.covers(scalar) { table.power(scalar) } else { Self::mul(&table.base, scalar) }
    }

    fn add(left: &Element, right: &Element) -> Element {
        Element(left.0 * right.0)
    }

    fn negate(element: &Element) -> Element {
        Element(element.0.invert().unwrap_or(Residue::ZERO))
    }

    /// The smaller of the two members, big-endian.
    fn encode(element: &Element) -> [u8; ENCODED] {
        let [own, other] = [element.0, -element.0].map(|member| member.retrieve());
        U3072::conditional_select(&own, &other, own.ct_gt(&other)).to_be_bytes().into()
    }

    fn decode(bytes: &[u8; ENCODED]) -> Option<Element> {
        let integer = U3072::from_be_slice(bytes);
        let valid = integer.ct_gt(&U3072::ONE) & !integer.ct_gt(&ORDER);
        bool::from(valid).then(|| Element(Residue::new(&integer)))
    }
}

impl Scalars for Ffdhe3072 {
    type EncodedScalar = [u8; ENCODED];
    type WideScalar = [u8; WIDE];

    fn reduce(wide: &[u8; WIDE]) -> Scalar {
        let (low, high) = wide.split_at(ENCODED);
        let mut padded = Zeroizing::new([0; ENCODED]);
        padded[..high.len()].copy_from_slice(high);
        let high = modulo_order(&U3072::from_le_slice(&*padded));
        // 256^ENCODED, the least integer that does not fit.
        let shift = modulo_order(&U3072::MAX) + FixedMontyForm::one(&MODULO_ORDER);
        long(&(high * shift + modulo_order(&U3072::from_le_slice(low))))
    }

    fn encode_scalar(scalar: &Scalar) -> [u8; ENCODED] {
        scalar.value.to_le_bytes().into()
    }

    fn multiply_scalars(left: &Scalar, right: &Scalar) -> Scalar {
        long(&(modulo_order(&left.value) * modulo_order(&right.value)))
    }

    fn select_scalar(zero: &Scalar, one: &Scalar, choice: Choice) -> Scalar {
        let value = U3072::conditional_select(&zero.value, &one.value, choice);
        Scalar { value, bits: zero.bits.max(one.bits) }
    }
}

/// The residue of an integer modulo q.
fn modulo_order(integer: &U3072) -> FixedMontyForm<{ U3072::LIMBS }> {
    FixedMontyForm::new(integer, &MODULO_ORDER)
}

fn long(residue: &FixedMontyForm<{ U3072::LIMBS }>) -> Scalar {
    Scalar { value: residue.retrieve(), bits: LONG }
}

#[cfg(test)]
mod tests {
    use crypto_bigint::NonZero;
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    fn decode(integer: U3072) -> Option<Element> {
        Ffdhe3072::decode(&integer.to_be_bytes().into())
    }

    fn scalar(value: U3072) -> Scalar {
        Scalar { value, bits: U3072::BITS }
    }

    /// The formula of RFC 7919 appendix A.2, with e from its series.
    #[test]
    fn the_modulus_is_that_of_the_rfc() {
        const FRACTION: u32 = 3060;
        let mut e = U3072::ZERO;
        let mut term = U3072::ONE.shl_vartime(FRACTION);
        for k in 1u64.. {
            e = e.wrapping_add(&term);
            term = term.wrapping_div(&NonZero::new(U3072::from_u64(k)).unwrap());
            if term == U3072::ZERO {
                break;
            }
        }
        let middle = e.shr_vartime(FRACTION - 2942).wrapping_add(&U3072::from_u64(2_625_351));
        let one = U3072::ONE;
        let expected = U3072::ZERO
            .wrapping_sub(&one.shl_vartime(3008))
            .wrapping_add(&middle.shl_vartime(64))
            .wrapping_sub(&one);
        assert_eq!(*MODULUS, expected);
    }

    /// q passes Fermat's test. With q prime, 2^q = 1 shows p prime, by Pocklington's criterion, and 2 a
    /// generator of the quadratic residues.
    #[test]
    fn the_order_is_prime() {
        let three = modulo_order(&U3072::from_u64(3));
        assert_eq!(three.pow(&ORDER.wrapping_sub(&U3072::ONE)).retrieve(), U3072::ONE);
        assert_eq!(GENERATOR.pow(&ORDER), Residue::ONE);
    }

    #[test]
    fn integers_out_of_range_are_refused() {
        let one = U3072::ONE;
        let refused = [
            U3072::ZERO,
            one,
            ORDER.wrapping_add(&one),
            MODULUS.wrapping_sub(&U3072::from_u64(2)),
            MODULUS.wrapping_sub(&one),
            *MODULUS,
            MODULUS.wrapping_add(&one),
            U3072::MAX,
        ];
        for integer in refused {
            assert!(decode(integer).is_none(), "{integer}");
        }
        assert!(decode(U3072::from_u64(2)).is_some());
        assert!(decode(ORDER).is_some());
    }

    /// A non-residue represents the class of its negative, which is a residue, and has the order of the group.
    #[test]
    fn every_class_is_of_the_groups_order() {
        let identity = Element(Residue::ONE);
        assert!(identity == Element(-Residue::ONE));
        for integer in [2, 3, 5, 7, 11].map(U3072::from_u64).into_iter().chain([ORDER]) {
            let element = decode(integer).unwrap();
            assert!(Ffdhe3072::mul(&element, &scalar(ORDER)) == identity);
            assert!(element == Element(-element.0));
            assert_eq!(Ffdhe3072::encode(&Element(-element.0)), Ffdhe3072::encode(&element));
        }
        let five = Residue::new(&U3072::from_u64(5));
        assert_eq!(five.pow(&ORDER), -Residue::ONE, "a non-residue is among them");
    }

    #[test]
    fn the_table_gives_powers_of_the_generator() {
        let mut rng = StdRng::seed_from_u64(1);
        let bits = |value| Scalar { value, bits: SHORT };
        let largest = U3072::ONE.shl_vartime(SHORT).wrapping_sub(&U3072::ONE);
        let few = [U3072::ONE, U3072::from_u64(16), largest].map(bits);
        let inverses = few.clone().map(|s| Ffdhe3072::invert(&s));
        let last = Scalar { value: ORDER.wrapping_sub(&U3072::ONE), bits: LONG };
        let random = (0..5).map(|_| Ffdhe3072::random_scalar(&mut rng));
        for s in few.into_iter().chain(inverses).chain([last]).chain(random) {
            assert!(Ffdhe3072::mul_generator(&s) == Ffdhe3072::mul(&Element(GENERATOR), &s));
        }
    }

    #[test]
    fn random_exponents_are_short_and_fill_their_bits() {
        let mut rng = StdRng::seed_from_u64(2);
        let lengths = (0..100).map(|_| Ffdhe3072::random_scalar(&mut rng).value.bits_vartime());
        assert_eq!(lengths.max(), Some(SHORT));
    }

    #[test]
    fn wide_integers_are_reduced_modulo_p() {
        // (2^3328 − 1) mod p, by doubling.
        let two = Residue::new(&U3072::from_u64(2));
        let expected = two.pow(&U3072::from_u64(8 * WIDE as u64)) - Residue::ONE;
        assert_eq!(Element::from_uniform_bytes(&[0xff; WIDE]).0, expected);
        let mut small = [0; WIDE];
        small[WIDE - 1] = 2;
        assert_eq!(Element::from_uniform_bytes(&small).0, GENERATOR);
    }
}
