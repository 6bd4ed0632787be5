//! The numbers of partitions in which sets can be compared.

use vesica_agree::{
    memory::{Ladder, Rung},
    terms::Terms,
};
use vesica_core::error::{Error, Result};
use vesica_keyset::partitions::{self, Division};
use vesica_psi::{MAX_ITEMS, Sizes, joint::Folding};
use vesica_task::{interface::Request, query::Query};

/// Smaller partitions are of no use.
const SMALLEST: usize = 1 << 10;

/// Returns the logarithm of the maximum number of partitions, if the largest set has this size. There are always two
/// ways to choose from, for a side whose keys are on disk.
pub(crate) fn halvings(most: usize) -> u32 {
    const MOST: u32 = 12;
    (most / SMALLEST).max(2).ilog2().min(MOST)
}

/// The bounds that other parties and their fold set, in a run among several.
pub struct Bounds<'a> {
    /// The size of the largest set.
    pub most: usize,
    /// The bytes that a fold takes beside a method, for a number of partitions.
    pub memory: &'a dyn Fn(usize) -> f64,
    /// The number of sets.
    pub sets: usize,
    /// The fold, if there are more than two sets.
    pub folding: Option<Folding>,
    /// Whether a journal keeps the results of partitions, even if there is only one.
    pub is_kept: bool,
}

impl Bounds<'_> {
    /// Returns the bounds in a run of two.
    pub fn of_two(sizes: Sizes) -> Self {
        let most = sizes.sender.max(sizes.receiver);
        Self { most, memory: &|_| 0.0, sets: 2, folding: None, is_kept: false }
    }
}

/// Returns the ways in which sets can be compared for this query: as a whole, and in more and more partitions. `make`
/// returns the candidates of a division, and the memory beside them.
///
/// # Errors
/// [`Error::Terms`] for sets that are too large for every way, and the error of `make` for whole sets.
pub fn ladder<'a>(
    query: &Query,
    bounds: Bounds<'a>,
    make: impl Fn(Division) -> Result<Rung> + 'a,
) -> Result<Ladder<'a>> {
    let Bounds { most, memory, sets, folding, is_kept } = bounds;
    let methods = query.kind.task.methods();
    let fits = move |key: &str| {
        let Some(method) = methods.iter().find(|method| method.key() == key) else { return false };
        let takes = |fold: Folding| fold.takes(key, method.item_length());
        folding.is_none_or(takes) && (!is_kept || method.splits())
    };
    let make = move |halvings: usize| {
        let partitions = 1 << halvings;
        // A size that the other side claims is refused before anything is computed from it. Partitions are filled up.
        if most.div_ceil(partitions) + usize::from(partitions > 1) > MAX_ITEMS {
            return Err(Error::too_large(most, partitions));
        }
        let Rung { mut candidates, beside } = make(Division { partitions, sets })?;
        candidates.retain(|candidate| fits(candidate.key));
        candidates.iter_mut().for_each(|candidate| candidate.partitions = partitions);
        Ok(Rung { candidates, beside: beside + memory(partitions) })
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

/// Returns the ways in which sets of these sizes can be compared under these terms. They are the same on both sides,
/// except for this side's memory `beside`, which depends on whether its keys are in memory.
///
/// # Errors
/// As [`ladder`], and as [`Terms::candidates`].
pub(crate) fn of_terms<'a>(
    terms: &'a Terms,
    sizes: Sizes,
    receives: bool,
    are_held: bool,
    bounds: Bounds<'a>,
) -> Result<Ladder<'a>> {
    ladder(terms.query(), bounds, move |division| {
        let Division { partitions, .. } = division;
        let of = |keys| division.capacity(keys);
        let part = Sizes { sender: of(sizes.sender), receiver: of(sizes.receiver) };
        let request = Request { partitions, ..terms.request(part) };
        let mine = if receives { part.receiver } else { part.sender };
        let beside = match partitions {
            1 if are_held => 0.0,
            _ => partitions::memory(mine, request.brought(receives)),
        };
        Ok(Rung { candidates: terms.candidates(&request)?, beside })
    })
}
