//! Code that leaks on purpose. If a harness does not report it, its silence about other code means nothing.

use std::hint::black_box;

use rand::Rng;
use vesica_net::Error;
use vesica_ot::{CotReceiver, CotSender, extension::iknp03};
use vesica_primitives::{Bits, Block};

use crate::{
    marks::{SecretRng, secret},
    parties,
};

/// Number of OTs in the leaking protocol.
const LEAKY: usize = 10;

/// Branches on a secret bit.
#[inline(never)]
pub fn branch() {
    let bit = SecretRng::new(1).next_u32() & 1;
    if black_box(bit) == 1 {
        black_box(leaked());
    }
}

/// Not inlined, because the compiler could otherwise select instead of branching.
#[inline(never)]
fn leaked() -> u32 {
    black_box(7)
}

/// Reads a table at a secret place.
#[inline(never)]
pub fn address() {
    let table = black_box([1u8; 256]);
    let mut place = [3u8];
    secret(&mut place);
    black_box(table[usize::from(place[0])]);
}

/// Compares two secret blocks like slices, which ends at the first difference.
#[inline(never)]
pub fn comparison() {
    let mut rng = SecretRng::new(2);
    let pair = black_box([Block::random(&mut rng), Block::random(&mut rng)]);
    if pair[0] == pair[1] {
        black_box(leaked());
    }
}

/// Runs two whole parties. One finally branches on its output, which shows that secrets are followed to the end of a
/// protocol.
pub fn protocol() {
    parties::run(
        |channel, rng| {
            let mut ot = iknp03::Sender::setup(channel, rng)?;
            ot.send_random(LEAKY, channel)
        },
        |channel, rng| {
            let mut ot = iknp03::Receiver::setup(channel, rng)?;
            let received = ot.receive_random(&Bits::random(LEAKY, rng), channel)?;
            if received[0].0 & 1 == 1 {
                black_box(leaked());
            }
            Ok::<_, Error>(())
        },
    );
}
