//! Additively homomorphic encryption: Paillier (EUROCRYPT 1999), with 1 + N as the generator.
//!
//! N = p·q is the modulus of an [`rsa`] key, of 3072 bits. An integer m modulo N becomes (1 + m·N)·r^N modulo
//! N² with a random r; a product of such ciphertexts decrypts to the sum of their plaintexts, modulo N.
//! Multiplied by a fresh encryption of 0, a ciphertext reveals nothing but its plaintext, even to the owner of
//! the key.
//!
//! The key's owner encrypts and decrypts modulo p² and q² (Chinese remainder theorem). Everything that depends on the
//! key or on a plaintext takes constant time. A peer's public key is only checked as by [`rsa::PublicKey::decode`]: a
//! party that generates N differently may learn more about the computations of others under it.

use crypto_bigint::{
    Odd, U64, U1536, U3072, U6144,
    modular::{FixedMontyForm, FixedMontyParams},
};
use rand::CryptoRng;
use subtle::{Choice, ConditionallySelectable, ConstantTimeGreater};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::{declassify_choice, rsa};

/// Bytes of N and of a plaintext on the wire, big-endian.
pub const PLAIN: usize = rsa::ENCODED;

/// Bytes of a ciphertext on the wire, big-endian.
pub const ENCODED: usize = 2 * PLAIN;

type Params<const LIMBS: usize> = FixedMontyParams<LIMBS>;
type PrimeForm = FixedMontyForm<{ U1536::LIMBS }>;
type SquareForm = FixedMontyForm<{ U3072::LIMBS }>;
type Form = FixedMontyForm<{ U6144::LIMBS }>;

/// An integer modulo N. Zeroized when dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Plaintext(U3072);

impl Plaintext {
    /// Big-endian.
    pub fn encode(&self) -> [u8; PLAIN] {
        self.0.to_be_bytes().into()
    }
}

/// An integer modulo N², other than 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ciphertext(U6144);

impl Ciphertext {
    /// The public encryption of 0; adding it changes nothing.
    pub const ZERO: Self = Self(U6144::ONE);

    /// Big-endian.
    pub fn encode(&self) -> [u8; ENCODED] {
        self.0.to_be_bytes().into()
    }
}

/// N.
#[derive(Clone)]
pub struct PublicKey {
    rsa: rsa::PublicKey,
    /// N².
    square: Params<{ U6144::LIMBS }>,
}

impl PublicKey {
    fn new(rsa: rsa::PublicKey) -> Self {
        let square: U6144 = rsa.modulus().concatenating_mul(rsa.modulus().as_ref());
        let square = square.to_odd().expect("the square of an odd integer is odd");
        Self { rsa, square: Params::new_vartime(square) }
    }

    /// Big-endian.
    pub fn encode(&self) -> [u8; PLAIN] {
        self.rsa.encode()
    }

    /// Same as [`rsa::PublicKey::decode`].
    pub fn decode(bytes: &[u8; PLAIN]) -> Option<Self> {
        rsa::PublicKey::decode(bytes).map(Self::new)
    }

    /// The ciphertext with these bytes, unless they are 0, or N² or more.
    pub fn decode_ciphertext(&self, bytes: &[u8; ENCODED]) -> Option<Ciphertext> {
        let integer = U6144::from_be_slice(bytes);
        let valid = integer != U6144::ZERO && integer < *self.square.modulus().as_ref();
        valid.then_some(Ciphertext(integer))
    }

    /// The plaintext with these bytes, unless they are N or more.
    pub fn decode_plain(&self, bytes: &[u8; PLAIN]) -> Option<Plaintext> {
        let integer = U3072::from_be_slice(bytes);
        (integer < *self.modulus()).then_some(Plaintext(integer))
    }

    fn modulus(&self) -> &U3072 {
        self.rsa.modulus().as_ref()
    }

    fn form(&self, integer: &U6144) -> Form {
        Form::new(integer, &self.square)
    }

    /// A signed integer modulo N; in constant time.
    pub fn plain(&self, integer: i64) -> Plaintext {
        let sign = integer >> 63;
        let magnitude = U3072::from_u64((integer ^ sign).wrapping_sub(sign) as u64);
        let negative = self.modulus().wrapping_sub(&magnitude);
        Plaintext(U3072::conditional_select(&magnitude, &negative, Choice::from(sign as u8 & 1)))
    }

