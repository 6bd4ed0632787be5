//! Filters, which a sender may send instead of the list of its final values.
//!
//! A filter holds the items from which it was built and, with small probability, mistakes another value for
//! one of them; [`vesica_params::filter`] has the shapes and the probabilities. Items are pseudo-random
//! blocks, such as the outputs of an OPRF, so they serve as their own hashes.
//!
//! | filter | contents | bits per item at 2^20 items, 2^-60 per query |
//! |---|---|---|
//! | [`List`] | sorted values | 80 |
//! | [`SortedList`] | the same, Golomb–Rice coded | 62 |
//! | [`Bloom`] | bits; of distinct positions, or sparse as in RR16 | 87 |
//! | [`Cuckoo`] | tags in buckets of four | 64 |
//! | [`MobileCuckoo`] | tags in buckets of three, with a lower load | 64 |
//! | [`Vacuum`] | tags in buckets of four, any number of buckets | 64 |
//!
//! No filter is smaller than the sorted list at the same rate. Those with buckets are faster to query, and an
//! empty slot costs them one bit on the wire, so the load matters little: half as many items in a bucket also
//! make tags one bit shorter.
//!
//! Each filter depends only on the set and not on the order of the items: it reveals no more than the list would. Two
//! parties with the same shape agree on the length to the byte. For the same reason no filter can replace a list whose
//! order carries meaning, such as the one that is returned to the client of DH-based PSI.
//!
//! They are implemented here because no crate fits: existing filters hash their input to at most 64 bits and
//! keep fingerprints of at most 32, so that no rate below about 2^-32 is within reach, and none promises a
//! wire format.

mod bloom;
mod buckets;
mod cuckoo;
mod list;
mod sorted_list;
mod vacuum;

pub use bloom::{Bloom, Positions};
pub use cuckoo::{Cuckoo, MobileCuckoo};
pub use list::List;
pub use sorted_list::SortedList;
pub use vacuum::Vacuum;
use vesica_params::filter::Shape;
use vesica_primitives::Block;

use crate::{sort, tag_list};

/// Why a filter could not be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Two items are equal.
    #[error("two items of a filter are equal")]
    Duplicate,
    /// Too many items for the buckets, in every distribution that was tried. For shapes from `vesica_params`
    /// and pseudo-random items the probability is far below 2^-128.
    #[error("the buckets of a filter do not hold its items")]
    Full,
}

/// An encoding that no filter of the shape has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The number of bytes is not the one that the shape requires.
    #[error("a filter of {actual} bytes, but its shape has {expected}")]
    Length {
        /// The required number.
        expected: usize,
        /// The number received.
        actual: usize,
    },
    /// The number of items differs from the agreed one.
    #[error("wrong number of items in a filter")]
    Count,
    /// Values, or the tags of a bucket, out of order.
    #[error("values of a filter are not sorted")]
    Order,
    /// A bucket with a tag after an empty slot.
    #[error("a bucket of a filter has a gap")]
    Gap,
    /// Bits set where padding must be zero.
    #[error("padding of a filter is not zero")]
    Padding,
}

impl From<tag_list::Error> for DecodeError {
    fn from(error: tag_list::Error) -> Self {
        match error {
            tag_list::Error::Length => unreachable!("lengths were compared before"),
            tag_list::Error::Count => Self::Count,
            tag_list::Error::Order => Self::Order,
            tag_list::Error::Padding => Self::Padding,
        }
    }
}

/// A set that is built once, sent, and queried.
///
/// Only for use against semi-honest senders: a malicious one can build a filter that contains everything.
/// Shapes require a [`vesica_params::filter::Rate`], which does not exist for malicious senders.
pub trait Filter: Sized {
    /// The shape, which both parties compute.
    type Shape: Shape;

    /// The filter of pseudo-random, distinct `items`, in any order.
    ///
    /// # Errors
    /// [`BuildError`].
    ///
    /// # Panics
    /// If there are not as many items as the shape has.
    fn build(items: &[Block], shape: Self::Shape) -> Result<Self, BuildError>;

    /// Whether a value is one of the items; for other values it is wrongly true at the shape's rate.
    fn contains(&self, value: Block) -> bool;

    /// The length of every encoding of a shape, in bytes.
    fn encoded_len(shape: &Self::Shape) -> usize;

    /// The bytes to send, always [`encoded_len`](Self::encoded_len) of them.
    fn encode(&self) -> Vec<u8>;

    /// Reads an encoding. Each filter has exactly one: an accepted encoding encodes to the same bytes again.
    ///
    /// # Errors
    /// [`DecodeError`]; nothing is allocated if the length is wrong.
    fn decode(bytes: &[u8], shape: Self::Shape) -> Result<Self, DecodeError>;
}

/// The items in ascending order.
fn sorted(items: &[Block], shape: &impl Shape) -> Result<Vec<Block>, BuildError> {
    assert_eq!(items.len(), shape.items(), "as many items as the shape has");
    let mut sorted = items.to_vec();
    sort::by_uniform_key(&mut sorted, 128, |item| item.0);
    if sorted.array_windows().any(|[a, b]| a == b) {
        return Err(BuildError::Duplicate);
    }
    Ok(sorted)
}

/// Refuses a wrong length.
fn check_len(bytes: &[u8], expected: usize) -> Result<(), DecodeError> {
    match bytes.len() {
        actual if actual == expected => Ok(()),
        actual => Err(DecodeError::Length { expected, actual }),
    }
}

/// Refuses nonzero bits beyond the first `bits` of a field, which has no more bytes than these bits require.
fn check_padding(field: &[u8], bits: usize) -> Result<(), DecodeError> {
    match field.last() {
        Some(last) if !bits.is_multiple_of(8) && last >> (bits % 8) != 0 => {
            Err(DecodeError::Padding)
        }
        _ => Ok(()),
    }
}
