//! The same final step with a filter instead of the list, as in LIANG22 §5.1.

use vesica_net::Channel;
use vesica_params::{
    Adversary,
    filter::{BloomShape, CuckooShape, Rate, Shape as _, VacuumShape},
};
use vesica_primitives::Block;
use vesica_structures::filter::{Bloom, BuildError, Cuckoo, DecodeError, Filter, Vacuum};

use crate::{Error, List, Result};

/// Whether a value is in a filter.
type Contains = Box<dyn Fn(Block) -> bool>;

/// A filter's shape, which both parties compute.
pub(super) enum Form {
    Bloom(BloomShape),
    Cuckoo(CuckooShape),
    Vacuum(VacuumShape),
}

impl Form {
    /// The shape of a filter of `count` values that gives the right answer for all of `queries` others, except with
    /// probability 2^-λ; `None` for a sorted list.
    pub(super) fn new(list: List, count: usize, queries: usize, lambda: u32) -> Option<Self> {
        if list == List::Sorted {
            return None;
        }
        let sound = "sets are at most MAX_ITEMS large, and protocols with filters semi-honest";
        let rate = Rate::sound(Adversary::SemiHonest, queries, lambda).expect(sound);
        Some(match list {
            List::Sorted => return None,
            List::Bloom => Self::Bloom(BloomShape::distinct(count, rate)),
            List::Cuckoo => Self::Cuckoo(CuckooShape::new(count, rate).expect(sound)),
            List::Vacuum => Self::Vacuum(VacuumShape::new(count, rate).expect(sound)),
        })
    }

    /// log2 of a bound on the probability that any of `queries` values is mistaken for one in the filter.
    pub(super) fn log2_failure(&self, queries: usize) -> f64 {
        match self {
            Self::Bloom(shape) => shape.log2_failure(queries),
            Self::Cuckoo(shape) => shape.log2_failure(queries),
            Self::Vacuum(shape) => shape.log2_failure(queries),
        }
    }

    /// Bytes of the filter.
    pub(super) fn encoded_len(&self) -> usize {
        match self {
            Self::Bloom(shape) => Bloom::encoded_len(shape),
            Self::Cuckoo(shape) => Cuckoo::encoded_len(shape),
            Self::Vacuum(shape) => Vacuum::encoded_len(shape),
        }
    }

    /// The filter of these values, encoded; `None` if two are equal.
    ///
    /// # Errors
    /// [`Error::HashingFailure`].
    pub(super) fn encode(self, values: &[Block]) -> Result<Option<Vec<u8>>> {
        let encoded = match self {
            Self::Bloom(shape) => Bloom::build(values, shape).map(|filter| filter.encode()),
            Self::Cuckoo(shape) => Cuckoo::build(values, shape).map(|filter| filter.encode()),
            Self::Vacuum(shape) => Vacuum::build(values, shape).map(|filter| filter.encode()),
        };
        match encoded {
            Ok(encoded) => Ok(Some(encoded)),
            Err(BuildError::Duplicate) => Ok(None),
            Err(BuildError::Full) => Err(Error::HashingFailure),
        }
    }

    /// Receives a filter, as a function that tests whether a value is in it.
    pub(super) fn recv(self, label: &'static str, channel: &mut Channel) -> Result<Contains> {
        let mut bytes = vec![0; self.encoded_len()];
        channel.recv_into(label, &mut bytes)?;
        let filter = match self {
            Self::Bloom(shape) => contains::<Bloom>(&bytes, shape),
            Self::Cuckoo(shape) => contains::<Cuckoo>(&bytes, shape),
            Self::Vacuum(shape) => contains::<Vacuum>(&bytes, shape),
        };
        Ok(filter.map_err(|error| channel.malformed(label, describe(error)))?)
    }
}

fn contains<F: Filter + 'static>(
    bytes: &[u8],
    shape: F::Shape,
) -> std::result::Result<Contains, DecodeError> {
    let filter = F::decode(bytes, shape)?;
    Ok(Box::new(move |value| filter.contains(value)))
}

fn describe(error: DecodeError) -> &'static str {
    match error {
        DecodeError::Length { .. } => "wrong length of a filter",
        DecodeError::Count => "wrong number of values in a filter",
        DecodeError::Order => "tags of a filter are not sorted",
        DecodeError::Gap => "a gap in a filter's bucket",
        DecodeError::Padding => "padding of a filter is not zero",
    }
}
