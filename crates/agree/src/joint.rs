//! The terms of a run among several parties.
//!
//! All parties name the same [`Cast`]: who they are, who leads, and who is the pivot. Each sends its offer to all
//! others, so all merge the same offers: the leader's with each other party's, as between two. Leader and pivot end
//! the run with each other, under the strictest values of all parties. The other parties, the helpers, provide only
//! keys.

mod said;

use serde::{Deserialize, Serialize};
use vesica_core::{
    difference::Difference,
    error::{Error, Misuse, Result},
    parties::{Learns, Parties, Role, Security},
};
use vesica_net::Mesh;
use vesica_psi::{DigestLength, joint::Place};
use vesica_table::sent_columns::SentColumns;
use vesica_task::query::Query;

use crate::{
    offer::{Offer, WireOffer},
    pledge::Pledge,
    terms::Terms,
};

/// The version of the messages that only runs among several parties have.
const VERSION: u32 = 1;

/// The longest name of a party, in bytes.
pub const MAX_NAME: usize = 40;

/// The most parties of a run.
pub const MAX_PARTIES: usize = vesica_net::connect::MAX_PARTIES;

/// The longest description of the parties on the wire, in bytes.
const MAX_CAST: usize = MAX_PARTIES * (MAX_NAME + 160) + 200;

/// The longest offer on the wire, in bytes.
const MAX_OFFER: usize = 1 << 16;

const CAST: &str = "joint/cast";
const OFFER: &str = "joint/offer";
const TERMS: &str = "joint/terms";

/// Returns whether a text is a name of a party: a short word.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_plain)
}

/// A party of a run among several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedParty {
    /// The name by which all of them know it.
    pub name: String,
    /// Its fingerprint.
    pub fingerprint: String,
}

/// The parties of a run among several, in the order of their numbers, and their places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cast {
    /// The parties.
    pub parties: Vec<NamedParty>,
    /// The leader's number.
    pub leader: usize,
    /// The pivot's number.
    pub pivot: usize,
}

impl Cast {
    /// Creates a cast. The leader learns the result; it ends the run with the pivot.
    ///
    /// # Errors
    /// [`Error::Usage`] for fewer than three parties or too many, for names that are not short words, for names or
    /// fingerprints that occur twice, and for a leader or pivot that is not one of the parties, or the same party.
    pub fn new(parties: Vec<NamedParty>, leader: &str, pivot: &str) -> Result<Self> {
        let refused = |message: String| Error::usage(Misuse::Parties, message);
        if !(3..=MAX_PARTIES).contains(&parties.len()) {
            let given = parties.len();
            let message = format!(
                "--parties takes 3 to {MAX_PARTIES} parties, not {given}; a run of two names its --peer"
            );
            return Err(refused(message));
        }
        for (number, NamedParty { name, fingerprint }) in parties.iter().enumerate() {
            if !is_name(name) {
                return Err(refused(format!(
                    "party {} of --parties needs a name of at most {MAX_NAME} letters, digits, and any of -_.",
                    number + 1
                )));
            }
            let others = &parties[..number];
            if others.iter().any(|other| other.name == *name) {
                return Err(refused(format!("--parties names `{name}` twice")));
            }
            if let Some(other) = others.iter().find(|other| other.fingerprint == *fingerprint) {
                let other = &other.name;
                return Err(refused(format!("`{other}` and `{name}` have the same fingerprint")));
            }
        }
        let number = |option: &str, name: &str| {
            let number = parties.iter().position(|party| party.name == name);
            number.ok_or_else(|| {
                refused(format!("--{option} names `{name}`, which is not one of --parties"))
            })
        };
        let (leader, pivot) = (number("leader", leader)?, number("pivot", pivot)?);
        if leader == pivot {
            return Err(refused(
                "--leader and --pivot are two of the parties, not the same one".to_owned(),
            ));
        }
        Ok(Self { parties, leader, pivot })
    }

    /// Returns the number of the party with this fingerprint.
    ///
    /// # Errors
    /// [`Error::Usage`] if no party has it.
    pub fn number_of(&self, fingerprint: &str) -> Result<usize> {
        let number = self.parties.iter().position(|party| party.fingerprint == fingerprint);
        number.ok_or_else(|| {
            let message = format!("--parties does not have this side's fingerprint, {fingerprint}");
            Error::usage(Misuse::Parties, message)
        })
    }

    /// Returns the place of a party.
    pub fn place(&self, party: usize) -> Place {
        Place::of(party, self.leader, self.pivot)
    }

