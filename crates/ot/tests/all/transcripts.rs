//! The messages of each oblivious transfer do not change, are the same with every set of kernels, and have lengths that
//! do not depend on choices or messages.

use rand::{CryptoRng, RngExt, SeedableRng, rngs::StdRng};
use vesica_net::Channel;
use vesica_ot::{
    Bytes, CotReceiver, CotSender, Result,
    base::{BaseOt, co15::Co15, mr19::Mr19, np01::Np01},
    extension::{
        alsz13, iknp03, kos15, precomputed, silent as silent_ot,
        softspoken::{SmallField, malicious, semi_honest},
    },
    vole::silent,
};
use vesica_params::lpn::{GUESSED_ONES, UNIFORM};
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

/// Makes one party of an OT extension.
type Setup<Party> = fn(&mut Channel, &mut dyn CryptoRng) -> Result<Party>;

/// Chosen messages of 40 bytes, which exercise every variant below them.
fn extension<S: CotSender, R: CotReceiver>(
    sender: Setup<S>,
    receiver: Setup<R>,
    choices: &Bits,
    messages: &[u8],
) -> Transcripts {
    transcript::of(
        |channel, rng| sender(channel, rng)?.send_chosen(messages, 40, channel),
        |channel, rng| receiver(channel, rng)?.receive_chosen(choices, 40, channel).map(drop),
    )
}

fn alsz13(choices: &Bits, messages: &[u8]) -> Transcripts {
    extension(alsz13::Sender::setup, alsz13::Receiver::setup, choices, messages)
}

fn iknp03(choices: &Bits, messages: &[u8]) -> Transcripts {
    extension(iknp03::Sender::setup, iknp03::Receiver::setup, choices, messages)
}

fn kos15(choices: &Bits, messages: &[u8]) -> Transcripts {
    extension(kos15::Sender::setup, kos15::Receiver::setup, choices, messages)
}

fn softspoken(choices: &Bits, messages: &[u8]) -> Transcripts {
    extension(
        |channel, rng| semi_honest::Sender::setup(SmallField::new(3), channel, rng),
        |channel, rng| semi_honest::Receiver::setup(SmallField::new(3), channel, rng),
        choices,
        messages,
    )
}

fn softspoken_malicious(choices: &Bits, messages: &[u8]) -> Transcripts {
    extension(
        |channel, rng| malicious::Sender::setup(SmallField::new(2), channel, rng),
        |channel, rng| malicious::Receiver::setup(SmallField::new(2), channel, rng),
        choices,
        messages,
    )
}

/// With a stock for some of the OTs.
fn precomputed(choices: &Bits, messages: &[u8]) -> Transcripts {
    extension(
        |channel, rng| {
            let mut ot = precomputed::Sender::new(kos15::Sender::setup(channel, rng)?);
            ot.prepare(100, channel)?;
            Ok(ot)
        },
        |channel, rng| {
            let mut ot = precomputed::Receiver::new(kos15::Receiver::setup(channel, rng)?, rng);
            ot.prepare(100, channel)?;
            Ok(ot)
        },
        choices,
        messages,
    )
}

const FIELD: SmallField = SmallField::new(8);

/// Silent OT over malicious SoftSpokenOT, which sends everything that it sends over the semi-honest one.
fn silent_ot(choices: &Bits) -> Transcripts {
    transcript::of(
        |channel, rng| {
            let cot = malicious::Sender::setup(FIELD, channel, rng)?;
            let mut ot = silent_ot::Sender::setup(cot, GUESSED_ONES, channel, rng)?;
            ot.send_random(choices.len(), channel)
        },
        |channel, rng| {
            let cot = malicious::Receiver::setup(FIELD, channel, rng)?;
            let mut ot = silent_ot::Receiver::setup(cot, GUESSED_ONES, channel, rng)?;
            ot.receive_random(choices, channel)
        },
    )
}

fn silent_vole(len: usize) -> Transcripts {
    transcript::of(
        |channel, rng| {
            let mut cot = semi_honest::Sender::setup(FIELD, channel, rng)?;
            silent::send(len, 60, UNIFORM, &mut cot, channel, rng).map(drop)
        },
        |channel, rng| {
            let mut cot = semi_honest::Receiver::setup(FIELD, channel, rng)?;
            silent::receive::<u64>(len, 60, UNIFORM, &mut cot, channel, rng).map(drop)
        },
    )
}

