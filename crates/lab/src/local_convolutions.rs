//! The window attack on expand–convolute codes whose two convolutions directly follow each other.
//!
//! No protocol uses such a code. `docs/notes/local-convolutions.md` describes the findings, and this module is
//! the proof: it generates noise of 768 blocks, compresses it and recovers the places of the noise.
//!
//! The code compresses (e_1, e_2) to e_1 + B·A_2·A_1·e_2. Each row of B has seven ones: four in one region each, and
//! three anywhere. The A convolve: each entry gets the sum of some of the 25 entries before it. The output of a window
//! of A_2·A_1 therefore depends on e_2 in the window and on 50 entries of state. Few rows of B read only from four
//! windows, but they are enough:
//!
//! 1. In the compressed values at those rows, each place of e_2 in the windows has a fixed pattern, and so has
//!    each of the 200 entries of state. Walking backwards through both convolutions gives all patterns.
//! 2. Values have 128 bits, and each bit of all rows is a sum of patterns: of the state's patterns, and of the patterns
//!    of places with noise in the windows. If there are at most 128 places with noise, the bits span all their
//!    patterns.
//! 3. A place whose pattern lies in the span of the bits and the state's patterns has noise.

use std::ops::Range;

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use vesica_primitives::Block;

/// Entries of state of one convolution. The last entry is always added.
const STATE: usize = 25;

/// Ones in a row of the expander, and the number of ones with their own region.
const WEIGHT: usize = 7;
const REGIONS: usize = 4;

/// The maximal number of rows that are used.
const ROWS: usize = 512;

/// Approximate number of rows needed: one for each entry of state, one for each of up to 128 places with noise, and a
/// few more, so that no other place fits by chance.
const WANTED_ROWS: usize = 2 * REGIONS * STATE + 128 + 60;

/// One bit for each row that is used.
type ConvolutionPattern = [u64; ROWS / 64];

/// An expand–convolute code of dimension k.
pub struct Code {
    /// The places of the ones in each row of B.
    expander: Vec<[u32; WEIGHT]>,
    /// For each entry, a mask of the 24 entries before it that selects the added ones, for both convolutions.
    taps: [Vec<u32>; 2],
    /// The permutation between the convolutions, if there is one.
    interleaver: Option<Vec<u32>>,
}

/// Noise and the compressed vector.
pub struct Sample {
    /// The places of the noise in e_2.
    pub places: Vec<usize>,
    /// The compressed vector.
    pub compressed: Vec<Block>,
}

impl Code {
    /// A random code of dimension `k`, with a random permutation between the convolutions or without one.
    pub fn random(k: usize, is_interleaved: bool, rng: &mut StdRng) -> Self {
        let region = k / REGIONS;
        let mut place = |j: usize| match j < REGIONS {
            true => (j * region + rng.random_range(0..region)) as u32,
            false => rng.random_range(0..k as u32),
        };
        let expander = (0..k).map(|_| std::array::from_fn(&mut place)).collect();
        let taps = [(); 2].map(|()| (0..k).map(|_| rng.random()).collect());
        let interleaver = is_interleaved.then(|| {
            let mut places: Vec<u32> = (0..k as u32).collect();
            places.shuffle(rng);
            places
        });
        Self { expander, taps, interleaver }
    }

    fn dimension(&self) -> usize {
        self.expander.len()
    }

    /// Noise of `blocks` blocks with values of 128 bits, compressed.
    pub fn sample(&self, blocks: usize, rng: &mut StdRng) -> Sample {
        let k = self.dimension();
        let block = 2 * k / blocks;
        let places: Vec<usize> =
            (0..blocks).map(|b| b * block + rng.random_range(0..block)).collect();
        let mut noise = vec![Block::ZERO; 2 * k];
        let mut of_second_half = Vec::new();
        for place in places {
            noise[place] = Block(rng.random());
            of_second_half.extend(place.checked_sub(k));
        }
        Sample { places: of_second_half, compressed: self.compress(noise) }
    }

    fn compress(&self, mut noise: Vec<Block>) -> Vec<Block> {
        let mut x = noise.split_off(self.dimension());
        convolve(&mut x, &self.taps[0]);
        if let Some(places) = &self.interleaver {
            x = places.iter().map(|place| x[*place as usize]).collect();
        }
        convolve(&mut x, &self.taps[1]);
        let rows = noise.iter_mut().zip(&self.expander);
        rows.for_each(|(out, row)| row.iter().for_each(|place| *out ^= x[*place as usize]));
        noise
    }
}

/// Replaces entry i by the sum of itself, the 24 entries before it whose bit is set, and the 25th before it.
fn convolve(x: &mut [Block], taps: &[u32]) {
    for i in 0..x.len() {
        let mut sum = x[i];
        for distance in 1..=STATE.min(i) {
            sum ^= x[i - distance] & Block::mask(u8::from(is_tap(taps[i], distance)));
        }
        x[i] = sum;
    }
}

fn is_tap(taps: u32, distance: usize) -> bool {
    distance == STATE || taps >> (distance - 1) & 1 == 1
}

/// Windows, one in each region, that together are a part of all places.
struct Windows {
    region: usize,
    len: usize,
}

impl Windows {
    /// Chooses their size such that about `rows` rows of B read only from them.
    fn new(k: usize, rows: usize) -> Self {
        let part = (rows as f64 / k as f64).powf(1.0 / WEIGHT as f64);
        Self { region: k / REGIONS, len: (part * (k / REGIONS) as f64) as usize }
    }

    fn contain(&self, row: &[u32; WEIGHT]) -> bool {
        row.iter().all(|place| self.offset(*place as usize).is_some_and(|offset| offset < self.len))
    }

