//! Expand–convolute codes (Raghuraman, Rindal, Tanguy, CRYPTO 2023, eprint 2023/882) with an
//! interleaver, transposed.
//!
//! The code has generator (I ‖ B·A_2·π·A_1): systematic, of rate 1/2. B expands: each of its k rows has
//! a few ones at random places. The A convolve: lower triangular with ones on the diagonal, uniformly
//! random bits on the 24 diagonals below and ones on the one after; what falls out at the end comes
//! in again at the start. Multiplying the *transposed* way compresses 2k entries to k, as a silent
//! VOLE needs: from (e_1, e_2) to e_1 + B·A_2·π·A_1·e_2.
//!
//! **The interleaver π** is ours, for a convolution is local: what comes out of a window of A·e depends
//! on e within the window and on 25 entries of state alone. Two binary convolutions in the same order
//! leave windows that depend on the outside by 50 entries; about f^7·k rows of an expander of weight 7
//! have all their places in windows that make up a part f, and once the few state entries are
//! eliminated, those rows compress f·k entries of noise without the rest. At k = 10^6 and a noise of 768
//! blocks that is enough to find noise positions in a second. (A convolution that multiplies by constants
//! of a large field does not have this defect.) With π in between, every entry of a window hangs on a far
//! one of its own. π exchanges entries of small runs, not of halves, for with halves, too, a part of the
//! code would not depend on a part of the noise. Permuting between convolutions is what turbo-like codes
//! do that are known to have a linear distance (Bazzi, Mahdian, Spielman 2009).
//!
//! What is assumed of the code, its minimum distance, stands in `vesica_params::lpn`. As in the
//! paper's implementation, about half of the ones of a row of B are drawn from a region each and the
//! others from everywhere. Unlike there, each row of A has bits of its own.

use crate::{Block, Line, Seed, aes::Prg, arch::prefetch, binary::BinaryVector};

/// Random diagonals of A.
pub const MEMORY: usize = 24;

/// Entries whose sums are tabulated together.
const GROUP: usize = 4;

/// Groups that reach into the memory of an entry.
const GROUPS: usize = MEMORY / GROUP;

/// Entries next to each other that the interleaver treats alike.
const RUN: usize = 16;

/// Rows of B or A whose randomness is drawn at a time.
const BATCH: usize = 256;

/// Rows of B, or exchanges of the interleaver, by which what is looked up is asked for ahead, where entries
/// are lines. Of shorter entries a processor sees enough of those to come by itself.
const AHEAD: usize = 8;

/// Whether entries are asked for ahead.
const fn is_ahead<V>() -> bool {
    size_of::<V>() >= size_of::<Line>()
}

/// A code of dimension `k`, the same for everybody who knows its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpandConvolute {
    dimension: usize,
    weight: usize,
}

impl ExpandConvolute {
    /// The code of dimension `dimension`, a multiple of 32 and at least 64, whose expander has
    /// `weight` ones in a row, 7 or 21.
    pub fn new(dimension: usize, weight: usize) -> Self {
        let fits = dimension >= 64 && dimension.is_multiple_of(2 * RUN);
        assert!(fits, "k is a multiple of 32, from 64 on");
        assert!(u32::try_from(dimension).is_ok(), "places have 32 bits");
        assert!(matches!(weight, 7 | 21), "rows of 7 or 21 ones");
        Self { dimension, weight }
    }

