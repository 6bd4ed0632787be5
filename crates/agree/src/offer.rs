//! One side's offer, and its form on the wire.

mod by_rules;
mod prospect;

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, de};
use vesica_core::{
    error::{Error, Misuse, Result},
    parties::{Learns, Role, Security},
};
use vesica_keyset::numbers::MAX_SCALE;
use vesica_net::Channel;
use vesica_normalize::{
    normalize::{Normalize, TravellingName},
    null_values::NullValues,
};
use vesica_psi::lookup::LOOKUPS;
use vesica_select::Select;
use vesica_table::sent_columns::SentColumns;
use vesica_task::{
    self,
    interface::Part,
    noise::Noise,
    query::{Query, QueryBody},
    select::QueryTable,
};

use crate::rule_terms::RuleTerms;

/// The version of the wire format. Sides with different versions do not run.
pub const WIRE_VERSION: u32 = 15;

/// The maximum number of columns of a key.
pub const MAX_KEY_COLUMNS: usize = 32;

/// The maximum number of identifiers of a row.
pub const MAX_IDENTIFIERS: usize = 32;

/// The maximum length of an offer on the wire, in bytes: columns of a query may have thousands of labels.
const MAX_OFFER: usize = 3 << 16;

const TERMS: &str = "vesica/terms";

/// One side's offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The protocol's key; `None` for the protocol that the other side names, or else the one that suits the sizes.
    pub protocol: Option<String>,
    /// The minimum security.
    pub security: Security,
    /// The normalisation of each key column, in order.
    pub keys: Vec<Normalize>,
    /// The number of these columns in each identifier of a row, in order; empty if all columns form one identifier.
    /// Rows match if any of their identifiers matches.
    pub identifiers: Vec<u8>,
    /// The rules that make keys of these columns, which are then their fields; `None` if the columns are keys. Rows
    /// match if they match by any rule.
    pub rules: Option<RuleTerms>,
    /// The side that learns the result.
    pub learns: Learns,
    /// The maximum number of distinct keys of the other side.
    pub max_peer_rows: u64,
    /// Whether protocols that are not for real data may run if named.
    pub allow_research: bool,
    /// The query.
    pub query: Query,
    /// Whether this side provides a column of values.
    pub brings_values: bool,
    /// For a query in the language of queries: this side's table, with the columns that it declares.
    pub table: Option<QueryTable>,
    /// In a join: the columns that this side sends to the other, which is then the only one to learn.
    pub sends: Option<SentColumns>,
    /// For queries that take a minimum: if fewer keys than this are shared, nothing else is revealed. The larger
    /// minimum of the two sides applies.
    pub minimum: u64,
    /// For counts and sums: the noise that hides a single key in the number, the same on both sides. With noise there
    /// is no minimum, and `diagnose` is not allowed.
    pub noise: Option<Noise>,
    /// Values of normalised key columns that count as empty.
    pub null_values: NullValues,
    /// The number of decimal places of the values of both sides, at most 18.
    pub scale: u8,
    /// Whether to compare what the keys of both sides look like, if the other side wants that too.
    pub diagnose: bool,
    /// Whether both sides, which then both learn, write matches in the same order, with a number in the first column.
    pub align: bool,
    /// The hash of the agreement under which the run takes place, if there is one.
    pub agreement: Option<String>,
}

impl Offer {
    /// Creates an offer of a query for rows, with everything else at its default: any protocol for real data,
    /// semi-honest security, at most a hundred million keys of the other side.
    pub fn new(keys: Vec<Normalize>, learns: Learns) -> Self {
        Self {
            protocol: None,
            security: Security::default(),
            keys,
            identifiers: Vec::new(),
            rules: None,
            learns,
            max_peer_rows: 100_000_000,
            allow_research: false,
            query: Query::ROWS,
            brings_values: false,
            table: None,
            sends: None,
            minimum: 0,
            noise: None,
            null_values: NullValues::default(),
            scale: 0,
            diagnose: false,
            align: false,
            agreement: None,
        }
    }

