//! What each oblivious transfer sends is what it sent before, with every set of kernels, and its
//! length does not depend on choices or messages.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_ot::{
    CotReceiver, CotSender, Error,
    base::{BaseOt, mr19::Mr19, np01::Np01},
    extension::alsz13,
};
use vesica_primitives::{Bits, group::Ristretto};
use vesica_testkit::transcript::{self, Transcripts, again_with_portable_kernels, check_baseline};

fn base<B: BaseOt>(choices: &Bits) -> Transcripts {
    transcript::of(
        |channel, rng| B::send(choices.len(), channel, rng),
        |channel, rng| B::receive(choices, channel, rng),
    )
}

/// Chosen messages of 40 bytes, which run through every flavour below.
fn alsz13(choices: &Bits, messages: &[u8]) -> Transcripts {
    transcript::of(
        |channel, rng| alsz13::Sender::setup(channel, rng)?.send_chosen(messages, 40, channel),
        |channel, rng| {
            alsz13::Receiver::setup(channel, rng)?.receive_chosen(choices, 40, channel)?;
            Ok::<_, Error>(())
        },
    )
}

#[test]
fn equal_the_baseline() {
    let rng = &mut StdRng::seed_from_u64(1);
    let choices = Bits::random(5001, rng);
    let messages: Vec<u8> = (0..2 * 40 * 5001).map(|_| rng.random()).collect();
    let few = Bits::random(99, rng);
    check_baseline(&[
        ("alsz13", alsz13(&choices, &messages)),
        ("mr19", base::<Mr19<Ristretto>>(&few)),
        ("np01", base::<Np01<Ristretto>>(&few)),
    ]);
}

#[test]
fn portable_kernels_send_the_same() {
    again_with_portable_kernels("equal_the_baseline");
}

#[test]
fn lengths_do_not_depend_on_inputs() {
    let ones = |n: usize| (0..n).map(|_| true).collect::<Bits>();
    let (none, all) = (Bits::zeros(50), ones(50));
    assert_eq!(base::<Mr19<Ristretto>>(&none).shape(), base::<Mr19<Ristretto>>(&all).shape());
    assert_eq!(base::<Np01<Ristretto>>(&none).shape(), base::<Np01<Ristretto>>(&all).shape());
    let n = 200;
    let zeros = alsz13(&Bits::zeros(n), &vec![0; 80 * n]);
    assert_eq!(zeros.shape(), alsz13(&ones(n), &vec![255; 80 * n]).shape());
}