    /// k: what is left after compressing 2k entries.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Compresses the 2k entries of `noise` to k, of which it leaves the first `len` in front, and nothing
    /// of use behind.
    pub fn compress<V: BinaryVector>(&self, noise: &mut [V], len: usize) {
        assert_eq!(noise.len(), 2 * self.dimension, "twice the dimension");
        let (head, tail) = noise.split_at_mut(self.dimension);
        convolve(tail, &mut self.prg(0));
        interleave(tail, &mut self.prg(3));
        convolve(tail, &mut self.prg(1));
        self.expand(tail, &mut head[..len]);
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
        let place = |j: usize, number: u32| {
            let (start, range) = if j < regions { (j * region, region) } else { (0, x.len()) };
            start + ((u64::from(number) * range as u64) >> 32) as usize
        };
        let mut numbers = vec![Block::ZERO; BATCH * WEIGHT / 4];
        for out in out.chunks_mut(BATCH) {
            prg.fill(&mut numbers);
            let numbers: &[[u32; WEIGHT]] = bytemuck::cast_slice(&numbers);
            for (i, (out, row)) in out.iter_mut().zip(numbers).enumerate() {
                if let (true, Some(ahead)) = (is_ahead::<V>(), numbers.get(i + AHEAD)) {
                    for (j, number) in ahead.iter().enumerate() {
                        prefetch(&x[place(j, *number)]);
                    }
                }
                let mut sum = *out;
                for (j, number) in row.iter().enumerate() {
                    sum ^= x[place(j, *number)];
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

/// Exchanges each entry of the even runs of [`RUN`] entries with one of the odd runs, in an order that
/// looks random: π. Being its own inverse, it needs no other memory.
///
/// Runs are shorter than the memory of a convolution, so that no window of more entries than it has
/// state lies in runs of one kind. If π exchanged halves instead, what comes out in the first half would
/// depend on the second half of the noise alone.
fn interleave<V: BinaryVector>(x: &mut [V], prg: &mut Prg) {
    let pairs = x.len() / 2;
    let mut key = [Block::ZERO];
    prg.fill(&mut key);
    // Numbers below the next power of two come in the order of a permutation of them all; those in
    // range are the places. They are collected without a branch, which would be mispredicted.
    let bits = pairs.next_power_of_two().trailing_zeros();
    let mut first = 0;
    let mut places = [0; BATCH];
    for start in (0..1u64 << bits).step_by(BATCH) {
        let mut count = 0;
        for number in start..(start + BATCH as u64).min(1 << bits) {
            let place = permute(number, bits, key[0]) as usize;
            places[count] = place;
            count += usize::from(place < pairs);
        }
        let places = &places[..count];
        for (i, place) in places.iter().enumerate() {
            if let (true, Some(ahead)) = (is_ahead::<V>(), places.get(i + AHEAD)) {
                prefetch(&x[even(*ahead) + RUN]);
            }
            x.swap(even(first), even(*place) + RUN);
            first += 1;
        }
    }
}

/// Where the entry stands that has this number among those in even runs.
#[inline(always)]
fn even(number: usize) -> usize {
    number + (number & !(RUN - 1))
}

/// A permutation of the numbers of `bits` bits (at least 2): multiplications and shifts, of which each
/// is one. After four rounds it cannot be told from a random one by how it spreads windows.
#[inline(always)]
fn permute(number: u64, bits: u32, key: Block) -> u64 {
    let mask = (1 << bits) - 1;
    let mix = |x: u64, factor: u64| {
        let x = x.wrapping_mul(factor | 1) & mask;
        x ^ x >> bits.div_ceil(2)
    };
    let factors =
        [key.low() & 0xffff_ffff, key.low() >> 32, key.high() & 0xffff_ffff, key.high() >> 32];
    factors.into_iter().fold(number, mix)
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
    ///
    /// What entries of a group add to each other must not be a branch, which would be mispredicted: short
    /// entries are masked in registers, long ones come from the group's own table as far as it is filled.
    #[inline(always)]
    fn convolve(&mut self, entries: &mut [V; GROUP], bits: &[u32; GROUP]) {
        if size_of::<V>() > size_of::<Block>() {
            for i in 0..GROUP {
                let own = self.tables[self.group % 8][(bits[i] >> MEMORY) as usize % (1 << i)];
                entries[i] ^= self.remembered(i, bits[i]) ^ own;
                self.tabulate(i, entries[i]);
            }
        } else {
            for i in 0..GROUP {
                let mut sum = entries[i] ^ self.remembered(i, bits[i]);
                for (j, before) in entries[..i].iter().enumerate() {
                    let bit = (bits[i] >> (MEMORY + j)) as u8 & 1;
                    sum ^= before.masked(bit.wrapping_neg());
                }
                entries[i] = sum;
            }
            entries.iter().enumerate().for_each(|(i, entry)| self.tabulate(i, *entry));
        }
        self.group += 1;
    }

    /// Adds what a group beyond the end would get to `entries`, and goes on with zeros.
    fn spill(&mut self, entries: &mut [V; GROUP], bits: &[u32; GROUP]) {
        for i in 0..GROUP {
            entries[i] ^= self.remembered(i, bits[i]);
        }
        self.tables[self.group % 8] = [V::default(); 1 << GROUP];
        self.group += 1;
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

    /// Adds entry `i` to the table of its group.
    #[inline(always)]
    fn tabulate(&mut self, i: usize, entry: V) {
        let table = &mut self.tables[self.group % 8];
        for subset in 0..1 << i {
            table[1 << i | subset] = table[subset] ^ entry;
        }
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
        for (k, weight) in [(64, 7), (992, 7), (992, 21)] {
            let code = ExpandConvolute::new(k, weight);
            let compress = |noise: &[u64]| {
                let mut noise = noise.to_vec();
                code.compress(&mut noise, k);
                noise.truncate(k);
                noise
            };
            let a: Vec<u64> = (0..2 * k).map(|_| u64::random(&mut rng)).collect();
            let b: Vec<u64> = (0..2 * k).map(|_| u64::random(&mut rng)).collect();
            let sum: Vec<u64> = a.iter().zip(&b).map(|(a, b)| a ^ b).collect();
            let (a, b, both) = (compress(&a), compress(&b), compress(&sum));
            assert!((0..k).all(|i| a[i] ^ b[i] == both[i]));

            let mut wide: Vec<Block> = sum.iter().map(|x| Block(u128::from(*x) << 40)).collect();
            code.compress(&mut wide, k);
            assert!((0..k).all(|i| wide[i] == Block(u128::from(both[i]) << 40)));

            let line = |x: &u64| -> Line {
                bytemuck::cast::<[u64; 8], _>(std::array::from_fn(|i| x.rotate_left(7 * i as u32)))
            };
            let mut lines: Vec<Line> = sum.iter().map(line).collect();
            code.compress(&mut lines, k);
            assert!(both.iter().map(line).eq(lines[..k].iter().copied()));
        }
    }

    /// Every place comes once, whatever the length.
    #[test]
    fn interleaving_exchanges_runs_of_two_kinds() {
        for n in [64, 96, 992, 2048, 100_000] {
            let mut x: Vec<u64> = (0..n).collect();
            let key = || Prg::new(&Seed::new(Block(5)));
            interleave(&mut x, &mut key());
            let odd = |entry: u64| entry / RUN as u64 % 2 == 1;
            assert!(x.iter().zip(0..).all(|(entry, place)| odd(*entry) != odd(place)));
            let neighbours = x.array_windows().filter(|[a, b]| a.abs_diff(*b) < 4).count();
            assert!(neighbours < 20 + n as usize / 20, "{neighbours} of {n} stay together");
            interleave(&mut x, &mut key());
            assert!(x.into_iter().eq(0..n), "π is its own inverse");
        }
    }

    /// Rank over GF(2).
    fn rank(mut rows: Vec<Block>) -> usize {
        let mut rank = 0;
        for bit in 0..128 {
            let Some(i) = rows[rank..].iter().position(|row| row.0 >> bit & 1 == 1) else {
                continue;
            };
            rows.swap(rank, rank + i);
            let pivot = rows[rank];
            for row in &mut rows[rank + 1..] {
                if row.0 >> bit & 1 == 1 {
                    *row ^= pivot;
                }
            }
            rank += 1;
        }
        rank
    }

    /// Noise outside of some windows has full rank in the entries inside, once it went through `mix`.
    fn rank_inside(mix: impl Fn(&mut [Block]), inside: impl Fn(usize) -> bool, k: usize) -> usize {
        let mut rng = StdRng::seed_from_u64(3);
        let mut x: Vec<Block> =
            (0..k).map(|i| if inside(i) { Block::ZERO } else { Block::random(&mut rng) }).collect();
        mix(&mut x);
        rank((0..k).filter(|i| inside(*i)).map(|i| x[i]).collect())
    }

    /// Two windows and two convolutions without the interleaver: four times the state. And with one that
    /// exchanges halves, a half of what comes out hardly depends on the same half of the noise.
    #[test]
    fn windows_depend_on_everything_outside() {
        let k = 10_016;
        let code = ExpandConvolute::new(k, 7);
        let windows = |i: usize| (2000..3000).contains(&i) || (7000..8000).contains(&i);
        let halves: [fn(usize) -> bool; 2] = [|i| i < 5008, |i| i >= 5008];
        let mixed = |x: &mut [Block]| {
            convolve(x, &mut code.prg(0));
            interleave(x, &mut code.prg(3));
            convolve(x, &mut code.prg(1));
        };
        assert_eq!(rank_inside(mixed, windows, k), 128);
        for half in halves {
            assert_eq!(rank_inside(mixed, half, k), 128);
            // And on the same half of the noise, with the other one zero.
            let mut rng = StdRng::seed_from_u64(4);
            let mut x: Vec<Block> = (0..k)
                .map(|i| if half(i) { Block::random(&mut rng) } else { Block::ZERO })
                .collect();
            mixed(&mut x);
            assert_eq!(rank((0..k).filter(|i| half(*i)).map(|i| x[i]).collect()), 128);
        }
        let local = |x: &mut [Block]| {
            convolve(x, &mut code.prg(0));
            convolve(x, &mut code.prg(1));
        };
        assert_eq!(rank_inside(local, windows, k), 4 * (MEMORY + 1), "the defect that π removes");
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
            code.compress(&mut noise, k);
            let ones = noise[..k].iter().filter(|x| **x == 1).count();
            if at < k {
                assert_eq!(ones, 1);
            } else {
                assert!(ones > 20, "entry {at} reaches {ones}");
            }
        }
    }
}
