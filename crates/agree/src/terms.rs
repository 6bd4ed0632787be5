//! The terms on which both sides must agree before any data moves.
//!
//! Each side sends an [`Offer`] and receives the other's. Both merge the two in the same way and get the same
//! [`Terms`], or the same list of [`Difference`]s. If one side is stricter (security, set size), its value applies;
//! everything else must be equal.

use std::sync::Arc;

use serde::Serialize;
use vesica_core::{
    difference::Difference,
    error::{Error, Result},
    parties::{Parties, Role, Security},
};
use vesica_net::Channel;
use vesica_normalize::{normalize::TravellingName, null_values::NullValues};
use vesica_planner::Candidate;
use vesica_psi::{MAX_ITEMS, Sizes};
use vesica_table::sent_columns::SentColumns;
use vesica_task::{
    interface::{Method, Request},
    noise::Noise,
    query::Query,
    select::{QueryTable, Selection},
};

use crate::{
    offer::{self, Offer, WIRE_VERSION, WireOffer},
    pledge::Pledge,
    rule_terms::RuleTerms,
};

/// The terms that the two sides agreed on, the same on both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Terms {
    version: u32,
    protocol: Option<String>,
    security: Security,
    keys: Vec<String>,
    keys_of_a: Vec<TravellingName>,
    keys_of_b: Vec<TravellingName>,
    identifiers: Vec<u8>,
    rules: Option<RuleTerms>,
    a_learns: bool,
    b_learns: bool,
    #[serde(rename = "wanted")]
    query: Query,
    a_brings_values: bool,
    b_brings_values: bool,
    a_table: Option<QueryTable>,
    b_table: Option<QueryTable>,
    a_sends: Option<SentColumns>,
    b_sends: Option<SentColumns>,
    minimum: u64,
    noise: Option<Noise>,
    null_values: Vec<String>,
    scale: u8,
    diagnose: bool,
    align: bool,
    agreement: Option<String>,
    max_rows_of_a: u64,
    max_rows_of_b: u64,
    fingerprint_of_a: String,
    fingerprint_of_b: String,
    /// The query with both tables, which follows from the members above.
    #[serde(skip)]
    selection: Option<Arc<Selection>>,
    /// The side that is taken for the receiver if both or neither learn: the one that connects, or by the agreement the
    /// one that invites.
    #[serde(skip)]
    first: Role,
}

impl Terms {
    /// Exchanges offers with the other side, checks its offer against the one that it has signed, and merges the two.
    ///
    /// # Errors
    /// [`Error::Terms`] with every difference, [`Error::Version`], and every error of an exchange.
    pub fn agree(
        offer: &Offer,
        pledge: Option<&Pledge>,
        parties: &Parties,
        channel: &mut Channel,
    ) -> Result<Self> {
        offer.check()?;
        let ours = WireOffer::new(offer, parties.role);
        let theirs = ours.exchange(channel)?;
        pledge.map_or(Ok(()), |pledge| pledge.require(&theirs))?;
        let first = pledge.map_or(Role::A, Pledge::inviter);
        let terms = Self { first, ..Self::merge(&ours, &theirs, parties)? };
        channel.bind("vesica/terms", terms.hash().as_bytes());
        Ok(terms)
    }

