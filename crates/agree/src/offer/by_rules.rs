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
        let Some(rows) = self.query.kind.takes_rules else {
            return refused(
                "a sum of products takes no rules (--match): a row may match several rows of the other side, each with a value; \
                 name one --key",
            );
        };
        if rows.ambiguous() != rules.ambiguous() {
            return refused("the rules treat ambiguous keys in another way than the query");
        }
        if self.sends.as_ref().is_some_and(|sent| sent.rows > 1) {
            return refused(
                "by rules, a join links a row with one row of the other side: send one row per key",
            );
        }
        if self.noise.is_some() {
            return refused(
                "noise hides a single key, and by rules a row has several: leave out --epsilon",
            );
        }
        if self.align {
            return refused(
                "a common order requires that a row has a single match, and by rules it may have several: leave out --align",
            );
        }
        let named = self.protocol.as_ref().and_then(|name| self.query.method(name));
        if let Some(method) = named.filter(|method| !method.takes_rules()) {
            return refused(&format!(
                "`{}` counts keys, and by rules a row has several: leave out --protocol",
                method.key()
            ));
        }
        if self.diagnose {
            return refused(
                "--diagnose compares one key at a time: name one --key in place of rules",
            );
        }
        rules.on(rules.fields(), &self.keys).map(drop)
    }
}
