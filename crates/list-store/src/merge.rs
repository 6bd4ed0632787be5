//! Finds the changes of a list, partition by partition.

use vesica_core::error::Result;
use vesica_list::{
    label::{self, OVERHEAD, Place},
    value::Value,
    voprf::ServerKey,
};

use super::values::Record;

/// Number of items evaluated between checks for cancellation.
const BATCH: usize = 1 << 14;

/// The sorted items of a partition, and their labels.
pub(super) struct LabelledItems {
    /// Place and item.
    pub(super) items: Vec<(u128, [u8; 32])>,
    /// Labels in the same order, all of the same length. Empty for a list without labels.
    pub(super) labels: Vec<u8>,
    /// Bytes of a label.
    pub(super) label_bytes: usize,
}

impl LabelledItems {
    /// Returns the label of an item.
    pub(super) fn label(&self, nth: usize) -> &[u8] {
        &self.labels[nth * self.label_bytes..][..self.label_bytes]
    }

    /// Returns the hash of an item's label.
    fn label_hash(&self, nth: usize) -> [u8; 16] {
        let mut hash = [0; 16];
        if self.label_bytes > 0 {
            let mut hasher = blake3::Hasher::new_derive_key("vesica 1 list label hash");
            hash.copy_from_slice(&hasher.update(self.label(nth)).finalize().as_bytes()[..16]);
        }
        hash
    }

    /// Seals the label of an item.
    pub(super) fn seal(&self, nth: usize, value: &Value, place: Place) -> Vec<u8> {
        let mut sealed = vec![0; self.label_bytes + OVERHEAD];
        sealed[OVERHEAD..].copy_from_slice(self.label(nth));
        label::seal(&mut sealed, value.label_key(), place);
        sealed
    }
}

/// The changes found by a publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    /// Items that are new, or have a new label.
    pub added: u64,
    /// Items that are no longer in the table, or have a new label.
    pub removed: u64,
    /// Items for which the function was evaluated. The others were known.
    pub evaluated: u64,
}

/// Removed and added tags, as long as there are few.
pub(super) struct Delta {
    pub(super) removed: Vec<u128>,
    /// Each tag, with the offset of its sealed label.
    pub(super) added: Vec<(u128, usize)>,
    pub(super) labels: Vec<u8>,
    most: usize,
    is_over: bool,
}

impl Delta {
    /// Creates a delta of at most `most` changes.
    pub(super) fn new(most: usize) -> Self {
        let (removed, added, labels) = (Vec::new(), Vec::new(), Vec::new());
        Self { removed, added, labels, most, is_over: most == 0 }
    }

    /// Returns whether there were more changes than the maximum.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    fn push(&mut self, change: impl FnOnce(&mut Self)) {
        if !self.is_over {
            change(self);
        }
        if self.removed.len() + self.added.len() > self.most {
            *self = Self { is_over: true, ..Self::new(self.most) };
        }
    }
}

/// The known records of a partition: the list's, and an interrupted publication's.
pub(super) struct KnownRecords {
    pub(super) listed: Vec<Record>,
    pub(super) evaluated: Vec<Record>,
}

/// Returns the records of a partition's items, and counts the changes.
///
/// # Errors
/// Errors of `step`, which receives the number of items processed.
pub(super) fn merge(
    items: &LabelledItems,
    known: &KnownRecords,
    key: &ServerKey,
    delta: &mut Delta,
    changes: &mut Changes,
    place: Place,
    mut step: impl FnMut(u64) -> Result<()>,
) -> Result<Vec<Record>> {
    let find = |records: &[Record], place: u128| {
        records.binary_search_by_key(&place, |record| record.place).ok()
    };
    let mut records: Vec<Option<Record>> = Vec::with_capacity(items.items.len());
    let mut stays = vec![false; known.listed.len()];
    let mut missing = Vec::new();
    for (nth, (place, _)) in items.items.iter().enumerate() {
        let label = items.label_hash(nth);
        let listed = find(&known.listed, *place);
        if let Some(at) = listed {
            stays[at] = known.listed[at].label == label;
        }
        let value = match (listed, find(&known.evaluated, *place)) {
            (Some(at), _) => Some(known.listed[at].value.clone()),
            (None, Some(at)) => Some(known.evaluated[at].value.clone()),
            (None, None) => None,
        };
        if value.is_none() {
            missing.push(nth);
        }
        records.push(value.map(|value| Record { place: *place, value, label }));
    }
    step((items.items.len() - missing.len()) as u64)?;
    for batch in missing.chunks(BATCH) {
        let inputs: Vec<_> = batch.iter().map(|nth| items.items[*nth].1).collect();
        let outputs = key.evaluate(&inputs).map_err(vesica_list::Error::from)?;
        for (nth, output) in batch.iter().zip(&outputs) {
            let (place, label) = (items.items[*nth].0, items.label_hash(*nth));
            records[*nth] = Some(Record { place, value: Value::of(output), label });
        }
        changes.evaluated += batch.len() as u64;
        step(batch.len() as u64)?;
    }
    let records: Vec<Record> = records.into_iter().flatten().collect();
    for (record, _) in known.listed.iter().zip(&stays).filter(|(_, stays)| !**stays) {
        changes.removed += 1;
        delta.push(|delta| delta.removed.push(record.value.whole_tag()));
    }
    for (nth, record) in records.iter().enumerate() {
        if find(&known.listed, record.place).is_some_and(|at| stays[at]) {
            continue;
        }
        changes.added += 1;
        delta.push(|delta| {
            delta.added.push((record.value.whole_tag(), delta.labels.len()));
            if items.label_bytes > 0 {
                delta.labels.extend(items.seal(nth, &record.value, place));
            }
        });
    }
    Ok(records)
}
