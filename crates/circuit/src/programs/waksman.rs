//! A permutation that one party knows: Waksman's network, for any number of values (Beauquier and Darrot,
//! 2002).
//!
//! Adjacent values are switched in pairs, one of each pair goes through an upper network and the other through
//! a lower one, and pairs are switched again. One pair of the second layer is not needed; if the number is odd,
//! the last value goes through the lower network, which is larger by one.

use rand::{Rng, seq::SliceRandom};
use vesica_primitives::Declassified;
use zeroize::{Zeroize, Zeroizing};

use super::exchange::{Pair, Placed};
use crate::{
    Engine, Party, Values, WireBits,
    count::Count,
    gadgets::{log2, select},
};

/// The network for `n` values: Σ⌈log i⌉ switches for i from 1 to n, in 2⌈log n⌉ − 1 layers.
pub struct Network {
    n: usize,
    switches: usize,
    /// The switches of each layer with their pairs.
    layers: Vec<Vec<(u32, Pair)>>,
}

impl Network {
    /// For `n` values.
    pub fn new(n: usize) -> Self {
        let mut network = Self { n, switches: 0, layers: Vec::new() };
        network.add(&(0..n as u32).collect::<Vec<_>>(), 0);
        network
    }

    /// The number of switches.
    pub fn switches(&self) -> usize {
        self.switches
    }

    /// The number of layers, which run one after another.
    pub fn depth(&self) -> usize {
        self.layers.len()
    }

    /// One bit for each switch, such that output `j` is input `permutation[j]`. Time and memory accesses depend
    /// on the permutation, so this is for the party that knows it.
    ///
    /// # Panics
    /// If `permutation` is not a permutation of the network's number of values.
    pub fn settings(&self, permutation: &[u32]) -> WireBits {
        assert_eq!(permutation.len(), self.n, "a permutation of {} values", self.n);
        let mut settings = WireBits::zeros(1, self.switches);
        let mut next = 0;
        route(permutation, &mut |setting| {
            settings.set(0, next, setting);
            next += 1;
        });
        settings
    }

    /// Adds the network on these positions, starting at this layer, and returns the layer after it.
    fn add(&mut self, positions: &[u32], layer: usize) -> usize {
        let n = positions.len();
        if n < 2 {
            return layer;
        }
        let pair = |k: usize| [positions[2 * k], positions[2 * k + 1]];
        self.add_layer((0..n / 2).map(pair), layer);
        if n == 2 {
            return layer + 1;
        }
        let side = |first: usize| positions[first..n / 2 * 2].iter().step_by(2).copied();
        let upper: Vec<u32> = side(0).collect();
        let lower: Vec<u32> = side(1).chain(positions[n / 2 * 2..].iter().copied()).collect();
        let after = self.add(&upper, layer + 1).max(self.add(&lower, layer + 1));
        self.add_layer((0..last_switches(n)).map(pair), after);
        after + 1
    }

    fn add_layer(&mut self, pairs: impl Iterator<Item = Pair>, layer: usize) {
        if self.layers.len() <= layer {
            self.layers.resize_with(layer + 1, Vec::new);
        }
        for pair in pairs {
            self.layers[layer].push((self.switches as u32, pair));
            self.switches += 1;
        }
    }
}

/// The number of switches in the last layer of a network of `n` > 2 values.
fn last_switches(n: usize) -> usize {
    (n - 1) / 2
}

/// The number of switches in each layer of the network, for `n` values and for one more.
fn switches(n: usize) -> [Vec<usize>; 2] {
    if n == 0 {
        return [vec![], vec![]];
    }
    let half = n / 2;
    let halves = switches(half);
    [n, n + 1].map(|n| match n {
        1 => vec![],
        2 => vec![1],
        _ => {
            // The lower network has as many layers as the upper one, or more.
            let [upper, lower] = [n / 2, n.div_ceil(2)].map(|n| &halves[n - half]);
            let both = lower.iter().zip(upper.iter().chain(std::iter::repeat(&0)));
            let inner = both.map(|(lower, upper)| lower + upper);
            [n / 2].into_iter().chain(inner).chain([last_switches(n)]).collect()
        }
    })
}

/// The number of switches of the network for `n` values.
pub(crate) fn switch_count(n: usize) -> usize {
    match n {
        0 => 0,
        _ => n * log2(n) + 1 - n.next_power_of_two(),
    }
}

