//! The plain list: every item, cut to its first bits, in ascending order.

use vesica_params::filter::ListShape;
use vesica_primitives::{
    Block,
    packed::{pack_into, packed_len, unpack},
};

use super::{BuildError, DecodeError, Filter, check_len, check_padding, sorted};

/// A sorted list of values without gaps; a million of them are asked for in about twenty steps each.
pub struct List {
    shape: ListShape,
    /// Ascending; different items may have equal first bits.
    values: Vec<u128>,
}

impl List {
    /// The list of values of a shape in ascending order.
    pub(super) fn from_values(values: Vec<u128>, shape: ListShape) -> Self {
        Self { shape, values }
    }

    /// The values in ascending order.
    pub fn values(&self) -> &[u128] {
        &self.values
    }

    /// The shape.
    pub(super) fn shape(&self) -> ListShape {
        self.shape
    }
}

impl Filter for List {
    type Shape = ListShape;

    fn build(items: &[Block], shape: ListShape) -> Result<Self, BuildError> {
        let values = sorted(items, &shape)?.into_iter().map(|item| cut(item, shape)).collect();
        Ok(Self { shape, values })
    }

    fn contains(&self, value: Block) -> bool {
        self.values.binary_search(&cut(value, self.shape)).is_ok()
    }

    fn encoded_len(shape: &ListShape) -> usize {
        packed_len(shape.items, shape.bits)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack_into(&mut bytes, self.values.iter().copied(), self.shape.bits);
        bytes
    }

    fn decode(bytes: &[u8], shape: ListShape) -> Result<Self, DecodeError> {
        check_len(bytes, Self::encoded_len(&shape))?;
        check_padding(bytes, shape.items * shape.bits as usize)?;
        let values: Vec<u128> = unpack(bytes, shape.items, shape.bits).collect();
        if !values.is_sorted() {
            return Err(DecodeError::Order);
        }
        Ok(Self { shape, values })
    }
}

fn cut(item: Block, shape: ListShape) -> u128 {
    item.0 >> (128 - shape.bits)
}
