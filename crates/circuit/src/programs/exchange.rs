//! Layers of circuits that map two values to two.

use crate::{Circuit, Engine, Values};

/// Two positions whose values are combined.
pub type Pair = [u32; 2];

/// Values at positions. The outputs of a layer stay where the engine put them; only positions are renamed.
pub struct Placed<V> {
    values: V,
    /// The instance that holds each position's value.
    at: Vec<u32>,
}

impl<V: Values> Placed<V> {
    /// Instance i at position i.
    pub fn new(values: V) -> Self {
        Self { at: (0..values.instances() as u32).collect(), values }
    }

    /// Replaces the values at each pair of positions by the circuit's outputs. Its inputs are the `controls`, if any,
    /// with one instance per pair, followed by the two values.
    pub fn exchange<E: Engine<Values = V>>(
        &mut self,
        engine: &mut E,
        circuit: &Circuit,
        pairs: &[Pair],
        controls: Option<&V>,
    ) -> Result<(), E::Error> {
        if pairs.is_empty() {
            return Ok(());
        }
        let width = self.values.wires();
        let mut rests = vec![true; self.at.len()];
        let sides = [0, 1].map(|side| {
            let positions = pairs.iter().map(|pair| pair[side] as usize);
            positions.clone().for_each(|position| rests[position] = false);
            self.values.gather(&positions.map(|position| self.at[position]).collect::<Vec<_>>())
        });
        let resting: Vec<u32> = (0..rests.len() as u32).filter(|&i| rests[i as usize]).collect();
        let rest: Vec<u32> = resting.iter().map(|&position| self.at[position as usize]).collect();
        let rest = self.values.gather(&rest);
        let inputs: Vec<&V> = controls.into_iter().chain(&sides).collect();
        let met = engine.run(circuit, &V::stack(&inputs))?;
        let [a, b] = [met.rows(0..width), met.rows(width..2 * width)];
        self.values = V::join(&[&a, &b, &rest]);
        let order = [0, 1].into_iter().flat_map(|side| pairs.iter().map(move |pair| pair[side]));
        for (instance, position) in (0..).zip(order.chain(resting)) {
            self.at[position as usize] = instance;
        }
        Ok(())
    }

    /// The values in the order of their positions.
    pub fn into_values(self) -> V {
        self.values.gather(&self.at)
    }
}
