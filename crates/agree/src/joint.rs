//! The terms of a run among several parties.
//!
//! All parties name the same [`Cast`]: who they are, who leads, and who is the pivot. Each sends its offer to all
//! others, so all merge the same offers: the leader's with each other party's, as between two. Leader and pivot end
//! the run with each other, under the strictest values of all parties. The other parties, the helpers, provide only
//! keys.

mod cast;
mod said;

use vesica_core::{
    difference::Difference,
    error::{Error, Misuse, Result},
    parties::{Parties, Role, Security},
};
use vesica_net::Mesh;
use vesica_psi::{
    Status,
    joint::{Folding, Place},
};
use vesica_select::Side;
use vesica_table::sent_columns::SentColumns;
use vesica_task::{
    disclosure::{Assumption, Disclosure},
    query::Query,
    select::QueryTable,
};

pub use self::cast::{Cast, MAX_NAME, MAX_PARTIES, NamedParty, Search, is_name};

use crate::{
    disclosed::Known,
    offer::{Offer, WireOffer},
    pledge::Pledge,
    terms::Terms,
};

/// The version of the messages that only runs among several parties have.
const VERSION: u32 = 1;

/// The longest description of the parties on the wire, in bytes.
const MAX_CAST: usize = MAX_PARTIES * (MAX_NAME + 164) + 200;

/// The longest offer on the wire, in bytes.
const MAX_OFFER: usize = 1 << 16;

const CAST: &str = "joint/cast";
const OFFER: &str = "joint/offer";
const TERMS: &str = "joint/terms";

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
pub fn check(offer: &Offer, cast: &Cast, me: usize) -> Result<()> {
    let place = cast.place(me);
    let named = offer.protocol.as_ref().and_then(|name| offer.query.method(name));
    let folding = Folding::against(offer.security.adversary());
    let message = if offer.learns != cast.learners_for(me) {
        "among several parties the leader learns, and those that --learners names"
    } else if cast.least().is_some() && (offer.query != Query::ROWS || offer.protocol.is_some()) {
        "--at-least is for rows of the leader: leave out --answer, --query, --send, --receive and --protocol"
    } else if cast.least().is_some() && !cast.learners.is_empty() {
        "with --at-least only the leader learns: leave out --learners"
    } else if !cast.learners.is_empty() && offer.query.kind.task.telling().is_none() {
        "a join and a query over both tables are for the leader: leave out --learners"
    } else if !offer.query.kind.is_told {
        "shares are for two parties: ask for rows, a count, a sum or a threshold"
    } else if offer.query == Query::LINKED {
        "linked rows are for two parties: leave out --answer linked"
    } else if !offer.identifiers.is_empty() || offer.rules.is_some() {
        "among several parties a row has one identifier: it could match one party by one of them, and another party by \
         another; name one --key"
    } else if offer.diagnose {
        "--diagnose compares the keys of two parties: run it with one of them"
    } else if offer.align {
        "--align is for two parties that both learn"
    } else if let Some(message) = unfit(offer, cast) {
        message
    } else if named
        .as_ref()
        .is_some_and(|method| !folding.takes(method.key(), method.item_length()))
    {
        match folding {
            Folding::SemiHonest => {
                "among several parties a protocol against malicious ones needs a fold against them: add --security malicious, or \
                 name no such protocol"
            }
            Folding::Malicious => {
                "--security malicious among several parties ends in `rr22-malicious`: name it, or leave out --protocol"
            }
        }
    } else if named.is_some_and(|method| method.tells_size()) {
        "among several parties only those that learn the result learn the number of shared keys: name a protocol that \
         hides it from the other side"
    } else if place == Place::Helper && brings(offer.brings_values, &offer.sends, &offer.table) {
        "only the leader and the pivot provide values or columns: make the party with them the --pivot"
    } else {
        return match place {
            // Leader and pivot check the query.
            Place::Helper => {
                let keys = Offer {
                    query: Query::ROWS,
                    protocol: None,
                    minimum: 0,
                    noise: None,
                    scale: 0,
                    ..offer.clone()
                };
                keys.check()
            }
            _ => offer.check(),
        };
    };
    Err(Error::usage(Misuse::Parties, message))
}

