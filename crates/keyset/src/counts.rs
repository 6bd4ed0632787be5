//! The numbers of a table's rows with and without keys.

/// The numbers of rows by outcome. If a row has one identifier, `read` is the sum of the others; with several
/// identifiers, a row may have several keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RowCounts {
    /// Data rows in the input.
    pub read: u64,
    /// Rows without a key.
    pub null: u64,
    /// Rows whose keys all occur in earlier rows.
    pub duplicate: u64,
    /// Distinct keys: the size of the set.
    pub used: u64,
}