    /// Merges the offers of both sides.
    ///
    /// # Errors
    /// [`Error::Terms`] with every difference.
    pub fn merge(ours: &WireOffer, theirs: &WireOffer, parties: &Parties) -> Result<Self> {
        let differences = differences(ours, theirs, parties.role);
        if !differences.is_empty() {
            return Err(Error::Terms(differences));
        }
        let (a, b, a_print, b_print) = match parties.role {
            Role::A => (ours, theirs, &parties.me, &parties.peer),
            Role::B => (theirs, ours, &parties.peer, &parties.me),
        };
        Ok(Self {
            version: WIRE_VERSION,
            protocol: a.protocol.clone().or_else(|| b.protocol.clone()),
            security: a.security.max(b.security),
            keys: agreed(&a.keys),
            keys_of_a: a.keys.clone(),
            keys_of_b: b.keys.clone(),
            identifiers: a.identifiers.clone(),
            rules: a.rules.clone(),
            a_learns: a.a_learns,
            b_learns: a.b_learns,
            query: a.query.clone(),
            a_brings_values: a.brings_values,
            b_brings_values: b.brings_values,
            a_table: a.table.clone(),
            b_table: b.table.clone(),
            a_sends: a.sends.clone(),
            b_sends: b.sends.clone(),
            minimum: a.minimum.max(b.minimum),
            noise: a.noise,
            null_values: a.null_values.clone(),
            scale: a.scale,
            diagnose: a.diagnose && b.diagnose,
            align: a.align,
            agreement: a.agreement.clone(),
            max_rows_of_a: b.max_peer_rows,
            max_rows_of_b: a.max_peer_rows,
            fingerprint_of_a: a_print.clone(),
            fingerprint_of_b: b_print.clone(),
            selection: selection(a, b),
            first: Role::A,
        })
    }

    /// BLAKE3 of the canonical terms and both fingerprints, as hexadecimal digits: the same on both
    /// sides, and different if anything agreed on differs.
    pub fn hash(&self) -> String {
        // A struct of numbers, words and lists of words always has a JSON form.
        let canonical = serde_json::to_vec(self).unwrap_or_default();
        blake3::Hasher::new_derive_key("vesica 1 terms")
            .update(&canonical)
            .finalize()
            .to_hex()
            .to_string()
    }

    /// Returns the values that count as empty.
    pub(crate) fn null_values(&self) -> &[String] {
        &self.null_values
    }

    /// Returns the agreed security.
    pub fn security(&self) -> Security {
        self.security
    }

    /// Returns the protocol that a side named.
    pub(crate) fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    /// Returns whether both sides learn the result.
    pub fn both_learn(&self) -> bool {
        self.a_learns && self.b_learns
    }

    /// Returns whether the side with this role learns the result.
    pub fn learns(&self, role: Role) -> bool {
        match role {
            Role::A => self.a_learns,
            Role::B => self.b_learns,
        }
    }

    /// Returns the protocol's receiver: in a query by group the side that has the labels, by rules the side whose
    /// numbers a query adds up or whose values are shared, else the side that learns, or the connecting one (by an
    /// agreement the inviting one) if both or neither learn.
    pub fn receiver(&self) -> Role {
        let labeller =
            self.selection().and_then(|selection| selection.labeller(self.rules.is_some()));
        let learner = match (self.a_learns, self.b_learns) {
            (true, false) => Role::A,
            (false, true) => Role::B,
            _ => self.first,
        };
        labeller.or_else(|| self.sharer()).unwrap_or(learner)
    }

    /// Returns the side with values, in a query for shares about rows that match by rules: its rows are those with a
    /// single value.
    fn sharer(&self) -> Option<Role> {
        let sides = [self.first, self.first.other()].into_iter();
        let mut sides = sides.filter(|role| self.brings_values(*role));
        sides.next().filter(|_| self.rules.is_some() && !self.query.kind.is_told)
    }

    /// Returns the side that learns the result first: the receiver if it learns.
    fn learner(&self, receiver: Role) -> Role {
        if self.learns(receiver) { receiver } else { receiver.other() }
    }

    /// Returns the query with the tables of both sides, if it is in the language of queries.
    pub fn selection(&self) -> Option<&Arc<Selection>> {
        self.selection.as_ref()
    }

    /// Returns whether a side has digests instead of values in some key column, so that the other computes them.
    pub fn holds_digests(&self, role: Role) -> bool {
        self.keys_of(role).iter().any(TravellingName::holds_digests)
    }

    /// Returns the profiles of the keys of a side: a name for each column.
    pub fn keys_of(&self, role: Role) -> &[TravellingName] {
        match role {
            Role::A => &self.keys_of_a,
            Role::B => &self.keys_of_b,
        }
    }

    /// Returns the number of key columns in each of several identifiers; empty if all columns form one identifier.
    pub fn columns_of_identifiers(&self) -> &[u8] {
        &self.identifiers
    }

