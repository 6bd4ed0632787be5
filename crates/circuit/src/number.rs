//! Numbers that are secret-shared: integers modulo a power of two.

use bytemuck::Pod;
use vesica_primitives::{Block, arch::opaque};
use zeroize::Zeroize;

/// An integer modulo 2^[`BITS`](Number::BITS), read as a signed one.
pub trait Number: Pod + Zeroize + Send + Sync + Eq {
    /// Bits of a number.
    const BITS: usize;

    /// Bytes of a number.
    const LEN: usize = Self::BITS / 8;

    /// 0.
    const ZERO: Self;

    /// A bit as 0 or 1. A product with it takes no branch.
    fn of_bit(bit: bool) -> Self;

    /// A signed integer, in two's complement.
    fn of_value(value: i64) -> Self;

    /// The low bits of a pseudo-random block, or of anything else.
    fn of_block(block: Block) -> Self;

    /// The signed integer that it represents.
    fn signed(self) -> i128;

    /// All its bits; higher bits are 0.
    fn bits(self) -> u128;

    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The difference.
    fn minus(self, other: Self) -> Self;

    /// The product.
    fn times(self, other: Self) -> Self;
}

macro_rules! number {
    ($unsigned:ty, $signed:ty) => {
        impl Number for $unsigned {
            const BITS: usize = <$unsigned>::BITS as usize;
            const ZERO: Self = 0;

            fn of_bit(bit: bool) -> Self {
                Self::from(opaque(bit.into()))
            }

            fn of_value(value: i64) -> Self {
                <$signed>::from(value) as Self
            }

            fn of_block(block: Block) -> Self {
                block.0 as Self
            }

            fn signed(self) -> i128 {
                i128::from(self as $signed)
            }

            fn bits(self) -> u128 {
                u128::from(self)
            }

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
    };
}

number!(u64, i64);
number!(u128, i128);

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums and products of signed integers agree with sums and products of their representations.
    fn stands_for_integers<N: Number>() {
        let values = [0, 1, -1, 3, -7, 1 << 30, -(1 << 30)];
        for x in values {
            assert_eq!(N::of_value(x).signed(), i128::from(x));
            for y in values {
                let [a, b] = [x, y].map(N::of_value);
                let [x, y] = [x, y].map(i128::from);
                assert_eq!(a.plus(b).signed(), x + y);
                assert_eq!(a.minus(b).signed(), x - y);
                assert_eq!(a.times(b).signed(), x * y);
            }
        }
        let ones = N::of_block(Block(u128::MAX));
        assert_eq!((ones.signed(), ones.plus(N::of_bit(true)).bits()), (-1, 0));
        assert_eq!(ones.bits().count_ones() as usize, N::BITS);
        assert_eq!(bytemuck::bytes_of(&ones).len(), N::LEN);
    }

    #[test]
    fn numbers_stand_for_integers() {
        stands_for_integers::<u64>();
        stands_for_integers::<u128>();
        let [least, most] = [i64::MIN, i64::MAX].map(u128::of_value);
        assert_eq!(least.times(least).signed(), 1 << 126);
        assert_eq!(least.times(most).signed(), i128::from(i64::MIN) * i128::from(i64::MAX));
    }
}
