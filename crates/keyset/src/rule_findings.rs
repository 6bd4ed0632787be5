//! Numbers about the keys of each rule.

use serde::Serialize;

/// The numbers of a table's rows and keys by one rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RuleFindings {
    /// Rows with a key by this rule.
    pub keyed: u64,
    /// Rows whose key by this rule a row with other fields bears too. It takes no part, unless the rule is the first.
    pub ambiguous: u64,
    /// Pairs of rows with other fields that have one key. Rows whose fields are all equal count as one.
    pub pairs: u64,
}

impl RuleFindings {
    /// Adds the numbers of other keys.
    pub(crate) fn append(&mut self, other: Self) {
        self.keyed += other.keyed;
        self.ambiguous += other.ambiguous;
        self.pairs += other.pairs;
    }
}

/// Adds the numbers of other keys, rule by rule.
pub(crate) fn append(all: &mut Vec<RuleFindings>, others: &[RuleFindings]) {
    all.resize(all.len().max(others.len()), RuleFindings::default());
    all.iter_mut().zip(others).for_each(|(all, other)| all.append(*other));
}
