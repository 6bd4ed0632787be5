//! The memory layout of points of ristretto255, handled eight at a time, and of the digits of their scalars.

/// Points of a vector.
pub const LANES: usize = 8;

/// Digits of a scalar to the base 16, each from −8 to 8.
pub const DIGITS: usize = 64;

/// Multiples of a point that a table has for each digit.
pub const ENTRIES: usize = 8;

/// The limbs of a number modulo 2^255 − 19, to the base 2^51, the least first.
pub type Limbs = [u64; 5];

/// Digits of eight scalars: digits of the same place are side by side.
pub type Digits = [[i64; LANES]; DIGITS];

/// Eight points of the curve: x, y, z and t = x·y/z, each limb by limb.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Points(pub [[[u64; LANES]; 5]; 4]);

impl zeroize::Zeroize for Points {
    fn zeroize(&mut self) {
        self.0.as_flattened_mut().as_flattened_mut().zeroize();
    }
}

/// Multiples of one point: for each digit, the first eight times a power of 16. Each is y + x, y − x and 2d·x·y.
pub struct Table(pub Box<[[[Limbs; 3]; ENTRIES]; DIGITS]>);

/// The digits of eight scalars below 2^255, in constant time.
pub fn digits(scalars: &[[u8; 32]; LANES]) -> Digits {
    let mut digits = [[0; LANES]; DIGITS];
    for (lane, scalar) in scalars.iter().enumerate() {
        let mut carry = 0;
        for (place, digits) in digits.iter_mut().enumerate() {
            let digit = i64::from(scalar[place / 2] >> (4 * (place % 2)) & 15) + carry;
            // The last one keeps its value: up to 8.
            carry = if place + 1 < DIGITS { (digit + 8) >> 4 } else { 0 };
            digits[lane] = digit - (carry << 4);
        }
    }
    digits
}
