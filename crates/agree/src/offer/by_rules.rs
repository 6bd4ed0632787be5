//! Offers with rules.

use vesica_core::error::{Error, Misuse, Result};

use super::Offer;
use crate::rule_terms::RuleTerms;

impl Offer {
    /// Refuses rules that the offer does not take.
    ///
    /// # Errors
    /// As [`RuleTerms::on`].
    pub(super) fn check_rules(&self, rules: &RuleTerms) -> Result<()> {
        let refused = |message: &str| Err(Error::usage(Misuse::Identifiers, message));
        let Some(ambiguous) = self.query.kind.takes_rules else {
            return refused(
                "only rows and joins take rules (--match): in counts, sums and shares, a row that matches by two rules would \
                 count twice; name one --key",
            );
        };
        if ambiguous != rules.ambiguous() {
            return refused("the rules treat ambiguous keys in another way than the query");
        }
        if self.sends.as_ref().is_some_and(|sent| sent.rows > 1) {
            return refused(
                "by rules, a join links a row with one row of the other side: send one row per key",
            );
        }
        if self.align {
            return refused(
                "a common order requires that a row has a single match, and by rules it may have several: leave out --align",
            );
        }
        if self.diagnose {
            return refused(
                "--diagnose compares one key at a time: name one --key in place of rules",
            );
        }
        rules.on(rules.fields(), &self.keys).map(drop)
    }
}
