//! Offers that outlast a run: read from an agreement, answered by their mirror image, and described in plain words.

use vesica_core::{
    error::{Error, Misuse, Result},
    parties::{Learns, Parties, Role},
};
use vesica_normalize::{
    normalize::{Normalize, TravellingName},
    null_values::NullValues,
};
use vesica_table::sent_columns::SentColumns;
use vesica_task::{query::Values, select::QueryTable};

use super::{
    offer::{Offer, WireOffer},
    terms::Terms,
};

impl WireOffer {
    /// Returns the offer of the side with this role, as that side made it.
    ///
    /// # Errors
    /// [`Error::Usage`] if it names a normalisation that this release does not have.
    pub fn offer(&self, role: Role) -> Result<Offer> {
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
            rules: self.rules.clone(),
            learns,
            max_peer_rows: self.max_peer_rows,
            allow_research: self.allow_research,
            query: self.query.clone(),
            brings_values: self.brings_values,
            table: self.table.clone(),
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

    /// Returns the offer with which the side with this role matches this offer of the other side without further
    /// demands. Each side decides for itself whether research protocols may run, and how many keys the other side may
    /// have.
    ///
    /// # Errors
    /// As [`WireOffer::offer`].
    pub fn mirrored(&self, role: Role) -> Result<Offer> {
        let offer = self.offer(role)?;
        let keys = offer.keys.into_iter().map(counterpart).collect();
        let brings_values = match offer.query.kind.values {
            Values::None | Values::Any => false,
            Values::OfOne => !self.brings_values,
            Values::OfBoth => true,
        };
        let Offer { allow_research, max_peer_rows, .. } = Offer::new(Vec::new(), offer.learns);
        // The other table, whose columns its owner declares.
        let other = |table: QueryTable| QueryTable { side: table.side.other(), declared: None };
        let table = offer.table.map(other);
        Ok(Offer {
            keys,
            brings_values,
            table,
            sends: None,
            allow_research,
            max_peer_rows,
            ..offer
        })
    }

    fn learns(&self, role: Role) -> bool {
        match role {
            Role::A => self.a_learns,
            Role::B => self.b_learns,
        }
    }
}

impl Terms {
    /// Returns the terms of this offer if the other side makes a matching one without further demands. Columns that the
    /// other side sends have no names yet.
    ///
    /// # Errors
    /// [`Error::Terms`] if no other offer matches.
    pub fn expected(offer: &Offer, parties: &Parties) -> Result<Self> {
        let role = parties.role;
        let mine = WireOffer::new(offer, role);
        let mut theirs = mine.mirrored(role.other())?;
        theirs.allow_research = offer.allow_research;
        theirs.max_peer_rows = offer.max_peer_rows;
        if offer.query.kind.takes_columns && offer.sends.is_none() {
            theirs.sends = Some(SentColumns { columns: Vec::new(), bytes: 0, rows: 1 });
        }
        Self::merge(&mine, &WireOffer::new(&theirs, role.other()), parties)
    }
}

/// Returns the profile with this name and version.
fn profile(name: &TravellingName) -> Result<Normalize> {
    name.known().ok_or_else(|| {
        Error::usage(
            Misuse::Key,
            format!(
                "this release has no normalisation `{}`; install the same release on both sides",
                name.as_str()
            ),
        )
    })
}

/// Returns the profile that fits a partner with this one: if one side has digests, the other computes them.
fn counterpart(profile: Normalize) -> Normalize {
    match profile {
        Normalize::Sha256(inner) => Normalize::Hashed(inner),
        Normalize::Hashed(inner) => Normalize::Sha256(inner),
        other => other,
    }
}

/// Reads null values, which offers hold in normalised form; the default ones are shown as such again.
fn null_values(values: &[String], keys: &[Normalize]) -> Result<NullValues> {
    let default = NullValues::default();
    match default.applied_to(keys).values() == values {
        true => Ok(default),
        false => Ok(NullValues::new(values)?),
    }
}

#[cfg(test)]
mod tests {
    use vesica_core::parties::Security;
    use vesica_task::query::Query;

    use super::*;

    fn offer(learns: Learns) -> Offer {
        Offer::new(vec![Normalize::EMAIL], learns)
    }

    const ALL: [Learns; 4] = [Learns::Me, Learns::Peer, Learns::Both, Learns::Nobody];

    #[test]
    fn offers_are_read_back_unchanged() {
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
    fn the_mirror_image_matches_the_proposal() {
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
            let proposed =
                Offer { query: query.clone(), brings_values: brings, ..offer(Learns::Both) };
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
        // Each side decides for itself what it allows.
        let own = Offer { allow_research: true, max_peer_rows: 7, ..offer(Learns::Both) };
        assert_eq!(mirrored(&own), offer(Learns::Both));
    }
}
