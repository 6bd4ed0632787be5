//! Engines, which run circuits.

use crate::{Circuit, Values, WireBits};

/// The two parties. Under garbling the first garbles and the second evaluates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    /// The first party.
    First,
    /// The second party.
    Second,
}

impl Party {
    /// The other party.
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// One party's side of a computation on hidden bits, or a model of both parties together.
///
/// Every party calls the same functions with the same shapes in the same order. The engine holds the channel,
/// if it needs one.
pub trait Engine {
    /// Hidden bits.
    type Values: Values;

    /// The reason why a computation ends early.
    type Error;

    /// Inputs the bits that one party knows. `bits` is present on that side only, or always if the engine
    /// represents both.
    ///
    /// # Panics
    /// If the bits have another shape, or are missing on the side that knows them.
    fn input(
        &mut self,
        owner: Party,
        wires: usize,
        instances: usize,
        bits: Option<&WireBits>,
    ) -> Result<Self::Values, Self::Error>;

    /// Runs a circuit in all instances.
    ///
    /// # Panics
    /// If the circuit has another number of inputs.
    fn run(
        &mut self,
        circuit: &Circuit,
        inputs: &Self::Values,
    ) -> Result<Self::Values, Self::Error>;

    /// Reveals values to one party.
    fn reveal(&mut self, values: &Self::Values, to: Party)
    -> Result<Option<WireBits>, Self::Error>;
}

/// The bits given to an engine as an input, on the side that knows them.
///
/// # Panics
/// If they are missing or have another shape.
pub(crate) fn known(bits: Option<&WireBits>, wires: usize, instances: usize) -> &WireBits {
    let bits = bits.expect("the owner of an input knows it");
    assert_eq!((bits.wires(), bits.instances()), (wires, instances), "an input of this shape");
    bits
}