    /// Returns the places of a window that the attack decides. Places at its end are in few rows, and places at its
    /// beginning cannot be distinguished from the state.
    fn decided(&self) -> Range<usize> {
        self.len / 10..self.len * 9 / 10
    }

    /// Returns the distance of a place from the beginning of its region.
    fn offset(&self, place: usize) -> Option<usize> {
        (place / self.region < REGIONS).then_some(place % self.region)
    }
}

/// Finds places of noise in e_2 from public data.
pub fn find_noise(code: &Code, compressed: &[Block]) -> Vec<usize> {
    let windows = Windows::new(code.dimension(), WANTED_ROWS);
    let rows = (0..code.dimension()).filter(|row| windows.contain(&code.expander[*row]));
    let rows: Vec<usize> = rows.take(ROWS).collect();
    let mut span = Span::default();
    for bit in 0..128 {
        span.insert(pattern(rows.iter().map(|row| compressed[*row].0 >> bit & 1 == 1)));
    }
    let patterns: Vec<Vec<ConvolutionPattern>> =
        (0..REGIONS).map(|region| backwards(code, &windows, region, &rows, &mut span)).collect();
    let found = patterns.into_iter().enumerate().flat_map(|(region, patterns)| {
        let is_noise = |pattern: &ConvolutionPattern| {
            *pattern != ConvolutionPattern::default() && span.contains(*pattern)
        };
        let decided = windows.decided().map(|offset| (offset, &patterns[offset]));
        let offsets = decided.filter(|(_, pattern)| is_noise(pattern));
        offsets.map(|(offset, _)| region * windows.region + offset).collect::<Vec<_>>()
    });
    found.collect()
}

/// Returns whether the attack decides this place of e_2. It finds the others with other windows.
pub fn is_decided(code: &Code, place: usize) -> bool {
    let windows = Windows::new(code.dimension(), WANTED_ROWS);
    windows.offset(place).is_some_and(|offset| windows.decided().contains(&offset))
}

/// Computes the pattern of each place of a window, and adds the state's patterns to the span.
fn backwards(
    code: &Code,
    windows: &Windows,
    region: usize,
    rows: &[usize],
    span: &mut Span,
) -> Vec<ConvolutionPattern> {
    let start = region * windows.region;
    // The state comes first.
    let mut patterns = vec![ConvolutionPattern::default(); STATE + windows.len];
    for (i, row) in rows.iter().enumerate() {
        for place in code.expander[*row] {
            if place as usize / windows.region == region {
                patterns[STATE + place as usize - start][i / 64] ^= 1 << (i % 64);
            }
        }
    }
    for taps in code.taps.iter().rev() {
        for i in (STATE..patterns.len()).rev() {
            let (before, pattern) = patterns[i - STATE..=i].split_at_mut(STATE);
            let taps = taps[start + i - STATE];
            for (earlier, distance) in before.iter_mut().rev().zip(1..) {
                if is_tap(taps, distance) {
                    earlier.iter_mut().zip(&pattern[0]).for_each(|(a, b)| *a ^= b);
                }
            }
        }
        for state in &mut patterns[..STATE] {
            span.insert(std::mem::take(state));
        }
    }
    patterns.split_off(STATE)
}

fn pattern(bits: impl Iterator<Item = bool>) -> ConvolutionPattern {
    let mut pattern = ConvolutionPattern::default();
    bits.enumerate().for_each(|(i, bit)| pattern[i / 64] |= u64::from(bit) << (i % 64));
    pattern
}

/// A space of patterns, given by a basis in which each element has a first bit that no later one has.
#[derive(Default)]
struct Span {
    basis: Vec<(usize, ConvolutionPattern)>,
}

impl Span {
    fn reduced(&self, mut pattern: ConvolutionPattern) -> ConvolutionPattern {
        for (bit, other) in &self.basis {
            if pattern[bit / 64] >> (bit % 64) & 1 == 1 {
                pattern.iter_mut().zip(other).for_each(|(a, b)| *a ^= b);
            }
        }
        pattern
    }

    fn contains(&self, pattern: ConvolutionPattern) -> bool {
        self.reduced(pattern) == ConvolutionPattern::default()
    }

    fn insert(&mut self, pattern: ConvolutionPattern) {
        let rest = self.reduced(pattern);
        if let Some(word) = rest.iter().position(|word| *word != 0) {
            self.basis.push((64 * word + rest[word].trailing_zeros() as usize, rest));
        }
    }
}

/// The outcome of the attack: noise found, noise present in the windows, and false findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attacked {
    /// Places of noise in the windows.
    pub there: usize,
    /// The number of these that were found.
    pub found: usize,
    /// Places found that have no noise.
    pub wrong: usize,
}

/// Generates a code and noise, and attacks it.
pub fn attack(k: usize, blocks: usize, is_interleaved: bool, seed: u64) -> Attacked {
    let rng = &mut StdRng::seed_from_u64(seed);
    let code = Code::random(k, is_interleaved, rng);
    let sample = code.sample(blocks, rng);
    let there: Vec<usize> =
        sample.places.into_iter().filter(|place| is_decided(&code, *place)).collect();
    let found = find_noise(&code, &sample.compressed);
    let right = found.iter().filter(|place| there.contains(place)).count();
    Attacked { there: there.len(), found: right, wrong: found.len() - right }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_found_without_an_interleaver_and_not_with_one() {
        let local = attack(1 << 17, 256, false, 1);
        assert!(local.there > 30 && local.found == local.there && local.wrong == 0, "{local:?}");
        let interleaved = attack(1 << 17, 256, true, 1);
        assert_eq!([interleaved.found, interleaved.wrong], [0, 0], "{interleaved:?}");
    }
}
