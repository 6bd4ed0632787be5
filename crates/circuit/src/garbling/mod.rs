//! Garbled circuits (Yao), with half gates (Zahur, Rosulek and Evans, EUROCRYPT 2015), free XOR (Kolesnikov
//! and Schneider, ICALP 2008) and point-and-permute: a constant number of rounds, two blocks per AND gate.
//!
//! Every wire of every instance has two labels, W and W ⊕ Δ, which stand for 0 and 1. The garbler (the first party)
//! knows W and Δ; the evaluator (the second) knows the label of the wire's bit but not which bit that is. Δ is odd, so
//! a label's lowest bit, its colour, distinguishes the two, and W's lowest bit, which only the garbler knows,
//! determines its meaning. H is a hash with a fresh index i for each half of each gate ([`Rekeyed`]).
//!
//! 1. The garbler sends two public random numbers: one for the session's hash, one for a stream of labels.
//! 2. An input of the garbler: the evaluator's label L comes from the public stream, so nothing is sent; the garbler,
//!    which has the bit x, takes W = L ⊕ x·Δ.
//! 3. An input of the evaluator: correlated OT with Δ, which gives W to one party and W ⊕ x·Δ to the other. Both clear
//!    the lowest bit, and the evaluator puts x in its place: the label of its own bit need not hide it.
//! 4. XOR adds labels; NOT adds Δ at the garbler. For a ∧ b with labels A and B and their lowest bits p and
//!    q, the garbler sends G = H(A, i) ⊕ H(A ⊕ Δ, i) ⊕ q·Δ and E = H(B, i') ⊕ H(B ⊕ Δ, i') ⊕ A, and takes
//!    H(A, i) ⊕ p·G ⊕ H(B, i') ⊕ q·(E ⊕ A). The evaluator computes the same from its own labels and colours.
//! 5. Revealing bits to a party: the other one sends the lowest bits of its labels.
//!
//! Tables are sent as they are made and used as they arrive, a piece of the instances and a piece of the
//! gates at a time: neither party holds more than a few megabytes besides the labels of the inputs, of the
//! outputs, and of wires that are still to be read.
//!
//! **Security.** Semi-honest. The evaluator sees one label per wire, which reveals nothing without Δ; the garbler sees
//! the messages of the OT and the colours of the bits that are revealed to it. The messages, their order and their
//! lengths depend only on the circuits. A malicious garbler can make the evaluator compute something else; a party can
//! stop the other only with an error of the channel.

mod evaluator;
mod garbler;
mod gates;
mod labels;
#[cfg(test)]
mod tests;
mod traversal;

use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{
    Block, Seed,
    aes::{Prg, Rekeyed},
};

use crate::{Circuit, Values, WireBits};

pub use evaluator::Evaluator;
pub use garbler::Garbler;
pub use labels::Labels;

/// Semi-honest.
pub const ADVERSARY: Adversary = Adversary::SemiHonest;

const SESSION: &str = "garbling/session";
const TABLES: &str = "garbling/tables";
const COLOURS: &str = "garbling/colours";

/// Words of colours in one message.
const COLOUR_CHUNK: usize = 1 << 17;

/// The message of the garbler for an AND gate of one instance.
type Table = [Block; 2];

/// Payload bytes sent to the evaluator for `ands` AND gates.
pub fn table_bytes(ands: u64) -> u64 {
    ands * size_of::<Table>() as u64
}

/// The state that both parties have in common.
struct Session {
    hash: Rekeyed,
    /// The first unused hash index.
    next: u128,
    /// The evaluator's labels of the garbler's inputs.
    stream: Prg,
}

impl Session {
    /// Step 1.
    fn new([session, stream]: [Block; 2]) -> Self {
        Self { hash: Rekeyed::new(session), next: 0, stream: Prg::new(&Seed::new(stream)) }
    }

    /// Reserves the hash indices of a circuit, each used once in a session, and returns the first.
    fn take_indices(&mut self, circuit: &Circuit, inputs: &Labels) -> u128 {
        let first = self.next;
        self.next += 2 * circuit.ands() as u128 * inputs.instances() as u128;
        first
    }

    /// Step 2, the evaluator's part.
    fn garblers_input(&mut self, wires: usize, instances: usize) -> Labels {
        let mut labels = Labels::zeros(wires, instances);
        self.stream.fill(labels.blocks_mut());
        labels
    }
}

fn send_colours(labels: &Labels, channel: &mut Channel) -> Result<()> {
    let colours = labels.colours();
    for words in colours.words().chunks(COLOUR_CHUNK) {
        channel.send_slice(COLOURS, words)?;
    }
    channel.flush()
}

/// The bits of these labels, computed from the colours that the other party sends.
fn receive_colours(labels: &Labels, channel: &mut Channel) -> Result<WireBits> {
    let mut bits = labels.colours();
    let mut words = vec![0; bits.words().len()];
    for words in words.chunks_mut(COLOUR_CHUNK) {
        channel.recv_slice(COLOURS, words)?;
    }
    bits.xor_with(&WireBits::from_words(bits.wires(), bits.instances(), words));
    Ok(bits)
}
