//! Half gates, computed by the two parties for a batch of instances.

use vesica_primitives::{Block, aes::Rekeyed};

use super::Table;

/// The first hash index of each of the two halves of a gate; instance i adds i.
pub type Indices = [u128; 2];

/// All ones if a label's colour is 1, otherwise zero.
fn coloured(label: Block) -> Block {
    Block::mask((label.0 & 1) as u8)
}

/// The garbler's computation: tables and labels of a ∧ b from the labels of a and b. `hashed` is scratch space
/// for the batch.
pub fn garble(
    hash: &Rekeyed,
    delta: Block,
    first: Indices,
    [a, b]: [&[Block]; 2],
    out: &mut [Block],
    tables: &mut [Table],
    hashed: &mut [[Block; 2]],
) {
    hash_both(hash, delta, first[0], a, hashed);
    for (i, &[zero, one]) in hashed.iter().enumerate() {
        let row = zero ^ one ^ (coloured(b[i]) & delta);
        tables[i][0] = row;
        out[i] = zero ^ (coloured(a[i]) & row);
    }
    hash_both(hash, delta, first[1], b, hashed);
    for (i, &[zero, one]) in hashed.iter().enumerate() {
        let sum = zero ^ one;
        tables[i][1] = sum ^ a[i];
        out[i] ^= zero ^ (coloured(b[i]) & sum);
    }
}

fn hash_both(hash: &Rekeyed, delta: Block, first: u128, labels: &[Block], out: &mut [[Block; 2]]) {
    out.iter_mut().zip(labels).for_each(|(pair, &label)| *pair = [label, label ^ delta]);
    hash.apply(first, out);
}

/// The evaluator's computation: the label of a ∧ b from the labels of a and b and the tables.
pub fn evaluate(
    hash: &Rekeyed,
    first: Indices,
    [a, b]: [&[Block]; 2],
    out: &mut [Block],
    tables: &[Table],
    hashed: &mut [[Block; 2]],
) {
    // The scratch space is made for pairs; only half of it is needed.
    let hashed: &mut [[Block; 1]] = bytemuck::cast_slice_mut(&mut hashed[..a.len().div_ceil(2)]);
    let hashed = &mut hashed[..a.len()];
    hashed.iter_mut().zip(a).for_each(|(to, &label)| *to = [label]);
    hash.apply(first[0], hashed);
    for (i, &[image]) in hashed.iter().enumerate() {
        out[i] = image ^ (coloured(a[i]) & tables[i][0]);
    }
    hashed.iter_mut().zip(b).for_each(|(to, &label)| *to = [label]);
    hash.apply(first[1], hashed);
    for (i, &[image]) in hashed.iter().enumerate() {
        out[i] ^= image ^ (coloured(b[i]) & (tables[i][1] ^ a[i]));
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    /// The truth table, at every length around a batch of the hash.
    #[test]
    fn an_evaluated_gate_is_the_product() {
        let mut rng = StdRng::seed_from_u64(1);
        let hash = Rekeyed::new(Block::random(&mut rng));
        let delta = Block(Block::random(&mut rng).0 | 1);
        for n in 0..70 {
            let mut labels = || -> Vec<Block> { (0..n).map(|_| Block::random(&mut rng)).collect() };
            let zeros = [labels(), labels()];
            let (mut out, mut tables) = (vec![Block::ZERO; n], vec![[Block::ZERO; 2]; n]);
            let mut hashed = vec![[Block::ZERO; 2]; n];
            let indices = [5, 5 + n as u128];
            let [a, b] = zeros.each_ref().map(|zeros| &zeros[..]);
            garble(&hash, delta, indices, [a, b], &mut out, &mut tables, &mut hashed);
            for bits in 0..4u8 {
                let active = |side: usize| -> Vec<Block> {
                    let offset = delta & Block::mask(bits >> side & 1);
                    zeros[side].iter().map(|&zero| zero ^ offset).collect()
                };
                let (a, b) = (active(0), active(1));
                let mut label = vec![Block::ZERO; n];
                evaluate(&hash, indices, [&a, &b], &mut label, &tables, &mut hashed);
                let offset = delta & Block::mask((bits & 1) & (bits >> 1));
                assert!(label.iter().zip(&out).all(|(&label, &zero)| label == zero ^ offset));
            }
        }
    }
}
