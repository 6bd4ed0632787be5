//! Options of a job that do not fit its offer.

use vesica_core::error::{Error, Misuse, Result};
use vesica_keyset::key::Duplicates;
use vesica_table::formulas::Formulas;
use vesica_task::query::ResultForm;

use super::Job;

impl Job {
    /// Refuses a last rule that the offer does not have.
    pub(super) fn check_min_rule(&self) -> Result<()> {
        let Some(last) = self.min_rule else { return Ok(()) };
        let rules = self.offer.rules.as_ref().map_or(0, |rules| rules.rules().len());
        let hides_rules = self.offer.query.kind.hides_rules();
        let message = match rules {
            0 => "--min-rule is for runs whose rows match by rules (--match)".to_owned(),
            _ if hides_rules => {
                "--min-rule is for rows that are written with their rule, and this query hides it: name fewer rules".to_owned()
            }
            rules if (1..=rules).contains(&usize::from(last)) => return Ok(()),
            rules => format!("--min-rule {last}: there are {rules} rules, counted from 1"),
        };
        Err(Error::usage(Misuse::Output, message))
    }

    /// Refuses options of a join in any other run, and options for the other side of a join.
    pub(super) fn check_join(&self) -> Result<()> {
        let (sends, kind) = (&self.offer.sends, self.offer.query.kind);
        let rows = sends.as_ref().map_or(1, |sent| sent.rows);
        let gets_table = self.offer.query.result_form() == ResultForm::Table;
        let receives_texts = sends.is_none() && (kind.takes_columns || gets_table);
        let message = if self.unmatched && (sends.is_some() || !kind.takes_columns) {
            "only the side that receives columns in a join can keep unmatched rows"
        } else if self.formulas == Formulas::Escape && !receives_texts {
            "only a side that receives columns of a join, or a table of results, can escape formulas"
        } else if self.duplicates == Duplicates::All && sends.is_none() {
            "all rows of a key are for the side that sends columns; every matching row of the other side is written \
             anyway"
        } else if self.duplicates == Duplicates::All && self.offer.rules.is_some() {
            "by rules, one of the rows with equal fields is sent: leave out --duplicates"
        } else if self.duplicates != Duplicates::All && rows > 1 {
            "sending more than one row per key requires that all duplicates are sent"
        } else {
            return Ok(());
        };
        Err(Error::usage(Misuse::Join, message))
    }
}