    /// The signed 64-bit integer that this plaintext represents modulo N, if there is one; only whether there is may
    /// show in the time.
    pub fn integer(&self, plain: &Plaintext) -> Option<i64> {
        let opposite = Zeroizing::new(self.modulus().wrapping_sub(&plain.0));
        let is_negative = plain.0.ct_gt(&opposite);
        let magnitude = Zeroizing::new(U3072::conditional_select(&plain.0, &opposite, is_negative));
        let sign = u64::from(is_negative.unwrap_u8());
        // There is one magnitude more among negative integers.
        let most = U3072::from_u64(i64::MAX as u64 + sign);
        let is_short = !magnitude.ct_gt(&most);
        let low = u64::from(magnitude.resize::<{ U64::LIMBS }>());
        let integer = (low ^ sign.wrapping_neg()).wrapping_add(sign) as i64;
        declassify_choice(is_short).then_some(integer)
    }

    /// A uniformly random plaintext.
    pub fn random(&self, rng: &mut dyn CryptoRng) -> Plaintext {
        Plaintext(self.rsa.random(rng).0)
    }

    /// x − y modulo N.
    pub fn subtract(&self, x: &Plaintext, y: &Plaintext) -> Plaintext {
        Plaintext(x.0.sub_mod(&y.0, self.rsa.modulus().as_nz_ref()))
    }

    /// Encrypts; takes some hundredths of a second, longer than for the key's owner.
    pub fn encrypt(&self, plain: &Plaintext, rng: &mut dyn CryptoRng) -> Ciphertext {
        let random = Zeroizing::new(self.random(rng).0.resize());
        let noise = Zeroizing::new(self.form(&random).pow(self.modulus()));
        self.seal(plain, &noise)
    }

    /// (1 + m·N)·noise.
    fn seal(&self, plain: &Plaintext, noise: &Form) -> Ciphertext {
        let product: Zeroizing<U6144> = Zeroizing::new(plain.0.concatenating_mul(self.modulus()));
        let message = Zeroizing::new(product.wrapping_add(&U6144::ONE));
        Ciphertext((self.form(&message) * *noise).retrieve())
    }

    /// A ciphertext of the sum.
    pub fn add(&self, x: &Ciphertext, y: &Ciphertext) -> Ciphertext {
        Ciphertext((self.form(&x.0) * self.form(&y.0)).retrieve())
    }
}

/// The owner's precomputed values for one of the two primes, p; the other one is q.
struct Factor {
    prime: Params<{ U1536::LIMBS }>,
    square: Params<{ U3072::LIMBS }>,
    /// p − 1.
    exponent: U1536,
    /// 1 / p modulo 2^1536.
    inverse: U1536,
    /// −1 / q modulo p.
    scale: U1536,
}

impl Factor {
    fn new(p: &Odd<U1536>, q: &Odd<U1536>) -> Option<Self> {
        let square: U3072 = p.as_ref().concatenating_mul(p.as_ref());
        let inverse_of_other = q.as_ref().invert_odd_mod(p).into_option()?;
        Some(Self {
            prime: Params::new(*p),
            square: Params::new(square.to_odd().into_option()?),
            exponent: p.as_ref().wrapping_sub(&U1536::ONE),
            inverse: p.as_ref().invert_mod2k(U1536::BITS).into_option()?,
            scale: p.as_ref().wrapping_sub(&inverse_of_other),
        })
    }

    fn form(&self, integer: &U3072) -> SquareForm {
        SquareForm::new(integer, &self.square)
    }

    /// r^N modulo p² for a random r. That is a^p for an a that is uniform modulo p, since raising to q is a
    /// permutation there; and a^p depends only on a modulo p.
    fn noise(&self, random: &U3072) -> Zeroizing<SquareForm> {
        Zeroizing::new(self.form(random).pow(self.prime.modulus().as_ref()))
    }

    /// The plaintext of a ciphertext, modulo p: c^(p − 1) is 1 + (p − 1)·m·N, so 1 − m·p·q, modulo p².
    fn open(&self, ciphertext: &U6144) -> Zeroizing<PrimeForm> {
        let (low, high) = ciphertext.split();
        // The least integer that does not fit in half of a ciphertext.
        let shift = self.form(&U3072::MAX) + SquareForm::one(&self.square);
        let reduced = Zeroizing::new(self.form(&high) * shift + self.form(&low));
        let power = Zeroizing::new(reduced.pow(&self.exponent).retrieve());
        let multiple: Zeroizing<U1536> = Zeroizing::new(power.wrapping_sub(&U3072::ONE).resize());
        // A multiple of p, whose quotient is below p: exact modulo 2^1536.
        let quotient = Zeroizing::new(multiple.wrapping_mul(&self.inverse));
        let form = |integer| PrimeForm::new(integer, &self.prime);
        Zeroizing::new(form(&quotient) * form(&self.scale))
    }
}

