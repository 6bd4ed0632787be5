//! Expand–convolute codes (Raghuraman, Rindal, Tanguy, CRYPTO 2023, eprint 2023/882), transposed.
//!
//! The code has generator (I ‖ B·A²): systematic, of rate 1/2. B expands: each of its k rows has a
//! few ones at random places. A convolves: lower triangular with ones on the diagonal, uniformly
//! random bits on the 24 diagonals below and ones on the one after; what falls out at the end comes
//! in again at the start. Multiplying the *transposed* way compresses 2k entries to k, as a silent
//! VOLE needs: from (e_1, e_2) to e_1 + B·A·A·e_2.
//!
//! What is assumed of the code, its minimum distance, stands in `vesica_params::lpn`. As in the
//! paper's implementation, about half of the ones of a row of B are drawn from a region each and the
//! others from everywhere, and A is applied twice with independent bits. Unlike there, each row of A
//! has bits of its own.

use crate::{Block, Seed, aes::Prg, binary::BinaryVector};

/// Random diagonals of A.
pub const MEMORY: usize = 24;

/// Entries whose sums are tabulated together.
const GROUP: usize = 4;

/// Groups that reach into the memory of an entry.
const GROUPS: usize = MEMORY / GROUP;

/// Rows of B or A whose randomness is drawn at a time.
const BATCH: usize = 256;

/// A code of dimension `k`, the same for everybody who knows its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpandConvolute {
    dimension: usize,
    weight: usize,
}

impl ExpandConvolute {
    /// The code of dimension `dimension`, a multiple of 8 and at least 64, whose expander has
    /// `weight` ones in a row, 7 or 21.
    pub fn new(dimension: usize, weight: usize) -> Self {
        assert!(dimension >= 64 && dimension.is_multiple_of(8), "k is a multiple of 8, from 64 on");
        assert!(u32::try_from(dimension).is_ok(), "places have 32 bits");
        assert!(matches!(weight, 7 | 21), "rows of 7 or 21 ones");
        Self { dimension, weight }
    }

    /// k: what is left after compressing 2k entries.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Compresses the 2k entries of `noise` to k; leaves them in the first half, and nothing of use
    /// in the second.
    pub fn compress<V: BinaryVector>(&self, noise: &mut [V]) {
        assert_eq!(noise.len(), 2 * self.dimension, "twice the dimension");
        let (head, tail) = noise.split_at_mut(self.dimension);
        convolve(tail, &mut self.prg(0));
        convolve(tail, &mut self.prg(1));
        self.expand(tail, head);
    }

    /// Public randomness: the code is a constant.
    fn prg(&self, purpose: u128) -> Prg {
        let domain = u128::from_le_bytes(*b"vesica ec v1\0\0\0\0");
        Prg::new(&Seed::new(Block(domain ^ purpose << 112 ^ (self.weight as u128) << 120)))
    }

    /// Adds B·x to `out`. The deviation of a place from uniform is below its range divided by 2^32.
    fn expand<V: BinaryVector>(&self, x: &[V], out: &mut [V]) {
        match self.weight {
            7 => self.expand_by::<7, V>(x, out),
            21 => self.expand_by::<21, V>(x, out),
            weight => unreachable!("weights are 7 or 21, not {weight}"),
        }
    }

    /// Adds B·x to `out` for rows of `WEIGHT` ones. All entries of a row are read before any is
    /// added, for they come from all over the memory and the processor can fetch many at once.
    fn expand_by<const WEIGHT: usize, V: BinaryVector>(&self, x: &[V], out: &mut [V]) {
        let mut prg = self.prg(2);
        let regions = WEIGHT - WEIGHT / 2;
        let region = x.len() / regions;
        let mut numbers = vec![Block::ZERO; BATCH * WEIGHT / 4];
        for out in out.chunks_mut(BATCH) {
            prg.fill(&mut numbers);
            let numbers: &[[u32; WEIGHT]] = bytemuck::cast_slice(&numbers);
            for (out, numbers) in out.iter_mut().zip(numbers) {
                let mut sum = *out;
                for (j, number) in numbers.iter().enumerate() {
                    let (start, range) =
                        if j < regions { (j * region, region) } else { (0, x.len()) };
                    sum ^= x[start + ((u64::from(*number) * range as u64) >> 32) as usize];
                }
                *out = sum;
            }
        }
    }
}

