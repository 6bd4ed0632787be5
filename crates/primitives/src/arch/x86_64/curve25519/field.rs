//! The field of 2^255 − 19 in eight lanes: a vector holds the same limb of eight numbers.
//!
//! Limbs have 51 bits, and between operations a little more: results are below 2^51 + 2^15, so
//! that the low 52 bits, which are all that a multiplication looks at, are the whole limb. Nothing branches on a
//! value or uses one as an address.

use std::arch::x86_64::{
    __m512i, __mmask8, _mm512_add_epi64, _mm512_and_si512, _mm512_cmpeq_epi64_mask,
    _mm512_loadu_si512, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_mask_mov_epi64,
    _mm512_mullo_epi64, _mm512_or_si512, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi64, _mm512_test_epi64_mask,
};

use super::super::super::portable::curve25519::{LANES, Limbs};

/// Bits of a limb.
const BITS: u32 = 51;

const MASK: u64 = (1 << BITS) - 1;

/// Eight numbers of the field.
#[derive(Clone, Copy)]
pub struct Field([__m512i; 5]);

/// The lanes for which something holds.
pub type Lanes = __mmask8;

macro_rules! each {
    ($i:ident => $value:expr) => {
        [
            {
                const $i: usize = 0;
                $value
            },
            {
                const $i: usize = 1;
                $value
            },
            {
                const $i: usize = 2;
                $value
            },
            {
                const $i: usize = 3;
                $value
            },
            {
                const $i: usize = 4;
                $value
            },
        ]
    };
}

