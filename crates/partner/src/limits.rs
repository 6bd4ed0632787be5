//! The limits of a policy on the query of an offer.

use vesica_agree::{offer::Offer, terms::Terms};
use vesica_core::{
    error::{Error, Misuse, Result},
    parties::Security,
};
use vesica_task::query::Query;

use super::policy::Policy;

/// Returns the offer with the policy's minimum, if the query has its own minimum.
pub(crate) fn limited(offer: &Offer, policy: &Policy) -> Result<Offer> {
    let mut offer = offer.clone();
    let task = offer.query.kind.task;
    if let Some(least) = policy.min_result.filter(|_| task.takes_minimum()) {
        offer.minimum = offer.minimum.max(least);
    }
    check_query(&offer, policy)?;
    let is_exact = offer.noise.is_none();
    let counts_matches = offer.query.kind.keeps_rows || offer.query == Query::COUNT && is_exact;
    if policy.max_false.is_some() && offer.rules.is_none() {
        let message = "max-false is for runs whose rows match by rules; add --match";
        return Err(Error::usage(Misuse::Policy, message));
    }
    if policy.epsilon_total.is_some() && is_exact {
        let message = "epsilon-total requires a number with noise; add --epsilon";
        return Err(Error::usage(Misuse::Noise, message));
    }
    let rules = [
        (policy.min_result.is_some() && !counts_matches && !task.takes_minimum(), "min-result"),
        (policy.max_result.is_some() && !counts_matches, "max-result"),
        (policy.max_result_total.is_some() && !counts_matches, "max-result-total"),
    ];
    if policy.threshold_first {
        let message = if !offer.query.kind.keeps_rows || policy.min_result.is_none() {
            "threshold-first requires a query for rows, and min-result"
        } else if offer.security > Security::SemiHonest {
            "threshold-first is computed by circuit PSI, which is secure only against semi-honest parties"
        } else if offer.rules.is_some() || !offer.identifiers.is_empty() {
            // A person with eight keys in common would pass for eight shared rows.
            "threshold-first counts keys, and with rules or identifiers a row has several: name one key, or leave it out"
        } else {
            ""
        };
        if !message.is_empty() {
            return Err(Error::usage(Misuse::Policy, message));
        }
    }
    match rules.iter().find(|(is_broken, _)| *is_broken) {
        None => Ok(offer),
        Some((_, rule)) => Err(Error::usage(
            Misuse::Policy,
            format!(
                "{rule} requires a query that reveals the number of shared keys, which {} does not",
                offer.query.describe()
            ),
        )),
    }
}

/// Refuses a query that shows smaller groups than the policy permits, and rules about groups for other queries.
fn check_query(offer: &Offer, policy: &Policy) -> Result<()> {
    let refused = |message: String| Err(Error::usage(Misuse::Policy, message));
    let Some(select) = offer.query.selected() else {
        let rules = [(policy.min_cell, "min-cell"), (policy.max_cells, "max-cells")];
        return match rules.iter().find(|(rule, _)| rule.is_some()) {
            None => Ok(()),
            Some((_, rule)) => refused(format!(
                "{rule} requires a query over both tables, and the query is {}",
                offer.query.describe()
            )),
        };
    };
    match policy.min_cell.filter(|least| select.least() < *least) {
        None => Ok(()),
        Some(least) => refused(format!(
            "min-cell requires that the query ends in HAVING count(*) >= {least}, or a larger number"
        )),
    }
}

/// Refuses a query with more groups than a policy permits.
pub(crate) fn check_groups(terms: &Terms, policy: &Policy) -> Result<()> {
    let shape = terms.selection().and_then(|selection| selection.shape());
    let groups = shape.map_or(1, |shape| shape.groups);
    match policy.max_cells.filter(|most| groups > *most) {
        None => Ok(()),
        Some(most) => Err(Error::usage(
            Misuse::Policy,
            format!("max-cells permits {most} groups, and the query has up to {groups}"),
        )),
    }
}
