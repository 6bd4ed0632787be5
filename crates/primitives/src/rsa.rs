//! RSA as a permutation that only one party can invert: raising to the power e, and taking e-th roots, modulo
//! N = p·q.
//!
//! This is neither encryption nor a signature scheme: callers first hash to the full set of residues
//! ([`PublicKey::hash`]). Keys have 3072 bits, which is about 128 bits of security, and e = 65537.
//!
//! Everything that depends on the key takes constant time. Roots are taken modulo p and modulo q (Garner's
//! form of the Chinese remainder theorem), and raised to e again before they are released: a root that is
//! wrong modulo only one of the primes would reveal both (Boneh, DeMillo and Lipton, EUROCRYPT 1997).
//!
//! A peer's public key is checked as far as is cheap: its length, that it is odd, and that it has no factor
//! below 2^16. That e is coprime to p − 1 and q − 1 is not checked; if it is not, raising to e is not a
//! permutation.

use crypto_bigint::{
    NonZero, Odd, U1536, U3072, Word,
    modular::{FixedMontyForm, FixedMontyParams},
};
use crypto_primes::{
    Flavor,
    fips::{self, FipsOptions},
    hazmat::{SetBits, SmallFactorsSieveFactory},
    sieve_and_find,
};
use rand::CryptoRng;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::{declassify, declassify_choice};

/// Bits of N.
pub const MODULUS_BITS: u32 = U3072::BITS;

/// e.
pub const EXPONENT: u32 = 65_537;

/// Bytes of N and of a residue on the wire, big-endian.
pub const ENCODED: usize = MODULUS_BITS as usize / 8;

/// Bytes that are reduced modulo N for a uniform residue: 256 bits more than N, which leaves a statistical
/// distance below 2^-255.
const WIDE: usize = ENCODED + 32;

/// A public key's factors are at least this large.
const LEAST_FACTOR: Word = 1 << 16;

/// The two primes differ within this many leading bits (FIPS 186-5 A.1.3); otherwise Fermat's method would
/// factor N.
const DIFFERENT_BITS: u32 = 100;

/// Rounds of Miller and Rabin's test with random bases: a random composite passes with probability below 2^-128
/// (FIPS 186-5 appendix B.3).
const ROUNDS: usize = 4;

/// The rounds above and a Lucas test; no composite is known to pass both kinds.
const PRIMALITY: FipsOptions = FipsOptions::with_mr_iterations(ROUNDS).with_lucas_test();

type Params<const LIMBS: usize> = FixedMontyParams<LIMBS>;
type HalfForm = FixedMontyForm<{ U1536::LIMBS }>;
type Form = FixedMontyForm<{ U3072::LIMBS }>;

/// An integer modulo N, other than 0.
#[derive(Clone, Copy, PartialEq, Eq, Zeroize)]
pub struct Residue(pub(crate) U3072);

impl Residue {
    /// Big-endian.
    pub fn encode(&self) -> [u8; ENCODED] {
        self.0.to_be_bytes().into()
    }
}

/// N.
#[derive(Clone)]
pub struct PublicKey(Params<{ U3072::LIMBS }>);

impl PublicKey {
    /// Big-endian.
    pub fn encode(&self) -> [u8; ENCODED] {
        self.0.modulus().as_ref().to_be_bytes().into()
    }

    /// The key with these bytes, unless N is shorter than [`MODULUS_BITS`], even, or has a factor below 2^16.
    pub fn decode(bytes: &[u8; ENCODED]) -> Option<Self> {
        let modulus = U3072::from_be_slice(bytes);
        let odd = modulus.to_odd().into_option()?;
        let divides = |factor: Word| {
            let factor = NonZero::new(factor.into()).into_option();
            factor.is_some_and(|factor| modulus.rem_limb(factor).0 == 0)
        };
        let sound =
            modulus.bits_vartime() == MODULUS_BITS && !(3..LEAST_FACTOR).step_by(2).any(divides);
        sound.then(|| Self(Params::new_vartime(odd)))
    }