fn silent_vole_malicious(len: usize) -> Transcripts {
    transcript::of(
        |channel, rng| {
            let mut cot = malicious::Sender::setup(FIELD, channel, rng)?;
            let (_, answers) = silent::malicious::send(len, UNIFORM, &mut cot, channel, rng)?;
            answers.send(channel)?;
            channel.flush()
        },
        |channel, rng| {
            let mut cot = malicious::Receiver::setup(FIELD, channel, rng)?;
            silent::malicious::receive(len, UNIFORM, &mut cot, channel, rng)?
                .verify(channel)
                .map(drop)
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
        ("iknp03", iknp03(&choices, &messages)),
        ("kos15", kos15(&choices, &messages)),
        ("mr19", base::<Mr19<Ristretto>>(&few)),
        ("mr19-ffdhe3072", base::<Mr19<Ffdhe3072>>(&few)),
        ("np01", base::<Np01<Ristretto>>(&few)),
        ("np01-ffdhe3072", base::<Np01<Ffdhe3072>>(&few)),
        ("precomputed", precomputed(&choices, &messages)),
        ("silent-ot", silent_ot(&choices)),
        ("silent-vole", silent_vole(20_011)),
        ("silent-vole-malicious", silent_vole_malicious(20_011)),
        ("softspoken", softspoken(&choices, &messages)),
        ("softspoken-malicious", softspoken_malicious(&choices, &messages)),
    ]);
}

#[test]
fn portable_kernels_send_the_same() {
    again_with_portable_kernels("transcripts::equal_the_baseline");
}

/// Like [`lengths_do_not_depend_on_inputs`]; the lengths also add up to [`BaseOt::bytes`].
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
    let extensions: [fn(&Bits, &[u8]) -> Transcripts; 6] =
        [alsz13, iknp03, kos15, precomputed, softspoken, softspoken_malicious];
    for extension in extensions {
        let zeros = extension(&Bits::zeros(n), &vec![0; 80 * n]);
        assert_eq!(zeros.shape(), extension(&ones(n), &vec![255; 80 * n]).shape());
    }
}

/// A setup and a call of random OT, of several sizes.
fn predicted<S: CotSender, R: CotReceiver>(
    sender: Setup<S>,
    receiver: Setup<R>,
    setup: Bytes,
    bytes: impl Fn(usize) -> Bytes,
) {
    for n in [0, 1, 127, 128, 129, 5001] {
        let transcripts = transcript::of(
            |channel, rng| sender(channel, rng)?.send_random(n, channel),
            |channel, rng| receiver(channel, rng)?.receive_random(&Bits::zeros(n), channel),
        );
        let sent = Bytes {
            to_sender: transcripts.receiver.payload_bytes(),
            to_receiver: transcripts.sender.payload_bytes(),
        };
        let call = bytes(n);
        let expected = Bytes {
            to_sender: setup.to_sender + call.to_sender,
            to_receiver: setup.to_receiver + call.to_receiver,
        };
        assert_eq!(sent, expected, "{n} OTs");
    }
}

#[test]
fn bytes_are_what_formulas_say() {
    predicted(iknp03::Sender::setup, iknp03::Receiver::setup, iknp03::setup_bytes(), iknp03::bytes);
    predicted(alsz13::Sender::setup, alsz13::Receiver::setup, alsz13::setup_bytes(), alsz13::bytes);
    predicted(kos15::Sender::setup, kos15::Receiver::setup, kos15::setup_bytes(), kos15::bytes);
    predicted(
        |channel, rng| semi_honest::Sender::setup(FIELD, channel, rng),
        |channel, rng| semi_honest::Receiver::setup(FIELD, channel, rng),
        semi_honest::setup_bytes(FIELD),
        |n| semi_honest::bytes(FIELD, n),
    );
    predicted(
        |channel, rng| malicious::Sender::setup(FIELD, channel, rng),
        |channel, rng| malicious::Receiver::setup(FIELD, channel, rng),
        malicious::setup_bytes(FIELD),
        |n| malicious::bytes(FIELD, n),
    );
    // A stock that suffices for every size: everything else is online.
    const STOCK: usize = 5001;
    let (setup, offline) = (kos15::setup_bytes(), kos15::bytes(STOCK));
    predicted(
        |channel, rng| {
            let mut ot = precomputed::Sender::new(kos15::Sender::setup(channel, rng)?);
            ot.prepare(STOCK, channel)?;
            Ok(ot)
        },
        |channel, rng| {
            let mut ot = precomputed::Receiver::new(kos15::Receiver::setup(channel, rng)?, rng);
            ot.prepare(STOCK, channel)?;
            Ok(ot)
        },
        Bytes {
            to_sender: setup.to_sender + offline.to_sender,
            to_receiver: setup.to_receiver + offline.to_receiver,
        },
        precomputed::bytes,
    );
}

/// IKNP03 sends both masked columns, ALSZ13 one.
#[test]
fn alsz13_sends_half_of_iknp03() {
    for n in [1, 129, 1 << 20] {
        assert_eq!(2 * alsz13::bytes(n).to_sender, iknp03::bytes(n).to_sender);
    }
}
