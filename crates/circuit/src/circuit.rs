//! Netlists.

/// The index of a wire: first the inputs, then the output of each gate, in order.
pub type Wire = u32;

/// A gate, and the wires that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Their sum modulo 2.
    Xor(Wire, Wire),
    /// The complement.
    Not(Wire),
    /// Their product. AND gates of one level that have the same left wire are a multiplication of that bit
    /// with a vector.
    And(Wire, Wire),
}

impl Gate {
    /// Whether this is an AND gate; only AND gates cost anything.
    pub fn is_and(self) -> bool {
        matches!(self, Self::And(..))
    }

    /// The wires that it reads. A wire that is read twice, or is the only one, is listed twice.
    pub fn operands(self) -> [Wire; 2] {
        match self {
            Self::Xor(left, right) | Self::And(left, right) => [left, right],
            Self::Not(wire) => [wire; 2],
        }
    }

    /// The same gate on other wires.
    fn map(self, wire: impl Fn(Wire) -> Wire) -> Self {
        match self {
            Self::Xor(left, right) => Self::Xor(wire(left), wire(right)),
            Self::Not(only) => Self::Not(wire(only)),
            Self::And(left, right) => Self::And(wire(left), wire(right)),
        }
    }
}

/// A boolean circuit, small enough to be run in many instances at once. It has no constants, and every gate
/// affects some output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circuit {
    inputs: usize,
    gates: Vec<Gate>,
    outputs: Vec<Wire>,
    /// The number of AND gates on the longest path to each wire.
    depths: Vec<u32>,
    depth: usize,
    slots: Slots,
}

impl Circuit {
    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The gates, in an order in which they can be computed.
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// The output wires.
    pub fn outputs(&self) -> &[Wire] {
        &self.outputs
    }

    /// The number of AND gates, which determines the cost of a circuit.
    pub fn ands(&self) -> usize {
        self.gates.iter().filter(|gate| gate.is_and()).count()
    }

    /// The maximal number of AND gates on a path from an input to an output; each takes a round under GMW.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Storage slots for an engine that computes gate by gate.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The gates by depth, for an engine that computes all AND gates of one depth in one round. There is one
    /// more level than the depth; the last one has no AND gates.
    pub fn levels(&self) -> Vec<Level> {
        let mut levels = vec![Level::default(); self.depth + 1];
        for (wire, gate) in (self.inputs as Wire..).zip(&self.gates) {
            let depth = self.depths[wire as usize] as usize;
            match *gate {
                Gate::And(left, right) => levels[depth - 1].multiply(left, right, wire),
                _ => levels[depth].free.push((wire, *gate)),
            }
        }
        levels
    }
}

/// The gates of one depth: first the free ones, in order, and then the AND gates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Level {
    /// XOR and NOT gates, each with its output wire.
    pub free: Vec<(Wire, Gate)>,
    /// AND gates that do not depend on each other.
    pub products: Vec<Product>,
}

/// A multiplication of one bit with a vector: AND gates that share their left wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The one bit.
    pub left: Wire,
    /// The vector.
    pub right: Vec<Wire>,
    /// The output wires.
    pub out: Vec<Wire>,
}

impl Level {
    fn multiply(&mut self, left: Wire, right: Wire, out: Wire) {
        // Gates that belong together are usually adjacent.
        match self.products.iter_mut().rev().find(|product| product.left == left) {
            Some(product) => {
                product.right.push(right);
                product.out.push(out);
            }
            None => self.products.push(Product { left, right: vec![right], out: vec![out] }),
        }
    }
}

/// A slot for each wire, which is reused after the wire's last use. So an engine holds only the values needed at a
/// time, for any number of gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots {
    of: Vec<u32>,
    count: usize,
}

impl Slots {
    /// The number of places.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The slot of a wire. Inputs have the first slots, in order; the output of a gate never shares a slot with
    /// its operands.
    pub fn of(&self, wire: Wire) -> usize {
        self.of[wire as usize] as usize
    }

