//! The tower of fields by backend; see [`portable::tower`].

use std::ops::BitXorAssign;

use bytemuck::Pod;

use super::{
    Backend,
    portable::{
        self,
        tower::{Map, Patterns, multiply_by_pattern},
        transform::{self, Direction},
    },
};

#[cfg(target_arch = "x86_64")]
use super::{Kind, x86_64};

/// A word that holds an element.
pub(crate) trait Element: Pod + BitXorAssign {
    /// As a number.
    fn wide(self) -> u128;

    /// From a number that is not too large.
    fn narrow(number: u128) -> Self;
}

impl Element for u64 {
    fn wide(self) -> u128 {
        self.into()
    }

    fn narrow(number: u128) -> Self {
        number as Self
    }
}

impl Element for u128 {
    fn wide(self) -> u128 {
        self
    }

    fn narrow(number: u128) -> Self {
        number
    }
}

impl Backend {
    /// Whether products in the tower take less time than in the fields of [`crate::gf`].
    pub(crate) fn has_tower(self) -> bool {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => true,
            _ => false,
        }
    }

    /// Like [`Backend::additive64`], for elements of the tower with `BYTES` bytes, a multiple of eight.
    pub(crate) fn additive_tower<const BYTES: usize, T: Element>(
        self,
        twiddles: &Patterns,
        values: &mut [T],
        log: usize,
        coset: bool,
        direction: Direction,
    ) {
        #[cfg(target_arch = "x86_64")]
        if self.0 == Kind::Avx512 {
            let bytes = bytemuck::cast_slice_mut(values);
            // SAFETY: a backend of this kind exists only where AVX-512 F and BW and GFNI were found.
            unsafe {
                x86_64::tower::additive::<BYTES>(twiddles, bytes, log, coset, direction);
            }
            return;
        }
        let multiply = |x: T, pattern| T::narrow(multiply_by_pattern(x.wide(), pattern));
        transform::additive_by(multiply, twiddles, values, log, coset, direction);
    }

    /// Moves each node of 2^`log` values from a domain to its coset, or back.
    pub(crate) fn exchange_coset_tower<const BYTES: usize, T: Element>(
        self,
        twiddles: &Patterns,
        values: &mut [T],
        log: usize,
        to_coset: bool,
    ) {
        #[cfg(target_arch = "x86_64")]
        if self.0 == Kind::Avx512 {
            let bytes = bytemuck::cast_slice_mut(values);
            // SAFETY: a backend of this kind exists only where AVX-512 F and BW and GFNI were found.
            unsafe { x86_64::tower::exchange_coset::<BYTES>(twiddles, bytes, log, to_coset) };
            return;
        }
        self.additive_tower::<BYTES, T>(twiddles, values, log, !to_coset, Direction::Backward);
        self.additive_tower::<BYTES, T>(twiddles, values, log, to_coset, Direction::Forward);
    }

    /// Multiplies each of `values` by its factor in the tower's GF(2^64), up to the end of the shorter slice.
    pub(crate) fn multiply_each_tower64(self, values: &mut [u64], factors: &[u64]) {
        match self.0 {
            // SAFETY: a backend of this kind exists only where AVX-512 F and BW and GFNI were found.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { x86_64::tower::multiply_each64(values, factors) },
            _ => {
                for (value, factor) in values.iter_mut().zip(factors) {
                    *value = portable::tower::multiply((*value).into(), (*factor).into(), 3) as u64;
                }
            }
        }
    }

    /// Multiplies each of `values` by its factor in the tower's GF(2^128), up to the end of the shorter slice.
    pub(crate) fn multiply_each_tower128(self, values: &mut [u128], factors: &[u128]) {
        match self.0 {
            // SAFETY: a backend of this kind exists only where AVX-512 F and BW and GFNI were found.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { x86_64::tower::multiply_each128(values, factors) },
            _ => {
                for (value, factor) in values.iter_mut().zip(factors) {
                    *value = portable::tower::multiply(*value, *factor, 4);
                }
            }
        }
    }

    /// Replaces each value by its image.
    pub(crate) fn map64(self, map: &Map<8>, values: &mut [u64]) {
        match self.0 {
            // SAFETY: a backend of this kind exists only where AVX-512 F and BW and GFNI were found.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { x86_64::tower::map64(map, values) },
            _ => values.iter_mut().for_each(|x| *x = map.apply((*x).into()) as u64),
        }
    }

    /// Like [`Backend::map64`], for 128 bits.
    pub(crate) fn map128(self, map: &Map<16>, values: &mut [u128]) {
        match self.0 {
            // SAFETY: a backend of this kind exists only where AVX-512 F and BW and GFNI were found.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { x86_64::tower::map128(map, values) },
            _ => values.iter_mut().for_each(|x| *x = map.apply(*x)),
        }
    }
}
