//! The numbers of partitions in which sets can be compared.

use vesica_agree::{
    memory::{Ladder, Rung},
    terms::Terms,
};
use vesica_core::error::{Error, Result};
use vesica_keyset::partitions::{self, Division};
use vesica_psi::{MAX_ITEMS, Sizes, joint::Folding};
use vesica_task::interface::Request;

/// Smaller partitions are of no use.
const SMALLEST: usize = 1 << 10;

/// Returns the logarithm of the maximum number of partitions, if the largest set has this size. There are always two
/// ways to choose from, for a side whose keys are on disk.
pub(super) fn halvings(most: usize) -> u32 {
    const MOST: u32 = 12;
    (most / SMALLEST).max(2).ilog2().min(MOST)
}

/// The bounds that other parties and their fold set, in a run among several.
pub(super) struct Bounds<'a> {
    /// The size of the largest set.
    pub(super) most: usize,
    /// The bytes that this side's fold takes beside a method, for a number of partitions.
    pub(super) memory: &'a dyn Fn(usize) -> f64,
    /// The number of sets.
    pub(super) sets: usize,
    /// The fold, if there are more than two sets.
    pub(super) folding: Option<Folding>,
}

impl Bounds<'_> {
    /// Returns the bounds in a run of two.
    pub(super) fn of_two(sizes: Sizes) -> Self {
        let most = sizes.sender.max(sizes.receiver);
        Self { most, memory: &|_| 0.0, sets: 2, folding: None }
    }
}

/// Returns the ways in which sets of these sizes can be compared: as a whole, and in more and more partitions. They are
/// the same on both sides, except for this side's memory `beside`, which depends on whether its keys are in memory.
///
/// # Errors
/// [`Error::Terms`] for sets that are too large for every way, and as [`Terms::candidates`].
pub(super) fn ladder<'a>(
    terms: &'a Terms,
    sizes: Sizes,
    receives: bool,
    are_held: bool,
    bounds: Bounds<'a>,
) -> Result<Ladder<'a>> {
    let Bounds { most, memory, sets, folding } = bounds;
    let methods = terms.query().kind.task.methods();
    let fits = move |key: &str| {
        let method = methods.iter().find(|method| method.key() == key);
        let takes =
            |fold: Folding| method.is_some_and(|method| fold.takes(key, method.item_length()));
        folding.is_none_or(takes)
    };
    let make = move |halvings: usize| {
        let partitions = 1 << halvings;
        // A size that the other side claims is refused before anything is computed from it. Partitions are filled up.
        if most.div_ceil(partitions) + usize::from(partitions > 1) > MAX_ITEMS {
            return Err(Error::too_large(most, partitions));
        }
        let of = |keys| Division { partitions, sets }.capacity(keys);
        let part = Sizes { sender: of(sizes.sender), receiver: of(sizes.receiver) };
        let request = Request { partitions, ..terms.request(part) };
        let mine = if receives { part.receiver } else { part.sender };
        let beside = match partitions {
            1 if are_held => 0.0,
            _ => partitions::memory(mine, request.brought(receives)),
        };
        let beside = beside + memory(partitions);
        let mut candidates = terms.candidates(&request)?;
        candidates.retain(|candidate| fits(candidate.key));
        candidates.iter_mut().for_each(|candidate| candidate.partitions = partitions);
        Ok(Rung { candidates, beside })
    };
    let first = match make(0) {
        Ok(first) => first,
        Err(error) if most <= MAX_ITEMS => return Err(error),
        Err(_) => Rung::default(),
    };
    let more = halvings(most);
    if most.div_ceil(1 << more) >= MAX_ITEMS {
        return Err(Error::too_large(most, 1 << more));
    }
    Ok(Ladder::new(first, more as usize, move |halvings| make(halvings).unwrap_or_default()))
}