    /// Returns the name of a party.
    pub fn name(&self, party: usize) -> &str {
        &self.parties[party].name
    }

    /// Returns the party with which this one has a session of two: the pivot of the leader, and otherwise the leader.
    pub fn partner(&self, party: usize) -> usize {
        if party == self.leader { self.pivot } else { self.leader }
    }

    /// Returns the helpers' numbers, ascending.
    pub fn helpers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.parties.len()).filter(|party| self.place(*party) == Place::Helper)
    }

    /// Returns the two sides of a session: the leader with another party.
    pub fn sides(&self, me: usize) -> Parties {
        let role = if me == self.leader { Role::A } else { Role::B };
        let [me, peer] =
            [me, self.partner(me)].map(|party| self.parties[party].fingerprint.clone());
        Parties { role, me, peer }
    }

    fn describe(&self) -> String {
        let parties = self
            .parties
            .iter()
            .map(|NamedParty { name, fingerprint }| format!("{name}={fingerprint}"));
        let parties: Vec<_> = parties.collect();
        let name =
            |party| self.parties.get(party).map_or("nobody", |party: &NamedParty| &party.name);
        format!("{}, leader {}, pivot {}", parties.join(", "), name(self.leader), name(self.pivot))
    }
}

/// The terms of a run among several parties, the same on all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointTerms {
    cast: Cast,
    /// The terms of the leader with each other party, in the order of their numbers. Those with the pivot are at the
    /// leader's place, too.
    of_pairs: Vec<Terms>,
    /// The maximum number of keys of each party.
    limits: Vec<u64>,
}

/// Refuses an offer that is not for a run among several parties.
///
/// # Errors
/// [`Error::Usage`].
pub fn check(offer: &Offer, place: Place) -> Result<()> {
    let learns = if place == Place::Leader { Learns::Me } else { Learns::Peer };
    let named = offer.protocol.as_ref().and_then(|name| offer.query.method(name));
    let is_long = named.is_some_and(|method| method.item_length() == DigestLength::Long);
    let message = if offer.learns != learns {
        "among several parties the leader learns"
    } else if !offer.query.kind.is_told {
        "shares are for two parties: ask for rows, a count, a sum or a threshold"
    } else if offer.query.selected().is_some() {
        "a query over both tables is for two parties: ask for rows, a count, a sum or a threshold"
    } else if !offer.identifiers.is_empty() || offer.rules.is_some() {
        "among several parties a row has one identifier: it could match one party by one of them, and another party by \
         another; name one --key"
    } else if offer.diagnose {
        "--diagnose compares the keys of two parties: run it with one of them"
    } else if offer.align {
        "--align is for two parties that both learn"
    } else if offer.security != Security::SemiHonest || is_long {
        "among several parties a run withstands semi-honest parties: leave out --security malicious, and name no protocol \
         against malicious ones"
    } else if place == Place::Helper && (offer.brings_values || offer.sends.is_some()) {
        "only the leader and the pivot provide values or columns: make the party with them the --pivot"
    } else {
        return match place {
            // Leader and pivot check the query.
            Place::Helper => {
                let (query, protocol) = (Query::ROWS, None);
                let keys = Offer { query, protocol, minimum: 0, noise: None, ..offer.clone() };
                keys.check()
            }
            _ => offer.check(),
        };
    };
    Err(Error::usage(Misuse::Parties, message))
}

impl JointTerms {
    /// Exchanges offers with all other parties and merges them, and binds the session of each pair to the terms. Under
    /// an agreement, `pledges` has the offers that the parties have signed, in the order of their numbers.
    ///
    /// # Errors
    /// [`Error::Terms`] with every difference from a party, [`Error::Version`], and every error of an exchange.
    pub fn agree(
        offer: &Offer,
        pledges: Option<&[Pledge]>,
        cast: &Cast,
        mesh: &mut Mesh<'_>,
    ) -> Result<Self> {
        let me = mesh.me();
        check(offer, cast.place(me))?;
        Self::compare_casts(cast, mesh)?;
        let ours = serde_json::to_vec(&WireOffer::new(offer, cast.sides(me).role));
        let ours = ours.map_err(|_| Error::bug("terms have no JSON"))?;
        let all = mesh.all_texts(OFFER, &ours, MAX_OFFER)?;
        let mut offers = Vec::new();
        for (party, bytes) in all.iter().enumerate() {
            let channel = mesh.to(if party == me { cast.partner(me) } else { party });
            let read = WireOffer::decode(bytes, channel).and_then(|theirs| {
                let pledge = pledges.and_then(|pledges| pledges.get(party));
                pledge.filter(|_| party != me).map_or(Ok(()), |pledge| pledge.require(&theirs))?;
                Ok(theirs)
            });
            offers.push(read.map_err(|error| of(cast, party, error))?);
        }
        let terms = Self::merge(cast, me, &offers)?;
        mesh.bind(TERMS, terms.hash().as_bytes());
        Ok(terms)
    }