/// Sends values through the network, and leaves them in their places. `switch` gets the two values of each switch, in
/// the order of [`route`], and returns them in the order in which they go on. `other` is scratch space of as many
/// values.
pub(crate) fn switch_in_place<T: Copy>(
    values: &mut [T],
    other: &mut [T],
    switch: &mut impl FnMut([T; 2]) -> [T; 2],
) {
    let n = values.len();
    if n < 2 {
        return;
    }
    if let [a, b] = values {
        [*a, *b] = switch([*a, *b]);
        return;
    }
    let (upper, lower) = other.split_at_mut(n / 2);
    for ((pair, up), low) in values.chunks_exact(2).zip(&mut *upper).zip(&mut *lower) {
        [*up, *low] = switch([pair[0], pair[1]]);
    }
    if n % 2 == 1 {
        lower[n / 2] = values[n - 1];
    }
    let (first, second) = values.split_at_mut(n / 2);
    switch_in_place(upper, first, switch);
    switch_in_place(lower, second, switch);
    let last = last_switches(n);
    let sides = upper.iter().zip(&*lower);
    for ((pair, (up, low)), k) in values.chunks_exact_mut(2).zip(sides).zip(0..) {
        let both = [*up, *low];
        pair.copy_from_slice(&if k < last { switch(both) } else { both });
    }
    if n % 2 == 1 {
        values[n - 1] = lower[n / 2];
    }
}

/// Passes the settings to `each`, in the order in which [`Network::add`] adds the switches. Time and memory accesses
/// depend on the permutation.
pub(crate) fn route(permutation: &[u32], each: &mut impl FnMut(bool)) {
    let n = permutation.len();
    if n < 2 {
        return;
    }
    if n == 2 {
        return each(permutation[0] == 1);
    }
    let sides = Sides::of(permutation);
    (0..n / 2).for_each(|k| each(sides.inputs[2 * k] == Some(Side::Lower)));
    let through = |side: Side, n: usize| {
        let mut inner = Zeroizing::new(vec![0; n]);
        for (j, &i) in permutation.iter().enumerate() {
            if sides.outputs[j] == Some(side) {
                inner[j / 2] = i / 2;
            }
        }
        inner
    };
    route(&through(Side::Upper, n / 2), each);
    route(&through(Side::Lower, n.div_ceil(2)), each);
    (0..last_switches(n)).for_each(|k| each(sides.outputs[2 * k] == Some(Side::Lower)));
}

#[derive(Clone, Copy, PartialEq, Eq, Zeroize)]
enum Side {
    Upper,
    Lower,
}

/// The network through which each input and each output goes.
struct Sides {
    inputs: Zeroizing<Vec<Option<Side>>>,
    outputs: Zeroizing<Vec<Option<Side>>>,
}

impl Sides {
    fn of(permutation: &[u32]) -> Self {
        let n = permutation.len();
        let mut inverse = Zeroizing::new(vec![u32::MAX; n]);
        for (j, &i) in permutation.iter().enumerate() {
            assert!(inverse[i as usize] == u32::MAX, "every value goes to one place");
            inverse[i as usize] = j as u32;
        }
        let unknown = || Zeroizing::new(vec![None; n]);
        let mut sides = Self { inputs: unknown(), outputs: unknown() };
        // The last output must use the lower network: if n is odd it has no partner, otherwise its pair has no switch.
        for j in (0..n).rev() {
            if sides.outputs[j].is_none() {
                sides.follow(permutation, &inverse, j);
            }
        }
        sides
    }

    /// Follows an output through the lower network to its input. The neighbour of that input goes through the upper
    /// network to an output, whose neighbour comes through the lower one, and so on, until an input has no neighbour or
    /// the path returns to its start.
    fn follow(&mut self, permutation: &[u32], inverse: &[u32], mut output: usize) {
        while self.outputs[output].is_none() {
            let input = permutation[output] as usize;
            self.outputs[output] = Some(Side::Lower);
            self.inputs[input] = Some(Side::Lower);
            let neighbour = input ^ 1;
            if neighbour == permutation.len() {
                return;
            }
            let end = inverse[neighbour] as usize;
            self.inputs[neighbour] = Some(Side::Upper);
            self.outputs[end] = Some(Side::Upper);
            output = end ^ 1;
        }
    }
}

/// A uniformly random permutation of `n` values.
pub fn random(n: usize, rng: &mut (impl Rng + ?Sized)) -> Zeroizing<Vec<u32>> {
    let mut permutation = Zeroizing::new((0..n as u32).collect::<Vec<_>>());
    // Only caches can make this time, and the time of finding the settings, depend on the order.
    permutation.shuffle(&mut Declassified(rng));
    permutation
}