    /// Refuses an offer that could not run with any offer of the other side.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn check(&self) -> Result<()> {
        if self.keys.is_empty() || self.keys.len() > MAX_KEY_COLUMNS {
            let given = self.keys.len();
            let message = format!("a key has 1 to {MAX_KEY_COLUMNS} columns, not {given}");
            return Err(Error::usage(Misuse::Key, message));
        }
        if self.rules.is_some() && !self.identifiers.is_empty() {
            let message = "rules make the keys (--match): leave out identifiers (--key)";
            return Err(Error::usage(Misuse::Identifiers, message));
        }
        if !are_identifiers(&self.identifiers, self.keys.len()) {
            let message =
                format!("a row has at most {MAX_IDENTIFIERS} identifiers, each with a column");
            return Err(Error::usage(Misuse::Identifiers, message));
        }
        if let Some(rules) = &self.rules {
            self.check_rules(rules)?;
        }
        if !self.identifiers.is_empty() && !self.query.kind.takes_identifiers {
            let message = "only a query for rows takes several identifiers: in counts, sums, shares and joins, a row that \
                           matches by two identifiers would count twice; name one --key";
            return Err(Error::usage(Misuse::Identifiers, message));
        }
        if !self.identifiers.is_empty() && self.diagnose {
            let message = "--diagnose compares one identifier at a time; name one --key";
            return Err(Error::usage(Misuse::Identifiers, message));
        }
        if self.noise.is_some() && self.diagnose {
            let message = "--diagnose reveals exact shares of this side's keys, next to a number whose noise (--epsilon) \
                           hides each key; run it separately, without --epsilon";
            return Err(Error::usage(Misuse::Noise, message));
        }
        self.query.check(&self.part())?;
        self.check_columns()?;
        self.check_order()?;
        let defaults = [NullValues::none(), NullValues::default()];
        if self.null_values.applied_to(&self.keys) != self.null_values
            && !defaults.contains(&self.null_values)
        {
            let message =
                "null values require a normalised key column; `none` compares all values as bytes";
            return Err(Error::usage(Misuse::NullValues, message));
        }
        let methods = self.query.kind.task.methods();
        let Some(name) = &self.protocol else {
            // The other protocols must be named on both sides.
            let mut all = methods.iter();
            return match all.any(|method| method.is_recommended() && method.meets(self.security)) {
                true => Ok(()),
                false => Err(Error::usage(Misuse::Protocol, unmet(&self.query, self.security))),
            };
        };
        let Some(method) = methods.iter().find(|method| method.key() == name) else {
            if LOOKUPS.iter().any(|lookup| lookup.key == name) {
                return Err(Error::usage(
                    Misuse::Protocol,
                    format!(
                        "`{name}` is not a protocol of a run: one side publishes a list (`vesica publish`), and others look keys up \
                     in it (`vesica lookup`)"
                    ),
                ));
            }
            let known: Vec<_> = methods.iter().map(|method| method.key()).collect();
            return Err(Error::usage(
                Misuse::Protocol,
                format!(
                    "no protocol for {} is named `{name}`; there are: {}",
                    self.query.describe(),
                    known.join(", ")
                ),
            ));
        };
        if method.is_for_lab() && !self.allow_research {
            return Err(Error::usage(
                Misuse::Protocol,
                format!(
                    "protocol `{name}` is {}, not for real data; it runs only if both sides allow \
                 research protocols",
                    method.status().name()
                ),
            ));
        }
        if !method.meets(self.security) {
            return Err(Error::usage(
                Misuse::Protocol,
                format!(
                    "protocol `{name}` is secure against {} parties, not against {} ones",
                    method.adversary().name(),
                    self.security.name()
                ),
            ));
        }
        Ok(())
    }

    /// Refuses columns that cannot be sent, and a side that would both send and learn, or do neither.
    fn check_columns(&self) -> Result<()> {
        if let Some(fault) = self.sends.as_ref().and_then(SentColumns::fault) {
            return Err(Error::usage(Misuse::Columns, fault));
        }
        let message = match (self.query.kind.takes_columns, &self.sends, self.learns) {
            (true, Some(_), learns) if learns != Learns::Peer => {
                "the side that sends columns must not learn: use --learns peer; of several parties, only the pivot may send"
            }
            (true, None, learns) if learns != Learns::Me => {
                "a side that sends no columns (--send) must be the only one that learns: use --learns me; of several \
                 parties, the leader learns"
            }
            _ => return Ok(()),
        };
        Err(Error::usage(Misuse::Columns, message))
    }

    /// Refuses a common order if only one side learns, or if a row may belong to several matches.
    fn check_order(&self) -> Result<()> {
        let message = if self.align && self.learns != Learns::Both {
            "a common order requires that both sides learn the matches: use --learns both"
        } else if self.align && !self.identifiers.is_empty() {
            "a common order requires a single identifier, because with several a row may belong to several matches; name one --key"
        } else {
            return Ok(());
        };
        Err(Error::usage(Misuse::Order, message))
    }

    /// Returns the part of the offer that the query's task checks.
    fn part(&self) -> Part {
        Part {
            sends: self.sends.is_some(),
            aligns: self.align,
            brings_values: self.brings_values,
            scale: self.scale,
            minimum: self.minimum,
            noise: self.noise,
            learners: match self.learns {
                Learns::Nobody => 0,
                Learns::Me | Learns::Peer => 1,
                Learns::Both => 2,
            },
            rules: self.rules.as_ref().map(|rules| rules.rules().len()),
            select: self.query.selected().cloned(),
            table: self.table.clone(),
        }
    }
}

