//! The evaluator's side.

use vesica_net::{Channel, Error, Result};
use vesica_ot::CotReceiver;
use vesica_primitives::{Block, aes::Rekeyed};

use super::{
    Labels, SESSION, Session, TABLES, Table,
    gates::{self, Indices},
    receive_colours, send_colours,
    traversal::{self, Side},
};
use crate::{Circuit, Engine, Party, WireBits, engine};

/// The second party, which evaluates.
pub struct Evaluator<'c, C> {
    cot: C,
    session: Session,
    channel: &'c mut Channel,
}

impl<'c, C: CotReceiver> Evaluator<'c, C> {
    /// Uses an OT extension that has been set up. Receives the session's public numbers.
    pub fn new(cot: C, channel: &'c mut Channel) -> Result<Self> {
        let mut public = [Block::ZERO; 2];
        channel.recv_slice(SESSION, &mut public)?;
        Ok(Self { cot, session: Session::new(public), channel })
    }

    /// The channel, for use between circuits.
    pub fn channel(&mut self) -> &mut Channel {
        self.channel
    }
}

impl<C: CotReceiver> Engine for Evaluator<'_, C> {
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
            // 2.
            return Ok(self.session.garblers_input(wires, instances));
        }
        let bits = engine::known(bits, wires, instances);
        // 3.
        let mut labels = Labels::zeros(wires, instances);
        if wires * instances > 0 {
            let choices = bits.to_bits();
            self.cot.receive_correlated_into(&choices, labels.blocks_mut(), self.channel)?;
        }
        for wire in 0..wires {
            let words = bits.row(wire).iter();
            for (labels, word) in labels.row_mut(wire).chunks_mut(64).zip(words) {
                for (i, label) in labels.iter_mut().enumerate() {
                    label.0 = label.0 & !1 | u128::from(word >> i & 1);
                }
            }
        }
        Ok(labels)
    }

    fn run(&mut self, circuit: &Circuit, inputs: &Labels) -> Result<Labels> {
        let first = self.session.take_indices(circuit, inputs);
        let side = Evaluating { hash: &self.session.hash };
        traversal::run(&side, circuit, inputs, first, self.channel)
    }

    fn reveal(&mut self, values: &Labels, to: Party) -> Result<Option<WireBits>> {
        match to {
            Party::First => send_colours(values, self.channel).map(|()| None),
            Party::Second => {
                receive_colours(values, self.channel).map(|bits| Some(bits.revealed()))
            }
        }
    }
}

/// Step 4.
struct Evaluating<'a> {
    hash: &'a Rekeyed,
}

impl Side for Evaluating<'_> {
    fn before(&self, tables: &mut [Table], channel: &mut Channel) -> Result<()> {
        if tables.is_empty() { Ok(()) } else { channel.recv_slice(TABLES, tables) }
    }

    fn after(&self, _: &[Table], _: &mut Channel) -> Result<()> {
        Ok(())
    }

    fn not(&self, _: &mut [Block]) {}

    fn and(
        &self,
        first: Indices,
        operands: [&[Block]; 2],
        out: &mut [Block],
        tables: &mut [Table],
        hashed: &mut [[Block; 2]],
    ) {
        gates::evaluate(self.hash, first, operands, out, tables, hashed);
    }
}
