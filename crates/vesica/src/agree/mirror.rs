//! Offers that outlive a run: read back from an agreement, answered by their mirror image, and said in plain words.

use super::offer::{Offer, WireOffer};
use crate::{
    error::{Error, Result},
    keys::{
        normalize::{Normalize, TravellingName},
        null_values::NullValues,
    },
    parties::{Learns, Role, Security},
    task::query::Values,
    words::{counted, grouped},
};

impl WireOffer {
    /// The offer of the side with this role, as that side made it.
    ///
    /// # Errors
    /// [`Error::Usage`] where it names a normalisation that this release does not have.
    pub(crate) fn offer(&self, role: Role) -> Result<Offer> {
        let keys = self.keys.iter().map(profile).collect::<Result<Vec<_>>>()?;
        let learns = match (self.learns(role), self.learns(role.other())) {
            (true, true) => Learns::Both,
            (true, false) => Learns::Me,
            (false, true) => Learns::Peer,
            (false, false) => Learns::Nobody,
        };
        Ok(Offer {
            protocol: self.protocol.clone(),
            security: self.security,
            identifiers: self.identifiers.clone(),
            learns,
            max_peer_rows: self.max_peer_rows,
            allow_research: self.allow_research,
            query: self.query,
            brings_values: self.brings_values,
            sends: self.sends.clone(),
            minimum: self.minimum,
            noise: self.noise,
            null_values: null_values(&self.null_values, &keys)?,
            scale: self.scale,
            diagnose: self.diagnose,
            align: self.align,
            agreement: self.agreement.clone(),
            keys,
        })
    }

    /// What the side with this role offers if it meets this offer of the other side, and asks for nothing besides.
    ///
    /// # Errors
    /// As [`WireOffer::offer`].
    pub(crate) fn mirrored(&self, role: Role) -> Result<Offer> {
        let offer = self.offer(role)?;
        let keys = offer.keys.into_iter().map(counterpart).collect();
        let brings_values = match offer.query.kind.values {
            Values::None | Values::Any => false,
            Values::OfOne => !self.brings_values,
            Values::OfBoth => true,
        };
        Ok(Offer { keys, brings_values, sends: None, ..offer })
    }

    fn learns(&self, role: Role) -> bool {
        match role {
            Role::A => self.a_learns,
            Role::B => self.b_learns,
        }
    }

    /// What the inviting side, which has the role of the connecting one, offers, in plain words for the other.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let names: Vec<_> = self.keys.iter().map(TravellingName::unversioned).collect();
        let one = [names.len() as u8];
        let columns = if self.identifiers.is_empty() { &one[..] } else { &self.identifiers };
        let mut rest = names.iter();
        let mut key = |columns: &u8| {
            let names: Vec<_> = rest.by_ref().take(usize::from(*columns)).copied().collect();
            names.join(" + ")
        };
        let keys = columns.iter().map(&mut key).collect::<Vec<_>>().join(", or ");
        let learner = match (self.a_learns, self.b_learns) {
            (true, true) => "both sides learn it",
            (true, false) => "the inviting side alone learns it",
            (false, true) => "this side alone learns it",
            (false, false) => "nobody learns it: each side gets secret shares",
        };
        let mut said = vec![
            format!("to find out: {}; {learner}", self.query.describe()),
            format!("rows are compared by {keys}"),
        ];
        said.extend(self.unusual_null_values());
        if let Some(sent) = &self.sends {
            said.push(format!("the inviting side sends, for matching rows, {}", sent.describe()));
        }
        if self.query.kind.takes_columns && self.sends.is_none() {
            said.push("this side sends columns of matching rows, which it names".to_owned());
        }
        if self.minimum > 0 {
            let least = counted(self.minimum, "key");
            said.push(format!("if fewer than {least} are shared, nothing else is told"));
        }
        if let Some(noise) = self.noise {
            let noise = noise.describe();
            said.push(format!("the number gets noise that hides any single key: {noise}"));
        }
        said.push(match self.security {
            Security::SemiHonest => "secure if both sides follow the protocol".to_owned(),
            Security::Malicious => "secure even if a side deviates from the protocol".to_owned(),
        });
        said.extend(self.protocol.as_ref().map(|name| format!("by the protocol {name}")));
        said.push(format!("this side may bring at most {} keys", grouped(self.max_peer_rows)));
        said
    }

    /// Which values count as empty, where these are others than by default.
    fn unusual_null_values(&self) -> Option<String> {
        let keys: Vec<_> = self.keys.iter().filter_map(TravellingName::known).collect();
        let values = null_values(&self.null_values, &keys).ok()?;
        let is_default = values == NullValues::default();
        let values = values.describe();
        (!is_default).then(|| format!("values that count as empty, and make no key: {values}"))
    }
}

/// The profile of this name and version.
fn profile(name: &TravellingName) -> Result<Normalize> {
    name.known().ok_or_else(|| {
        Error::Usage(format!(
            "this release has no normalisation `{}`; install the same release on both sides",
            name.as_str()
        ))
    })
}

/// The profile of a side whose partner has this one: where one side has digests, the other makes them.
fn counterpart(profile: Normalize) -> Normalize {
    match profile {
        Normalize::Sha256(inner) => Normalize::Hashed(inner),
        Normalize::Hashed(inner) => Normalize::Sha256(inner),
        other => other,
    }
}