/// Describes that no method of the catalogue is secure enough.
pub(crate) fn unmet(query: &Query, security: Security) -> String {
    format!(
        "no protocol of this release for {} is secure against {} parties",
        query.describe(),
        security.name()
    )
}

/// Returns whether these numbers of columns, one for each of several identifiers, add up to this total.
fn are_identifiers(columns: &[u8], all: usize) -> bool {
    let sum: usize = columns.iter().map(|columns| usize::from(*columns)).sum();
    let are_several = (2..=MAX_IDENTIFIERS).contains(&columns.len()) && !columns.contains(&0);
    columns.is_empty() || are_several && sum == all
}

/// An offer in its form on the wire. The learning sides are given by role, so that it means the same to both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireOffer {
    version: u32,
    /// The required protocol, if one is.
    pub protocol: Option<String>,
    pub(crate) security: Security,
    pub(crate) keys: Vec<TravellingName>,
    pub(crate) identifiers: Vec<u8>,
    pub(crate) rules: Option<RuleTerms>,
    pub(crate) a_learns: bool,
    pub(crate) b_learns: bool,
    pub(crate) max_peer_rows: u64,
    pub(crate) allow_research: bool,
    /// The query.
    #[serde(rename = "wanted", deserialize_with = "query")]
    pub query: Query,
    pub(crate) brings_values: bool,
    pub(crate) table: Option<QueryTable>,
    pub(crate) sends: Option<SentColumns>,
    pub(crate) minimum: u64,
    /// The noise that hides a single key.
    pub noise: Option<Noise>,
    pub(crate) null_values: Vec<String>,
    /// The number of decimal places of values.
    pub scale: u8,
    pub(crate) diagnose: bool,
    pub(crate) align: bool,
    pub(crate) agreement: Option<String>,
}

