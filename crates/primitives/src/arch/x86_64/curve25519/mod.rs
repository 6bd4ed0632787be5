//! ristretto255 (RFC 9496) in eight lanes with AVX-512 IFMA: points of the curve, eight at a time.
//!
//! Formulas for points are by Hisil, Wong, Carter and Dawson (ASIACRYPT 2008), for the twisted Edwards curve with a =
//! −1. Products by secret scalars read every entry of a table for every digit.

mod field;

use std::arch::x86_64::{
    _mm512_cmpeq_epi64_mask, _mm512_cmplt_epi64_mask, _mm512_loadu_si512, _mm512_mask_sub_epi64,
    _mm512_set1_epi64, _mm512_setzero_si512,
};

use super::super::portable::curve25519::{DIGITS, Digits, ENTRIES, LANES, Limbs, Points, Table};
use field::Field;

const D: Limbs =
    [0x34dca135978a3, 0x1a8283b156ebd, 0x5e7a26001c029, 0x739c663a03cbb, 0x52036cee2b6ff];
/// 2 · d.
const D2: Limbs =
    [0x69b9426b2f159, 0x35050762add7a, 0x3cf44c0038052, 0x6738cc7407977, 0x2406d9dc56dff];
const SQRT_M1: Limbs =
    [0x61b274a0ea0b0, 0x0d5a5fc8f189d, 0x7ef5e9cbd0c60, 0x78595a6804c9e, 0x2b8324804fc1d];
/// The square root of a·d − 1.
const SQRT_AD_MINUS_ONE: Limbs =
    [0x7f6a0497b2e1b, 0x1836f0a97afd2, 0x7d747f6be7638, 0x456079e7e6498, 0x376931bf2b834];
/// 1 over the square root of a − d.
const INVSQRT_A_MINUS_D: Limbs =
    [0x0fdaa805d40ea, 0x2eb482e57d339, 0x07610274bc58, 0x6510b613dc8ff, 0x786c8905cfaff];
/// 1 − d².
const ONE_MINUS_D_SQ: Limbs =
    [0x409c1945fc176, 0x719abc6a1fc4f, 0x1c37f90b20684, 0x06bccca55eedf, 0x029072a8b2b3e];
/// (d − 1)².
const D_MINUS_ONE_SQ: Limbs =
    [0x55aaa44ed4d20, 0x59603c3332635, 0x26d3baf4a7928, 0x120a66e6997a9, 0x5968b37af66c2];

/// Eight points in registers.
#[derive(Clone, Copy)]
struct Point {
    x: Field,
    y: Field,
    z: Field,
    t: Field,
}

/// A sum before its last four products, in "completed" coordinates.
#[derive(Clone, Copy)]
struct Completed {
    x: Field,
    y: Field,
    z: Field,
    t: Field,
}

/// A point as something to be added: y + x, y − x, 2z and 2d·t.
#[derive(Clone, Copy)]
struct Summand {
    plus: Field,
    minus: Field,
    z2: Field,
    t2d: Field,
}

/// In each lane, the multiple that belongs to its digit. Every entry is read. A macro, because a function of
/// the standard library that takes a closure is not compiled for these instruction sets.
macro_rules! chosen {
    ($digits:expr, $entry:ident => $multiple:expr) => {{
        // SAFETY: an array of eight words has as many bytes as are loaded, at any alignment.
        let digits = unsafe { _mm512_loadu_si512($digits.as_ptr().cast()) };
        let is_negative = _mm512_cmplt_epi64_mask(digits, _mm512_setzero_si512());
        let size = _mm512_mask_sub_epi64(digits, is_negative, _mm512_setzero_si512(), digits);
        let mut chosen = Summand::nothing();
        for $entry in 0..ENTRIES {
            let is_it = _mm512_cmpeq_epi64_mask(size, _mm512_set1_epi64($entry as i64 + 1));
            chosen = chosen.or($multiple, is_it);
        }
        chosen.negate_if(is_negative)
    }};
}

/// The points to which RFC 9496 maps these bytes.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub unsafe fn from_uniform(bytes: &[[u8; 64]; LANES]) -> Points {
    let half = |start: usize| -> [[u8; 32]; LANES] {
        std::array::from_fn(|lane| *bytes[lane][start..].first_chunk().expect("two halves"))
    };
    let first = map(Field::from_bytes(&half(0)));
    let second = map(Field::from_bytes(&half(32)));
    first.plus(second.summand()).point().stored()
}

