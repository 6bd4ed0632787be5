//! Rows that match by rules, each with the rules by which it matches.

use vesica_core::difference::Difference;
use vesica_keyset::{key_number::KeyNumber, key_rows::KeyRows};
use vesica_table::{
    row_number::RowNumber,
    written::{Matched, Numbering},
};

use crate::{
    interface::{Request, WantedRows},
    outcome::Outcome,
};

/// Refuses to compare the keys of people in partitions.
///
/// # Errors
/// The reason.
pub(super) fn whole_sets(request: &Request) -> Result<(), Difference> {
    if request.rules.is_none() || request.partitions == 1 {
        return Ok(());
    }
    let said =
        "by rules, a row has keys in several partitions: give both sides the memory for whole sets";
    Err(Difference::of_both("partitions", said.to_owned()))
}

/// The matched rows, ascending, each with a bit for each rule by which it matches.
pub(super) struct LinkedRows(Vec<(RowNumber, u32)>);

impl LinkedRows {
    /// Finds the rows that have the keys at these positions.
    pub(super) fn of(matches: &[u32], set: &KeyRows) -> Self {
        Self(set.identifiers_of_rows(KeyNumber::at_all(matches)))
    }

    /// Gathers rows that were found rule by rule; `rules` has the rule of each, counted from 1.
    pub(super) fn gathered(rows: Vec<RowNumber>, rules: &[u64]) -> Self {
        let bit = |rule: &u64| 1u32.checked_shl(*rule as u32 - 1).unwrap_or_default();
        let mut all: Vec<_> = rows.into_iter().zip(rules.iter().map(bit)).collect();
        all.sort_unstable();
        let mut found: Vec<(RowNumber, u32)> = Vec::with_capacity(all.len());
        for (row, bit) in all {
            match found.last_mut() {
                Some((last, bits)) if *last == row => *bits |= bit,
                _ => found.push((row, bit)),
            }
        }
        Self(found)
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Sets the numbers of rows in an outcome, for this number of rules.
    pub(super) fn count(&self, rules: usize, outcome: &mut Outcome) {
        let mut first = vec![0; rules];
        let mut again = 0;
        for (_, bits) in &self.0 {
            first[bits.trailing_zeros() as usize] += 1;
            again += u64::from(bits & 1 == 1 && *bits > 1);
        }
        (outcome.rows_of_rules, outcome.rows_found_again) = (Some(first), Some(again));
    }

    /// Returns the rows to write, each with the number of the first rule by which it matches, counted from 1.
    pub(super) fn into_matched(self, wanted: WantedRows) -> Matched {
        let first = |(row, bits): (RowNumber, u32)| {
            let rule = bits.trailing_zeros();
            wanted.by_rule(rule as usize).then_some((row, u64::from(rule) + 1))
        };
        let (rows, ids): (_, Vec<u64>) = self.0.into_iter().filter_map(first).unzip();
        Matched { rows, ids: Some(ids), numbering: Numbering::Rules, received: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_first_of_their_rules() {
        let rows = [5, 2, 5, 9, 2, 2].map(RowNumber::new).to_vec();
        let linked = LinkedRows::gathered(rows, &[3, 32, 1, 2, 4, 4]);
        let mut outcome = Outcome::default();
        linked.count(32, &mut outcome);
        let counts = outcome.rows_of_rules.unwrap();
        assert_eq!((&counts[..5], counts.len()), (&[1, 1, 0, 1, 0][..], 32));
        assert_eq!(outcome.rows_found_again, Some(1));
        let wanted = WantedRows { last_rule: Some(2), ..WantedRows::default() };
        let strict = LinkedRows::gathered([1, 2, 3].map(RowNumber::new).to_vec(), &[2, 3, 1]);
        assert_eq!(strict.into_matched(wanted).rows, [1, 3].map(RowNumber::new));
        let matched = linked.into_matched(WantedRows::default());
        assert_eq!(matched.rows, [2, 5, 9].map(RowNumber::new));
        assert_eq!(matched.ids, Some(vec![4, 1, 2]));
    }
}
