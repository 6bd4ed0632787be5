//! The protocol of Goldreich, Micali and Wigderson (STOC 1987) with multiplication triples. Semi-honest.
//!
//! Each bit is the XOR of two shares, one for each party. The party that knows an input takes it as its share,
//! and the other takes 0. XOR and NOT cost nothing. For AND gates:
//!
//! 1. The parties take a triple c = a·b for each product x·y, all of them shared.
//! 2. Both send their shares of d = x ⊕ a and of e = y ⊕ b, and so learn d and e, in which a and b mask x and
//!    y.
//! 3. The parties compute shares of x·y = c ⊕ d·b ⊕ e·a ⊕ d·e; the first party adds the last term to its share.
//!
//! All AND gates of one level, in all instances, share one exchange of messages ([`ANDS`]): 2 bits each way per
//! gate; or, if there are vector triples, σ + 1 bits each way for σ gates that have their left wire in common.
//!
//! Shares that come from elsewhere, such as from an OPPRF, are used as they are: they are [`WireBits`].
//!
//! Besides its own shares each side sees only d and e, which are uniform. The length of every message depends only on
//! circuits and numbers of instances.

pub(crate) mod cost;

use vesica_net::Channel;
use zeroize::Zeroizing;

pub use self::cost::{bytes, reveal_bytes};

use crate::{
    Circuit, Engine, Gate, Party, Product, Wire, WireBits, engine,
    triples::{OutOfTriples, Tape, Triples},
};

/// The label of the messages for AND gates.
pub const ANDS: &str = "gmw/ands";

/// The label of the shares that are revealed.
pub const REVEAL: &str = "gmw/reveal";

/// Maximum words per message, which bounds the channel's buffers.
const MESSAGE_WORDS: usize = 1 << 21;

/// The reason why GMW ends early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection, or the other party.
    #[error(transparent)]
    Net(#[from] vesica_net::Error),
    /// Fewer triples were made than the program needs.
    #[error(transparent)]
    OutOfTriples(#[from] OutOfTriples),
}

/// The result of GMW.
pub type Result<T> = std::result::Result<T, Error>;

/// One party.
pub struct Gmw<'a> {
    role: Party,
    triples: Triples,
    vectors: bool,
    channel: &'a mut Channel,
}

impl<'a> Gmw<'a> {
    /// Takes the triples for everything that will be run. Products of a bit with a vector use vector triples if
    /// there are any.
    pub fn new(role: Party, triples: Triples, channel: &'a mut Channel) -> Self {
        let vectors = triples.has_vectors();
        Self { role, triples, vectors, channel }
    }

    /// The remaining triples, for another run.
    pub fn into_triples(self) -> Triples {
        self.triples
    }

    /// The remaining triples.
    pub fn triples(&self) -> &Triples {
        &self.triples
    }

    /// Computes all products of a level.
    fn multiply(&mut self, products: &[Product], shares: &mut GmwShares) -> Result<()> {
        let products = split(products, self.vectors);
        if products.is_empty() || shares.instances == 0 {
            products
                .iter()
                .flat_map(|product| product.out)
                .for_each(|&out| shares.put(out, vec![]));
            return Ok(());
        }
        // 1. and 2.
        let mut taken = Vec::with_capacity(products.len());
        let bits = products.iter().map(|product| 1 + product.right.len()).sum::<usize>();
        let mut own = Tape::with_room(bits * shares.instances);
        for product in &products {
            let triple = self.triples.take(product.right.len(), shares.instances)?;
            own.push_sum(shares.of(product.left), &triple.a, shares.instances);
            for (&right, b) in product.right.iter().zip(&triple.b) {
                own.push_sum(shares.of(right), b, shares.instances);
            }
            taken.push(triple);
        }
        let mut opened = self.open(own)?;
        // 3.
        for (product, triple) in products.iter().zip(taken) {
            self.channel.keep_alive()?;
            let d = opened.take_row(shares.instances);
            for ((&out, b), c) in product.out.iter().zip(&triple.b).zip(&triple.c) {
                let e = opened.take_row(shares.instances);
                shares.put(out, self.product(&d, &e, [&triple.a, b, c]));
            }
        }
        Ok(())
    }

    /// Sends shares and adds the other party's.
    fn open(&mut self, mut own: Tape) -> Result<Tape> {
        let mut theirs = Zeroizing::new(vec![0u64; own.words().len()]);
        let messages = own.words().chunks(MESSAGE_WORDS).zip(theirs.chunks_mut(MESSAGE_WORDS));
        for (own, theirs) in messages {
            let (own, theirs) = (bytemuck::cast_slice(own), bytemuck::cast_slice_mut(theirs));
            self.channel.exchange(ANDS, own, theirs)?;
        }
        own.words_mut().iter_mut().zip(theirs.iter()).for_each(|(own, theirs)| *own ^= theirs);
        Ok(own)
    }

    /// A share of one product.
    fn product(&self, d: &[u64], e: &[u64], [a, b, c]: [&[u64]; 3]) -> Vec<u64> {
        let both = match self.role {
            Party::First => u64::MAX,
            Party::Second => 0,
        };
        let opened = d.iter().zip(e);
        let triple = a.iter().zip(b).zip(c);
        let share = opened.zip(triple).map(|((d, e), ((a, b), c))| c ^ d & (b ^ e & both) ^ e & a);
        share.collect()
    }

    /// A free gate.
    fn compute(&self, gate: Gate, shares: &GmwShares) -> Vec<u64> {
        let [left, right] = gate.operands().map(|wire| shares.of(wire));
        match (gate, self.role) {
            (Gate::Not(_), Party::First) => shares.inverse(left),
            (Gate::Not(_), Party::Second) => left.to_vec(),
            _ => left.iter().zip(right).map(|(left, right)| left ^ right).collect(),
        }
    }
}