/// The points with these encodings, and for which lanes there is one. Others are the identity or no encoding.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub unsafe fn decode(bytes: &[[u8; 32]; LANES]) -> (Points, u8) {
    let s = Field::from_bytes(bytes);
    let mut is_canonical = 0;
    for (lane, (given, canonical)) in bytes.iter().zip(s.to_bytes()).enumerate() {
        is_canonical |= u8::from(*given == canonical) << lane;
    }
    let one = Field::one();
    let ss = s.square();
    let u1 = one.sub(ss);
    let u2 = one.add(ss);
    let u2_squared = u2.square();
    let v = Field::all(&D).mul(u1.square()).negate().sub(u2_squared);
    let (is_square, inverse) = sqrt_ratio(one, v.mul(u2_squared));
    let den_x = inverse.mul(u2);
    let den_y = inverse.mul(den_x).mul(v);
    let x = s.add(s).mul(den_x).abs();
    let y = u1.mul(den_y);
    let t = x.mul(y);
    let is_point = is_canonical & !s.is_negative() & is_square & !t.is_negative() & !y.is_zero();
    // s = 0 encodes the identity.
    (Point { x, y, z: one, t }.stored(), is_point & !s.is_zero())
}

/// The encodings of the points.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub unsafe fn encode(points: &Points) -> [[u8; 32]; LANES] {
    let Point { x, y, z, t } = Point::load(points);
    let u1 = z.add(y).mul(z.sub(y));
    let u2 = x.mul(y);
    let (_, inverse) = sqrt_ratio(Field::one(), u1.mul(u2.square()));
    let den1 = inverse.mul(u1);
    let den2 = inverse.mul(u2);
    let z_inverse = den1.mul(den2).mul(t);
    let i = Field::all(&SQRT_M1);
    let enchanted = den1.mul(Field::all(&INVSQRT_A_MINUS_D));
    let rotate = t.mul(z_inverse).is_negative();
    let [rotated_x, rotated_y] = [x.or(y.mul(i), rotate), y.or(x.mul(i), rotate)];
    let den = den2.or(enchanted, rotate);
    let y = rotated_y.negate_if(rotated_x.mul(z_inverse).is_negative());
    den.mul(z.sub(y)).abs().to_bytes()
}

/// Twice each point.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub unsafe fn double_all(points: &Points) -> Points {
    Point::load(points).doubled().point().stored()
}

/// The sums of the points of each lane.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub unsafe fn add(left: &Points, right: &Points) -> Points {
    Point::load(left).plus(Point::load(right).summand()).point().stored()
}

/// The differences of the points of each lane.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub unsafe fn sub(left: &Points, right: &Points) -> Points {
    Point::load(left).plus(Point::load(right).summand().negate_if(!0)).point().stored()
}

/// The points of `other` in these lanes and of `points` in the others.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub unsafe fn select(points: &Points, other: &Points, lanes: u8) -> Points {
    let (a, b) = (Point::load(points), Point::load(other));
    a.or(b, lanes).stored()
}

/// The products of each lane's point and scalar.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub unsafe fn mul(points: &Points, digits: &Digits) -> Points {
    let point = Point::load(points);
    let once = point.summand();
    let mut multiples = [once; ENTRIES];
    for entry in 1..ENTRIES {
        multiples[entry] = point.plus(multiples[entry - 1]).point().summand();
    }
    let mut sum = Point::identity().plus(chosen!(&digits[DIGITS - 1], entry => multiples[entry]));
    for digits in digits[..DIGITS - 1].iter().rev() {
        for _ in 0..4 {
            sum = sum.doubled();
        }
        sum = sum.point().plus(chosen!(digits, entry => multiples[entry]));
    }
    sum.point().stored()
}

/// The products of each lane's scalar and the point of the table.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub unsafe fn mul_table(table: &Table, digits: &Digits) -> Points {
    let z2 = Field::one().add(Field::one());
    let mut sum = Point::identity();
    for (entries, digits) in table.0.iter().zip(digits) {
        let summand = chosen!(digits, entry => {
            let [plus, minus, t2d] = &entries[entry];
            Summand { plus: Field::all(plus), minus: Field::all(minus), z2, t2d: Field::all(t2d) }
        });
        sum = sum.plus(summand).point();
    }
    sum.stored()
}

/// Multiples of the point in the first lane.
///
/// # Safety
/// The processor must have AVX-512 F, DQ and IFMA.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub unsafe fn table(points: &Points) -> Table {
    let all = points.0.map(|limbs| limbs.map(|limb| [limb[0]; LANES]));
    let mut base = Point::load(&Points(all));
    // On the heap from the beginning.
    let zeros = vec![[[[0; 5]; 3]; ENTRIES]; DIGITS].into_boxed_slice();
    let mut table: Box<[_; DIGITS]> = zeros.try_into().expect("as many as there are digits");
    for entries in table.iter_mut() {
        // Lane k holds k + 1 times the base.
        let mut each = base;
        let mut next = base;
        for entry in 1..ENTRIES {
            next = next.plus(base.summand()).point();
            each = each.or(next, !0 << entry);
        }
        let inverse = each.z.invert();
        let [x, y] = [each.x.mul(inverse), each.y.mul(inverse)];
        let t2d = x.mul(y).mul(Field::all(&D2));
        let numbers = [y.add(x).store(), y.sub(x).store(), t2d.store()];
        for (lane, entry) in entries.iter_mut().enumerate() {
            *entry = numbers.map(|number| number.map(|limb| limb[lane]));
        }
        for _ in 0..4 {
            base = base.doubled().point();
        }
    }
    Table(table)
}