/// Reads a query: its word, or an object with the word and a number or text.
fn query<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Query, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Word(String),
        Number(BTreeMap<String, u64>),
        Text(BTreeMap<String, String>),
    }
    let one = |words: usize| match words {
        1 => Ok(()),
        _ => Err(de::Error::custom("not one query")),
    };
    let (word, body) = match Form::deserialize(deserializer)? {
        Form::Word(word) => (word, QueryBody::Nothing),
        Form::Number(map) => {
            one(map.len())?;
            let (word, number) = map.into_iter().next().unwrap_or_default();
            (word, QueryBody::Number(number))
        }
        Form::Text(map) => {
            one(map.len())?;
            let (word, text) = map.into_iter().next().unwrap_or_default();
            let select: Select = text.parse().map_err(de::Error::custom)?;
            if select.to_string() != text {
                return Err(de::Error::custom("a query is not in its canonical form"));
            }
            (word, QueryBody::Select(Arc::new(select)))
        }
    };
    let kind = vesica_task::by_word(&word).filter(|kind| kind.body == body.form());
    let kind = kind.ok_or_else(|| de::Error::custom("not a query of this version"))?;
    Ok(Query { kind, body })
}

/// The members of an offer in every version.
#[derive(Deserialize)]
struct AnyOffer {
    version: u64,
}

impl WireOffer {
    /// Returns the offer of the side with this role, in its form on the wire.
    pub fn new(offer: &Offer, role: Role) -> Self {
        let learns = |side| match offer.learns {
            Learns::Both => true,
            Learns::Nobody => false,
            Learns::Me => side == role,
            Learns::Peer => side != role,
        };
        Self {
            version: WIRE_VERSION,
            protocol: offer.protocol.clone(),
            security: offer.security,
            keys: offer.keys.iter().map(TravellingName::from).collect(),
            identifiers: offer.identifiers.clone(),
            rules: offer.rules.clone(),
            a_learns: learns(Role::A),
            b_learns: learns(Role::B),
            max_peer_rows: offer.max_peer_rows,
            allow_research: offer.allow_research,
            query: offer.query.clone(),
            brings_values: offer.brings_values,
            table: offer.table.clone(),
            sends: offer.sends.clone(),
            minimum: offer.minimum,
            noise: offer.noise,
            null_values: offer.null_values.applied_to(&offer.keys).values().to_vec(),
            scale: offer.scale,
            diagnose: offer.diagnose,
            align: offer.align,
            agreement: offer.agreement.clone(),
        }
    }

    /// Returns the part of the offer that the query's task checks.
    pub(crate) fn part(&self) -> Part {
        Part {
            sends: self.sends.is_some(),
            aligns: self.align,
            brings_values: self.brings_values,
            scale: self.scale,
            minimum: self.minimum,
            noise: self.noise,
            learners: usize::from(self.a_learns) + usize::from(self.b_learns),
            rules: self.rules.as_ref().map(|rules| rules.rules().len()),
            select: self.query.selected().cloned(),
            table: self.table.clone(),
        }
    }

    /// Sends this offer and receives the other side's.
    ///
    /// # Errors
    /// [`Error::Usage`] for an offer that is too long, [`Error::Version`], a malformed offer, and every error of an
    /// exchange.
    pub fn exchange(&self, channel: &mut Channel) -> Result<Self> {
        let encoded = serde_json::to_vec(self).map_err(|_| Error::bug("terms have no JSON"))?;
        if encoded.len() > MAX_OFFER {
            let message = "the declared labels are too long: declare fewer, or private ones, as in label<=4096";
            return Err(Error::usage(Misuse::Query, message));
        }
        channel.send(TERMS, &encoded)?;
        let received = channel.recv_len(TERMS, MAX_OFFER)?;
        Self::decode(&received, channel)
    }

    /// Receives the agreement that the other side names, before this side sends anything.
    ///
    /// # Errors
    /// As [`WireOffer::exchange`].
    pub fn await_agreement(channel: &mut Channel) -> Result<Option<String>> {
        let received = channel.await_message(TERMS, MAX_OFFER)?.to_vec();
        Ok(Self::decode(&received, channel)?.agreement)
    }

