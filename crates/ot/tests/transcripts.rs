//! What each oblivious transfer sends is what it sent before, with every set of kernels, and its
//! length does not depend on choices or messages.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_ot::{
    Bytes, CotReceiver, CotSender, Error,
    base::{BaseOt, co15::Co15, mr19::Mr19, np01::Np01},
    extension::{
        alsz13, silent as silent_ot,
        softspoken::{SmallField, malicious, semi_honest},
    },
    vole::silent,
};
use vesica_params::lpn::{BITS, FAST};
use vesica_primitives::{
    Bits,
    group::{Ffdhe3072, Ristretto},
};
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

const FIELD: SmallField = SmallField::new(8);

/// Silent OT over malicious SoftSpokenOT, which says all that the one over the semi-honest one does.
fn silent_ot(choices: &Bits) -> Transcripts {
    transcript::of(
        |channel, rng| {
            let cot = malicious::Sender::setup(FIELD, channel, rng)?;
            let mut ot = silent_ot::Sender::setup(cot, BITS, channel, rng)?;
            ot.send_random(choices.len(), channel)
        },
        |channel, rng| {
            let cot = malicious::Receiver::setup(FIELD, channel, rng)?;
            let mut ot = silent_ot::Receiver::setup(cot, BITS, channel, rng)?;
            ot.receive_random(choices, channel)
        },
    )
}

fn silent_vole(len: usize) -> Transcripts {
    transcript::of(
        |channel, rng| {
            let mut cot = semi_honest::Sender::setup(FIELD, channel, rng)?;
            silent::send(len, 60, FAST, &mut cot, channel, rng).map(drop)
        },
        |channel, rng| {
            let mut cot = semi_honest::Receiver::setup(FIELD, channel, rng)?;
            silent::receive::<u64>(len, 60, FAST, &mut cot, channel, rng).map(drop)
        },
    )
}

fn silent_vole_malicious(len: usize) -> Transcripts {
    transcript::of(
        |channel, rng| {
            let mut cot = malicious::Sender::setup(FIELD, channel, rng)?;
            silent::malicious::send(len, FAST, &mut cot, channel, rng).map(drop)
        },
        |channel, rng| {
            let mut cot = malicious::Receiver::setup(FIELD, channel, rng)?;
            silent::malicious::receive(len, FAST, &mut cot, channel, rng).map(drop)
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
        ("co15", base::<Co15<Ristretto>>(&few)),
        ("co15-ffdhe3072", base::<Co15<Ffdhe3072>>(&few)),
        ("mr19", base::<Mr19<Ristretto>>(&few)),
        ("mr19-ffdhe3072", base::<Mr19<Ffdhe3072>>(&few)),
        ("np01", base::<Np01<Ristretto>>(&few)),
        ("np01-ffdhe3072", base::<Np01<Ffdhe3072>>(&few)),
        ("silent-ot", silent_ot(&choices)),
        ("silent-vole", silent_vole(20_011)),
        ("silent-vole-malicious", silent_vole_malicious(20_011)),
    ]);
}

#[test]
fn portable_kernels_send_the_same() {
    again_with_portable_kernels("equal_the_baseline");
}

/// As [`lengths_do_not_depend_on_inputs`], and they add up to what [`BaseOt::bytes`] says.
fn base_lengths<B: BaseOt>() {
    for n in [0, 7] {
        let zeros = base::<B>(&Bits::zeros(n));
        assert_eq!(zeros.shape(), base::<B>(&(0..n).map(|_| true).collect()).shape());
        let bytes = Bytes {
            to_sender: zeros.receiver.payload_bytes(),
            to_receiver: zeros.sender.payload_bytes(),
        };
        assert_eq!(bytes, B::bytes(n));
    }
}

#[test]
fn lengths_do_not_depend_on_inputs() {
    let ones = |n: usize| (0..n).map(|_| true).collect::<Bits>();
    let (none, all) = (Bits::zeros(50), ones(50));
    base_lengths::<Np01<Ristretto>>();
    base_lengths::<Np01<Ffdhe3072>>();
    base_lengths::<Co15<Ristretto>>();
    base_lengths::<Co15<Ffdhe3072>>();
    base_lengths::<Mr19<Ristretto>>();
    base_lengths::<Mr19<Ffdhe3072>>();
    assert_eq!(silent_ot(&none).shape(), silent_ot(&all).shape());
    let n = 200;
    let zeros = alsz13(&Bits::zeros(n), &vec![0; 80 * n]);
    assert_eq!(zeros.shape(), alsz13(&ones(n), &vec![255; 80 * n]).shape());
}
