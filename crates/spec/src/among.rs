//! Conversion of the specification of a run among several parties.

use vesica_agree::{
    disclosed::Known,
    joint::{Cast, JointTerms, NamedParty},
    offer::Offer,
};
use vesica_core::parties::Learns;
use vesica_net::{Fingerprint, connect::Member};
use vesica_partner::{joint::JointParts, partnership::Partnership};
use vesica_run::{joint::Venue, seat::Seat};
use vesica_task::disclosure::words::{Learned, Tense};

use crate::{Connection, Fault, InvitedParties, Job, JobTable, Result, Terms};

const LEADS: &str = "which party learns the result";
const ENDS: &str = "with which party the leader ends the run";

impl Job {
    /// Returns the place of this party, if the run is among several: in the agreement, or else in `parties`.
    ///
    /// # Errors
    /// [`Fault::Missing`], and [`Error::Run`](crate::Error::Run) for parties that cannot be, or without this one.
    pub fn seat(&self, me: Fingerprint, partnership: Option<&Partnership>) -> Result<Option<Seat>> {
        if let Some(agreed) = partnership.and_then(|under| under.agreement().joint()) {
            return Ok(Some(Seat { cast: agreed.cast()?, me: agreed.number_of(me)? }));
        }
        let parties = &self.parties;
        if parties.parties.is_empty() {
            return Ok(None);
        }
        let named = |name: &Option<String>, options, purpose| {
            name.clone().ok_or(Fault::Missing { options, purpose })
        };
        let leader = named(&parties.leader, &["leader"], LEADS)?;
        let pivot = named(&parties.pivot, &["pivot"], ENDS)?;
        let party = |Member { name, fingerprint, .. }: &Member| NamedParty {
            name: name.clone(),
            fingerprint: fingerprint.to_string(),
        };
        let all = parties.parties.iter().map(party).collect();
        let cast = Cast::new(all, &leader, &pivot)?;
        let me = cast.number_of(&me.to_string())?;
        Ok(Some(Seat { cast, me }))
    }

    /// Returns all parties as the network knows them, from the agreement or else from `parties`.
    pub fn members(&self, partnership: Option<&Partnership>) -> Vec<Member> {
        let agreed = partnership.and_then(|under| under.agreement().joint());
        agreed.map_or_else(|| self.parties.parties.clone(), JointParts::members)
    }

    /// Returns the way in which all parties meet, from the job or else from the agreement.
    pub fn venue(&self, partnership: Option<&Partnership>) -> Venue {
        let agreed = partnership.and_then(|under| under.agreement().joint());
        self.connection.venue(agreed)
    }

    /// Describes what each party learns in such a run, if the others make matching offers.
    ///
    /// # Errors
    /// As [`Terms::offer`], and [`Error::Run`](crate::Error::Run) if no other offers match.
    pub fn said_among(&self, seat: &Seat) -> Result<Learned> {
        let offer = self.offer_among(seat, None)?;
        let terms = JointTerms::expected(&offer, &seat.cast, seat.me)?;
        Ok(terms.said(Some(seat.me), Known::default(), None, Tense::Future))
    }

    /// Creates the offer of this party to all others.
    ///
    /// # Errors
    /// As [`Job::offer`].
    pub(crate) fn offer_among(
        &self,
        seat: &Seat,
        partnership: Option<&Partnership>,
    ) -> Result<Offer> {
        if partnership.is_some() {
            return self.offer(partnership);
        }
        let learns = if seat.me == seat.cast.leader { Learns::Me } else { Learns::Peer };
        let terms = Terms { learns: Some(learns), ..self.terms.clone() };
        terms.offer(&self.table, self.table.duplicates.rows, None)
    }
}

impl InvitedParties {
    /// Returns the parties with nothing but their names, and this party's number.
    ///
    /// # Errors
    /// [`Fault::Missing`], and [`Error::Run`](crate::Error::Run) for parties that cannot be, or without this one.
    pub fn cast(&self) -> Result<(Cast, usize)> {
        let named = |name: &Option<String>, options, purpose| {
            name.clone().ok_or(Fault::Missing { options, purpose })
        };
        let me = named(&self.me, &["me"], "which of the parties this one is")?;
        let leader = named(&self.leader, &["leader"], LEADS)?;
        let pivot = named(&self.pivot, &["pivot"], ENDS)?;
        let party = |name: &String| NamedParty { name: name.clone(), fingerprint: name.clone() };
        let all = self.parties.iter().flatten().map(party).collect();
        let cast = Cast::new(all, &leader, &pivot)?;
        let number = cast.parties.iter().position(|party| party.name == me);
        let why = "names none of --parties";
        Ok((cast, number.ok_or(Fault::Unfit { option: "me", why })?))
    }

    /// Creates this party's offer to all others.
    ///
    /// # Errors
    /// As [`InvitedParties::cast`] and [`Terms::offer`].
    pub fn offer(&self, terms: &Terms, table: &JobTable) -> Result<Offer> {
        let (cast, me) = self.cast()?;
        let learns = if me == cast.leader { Learns::Me } else { Learns::Peer };
        let terms = Terms { learns: Some(learns), ..terms.clone() };
        terms.offer(table, 1, None)
    }
}

impl Connection {
    /// Returns the way in which several parties meet, from these options or else from their agreement.
    pub fn venue(&self, agreed: Option<&JointParts>) -> Venue {
        let relay = self.relay.clone().map(Venue::Relay);
        let exchange = || self.exchange_dir.clone().map(Venue::Exchange);
        let named = self.listen.clone().map(|listen| Venue::Addresses { listen: Some(listen) });
        let agreed = || agreed?.proposal.relay.clone().map(Venue::Relay);
        let chosen = relay.or_else(exchange).or(named).or_else(agreed);
        chosen.unwrap_or(Venue::Addresses { listen: None })
    }
}
