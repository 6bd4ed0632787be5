//! The construction for semi-honest parties.
//!
//! h is AES under a key from the seed. It is independent of the hash that determines rows, so Decode(P, y) = h(y) has
//! probability 2^-bits at a y that is not a point of R, for words of as many bits, and λ + log n_y bits are
//! enough (as in [`rs21::semi_honest`](crate::rs21::semi_honest)). H is keyed by the seed too.
//!
//! The words of the code are long enough for 2^28 points of S, and its codewords, 460 bits, fit one
//! compression of H.

use std::marker::PhantomData;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::one_of_n::matrix::unchecked;
use vesica_params::Adversary;
use vesica_primitives::{
    Block, Words,
    aes::Aes128,
    code::{LinearCode, ShortBch},
    hash::{IndexedRow, RowHash},
};

use super::{Construction, Store};
use crate::{Digests, Error, Values, programmable};

/// Rows that are hashed together.
const HASH_BATCH: usize = 32;

/// The construction for semi-honest parties. It uses only the low halves of points.
pub struct SemiHonest {
    okvs_seed: Block,
    point_hash: Aes128,
    hash: RowHash,
}

impl Construction for SemiHonest {
    const ADVERSARY: Adversary = unchecked::ADVERSARY;

    const SESSION_BYTES: usize = 0;

    type Code = ShortBch;

    type Element = Words<8>;

    type Sender = unchecked::Sender<ShortBch>;

    type Receiver = unchecked::Receiver<ShortBch>;

    fn draw_session(_: &mut Channel, _: &mut dyn CryptoRng) -> Result<Block> {
        Ok(Block::ZERO)
    }

    fn learn_session(_: &mut Channel) -> Result<Block> {
        Ok(Block::ZERO)
    }

    fn new(_: Block, seed: Block) -> Self {
        let root = Aes128::new(seed);
        let key = |purpose| root.encrypt_block(Block(purpose));
        Self { okvs_seed: key(0), point_hash: Aes128::new(key(1)), hash: RowHash::new(key(2)) }
    }

    fn okvs_seed(&self) -> Block {
        self.okvs_seed
    }

    fn okvs_keys(&self, points: Digests<'_>) -> Vec<Block> {
        points.low_halves.to_vec()
    }

    fn words(&self, keys: &[Block], _: &[Block]) -> Vec<Block> {
        let mut words = keys.to_vec();
        self.point_hash.encrypt(&mut words);
        words.iter_mut().for_each(|word| word.0 >>= 128 - <ShortBch as LinearCode>::DIMENSION);
        words
    }

    fn hash(&self, rows: &[Words<8>], _: &[Block], _: &[Block], values: &mut [Block]) {
        let mut indexed = [IndexedRow::default(); HASH_BATCH];
        for (rows, values) in rows.chunks(HASH_BATCH).zip(values.chunks_mut(HASH_BATCH)) {
            let inputs = indexed.iter_mut().zip(rows);
            inputs.for_each(|(to, row)| *to = IndexedRow::new(0, &bytemuck::cast(*row)));
            self.hash.hash(&indexed[..rows.len()], values);
        }
    }
}

/// The OPRF with this construction and store, as the basis of an OPPRF.
pub struct Oprf<O>(PhantomData<O>);

impl<O: Store<SemiHonest>> programmable::Oprf for Oprf<O> {
    type Sender = super::Sender<SemiHonest>;
    type Receiver = super::Receiver<SemiHonest>;

    fn at_senders_points(
        sender: Self::Sender,
        _: &[u32],
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> std::result::Result<Values, Error> {
        Ok(sender.evaluate::<O>(points, channel, rng)?)
    }

    fn at_receivers_points(
        receiver: Self::Receiver,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> std::result::Result<Values, Error> {
        receiver.evaluate::<O>(points, channel, rng)
    }
}