    fn assign(inputs: usize, gates: &[Gate], outputs: &[Wire]) -> Self {
        const NEVER: usize = usize::MAX;
        let mut last_read = vec![None; inputs + gates.len()];
        for (i, gate) in gates.iter().enumerate() {
            gate.operands().into_iter().for_each(|wire| last_read[wire as usize] = Some(i));
        }
        outputs.iter().for_each(|&wire| last_read[wire as usize] = Some(NEVER));
        let mut of: Vec<u32> = (0..inputs as u32).collect();
        let mut free: Vec<u32> =
            of.iter().copied().filter(|&wire| last_read[wire as usize].is_none()).collect();
        let mut count = inputs as u32;
        for (i, gate) in gates.iter().enumerate() {
            of.push(free.pop().unwrap_or_else(|| {
                count += 1;
                count - 1
            }));
            let [left, right] = gate.operands();
            let once = if left == right { &[left][..] } else { &[left, right] };
            let done = once.iter().filter(|&&wire| last_read[wire as usize] == Some(i));
            free.extend(done.map(|&wire| of[wire as usize]));
        }
        Self { of, count: count as usize }
    }
}

/// Builds a circuit gate by gate.
#[derive(Debug, Default)]
pub struct Builder {
    inputs: usize,
    gates: Vec<Gate>,
}

impl Builder {
    /// For a circuit with `inputs` inputs, which are the wires from 0 on.
    pub fn new(inputs: usize) -> Self {
        Self { inputs, gates: Vec::new() }
    }

    /// The number of wires so far.
    pub fn wires(&self) -> usize {
        self.inputs + self.gates.len()
    }

    /// left ⊕ right.
    pub fn xor(&mut self, left: Wire, right: Wire) -> Wire {
        self.push(Gate::Xor(left, right))
    }

    /// ¬ wire.
    pub fn not(&mut self, wire: Wire) -> Wire {
        self.push(Gate::Not(wire))
    }

    /// left ∧ right.
    pub fn and(&mut self, left: Wire, right: Wire) -> Wire {
        self.push(Gate::And(left, right))
    }

    /// left ∨ right, which is an AND gate.
    pub fn or(&mut self, left: Wire, right: Wire) -> Wire {
        let (left, right) = (self.not(left), self.not(right));
        let neither = self.and(left, right);
        self.not(neither)
    }

    /// The circuit with these outputs. Gates on which none of them depends are left out.
    ///
    /// # Panics
    /// If a wire does not exist.
    pub fn finish(self, outputs: Vec<Wire>) -> Circuit {
        let Self { inputs, gates } = self;
        let mut needed = vec![false; inputs + gates.len()];
        outputs.iter().for_each(|&wire| needed[wire as usize] = true);
        for (i, gate) in gates.iter().enumerate().rev() {
            if needed[inputs + i] {
                gate.operands().into_iter().for_each(|wire| needed[wire as usize] = true);
            }
        }
        let mut names: Vec<Wire> = (0..inputs as Wire).collect();
        let mut kept = Vec::new();
        for (gate, needed) in gates.into_iter().zip(&needed[inputs..]) {
            names.push((inputs + kept.len()) as Wire);
            if *needed {
                kept.push(gate.map(|wire| names[wire as usize]));
            }
        }
        let outputs: Vec<Wire> = outputs.iter().map(|&wire| names[wire as usize]).collect();
        let depths = depths(inputs, &kept);
        let depth = outputs.iter().map(|&wire| depths[wire as usize]).max().unwrap_or(0) as usize;
        let slots = Slots::assign(inputs, &kept, &outputs);
        Circuit { inputs, gates: kept, outputs, depths, depth, slots }
    }

    fn push(&mut self, gate: Gate) -> Wire {
        let wire = self.wires();
        assert!(
            gate.operands().into_iter().all(|of| (of as usize) < wire),
            "of wires that are there"
        );
        self.gates.push(gate);
        wire as Wire
    }
}

