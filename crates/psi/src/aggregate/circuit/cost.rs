//! The cost of numbers from circuit PSI.

use vesica_circuit::{Number, arithmetic, gmw};
use vesica_ot::{
    Bytes,
    extension::{silent, softspoken::semi_honest as softspoken},
};

use super::{CircuitProgram, FIELD, LPN, Silent};
use crate::{
    Cost, Memory,
    aggregate::{Aggregate, Query},
    circuit_psi::{self, Construction, TRIPLE_ROUNDS, offline_bytes},
};

/// Returns the cost of a method for this query.
pub(super) fn cost(query: Query) -> Cost {
    match query.aggregate {
        Aggregate::Products => cost_with::<u128>(query),
        _ => cost_with::<u64>(query),
    }
}

fn cost_with<N: Number>(query: Query) -> Cost {
    let program = CircuitProgram::<N>::new(query);
    let mut bytes = program.plan.bytes::<Silent>() + offline_bytes::<Silent>(&program.demand());
    let nothing = Bytes { to_sender: 0, to_receiver: 0 };
    let [sender, receiver] = program.products().map(|products| match products {
        0 => nothing,
        products => softspoken::setup_bytes(FIELD) + arithmetic::bytes::<N>(products, ot_bytes),
    });
    let multiplied = program.bits_at_once().fold(nothing, |bytes, bits| {
        bytes + arithmetic::bytes::<N>(bits.len() * program.plan.bins(), ot_bytes)
    });
    bytes = bytes + sender + multiplied;
    bytes = bytes + Bytes { to_sender: receiver.to_receiver, to_receiver: receiver.to_sender };
    let last = program.circuit().map_or(Bytes { to_sender: 0, to_receiver: N::LEN }, |c| {
        let gates = gmw::bytes(&c, 1, false);
        Bytes { to_sender: gates, to_receiver: gates + gmw::reveal_bytes(c.outputs().len(), 1) }
    });
    bytes = bytes + last;
    Cost {
        bytes_to_sender: bytes.to_sender as f64,
        bytes_to_receiver: bytes.to_receiver as f64,
        rounds: rounds(&program),
    }
}

/// Bytes of memory of a product of a bit and a number, while many are made at a time.
const PRODUCT: f64 = 64.0;

/// The peak memory of each party.
pub(super) fn memory(query: Query) -> Memory {
    let program = CircuitProgram::<u64>::new(query);
    let bits = program.bits_at_once().map(|bits| bits.len()).max().unwrap_or(0);
    let products = PRODUCT * (bits * program.plan.bins()) as f64;
    circuit_psi::memory::<Silent>(&program.plan).and(products, products)
}

/// Flights, for sets whose messages are sent in one piece.
fn rounds<N: Number>(program: &CircuitProgram<N>) -> u32 {
    let products = match program.products() {
        [_, 0] => 6,
        [0, _] => 6,
        _ => 12,
    };
    let multiplied = 4 * program.bits_at_once().count() as u32;
    let last = match program.circuit().map(|circuit| circuit.depth() as u32) {
        // S's next message goes together with its last products.
        None if program.products()[1] == 0 => 0,
        None => 1,
        // The answer is known without asking.
        Some(0) => 0,
        Some(depth) => TRIPLE_ROUNDS + depth + 1,
    };
    Silent::ROUNDS + products + multiplied + last
}

/// Payload bytes of one call for `n` OTs.
fn ot_bytes(n: usize) -> Bytes {
    let adversary = softspoken::ADVERSARY;
    let choices = Bytes { to_sender: n.div_ceil(128) * 16, to_receiver: 0 };
    silent::bytes(n, LPN, adversary)
        + softspoken::bytes(FIELD, silent::ots_beneath(n, LPN, adversary))
        + choices
}