    /// Returns the number of identifiers of a row. Each rule is one.
    pub fn identifiers(&self) -> usize {
        let rules = self.rules.as_ref().map(|rules| rules.rules().len());
        rules.unwrap_or(self.identifiers.len()).max(1)
    }

    /// Returns the rules by which rows match, if rules make the keys.
    pub fn rules(&self) -> Option<&RuleTerms> {
        self.rules.as_ref()
    }

    /// Returns the query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Returns whether both sides want to compare what their keys look like.
    pub fn diagnoses(&self) -> bool {
        self.diagnose
    }

    /// Returns whether both sides write matches in the same order, with a number.
    pub fn aligns(&self) -> bool {
        self.align
    }

    /// Returns the number of shared keys below which nothing else is revealed.
    pub fn minimum(&self) -> u64 {
        self.minimum
    }

    /// Returns the noise that hides a single key in the number.
    pub fn noise(&self) -> Option<Noise> {
        self.noise
    }

    /// Returns the number of decimal places of values.
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Returns whether a side provides values.
    pub(crate) fn brings_values(&self, role: Role) -> bool {
        match role {
            Role::A => self.a_brings_values,
            Role::B => self.b_brings_values,
        }
    }

    /// Returns the columns that the side that does not learn sends, if any.
    pub fn sent_columns(&self) -> Option<&SentColumns> {
        self.a_sends.as_ref().or(self.b_sends.as_ref())
    }

    /// Returns whether a side sends columns.
    pub fn sends(&self, role: Role) -> bool {
        match role {
            Role::A => self.a_sends.is_some(),
            Role::B => self.b_sends.is_some(),
        }
    }

    /// Returns the query for sets of these sizes.
    pub fn request(&self, sizes: Sizes) -> Request {
        let receiver = self.receiver();
        Request {
            sizes,
            partitions: 1,
            number: self.query.number(),
            minimum: self.minimum,
            noise: self.noise,
            scale: self.scale,
            rules: self.rules().map(|rules| rules.rules().len()),
            sender_brings: self.brings_values(receiver.other()),
            receiver_brings: self.brings_values(receiver),
            payload_len: self
                .sent_columns()
                .map_or(0, |sent| RuleTerms::payload_len(self.rules(), sent)),
            selection: self.selection().cloned(),
            receiver,
            learner: self.learner(receiver),
        }
    }

    /// Returns the maximum number of distinct keys of a side.
    pub fn max_keys(&self, role: Role) -> u64 {
        match role {
            Role::A => self.max_rows_of_a,
            Role::B => self.max_rows_of_b,
        }
    }

    /// Refuses sets that are larger than the other side accepts. Both sides get the same result.
    ///
    /// # Errors
    /// [`Error::Terms`].
    pub fn check_sizes(&self, role: Role, mine: u64, peers: u64) -> Result<()> {
        let [max_mine, max_peers] = [role, role.other()].map(|side| self.max_keys(side));
        let mut differences = Vec::new();
        if mine > max_mine {
            let (here, there) = (format!("{mine} keys"), format!("accepts at most {max_mine}"));
            differences.push(Difference { what: "size of this side's set", here, there });
        }
        if peers > max_peers {
            let (here, there) = (format!("accepts at most {max_peers}"), format!("{peers} keys"));
            differences.push(Difference { what: "size of the other side's set", here, there });
        }
        if differences.is_empty() { Ok(()) } else { Err(Error::Terms(differences)) }
    }

    /// Returns the protocols that may run for these sizes: the one named, or all recommended ones of the agreed
    /// security. They are the same on both sides, and at least one.
    ///
    /// # Errors
    /// [`Error::Terms`] if the catalogue has no protocol of that security, or the named protocol cannot answer the
    /// request.
    pub fn candidates(&self, request: &Request) -> Result<Vec<Candidate>> {
        let mut methods = self.query.kind.task.methods();
        if request.partitions > 1 {
            methods.retain(|method| method.splits());
        }
        let candidates: Vec<_> = match &self.protocol {
            Some(name) => {
                let named = methods.iter().find(|method| method.key() == name);
                let candidate = named.map(|method| method.candidate(request)).transpose();
                let candidate = candidate.map_err(|difference| Error::Terms(vec![difference]))?;
                candidate.into_iter().collect()
            }
            None => {
                let able = methods.iter().filter(|method| is_open(&***method, self.security));
                able.filter_map(|method| method.candidate(request).ok()).collect()
            }
        };
        if candidates.is_empty() {
            return Err(Error::Terms(vec![unmet(&self.query, self.security)]));
        }
        Ok(candidates)
    }
}

