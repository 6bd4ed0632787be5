//! The plain list: every item, truncated to its first bits, in ascending order.

use vesica_params::filter::ListShape;
use vesica_primitives::{
    Block,
    packed::{pack_into, packed_len, unpack},
};

use super::{BuildError, DecodeError, Filter, check_len, check_padding, sorted};

/// A sorted list of values, stored without gaps.
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
        // Values are uniformly distributed, so the place of one is known up to about √n: gallop outwards from
        // there before searching.
        let guess = ((u128::from(value.high()) * self.values.len() as u128) >> 64) as usize;
        let value = cut(value, self.shape);
        let (mut low, mut high, mut step) = (guess, guess, 16);
        while low > 0 && self.values[low] > value {
            low = low.saturating_sub(step);
            step *= 2;
        }
        while high < self.values.len() && self.values[high] <= value {
            high = (high + step).min(self.values.len());
            step *= 2;
        }
        self.values[low..high].binary_search(&value).is_ok()
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
