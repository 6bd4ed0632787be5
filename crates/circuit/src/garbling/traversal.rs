//! The traversal of a circuit's gates by both parties: instance by instance and gate by gate, in pieces, so
//! that some tables are sent while others are computed.

use std::ops::Range;

use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_primitives::{Block, block::add_to};
use zeroize::Zeroize;

use super::{Labels, Table, gates::Indices};
use crate::{Circuit, Gate, Values};

/// Instances that one thread processes at a time: the data for a gate fits the first-level cache.
const PART: usize = 256;

/// Instances that go through a circuit together: enough to keep several threads busy.
const GROUP: usize = 16 * PART;

/// AND gates whose tables go into one message, over all instances of a group.
const TABLES_PER_MESSAGE: usize = 1 << 17;

/// The steps in which the parties differ.
pub trait Side: Sync {
    /// Before the gates of a piece: the evaluator receives their tables.
    fn before(&self, tables: &mut [Table], channel: &mut Channel) -> Result<()>;

    /// After the gates of a piece: the garbler sends their tables.
    fn after(&self, tables: &[Table], channel: &mut Channel) -> Result<()>;

    /// Labels of NOT, in place.
    fn not(&self, labels: &mut [Block]);

    /// Labels of AND, and their tables. The last argument is scratch space for the same number of instances.
    fn and(
        &self,
        first: Indices,
        operands: [&[Block]; 2],
        out: &mut [Block],
        tables: &mut [Table],
        hashed: &mut [[Block; 2]],
    );
}

/// Runs a circuit. Uses the hash indices from `first` on, two for each AND gate of each instance.
pub fn run(
    side: &impl Side,
    circuit: &Circuit,
    inputs: &Labels,
    first: u128,
    channel: &mut Channel,
) -> Result<Labels> {
    assert_eq!(inputs.wires(), circuit.inputs(), "as many inputs as the circuit has");
    let instances = inputs.instances();
    let mut outputs = Labels::zeros(circuit.outputs().len(), instances);
    // Fresh memory from the operating system costs as much as the gates computed in it, so buffers are reused.
    let mut parts = Vec::new();
    let mut tables = Vec::new();
    for start in (0..instances).step_by(GROUP) {
        let group = start..instances.min(start + GROUP);
        load(&mut parts, circuit, inputs, &group);
        let mut ands = 0;
        for piece in pieces(circuit, group.len()) {
            tables.resize(piece.ands * group.len(), [Block::ZERO; 2]);
            side.before(&mut tables, channel)?;
            // A part without a table still has free gates to compute.
            let mut left = &mut tables[..];
            let mut of_parts = Vec::with_capacity(parts.len());
            for part in &parts {
                let count = piece.ands * part.instances.len();
                of_parts.push(left.split_off_mut(..count).expect("a table for each AND gate"));
            }
            let first = first + 2 * ands as u128 * instances as u128;
            parts.par_iter_mut().zip(of_parts).for_each(|(part, tables)| {
                part.compute(side, circuit, &piece, instances, first, tables);
            });
            side.after(&tables, channel)?;
            channel.keep_alive()?;
            ands += piece.ands;
        }
        for part in &parts {
            part.finish(circuit, &mut outputs);
        }
    }
    Ok(outputs)
}

/// Fills the parts with the inputs of a group.
fn load(parts: &mut Vec<Part>, circuit: &Circuit, inputs: &Labels, group: &Range<usize>) {
    parts.truncate(group.len().div_ceil(PART));
    for (i, start) in group.clone().step_by(PART).enumerate() {
        let instances = start..group.end.min(start + PART);
        match parts.get_mut(i) {
            Some(part) if part.instances.len() == instances.len() => part.instances = instances,
            Some(part) => *part = Part::new(circuit, instances),
            None => parts.push(Part::new(circuit, instances)),
        }
        parts[i].load(circuit, inputs);
    }
}

/// Gates that are computed between two messages.
struct GarbledPiece {
    gates: Range<usize>,
    ands: usize,
}

/// Divides the gates into pieces, for a number of instances.
fn pieces(circuit: &Circuit, instances: usize) -> Vec<GarbledPiece> {
    let most = (TABLES_PER_MESSAGE / instances.max(1)).max(1);
    let mut pieces = Vec::new();
    let mut piece = GarbledPiece { gates: 0..0, ands: 0 };
    for (i, gate) in circuit.gates().iter().enumerate() {
        if gate.is_and() && piece.ands == most {
            pieces.push(std::mem::replace(&mut piece, GarbledPiece { gates: i..i, ands: 0 }));
        }
        piece.gates.end = i + 1;
        piece.ands += usize::from(gate.is_and());
    }
    pieces.push(piece);
    pieces
}

