//! Labels of wires in many instances.

use std::ops::Range;

use rayon::prelude::*;
use vesica_primitives::Block;
use zeroize::Zeroize;

use crate::{Values, WireBits};

/// One label for each wire in each instance, one row per wire: the garbler has the label of 0, the evaluator the label
/// of the wire's bit. Zeroized when dropped.
#[derive(Clone)]
pub struct Labels {
    wires: usize,
    instances: usize,
    blocks: Vec<Block>,
}

impl Drop for Labels {
    fn drop(&mut self) {
        self.blocks.as_mut_slice().zeroize();
    }
}

impl Labels {
    pub(super) fn zeros(wires: usize, instances: usize) -> Self {
        Self { wires, instances, blocks: bytemuck::zeroed_vec(wires * instances) }
    }

    pub(super) fn row(&self, wire: usize) -> &[Block] {
        &self.blocks[wire * self.instances..][..self.instances]
    }

    pub(super) fn row_mut(&mut self, wire: usize) -> &mut [Block] {
        &mut self.blocks[wire * self.instances..][..self.instances]
    }

    /// Two rows; the first is mutable.
    ///
    /// # Panics
    /// If they are the same.
    pub(super) fn two_rows(&mut self, to: usize, from: usize) -> (&mut [Block], &[Block]) {
        let of = |wire: usize| wire * self.instances..(wire + 1) * self.instances;
        let rows = self.blocks.get_disjoint_mut([of(to), of(from)]);
        let [to, from] = rows.expect("two different rows");
        (to, from)
    }

    /// All rows, one after another.
    pub(super) fn blocks_mut(&mut self) -> &mut [Block] {
        &mut self.blocks
    }

    /// The lowest bit of each label.
    pub(super) fn colours(&self) -> WireBits {
        let mut colours = WireBits::zeros(self.wires, self.instances);
        for wire in 0..self.wires {
            let words = colours.row_mut(wire).iter_mut();
            for (word, labels) in words.zip(self.row(wire).chunks(64)) {
                let bits = labels.iter().enumerate().map(|(i, label)| (label.low() & 1) << i);
                *word = bits.fold(0, |word, bit| word | bit);
            }
        }
        colours
    }
}

impl Values for Labels {
    fn wires(&self) -> usize {
        self.wires
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn gather(&self, instances: &[u32]) -> Self {
        let mut gathered = Self::zeros(self.wires, instances.len());
        if !instances.is_empty() {
            let rows = gathered.blocks.par_chunks_mut(instances.len()).enumerate();
            rows.for_each(|(wire, row)| {
                let from = self.row(wire);
                row.iter_mut()
                    .zip(instances)
                    .for_each(|(to, &instance)| *to = from[instance as usize]);
            });
        }
        gathered
    }

    fn stack(parts: &[&Self]) -> Self {
        let instances = parts.first().map_or(0, |part| part.instances);
        assert!(
            parts.iter().all(|part| part.instances == instances),
            "parts of the same instances"
        );
        let wires = parts.iter().map(|part| part.wires).sum();
        let mut blocks = Vec::with_capacity(wires * instances);
        parts.iter().for_each(|part| blocks.extend_from_slice(&part.blocks));
        Self { wires, instances, blocks }
    }

    fn join(parts: &[&Self]) -> Self {
        let wires = parts.first().map_or(0, |part| part.wires);
        assert!(parts.iter().all(|part| part.wires == wires), "parts of the same wires");
        let instances = parts.iter().map(|part| part.instances).sum();
        let mut blocks = Vec::with_capacity(wires * instances);
        for wire in 0..wires {
            parts.iter().for_each(|part| blocks.extend_from_slice(part.row(wire)));
        }
        Self { wires, instances, blocks }
    }

    fn rows(&self, wires: Range<usize>) -> Self {
        let blocks = self.blocks[wires.start * self.instances..wires.end * self.instances].to_vec();
        Self { wires: wires.len(), instances: self.instances, blocks }
    }
}