/// Returns the reason why a run against malicious parties cannot have this offer. It is for rows of the leader, and its
/// fold is research.
fn unfit(offer: &Offer, cast: &Cast) -> Option<&'static str> {
    if offer.security == Security::SemiHonest {
        return None;
    }
    let refused = if cast.least().is_some() {
        "--at-least withstands semi-honest parties only: leave out --security malicious"
    } else if offer.query != Query::ROWS {
        "among several parties, --security malicious is for rows of the leader: leave it out, or leave out --answer, --query, \
         --send and --receive"
    } else if !cast.learners.is_empty() {
        "with --security malicious only the leader learns, because nobody could check the result that it passes on: leave out \
         --learners"
    } else if !offer.allow_research {
        "--security malicious among several parties is research, because nobody has reviewed its argument. It runs only if all \
         parties add --allow-research"
    } else {
        return None;
    };
    Some(refused)
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
        check(offer, cast, me)?;
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
        check(offer, cast, me)?;
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
                what: "parties and their places (--parties, --leader, --pivot, --at-least, --learners)",
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
        let [leader, pivot] = [cast.leader, cast.partner(cast.leader)].map(|party| &offers[party]);
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
                Place::Helper if brings(offer.brings_values, &offer.sends, &offer.table) => {
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
            let merged = merge(party, &learning(leader, cast.learns(party)), &as_pivot);
            // All parties take the same parts in a fold.
            let merged = merged.and_then(|_| same_security(leader, offer));
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
            let other = if party == cast.leader { cast.partner(party) } else { party };
            let leaders = learning(&leaders, cast.learns(other));
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

    /// Returns the kind of the fold's parts.
    pub fn folding(&self) -> Folding {
        Folding::against(self.of_party(self.cast.leader).security().adversary())
    }

    /// Returns the disclosure of the session of leader and pivot, with the assumptions of the fold.
    pub fn disclosure(&self, known: Known<'_>) -> Disclosure {
        let mut disclosure = self.of_party(self.cast.leader).disclosure(known);
        if self.folding().status() == Status::Research {
            let protocol = self.folding().name().to_owned();
            disclosure.assuming.insert(0, Assumption::Research { protocol });
        }
        disclosure
    }

    /// Returns a hash of the terms: the same on all parties, and different if anything agreed on differs.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 joint terms");
        hasher.update(&(self.cast.leader as u64).to_le_bytes());
        let (kind, number) = match self.cast.search {
            Search::ByAll { pivot } => (0, pivot),
            Search::ByEnough { least } => (1, least),
        };
        hasher.update(&[kind]).update(&(number as u64).to_le_bytes());
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
        Place::Leader => offer.clone(),
        Place::Pivot => mirrored(&mine, Role::A)?,
        Place::Helper => {
            // The tables of a query, whose columns their owners declare.
            let table =
                offer.query.selected().map(|_| QueryTable { side: Side::A, declared: None });
            Offer { table, ..mirrored(&mine, Role::A)? }
        }
    };
    let of_pivot = match cast.place(me) {
        Place::Pivot => offer.clone(),
        _ => mirrored(&WireOffer::new(&of_leader, Role::A), Role::B)?,
    };
    let answer = match cast.place(other) {
        Place::Leader => of_leader,
        Place::Pivot => of_pivot,
        Place::Helper => Offer { brings_values: false, sends: None, table: None, ..of_pivot },
    };
    Ok(Offer { learns: cast.learners_for(other), ..answer })
}

/// Refuses a party that asks for another security than the leader.
fn same_security(leader: &WireOffer, other: &WireOffer) -> Result<()> {
    if leader.security == other.security {
        return Ok(());
    }
    let [here, there] = [leader, other].map(|offer| offer.security.name().to_owned());
    Err(Error::Terms(vec![Difference { what: "security (--security)", here, there }]))
}

/// Returns whether a party provides more than keys.
fn brings(values: bool, sends: &Option<SentColumns>, table: &Option<QueryTable>) -> bool {
    values || sends.is_some() || table.is_some()
}

/// Returns an offer with the values and columns of another one.
fn bringing(offer: &WireOffer, other: &WireOffer) -> WireOffer {
    let mut offer = offer.clone();
    offer.brings_values = other.brings_values;
    offer.sends.clone_from(&other.sends);
    offer.table.clone_from(&other.table);
    offer
}

/// Returns an offer of the leader, or of another party that learns if `other_learns`.
fn learning(offer: &WireOffer, other_learns: bool) -> WireOffer {
    let mut offer = offer.clone();
    (offer.a_learns, offer.b_learns) = (true, other_learns);
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