impl Terms {
    /// Returns the recommended protocols of the agreed security that may run another query for these sizes.
    ///
    /// # Errors
    /// As [`Terms::candidates`], and [`Error::Terms`] for sets that are too large.
    pub fn candidates_of(&self, query: &Query, request: &Request) -> Result<Vec<Candidate>> {
        let most = request.sizes.sender.max(request.sizes.receiver);
        if most > MAX_ITEMS {
            return Err(Error::too_large(most, 1));
        }
        let methods = query.kind.task.methods();
        let open = methods.iter().filter(|method| is_open(&***method, self.security));
        let candidates: Vec<_> = open.filter_map(|method| method.candidate(request).ok()).collect();
        match candidates.is_empty() {
            false => Ok(candidates),
            true => Err(Error::Terms(vec![unmet(query, self.security)])),
        }
    }
}

/// Returns the query with the tables of both offers, if it is in the language of queries.
fn selection(a: &WireOffer, b: &WireOffer) -> Option<Arc<Selection>> {
    let tables = [a.table.as_ref()?, b.table.as_ref()?];
    // Offers with a query that does not fit have a difference.
    Selection::of_roles(a.query.selected()?.clone(), tables).ok().map(Arc::new)
}

/// Returns whether a method may be chosen if none is named.
fn is_open(method: &dyn Method, security: Security) -> bool {
    method.is_recommended() && method.meets(security)
}

/// Returns the difference if no method of the catalogue is secure enough.
fn unmet(query: &Query, security: Security) -> Difference {
    Difference::of_both("security", offer::unmet(query, security))
}

fn differences(ours: &WireOffer, theirs: &WireOffer, role: Role) -> Vec<Difference> {
    let rules = RuleTerms::difference(ours.rules.as_ref(), theirs.rules.as_ref());
    let same_rules = rules.is_none();
    let mut found: Vec<_> = rules.into_iter().collect();
    let mut note = |what, here: String, there: String| {
        if here != there {
            found.push(Difference { what, here, there });
        }
    };
    if !same_rules {
        // The columns are the fields of the rules.
    } else if ours.keys.len() == theirs.keys.len() {
        let agree =
            agreed(&ours.keys) == agreed(&theirs.keys) && ours.identifiers == theirs.identifiers;
        if !agree {
            let (here, there) = named(ours, theirs);
            note("normalisation of the key", here, there);
        }
        if agree {
            // Offers hold them in normalised form.
            let said = |offer: &WireOffer| {
                NullValues::new(&offer.null_values).map(|all| all.describe()).unwrap_or_default()
            };
            note("values that count as empty (null values)", said(ours), said(theirs));
        }
    } else {
        let (here, there) = named(ours, theirs);
        let columns = |keys: &[TravellingName], names| format!("{} ({names})", keys.len());
        note("number of key columns", columns(&ours.keys, here), columns(&theirs.keys, there));
    }
    let under = |offer: &WireOffer| offer.agreement.clone().unwrap_or_else(|| "none".to_owned());
    note("agreement under which the run takes place", under(ours), under(theirs));
    let learner = |offer: &WireOffer| {
        let (here, there) = match role {
            Role::A => (offer.a_learns, offer.b_learns),
            Role::B => (offer.b_learns, offer.a_learns),
        };
        match (here, there) {
            (true, true) => "both sides",
            (true, false) => "this side",
            (false, true) => "the other side",
            (false, false) => "nobody",
        }
        .to_owned()
    };
    note("who learns the result", learner(ours), learner(theirs));
    note("query", ours.query.describe(), theirs.query.describe());
    note("decimal places of values (scale)", ours.scale.to_string(), theirs.scale.to_string());
    let noise = |offer: &WireOffer| offer.noise.map_or_else(|| "none".to_owned(), Noise::describe);
    note("noise of the number (--epsilon, --clamp)", noise(ours), noise(theirs));
    let order = |offer: &WireOffer| if offer.align { "in one order" } else { "as they came" };
    note("order of the matched rows (--align)", order(ours).to_owned(), order(theirs).to_owned());
    if ours.query == theirs.query {
        found.extend(ours.query.kind.task.conflict(&ours.part(), &theirs.part()));
        found.extend(protocol_difference(ours, theirs));
    }
    found
}

