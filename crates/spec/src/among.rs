//! Conversion of the specification of a run among several parties.

use vesica_agree::{
    disclosed::Known,
    joint::{Cast, JointTerms, NamedParty},
    offer::Offer,
};
use vesica_net::{Fingerprint, connect::Member};
use vesica_partner::{joint::JointParts, partnership::Partnership};
use vesica_run::{joint::Venue, seat::Seat};
use vesica_select::Side;
use vesica_task::{
    disclosure::words::{Learned, Tense},
    query::Query,
};

use crate::{Connection, Fault, InvitedParties, Job, JobTable, Result, Table, Terms};

/// The options that say which keys the leader learns about, and who else learns.
struct PlaceOptions<'a> {
    leader: Option<&'a str>,
    pivot: Option<&'a str>,
    at_least: Option<usize>,
    learners: &'a [String],
}

impl PlaceOptions<'_> {
    /// Returns the parties and their places.
    fn cast(&self, parties: Vec<NamedParty>) -> Result<Cast> {
        let missing = |options, purpose| Fault::Missing { options, purpose };
        let purpose = "which party learns the result";
        let leader = self.leader.ok_or_else(|| missing(&["leader"][..], purpose))?;
        let cast = match self.at_least {
            Some(least) => Cast::of_holders(parties, leader, least)?,
            None => {
                let purpose =
                    "with which party the leader ends the run, or how many others must have a key";
                let pivot =
                    self.pivot.ok_or_else(|| missing(&["pivot", "at-least"][..], purpose))?;
                Cast::new(parties, leader, pivot)?
            }
        };
        Ok(cast.with_learners(self.learners)?)
    }
}

/// Creates the offer of a party to all others. At most `rows` rows per key are sent.
fn offer(terms: &Terms, table: &Table, rows: u32, cast: &Cast, me: usize) -> Result<Offer> {
    let terms = Terms { learns: Some(cast.learners_for(me)), ..terms.clone() };
    let side = match me {
        me if me == cast.leader => Side::A,
        me if Some(me) == cast.pivot() => Side::B,
        _ => {
            let Some(query) = terms.asked()? else {
                return terms.offer(table, rows, None);
            };
            if let Some(option) = terms.declares() {
                let why =
                    "declares a table of the query, and only the leader and the pivot have one";
                return Err(Fault::Unfit { option, why }.into());
            }
            let keys = Terms { query: None, query_file: None, ..terms };
            let offer = keys.offer(table, rows, None)?;
            return Ok(Offer { query: Query::select(query), ..offer });
        }
    };
    terms.offer(table, rows, Some(side))
}

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
        let party = |Member { name, fingerprint, .. }: &Member| NamedParty {
            name: name.clone(),
            fingerprint: fingerprint.to_string(),
        };
        let places = PlaceOptions {
            leader: parties.leader.as_deref(),
            pivot: parties.pivot.as_deref(),
            at_least: parties.at_least,
            learners: parties.learners.as_deref().unwrap_or_default(),
        };
        let cast = places.cast(parties.parties.iter().map(party).collect())?;
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
        match partnership {
            Some(_) => self.offer(partnership),
            None => {
                let rows = self.table.duplicates.rows;
                offer(&self.terms, &self.table, rows, &seat.cast, seat.me)
            }
        }
    }
}

impl InvitedParties {
    /// Returns the parties with nothing but their names, and this party's number.
    ///
    /// # Errors
    /// [`Fault::Missing`], and [`Error::Run`](crate::Error::Run) for parties that cannot be, or without this one.
    pub fn cast(&self) -> Result<(Cast, usize)> {
        let purpose = "which of the parties this one is";
        let me = self.me.as_deref().ok_or(Fault::Missing { options: &["me"], purpose })?;
        let party = |name: &String| NamedParty { name: name.clone(), fingerprint: name.clone() };
        let places = PlaceOptions {
            leader: self.leader.as_deref(),
            pivot: self.pivot.as_deref(),
            at_least: self.at_least,
            learners: self.learners.as_deref().unwrap_or_default(),
        };
        let cast = places.cast(self.parties.iter().flatten().map(party).collect())?;
        let number = cast.parties.iter().position(|party| party.name == me);
        let why = "does not name one of --parties";
        Ok((cast, number.ok_or(Fault::Unfit { option: "me", why })?))
    }

    /// Creates this party's offer to all others.
    ///
    /// # Errors
    /// As [`InvitedParties::cast`] and [`Terms::offer`].
    pub fn offer(&self, terms: &Terms, table: &JobTable) -> Result<Offer> {
        let (cast, me) = self.cast()?;
        offer(terms, table, 1, &cast, me)
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
