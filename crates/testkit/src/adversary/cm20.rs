//! The sender of `cm20-malicious-sender`, with each step replaceable.

use std::convert::Infallible;

use rand::{Rng, TryCryptoRng, TryRng, rngs::StdRng};
use vesica_net::Channel;
use vesica_oprf::cm20::{self as oprf, Points};
use vesica_ot::base::extended::Extended;
use vesica_params::{LAMBDA, matrix::matrix};
use vesica_primitives::Block;
use vesica_psi::{Error, Items, protocols::cm20::MALICIOUS_SENDER};
use vesica_structures::tag_list;

use super::{hello_of_sender, whole};
use crate::conformance::psi::Sets;

/// The sender's choices s in the base OTs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choices {
    /// As they should be.
    Random,
    /// The same bit for each column: C is then A, or A where R has no mark.
    All(bool),
    /// One column of the changed matrix, all others of A.
    First,
}

/// Randomness whose first bytes are chosen: those that become s.
struct Cm20Chosen<'a> {
    first: Vec<u8>,
    then: &'a mut StdRng,
}

impl TryRng for Cm20Chosen<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes).map(|()| u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        let chosen = out.len().min(self.first.len());
        out[..chosen].copy_from_slice(&self.first[..chosen]);
        self.first.drain(..chosen);
        self.then.fill_bytes(&mut out[chosen..]);
        Ok(())
    }
}

impl TryCryptoRng for Cm20Chosen<'_> {}

/// H1 of each item: the points at which F is to be evaluated.
pub fn hashed(items: Items<'_>) -> Vec<[Block; 2]> {
    let hash = |item: [u8; 32]| {
        let digest = blake3::keyed_hash(b"vesica cm20 item hash v1, public", &item);
        bytemuck::cast(*digest.as_bytes())
    };
    whole(items).into_iter().map(hash).collect()
}

/// The items themselves as points.
pub fn unhashed(items: Items<'_>) -> Vec<[Block; 2]> {
    whole(items).into_iter().map(bytemuck::cast).collect()
}

/// A sender up to its list: the values at these points, in their order.
pub fn values(
    sets: &Sets,
    choices: Choices,
    points: &[[Block; 2]],
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<Vec<Block>, Error> {
    let sizes = sets.sizes();
    hello_of_sender(&MALICIOUS_SENDER, sizes.sender, channel)?;
    let matrix = matrix(sizes.receiver, sizes.sender, LAMBDA);
    let len = matrix.width.div_ceil(128) * 16;
    let first = match choices {
        Choices::Random => vec![],
        Choices::All(bit) => vec![if bit { 0xff } else { 0 }; len],
        Choices::First => (0..len).map(|i| u8::from(i == 0)).collect(),
    };
    let sender =
        oprf::Sender::setup::<Extended>(matrix, channel, &mut Cm20Chosen { first, then: rng })?;
    let [low_halves, high_halves] =
        [0, 1].map(|half| points.iter().map(|point| point[half]).collect::<Vec<_>>());
    let points = Points { low_halves: &low_halves, high_halves: &high_halves };
    let evaluated = sender.evaluate(points, channel)?;
    let mut values = vec![Block::ZERO; evaluated.values.len()];
    let placed = evaluated.positions.iter().zip(evaluated.values);
    placed.for_each(|(position, value)| values[*position as usize] = value);
    Ok(values)
}

/// Sends a list of tags of `bits` bits.
pub fn send_list(mut values: Vec<Block>, bits: u32, channel: &mut Channel) -> Result<(), Error> {
    values.sort_unstable();
    let layout = tag_list::Layout::new(values.len(), bits);
    let words = layout.encode(&values, |value| value.0 >> (128 - bits));
    Ok(channel.send_slice("cm20/list", &words)?)
}
