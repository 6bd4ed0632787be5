//! The garbler's side.

use rand::CryptoRng;
use vesica_net::{Channel, Error, Result};
use vesica_ot::CotSender;
use vesica_primitives::{Block, Delta, aes::Rekeyed};

use super::{
    Labels, SESSION, Session, TABLES, Table,
    gates::{self, Indices},
    receive_colours, send_colours,
    traversal::{self, Side},
};
use crate::{Circuit, Engine, Party, WireBits, engine};

/// The first party, which garbles.
pub struct Garbler<'c, C> {
    cot: C,
    delta: Delta,
    session: Session,
    channel: &'c mut Channel,
}

impl<'c, C: CotSender> Garbler<'c, C> {
    /// Uses an OT extension that has been set up; its Δ, made odd, becomes the Δ of the labels. Draws the
    /// session's public numbers.
    pub fn new(cot: C, channel: &'c mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let public = [Block::random(rng), Block::random(rng)];
        channel.send_slice(SESSION, &public)?;
        channel.flush()?;
        let delta = cot.delta().with_lowest_bit();
        Ok(Self { cot, delta, session: Session::new(public), channel })
    }

    /// The channel, for use between circuits.
    pub fn channel(&mut self) -> &mut Channel {
        self.channel
    }
}

impl<C: CotSender> Engine for Garbler<'_, C> {
    type Values = Labels;
    type Error = Error;

    fn input(
        &mut self,
        owner: Party,
        wires: usize,
        instances: usize,
        bits: Option<&WireBits>,
    ) -> Result<Labels> {
        if owner == Party::First {
            let bits = engine::known(bits, wires, instances);
            // 2.
            let mut labels = self.session.garblers_input(wires, instances);
            let delta = self.delta.expose()[0];
            for wire in 0..wires {
                let words = bits.row(wire).iter();
                for (labels, word) in labels.row_mut(wire).chunks_mut(64).zip(words) {
                    for (i, label) in labels.iter_mut().enumerate() {
                        *label ^= delta & Block::mask((word >> i & 1) as u8);
                    }
                }
            }
            return Ok(labels);
        }
        // 3.
        let mut labels = Labels::zeros(wires, instances);
        if wires * instances > 0 {
            self.cot.send_correlated_into(labels.blocks_mut(), self.channel)?;
        }
        labels.blocks_mut().iter_mut().for_each(|label| label.0 &= !1);
        Ok(labels)
    }

    fn run(&mut self, circuit: &Circuit, inputs: &Labels) -> Result<Labels> {
        let first = self.session.take_indices(circuit, inputs);
        let side = Garbling { hash: &self.session.hash, delta: self.delta.expose()[0] };
        traversal::run(&side, circuit, inputs, first, self.channel)
    }

    fn reveal(&mut self, values: &Labels, to: Party) -> Result<Option<WireBits>> {
        match to {
            Party::First => receive_colours(values, self.channel).map(|bits| Some(bits.revealed())),
            Party::Second => send_colours(values, self.channel).map(|()| None),
        }
    }
}

/// Step 4.
struct Garbling<'a> {
    hash: &'a Rekeyed,
    delta: Block,
}

impl Side for Garbling<'_> {
    fn before(&self, _: &mut [Table], _: &mut Channel) -> Result<()> {
        Ok(())
    }

    fn after(&self, tables: &[Table], channel: &mut Channel) -> Result<()> {
        if tables.is_empty() { Ok(()) } else { channel.send_slice(TABLES, tables) }
    }

    fn not(&self, labels: &mut [Block]) {
        labels.iter_mut().for_each(|label| *label ^= self.delta);
    }

    fn and(
        &self,
        first: Indices,
        operands: [&[Block]; 2],
        out: &mut [Block],
        tables: &mut [Table],
        hashed: &mut [[Block; 2]],
    ) {
        gates::garble(self.hash, self.delta, first, operands, out, tables, hashed);
    }
}
