//! How many rows of a table have a key.

/// Stands in the place of a key's number where a row has no key.
pub(crate) const NO_KEY: u32 = u32::MAX;

/// How many rows went which way. Where a row has one identifier, `read` is the sum of the others; of several
/// identifiers, a row may bring several keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RowCounts {
    /// Data rows in the input.
    pub read: u64,
    /// Rows without a key.
    pub null: u64,
    /// Rows whose keys are all borne by earlier rows.
    pub duplicate: u64,
    /// Distinct keys: the size of the set.
    pub used: u64,
}
