//! The kernels of block–accumulate codes, by backend. AArch64 has no others than the portable
//! loops: NEON is in all its processors, so compilers can vectorise these as they are.

use super::{Backend, portable::accumulate};
use crate::Words;

#[cfg(target_arch = "x86_64")]
use super::x86_64;

impl Backend {
    /// Replaces a matrix of entries, `width` per row, by its running sums column by column.
    pub(crate) fn accumulate_columns<const W: usize>(self, entries: &mut [Words<W>], width: usize) {
        kernel!(
            self,
            _ => accumulate::accumulate_columns(entries, width),
            "x86_64" Avx2 | Vaes | Avx512 => x86_64::accumulate::accumulate_columns(entries, width),
        )
    }

    /// Permutes entries by `places` and replaces them by their running sums.
    pub(crate) fn accumulate_permuted<const W: usize>(
        self,
        from: &[Words<W>],
        places: &[u32],
        to: &mut [Words<W>],
    ) {
        kernel!(
            self,
            _ => accumulate::accumulate_permuted(from, places, to),
            "x86_64" Avx2 | Vaes | Avx512 => x86_64::accumulate::accumulate_permuted(from, places, to),
        )
    }

    /// Permutes entries by `places` and compresses each group of 24 to 12 by the Golay code.
    pub(crate) fn golay<const W: usize>(
        self,
        from: &[Words<W>],
        places: &[u32],
        out: &mut [Words<W>],
    ) {
        kernel!(
            self,
            _ => accumulate::golay(from, places, out),
            "x86_64" Avx2 | Vaes => x86_64::accumulate::golay(from, places, out),
            "x86_64" Avx512 => x86_64::accumulate::golay_long(from, places, out),
        )
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;
    use crate::BinaryVector;

    /// Every backend against the portable one, for entries of `W` words.
    fn backends_agree<const W: usize>() {
        let rng = &mut StdRng::seed_from_u64(W as u64);
        for groups in [1, 2, 5, 31] {
            let n = 24 * groups;
            let entries: Vec<Words<W>> = (0..n).map(|_| BinaryVector::random(rng)).collect();
            let places: Vec<u32> = (0..n).map(|_| rng.random_range(0..n as u32)).collect();
            for width in [1, 3, n / 8, n / 2, n] {
                let mut expected = entries.clone();
                accumulate::accumulate_columns(&mut expected, width);
                for backend in Backend::available() {
                    let mut sums = entries.clone();
                    backend.accumulate_columns(&mut sums, width);
                    assert!(sums == expected, "{backend:?}, {n} entries in rows of {width}");
                }
            }
            for len in [0, 1, n / 2 - 5, n / 2] {
                let (mut sums, mut out) = (entries.clone(), entries[..len].to_vec());
                accumulate::accumulate_permuted(&entries, &places, &mut sums);
                accumulate::golay(&sums, &places, &mut out);
                for backend in Backend::available() {
                    let (mut own_sums, mut own_out) = (entries.clone(), entries[..len].to_vec());
                    backend.accumulate_permuted(&entries, &places, &mut own_sums);
                    backend.golay(&own_sums, &places, &mut own_out);
                    assert!(own_sums == sums && own_out == out, "{backend:?}, {len} of {n}");
                }
            }
        }
    }

    #[test]
    fn backends_agree_whatever_the_entries() {
        backends_agree::<1>();
        backends_agree::<2>();
        backends_agree::<8>();
    }
}
