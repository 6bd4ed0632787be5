//! The pseudo-random code of KKRT16.

use super::Code;
use crate::{Block, Seed, aes::Aes128, hash::ROW_BLOCKS};

/// The pseudo-random code of KKRT16 §3.2: C(x) = AES_{c_1}(x) ‖ … ‖ AES_{c_4}(x), truncated to its width.
///
/// Codewords of different words have Hamming distance at least κ, except with the probability that
/// `vesica_params::code::width` bounds, over the choice of the key, which therefore must not be known when the
/// words are chosen. The paper derives the four blocks under one key from a word with a counter before it; four
/// keys leave all 128 bits to the word.
pub struct PseudoRandomCode {
    ciphers: [Aes128; ROW_BLOCKS],
    masks: [Block; ROW_BLOCKS],
    width: usize,
}

/// Words encoded at a time: enough to fill the pipeline of the cipher.
const BATCH: usize = 16;

impl PseudoRandomCode {
    /// The code with a given key and width in bits, at most 512.
    pub fn new(key: &Seed, width: usize) -> Self {
        assert!(width <= 128 * ROW_BLOCKS, "codewords of at most four blocks");
        let mut prg = crate::aes::Prg::new(key);
        let mut keys = [Block::ZERO; ROW_BLOCKS];
        prg.fill(&mut keys);
        let mask = |block: usize| match width.saturating_sub(128 * block) {
            bits @ 0..128 => Block((1 << bits) - 1),
            _ => Block(u128::MAX),
        };
        Self { ciphers: keys.map(Aes128::new), masks: std::array::from_fn(mask), width }
    }

    /// Encodes each word into a row; bits beyond the width are 0.
    ///
    /// # Panics
    /// If the numbers of rows and words differ.
    pub fn encode(&self, words: &[Block], rows: &mut [[Block; ROW_BLOCKS]]) {
        assert_eq!(words.len(), rows.len(), "a row for each word");
        for (words, rows) in words.chunks(BATCH).zip(rows.chunks_mut(BATCH)) {
            for (i, (cipher, mask)) in self.ciphers.iter().zip(self.masks).enumerate() {
                let mut images = [Block::ZERO; BATCH];
                let images = &mut images[..words.len()];
                images.copy_from_slice(words);
                cipher.encrypt(images);
                for (row, image) in rows.iter_mut().zip(images) {
                    row[i] = *image & mask;
                }
            }
        }
    }
}

impl Code for PseudoRandomCode {
    type Row = [Block; ROW_BLOCKS];

    const DIMENSION: usize = 128;

    fn width(&self) -> usize {
        self.width
    }

    fn encode(&self, words: &[Block], rows: &mut [Self::Row]) {
        self.encode(words, rows);
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    fn distance(a: &[Block; ROW_BLOCKS], b: &[Block; ROW_BLOCKS]) -> u32 {
        a.iter().zip(b).map(|(a, b)| (*a ^ *b).0.count_ones()).sum()
    }

    #[test]
    fn codewords_keep_their_distance() {
        let mut rng = StdRng::seed_from_u64(1);
        for width in [424, 440, 448, 512] {
            let code = PseudoRandomCode::new(&Seed::random(&mut rng), width);
            let words: Vec<Block> = (0..500).map(Block).collect();
            let mut rows = vec![[Block::ZERO; ROW_BLOCKS]; words.len()];
            code.encode(&words, &mut rows);
            let pairs = (0..500).flat_map(|i| (0..i).map(move |j| (i, j)));
            let distances = pairs.map(|(i, j)| distance(&rows[i], &rows[j]));
            let (mut least, mut sum, mut count) = (u32::MAX, 0, 0);
            distances.for_each(|d| (least, sum, count) = (least.min(d), sum + d, count + 1));
            assert!(least >= 128, "width {width}: distance {least}");
            let mean = f64::from(sum) / f64::from(count);
            assert!((mean - width as f64 / 2.0).abs() < 1.0, "width {width}: mean {mean}");
            // Nothing beyond the width.
            let beyond = |row: &[Block; ROW_BLOCKS]| {
                (width..512).all(|bit| row[bit / 128].0 >> (bit % 128) & 1 == 0)
            };
            assert!(rows.iter().all(beyond));
        }
    }

    #[test]
    fn columns_are_those_of_the_rows() {
        let code = PseudoRandomCode::new(&Seed::new(Block(4)), 440);
        let words: Vec<Block> = (0..300).map(Block).collect();
        let mut rows = vec![[Block::ZERO; ROW_BLOCKS]; 384];
        code.encode(&words, &mut rows[..300]);
        let mut columns = vec![Block(5); 440 * 3];
        code.encode_columns(&words, &mut columns);
        for (j, row) in rows[..300].iter().enumerate() {
            for i in 0..440 {
                let bit = columns[3 * i + j / 128].0 >> (j % 128) & 1;
                assert_eq!(bit, row[i / 128].0 >> (i % 128) & 1);
            }
        }
    }

    #[test]
    fn every_batch_size_gives_the_same_rows() {
        let code = PseudoRandomCode::new(&Seed::new(Block(3)), 448);
        let words: Vec<Block> = (0..40).map(Block).collect();
        let mut all = vec![[Block::ZERO; ROW_BLOCKS]; 40];
        code.encode(&words, &mut all);
        for n in 0..40 {
            let mut some = vec![[Block::ZERO; ROW_BLOCKS]; n];
            code.encode(&words[..n], &mut some);
            assert_eq!(some, all[..n]);
        }
    }
}
