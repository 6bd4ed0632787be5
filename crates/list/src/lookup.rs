//! A list that a client has: all parts, checked, and the answer to whether items are in it.

use crate::{
    error::Result,
    head::Head,
    label::{self, Place},
    part::{Part, Side, Stored, state},
    value::Value,
};

/// A list.
pub struct List<S> {
    head: Head,
    parts: Vec<Part<S>>,
}

/// An item that is in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Its label, where items have one.
    pub label: Option<Vec<u8>>,
}

impl<S: Stored> List<S> {
    /// The list with this head, whose parts are stored in this order and were [checked](crate::part::Checker).
    ///
    /// # Errors
    /// [`Error::OutOfOrder`](crate::Error::OutOfOrder), [`Error::Part`](crate::Error::Part) and
    /// [`Error::Read`](crate::Error::Read).
    pub fn open(head: Head, stored: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut previous = [0; 32];
        let mut parts = Vec::with_capacity(head.parts.len());
        for (stored, entry) in stored.into_iter().zip(&head.parts) {
            parts.push(Part::open(stored, entry, &head.header(entry, previous))?);
            previous = state(&previous, &entry.digest.0, (head.epoch, entry.sequence));
        }
        Ok(Self { head, parts })
    }

    /// The head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Looks values up, in any order.
    ///
    /// # Errors
    /// [`Error::Part`](crate::Error::Part) and [`Error::Read`](crate::Error::Read).
    pub fn look_up(&self, values: &[Value]) -> Result<Vec<Option<Match>>> {
        let bits = self.head.tag_bits;
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_unstable_by_key(|at| values[*at].whole_tag());
        let tags: Vec<u128> = order.iter().map(|at| values[*at].tag(bits)).collect();
        // Of equal tags there may be several, of which one is removed.
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
            // With labels, an item whose tag is there by chance is told apart.
            let is_in = present > 0 && (self.head.labels.is_none() || label.is_some());
            is_in.then_some(Match { label })
        });
        Ok(found.collect())
    }
}
