//! The repetition code.

use super::LinearCode;
use crate::Block;

/// One bit, repeated 128 times: turns 1-out-of-n OT into 1-out-of-2 OT.
#[derive(Debug, Clone, Copy)]
pub struct Repetition;

impl LinearCode for Repetition {
    type Row = [Block; 1];

    const DIMENSION: usize = 1;

    const WIDTH: usize = 128;

    const DISTANCE: usize = 128;

    fn spread<const T: usize>(&self, bits: &[[Block; T]], places: &mut [[Block; T]]) {
        places.fill(bits[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::linear::tests::{codeword, conforms};

    #[test]
    fn repeats() {
        conforms(&Repetition);
        assert_eq!(codeword(&Repetition, 1), [Block(u128::MAX)]);
    }
}