impl Drop for Factor {
    fn drop(&mut self) {
        self.prime.zeroize();
        self.square.zeroize();
        self.exponent.zeroize();
        self.inverse.zeroize();
        self.scale.zeroize();
    }
}

/// The randomness that the owner of a key uses for one encryption: twice as long as the primes, so that it is
/// uniform modulo each up to 2^-1536. Zeroized when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Randomness([U3072; 2]);

impl Randomness {
    /// New randomness.
    pub fn draw(rng: &mut dyn CryptoRng) -> Self {
        let mut bytes = Zeroizing::new([0; PLAIN]);
        Self([(); 2].map(|()| {
            rng.fill_bytes(&mut *bytes);
            U3072::from_be_slice(&*bytes)
        }))
    }
}

/// A secret key. Zeroized when dropped.
pub struct Key {
    public: PublicKey,
    p: Factor,
    q: Factor,
    /// 1 / q modulo p.
    inverse: Zeroizing<U1536>,
    /// 1 / q² modulo p².
    inverse_of_square: Zeroizing<U3072>,
}

impl Key {
    /// A new key, with the primes of a new RSA key; takes some tenths of a second.
    pub fn generate(rng: &mut dyn CryptoRng) -> Self {
        Self::from_rsa(&rsa::Key::generate(rng))
            .expect("two primes have inverses modulo each other")
    }

    fn from_rsa(rsa: &rsa::Key) -> Option<Self> {
        let [p, q] = rsa.primes();
        let inverse = Zeroizing::new(q.as_ref().invert_odd_mod(p).into_option()?);
        let [of_p, of_q] = [Factor::new(p, q)?, Factor::new(q, p)?];
        let [p_square, q_square] = [of_p.square.modulus(), of_q.square.modulus()];
        let inverse_of_square = q_square.as_ref().invert_odd_mod(p_square).into_option()?;
        let inverse_of_square = Zeroizing::new(inverse_of_square);
        let public = PublicKey::new(rsa.public().clone());
        Some(Self { public, p: of_p, q: of_q, inverse, inverse_of_square })
    }

    /// The public part.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Encrypts, several times faster than [`PublicKey::encrypt`].
    pub fn encrypt(&self, plain: &Plaintext, random: &Randomness) -> Ciphertext {
        let [of_p, of_q] = [self.p.noise(&random.0[0]), self.q.noise(&random.0[1])];
        let of_q = Zeroizing::new(of_q.retrieve());
        let inverse = self.p.form(&self.inverse_of_square);
        let quotient = Zeroizing::new(((*of_p - self.p.form(&of_q)) * inverse).retrieve());
        let square = self.q.square.modulus().as_ref();
        let product: Zeroizing<U6144> = Zeroizing::new(square.concatenating_mul(&*quotient));
        let noise = Zeroizing::new(product.wrapping_add(&of_q.resize()));
        self.public.seal(plain, &Zeroizing::new(self.public.form(&noise)))
    }

