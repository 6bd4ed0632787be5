//! Every 1-out-of-n oblivious transfer: the conformance suite, the bytes sent, and peers that deviate.

use rand::{SeedableRng, rngs::StdRng};
use vesica_net::Channel;
use vesica_ot::{
    Bytes, Error, Malicious, Result,
    one_of_n::{MessageShape, Receiver, Sender, kk13, kkrt16, oos17},
};
use vesica_params::Adversary;
use vesica_primitives::{
    Block,
    code::{Bch, LinearCode, Repetition, WalshHadamard},
};
use vesica_testkit::{
    conformance::one_of_n,
    tamper::{self, Case},
    transcript::{self, Transcripts, again_with_portable_kernels, check_baseline},
};

/// Wide enough for any number of keys in these tests, and not a whole number of blocks.
const WIDTH: usize = 424;

mod conform {
    use super::*;

    #[test]
    fn kk13() {
        one_of_n::extension(kk13::Sender::setup, kk13::Receiver::setup);
    }

    #[test]
    fn kkrt16() {
        one_of_n::extension(
            |channel, rng| kkrt16::Sender::setup(WIDTH, channel, rng),
            |channel, rng| kkrt16::Receiver::setup(WIDTH, channel, rng),
        );
    }

    #[test]
    fn oos17_bch() {
        one_of_n::extension(
            |channel, rng| oos17::Sender::setup(Bch::new(), channel, rng),
            |channel, rng| oos17::Receiver::setup(Bch::new(), channel, rng),
        );
    }

    #[test]
    fn oos17_walsh_hadamard() {
        one_of_n::extension(
            |channel, rng| oos17::Sender::setup(WalshHadamard, channel, rng),
            |channel, rng| oos17::Receiver::setup(WalshHadamard, channel, rng),
        );
    }

    /// The construction with the repetition code, as 1-out-of-2 OT.
    #[test]
    fn oos17_repetition() {
        one_of_n::extension(
            |channel, rng| oos17::Sender::setup(Repetition, channel, rng),
            |channel, rng| oos17::Receiver::setup(Repetition, channel, rng),
        );
    }
}

/// The number of messages per OT in [`chosen`], and their length in bytes.
const MESSAGES: MessageShape = MessageShape { n: 5, len: 40 };

/// Chosen messages, which exercise the random variant. `setup` makes both parties, with the code of this key in
/// tests that cover all extensions.
fn chosen<S: Sender, R: Receiver>(
    sender: impl FnOnce(&mut Channel, &mut StdRng) -> Result<S> + Send,
    receiver: impl FnOnce(&mut Channel, &mut StdRng) -> Result<R> + Send,
    (choices, messages): (&[u8], &[u8]),
) -> Transcripts {
    transcript::of(
        |channel, rng| sender(channel, rng)?.send_chosen(messages, MESSAGES, channel, rng),
        |channel, rng| {
            receiver(channel, rng)?.receive_chosen(choices, MESSAGES, channel, rng)?;
            Ok::<_, Error>(())
        },
    )
}