impl Field {
    /// The same number in all lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn all(limbs: &Limbs) -> Self {
        Self(each!(I => _mm512_set1_epi64(limbs[I] as i64)))
    }

    /// 0.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn zero() -> Self {
        Self([_mm512_setzero_si512(); 5])
    }

    /// 1.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn one() -> Self {
        Self::all(&[1, 0, 0, 0, 0])
    }

    /// A number for each lane, limb by limb.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn load(limbs: &[[u64; LANES]; 5]) -> Self {
        // SAFETY: an array of eight words has as many bytes as are loaded, at any alignment.
        Self(each!(I => unsafe { _mm512_loadu_si512(limbs[I].as_ptr().cast()) }))
    }

    /// Its limbs as they are.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn store(self) -> [[u64; LANES]; 5] {
        let mut limbs = [[0; LANES]; 5];
        for (to, from) in limbs.iter_mut().zip(self.0) {
            // SAFETY: an array of eight words has as many bytes as are stored, at any alignment.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), from) };
        }
        limbs
    }

    /// The numbers with these bytes, without the highest bit of each.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn from_bytes(bytes: &[[u8; 32]; LANES]) -> Self {
        let mut limbs = [[0; LANES]; 5];
        for (lane, bytes) in bytes.iter().enumerate() {
            let word = |i: usize| {
                let word = bytes[8 * i..].first_chunk().expect("four words of eight bytes");
                u64::from_le_bytes(*word)
            };
            let words = [word(0), word(1), word(2), word(3)];
            limbs[0][lane] = words[0] & MASK;
            limbs[1][lane] = (words[0] >> 51 | words[1] << 13) & MASK;
            limbs[2][lane] = (words[1] >> 38 | words[2] << 26) & MASK;
            limbs[3][lane] = (words[2] >> 25 | words[3] << 39) & MASK;
            limbs[4][lane] = words[3] >> 12 & MASK;
        }
        Self::load(&limbs)
    }

    /// The canonical bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn to_bytes(self) -> [[u8; 32]; LANES] {
        let limbs = self.canonical().store();
        std::array::from_fn(|lane| {
            let [a, b, c, d, e] = std::array::from_fn(|i| limbs[i][lane]);
            let words = [a | b << 51, b >> 13 | c << 38, c >> 26 | d << 25, d >> 39 | e << 12];
            bytemuck::cast(words.map(u64::to_le_bytes))
        })
    }

    /// Reduces limbs of up to 63 bits to their length, in one pass.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn carried(z: [__m512i; 5]) -> Self {
        let mask = _mm512_set1_epi64(MASK as i64);
        let carry = each!(I => _mm512_srli_epi64::<BITS>(z[I]));
        let kept = each!(I => _mm512_and_si512(z[I], mask));
        let around = _mm512_mullo_epi64(carry[4], _mm512_set1_epi64(19));
        Self([
            _mm512_add_epi64(kept[0], around),
            _mm512_add_epi64(kept[1], carry[0]),
            _mm512_add_epi64(kept[2], carry[1]),
            _mm512_add_epi64(kept[3], carry[2]),
            _mm512_add_epi64(kept[4], carry[3]),
        ])
    }

    /// The representative below the modulus.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn canonical(self) -> Self {
        let mask = _mm512_set1_epi64(MASK as i64);
        let mut z = Self::carried(self.0).0;
        // Below twice the modulus, so q = 1 where the modulus must be subtracted, and 0 elsewhere.
        let mut q = _mm512_set1_epi64(19);
        for limb in z {
            q = _mm512_srli_epi64::<BITS>(_mm512_add_epi64(limb, q));
        }
        let mut carry = _mm512_mullo_epi64(q, _mm512_set1_epi64(19));
        for limb in &mut z {
            let sum = _mm512_add_epi64(*limb, carry);
            *limb = _mm512_and_si512(sum, mask);
            carry = _mm512_srli_epi64::<BITS>(sum);
        }
        Self(z)
    }

    /// self + other.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn add(self, other: Self) -> Self {
        Self::carried(each!(I => _mm512_add_epi64(self.0[I], other.0[I])))
    }

    /// self − other.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn sub(self, other: Self) -> Self {
        // Four times the modulus exceeds any limb of the subtrahend.
        const FOUR: Limbs = [4 * (MASK - 18), 4 * MASK, 4 * MASK, 4 * MASK, 4 * MASK];
        let four = Self::all(&FOUR).0;
        let raised = each!(I => _mm512_add_epi64(self.0[I], four[I]));
        Self::carried(each!(I => _mm512_sub_epi64(raised[I], other.0[I])))
    }

    /// −self.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn negate(self) -> Self {
        Self::zero().sub(self)
    }

    /// From the sums at ten places.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn folded(t: [__m512i; 10]) -> Self {
        let nineteen = _mm512_set1_epi64(19);
        // The sums are below 2^56, so 20 times them fit.
        Self::carried(each!(I => _mm512_add_epi64(t[I], _mm512_mullo_epi64(t[I + 5], nineteen))))
    }

    /// self · other.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn mul(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        // Place by place, so that few sums are under way at once. A high half begins at bit 52 and the next place at
        // bit 51, so high halves count twice.
        macro_rules! place {
            ($($i:literal $j:literal),*; $($k:literal $l:literal),*) => {{
                let (low, high) = (_mm512_setzero_si512(), _mm512_setzero_si512());
                $(let high = _mm512_madd52hi_epu64(high, a[$k], b[$l]);)*
                $(let low = _mm512_madd52lo_epu64(low, a[$i], b[$j]);)*
                _mm512_add_epi64(low, _mm512_add_epi64(high, high))
            }};
        }
        Self::folded([
            place!(0 0;),
            place!(0 1, 1 0; 0 0),
            place!(0 2, 1 1, 2 0; 0 1, 1 0),
            place!(0 3, 1 2, 2 1, 3 0; 0 2, 1 1, 2 0),
            place!(0 4, 1 3, 2 2, 3 1, 4 0; 0 3, 1 2, 2 1, 3 0),
            place!(1 4, 2 3, 3 2, 4 1; 0 4, 1 3, 2 2, 3 1, 4 0),
            place!(2 4, 3 3, 4 2; 1 4, 2 3, 3 2, 4 1),
            place!(3 4, 4 3; 2 4, 3 3, 4 2),
            place!(4 4; 3 4, 4 3),
            place!(; 4 4),
        ])
    }

    /// self².
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn square(self) -> Self {
        let a = self.0;
        // Products of different limbs occur twice: first the products of their low halves and of the limbs' own high
        // halves, which count twice, then their high halves, which count four times.
        macro_rules! place {
            ($($own:literal)?; $($i:literal $j:literal),*; $($high:literal)?; $($k:literal $l:literal),*) => {{
                let (twice, four) = (_mm512_setzero_si512(), _mm512_setzero_si512());
                $(let four = _mm512_madd52hi_epu64(four, a[$k], a[$l]);)*
                $(let twice = _mm512_madd52lo_epu64(twice, a[$i], a[$j]);)*
                $(let twice = _mm512_madd52hi_epu64(twice, a[$high], a[$high]);)?
                let twice = _mm512_add_epi64(twice, _mm512_add_epi64(four, four));
                let sum = _mm512_add_epi64(twice, twice);
                $(let sum = _mm512_madd52lo_epu64(sum, a[$own], a[$own]);)?
                sum
            }};
        }
        Self::folded([
            place!(0;;;),
            place!(; 0 1; 0;),
            place!(1; 0 2;; 0 1),
            place!(; 0 3, 1 2; 1; 0 2),
            place!(2; 0 4, 1 3;; 0 3, 1 2),
            place!(; 1 4, 2 3; 2; 0 4, 1 3),
            place!(3; 2 4;; 1 4, 2 3),
            place!(; 3 4; 3; 2 4),
            place!(4;;; 3 4),
            place!(;; 4;),
        ])
    }

    /// self to the power of 2^n.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn squared(self, n: usize) -> Self {
        let mut power = self;
        for _ in 0..n {
            power = power.square();
        }
        power
    }

    /// self to the powers of 2^250 − 1 and 11.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn long_powers(self) -> [Self; 2] {
        let two = self.square();
        let nine = two.squared(2).mul(self);
        let eleven = nine.mul(two);
        // From here on, the power of 2^k − 1 for each k.
        let k5 = eleven.square().mul(nine);
        let k10 = k5.squared(5).mul(k5);
        let k20 = k10.squared(10).mul(k10);
        let k40 = k20.squared(20).mul(k20);
        let k50 = k40.squared(10).mul(k10);
        let k100 = k50.squared(50).mul(k50);
        let k200 = k100.squared(100).mul(k100);
        [k200.squared(50).mul(k50), eleven]
    }

    /// 1 / self, and 0 for 0.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn invert(self) -> Self {
        let [k250, eleven] = self.long_powers();
        k250.squared(5).mul(eleven)
    }

    /// The power of (p − 5) / 8 = 2^252 − 3.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn power_p58(self) -> Self {
        let [k250, _] = self.long_powers();
        k250.squared(2).mul(self)
    }

    /// The lanes in which the canonical number is odd, or negative in the terms of RFC 9496.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn is_negative(self) -> Lanes {
        _mm512_test_epi64_mask(self.canonical().0[0], _mm512_set1_epi64(1))
    }

    /// The lanes in which it is 0.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn is_zero(self) -> Lanes {
        let [a, b, c, d, e] = self.canonical().0;
        let any = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
        _mm512_cmpeq_epi64_mask(_mm512_or_si512(any, e), _mm512_setzero_si512())
    }

    /// The lanes in which the two are equal.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn is_equal(self, other: Self) -> Lanes {
        self.sub(other).is_zero()
    }

    /// `other` in these lanes, self in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn or(self, other: Self, lanes: Lanes) -> Self {
        Self(each!(I => _mm512_mask_mov_epi64(self.0[I], lanes, other.0[I])))
    }

    /// −self in these lanes, self in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn negate_if(self, lanes: Lanes) -> Self {
        self.or(self.negate(), lanes)
    }

    /// The one of self and −self that is not negative.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub fn abs(self) -> Self {
        self.negate_if(self.is_negative())
    }
}