    /// The plaintext of a ciphertext; in constant time.
    pub fn decrypt(&self, ciphertext: &Ciphertext) -> Plaintext {
        let [of_p, of_q] = [&self.p, &self.q].map(|factor| factor.open(&ciphertext.0));
        let of_q = Zeroizing::new(of_q.retrieve());
        let form = |integer| PrimeForm::new(integer, &self.p.prime);
        let quotient = Zeroizing::new(((*of_p - form(&of_q)) * form(&self.inverse)).retrieve());
        let prime = self.q.prime.modulus().as_ref();
        let product: Zeroizing<U3072> = Zeroizing::new(prime.concatenating_mul(&*quotient));
        Plaintext(product.wrapping_add(&of_q.resize()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    static KEY: LazyLock<Key> = LazyLock::new(|| Key::generate(&mut StdRng::seed_from_u64(1)));

    fn square() -> U6144 {
        *KEY.public().square.modulus().as_ref()
    }

    #[test]
    fn decryption_inverts_encryption() {
        let mut rng = StdRng::seed_from_u64(2);
        let public = KEY.public();
        for integer in [0, 1, -1, 77, i64::MAX, i64::MIN, i64::MIN + 1] {
            let plain = public.plain(integer);
            assert_eq!(public.integer(&plain), Some(integer));
            for ciphertext in
                [KEY.encrypt(&plain, &Randomness::draw(&mut rng)), public.encrypt(&plain, &mut rng)]
            {
                assert_eq!(public.integer(&KEY.decrypt(&ciphertext)), Some(integer));
            }
        }
        let last = Plaintext(public.modulus().wrapping_sub(&U3072::ONE));
        for plain in [public.random(&mut rng), last] {
            assert!(KEY.decrypt(&KEY.encrypt(&plain, &Randomness::draw(&mut rng))) == plain);
            assert!(KEY.decrypt(&public.encrypt(&plain, &mut rng)) == plain);
        }
    }

    #[test]
    fn integers_beyond_64_bits_are_none() {
        let public = KEY.public();
        let beyond = U3072::from_u64(1 << 63);
        assert_eq!(public.integer(&Plaintext(beyond)), None);
        assert_eq!(
            public.integer(&Plaintext(public.modulus().wrapping_sub(&beyond))),
            Some(i64::MIN)
        );
        let further = beyond.wrapping_add(&U3072::ONE);
        assert_eq!(public.integer(&Plaintext(public.modulus().wrapping_sub(&further))), None);
        assert_eq!(public.integer(&public.random(&mut StdRng::seed_from_u64(3))), None);
    }

    #[test]
    fn products_of_ciphertexts_are_sums() {
        let mut rng = StdRng::seed_from_u64(4);
        let public = KEY.public();
        let numbers = [5, -9, i64::MAX, i64::MIN, 1 << 40];
        let sum = numbers.iter().fold(Ciphertext::ZERO, |sum, number| {
            public.add(&sum, &KEY.encrypt(&public.plain(*number), &Randomness::draw(&mut rng)))
        });
        assert_eq!(public.integer(&KEY.decrypt(&sum)), Some(numbers.iter().sum()));
        let mask = public.random(&mut rng);
        let masked = KEY.decrypt(&public.add(&sum, &public.encrypt(&mask, &mut rng)));
        assert_eq!(public.integer(&masked), None);
        let sum = public.subtract(&masked, &mask);
        assert_eq!(public.integer(&sum), Some(numbers.iter().sum()));
    }

    /// By the definition over the integers, without halves: c^φ modulo N² is 1 + φ·m·N, for φ = (p − 1)·(q −
    /// 1).
    #[test]
    fn decryption_is_that_of_the_definition() {
        let mut rng = StdRng::seed_from_u64(5);
        let public = KEY.public();
        let order: U3072 = KEY.p.exponent.concatenating_mul(&KEY.q.exponent);
        let plain = public.plain(1_234_567);
        for ciphertext in
            [KEY.encrypt(&plain, &Randomness::draw(&mut rng)), public.encrypt(&plain, &mut rng)]
        {
            let power = public.form(&ciphertext.0).pow(&order).retrieve();
            let scaled: U6144 = order.concatenating_mul(&plain.0);
            let square = square().to_nz().unwrap();
            let expected = scaled.mul_mod(&public.modulus().resize(), &square);
            assert!(power == expected.add_mod(&U6144::ONE, &square));
        }
    }

    /// Encrypting twice gives different ciphertexts, and so does adding fresh noise.
    #[test]
    fn noise_is_fresh() {
        let mut rng = StdRng::seed_from_u64(6);
        let public = KEY.public();
        let plain = public.plain(3);
        let once = KEY.encrypt(&plain, &Randomness::draw(&mut rng));
        let fresh = public.add(&once, &public.encrypt(&public.plain(0), &mut rng));
        let others = [
            KEY.encrypt(&plain, &Randomness::draw(&mut rng)),
            public.encrypt(&plain, &mut rng),
            fresh,
        ];
        for other in others {
            assert!(other != once && KEY.decrypt(&other) == plain);
        }
        assert!(public.add(&once, &Ciphertext::ZERO) == once);
    }

    #[test]
    fn out_of_range_values_are_refused() {
        let public = KEY.public();
        let decode = |x: U6144| public.decode_ciphertext(&x.to_be_bytes().into());
        for refused in [U6144::ZERO, square(), U6144::MAX] {
            assert!(decode(refused).is_none());
        }
        let last = square().wrapping_sub(&U6144::ONE);
        assert!(decode(last).is_some_and(|x| x.encode()[..] == last.to_be_bytes()[..]));
        let decode = |x: U3072| public.decode_plain(&x.to_be_bytes().into());
        assert!(decode(*public.modulus()).is_none() && decode(U3072::MAX).is_none());
        assert!(decode(U3072::ONE).is_some_and(|x| x == public.plain(1)));
        let again = PublicKey::decode(&public.encode()).unwrap();
        assert!(
            again.encode() == public.encode() && again.square.modulus() == public.square.modulus()
        );
        assert!(PublicKey::decode(&[0; PLAIN]).is_none());
    }
}