/// Replaces x by A·x.
///
/// Entry i gets the sum of itself, of those of the 24 before it whose bit is set, and of the 25th
/// before it. Sums over four neighbours come from tables, which are cheaper to fill than 24 masked
/// additions an entry are to do.
fn convolve<V: BinaryVector>(x: &mut [V], prg: &mut Prg) {
    let mut window = Window::default();
    let mut bits = [Block::ZERO; BATCH / 4];
    for batch in x.chunks_mut(BATCH) {
        prg.fill(&mut bits);
        let bits: &[u32] = bytemuck::cast_slice(&bits);
        for (entries, bits) in batch.as_chunks_mut::<GROUP>().0.iter_mut().zip(bits.as_chunks().0) {
            window.convolve(entries, bits);
        }
    }
    // What falls out at the end: the sums go on for as long as the memory reaches, over entries
    // that are zero, and are added at the start.
    prg.fill(&mut bits);
    let bits: &[u32] = bytemuck::cast_slice(&bits);
    for (start, bits) in
        x.as_chunks_mut::<GROUP>().0.iter_mut().zip(bits.as_chunks().0).take(GROUPS + 1)
    {
        window.spill(start, bits);
    }
}

/// Sums over the groups of entries that the next ones may need, the last eight of them.
struct Window<V> {
    tables: [[V; 1 << GROUP]; 8],
    /// The number of the group to come.
    group: usize,
}

impl<V: BinaryVector> Default for Window<V> {
    fn default() -> Self {
        Self { tables: [[V::default(); 1 << GROUP]; 8], group: 0 }
    }
}

impl<V: BinaryVector> Window<V> {
    /// Convolves the next group, each entry with the bits of one number.
    #[inline(always)]
    fn convolve(&mut self, entries: &mut [V; GROUP], bits: &[u32; GROUP]) {
        for i in 0..GROUP {
            let mut sum = entries[i] ^ self.remembered(i, bits[i]);
            for (j, before) in entries[..i].iter().enumerate() {
                if bits[i] >> (MEMORY + j) & 1 == 1 {
                    sum ^= *before;
                }
            }
            entries[i] = sum;
        }
        self.push(*entries);
    }

    /// Adds what a group beyond the end would get to `entries`, and goes on with zeros.
    fn spill(&mut self, entries: &mut [V; GROUP], bits: &[u32; GROUP]) {
        for i in 0..GROUP {
            entries[i] ^= self.remembered(i, bits[i]);
        }
        self.push([V::default(); GROUP]);
    }

    /// The share of earlier groups in entry `i` of the group to come.
    #[inline(always)]
    fn remembered(&self, i: usize, bits: u32) -> V {
        let table = |back: usize| &self.tables[self.group.wrapping_sub(back) % self.tables.len()];
        let nibble = |back: usize| (bits >> (GROUP * (back - 1))) as usize % (1 << GROUP);
        let mut sum = V::default();
        for back in 1..GROUPS {
            sum ^= table(back)[nibble(back)];
        }
        // Of the furthest group, the entries before the i-th are too far back, but for the last of
        // those: it is the one that is always added. For i = 0 that is in the group before.
        let near = nibble(GROUPS) >> i << i;
        match i {
            0 => sum ^ table(GROUPS)[near] ^ table(GROUPS + 1)[1 << (GROUP - 1)],
            _ => sum ^ table(GROUPS)[near | 1 << (i - 1)],
        }
    }

