//! An offer that a side has signed, and that its offer in a run must match.

use serde_json::{Map, Value};
use vesica_core::{
    difference::Difference,
    error::{Error, Result},
    parties::Role,
};

use super::offer::WireOffer;

/// The offer that a side has signed in an agreement.
#[derive(Debug, Clone)]
pub struct Pledge {
    offer: WireOffer,
    /// The role in a run of the side that signed with role A: the inviting one.
    inviter: Role,
}

impl Pledge {
    /// Creates a pledge from the offer that a side has signed with the role `signed`, for a run in which it has the
    /// role `role`.
    pub fn new(offer: &WireOffer, signed: Role, role: Role) -> Self {
        let mut offer = offer.clone();
        if signed != role {
            std::mem::swap(&mut offer.a_learns, &mut offer.b_learns);
        }
        let inviter = if signed == role { Role::A } else { Role::B };
        Self { offer, inviter }
    }

    /// Creates a pledge from the offer that a party has signed with the role that it has in each run.
    pub fn of(offer: &WireOffer) -> Self {
        Self { offer: offer.clone(), inviter: Role::A }
    }

    /// Returns the role of the inviting side in the run.
    pub(crate) fn inviter(&self) -> Role {
        self.inviter
    }

    /// Refuses an offer that is not the signed one. A larger minimum is allowed, because it is a stricter rule of that
    /// side.
    ///
    /// # Errors
    /// [`Error::Terms`] with the names of the members that differ.
    pub(crate) fn require(&self, offer: &WireOffer) -> Result<()> {
        let (signed, made) = (members(&self.offer)?, members(offer)?);
        let differs = |name: &str| match name {
            // Another release, or another agreement, is found when offers are compared.
            "version" | "agreement" => false,
            "minimum" => offer.minimum < self.offer.minimum,
            name => made.get(name) != signed.get(name),
        };
        let names: Vec<_> = signed.keys().filter(|name| differs(name)).collect();
        if names.is_empty() {
            return Ok(());
        }
        let named: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        Err(Error::Terms(vec![Difference {
            what: "the other side's offer, which must match the agreement",
            here: "as that side signed it".to_owned(),
            there: format!("another {}", named.join(", ")),
        }]))
    }
}

/// Returns all members of an offer, so that a member added to offers is compared as well.
fn members(offer: &WireOffer) -> Result<Map<String, Value>> {
    match serde_json::to_value(offer) {
        Ok(Value::Object(members)) => Ok(members),
        _ => Err(Error::bug("an offer has JSON")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vesica_core::{error::Class, parties::Learns};
    use vesica_normalize::normalize::Normalize;

    use super::*;
    use crate::offer::Offer;

    fn signed() -> WireOffer {
        let offer = Offer::new(vec![Normalize::EMAIL], Learns::Me);
        WireOffer::new(&Offer { minimum: 5, ..offer }, Role::A)
    }

    fn changed(offer: &WireOffer, member: &str, value: Value) -> WireOffer {
        let mut members = serde_json::to_value(offer).unwrap();
        members[member] = value;
        serde_json::from_value(members).unwrap()
    }

    /// All members except the two that are compared elsewhere; a new member is a new line.
    #[test]
    fn every_member_must_match_the_signed_offer() {
        let pledge = Pledge::new(&signed(), Role::A, Role::A);
        let others = [
            ("protocol", json!("dh")),
            ("security", json!("malicious")),
            ("keys", json!(["phone@1"])),
            ("identifiers", json!([1, 1])),
            (
                "rules",
                json!({
                    "fields": ["mail"],
                    "rules": ["mail"],
                    "functions": [],
                    "ambiguous": "by-first-rule",
                }),
            ),
            ("a_learns", json!(false)),
            ("b_learns", json!(true)),
            ("max_peer_rows", json!(u64::MAX)),
            ("allow_research", json!(true)),
            ("wanted", json!("count")),
            ("brings_values", json!(true)),
            ("table", json!({ "table": "a", "keys": "unique", "columns": ["spend:integer"] })),
            ("sends", json!({ "columns": ["iban"], "bytes": 64, "rows": 1 })),
            ("minimum", json!(4)),
            ("noise", json!({ "epsilon": "0.5", "clamp": null })),
            ("null_values", json!(["x"])),
            ("scale", json!(2)),
            ("diagnose", json!(true)),
            ("align", json!(true)),
        ];
        let all = members(&signed()).unwrap();
        let compared = all.keys().filter(|name| !["version", "agreement"].contains(&name.as_str()));
        assert!(
            compared.eq({
                let mut names = others.clone().map(|(name, _)| name.to_owned());
                names.sort();
                names
            }
            .iter())
        );
        for (member, value) in others {
            let offer = changed(&signed(), member, value);
            let refused = pledge.require(&offer).unwrap_err();
            assert_eq!(refused.class(), Class::Terms, "{member}");
            assert!(refused.to_string().contains(&format!("another `{member}`)")), "{refused}");
        }
    }

    #[test]
    fn a_pledge_holds_in_either_role_and_with_a_stricter_minimum() {
        let hash = Some("0".repeat(64));
        let mut in_a_run = signed();
        (in_a_run.agreement, in_a_run.minimum) = (hash, 6);
        assert!(Pledge::new(&signed(), Role::A, Role::A).require(&in_a_run).is_ok());
        let listening = Pledge::new(&signed(), Role::A, Role::B);
        assert!(listening.require(&in_a_run).is_err(), "the other side would learn");
        let mut swapped = in_a_run.clone();
        (swapped.a_learns, swapped.b_learns) = (false, true);
        assert!(listening.require(&swapped).is_ok());
    }
}
