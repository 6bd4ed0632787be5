//! Netlists.

/// The number of a wire: inputs come first, then what each gate gives, in order.
pub type Wire = u32;

/// A gate, and the wires that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Their sum modulo 2.
    Xor(Wire, Wire),
    /// The other bit.
    Not(Wire),
    /// Their product. AND gates that follow one another and have the same left wire are a
    /// multiplication of that bit with a vector.
    And(Wire, Wire),
}

/// A boolean circuit, small enough to be run in many instances at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circuit {
    inputs: usize,
    gates: Vec<Gate>,
    outputs: Vec<Wire>,
    depth: usize,
}

impl Circuit {
    /// Wires that are put in.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Gates in the order in which they can be computed.
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// Wires that come out.
    pub fn outputs(&self) -> &[Wire] {
        &self.outputs
    }

    /// How many AND gates there are, which is what a circuit costs.
    pub fn ands(&self) -> usize {
        self.gates.iter().filter(|gate| matches!(gate, Gate::And(..))).count()
    }

    /// The most AND gates on a way from an input to an output, each of which takes a round under GMW.
    pub fn depth(&self) -> usize {
        self.depth
    }
}

/// Makes a circuit gate by gate.
#[derive(Debug, Default)]
pub struct Builder {
    inputs: usize,
    gates: Vec<Gate>,
    /// The depth of each wire.
    depths: Vec<u32>,
}

impl Builder {
    /// For a circuit with so many inputs, which are the wires from 0 on.
    pub fn new(inputs: usize) -> Self {
        Self { inputs, gates: Vec::new(), depths: vec![0; inputs] }
    }

    /// left ⊕ right.
    pub fn xor(&mut self, left: Wire, right: Wire) -> Wire {
        let depth = self.depth(left).max(self.depth(right));
        self.push(Gate::Xor(left, right), depth)
    }

    /// ¬ wire.
    pub fn not(&mut self, wire: Wire) -> Wire {
        let depth = self.depth(wire);
        self.push(Gate::Not(wire), depth)
    }

    /// left ∧ right.
    pub fn and(&mut self, left: Wire, right: Wire) -> Wire {
        let depth = 1 + self.depth(left).max(self.depth(right));
        self.push(Gate::And(left, right), depth)
    }

    /// The circuit with these outputs.
    pub fn finish(self, outputs: Vec<Wire>) -> Circuit {
        let depth = outputs.iter().map(|&wire| self.depth(wire)).max().unwrap_or(0) as usize;
        Circuit { inputs: self.inputs, gates: self.gates, outputs, depth }
    }

    fn depth(&self, wire: Wire) -> u32 {
        self.depths[wire as usize]
    }

    fn push(&mut self, gate: Gate, depth: u32) -> Wire {
        self.gates.push(gate);
        self.depths.push(depth);
        self.depths.len() as Wire - 1
    }
}
