//! Links between the rows of two tables that match by rules, at most one for each row of either.
//!
//! The sender's rows have tokens, which travel with the columns. Keys that rows with different fields have take no
//! part, on either side. So by each rule a row of the receiver has one candidate at most, and two rows have different
//! ones.
//! Rule after rule, in their order, a row is linked with its candidate unless one of them is linked already: rows that
//! match one person by a strict rule do not get the columns of another who matches by a later one.

use std::collections::HashSet;

use vesica_keyset::linked::RowToken;
use vesica_table::row_number::RowNumber;

/// The links so far.
pub(super) struct OneToOne {
    /// Whether each of the receiver's rows is linked.
    linked: Vec<bool>,
    /// The sender's rows that are.
    taken: HashSet<RowToken>,
}

impl OneToOne {
    /// Begins without a link, for this many rows of the receiver.
    pub(super) fn new(rows: u64) -> Self {
        Self { linked: vec![false; rows as usize], taken: HashSet::new() }
    }

    /// Links a row with its next candidate, if both are free. Candidates come in the order of the rules.
    pub(super) fn link(&mut self, row: RowNumber, token: RowToken) -> bool {
        let linked = &mut self.linked[row.index()];
        let is_free = !*linked && !self.taken.contains(&token);
        if is_free {
            *linked = true;
            self.taken.insert(token);
        }
        is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_one_link_at_most() {
        let mut links = OneToOne::new(3);
        for (row, token, is_linked) in
            [(1, 7, true), (1, 7, false), (1, 8, false), (0, 7, false), (0, 8, true), (2, 8, false)]
        {
            let (row, token) = (RowNumber::new(row), [token; _]);
            assert_eq!(links.link(row, token), is_linked);
        }
    }
}