impl Engine for Gmw<'_> {
    type Values = WireBits;
    type Error = Error;

    fn input(
        &mut self,
        owner: Party,
        wires: usize,
        instances: usize,
        bits: Option<&WireBits>,
    ) -> Result<WireBits> {
        if owner != self.role {
            return Ok(WireBits::zeros(wires, instances));
        }
        Ok(engine::known(bits, wires, instances).clone())
    }

    fn run(&mut self, circuit: &Circuit, inputs: &WireBits) -> Result<WireBits> {
        assert_eq!(inputs.wires(), circuit.inputs(), "as many inputs as the circuit has");
        let mut shares = GmwShares::new(circuit, inputs);
        for (number, level) in circuit.levels().iter().enumerate() {
            self.channel.keep_alive()?;
            for &(wire, gate) in &level.free {
                let share = self.compute(gate, &shares);
                shares.put(wire, share);
            }
            self.multiply(&level.products, &mut shares)?;
            shares.forget(number);
        }
        Ok(shares.outputs(circuit))
    }

    fn reveal(&mut self, values: &WireBits, to: Party) -> Result<Option<WireBits>> {
        let bits = values.wires() * values.instances();
        if to != self.role {
            let mut own = Tape::with_room(bits);
            (0..values.wires()).for_each(|wire| own.push_row(values.row(wire), values.instances()));
            for message in own.words().chunks(MESSAGE_WORDS) {
                self.channel.send_slice(REVEAL, message)?;
            }
            self.channel.flush()?;
            return Ok(None);
        }
        let mut theirs = vec![0u64; bits.div_ceil(64)];
        for message in theirs.chunks_mut(MESSAGE_WORDS) {
            self.channel.recv_slice(REVEAL, message)?;
        }
        let mut theirs = Tape::of_words(theirs, bits);
        let mut shown = values.clone();
        for wire in 0..values.wires() {
            let row = theirs.take_row(values.instances());
            shown.row_mut(wire).iter_mut().zip(row).for_each(|(word, theirs)| *word ^= theirs);
        }
        Ok(Some(shown.revealed()))
    }
}

/// The products that use one triple each.
struct Use<'a> {
    left: Wire,
    right: &'a [Wire],
    out: &'a [Wire],
}

/// The products themselves, or one for each AND gate.
fn split(products: &[Product], vectors: bool) -> Vec<Use<'_>> {
    let step = |product: &Product| if vectors { product.right.len() } else { 1 };
    let uses = products.iter().flat_map(|product| {
        let parts = product.right.chunks(step(product)).zip(product.out.chunks(step(product)));
        parts.map(|(right, out)| Use { left: product.left, right, out })
    });
    uses.collect()
}

/// A party's shares of the wires that are still needed.
struct GmwShares {
    instances: usize,
    rows: Vec<Zeroizing<Vec<u64>>>,
    /// Wires, grouped by the last level that needs them.
    last_needed: Vec<Vec<Wire>>,
}

impl GmwShares {
    fn new(circuit: &Circuit, inputs: &WireBits) -> Self {
        let wires = circuit.inputs() + circuit.gates().len();
        let mut rows: Vec<_> = (0..wires).map(|_| Zeroizing::default()).collect();
        for (wire, row) in rows.iter_mut().enumerate().take(circuit.inputs()) {
            *row = Zeroizing::new(inputs.row(wire).to_vec());
        }
        Self { instances: inputs.instances(), rows, last_needed: last_needed(circuit) }
    }

    fn of(&self, wire: Wire) -> &[u64] {
        &self.rows[wire as usize]
    }

    fn put(&mut self, wire: Wire, share: Vec<u64>) {
        self.rows[wire as usize] = Zeroizing::new(share);
    }

    /// Zeroizes shares that are not needed after a level.
    fn forget(&mut self, level: usize) {
        for &wire in &self.last_needed[level] {
            self.rows[wire as usize] = Zeroizing::default();
        }
    }

    /// Inverts all bits up to the last instance.
    fn inverse(&self, row: &[u64]) -> Vec<u64> {
        let mut inverse: Vec<u64> = row.iter().map(|word| !word).collect();
        if let (Some(last), 1..) = (inverse.last_mut(), self.instances % 64) {
            *last &= (1 << (self.instances % 64)) - 1;
        }
        inverse
    }

    fn outputs(&self, circuit: &Circuit) -> WireBits {
        let mut outputs = WireBits::zeros(circuit.outputs().len(), self.instances);
        for (i, &wire) in circuit.outputs().iter().enumerate() {
            outputs.row_mut(i).copy_from_slice(self.of(wire));
        }
        outputs
    }
}

/// For each level, the wires that are read in it and in no later one. Outputs are kept to the end.
fn last_needed(circuit: &Circuit) -> Vec<Vec<Wire>> {
    let levels = circuit.levels();
    let mut last = vec![None; circuit.inputs() + circuit.gates().len()];
    for (number, level) in levels.iter().enumerate() {
        let free = level.free.iter().flat_map(|(_, gate)| gate.operands());
        let products = level.products.iter().flat_map(|p| p.right.iter().copied().chain([p.left]));
        free.chain(products).for_each(|wire| last[wire as usize] = Some(number));
    }
    circuit.outputs().iter().for_each(|&wire| last[wire as usize] = None);
    let mut by_level = vec![Vec::new(); levels.len()];
    for (wire, last) in (0..).zip(last) {
        if let Some(last) = last {
            by_level[last].push(wire);
        }
    }
    by_level
}

#[cfg(test)]
mod tests;
