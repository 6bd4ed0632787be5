//! The cost of numbers by group.

use vesica_circuit::{Party as Role, RowLayout, arithmetic, scatter};
use vesica_ot::Bytes;

use super::{Plan, cells, share::OtUse};
use crate::{
    Cost, Memory,
    circuit_psi::{
        self, Construction, TRIPLE_ROUNDS, offline_bytes, ots, people::Joining, rs21::Silent,
    },
};

const NOTHING: Bytes = Bytes { to_sender: 0, to_receiver: 0 };

fn turned(bytes: Bytes) -> Bytes {
    Bytes { to_sender: bytes.to_receiver, to_receiver: bytes.to_sender }
}

/// Returns the cost of a plan: in its bytes, S is the sender.
pub(super) fn cost(plan: &Plan) -> Cost {
    let (shares, cells) = (plan.spread(), plan.joint());
    let is_spread = plan.other_groups > 1;
    // Otherwise the triples of step 8 are made on their own.
    let opens_at_once = plan.partitions == 1 && !is_spread;
    let mut bytes = bytes_of_shares(&shares, opens_at_once);
    if is_spread {
        bytes = bytes + offline_bytes::<Silent>(&cells::demand(&cells));
    }
    let [to_learner, to_other] = cells::bytes(&cells);
    bytes = bytes
        + match plan.cells.learner.role() {
            Role::First => Bytes { to_sender: to_learner, to_receiver: to_other },
            Role::Second => Bytes { to_sender: to_other, to_receiver: to_learner },
        };
    let opening = match cells::depth(&cells) {
        _ if !is_spread => 0,
        None => 1,
        Some(depth) => TRIPLE_ROUNDS + depth + 1,
    };
    Cost {
        bytes_to_sender: bytes.to_sender as f64,
        bytes_to_receiver: bytes.to_receiver as f64,
        rounds: rounds(&shares) + opening,
    }
}

/// Returns the bytes of steps 1 to 7 for a plan without labels of S, and of the triples of step 8 if it follows at
/// once.
fn bytes_of_shares(plan: &Plan, opens: bool) -> Bytes {
    let psi = plan.circuit_psi();
    let bins = psi.bins();
    let mut bytes = psi.bytes::<Silent>() + offline_bytes::<Silent>(&plan.demand(opens));
    let OtUse { from_other, from_table } = plan.ot_use();
    let setup = ots::setup_bytes();
    let products = |layout: RowLayout, count: usize| match layout.is_empty() {
        true => NOTHING,
        false => arithmetic::bytes(count, layout, ots::bytes),
    };
    if from_other {
        bytes = bytes + setup;
        for term in plan.mixed() {
            let (one, _) = RowLayout::new(&[term.width]);
            for range in plan.bits_at_once(bins) {
                bytes = bytes + products(one, range.len() * bins);
            }
        }
    }
    if from_table {
        bytes = bytes + turned(setup);
    }
    bytes = bytes + plan.joining().map_or(NOTHING, Joining::bytes) + plan.lookup_bytes(ots::bytes);
    for _ in 0..plan.labels_of_match() {
        for scaling in plan.scalings() {
            bytes = bytes + products(plan.known_to_other(scaling).layout, bins);
            bytes = bytes + turned(products(plan.known_to_table(scaling).layout, bins));
        }
        if plan.groups > 1 {
            bytes = bytes + scatter::bytes(bins, plan.layout().0, plan.groups, ots::bytes);
        }
    }
    bytes
}

/// Bytes of memory of a product of a bit and a row, beside the row.
const PRODUCT: usize = 64;

/// The peak memory of each party.
pub(super) fn memory(plan: &Plan) -> Memory {
    let spread = plan.spread_len() as f64;
    let plan = &plan.spread();
    let psi = plan.circuit_psi();
    let bins = psi.bins();
    let row = plan.layout().0.len() + plan.masking().len();
    let bits = match plan.mixed().next() {
        Some(_) => plan.bits_at_once(bins).map(|bits| bits.len()).max().unwrap_or(0),
        None => 0,
    };
    let products = (PRODUCT + 16) * bits * bins + 3 * row * bins;
    let groups = if plan.groups > 1 { 32 * bins + (1 << 24) } else { 0 };
    let more = (products + groups + plan.joining().map_or(0, Joining::memory)) as f64;
    let [of_other, of_table] = plan.lookup_memory().map(|bytes| bytes as f64);
    circuit_psi::memory::<Silent>(&psi).and(more + spread + of_other, more + of_table)
}

/// Flights, for sets whose messages are sent in one piece.
fn rounds(plan: &Plan) -> u32 {
    let OtUse { from_other, from_table } = plan.ot_use();
    let products =
        (ots::SETUP_ROUNDS + ots::CALL_ROUNDS) * (u32::from(from_other) + u32::from(from_table));
    let calls = plan.bits_at_once(plan.circuit_psi().bins()).count();
    let multiplied = 4 * (plan.mixed().count() * calls) as u32;
    let groups = if plan.groups > 1 { 4 } else { 0 };
    let last = match cells::depth(plan) {
        // S's next message goes together with its last products.
        None if !from_table => 0,
        None => 1,
        // The answer is known without asking.
        Some(0) => 0,
        Some(depth) => TRIPLE_ROUNDS + depth + 1,
    };
    let answers_by_circuit = last > TRIPLE_ROUNDS;
    Silent::ROUNDS
        + products
        + multiplied
        + groups
        + rounds_of_lookup(plan, answers_by_circuit)
        + plan.joining().map_or(0, Joining::rounds)
        + last
}

/// Flights of a look-up, and of all labels but the first. `has_triples` says whether triples are made anyway.
fn rounds_of_lookup(plan: &Plan, has_triples: bool) -> u32 {
    if plan.lookup.is_none() {
        return 0;
    }
    let triples = if has_triples { 0 } else { TRIPLE_ROUNDS };
    // Its messages go together with messages of products before and after it.
    let (looking_up, of_label) = match plan.terms.is_empty() {
        true => (3, 8),
        false if plan.mixed().next().is_some() => (4, 10),
        false => (6, 10),
    };
    let (labels, depth) = (plan.labels_of_match() as u32 - 1, plan.lookup_depth() - 1);
    let of_rows = match plan.rows_of_item() as u32 - 1 {
        0 => 0,
        // A look-up and products for each, and products of items.
        rows => 4 + 10 * rows + 7 * rows * labels,
    };
    triples + looking_up + depth + of_label * labels + of_rows
}
