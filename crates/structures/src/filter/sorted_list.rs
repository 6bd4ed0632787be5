//! The sorted list in the Golomb–Rice code that protocols send: see [`crate::tag_list`].

use vesica_params::filter::SortedListShape;
use vesica_primitives::Block;

use super::{BuildError, DecodeError, Filter, List, check_len};
use crate::tag_list::Layout;

/// A [`List`] that is shorter on the wire: at the same rate no other filter needs fewer bits, apart from savings
/// through collisions.
pub struct SortedList(List);

impl SortedList {
    /// The values in ascending order.
    pub fn values(&self) -> &[u128] {
        self.0.values()
    }
}

impl Filter for SortedList {
    type Shape = SortedListShape;

    fn build(items: &[Block], shape: SortedListShape) -> Result<Self, BuildError> {
        List::build(items, shape.0).map(Self)
    }

    fn contains(&self, value: Block) -> bool {
        self.0.contains(value)
    }

    fn encoded_len(shape: &SortedListShape) -> usize {
        layout(*shape).encoded_len()
    }

    fn encode(&self) -> Vec<u8> {
        let words = layout(SortedListShape(self.0.shape())).encode(self.values(), |tag| *tag);
        bytemuck::cast_slice(&words).to_vec()
    }

    fn decode(bytes: &[u8], shape: SortedListShape) -> Result<Self, DecodeError> {
        check_len(bytes, Self::encoded_len(&shape))?;
        let tags = layout(shape).decode(bytemuck::pod_collect_to_vec(bytes))?;
        let values = tags.iter().collect::<Result<_, _>>()?;
        Ok(Self(List::from_values(values, shape.0)))
    }
}

fn layout(SortedListShape(list): SortedListShape) -> Layout {
    Layout::new(list.items, list.bits)
}
