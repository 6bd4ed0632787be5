//! Circuits on secret inputs of both parties.

use rand::Rng as _;
use vesica_circuit::{
    Engine, Party, RowLayout, Width, WireBits,
    any::{self, Groups},
    arithmetic,
    gadgets::compare,
    garbling::{Evaluator, Garbler},
    gmw::{self, Gmw},
    lookup::{self, TableShape},
    scatter,
    triples::{Demand, Extension},
};
use vesica_net::Channel;
use vesica_ot::extension::alsz13;
use vesica_primitives::{Bits, Block};

use crate::{
    marks::{SecretRng, public, secret},
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

/// Groups of two scatters, not powers of two: trees that are grown together, and trees with levels grown one by one.
const GROUPS: [u32; 2] = [5, 300];

/// A random row of secret numbers for each instance.
fn rows(layout: RowLayout, rng: &mut SecretRng) -> Vec<u8> {
    let mut rows = vec![0; INSTANCES * layout.len()];
    rng.fill_bytes(&mut rows);
    rows
}

/// Products of secret bits and rows of numbers, longer than a block.
pub fn products() {
    let (layout, _) = RowLayout::new(&[Width::Bits32, Width::Bits64, Width::Bits128]);
    let bits = |rng: &mut SecretRng| {
        let blocks = (0..INSTANCES.div_ceil(128)).map(|_| Block::random(rng)).collect();
        Bits::from_blocks(blocks, INSTANCES)
    };
    let (known, hidden) = run(
        |channel, rng| {
            let mut ot = alsz13::Sender::setup(channel, rng)?;
            let (bits, rows) = (bits(rng), rows(layout, rng));
            arithmetic::scale_known(&bits, &rows, layout, &mut ot, channel, rng)
        },
        |channel, rng| {
            let mut ot = alsz13::Receiver::setup(channel, rng)?;
            arithmetic::scale_hidden(&bits(rng), layout, &mut ot, channel)
        },
    );
    assert_eq!(known.len(), hidden.len());
}

/// Sums by group of secret rows with secret labels.
pub fn groups() {
    let [few, many] = GROUPS;
    scatter(&[Width::Bits32, Width::Bits64], few);
    scatter(&[Width::Bits32, Width::Bits64, Width::Bits64], many);
}

fn scatter(widths: &[Width], count: u32) {
    let (layout, _) = RowLayout::new(widths);
    let groups = count as usize;
    let (left, right) = run(
        |channel, rng| {
            let mut ot = alsz13::Sender::setup(channel, rng)?;
            scatter::scatter_hidden(&rows(layout, rng), layout, groups, &mut ot, channel, rng)
        },
        |channel, rng| {
            let mut ot = alsz13::Receiver::setup(channel, rng)?;
            let mut labels: Vec<u32> = (0..INSTANCES as u32).map(|i| i * 7 % count).collect();
            secret(&mut labels);
            let rows = rows(layout, rng);
            scatter::scatter_known(&rows, &labels, layout, groups, &mut ot, channel)
        },
    );
    assert_eq!(left.len(), right.len());
}

/// Look-ups in secret tables at secret positions: with masks of a block, and with longer ones.
pub fn lookups() {
    look_up(TableShape { positions: 16, bits: 3 });
    look_up(TableShape { positions: 64, bits: 8 });
}

fn look_up(shape: TableShape) {
    let parts = |rng: &mut SecretRng| {
        let mut parts = vec![0; INSTANCES];
        rng.fill_bytes(&mut parts);
        parts.iter_mut().for_each(|part| *part %= shape.positions as u8);
        parts
    };
    let (known, hidden) = run(
        |channel, rng| {
            let mut ot = alsz13::Sender::setup(channel, rng)?;
            let mut tables = vec![0; INSTANCES * shape.bits];
            tables.fill_with(|| Block::random(rng).low() & (u64::MAX >> (64 - shape.positions)));
            lookup::look_up_known(&tables, &parts(rng), shape, &mut ot, channel, rng)
        },
        |channel, rng| {
            let mut ot = alsz13::Receiver::setup(channel, rng)?;
            lookup::look_up_hidden(&parts(rng), shape, &mut ot, channel)
        },
    );
    assert_eq!(known.wires(), hidden.wires());
}

/// Whether secret bits of groups are 1. Only the party that knows the groups may depend on them, so they are public here.
pub fn any_of_groups() {
    let bits = |rng: &mut SecretRng| {
        let blocks = (0..INSTANCES.div_ceil(128)).map(|_| Block::random(rng)).collect();
        Bits::from_blocks(blocks, INSTANCES)
    };
    let members: Vec<_> =
        (0..INSTANCES as u32).map(|i| (i % 7 > 0).then_some(i * 5 % 31)).collect();
    let groups = Groups::new(&members, 5);
    let (hidden, known) = run(
        |channel, rng| {
            let mut ot = alsz13::Sender::setup(channel, rng)?;
            any::any_hidden(&bits(rng), 5, &mut ot, channel, rng)
        },
        |channel, rng| {
            let mut ot = alsz13::Receiver::setup(channel, rng)?;
            any::any_known(&bits(rng), &groups, &mut ot, channel, rng)
        },
    );
    assert_eq!(hidden.len(), known.len());
}
