//! Circuits on secret inputs of both parties.

use vesica_circuit::{
    Engine, Party, WireBits,
    gadgets::compare,
    garbling::{Evaluator, Garbler},
    gmw::{self, Gmw},
    triples::{Demand, Extension},
};
use vesica_net::Channel;
use vesica_ot::extension::alsz13;

use crate::{
    marks::{SecretRng, public},
    parties::run,
};

/// Bits of each number.
const WIDTH: usize = 33;

/// More instances than a word has bits, and not a multiple of that.
const INSTANCES: usize = 77;

/// A party's inputs, and the answers if they are revealed to it.
struct Ends {
    own: WireBits,
    answers: Option<WireBits>,
}

/// Computes whether numbers are equal. Everything is secret until the answers are revealed to the second party.
fn equality<E: Engine>(engine: &mut E, role: Party, rng: &mut SecretRng) -> Result<Ends, E::Error> {
    let own = WireBits::random(WIDTH, INSTANCES, rng);
    let mut input = |owner| {
        let bits = (owner == role).then_some(&own);
        engine.input(owner, WIDTH, INSTANCES, bits)
    };
    let both = [input(Party::First)?, input(Party::Second)?];
    let inputs = vesica_circuit::Values::stack(&both.each_ref());
    let equal = engine.run(&compare::equality(WIDTH), &inputs)?;
    Ok(Ends { own, answers: engine.reveal(&equal, Party::Second)? })
}

fn compare_answers(first: Ends, second: Ends) {
    let (left, right) = (first.own, second.own);
    let answers = second.answers.expect("the second party learns the answers");
    [&left, &right, &answers].iter().for_each(|bits| public(bits.words()));
    let equal = left.to_items().into_iter().zip(right.to_items()).map(|(l, r)| l == r);
    assert!((0..INSTANCES).map(|i| answers.get(0, i)).eq(equal), "the answers in the clear");
}

/// GMW, with triples from an extension.
fn gmw(extension: Extension) {
    let party = |role: Party| {
        move |channel: &mut Channel, rng: &mut SecretRng| -> Result<Ends, gmw::Error> {
            let demand = Demand::of_ands(&compare::equality(WIDTH), INSTANCES);
            let triples = extension.make(role, &demand, channel, rng)?;
            equality(&mut Gmw::new(role, triples, channel), role, rng)
        }
    };
    let (left, right) = run(party(Party::First), party(Party::Second));
    compare_answers(left, right);
}

/// GMW, with triples from ALSZ13.
pub fn gmw_alsz13() {
    gmw(Extension::Alsz13);
}

/// GMW, with triples from silent OT.
pub fn gmw_silent() {
    gmw(Extension::SILENT);
}

/// Garbled circuits.
pub fn garbling() {
    let (left, right) = run(
        |channel, rng| {
            let ot = alsz13::Sender::setup(channel, rng)?;
            let mut garbler = Garbler::new(ot, channel, rng)?;
            equality(&mut garbler, Party::First, rng)
        },
        |channel, rng| {
            let ot = alsz13::Receiver::setup(channel, rng)?;
            equality(&mut Evaluator::new(ot, channel)?, Party::Second, rng)
        },
    );
    compare_answers(left, right);
}