    #[inline(always)]
    fn push(&mut self, entries: [V; GROUP]) {
        let table = &mut self.tables[self.group % 8];
        for (i, entry) in entries.into_iter().enumerate() {
            for subset in 0..1 << i {
                table[1 << i | subset] = table[subset] ^ entry;
            }
        }
        self.group += 1;
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    /// A·x entry by entry, drawing bits as `convolve` does.
    fn convolve_by_definition(x: &mut [u64], prg: &mut Prg) {
        let n = x.len();
        let mut bits = vec![Block::ZERO; n.next_multiple_of(BATCH) / 4 + BATCH / 4];
        // Each batch is drawn whole, even the last one.
        prg.fill(&mut bits);
        let bits: &[u32] = bytemuck::cast_slice(&bits);
        let after = &bits[n.next_multiple_of(BATCH)..];
        // The bit of the entry `distance` before `i`.
        let tap = |i: usize, bits: u32, distance: usize| {
            let (i, other) = (i + 4 * GROUPS, i + 4 * GROUPS - distance);
            let (group, back) = (i / GROUP, i / GROUP - other / GROUP);
            let at = match back {
                0 => MEMORY + other % GROUP,
                _ => GROUP * (back - 1) + other % GROUP,
            };
            assert!(group >= back);
            bits >> at & 1 == 1
        };
        for i in 0..n + MEMORY + 1 {
            let number = if i < n { bits[i] } else { after[i - n] };
            let mut sum = 0;
            for distance in 1..=MEMORY + 1 {
                let taken = distance > MEMORY || tap(i, number, distance);
                if taken && distance <= i && i - distance < n {
                    sum ^= x[i - distance];
                }
            }
            x[i % n] ^= sum;
        }
    }

    #[test]
    fn convolution_equals_its_definition() {
        let mut rng = StdRng::seed_from_u64(1);
        for n in [64, 72, 256, 1000, 2048] {
            let before: Vec<u64> = (0..n).map(|_| u64::random(&mut rng)).collect();
            let (mut fast, mut slow) = (before.clone(), before);
            convolve(&mut fast, &mut Prg::new(&Seed::new(Block(3))));
            convolve_by_definition(&mut slow, &mut Prg::new(&Seed::new(Block(3))));
            assert_eq!(fast, slow, "{n}");
        }
    }

    #[test]
    fn compression_is_linear_and_the_same_for_every_kind_of_entry() {
        let mut rng = StdRng::seed_from_u64(2);
        for (k, weight) in [(64, 7), (1000, 7), (1000, 21)] {
            let code = ExpandConvolute::new(k, weight);
            let compress = |noise: &[u64]| {
                let mut noise = noise.to_vec();
                code.compress(&mut noise);
                noise.truncate(k);
                noise
            };
            let a: Vec<u64> = (0..2 * k).map(|_| u64::random(&mut rng)).collect();
            let b: Vec<u64> = (0..2 * k).map(|_| u64::random(&mut rng)).collect();
            let sum: Vec<u64> = a.iter().zip(&b).map(|(a, b)| a ^ b).collect();
            let (a, b, both) = (compress(&a), compress(&b), compress(&sum));
            assert!((0..k).all(|i| a[i] ^ b[i] == both[i]));

            let mut wide: Vec<Block> = sum.iter().map(|x| Block(u128::from(*x) << 40)).collect();
            code.compress(&mut wide);
            assert!((0..k).all(|i| wide[i] == Block(u128::from(both[i]) << 40)));
        }
    }

    /// Every unit vector of the second half touches about half of what lies within reach: no entry
    /// of the noise is lost or stays alone.
    #[test]
    fn single_entries_spread() {
        let k = 512;
        let code = ExpandConvolute::new(k, 7);
        for at in (0..2 * k).step_by(37) {
            let mut noise = vec![0u64; 2 * k];
            noise[at] = 1;
            code.compress(&mut noise);
            let ones = noise[..k].iter().filter(|x| **x == 1).count();
            if at < k {
                assert_eq!(ones, 1);
            } else {
                assert!(ones > 20, "entry {at} reaches {ones}");
            }
        }
    }
}