    /// Returns the terms of this offer if all other parties make matching ones without further demands.
    ///
    /// # Errors
    /// [`Error::Usage`] for an offer that is not for such a run, and [`Error::Terms`] if no other offers match.
    pub fn expected(offer: &Offer, cast: &Cast, me: usize) -> Result<Self> {
        check(offer, cast.place(me))?;
        let mine = WireOffer::new(offer, cast.sides(me).role);
        let of_party = |party: usize| match party == me {
            true => Ok(mine.clone()),
            false => Ok(WireOffer::new(&answer(offer, cast, me, party)?, cast.sides(party).role)),
        };
        let offers = (0..cast.parties.len()).map(of_party).collect::<Result<Vec<_>>>()?;
        Self::merge(cast, me, &offers)
    }

    /// Refuses other parties or places.
    fn compare_casts(cast: &Cast, mesh: &mut Mesh<'_>) -> Result<()> {
        let mine =
            serde_json::to_vec(&(VERSION, cast)).map_err(|_| Error::bug("a cast has JSON"))?;
        let all = mesh.all_texts(CAST, &mine, MAX_CAST)?;
        let other = all.iter().enumerate().find(|(_, theirs)| **theirs != mine);
        if let Some((party, theirs)) = other {
            let mut malformed = || mesh.to(party).malformed(CAST, "not the parties of a run");
            let read = serde_json::from_slice::<(u32, serde_json::Value)>(theirs);
            let (version, other) = read.map_err(|_| of(cast, party, malformed().into()))?;
            if version != VERSION {
                let error = Error::Version { ours: VERSION, theirs: version.into() };
                return Err(of(cast, party, error));
            }
            let other = serde_json::from_value::<Cast>(other);
            let other = other.map_err(|_| of(cast, party, malformed().into()))?;
            let difference = Difference {
                what: "parties and their places (--parties, --leader, --pivot)",
                here: cast.describe(),
                there: other.describe(),
            };
            return Err(of(cast, party, Error::Terms(vec![difference])));
        }
        Ok(())
    }

    /// Merges the offers of all parties, for the party `me`.
    ///
    /// # Errors
    /// As [`JointTerms::agree`].
    pub fn merge(cast: &Cast, me: usize, offers: &[WireOffer]) -> Result<Self> {
        let [leader, pivot] = [cast.leader, cast.pivot].map(|party| &offers[party]);
        let bounds = |keys: &dyn Fn(usize) -> bool| {
            let others = offers.iter().enumerate().filter(|(party, _)| keys(*party));
            others.map(|(_, offer)| offer.max_peer_rows).min().unwrap_or(u64::MAX)
        };
        let limits = (0..offers.len()).map(|party| bounds(&|other| other != party)).collect();
        let merge = |party: usize, ours: &WireOffer, theirs: &WireOffer| {
            let [mine, peer] =
                [cast.leader, party].map(|party| cast.parties[party].fingerprint.clone());
            Terms::merge(ours, theirs, &Parties { role: Role::A, me: mine, peer })
        };
        for (party, offer) in offers.iter().enumerate().filter(|(party, _)| *party != cast.leader) {
            let as_pivot = match cast.place(party) {
                Place::Helper if offer.brings_values || offer.sends.is_some() => {
                    let what = "values and columns, which only leader and pivot provide";
                    let said = format!("{} provides some", cast.name(party));
                    return Err(of(
                        cast,
                        party,
                        Error::Terms(vec![Difference::of_both(what, said)]),
                    ));
                }
                Place::Helper => bringing(offer, pivot),
                _ => offer.clone(),
            };
            let merged = merge(party, leader, &as_pivot);
            merged.map_err(|error| disagreement(cast, me, party, error))?;
        }
        // The strictest of all, in the terms of each pair.
        let security = offers.iter().map(|offer| offer.security).max().unwrap_or_default();
        let minimum = offers.iter().map(|offer| offer.minimum).max().unwrap_or_default();
        let protocol = offers.iter().find_map(|offer| offer.protocol.clone());
        let strict = |offer: &WireOffer, brings: &WireOffer| {
            let mut offer = bringing(offer, brings);
            (offer.security, offer.minimum) = (security, minimum);
            offer.protocol.clone_from(&protocol);
            offer
        };
        let leaders = strict(leader, leader);
        let of_pairs = (0..offers.len()).map(|party| {
            let other = if party == cast.leader { cast.pivot } else { party };
            let merged = merge(other, &leaders, &strict(&offers[other], pivot));
            merged.map_err(|error| disagreement(cast, me, other, error))
        });
        let of_pairs = of_pairs.collect::<Result<Vec<_>>>()?;
        Ok(Self { cast: cast.clone(), of_pairs, limits })
    }

