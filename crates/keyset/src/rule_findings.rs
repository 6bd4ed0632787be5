//! Numbers about the keys of each rule.

use serde::Serialize;

/// The numbers of a table's rows and keys by one rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RuleFindings {
    /// Rows with a key by this rule.
    pub keyed: u64,
    /// Rows whose key by this rule a row with other fields has too. It takes no part, unless the rule is the first.
    pub ambiguous: u64,
    /// Pairs of rows with other fields that have one key. Rows whose fields are all equal count as one, but by a rule
    /// that names every field: they may be of one person or of several, and are counted as of several.
    pub pairs: u64,
}

impl RuleFindings {
    /// Returns the number of pairs of different people to expect that agree by this rule, one in this table, which has
    /// `rows` rows, and one in another with `peer_rows`.
    ///
    /// Pairs of different people within a table agree as often as those between two tables of the same population.
    /// There are rows²/2 pairs within one, and rows × peer_rows between two. A table that holds people twice has more
    /// pairs, so the number is then too large.
    pub fn false_matches(&self, rows: u64, peer_rows: f64) -> f64 {
        match rows {
            0 => 0.0,
            rows => 2.0 * self.pairs as f64 * peer_rows / rows as f64,
        }
    }

    /// Returns the bits of a guess: a side that guesses a key by this rule meets one of another person once in
    /// 2^bits. A table without a pair shows only that there are more than this many.
    pub fn guess_bits(&self, rows: u64) -> f64 {
        let pairs = self.pairs.max(1) as f64;
        (rows as f64 * rows as f64 / (2.0 * pairs)).log2().max(0.0)
    }

    /// Adds the numbers of other keys.
    pub(crate) fn append(&mut self, other: Self) {
        self.keyed += other.keyed;
        self.ambiguous += other.ambiguous;
        self.pairs += other.pairs;
    }
}

/// The false matches to expect in a run by rules.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FalseMatches {
    /// Their number, by all rules together. Pairs that agree by several rules count several times.
    pub expected: f64,
    /// The rows of the smaller table. The other side's are estimated from the number of its keys.
    pub rows: f64,
}

impl FalseMatches {
    /// Predicts them from the numbers of one table's rules, its rows and keys, and the keys of the other side. It
    /// assumes that the other side's rows have as many keys each.
    pub fn predict(rules: &[RuleFindings], rows: u64, keys: u64, peer_keys: u64) -> Self {
        let peer_rows = peer_keys as f64 * rows as f64 / keys.max(1) as f64;
        let expected = rules.iter().map(|rule| rule.false_matches(rows, peer_rows)).sum();
        Self { expected, rows: peer_rows.min(rows as f64) }
    }

    /// Returns them as a share of the smaller table's rows.
    pub fn share(&self) -> f64 {
        if self.rows > 0.0 { self.expected / self.rows } else { 0.0 }
    }
}

/// Adds the numbers of other keys, rule by rule.
pub(crate) fn append(all: &mut Vec<RuleFindings>, others: &[RuleFindings]) {
    all.resize(all.len().max(others.len()), RuleFindings::default());
    all.iter_mut().zip(others).for_each(|(all, other)| all.append(*other));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_follow_the_pairs_within_a_table() {
        let rule = |pairs| RuleFindings { keyed: 1_000, ambiguous: 0, pairs };
        assert_eq!(rule(5).false_matches(1_000, 3_000.0), 30.0);
        assert_eq!(rule(5).false_matches(0, 3_000.0), 0.0);
        assert!((rule(8).guess_bits(1 << 20) - 36.0).abs() < 1e-9);
        assert_eq!(rule(0).guess_bits(4), 3.0);
        assert_eq!(rule(0).guess_bits(0), 0.0);
        // Rows with two keys each, here and there.
        let found = FalseMatches::predict(&[rule(0), rule(5)], 1_000, 2_000, 6_000);
        assert_eq!((found.expected, found.rows, found.share()), (30.0, 1_000.0, 0.03));
        let found = FalseMatches::predict(&[rule(5)], 1_000, 1_000, 100);
        assert_eq!((found.expected, found.rows, found.share()), (1.0, 100.0, 0.01));
        assert_eq!(FalseMatches::predict(&[], 0, 0, 0).share(), 0.0);
    }
}