    /// The residue with these bytes, unless they are 0, or N or more.
    pub fn decode_residue(&self, bytes: &[u8; ENCODED]) -> Option<Residue> {
        let residue = U3072::from_be_slice(bytes);
        let valid = residue != U3072::ZERO && residue < *self.0.modulus().as_ref();
        valid.then_some(Residue(residue))
    }

    /// A random oracle from byte strings to residues, in constant time for inputs of the same length; `domain`
    /// separates uses. Reduces 416 bytes of BLAKE3 modulo N.
    pub fn hash(&self, domain: &'static str, input: &[u8]) -> Residue {
        let mut uniform = [0; WIDE];
        blake3::Hasher::new_derive_key(domain).update(input).finalize_xof().fill(&mut uniform);
        self.reduce(&uniform)
    }

    /// A uniformly random residue.
    pub fn random(&self, rng: &mut dyn CryptoRng) -> Residue {
        let mut uniform = Zeroizing::new([0; WIDE]);
        rng.fill_bytes(&mut *uniform);
        self.reduce(&uniform)
    }

    /// Maps uniform bytes to a uniform residue. It is never 0 in practice: the probability is 2^-3072.
    fn reduce(&self, uniform: &[u8; WIDE]) -> Residue {
        let (high, low) = uniform.split_at(ENCODED);
        let mut padded = Zeroizing::new([0; ENCODED]);
        padded[ENCODED - low.len()..].copy_from_slice(low);
        let [high, low] = [high, &*padded].map(|part| self.form(&U3072::from_be_slice(part)));
        let shift = self.form(&U3072::ONE.shl_vartime(8 * (WIDE - ENCODED) as u32));
        Residue((high * shift + low).retrieve())
    }

    pub(crate) fn modulus(&self) -> &Odd<U3072> {
        self.0.modulus()
    }

    fn form(&self, integer: &U3072) -> Form {
        Form::new(integer, &self.0)
    }

    /// x^e.
    pub fn raise(&self, x: &Residue) -> Residue {
        let form = self.form(&x.0);
        // e = 2^16 + 1.
        Residue((form.square_repeat_vartime(EXPONENT.ilog2()) * form).retrieve())
    }

    /// x · y.
    pub fn multiply(&self, x: &Residue, y: &Residue) -> Residue {
        Residue((self.form(&x.0) * self.form(&y.0)).retrieve())
    }

    /// 1 / x, unless x and N have a common factor; in constant time.
    pub fn invert(&self, x: &Residue) -> Option<Residue> {
        let inverse = x.0.invert_odd_mod(self.0.modulus());
        let exists = declassify(inverse.is_some().to_u8()) == 1;
        exists.then(|| Residue(inverse.to_inner_unchecked()))
    }
}

/// One of the two primes, and 1 / e modulo the prime less one.
struct Factor {
    prime: Params<{ U1536::LIMBS }>,
    exponent: U1536,
}

impl Factor {
    /// `None` if e divides p − 1.
    fn new(prime: &Odd<U1536>) -> Option<Self> {
        let predecessor = NonZero::new(prime.as_ref().wrapping_sub(&U1536::ONE)).into_option()?;
        let exponent = U1536::from_u32(EXPONENT).invert_mod(&predecessor).into_option()?;
        Some(Self { prime: Params::new(*prime), exponent })
    }

    fn prime(&self) -> &U1536 {
        self.prime.modulus().as_ref()
    }

    fn form(&self, integer: &U1536) -> HalfForm {
        HalfForm::new(integer, &self.prime)
    }

    /// The e-th root of x modulo p.
    fn root(&self, x: &U3072) -> HalfForm {
        let (low, high) = x.split();
        // The least integer that does not fit in half of x.
        let shift = self.form(&U1536::MAX) + HalfForm::one(&self.prime);
        (self.form(&high) * shift + self.form(&low)).pow(&self.exponent)
    }
}

impl Drop for Factor {
    fn drop(&mut self) {
        self.prime.zeroize();
        self.exponent.zeroize();
    }
}

/// A secret key. Zeroized when dropped.
pub struct Key {
    public: PublicKey,
    p: Factor,
    q: Factor,
    /// 1 / q modulo p.
    inverse: Zeroizing<U1536>,
}