    /// Returns the parties and their places.
    pub fn cast(&self) -> &Cast {
        &self.cast
    }

    /// Returns the terms of this party with its partner.
    pub fn of_party(&self, party: usize) -> &Terms {
        &self.of_pairs[party]
    }

    /// Returns a hash of the terms: the same on all parties, and different if anything agreed on differs.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 joint terms");
        hasher.update(&(self.cast.leader as u64).to_le_bytes());
        hasher.update(&(self.cast.pivot as u64).to_le_bytes());
        for (NamedParty { name, .. }, (terms, limit)) in
            self.cast.parties.iter().zip(self.of_pairs.iter().zip(&self.limits))
        {
            hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
            // The fingerprints of both are part of it.
            hasher.update(terms.hash().as_bytes()).update(&limit.to_le_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Refuses sets that are larger than some party accepts. All parties get the same result.
    ///
    /// # Errors
    /// [`Error::Terms`].
    pub fn check_sizes(&self, sizes: &[u64]) -> Result<()> {
        let too_large = sizes.iter().zip(&self.limits).enumerate();
        let too_large = too_large.filter(|(_, (size, limit))| size > limit);
        let differences = too_large.map(|(party, (size, limit))| {
            let name = self.cast.name(party);
            let said = format!("{name} has {size} keys, and some party accepts at most {limit}");
            Difference::of_both("sizes of the sets (--max-peer-rows)", said)
        });
        let differences: Vec<_> = differences.collect();
        if differences.is_empty() { Ok(()) } else { Err(Error::Terms(differences)) }
    }
}

/// Returns the offer that the party `other` makes if it has nothing to add to the one of the party `me`.
///
/// # Errors
/// As [`WireOffer::mirrored`].
pub fn answer(offer: &Offer, cast: &Cast, me: usize, other: usize) -> Result<Offer> {
    let mirrored = |of: &WireOffer, role: Role| {
        let mut other = of.mirrored(role)?;
        (other.allow_research, other.max_peer_rows) = (offer.allow_research, offer.max_peer_rows);
        let sends = offer.query.kind.takes_columns && role == Role::B;
        let unnamed = SentColumns { columns: Vec::new(), bytes: 0, rows: 1 };
        other.sends = (sends && of.sends.is_none()).then_some(unnamed);
        Ok::<_, Error>(other)
    };
    let mine = WireOffer::new(offer, cast.sides(me).role);
    let of_leader = match cast.place(me) {
        Place::Leader => mine.clone(),
        _ => WireOffer::new(&mirrored(&mine, Role::A)?, Role::A),
    };
    match cast.place(other) {
        Place::Leader => mirrored(&mine, Role::A),
        Place::Pivot => mirrored(&of_leader, Role::B),
        Place::Helper => {
            let helper = mirrored(&of_leader, Role::B)?;
            Ok(Offer { brings_values: false, sends: None, ..helper })
        }
    }
}

/// Returns an offer with the values and columns of another one.
fn bringing(offer: &WireOffer, other: &WireOffer) -> WireOffer {
    let mut offer = offer.clone();
    offer.brings_values = other.brings_values;
    offer.sends.clone_from(&other.sends);
    offer
}

/// Attributes an error to a party.
fn of(cast: &Cast, party: usize, error: Error) -> Error {
    error.of_party(cast.name(party))
}

/// Attributes a difference between the leader and another party, as the party `me` sees it.
fn disagreement(cast: &Cast, me: usize, party: usize, error: Error) -> Error {
    let Error::Terms(mut differences) = error else { return error };
    let name = match me {
        _ if me == cast.leader => cast.name(party).to_owned(),
        _ if me == party => {
            for difference in &mut differences {
                std::mem::swap(&mut difference.here, &mut difference.there);
            }
            cast.name(cast.leader).to_owned()
        }
        _ => format!("{} (here) and {} (there)", cast.name(cast.leader), cast.name(party)),
    };
    Error::Terms(differences).of_party(&name)
}

#[cfg(test)]
mod tests;