/// Some instances on their way through a circuit.
struct Part {
    instances: Range<usize>,
    /// The labels of wires that are still to be read, each in its slot.
    held: Labels,
    fresh: Labels,
    hashed: Vec<[Block; 2]>,
}

impl Drop for Part {
    fn drop(&mut self) {
        self.hashed.as_flattened_mut().zeroize();
    }
}

impl Part {
    fn new(circuit: &Circuit, instances: Range<usize>) -> Self {
        Self {
            held: Labels::zeros(circuit.slots().count(), instances.len()),
            fresh: Labels::zeros(1, instances.len()),
            hashed: vec![[Block::ZERO; 2]; instances.len()],
            instances,
        }
    }

    fn load(&mut self, circuit: &Circuit, inputs: &Labels) {
        for wire in 0..circuit.inputs() {
            self.held.row_mut(wire).copy_from_slice(&inputs.row(wire)[self.instances.clone()]);
        }
    }

    /// Computes the gates of a piece over all `instances` instances of the run; its first AND gate uses the
    /// hash indices from `first` on.
    fn compute(
        &mut self,
        side: &impl Side,
        circuit: &Circuit,
        piece: &GarbledPiece,
        instances: usize,
        first: u128,
        tables: &mut [Table],
    ) {
        let slots = circuit.slots();
        let mut tables = tables.chunks_exact_mut(self.instances.len().max(1));
        let mut first = first + self.instances.start as u128;
        for i in piece.gates.clone() {
            let gate = circuit.gates()[i];
            let out = slots.of((circuit.inputs() + i) as u32);
            let [left, right] = gate.operands().map(|wire| slots.of(wire));
            match gate {
                Gate::Xor(..) => {
                    self.copy(out, left);
                    let (to, from) = self.held.two_rows(out, right);
                    add_to(to, from);
                }
                Gate::Not(_) => {
                    self.copy(out, left);
                    side.not(self.held.row_mut(out));
                }
                Gate::And(..) => {
                    let operands = [left, right].map(|slot| self.held.row(slot));
                    let tables = tables.next().expect("a table for each AND gate");
                    let indices = [first, first + instances as u128];
                    let fresh = self.fresh.row_mut(0);
                    side.and(indices, operands, fresh, tables, &mut self.hashed);
                    self.held.row_mut(out).copy_from_slice(fresh);
                    first += 2 * instances as u128;
                }
            }
        }
    }

    fn copy(&mut self, to: usize, from: usize) {
        let (to, from) = self.held.two_rows(to, from);
        to.copy_from_slice(from);
    }

    fn finish(&self, circuit: &Circuit, outputs: &mut Labels) {
        for (i, &wire) in circuit.outputs().iter().enumerate() {
            let from = self.held.row(circuit.slots().of(wire));
            outputs.row_mut(i)[self.instances.clone()].copy_from_slice(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use vesica_net::transport::memory;

    use super::*;
    use crate::random;

    /// Records the indices that it is given.
    #[derive(Default)]
    struct Indexed(Mutex<Vec<Range<u128>>>);

    impl Side for Indexed {
        fn before(&self, _: &mut [Table], _: &mut Channel) -> Result<()> {
            Ok(())
        }

        fn after(&self, _: &[Table], _: &mut Channel) -> Result<()> {
            Ok(())
        }

        fn not(&self, _: &mut [Block]) {}

        fn and(
            &self,
            first: Indices,
            [a, b]: [&[Block]; 2],
            out: &mut [Block],
            tables: &mut [Table],
            hashed: &mut [[Block; 2]],
        ) {
            assert!([a.len(), b.len(), out.len(), tables.len()] == [hashed.len(); 4]);
            let used = first.map(|first| first..first + a.len() as u128);
            self.0.lock().unwrap().extend(used);
        }
    }

    /// Using an index twice would reveal Δ.
    #[test]
    fn each_index_is_used_once() {
        for (gates, instances) in [(50, 1), (50, 255), (50, 257), (300, 4096), (300, 9000), (50, 0)]
        {
            let circuit = random::circuit(gates as u64, 8, gates, 20);
            let (side, (channel, _)) = (Indexed::default(), memory::pair());
            let inputs = Labels::zeros(8, instances);
            run(&side, &circuit, &inputs, 77, &mut Channel::new(channel)).unwrap();
            let mut used = side.0.into_inner().unwrap();
            used.sort_unstable_by_key(|range| range.start);
            let mut next = 77;
            for range in used {
                assert_eq!(range.start, next);
                next = range.end;
            }
            assert_eq!(next, 77 + 2 * circuit.ands() as u128 * instances as u128);
        }
    }
}
