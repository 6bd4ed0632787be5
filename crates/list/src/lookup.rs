//! A client's copy of a list, with all parts checked, and lookups in it.

use std::ops::Range;

use crate::{
    error::Result,
    head::Head,
    label::{self, Place},
    part::{Part, Side, Stored},
    value::Value,
};

/// A published list.
pub struct List<S> {
    head: Head,
    parts: Vec<Part<S>>,
}

/// An item that is in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Its label, if items have labels.
    pub label: Option<Vec<u8>>,
}

impl<S: Stored> List<S> {
    /// Opens the list with this head, given its parts in order, each [checked](crate::checker::Checker).
    ///
    /// # Errors
    /// [`Error::OutOfOrder`](crate::Error::OutOfOrder), [`Error::Part`](crate::Error::Part) and
    /// [`Error::Read`](crate::Error::Read).
    pub fn open(head: Head, stored: impl IntoIterator<Item = S>) -> Result<Self> {
        let parts = stored.into_iter().zip(head.headers());
        let parts = parts.map(|(stored, (entry, header))| Part::open(stored, entry, &header));
        Ok(Self { parts: parts.collect::<Result<_>>()?, head })
    }

    /// Returns the head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the ranges that [`look_up`](Self::look_up) reads for these values: the index of a part, and a range of
    /// its file.
    pub fn ranges(&self, values: &[Value]) -> Vec<(usize, Range<u64>)> {
        let (_, tags) = self.sorted(values);
        let of_part = |(nth, part): (usize, &Part<S>)| {
            part.ranges(&tags).into_iter().map(move |range| (nth, range)).collect::<Vec<_>>()
        };
        self.parts.iter().enumerate().flat_map(of_part).collect()
    }

    /// Sorts values by tag, and returns their order and the sorted tags.
    fn sorted(&self, values: &[Value]) -> (Vec<usize>, Vec<u128>) {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_unstable_by_key(|at| values[*at].whole_tag());
        let tags = order.iter().map(|at| values[*at].tag(self.head.tag_bits)).collect();
        (order, tags)
    }

    /// Looks values up, in any order.
    ///
    /// # Errors
    /// [`Error::Part`](crate::Error::Part) and [`Error::Read`](crate::Error::Read).
    pub fn look_up(&self, values: &[Value]) -> Result<Vec<Option<Match>>> {
        let (order, tags) = self.sorted(values);
        // The list can contain equal tags of several items and remove one of them.
        let mut present = vec![0i64; values.len()];
        let mut labels: Vec<Option<Vec<u8>>> = vec![None; values.len()];
        for part in &self.parts {
            let place = Place { epoch: self.head.epoch, sequence: part.header.sequence };
            part.find(&tags, |side, nth, sealed| {
                let at = order[nth];
                match side {
                    Side::Removed => present[at] -= sealed.len() as i64,
                    Side::Added => {
                        present[at] += sealed.len() as i64;
                        let key = values[at].label_key();
                        let mut opened = sealed.iter().filter_map(|s| label::open(s, key, place));
                        if self.head.labels.is_some()
                            && let Some(label) = opened.next()
                        {
                            labels[at] = Some(label);
                        }
                    }
                }
            })?;
        }
        let found = present.into_iter().zip(labels).map(|(present, label)| {
            // A label distinguishes an item from another item with the same tag.
            let is_in = present > 0 && (self.head.labels.is_none() || label.is_some());
            is_in.then_some(Match { label })
        });
        Ok(found.collect())
    }
}