impl Key {
    /// A new key; takes some tenths of a second.
    pub fn generate(rng: &mut dyn CryptoRng) -> Self {
        loop {
            let [p, q] = [random_prime(rng), random_prime(rng)];
            if let Some(key) = Self::from_primes(&p, &q) {
                return key;
            }
        }
    }

    /// The key with two primes, unless they are too close or e divides one of them less one.
    fn from_primes(p: &Odd<U1536>, q: &Odd<U1536>) -> Option<Self> {
        let (larger, smaller) = if p > q { (p, q) } else { (q, p) };
        let difference = Zeroizing::new(larger.as_ref().wrapping_sub(smaller.as_ref()));
        if difference.bits_vartime() <= U1536::BITS - DIFFERENT_BITS {
            return None;
        }
        let inverse = Zeroizing::new(q.as_ref().invert_odd_mod(p).into_option()?);
        let modulus: U3072 = p.as_ref().concatenating_mul(q.as_ref());
        let public = PublicKey(Params::new_vartime(modulus.to_odd().into_option()?));
        Some(Self { public, p: Factor::new(p)?, q: Factor::new(q)?, inverse })
    }

    /// The public part.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// p and q.
    pub(crate) fn primes(&self) -> [&Odd<U1536>; 2] {
        [self.p.prime.modulus(), self.q.prime.modulus()]
    }

    /// The e-th root of x; in constant time.
    ///
    /// # Panics
    /// If the processor made an error.
    pub fn root(&self, x: &Residue) -> Residue {
        let of_p = Zeroizing::new(self.p.root(&x.0));
        let of_q = Zeroizing::new(self.q.root(&x.0).retrieve());
        let quotient = (*of_p - self.p.form(&of_q)) * self.p.form(&self.inverse);
        let quotient = Zeroizing::new(quotient.retrieve());
        let product: U3072 = self.q.prime().concatenating_mul(&*quotient);
        let root = Residue(product.wrapping_add(&of_q.resize()));
        let verified = self.public.raise(&root).0.ct_eq(&x.0);
        assert!(declassify_choice(verified), "an e-th root raised to e is what it is the root of");
        root
    }
}