fn depths(inputs: usize, gates: &[Gate]) -> Vec<u32> {
    let mut depths = vec![0; inputs];
    for gate in gates {
        let [left, right] = gate.operands().map(|wire| depths[wire as usize]);
        depths.push(left.max(right) + u32::from(gate.is_and()));
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_hold_every_gate_where_it_can_be_computed() {
        for seed in 0..200 {
            let circuit = crate::random::circuit(seed, 1 + seed as usize % 9, 40, 5);
            let levels = circuit.levels();
            assert_eq!(levels.len(), circuit.depth() + 1);
            assert!(levels.last().is_some_and(|level| level.products.is_empty()));
            let mut known = vec![false; circuit.inputs() + circuit.gates().len()];
            known[..circuit.inputs()].fill(true);
            let mut gates = 0;
            for level in &levels {
                for (wire, gate) in &level.free {
                    assert_eq!(circuit.gates()[*wire as usize - circuit.inputs()], *gate);
                    assert!(gate.operands().iter().all(|&of| known[of as usize]));
                    known[*wire as usize] = true;
                    gates += 1;
                }
                let before = known.clone();
                let mut lefts = Vec::new();
                for product in &level.products {
                    lefts.push(product.left);
                    assert_eq!(product.right.len(), product.out.len());
                    for (&right, &out) in product.right.iter().zip(&product.out) {
                        let gate = Gate::And(product.left, right);
                        assert_eq!(circuit.gates()[out as usize - circuit.inputs()], gate);
                        assert!(before[product.left as usize] && before[right as usize]);
                        known[out as usize] = true;
                        gates += 1;
                    }
                }
                lefts.sort_unstable();
                assert!(lefts.windows(2).all(|pair| pair[0] != pair[1]), "one product a left wire");
            }
            assert_eq!(gates, circuit.gates().len());
        }
    }

    #[test]
    fn gates_that_no_output_needs_are_left_out() {
        let mut builder = Builder::new(3);
        let unused = builder.and(0, 1);
        let sum = builder.xor(0, 2);
        builder.not(unused);
        let product = builder.and(sum, 1);
        let circuit = builder.finish(vec![product, 2]);
        assert_eq!(circuit.gates(), [Gate::Xor(0, 2), Gate::And(3, 1)]);
        assert_eq!(circuit.outputs(), [4, 2]);
        assert_eq!((circuit.ands(), circuit.depth()), (1, 1));
    }

    #[test]
    fn a_long_chain_needs_few_places() {
        let mut builder = Builder::new(2);
        let (mut a, mut b) = (0, 1);
        for _ in 0..10_000 {
            (a, b) = (builder.and(a, b), builder.xor(a, b));
        }
        let circuit = builder.finish(vec![a, b]);
        assert!(circuit.slots().count() <= 5, "{}", circuit.slots().count());
        assert_eq!(circuit.depth(), 10_000);
    }

    #[test]
    fn a_place_is_given_away_only_when_nobody_reads_it_any_more() {
        for seed in 0..200 {
            let circuit = crate::random::circuit(seed, 1 + seed as usize % 9, 60, 4);
            let slots = circuit.slots();
            let mut holds: Vec<Option<Wire>> = vec![None; slots.count()];
            (0..circuit.inputs()).for_each(|i| holds[i] = Some(i as Wire));
            for (wire, gate) in (circuit.inputs() as Wire..).zip(circuit.gates()) {
                for of in gate.operands() {
                    assert_eq!(holds[slots.of(of)], Some(of));
                    assert_ne!(slots.of(of), slots.of(wire));
                }
                holds[slots.of(wire)] = Some(wire);
            }
            assert!(circuit.outputs().iter().all(|&wire| holds[slots.of(wire)] == Some(wire)));
        }
    }
}
