//! `ot.json`: base OTs and the extension.

use serde_json::{Value, json};
use vesica_net::{Channel, Result};
use vesica_ot::{
    CotReceiver, CotSender,
    base::{BaseOt, mr19::Mr19, np01::Np01},
    extension::softspoken::{SmallField, malicious, semi_honest},
};
use vesica_primitives::{Bits, Block, group::Ristretto};
use vesica_testkit::vectors::{Draws, blocks, check, digest, messages, run};

const FIELD: SmallField = SmallField::new(8);

#[test]
fn vectors() {
    let made = json!({
        "np01": base::<Np01<Ristretto>>("ot/np01", 3),
        "mr19": base::<Mr19<Ristretto>>("ot/mr19", 3),
        "mr19_of_33": base::<Mr19<Ristretto>>("ot/mr19/33", 33),
        "rr22": extension(
            "ot/rr22",
            |channel, rng| semi_honest::Sender::setup(FIELD, channel, rng),
            |channel, rng| semi_honest::Receiver::setup(FIELD, channel, rng),
        ),
        "rr22-malicious": extension(
            "ot/rr22-malicious",
            |channel, rng| malicious::Sender::setup(FIELD, channel, rng),
            |channel, rng| malicious::Receiver::setup(FIELD, channel, rng),
        ),
    });
    check("ot", &made);
}

fn base<B: BaseOt>(name: &str, count: usize) -> Value {
    let choices: Bits = (0..count).map(|i| i % 3 != 1).collect();
    let (pairs, chosen, both) = run(
        name,
        |channel, rng| B::send(count, channel, rng),
        |channel, rng| B::receive(&choices, channel, rng),
    );
    let pairs: Vec<Block> = pairs.iter().flatten().map(|seed| *seed.expose()).collect();
    let chosen: Vec<Block> = chosen.iter().map(|seed| *seed.expose()).collect();
    json!({
        "draws_of_the_giver": format!("{name}/S"), "draws_of_the_chooser": format!("{name}/R"), "sid": "00".repeat(32),
        "choices": choices.iter().collect::<Vec<u8>>(),
        "sent_by_the_giver": messages(&both.sender, 1024, ""), "sent_by_the_chooser": messages(&both.receiver, 1024, ""),
        "outputs": blocks(&pairs), "chosen": blocks(&chosen),
    })
}

/// Choices of two random OTs with a correlated one between them.
fn choices() -> [Bits; 3] {
    [(5, 2), (130, 3), (4100, 5)].map(|(count, every)| (0..count).map(|i| i % every == 0).collect())
}

fn extension<S: CotSender + Send, R: CotReceiver + Send>(
    name: &str,
    sender: impl FnOnce(&mut Channel, &mut Draws) -> Result<S> + Send,
    receiver: impl FnOnce(&mut Channel, &mut Draws) -> Result<R> + Send,
) -> Value {
    let [first, between, last] = choices();
    let send = |channel: &mut Channel, rng: &mut Draws| -> Result<_> {
        let mut ot = sender(channel, rng)?;
        let one = ot.send_random(first.len(), channel)?;
        let two = ot.send_correlated(between.len(), channel)?;
        let three = ot.send_random(last.len(), channel)?;
        Ok((ot.delta().expose()[0], one, two, three))
    };
    let receive = |channel: &mut Channel, rng: &mut Draws| -> Result<_> {
        let mut ot = receiver(channel, rng)?;
        let one = ot.receive_random(&first, channel)?;
        let two = ot.receive_correlated(&between, channel)?;
        Ok((one, two, ot.receive_random(&last, channel)?))
    };
    let ((delta, pairs, q, later), (chosen, t, later_chosen), both) = run(name, send, receive);
    json!({
        "draws_of_S": format!("{name}/S"), "draws_of_R": format!("{name}/R"), "sid": "00".repeat(32), "delta": blocks(&[delta]),
        "sent_by_S": messages(&both.sender, 1024, ""), "sent_by_R": messages(&both.receiver, 1024, "pprf/sums"),
        "calls": [
            { "kind": "random", "n": 5, "choice_is_1_if_divisible_by": 2, "S": blocks(pairs.as_flattened()), "R": blocks(&chosen) },
            { "kind": "correlated", "n": 130, "choice_is_1_if_divisible_by": 3, "S": blocks(&q), "R": blocks(&t) },
            { "kind": "random", "n": 4100, "choice_is_1_if_divisible_by": 5,
              "S": digest(bytemuck::cast_slice(later.as_flattened())), "R": digest(bytemuck::cast_slice(&later_chosen)) },
        ],
    })
}