impl Point {
    /// The neutral element in all lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn identity() -> Self {
        let (zero, one) = (Field::zero(), Field::one());
        Self { x: zero, y: one, z: one, t: zero }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn load(points: &Points) -> Self {
        let [x, y, z, t] = &points.0;
        Self { x: Field::load(x), y: Field::load(y), z: Field::load(z), t: Field::load(t) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn stored(self) -> Points {
        Points([self.x.store(), self.y.store(), self.z.store(), self.t.store()])
    }

    /// `other` in these lanes, self in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn or(self, other: Self, lanes: u8) -> Self {
        Self {
            x: self.x.or(other.x, lanes),
            y: self.y.or(other.y, lanes),
            z: self.z.or(other.z, lanes),
            t: self.t.or(other.t, lanes),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn summand(self) -> Summand {
        Summand {
            plus: self.y.add(self.x),
            minus: self.y.sub(self.x),
            z2: self.z.add(self.z),
            t2d: self.t.mul(Field::all(&D2)),
        }
    }

    /// self + other.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn plus(self, other: Summand) -> Completed {
        let a = self.y.add(self.x).mul(other.plus);
        let b = self.y.sub(self.x).mul(other.minus);
        let c = self.t.mul(other.t2d);
        let d = self.z.mul(other.z2);
        Completed { x: a.sub(b), y: a.add(b), z: d.add(c), t: d.sub(c) }
    }

    /// Twice the point.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn doubled(self) -> Completed {
        double(self.x, self.y, self.z)
    }
}

impl Completed {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn point(self) -> Point {
        Point {
            x: self.x.mul(self.t),
            y: self.y.mul(self.z),
            z: self.z.mul(self.t),
            t: self.x.mul(self.y),
        }
    }

    /// Twice the point.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn doubled(self) -> Self {
        let (x, y, z) = (self.x.mul(self.t), self.y.mul(self.z), self.z.mul(self.t));
        double(x, y, z)
    }
}

impl Summand {
    /// The neutral element.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn nothing() -> Self {
        let one = Field::one();
        Self { plus: one, minus: one, z2: one.add(one), t2d: Field::zero() }
    }

    /// `other` in these lanes, self in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn or(self, other: Self, lanes: u8) -> Self {
        Self {
            plus: self.plus.or(other.plus, lanes),
            minus: self.minus.or(other.minus, lanes),
            z2: self.z2.or(other.z2, lanes),
            t2d: self.t2d.or(other.t2d, lanes),
        }
    }

    /// The negative in these lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn negate_if(self, lanes: u8) -> Self {
        Self {
            plus: self.plus.or(self.minus, lanes),
            minus: self.minus.or(self.plus, lanes),
            z2: self.z2,
            t2d: self.t2d.negate_if(lanes),
        }
    }
}

/// Twice the point x/z, y/z.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn double(x: Field, y: Field, z: Field) -> Completed {
    let (xx, yy, zz) = (x.square(), y.square(), z.square());
    let both = x.add(y).square();
    let (sum, difference) = (yy.add(xx), yy.sub(xx));
    let zz2 = zz.add(zz);
    Completed { x: both.sub(sum), y: sum, z: difference, t: zz2.sub(difference) }
}

/// SQRT_RATIO_M1 of RFC 9496: where u/v is a square, and the root that is not negative of it, or else of i·u/v.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn sqrt_ratio(u: Field, v: Field) -> (u8, Field) {
    let i = Field::all(&SQRT_M1);
    let v3 = v.square().mul(v);
    let v7 = v3.square().mul(v);
    let root = u.mul(v3).mul(u.mul(v7).power_p58());
    let check = v.mul(root.square());
    let minus_u = u.negate();
    let is_right = check.is_equal(u);
    let is_flipped = check.is_equal(minus_u);
    let is_flipped_i = check.is_equal(minus_u.mul(i));
    let root = root.or(root.mul(i), is_flipped | is_flipped_i);
    (is_right | is_flipped, root.abs())
}

/// MAP of RFC 9496.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn map(t: Field) -> Point {
    let one = Field::one();
    let d = Field::all(&D);
    let r = Field::all(&SQRT_M1).mul(t.square());
    let u = r.add(one).mul(Field::all(&ONE_MINUS_D_SQ));
    let v = one.negate().sub(r.mul(d)).mul(r.add(d));
    let (is_square, root) = sqrt_ratio(u, v);
    let other = root.mul(t).abs().negate();
    let s = other.or(root, is_square);
    let c = r.or(one.negate(), is_square);
    let n = c.mul(r.sub(one)).mul(Field::all(&D_MINUS_ONE_SQ)).sub(v);
    let ss = s.square();
    let w0 = s.add(s).mul(v);
    let w1 = n.mul(Field::all(&SQRT_AD_MINUS_ONE));
    let w2 = one.sub(ss);
    let w3 = one.add(ss);
    Completed { x: w0, y: w2, z: w1, t: w3 }.point()
}
