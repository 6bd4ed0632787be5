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
