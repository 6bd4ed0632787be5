//! Bits of many instances of a circuit side by side.

/// Bits of `wires` wires in `lanes` instances: one row a wire, 64 instances a word. Bits of the last word of a
/// row beyond the last instance are 0.
#[derive(Clone, PartialEq, Eq)]
pub struct Lanes {
    wires: usize,
    lanes: usize,
    words: Vec<u64>,
}

impl Lanes {
    /// All zero.
    pub fn zeros(wires: usize, lanes: usize) -> Self {
        Self { wires, lanes, words: vec![0; wires * lanes.div_ceil(64)] }
    }

    /// How many wires.
    pub fn wires(&self) -> usize {
        self.wires
    }

    /// How many instances.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The bits of one wire.
    pub fn row(&self, wire: usize) -> &[u64] {
        let width = self.lanes.div_ceil(64);
        &self.words[wire * width..][..width]
    }

    /// The bit of a wire in an instance.
    pub fn get(&self, wire: usize, lane: usize) -> bool {
        self.row(wire)[lane / 64] >> (lane % 64) & 1 == 1
    }
}
