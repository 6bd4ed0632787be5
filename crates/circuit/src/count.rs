//! The engine that computes nothing and counts the cost of a computation.

use std::{collections::BTreeMap, convert::Infallible, ops::Range};

use crate::{Circuit, Engine, Party, Values, WireBits, gmw::cost::bytes_of_levels};

/// The cost of a program. It does not depend on data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Count {
    /// AND gates, over all instances.
    pub ands: u64,
    /// Multiplications of a bit with a vector, which these AND gates form, by the vector's length.
    pub products: BTreeMap<usize, u64>,
    /// Levels of AND gates one after another: rounds of GMW.
    pub rounds: u64,
    /// Circuits that were run.
    pub runs: u64,
    /// Payload bytes that each party sends for AND gates under GMW: with single triples, and with vector
    /// triples.
    pub opened: [u64; 2],
    /// Bits of input of the first and the second party.
    pub inputs: [u64; 2],
    /// Bits revealed to the first and to the second party.
    pub revealed: [u64; 2],
}

impl Count {
    /// Multiplications of a bit with a vector of any length: the number of triples that GMW needs with vector
    /// triples.
    pub fn vectors(&self) -> u64 {
        self.products.values().sum()
    }

    /// Counts consecutive runs of a circuit, given the number of instances of each.
    pub(crate) fn add_runs(
        &mut self,
        circuit: &Circuit,
        instances: impl IntoIterator<Item = usize>,
    ) {
        let levels = circuit.levels();
        let mut products = BTreeMap::new();
        for product in levels.iter().flat_map(|level| &level.products) {
            *products.entry(product.right.len()).or_default() += 1;
        }
        for instances in instances {
            self.ands += (circuit.ands() * instances) as u64;
            for (&bits, products) in &products {
                *self.products.entry(bits).or_default() += products * instances as u64;
            }
            for (opened, vectors) in self.opened.iter_mut().zip([false, true]) {
                *opened += bytes_of_levels(&levels, instances, vectors) as u64;
            }
            self.rounds += if instances > 0 { circuit.depth() as u64 } else { 0 };
            self.runs += 1;
        }
    }
}

/// A number of wires and a number of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    wires: usize,
    instances: usize,
}

impl Shape {
    /// The shape of values for which a program is counted.
    pub fn new(wires: usize, instances: usize) -> Self {
        Self { wires, instances }
    }

    fn bits(self) -> u64 {
        self.wires as u64 * self.instances as u64
    }
}

impl Values for Shape {
    fn wires(&self) -> usize {
        self.wires
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn gather(&self, instances: &[u32]) -> Self {
        assert!(
            instances.iter().all(|&instance| (instance as usize) < self.instances),
            "instances that there are"
        );
        Self { instances: instances.len(), ..*self }
    }

    fn stack(parts: &[&Self]) -> Self {
        let instances = parts.first().map_or(0, |part| part.instances);
        assert!(
            parts.iter().all(|part| part.instances == instances),
            "parts of the same instances"
        );
        Self { wires: parts.iter().map(|part| part.wires).sum(), instances }
    }

    fn join(parts: &[&Self]) -> Self {
        let wires = parts.first().map_or(0, |part| part.wires);
        assert!(parts.iter().all(|part| part.wires == wires), "parts of the same wires");
        Self { wires, instances: parts.iter().map(|part| part.instances).sum() }
    }

    fn rows(&self, wires: Range<usize>) -> Self {
        assert!(wires.end <= self.wires, "wires that there are");
        Self { wires: wires.len(), ..*self }
    }
}

impl Engine for Count {
    type Values = Shape;
    type Error = Infallible;

    fn input(
        &mut self,
        owner: Party,
        wires: usize,
        instances: usize,
        _: Option<&WireBits>,
    ) -> Result<Shape, Infallible> {
        let shape = Shape { wires, instances };
        self.inputs[owner as usize] += shape.bits();
        Ok(shape)
    }

    fn run(&mut self, circuit: &Circuit, inputs: &Shape) -> Result<Shape, Infallible> {
        assert_eq!(inputs.wires, circuit.inputs(), "as many inputs as the circuit has");
        self.add_runs(circuit, [inputs.instances]);
        Ok(Shape { wires: circuit.outputs().len(), instances: inputs.instances })
    }

    fn reveal(&mut self, values: &Shape, to: Party) -> Result<Option<WireBits>, Infallible> {
        self.revealed[to as usize] += values.bits();
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;

    #[test]
    fn counts_match_the_circuit() {
        let mut builder = Builder::new(4);
        let vector = [1, 2, 3].map(|wire| builder.and(0, wire));
        let single = builder.and(vector[0], vector[2]);
        let circuit = builder.finish(vec![single, vector[1]]);
        let mut count = Count::default();
        let first = count.input(Party::First, 3, 10, None).unwrap();
        let second = count.input(Party::Second, 1, 10, None).unwrap();
        let out = count.run(&circuit, &Shape::stack(&[&first, &second])).unwrap();
        assert!(count.reveal(&out, Party::Second).unwrap().is_none());
        let expected = Count {
            ands: 40,
            products: [(1, 10), (3, 10)].into(),
            // 60 and 20 bits with single triples, 40 and 20 with vectors: words of 64 bits a level.
            opened: [16, 16],
            rounds: 2,
            runs: 1,
            inputs: [30, 10],
            revealed: [0, 20],
        };
        assert_eq!(count, expected);
        assert_eq!(count.vectors(), 20);
    }
}