/// Permutes the instances by a permutation that only `owner` knows: instance `j` of the result is instance
/// `permutation[j]` of the input.
///
/// # Panics
/// If it is not a permutation of the instances, or is missing on the side that knows it.
pub fn permute<E: Engine>(
    engine: &mut E,
    values: E::Values,
    owner: Party,
    permutation: Option<&[u32]>,
) -> Result<E::Values, E::Error> {
    let network = Network::new(values.instances());
    let settings = permutation.map(|permutation| network.settings(permutation));
    let settings = engine.input(owner, 1, network.switches(), settings.as_ref())?;
    let circuit = select::switch(values.wires());
    let mut placed = Placed::new(values);
    for layer in &network.layers {
        let (switches, pairs): (Vec<u32>, Vec<Pair>) = layer.iter().copied().unzip();
        let controls = settings.gather(&switches);
        placed.exchange(engine, &circuit, &pairs, Some(&controls))?;
    }
    Ok(placed.into_values())
}

/// Counts the cost of [`permute`] for `n` values of `width` bits.
pub(super) fn count(count: &mut Count, width: usize, n: usize, owner: Party) {
    let [layers, _] = switches(n);
    count.inputs[owner as usize] += layers.iter().sum::<usize>() as u64;
    count.add_runs(&select::switch(width), layers);
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::{count::Shape, plain::Plain};

    fn permuted(permutation: &[u32]) -> Vec<u32> {
        let items: Vec<u64> = (0..permutation.len() as u64).collect();
        let values = WireBits::from_items(&items, 20);
        let Ok(permuted) = permute(&mut Plain, values, Party::First, Some(permutation));
        permuted.to_items().into_iter().map(|item| item as u32).collect()
    }

    /// Passes every permutation of the numbers below `n` to `check`.
    fn every_permutation(n: usize, taken: &mut Vec<u32>, check: &impl Fn(&[u32])) {
        if taken.len() == n {
            return check(taken);
        }
        for next in 0..n as u32 {
            if !taken.contains(&next) {
                taken.push(next);
                every_permutation(n, taken, check);
                taken.pop();
            }
        }
    }

    #[test]
    fn every_permutation_can_be_set() {
        for n in 0..=7 {
            every_permutation(n, &mut Vec::new(), &|permutation| {
                assert_eq!(permuted(permutation), permutation);
                assert_eq!(switched(permutation), permutation);
            });
        }
        let mut rng = StdRng::seed_from_u64(1);
        for n in (8..80).chain([127, 128, 129, 1000, 1023, 1024, 1025, 3001, 1_000_000]) {
            let permutation = random(n, &mut rng);
            assert_eq!(permuted(&permutation), **permutation);
            assert_eq!(switched(&permutation), **permutation);
        }
    }

    /// The numbers below the number of values, sent through the network in one piece.
    fn switched(permutation: &[u32]) -> Vec<u32> {
        let mut settings = Vec::new();
        route(permutation, &mut |setting| settings.push(setting));
        assert_eq!(settings.len(), switch_count(permutation.len()));
        let mut settings = settings.into_iter();
        let mut values: Vec<u32> = (0..permutation.len() as u32).collect();
        let mut other = values.clone();
        switch_in_place(&mut values, &mut other, &mut |[a, b]| match settings.next() {
            Some(true) => [b, a],
            _ => [a, b],
        });
        assert_eq!(settings.next(), None);
        values
    }

    #[test]
    fn a_network_has_as_many_switches_as_it_should() {
        let mut expected = 0;
        for n in 1..600 {
            expected += log2(n);
            let network = Network::new(n);
            assert_eq!(network.switches(), expected, "{n}");
            assert_eq!(network.depth(), (2 * log2(n)).saturating_sub(1));
            let lens: Vec<usize> = network.layers.iter().map(Vec::len).collect();
            assert!(switches(n)[0] == lens && switches(n - 1)[1] == lens, "{n}");
            for layer in &network.layers {
                let mut positions: Vec<u32> = layer.iter().flat_map(|(_, pair)| *pair).collect();
                let met = positions.len();
                positions.sort_unstable();
                positions.dedup();
                assert_eq!(positions.len(), met, "no value is in two places");
            }
        }
        for log in 0..12 {
            let n = 1 << log;
            let mut count = Count::default();
            let Ok(_) = permute(&mut count, Shape::new(32, n), Party::Second, None);
            let switches = (n * log + 1 - n) as u64;
            assert_eq!((count.ands, count.vectors()), (32 * switches, switches));
            assert_eq!(count.inputs, [0, switches]);
        }
    }

    #[test]
    fn random_permutations_are_uniform() {
        let mut rng = StdRng::seed_from_u64(2);
        let mut seen = [[0u32; 6]; 6];
        for _ in 0..36_000 {
            for (place, &value) in random(6, &mut rng).iter().enumerate() {
                seen[place][value as usize] += 1;
            }
        }
        assert!(seen.as_flattened().iter().all(|count| count.abs_diff(6000) < 400), "{seen:?}");
    }
}