/// Offers hold null values as they apply to the keys; the default ones are shown as such again.
fn null_values(values: &[String], keys: &[Normalize]) -> Result<NullValues> {
    let default = NullValues::default();
    match default.applied_to(keys).values() == values {
        true => Ok(default),
        false => Ok(NullValues::new(values)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Query, table::sent_columns::SentColumns};

    fn offer(learns: Learns) -> Offer {
        Offer::new(vec![Normalize::Email], learns)
    }

    const ALL: [Learns; 4] = [Learns::Me, Learns::Peer, Learns::Both, Learns::Nobody];

    #[test]
    fn offers_are_read_back_as_they_were_made() {
        let keys: Vec<Normalize> =
            ["sha256:email", "phone:DE"].map(|name| name.parse().unwrap()).into();
        let null_values = NullValues::new(["x", "y"]).unwrap();
        for learns in ALL {
            for role in [Role::A, Role::B] {
                let plain = offer(learns);
                let full = Offer {
                    protocol: Some("dh-sum".to_owned()),
                    security: Security::Malicious,
                    keys: keys.clone(),
                    identifiers: vec![1, 1],
                    max_peer_rows: 7,
                    allow_research: true,
                    query: Query::at_least(5),
                    brings_values: true,
                    minimum: 3,
                    null_values: null_values.clone(),
                    scale: 2,
                    diagnose: true,
                    align: true,
                    agreement: Some("0".repeat(64)),
                    ..plain.clone()
                };
                for offer in [plain, full] {
                    let read = WireOffer::new(&offer, role).offer(role).unwrap();
                    assert_eq!(
                        (read.null_values.clone(), read.learns),
                        (offer.null_values.clone(), learns)
                    );
                    let again = Offer { keys: offer.keys.clone(), ..read };
                    assert_eq!(again, offer);
                }
            }
        }
    }

    #[test]
    fn the_mirror_image_meets_what_is_proposed() {
        let mirrored = |offer: &Offer| WireOffer::new(offer, Role::A).mirrored(Role::B).unwrap();
        for (learns, other) in ALL.into_iter().zip([1, 0, 2, 3].map(|i| ALL[i])) {
            assert_eq!(mirrored(&offer(learns)).learns, other);
        }
        for (query, brings, then) in [
            (Query::ROWS, false, false),
            (Query::SUM, true, false),
            (Query::SUM, false, true),
            (Query::PRODUCTS, true, true),
            (Query::SHARES, true, false),
        ] {
            let proposed = Offer { query, brings_values: brings, ..offer(Learns::Both) };
            assert_eq!(mirrored(&proposed).brings_values, then, "{query:?}");
        }
        for (name, other) in [
            ("sha256:email", "hashed:email"),
            ("hashed:phone", "sha256:phone"),
            ("email:gmail", "email:gmail"),
        ] {
            let proposed = Offer { keys: vec![name.parse().unwrap()], ..offer(Learns::Both) };
            assert_eq!(mirrored(&proposed).keys, [other.parse().unwrap()]);
        }
        let sent = SentColumns { columns: vec!["c".to_owned()], bytes: 8, rows: 1 };
        let join = Offer { query: Query::JOIN, sends: Some(sent), ..offer(Learns::Peer) };
        assert_eq!(mirrored(&join).sends, None);
    }

    #[test]
    fn every_part_of_an_offer_has_a_sentence() {
        let said = |offer: &Offer| WireOffer::new(offer, Role::A).sentences();
        let rows = |learner: &str| format!("to find out: {}; {learner}", Query::ROWS.describe());
        let learners = [
            "the inviting side alone learns it",
            "this side alone learns it",
            "both sides learn it",
            "nobody learns it: each side gets secret shares",
        ];
        for (learns, learner) in ALL.into_iter().zip(learners) {
            let expected = [
                &rows(learner)[..],
                "rows are compared by email",
                "secure if both sides follow the protocol",
                "this side may bring at most 100,000,000 keys",
            ];
            assert_eq!(said(&offer(learns)), expected);
        }
        let names = ["email", "phone:DE", "lower"];
        let keys = Vec::from(names.map(|name| name.parse().unwrap()));
        let several =
            |identifiers| Offer { keys: keys.clone(), identifiers, ..offer(Learns::Both) };
        assert_eq!(said(&several(vec![]))[1], "rows are compared by email + phone:DE + lower");
        assert_eq!(
            said(&several(vec![1, 2]))[1],
            "rows are compared by email, or phone:DE + lower"
        );
        let null_values = |values: NullValues| {
            said(&Offer { null_values: values, ..offer(Learns::Both) })[2].clone()
        };
        let some = NullValues::new(["x", "ann@example.org"]).unwrap();
        let expected = "values that count as empty, and make no key: ann@example.org, x";
        assert_eq!(null_values(some), expected);
        let expected = "values that count as empty, and make no key: only empty ones";
        assert_eq!(null_values(NullValues::none()), expected);
        let full = Offer {
            minimum: 1,
            noise: Some(serde_json::from_str("{\"epsilon\":\"0.5\",\"clamp\":null}").unwrap()),
            security: Security::Malicious,
            protocol: Some("dh".to_owned()),
            ..offer(Learns::Both)
        };
        let expected = [
            "if fewer than 1 key are shared, nothing else is told",
            "the number gets noise that hides any single key: ε = 0.5",
            "secure even if a side deviates from the protocol",
            "by the protocol dh",
        ];
        assert_eq!(said(&full)[2..6], expected);
        let join = |learns, sends| said(&Offer { query: Query::JOIN, sends, ..offer(learns) });
        let sent = SentColumns { columns: vec!["c".to_owned()], bytes: 8, rows: 1 };
        let sends = "the inviting side sends, for matching rows, c in 8 bytes a row";
        assert_eq!(join(Learns::Peer, Some(sent))[2], sends);
        let asks = "this side sends columns of matching rows, which it names";
        assert_eq!(join(Learns::Me, None)[2], asks);
    }
}