/// The transcripts of each extension for these choices and messages, under its key.
fn transcripts(inputs: (&[u8], &[u8])) -> [(&'static str, Transcripts); 4] {
    [
        ("kk13", chosen(kk13_sender, kk13_receiver, inputs)),
        ("one-of-n-kkrt16", chosen(kkrt16_sender, kkrt16_receiver, inputs)),
        ("oos17", chosen(oos17_sender(Bch::new()), oos17_receiver(Bch::new()), inputs)),
        (
            "oos17-walsh-hadamard",
            chosen(oos17_sender(WalshHadamard), oos17_receiver(WalshHadamard), inputs),
        ),
    ]
}

fn kk13_sender(channel: &mut Channel, rng: &mut StdRng) -> Result<kk13::Sender> {
    kk13::Sender::setup(channel, rng)
}

fn kk13_receiver(channel: &mut Channel, rng: &mut StdRng) -> Result<kk13::Receiver> {
    kk13::Receiver::setup(channel, rng)
}

fn kkrt16_sender(channel: &mut Channel, rng: &mut StdRng) -> Result<kkrt16::Sender> {
    kkrt16::Sender::setup(WIDTH, channel, rng)
}

fn kkrt16_receiver(channel: &mut Channel, rng: &mut StdRng) -> Result<kkrt16::Receiver> {
    kkrt16::Receiver::setup(WIDTH, channel, rng)
}

fn oos17_sender<C: LinearCode>(
    code: C,
) -> impl FnOnce(&mut Channel, &mut StdRng) -> Result<oos17::Sender<C>> {
    |channel, rng| oos17::Sender::setup(code, channel, rng)
}

fn oos17_receiver<C: LinearCode>(
    code: C,
) -> impl FnOnce(&mut Channel, &mut StdRng) -> Result<oos17::Receiver<C>> {
    |channel, rng| oos17::Receiver::setup(code, channel, rng)
}

#[test]
fn equal_the_baseline() {
    let choices: Vec<u8> = (0..5001).map(|j| (j * j % 5) as u8).collect();
    let messages: Vec<u8> = (0..5001 * 5 * 40).map(|i| (i * 11 % 251) as u8).collect();
    check_baseline(&transcripts((&choices, &messages)));
}

#[test]
fn portable_kernels_send_the_same() {
    again_with_portable_kernels("one_of_n::equal_the_baseline");
}

#[test]
fn lengths_do_not_depend_on_inputs() {
    let (zeros, ones) = ([0; 300], [4; 300]);
    let zeros = transcripts((&zeros, &[0; 300 * 200]));
    for ((key, zeros), (_, ones)) in zeros.iter().zip(&transcripts((&ones, &[255; 300 * 200]))) {
        assert_eq!(zeros.shape(), ones.shape(), "{key}");
    }
}

/// The cost of the setup and of a call of 5001 OTs of chosen messages is as computed.
#[test]
fn lengths_are_those_computed() {
    let ots = 5001;
    let (choices, messages) = (vec![3; ots], vec![7; ots * 5 * 40]);
    let of = |setup: Bytes, call: Bytes| {
        [setup.to_sender + call.to_sender, setup.to_receiver + call.to_receiver + messages.len()]
    };
    let computed = [
        of(kk13::setup_bytes(), kk13::bytes(ots)),
        of(kkrt16::setup_bytes(WIDTH), kkrt16::bytes(WIDTH, ots)),
        of(oos17::setup_bytes::<Bch>(), oos17::bytes::<Bch>(ots)),
        of(oos17::setup_bytes::<WalshHadamard>(), oos17::bytes::<WalshHadamard>(ots)),
    ];
    for ((key, found), computed) in transcripts((&choices, &messages)).iter().zip(computed) {
        let found = [found.receiver.payload_bytes(), found.sender.payload_bytes()];
        assert_eq!(found, computed, "{key}");
    }
}

#[test]
fn only_the_malicious_one_is_called_so() {
    fn adversaries<S: Sender + Malicious, R: Receiver + Malicious>() -> [Adversary; 2] {
        [S::ADVERSARY, R::ADVERSARY]
    }
    let both = adversaries::<oos17::Sender<Bch>, oos17::Receiver<Bch>>();
    assert_eq!(both, [Adversary::Malicious; 2]);
    for of_sender in [kk13::Sender::ADVERSARY, kkrt16::Sender::ADVERSARY] {
        assert_eq!(of_sender, Adversary::SemiHonest);
    }
}

/// An honest party against a peer that deviates at each message in each possible way.
mod deviating {
    use super::*;

    const OTS: usize = 40;

    /// Two calls, one of random OT and one of chosen messages.
    fn send<S: Sender>(mut ot: S, channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
        ot.send_random(OTS, channel, rng)?;
        ot.send_chosen(&[7; OTS * 5 * 40], MESSAGES, channel, rng)
    }

    fn receive<R: Receiver>(mut ot: R, channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
        ot.receive_random(&[Block(1); OTS], channel, rng)?;
        ot.receive_chosen(&[2; OTS], MESSAGES, channel, rng).map(drop)
    }

    type Party = fn(&mut Channel, &mut StdRng) -> Result<()>;

    fn both(sender: Party, receiver: Party, accepts: fn(&Case, ())) {
        tamper::against(sender, receiver, accepts);
        tamper::against(receiver, sender, accepts);
    }

    #[test]
    fn kk13() {
        both(
            |channel, rng| send(kk13_sender(channel, rng)?, channel, rng),
            |channel, rng| receive(kk13_receiver(channel, rng)?, channel, rng),
            |_, ()| {},
        );
    }

    #[test]
    fn kkrt16() {
        both(
            |channel, rng| send(kkrt16_sender(channel, rng)?, channel, rng),
            |channel, rng| receive(kkrt16_receiver(channel, rng)?, channel, rng),
            |_, ()| {},
        );
    }

    /// Changed content that is not refused: answers must be refused.
    fn not_an_answer(case: &Case, (): ()) {
        assert!(case.label != "oos17/answer", "{case:?}: not noticed");
    }

    #[test]
    fn oos17() {
        both(
            |channel, rng| send(oos17_sender(WalshHadamard)(channel, rng)?, channel, rng),
            |channel, rng| receive(oos17_receiver(WalshHadamard)(channel, rng)?, channel, rng),
            not_an_answer,
        );
    }
}

/// A setup whose randomness differs from the other party's: keys do not agree by chance.
#[test]
fn keys_are_fresh_in_each_session() {
    let keys = |seed: u64| {
        let (keys, _) = vesica_testkit::two_party::run(
            vesica_testkit::two_party::Link::Memory,
            move |channel, _| {
                let rng = &mut StdRng::seed_from_u64(seed);
                kk13::Sender::setup(channel, rng)?.send_random(10, channel, rng)
            },
            |channel, rng| {
                kk13::Receiver::setup(channel, rng)?.receive_random(&[Block(1); 10], channel, rng)
            },
        );
        vesica_ot::one_of_n::Keys::all(&keys, 4)
    };
    let (left, right) = (keys(1), keys(2));
    assert!(left.iter().zip(&right).all(|(left, right)| left != right));
}
