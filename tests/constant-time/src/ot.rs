//! Oblivious transfer and VOLE between two parties whose choices, Δ, exponents and punctured points are secret.

use vesica_net::{Channel, Error, Result};
use vesica_ot::{
    CotReceiver, CotSender, ZeroizingVec,
    base::BaseOt,
    extension::{
        alsz13, iknp03, kos15, silent,
        softspoken::{SmallField, malicious, semi_honest},
    },
    vole,
};
use vesica_params::lpn::{ONES, UNIFORM};
use vesica_primitives::{Bits, Block, declassify, gf::multiply128};

use crate::{
    marks::{SecretRng, public},
    parties::run,
};

/// Base OTs of a call: more than one message contains.
const BASE: usize = 33;

/// OTs of a call: more than one chunk of rows, and not a multiple of a block.
const OTS: usize = 1_000;

const FIELD: SmallField = SmallField::new(2);

/// A base OT with secret choices and exponents.
pub fn base<B: BaseOt>() {
    let (pairs, (choices, chosen)) = run(
        |channel, rng| B::send(BASE, channel, rng),
        |channel, rng| {
            let choices = Bits::random(BASE, rng);
            let chosen = B::receive(&choices, channel, rng)?;
            Ok((choices, chosen))
        },
    );
    public(choices.blocks());
    for ((pair, choice), chosen) in pairs.iter().zip(choices.iter()).zip(&chosen) {
        let (sent, received) = (*pair[usize::from(choice)].expose(), *chosen.expose());
        assert!(declassify(sent) == declassify(received), "the chosen seed");
    }
}

/// A setup of one party.
type OtSetup<T> = fn(&mut Channel, &mut SecretRng) -> Result<T>;

/// Correlated, random and chosen-message OT by an extension.
pub fn extension<S: CotSender, R: CotReceiver>(sender: OtSetup<S>, receiver: OtSetup<R>) {
    let ((delta, sent), (choices, received)) = run(
        |channel, rng| {
            let mut ot = sender(channel, rng)?;
            let sent = ot.send_correlated(OTS, channel)?;
            ot.send_random(OTS, channel)?;
            let mut messages = vec![0; 2 * OTS * 20];
            rand::Rng::fill_bytes(rng, &mut messages);
            ot.send_chosen(&messages, 20, channel)?;
            Ok::<_, Error>((ot.delta().expose()[0], sent))
        },
        |channel, rng| {
            let mut ot = receiver(channel, rng)?;
            let choices = Bits::random(OTS, rng);
            let received = ot.receive_correlated(&choices, channel)?;
            ot.receive_random(&choices, channel)?;
            ot.receive_chosen(&choices, 20, channel)?;
            Ok((choices, received))
        },
    );
    correlated(delta, &sent, &choices, &received);
}

fn correlated(delta: Block, sent: &[Block], choices: &Bits, received: &[Block]) {
    let differ = sent.iter().zip(received).zip(choices.iter());
    let differ = differ.fold(Block::ZERO, |all, ((q, t), c)| {
        let difference = *q ^ *t ^ (delta & Block::mask(c));
        Block(all.0 | difference.0)
    });
    assert!(declassify(differ) == Block::ZERO, "shares that differ by the choice times Δ");
}

/// IKNP03.
pub fn iknp03() {
    extension(|c, r| iknp03::Sender::setup(c, r), |c, r| iknp03::Receiver::setup(c, r));
}

/// ALSZ13.
pub fn alsz13() {
    extension(|c, r| alsz13::Sender::setup(c, r), |c, r| alsz13::Receiver::setup(c, r));
}

/// KOS15, with its check.
pub fn kos15() {
    extension(|c, r| kos15::Sender::setup(c, r), |c, r| kos15::Receiver::setup(c, r));
}

/// SoftSpokenOT, semi-honest: trees with secret punctured points.
pub fn softspoken() {
    extension(
        |c, r| semi_honest::Sender::setup(FIELD, c, r),
        |c, r| semi_honest::Receiver::setup(FIELD, c, r),
    );
}

/// SoftSpokenOT, malicious: with the checks of trees and columns.
pub fn softspoken_malicious() {
    extension(
        |c, r| malicious::Sender::setup(FIELD, c, r),
        |c, r| malicious::Receiver::setup(FIELD, c, r),
    );
}

/// Silent OT: secret places of the noise, which are the punctured points of the trees.
pub fn silent_ot() {
    let ((delta, sent), (choices, received)) = run(
        |channel, rng| {
            let beneath = semi_honest::Sender::setup(FIELD, channel, rng)?;
            let mut ot = silent::Sender::setup(beneath, ONES, channel, rng)?;
            let mut sent = vec![Block::ZERO; OTS];
            ot.extend_into(&mut sent, channel)?;
            Ok::<_, Error>((ot.delta().expose()[0], sent))
        },
        |channel, rng| {
            let beneath = semi_honest::Receiver::setup(FIELD, channel, rng)?;
            let mut ot = silent::Receiver::setup(beneath, ONES, channel, rng)?;
            let mut received = vec![Block::ZERO; OTS];
            let choices = ot.extend_into(&mut received, channel)?;
            Ok((choices, received))
        },
    );
    correlated(delta, &sent, &choices, &received);
}

/// Silent VOLE, semi-honest: secret Δ, places and values.
pub fn silent_vole() {
    let (sender, receiver) = run(
        |channel, rng| {
            let mut cot = semi_honest::Sender::setup(FIELD, channel, rng)?;
            vole::silent::send(OTS, 128, UNIFORM, &mut cot, channel, rng)
        },
        |channel, rng| {
            let mut cot = semi_honest::Receiver::setup(FIELD, channel, rng)?;
            vole::silent::receive::<Block>(OTS, 128, UNIFORM, &mut cot, channel, rng)
        },
    );
    is_vole(sender.delta.expose()[0], &sender.b, &receiver.a, &receiver.c);
}

/// Silent VOLE, malicious: with the check of noise and Δ.
pub fn silent_vole_malicious() {
    let (sender, receiver) = run(
        |channel, rng| {
            let mut cot = malicious::Sender::setup(FIELD, channel, rng)?;
            let (share, answers) =
                vole::silent::malicious::send(OTS, UNIFORM, &mut cot, channel, rng)?;
            answers.send(channel)?;
            channel.flush()?;
            Ok(share)
        },
        |channel, rng| {
            let mut cot = malicious::Receiver::setup(FIELD, channel, rng)?;
            vole::silent::malicious::receive(OTS, UNIFORM, &mut cot, channel, rng)?.verify(channel)
        },
    );
    is_vole(sender.delta.expose()[0], &sender.b, &receiver.a, &receiver.c);
}

fn is_vole(
    delta: Block,
    b: &ZeroizingVec<Block>,
    a: &ZeroizingVec<Block>,
    c: &ZeroizingVec<Block>,
) {
    let entries = b.iter().zip(a.iter()).zip(c.iter());
    let differ = entries.fold(Block::ZERO, |all, ((b, a), c)| {
        let product = multiply128(*a, delta);
        Block(all.0 | (*b ^ *c ^ product).0)
    });
    assert!(declassify(differ) == Block::ZERO, "c = b + a·Δ");
}