/// A prime whose two highest bits are set, so that the product of two such primes has full length.
fn random_prime(rng: &mut dyn CryptoRng) -> Zeroizing<Odd<U1536>> {
    let candidates = SmallFactorsSieveFactory::new(Flavor::Any, U1536::BITS, SetBits::TwoMsb);
    let prime = candidates.and_then(|candidates| {
        sieve_and_find(rng, candidates, |rng, candidate: &U1536| {
            fips::is_prime(rng, Flavor::Any, candidate, PRIMALITY)
        })
    });
    let odd = prime.ok().flatten().and_then(|prime| prime.to_odd().into_option());
    Zeroizing::new(odd.expect("there are odd primes of 1536 bits"))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    static KEY: LazyLock<Key> = LazyLock::new(|| Key::generate(&mut StdRng::seed_from_u64(1)));

    fn public(modulus: U3072) -> Option<PublicKey> {
        PublicKey::decode(&modulus.to_be_bytes().into())
    }

    fn modulus() -> U3072 {
        *KEY.public().0.modulus().as_ref()
    }

    #[test]
    fn a_key_follows_from_its_seed_and_has_its_size() {
        let again = Key::generate(&mut StdRng::seed_from_u64(1));
        assert!(again.public().encode() == KEY.public().encode());
        let other = Key::generate(&mut StdRng::seed_from_u64(2));
        assert!(other.public().encode() != KEY.public().encode());
        assert_eq!(modulus().bits_vartime(), MODULUS_BITS);
        for factor in [&KEY.p, &KEY.q] {
            // By a different test from the one that found them.
            assert!(crypto_primes::is_prime(Flavor::Any, factor.prime()));
            assert_eq!(factor.prime().bits_vartime(), U1536::BITS);
        }
    }

    #[test]
    fn rounds_suffice() {
        let least = crypto_primes::hazmat::minimum_mr_iterations(U1536::BITS, 128);
        assert_eq!(least, Some(ROUNDS));
    }

    #[test]
    fn roots_and_powers_undo_each_other() {
        let mut rng = StdRng::seed_from_u64(3);
        let public = KEY.public();
        let q: U3072 = KEY.q.prime().resize();
        let extremes =
            [U3072::ONE, q, modulus().wrapping_sub(&U3072::ONE), modulus().wrapping_sub(&q)];
        let random = (0..4).map(|_| public.random(&mut rng));
        for x in extremes.map(Residue).into_iter().chain(random) {
            assert!(public.raise(&KEY.root(&x)) == x);
            assert!(KEY.root(&public.raise(&x)) == x);
        }
    }

    /// By the definition over the integers, without Montgomery form, halves or remainders.
    #[test]
    fn operations_are_those_of_integers_modulo_n() {
        let mut rng = StdRng::seed_from_u64(4);
        let public = KEY.public();
        let modulus = modulus().to_nz().unwrap();
        let [x, y] = [public.random(&mut rng), public.random(&mut rng)];
        let product = |x: &U3072, y: &U3072| x.mul_mod(y, &modulus);
        assert!(public.multiply(&x, &y).0 == product(&x.0, &y.0));
        let mut power = x.0;
        (0..16).for_each(|_| power = product(&power, &power));
        assert!(public.raise(&x).0 == product(&power, &x.0));
        assert!(product(&public.invert(&x).unwrap().0, &x.0) == U3072::ONE);
        assert!(public.invert(&Residue(KEY.p.prime().resize())).is_none());
    }

    /// (2^3328 − 1) mod N, by squaring.
    #[test]
    fn wide_integers_are_reduced_modulo_n() {
        let two = KEY.public().form(&U3072::from_u64(2));
        let expected = two.pow(&U3072::from_u64(8 * WIDE as u64)) - Form::one(&KEY.public().0);
        assert!(KEY.public().reduce(&[0xff; WIDE]).0 == expected.retrieve());
    }

    #[test]
    fn hashing_separates_domains_and_inputs() {
        let h = |domain, input: &[u8]| KEY.public().hash(domain, input).encode();
        assert_eq!(h("a", b"x"), h("a", b"x"));
        assert_ne!(h("a", b"x"), h("b", b"x"));
        assert_ne!(h("a", b"x"), h("a", b"y"));
    }

    #[test]
    fn a_modulus_that_is_none_is_refused() {
        let good = modulus();
        assert!(public(good).is_some_and(|key| key.encode() == KEY.public().encode()));
        assert!(public(good.shr_vartime(1) | U3072::ONE).is_none(), "3071 bits");
        assert!(public(good.wrapping_sub(&U3072::ONE)).is_none(), "even");
        assert!(public(U3072::ZERO).is_none());
        // A multiple of 65521, the largest prime below 2^16; odd and long enough.
        let factor = NonZero::new(U3072::from_u64(65_521)).unwrap();
        let remainder = U3072::MAX.rem_vartime(&factor);
        let mut multiple = U3072::MAX.wrapping_sub(&remainder);
        if !bool::from(multiple.is_odd()) {
            multiple = multiple.wrapping_sub(factor.as_ref());
        }
        assert!(public(multiple).is_none());
    }

    #[test]
    fn residues_out_of_range_are_refused() {
        let decode = |x: U3072| KEY.public().decode_residue(&x.to_be_bytes().into());
        for refused in [U3072::ZERO, modulus(), modulus().wrapping_add(&U3072::ONE), U3072::MAX] {
            assert!(decode(refused).is_none());
        }
        let last = modulus().wrapping_sub(&U3072::ONE);
        assert!(decode(last).is_some_and(|x| x == Residue(last)));
        assert!(decode(U3072::ONE).is_some());
    }

    #[test]
    fn primes_that_are_close_are_refused() {
        let p = KEY.p.prime().to_odd().unwrap();
        let near = p.as_ref().wrapping_add(&U1536::ONE.shl_vartime(1400)).to_odd().unwrap();
        assert!(Key::from_primes(&p, &near).is_none());
        assert!(Key::from_primes(&p, &p).is_none());
        assert!(Key::from_primes(&p, &KEY.q.prime().to_odd().unwrap()).is_some());
    }
}