/// Returns the part of these normalisations that both sides must have in common.
fn agreed(keys: &[TravellingName]) -> Vec<String> {
    keys.iter().map(TravellingName::agreed).collect()
}

/// Describes the normalisations of the two sides for comparison, with versions if nothing else differs. Columns of one
/// identifier are separated by commas, identifiers by "or".
fn named(ours: &WireOffer, theirs: &WireOffer) -> (String, String) {
    let list = |offer: &WireOffer, name: fn(&TravellingName) -> &str| {
        let mut names = offer.keys.iter().map(name);
        let one = [offer.keys.len() as u8];
        let columns = if offer.identifiers.is_empty() { &one[..] } else { &offer.identifiers };
        let mut identifier = |columns: &u8| {
            names.by_ref().take(usize::from(*columns)).collect::<Vec<_>>().join(", ")
        };
        columns.iter().map(&mut identifier).collect::<Vec<_>>().join(" or ")
    };
    let plain = |offer| list(offer, TravellingName::unversioned);
    if plain(ours) != plain(theirs) {
        return (plain(ours), plain(theirs));
    }
    let full = |offer| list(offer, TravellingName::as_str);
    (full(ours), full(theirs))
}

/// Returns the difference that prevents the use of the protocol to which the two offers lead.
fn protocol_difference(ours: &WireOffer, theirs: &WireOffer) -> Option<Difference> {
    let said = |offer: &WireOffer| offer.protocol.clone().unwrap_or_else(|| "auto".to_owned());
    let (here, there) = (said(ours), said(theirs));
    let security = ours.security.max(theirs.security);
    let methods = ours.query.kind.task.methods();
    let Some(name) = ours.protocol.as_ref().or(theirs.protocol.as_ref()) else {
        let any = methods.iter().any(|method| is_open(&**method, security));
        return (!any).then(|| unmet(&ours.query, security));
    };
    if ours.protocol.is_some() && theirs.protocol.is_some() && here != there {
        return Some(Difference { what: "protocol", here, there });
    }
    let Some(method) = methods.iter().find(|method| method.key() == name) else {
        let here = format!("{here}, and this release has no `{name}`");
        return Some(Difference { what: "protocol", here, there });
    };
    if method.is_for_lab() && !(ours.allow_research && theirs.allow_research) {
        let permits = |offer: &WireOffer| {
            let word = if offer.allow_research { "allowed" } else { "not allowed" };
            format!("research protocols are {word}")
        };
        return Some(Difference {
            what: "use of a protocol that is not for real data",
            here: permits(ours),
            there: permits(theirs),
        });
    }
    if !method.meets(security) {
        let asks = |offer: &WireOffer, said| format!("{said}, {} required", offer.security.name());
        return Some(Difference {
            what: "security of the protocol",
            here: asks(ours, here),
            there: asks(theirs, there),
        });
    }
    (!method.is_recommended() && ours.protocol != theirs.protocol).then(|| {
        let what = match method.tells_size() {
            true => {
                "use of a method that reveals the number of shared keys, which both sides must name"
            }
            false => "use of a protocol that is not recommended, which both sides must name",
        };
        let advice = match ours.protocol {
            Some(_) => here,
            None => format!("{here}; to allow it, name `{name}` here too"),
        };
        Difference { what, here: advice, there }
    })
}

#[cfg(test)]
mod tests;
