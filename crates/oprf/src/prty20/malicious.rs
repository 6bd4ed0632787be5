//! Against malicious parties (PRTY20 §6). Differences from the semi-honest construction:
//!
//! - The base OTs are malicious, and S checks R's rows before it evaluates anything: [`checked`]. Another
//!   matrix does not compile:
//!
//!   ```compile_fail,E0277
//!   # use vesica_oprf::prty20::{Checked, Construction};
//!   # use vesica_ot::one_of_n::matrix::unchecked::{Receiver, Sender};
//!   # use vesica_primitives::code::Concatenated;
//!   fn is_construction<M: Construction>() {}
//!   is_construction::<Checked<Sender<Concatenated>, Receiver<Concatenated>>>();
//!   ```
//!
//!   while this does:
//!
//!   ```
//!   # use vesica_oprf::prty20::{Checked, Construction};
//!   # use vesica_ot::one_of_n::matrix::checked::{Receiver, Sender};
//!   # use vesica_primitives::code::Concatenated;
//!   fn is_construction<M: Construction>() {}
//!   is_construction::<Checked<Sender<Concatenated>, Receiver<Concatenated>>>();
//!   ```
//! - S → R at the beginning of step O1: a session. It is hashed with R's seed, so that neither party chooses rows or
//!   hashes by itself, and R's knowledge of h from one session is useless in another.
//! - Points are digests of 256 bits. The OKVS key is made from both halves, and h and H are random oracles
//!   (BLAKE3) on the whole point: H(u, y), for the row u.
//! - h gives 128 bits, so the code is one with words of 128 bits.
//!
//! **Against R.** Outside a few places at which R guessed Δ, the rows that pass the check belong to words, and these
//! form a P. R's inputs are those y for which it queried h(y) and Decode(P, y) = h(y). At any other y the row that S
//! hashes differs from the row that R knows by Δ at the places where a codeword is not 0, at least κ of them, less
//! those it guessed at the risk of being caught. P has m columns for n points, so R can have more inputs than points:
//! [`vesica_params::effective_inputs`] bounds their number for a given number of queries to h and without any
//! assumption on rows; R may distribute P over the clusters in any way.
//!
//! **Against S.** It sees columns under masks that it does not have, sums under random words, and a seed. A
//! value that it sends counts only if it is F(x) for an x of R. H is keyed by a seed that R draws once its
//! points are fixed, so nobody has queried H before: a value for which S did not query H is F(x) with
//! probability 2^-κ, and a value for which it did, at y, is also F(x) for another x with probability 2^-κ, in
//! all n_x·(n_y + q)·2^-κ for q queries. So κ bits are enough, where the paper has 2κ bits of an H that can be
//! queried at any time (RS21, Theorem 4.1, argues likewise).

use std::marker::PhantomData;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::one_of_n::matrix::{self, checked};
use vesica_params::Adversary;
use vesica_primitives::{
    Block, Words,
    aes::{Aes128, CorrelationRobust},
    code::Concatenated,
    declassify,
    hash::{IndexedRow, RowHash, truncate},
};

use super::Construction;
use crate::{
    Digests,
    digests::{BATCH, Part},
};

pub use checked::{CHECK, WRONG_ROWS_PASS};

const SESSION: &str = "prty20/session";

/// The construction over an extension that has the marker [`vesica_ot::Malicious`] on both sides.
pub struct Checked<S, R> {
    okvs_seed: Block,
    key_hash: CorrelationRobust,
    point_hash: RowHash,
    hash: RowHash,
    extension: PhantomData<fn() -> (S, R)>,
}

/// The construction against malicious parties, in the random-oracle and ideal-cipher models.
pub type Malicious = Checked<checked::Sender<Concatenated>, checked::Receiver<Concatenated>>;

impl<S, R> Construction for Checked<S, R>
where
    S: matrix::Sender<Concatenated> + vesica_ot::Malicious + 'static,
    R: matrix::Receiver<Concatenated> + vesica_ot::Malicious + 'static,
{
    const ADVERSARY: Adversary =
        Adversary::weakest(&[S::ADVERSARY, R::ADVERSARY, Adversary::Malicious]);

    const SESSION_BYTES: usize = size_of::<Block>();

    type Code = Concatenated;

    type Element = Words<10>;

    type Sender = S;

    type Receiver = R;

    fn draw_session(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Block> {
        let session = declassify(Block::random(rng));
        channel.send_slice(SESSION, &[session])?;
        Ok(bound(session, channel))
    }

    fn learn_session(channel: &mut Channel) -> Result<Block> {
        let mut session = [Block::ZERO];
        channel.recv_slice(SESSION, &mut session)?;
        Ok(bound(session[0], channel))
    }

    fn new(session: Block, seed: Block) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("vesica prty20 seed v1");
        hasher.update(&session.to_bytes()).update(&seed.to_bytes());
        let root = Aes128::new(truncate(&hasher.finalize()));
        let key = |purpose| root.encrypt_block(Block(purpose));
        Self {
            okvs_seed: key(0),
            key_hash: CorrelationRobust::new(key(1)),
            point_hash: RowHash::new(key(2)),
            hash: RowHash::new(key(3)),
            extension: PhantomData,
        }
    }

    fn okvs_seed(&self) -> Block {
        self.okvs_seed
    }

    fn okvs_keys(&self, points: Digests<'_>) -> Vec<Block> {
        points.okvs_keys(&self.key_hash)
    }

    fn words(&self, keys: &[Block], high_halves: &[Block]) -> Vec<Block> {
        let mut words = vec![Block::ZERO; keys.len()];
        Part { keys, high_halves }.hash_with(&self.point_hash, &mut words);
        words
    }

    /// Row and point are seven blocks. A digest of 256 bits replaces the first four, and a second one replaces
    /// that digest and the next two.
    fn hash(
        &self,
        rows: &[Words<10>],
        keys: &[Block],
        high_halves: &[Block],
        values: &mut [Block],
    ) {
        let mut points = keys.iter().zip(high_halves);
        for (rows, values) in rows.chunks(BATCH).zip(values.chunks_mut(BATCH)) {
            let mut parts = [[Block::ZERO; 4]; BATCH];
            let parts = &mut parts[..rows.len()];
            let mut rests = [(Block::ZERO, Block::ZERO, Block::ZERO); BATCH];
            for (((part, rest), row), (key, high)) in
                parts.iter_mut().zip(&mut rests).zip(rows).zip(&mut points)
            {
                let [first @ .., last]: [Block; 5] = bytemuck::cast(*row);
                (*part, *rest) = (first, (last, *key, *high));
            }
            self.hash.shorten(parts);
            for (part, (last, key, _)) in parts.iter_mut().zip(&rests) {
                [part[2], part[3]] = [*last, *key];
            }
            self.hash.shorten(parts);
            let mut indexed = [IndexedRow::default(); BATCH];
            for ((indexed, part), (_, _, high)) in indexed.iter_mut().zip(&*parts).zip(&rests) {
                *indexed = IndexedRow::new(0, &[part[0], part[1], *high, Block::ZERO]);
            }
            self.hash.hash(&indexed[..rows.len()], values);
        }
    }
}
/// S's random block, bound to the session in which it was sent.
fn bound(drawn: Block, channel: &Channel) -> Block {
    let mut hasher = blake3::Hasher::new_derive_key("vesica prty20 session v1");
    hasher.update(channel.session().as_bytes()).update(&drawn.to_bytes());
    truncate(&hasher.finalize())
}