    /// Reads an offer of the other side.
    ///
    /// # Errors
    /// A peer that sent something else.
    pub fn decode(bytes: &[u8], channel: &Channel) -> Result<Self> {
        let malformed = |what| channel.malformed(TERMS, what);
        let any: AnyOffer =
            serde_json::from_slice(bytes).map_err(|_| malformed("not an offer of terms"))?;
        if any.version != u64::from(WIRE_VERSION) {
            return Err(Error::Version { ours: WIRE_VERSION, theirs: any.version });
        }
        let offer: Self =
            serde_json::from_slice(bytes).map_err(|_| malformed("not an offer of this version"))?;
        if offer.table.as_ref().is_some_and(|table| table.declared.is_none()) {
            return Err(malformed("a query whose columns are not declared").into());
        }
        match offer.fault() {
            None => Ok(offer),
            Some(fault) => Err(malformed(fault).into()),
        }
    }

    /// Returns the fault of an offer that was received, if it has one.
    pub fn fault(&self) -> Option<&'static str> {
        let named = self.protocol.as_deref().unwrap_or("auto");
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let null_values = NullValues::new(&self.null_values).ok();
        let both_learn = self.a_learns && self.b_learns;
        let has_one_key = self.identifiers.is_empty() && self.rules.is_none();
        let one_order = both_learn && self.query.kind.takes_order && has_one_key;
        let is_unfit = |rules: &RuleTerms| {
            let fits = rules.fit(self.query.kind, self.sends.as_ref());
            !(self.identifiers.is_empty() && fits && !self.diagnose && self.noise.is_none())
        };
        let is_hash =
            |text: &String| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let takes_columns = self.query.kind.takes_columns;
        let is_linked = self.query == Query::LINKED;
        // A helper among several parties; between two, the offers then differ.
        let provides_keys_only = self.query.selected().is_some() && self.table.is_none();
        let faults = [
            (named.len() > 32 || !named.chars().all(plain), "the protocol's name is not valid"),
            (
                self.keys.is_empty() || self.keys.len() > MAX_KEY_COLUMNS,
                "the number of key columns is out of bounds",
            ),
            (
                !are_identifiers(&self.identifiers, self.keys.len()),
                "the identifiers do not add up to the key columns",
            ),
            (
                self.rules.as_ref().is_some_and(|rules| !rules.is_sound(self.keys.len())),
                "the rules are out of bounds, or not about the key columns",
            ),
            (self.rules.as_ref().is_some_and(is_unfit), "rules for an offer that takes none"),
            (self.scale > MAX_SCALE, "the scale is out of bounds"),
            (
                // This form can be compared and is safe to show.
                null_values.as_ref().map(NullValues::values) != Some(&self.null_values),
                "the null values are not in order, or too many",
            ),
            (
                self.sends.as_ref().is_some_and(|sent| sent.fault().is_some()),
                "the columns that are sent are out of bounds",
            ),
            (
                self.sends.is_some() && !takes_columns,
                "columns are sent for a query that takes none",
            ),
            (
                takes_columns && self.a_learns == self.b_learns,
                "a join does not have exactly one learning side",
            ),
            (
                is_linked && self.query.check(&self.part()).is_err(),
                "linked rows for both sides, or without rules",
            ),
            (self.align && !one_order, "a common order for a query that has none"),
            (
                !(self.a_learns || self.b_learns) && self.query.kind.is_told,
                "nobody learns anything",
            ),
            (
                (self.noise.is_some()
                    || self.table.as_ref().is_some_and(|table| table.declared.is_some()))
                    && !provides_keys_only
                    && self.query.check(&self.part()).is_err(),
                "noise that is useless or for a query that takes none, or columns that the query does not use",
            ),
            (
                self.noise.is_some() && self.diagnose,
                "noise together with a comparison of what keys look like",
            ),
            (self.table.is_some() && self.query.selected().is_none(), "a table for another query"),
            (!self.agreement.iter().all(is_hash), "the hash of an agreement is not a hash"),
        ];
        faults.into_iter().find(|(is_one, _)| *is_one).map(|(_, fault)| fault)
    }
}

#[cfg(test)]
mod tests;
