//! Conversion of the specification of a run among several parties.

use vesica_agree::{
    disclosed::Known,
    joint::{Cast, JointTerms, NamedParty},
    offer::Offer,
};
use vesica_core::parties::Learns;
use vesica_net::{Fingerprint, connect::Member};
use vesica_run::{joint::Venue, seat::Seat};
use vesica_task::disclosure::words::{Learned, Tense};

use crate::{Fault, Job, Result, Terms};

impl Job {
    /// Returns the place of this party, if the run is among several.
    ///
    /// # Errors
    /// [`Fault::Missing`], and [`Error::Run`](crate::Error::Run) for parties that cannot be, or without this one.
    pub fn seat(&self, me: Fingerprint) -> Result<Option<Seat>> {
        let parties = &self.parties;
        if parties.parties.is_empty() {
            return Ok(None);
        }
        let named = |name: &Option<String>, options, purpose| {
            name.clone().ok_or(Fault::Missing { options, purpose })
        };
        let leader = named(&parties.leader, &["leader"], "which party learns the result")?;
        let purpose = "with which party the leader ends the run";
        let pivot = named(&parties.pivot, &["pivot"], purpose)?;
        let party = |Member { name, fingerprint, .. }: &Member| NamedParty {
            name: name.clone(),
            fingerprint: fingerprint.to_string(),
        };
        let all = parties.parties.iter().map(party).collect();
        let cast = Cast::new(all, &leader, &pivot)?;
        let me = cast.number_of(&me.to_string())?;
        Ok(Some(Seat { cast, me }))
    }

    /// Returns the way in which all parties meet.
    pub fn venue(&self) -> Venue {
        let connection = &self.connection;
        let relay = connection.relay.clone().map(Venue::Relay);
        let exchange = || connection.exchange_dir.clone().map(Venue::Exchange);
        let listen = connection.listen.clone();
        relay.or_else(exchange).unwrap_or(Venue::Addresses { listen })
    }

    /// Describes what each party learns in such a run, if the others make matching offers.
    ///
    /// # Errors
    /// As [`Terms::offer`], and [`Error::Run`](crate::Error::Run) if no other offers match.
    pub fn said_among(&self, seat: &Seat) -> Result<Learned> {
        let offer = self.offer_among(seat)?;
        let terms = JointTerms::expected(&offer, &seat.cast, seat.me)?;
        Ok(terms.said(seat.me, Known::default(), None, Tense::Future))
    }

    /// Creates the offer of this party to all others.
    ///
    /// # Errors
    /// As [`Terms::offer`].
    pub(crate) fn offer_among(&self, seat: &Seat) -> Result<Offer> {
        let learns = if seat.me == seat.cast.leader { Learns::Me } else { Learns::Peer };
        let terms = Terms { learns: Some(learns), ..self.terms.clone() };
        terms.offer(&self.table, self.table.duplicates.rows, None)
    }
}
