//! An honest party against a peer that deviates at each message in each possible way.

use std::thread;

use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use vesica_net::Channel;
use vesica_ot::{
    CotReceiver, CotSender, Result,
    base::{BaseOt, co15::Co15, extended::Extended, mr19::Mr19, np01::Np01},
    extension::{
        alsz13, iknp03, kos15, precomputed, silent,
        softspoken::{SmallField, malicious},
    },
    vole,
};
use vesica_params::lpn::{Lpn, ONES, UNIFORM};
use vesica_primitives::{
    Bits,
    group::{Ffdhe3072, Ristretto},
};
use vesica_testkit::tamper::{self, Case};

const OTS: usize = 40;

/// Number of base OTs, which are slow over some groups.
const BASE_OTS: usize = 3;

/// Bytes of a chosen message.
const LEN: usize = 20;

const FIELD: SmallField = SmallField::new(4);

/// Noise blocks of silent runs: few, so that messages are short.
const BLOCKS: usize = 24;

fn choices() -> Bits {
    Bits::random(OTS, &mut StdRng::seed_from_u64(1))
}

fn send_base<B: BaseOt>(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    B::send(BASE_OTS, channel, rng).map(drop)
}

fn receive_base<B: BaseOt>(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let choices = Bits::random(BASE_OTS, &mut StdRng::seed_from_u64(1));
    B::receive(&choices, channel, rng).map(drop)
}

/// Makes one party of an OT extension.
type Setup<Party> = fn(&mut Channel, &mut dyn CryptoRng) -> Result<Party>;

/// Chosen messages, which exercise every variant below them.
fn extension<S: CotSender, R: CotReceiver>(sender: Setup<S>, receiver: Setup<R>) {
    let send = |channel: &mut Channel, rng: &mut StdRng| {
        sender(channel, rng)?.send_chosen(&[7; 2 * OTS * LEN], LEN, channel)
    };
    let receive = |channel: &mut Channel, rng: &mut StdRng| {
        receiver(channel, rng)?.receive_chosen(&choices(), LEN, channel).map(drop)
    };
    tamper::against(send, receive, only_what_does_no_harm);
    tamper::against(receive, send, only_what_does_no_harm);
}

/// Either party deviates, over either group; all cases at once, since most of the time is spent waiting.
fn base<OverRistretto: BaseOt, OverFfdhe3072: BaseOt>() {
    fn sender<B: BaseOt>() {
        tamper::against(send_base::<B>, receive_base::<B>, only_what_co15_does_not_check);
    }
    fn receiver<B: BaseOt>() {
        tamper::against(receive_base::<B>, send_base::<B>, |_, ()| {});
    }
    thread::scope(|scope| {
        scope.spawn(sender::<OverRistretto>);
        scope.spawn(receiver::<OverRistretto>);
        scope.spawn(sender::<OverFfdhe3072>);
        scope.spawn(receiver::<OverFfdhe3072>);
    });
}

fn send_silent(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let cot = malicious::Sender::setup(FIELD, channel, rng)?;
    let lpn = Lpn { blocks: BLOCKS, least: 0, ..ONES };
    silent::Sender::setup(cot, lpn, channel, rng)?.send_random(OTS, channel).map(drop)
}

fn receive_silent(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let cot = malicious::Receiver::setup(FIELD, channel, rng)?;
    let lpn = Lpn { blocks: BLOCKS, least: 0, ..ONES };
    let mut ot = silent::Receiver::setup(cot, lpn, channel, rng)?;
    ot.receive_random(&choices(), channel).map(drop)
}

fn send_silent_vole(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let mut cot = malicious::Sender::setup(FIELD, channel, rng)?;
    let lpn = Lpn { blocks: BLOCKS, least: 0, ..UNIFORM };
    let (_, answers) = vole::silent::malicious::send(OTS, lpn, &mut cot, channel, rng)?;
    answers.send(channel)?;
    channel.flush()
}

fn receive_silent_vole(channel: &mut Channel, rng: &mut StdRng) -> Result<()> {
    let mut cot = malicious::Receiver::setup(FIELD, channel, rng)?;
    let lpn = Lpn { blocks: BLOCKS, least: 0, ..UNIFORM };
    vole::silent::malicious::receive(OTS, lpn, &mut cot, channel, rng)?.verify(channel).map(drop)
}

/// Changed content that is not refused: in these steps there must be none.
fn only_what_does_no_harm(case: &Case, (): ()) {
    let checked = [
        "pprf/generator",
        "pprf/tag-digest",
        "extension/answer",
        "half-tree/keys",
        "half-tree/sums",
        "noise/corrections",
        "noise/answer",
    ];
    assert!(!checked.contains(&case.label.as_str()), "{case:?}: not noticed");
}

#[test]
fn silent_ot() {
    tamper::against(send_silent, receive_silent, only_what_does_no_harm);
    tamper::against(receive_silent, send_silent, only_what_does_no_harm);
}

#[test]
fn silent_vole() {
    tamper::against(send_silent_vole, receive_silent_vole, only_what_does_no_harm);
    tamper::against(receive_silent_vole, send_silent_vole, only_what_does_no_harm);
}

/// Only changes of commitment and opening must be noticed.
fn only_what_co15_does_not_check(case: &Case, (): ()) {
    let checked = ["co15/commitment", "co15/opening"];
    assert!(!checked.contains(&case.label.as_str()), "{case:?}: not noticed");
}

#[test]
fn np01() {
    base::<Np01<Ristretto>, Np01<Ffdhe3072>>();
}

#[test]
fn co15() {
    base::<Co15<Ristretto>, Co15<Ffdhe3072>>();
}

#[test]
fn mr19() {
    base::<Mr19<Ristretto>, Mr19<Ffdhe3072>>();
}

/// With enough OTs to use an extension.
#[test]
fn base_ots_by_way_of_an_extension() {
    const BASE_OTS: usize = 200;
    let send =
        |channel: &mut Channel, rng: &mut StdRng| Extended::send(BASE_OTS, channel, rng).map(drop);
    let receive = |channel: &mut Channel, rng: &mut StdRng| {
        let choices = Bits::random(BASE_OTS, &mut StdRng::seed_from_u64(1));
        Extended::receive(&choices, channel, rng).map(drop)
    };
    tamper::against(send, receive, only_what_does_no_harm);
    tamper::against(receive, send, only_what_does_no_harm);
}

#[test]
fn alsz13() {
    extension(alsz13::Sender::setup, alsz13::Receiver::setup);
}

#[test]
fn iknp03() {
    extension(iknp03::Sender::setup, iknp03::Receiver::setup);
}

/// With a stock for some of the OTs, so that KOS15 runs before and in between.
#[test]
fn precomputed_over_kos15() {
    extension(
        |channel, rng| {
            let mut ot = precomputed::Sender::new(kos15::Sender::setup(channel, rng)?);
            ot.prepare(OTS / 2, channel)?;
            Ok(ot)
        },
        |channel, rng| {
            let mut ot = precomputed::Receiver::new(kos15::Receiver::setup(channel, rng)?, rng);
            ot.prepare(OTS / 2, channel)?;
            Ok(ot)
        },
    );
}
