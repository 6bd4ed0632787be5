//! The check of [`oos17`](super::oos17), that the rows of a matrix are codewords, masks included. The steps, and the
//! remaining options of a malicious receiver, are described there.

use bytemuck::Zeroable;
use rand::CryptoRng;
use vesica_net::{Channel, Deviation, Result};
use vesica_params::Failure;
use vesica_primitives::{
    Block, are_equal,
    code::{LinearCode, Row},
    declassify,
};
use zeroize::Zeroizing;

use super::combinations::Combinations;
use crate::{Bytes, challenge};

pub(super) use super::combinations::SUMS;

/// The check by which the sender refuses a receiver.
pub const CHECK: &str = "rows are codewords";

/// The event that wrong rows pass, other than by guesses of the key. The number of sums is the same in all runs:
/// protocols that make this check are not run in partitions.
pub const WRONG_ROWS_PASS: Failure =
    Failure::new("wrong rows pass the check", -(SUMS as f64 - 1.0));

pub(super) const CHALLENGE: &str = "oos17/challenge";
pub(super) const ANSWER: &str = "oos17/answer";
const CONTEXT: &str = "vesica oos17 challenge v1";

/// Payload bytes of the check, without the mask rows.
pub(super) fn bytes<C: LinearCode>() -> Bytes {
    let to_sender = SUMS * (size_of::<Block>() + size_of::<C::Row>());
    Bytes { to_sender, to_receiver: size_of::<Block>() }
}

/// Steps 3 to 5, for the rows followed by the mask rows.
pub(super) fn verify<C: LinearCode>(
    code: &C,
    delta: &C::Row,
    rows: &[C::Row],
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    let drawn = declassify(Block::random(rng));
    channel.send_slice(CHALLENGE, &[drawn])?;
    channel.flush()?;
    let challenge = challenge::of_session(CONTEXT, channel.session(), drawn);
    let own = Combinations::new(challenge, rows.len() - SUMS).of(rows);
    let mut answer = vec![Block::ZERO; SUMS * (1 + C::Row::BLOCKS)];
    channel.recv_slice(ANSWER, &mut answer)?;
    let (words, t) = answer.split_at(SUMS);
    if words.iter().any(|word| word.0.checked_shr(C::DIMENSION as u32).unwrap_or(0) != 0) {
        return Err(channel.malformed(ANSWER, "a word has too many bits"));
    }
    let mut codewords = [C::Row::zeroed(); SUMS];
    code.encode_rows(words, &mut codewords);
    let sums = own.iter().zip(&codewords);
    let expected: Zeroizing<Vec<C::Row>> =
        Zeroizing::new(sums.map(|(q, c)| q.add_masked(c, delta)).collect());
    let bytes: [&[u8]; 2] = [bytemuck::cast_slice(&expected), bytemuck::cast_slice(t)];
    if are_equal(bytes[0], bytes[1]) {
        Ok(())
    } else {
        Err(channel.deviation(Deviation::CheckFailed { check: CHECK }))
    }
}

/// R's side of steps 3 and 4: its words and rows, each followed by the masks.
pub(super) fn prove<R: Row>(words: &[Block], rows: &[R], channel: &mut Channel) -> Result<()> {
    let answer = answer(words, rows, receive_challenge(channel)?);
    channel.send_slice(ANSWER, &answer)?;
    channel.flush()
}

/// Random words, for the masks.
pub(super) fn masks<C: LinearCode>(rng: &mut dyn CryptoRng) -> [Block; SUMS] {
    std::array::from_fn(|_| Block(Block::random(rng).0 >> (128 - C::DIMENSION)))
}

/// The challenge, bound to the session.
pub(super) fn receive_challenge(channel: &mut Channel) -> Result<Block> {
    let mut challenge = [Block::ZERO];
    channel.recv_slice(CHALLENGE, &mut challenge)?;
    Ok(challenge::of_session(CONTEXT, channel.session(), challenge[0]))
}

/// The sums of words, then of rows, masks included.
pub(super) fn answer<R: Row>(words: &[Block], rows: &[R], challenge: Block) -> Vec<Block> {
    let combinations = Combinations::new(challenge, words.len() - SUMS);
    let words: &[[Block; 1]] = bytemuck::cast_slice(words);
    let (words, rows) = (combinations.of(words), combinations.of(rows));
    [words.as_flattened(), bytemuck::cast_slice(&rows)].concat()
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_primitives::code::{Bch, Concatenated, WalshHadamard};

    use super::*;

    /// Sums of words go to the sender, and no bit of them unhidden.
    #[test]
    fn masks_hide_every_bit_of_a_word_and_have_no_more() {
        fn masked<C: LinearCode>() -> u128 {
            let masks = masks::<C>(&mut StdRng::seed_from_u64(1));
            masks.iter().fold(0, |all, mask| all | mask.0)
        }
        assert_eq!(masked::<WalshHadamard>(), (1 << WalshHadamard::DIMENSION) - 1);
        assert_eq!(masked::<Bch>(), (1 << Bch::DIMENSION) - 1);
        assert_eq!(masked::<Concatenated>(), u128::MAX);
    }
}
