//! What one side offers, and the form in which its offer travels.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};
use vesica_net::Channel;
use vesica_planner::Candidate;
use vesica_psi::{Sizes, lookup::LOOKUPS};

use crate::{
    error::{Error, Result},
    keys::{
        normalize::{Normalize, TravellingName},
        null_values::NullValues,
        numbers::MAX_SCALE,
    },
    parties::{Learns, Role, Security},
    table::sent_columns::{DEFAULT_BYTES, SentColumns},
    task::{
        self,
        interface::{Method, Part, Request},
        noise::Noise,
        query::Query,
    },
};

/// The version of everything that travels. Sides of different versions do not run.
pub const WIRE_VERSION: u32 = 10;

/// The most columns a key may have.
pub const MAX_KEY_COLUMNS: usize = 16;

/// The most identifiers a row may have.
pub const MAX_IDENTIFIERS: usize = 8;

/// The longest offer on the wire, in bytes.
const MAX_OFFER: usize = 1 << 12;

const TERMS: &str = "vesica/terms";

/// What one side offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The protocol's key, or `None` to take the one that the other side names, or else the one that suits the sizes.
    pub protocol: Option<String>,
    /// The least security accepted.
    pub security: Security,
    /// How each key column's values are normalised, in order.
    pub keys: Vec<Normalize>,
    /// How many of these columns each identifier of a row has, in order; empty where all of them make up one. Rows
    /// match if any of their identifiers does.
    pub identifiers: Vec<u8>,
    /// Who learns the result.
    pub learns: Learns,
    /// The most distinct keys the other side may bring.
    pub max_peer_rows: u64,
    /// Whether protocols that are not for real data may run if named.
    pub allow_research: bool,
    /// What the run is to find out.
    pub query: Query,
    /// Whether this side brings a column of values.
    pub brings_values: bool,
    /// In a join: the columns that this side sends to the other, which then learns alone.
    pub sends: Option<SentColumns>,
    /// For queries that take one: if fewer keys than this are shared, nothing else is told. The larger minimum of the
    /// two sides applies.
    pub minimum: u64,
    /// For counts and sums: the noise that hides a single key in the number, the same on both sides. There is no minimum
    /// then.
    pub noise: Option<Noise>,
    /// Values of normalised key columns that count as empty.
    pub null_values: NullValues,
    /// The number of decimal places of the values of both sides, at most 18.
    pub scale: u8,
    /// Whether to compare what the keys of both sides look like, if the other side wants that too.
    pub diagnose: bool,
    /// Whether both sides, which then both learn, write matches in one order, with a number in a first column.
    pub align: bool,
    /// The hash of the agreement under which the run takes place, if there is one.
    pub agreement: Option<String>,
}

impl Offer {
    /// An offer of a query for rows, with everything else at its default: any protocol for real data, semi-honest
    /// security, at most a hundred million keys of the other side.
    pub fn new(keys: Vec<Normalize>, learns: Learns) -> Self {
        Self {
            protocol: None,
            security: Security::default(),
            keys,
            identifiers: Vec::new(),
            learns,
            max_peer_rows: 100_000_000,
            allow_research: false,
            query: Query::ROWS,
            brings_values: false,
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

    /// Refuses what could not run, whatever the other side offers.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn check(&self) -> Result<()> {
        if self.keys.is_empty() || self.keys.len() > MAX_KEY_COLUMNS {
            let given = self.keys.len();
            let message = format!("a key has 1 to {MAX_KEY_COLUMNS} columns, not {given}");
            return Err(Error::Usage(message));
        }
        if !are_identifiers(&self.identifiers, self.keys.len()) {
            let message =
                format!("a row has at most {MAX_IDENTIFIERS} identifiers, each with a column");
            return Err(Error::Usage(message));
        }
        if !self.identifiers.is_empty() && !self.query.kind.takes_identifiers {
            let message = "several identifiers are for rows alone: in counts, sums, shares and joins, a row that \
                           matches by two identifiers would count twice; name one --key";
            return Err(Error::Usage(message.to_owned()));
        }
        if !self.identifiers.is_empty() && self.diagnose {
            let message =
                "keys are compared by --diagnose one identifier at a time; name one --key";
            return Err(Error::Usage(message.to_owned()));
        }
        self.query.check(&self.part())?;
        self.check_columns()?;
        self.check_order()?;
        let defaults = [NullValues::none(), NullValues::default()];
        if self.null_values.applied_to(&self.keys) != self.null_values
            && !defaults.contains(&self.null_values)
        {
            let message =
                "null values are for key columns that are normalised; `none` compares all as bytes";
            return Err(Error::Usage(message.to_owned()));
        }
        let Some(name) = &self.protocol else { return Ok(()) };
        let methods = self.query.kind.task.methods();
        let Some(method) = methods.iter().find(|method| method.key() == name) else {
            if LOOKUPS.iter().any(|lookup| lookup.key == name) {
                return Err(Error::Usage(format!(
                    "`{name}` is no protocol of a run: one side publishes a list (`vesica publish`), and others look keys up \
                     in it (`vesica lookup`)"
                )));
            }
            let known: Vec<_> = methods.iter().map(|method| method.key()).collect();
            return Err(Error::Usage(format!(
                "there is no protocol `{name}` for {}; there are: {}",
                self.query.describe(),
                known.join(", ")
            )));
        };
        if method.is_for_lab() && !self.allow_research {
            return Err(Error::Usage(format!(
                "protocol `{name}` is {}, not for real data; it runs only where both sides allow \
                 research protocols",
                method.status().name()
            )));
        }
        if !method.meets(self.security) {
            return Err(Error::Usage(format!(
                "protocol `{name}` is secure against {} parties, not against {} ones",
                method.adversary().name(),
                self.security.name()
            )));
        }
        Ok(())
    }

    /// Refuses columns that cannot be sent, and a side that would both send and learn, or do neither.
    fn check_columns(&self) -> Result<()> {
        if let Some(fault) = self.sends.as_ref().and_then(SentColumns::fault) {
            return Err(Error::Usage(fault));
        }
        let message = match (self.query.kind.takes_columns, &self.sends, self.learns) {
            (true, Some(_), learns) if learns != Learns::Peer => {
                "the side that sends columns learns nothing: let the other side learn (--learns peer)"
            }
            (true, None, learns) if learns != Learns::Me => {
                "the side that receives columns is the one that learns (--learns me)"
            }
            _ => return Ok(()),
        };
        Err(Error::Usage(message.to_owned()))
    }

    /// Refuses a common order where not both sides learn, or a row may belong to several matches.
    fn check_order(&self) -> Result<()> {
        let message = if self.align && self.learns != Learns::Both {
            "matches are written in a common order where both sides learn them (--learns both)"
        } else if self.align && !self.identifiers.is_empty() {
            "a common order is for one identifier: of several, a row may belong to several matches; name one --key"
        } else {
            return Ok(());
        };
        Err(Error::Usage(message.to_owned()))
    }

    /// What the task of the query judges.
    fn part(&self) -> Part {
        Part {
            sends: self.sends.is_some(),
            aligns: self.align,
            brings_values: self.brings_values,
            scale: self.scale,
            minimum: self.minimum,
            noise: self.noise,
            is_told: self.learns != Learns::Nobody,
        }
    }

    /// The protocols for real data that could run if the other side made a matching offer, for so many distinct keys
    /// of each side. Where nobody learns, or both do, this side is taken for the receiver.
    pub fn candidates(&self, mine: usize, theirs: usize) -> Vec<Candidate> {
        let peer_brings = self.query.peer_brings_values(self.brings_values);
        let (receiver, sender) = ((mine, self.brings_values), (theirs, peer_brings));
        let (receiver, sender) = match self.learns {
            Learns::Peer => (sender, receiver),
            _ => (receiver, sender),
        };
        let request = Request {
            partitions: 1,
            sizes: Sizes { sender: sender.0, receiver: receiver.0 },
            number: self.query.number,
            minimum: self.minimum,
            noise: self.noise,
            scale: self.scale,
            sender_brings: sender.1,
            receiver_brings: receiver.1,
            payload_len: self
                .sends
                .as_ref()
                .map_or(DEFAULT_BYTES as usize, SentColumns::payload_len),
        };
        let fits = |method: &dyn Method| {
            method.status().is_for_use()
                && method.adversary() >= self.security.adversary()
                && !method.tells_size()
        };
        let methods = self.query.kind.task.methods();
        let fitting = methods.iter().filter(|method| fits(&***method));
        fitting.filter_map(|method| method.candidate(&request).ok()).collect()
    }
}

/// Whether these numbers of columns, one for each of several identifiers, make up so many columns.
fn are_identifiers(columns: &[u8], all: usize) -> bool {
    let sum: usize = columns.iter().map(|columns| usize::from(*columns)).sum();
    let are_several = (2..=MAX_IDENTIFIERS).contains(&columns.len()) && !columns.contains(&0);
    columns.is_empty() || are_several && sum == all
}

/// An offer as it travels. Who learns is given by role, so that it means the same to both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireOffer {
    version: u32,
    pub(crate) protocol: Option<String>,
    pub(crate) security: Security,
    pub(crate) keys: Vec<TravellingName>,
    pub(crate) identifiers: Vec<u8>,
    pub(crate) a_learns: bool,
    pub(crate) b_learns: bool,
    pub(crate) max_peer_rows: u64,
    pub(crate) allow_research: bool,
    #[serde(rename = "wanted", deserialize_with = "query")]
    pub(crate) query: Query,
    pub(crate) brings_values: bool,
    pub(crate) sends: Option<SentColumns>,
    pub(crate) minimum: u64,
    pub(crate) noise: Option<Noise>,
    pub(crate) null_values: Vec<String>,
    pub(crate) scale: u8,
    pub(crate) diagnose: bool,
    pub(crate) align: bool,
    pub(crate) agreement: Option<String>,
}

/// Reads a query: its word, or an object with the word and a number.
fn query<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Query, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Word(String),
        Number(BTreeMap<String, u64>),
    }
    let (word, number) = match Form::deserialize(deserializer)? {
        Form::Word(word) => (word, None),
        Form::Number(map) if map.len() == 1 => {
            let (word, number) = map.into_iter().next().unwrap_or_default();
            (word, Some(number))
        }
        Form::Number(_) => return Err(de::Error::custom("not one query")),
    };
    let kind = task::by_word(&word).filter(|kind| kind.takes_number == number.is_some());
    let kind = kind.ok_or_else(|| de::Error::custom("not a query of this version"))?;
    Ok(Query { kind, number: number.unwrap_or_default() })
}

/// What every version's offer has.
#[derive(Deserialize)]
struct AnyOffer {
    version: u64,
}

impl WireOffer {
    pub(crate) fn new(offer: &Offer, role: Role) -> Self {
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
            a_learns: learns(Role::A),
            b_learns: learns(Role::B),
            max_peer_rows: offer.max_peer_rows,
            allow_research: offer.allow_research,
            query: offer.query,
            brings_values: offer.brings_values,
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

    /// What the task of the query judges.
    pub(crate) fn part(&self) -> Part {
        Part {
            sends: self.sends.is_some(),
            aligns: self.align,
            brings_values: self.brings_values,
            scale: self.scale,
            minimum: self.minimum,
            noise: self.noise,
            is_told: self.a_learns || self.b_learns,
        }
    }

    /// Sends this offer and receives the other side's.
    ///
    /// # Errors
    /// [`Error::Version`], a malformed offer, and what any exchange can meet.
    pub(crate) fn exchange(&self, channel: &mut Channel) -> Result<Self> {
        let encoded = serde_json::to_vec(self).map_err(|_| Error::Bug("terms have no JSON"))?;
        channel.send(TERMS, &encoded)?;
        let received = channel.recv_len(TERMS, MAX_OFFER)?;
        Self::decode(&received, channel)
    }

    /// Which agreement the other side names, before this side says anything.
    ///
    /// # Errors
    /// As [`WireOffer::exchange`].
    pub(crate) fn await_agreement(channel: &mut Channel) -> Result<Option<String>> {
        let received = channel.await_message(TERMS, MAX_OFFER)?.to_vec();
        Ok(Self::decode(&received, channel)?.agreement)
    }

    pub(crate) fn decode(bytes: &[u8], channel: &Channel) -> Result<Self> {
        let malformed = |what| channel.malformed(TERMS, what);
        let any: AnyOffer =
            serde_json::from_slice(bytes).map_err(|_| malformed("not an offer of terms"))?;
        if any.version != u64::from(WIRE_VERSION) {
            return Err(Error::Version { ours: WIRE_VERSION, theirs: any.version });
        }
        let offer: Self =
            serde_json::from_slice(bytes).map_err(|_| malformed("not an offer of this version"))?;
        match offer.fault() {
            None => Ok(offer),
            Some(fault) => Err(malformed(fault).into()),
        }
    }

    /// Says what is wrong with an offer that was received, if anything is.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let named = self.protocol.as_deref().unwrap_or("auto");
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let null_values = NullValues::new(&self.null_values).ok();
        let both_learn = self.a_learns && self.b_learns;
        let one_order = both_learn && self.query.kind.takes_order && self.identifiers.is_empty();
        let is_hash =
            |text: &String| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let takes_columns = self.query.kind.takes_columns;
        let faults = [
            (named.len() > 32 || !named.chars().all(plain), "the protocol's name is no name"),
            (
                self.keys.is_empty() || self.keys.len() > MAX_KEY_COLUMNS,
                "the number of key columns is out of bounds",
            ),
            (
                !are_identifiers(&self.identifiers, self.keys.len()),
                "the identifiers are not made of the key columns",
            ),
            (self.scale > MAX_SCALE, "the scale is out of bounds"),
            (
                // This form can be compared and is safe to show.
                null_values.as_ref().map(NullValues::values) != Some(&self.null_values),
                "the null values are not in order or too many",
            ),
            (
                self.sends.as_ref().is_some_and(|sent| sent.fault().is_some()),
                "the columns that are sent are out of bounds",
            ),
            (self.sends.is_some() && !takes_columns, "columns are sent where none are taken"),
            (
                takes_columns && self.a_learns == self.b_learns,
                "not one side alone learns from a join",
            ),
            (self.align && !one_order, "a common order of what has none"),
            (
                !(self.a_learns || self.b_learns) && self.query.kind.is_told,
                "nobody learns anything",
            ),
            (
                self.noise.is_some() && self.query.check(&self.part()).is_err(),
                "noise in what takes none, or of no use",
            ),
            (!self.agreement.iter().all(is_hash), "the hash of an agreement is none"),
        ];
        faults.into_iter().find(|(is_one, _)| *is_one).map(|(_, fault)| fault)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vesica_net::transport::memory;

    use super::*;
    use crate::Class;

    fn offer() -> Offer {
        Offer::new(vec![Normalize::Email], Learns::Both)
    }

    /// The error of a side that receives these bytes instead of an offer.
    fn answer(bytes: &[u8]) -> Error {
        let (a, b) = memory::pair();
        let mut peer = Channel::new(b);
        peer.send(TERMS, bytes).unwrap();
        peer.flush().unwrap();
        let mut channel = Channel::new(a).with_stall_timeout(Duration::from_secs(5));
        WireOffer::new(&offer(), Role::A).exchange(&mut channel).unwrap_err()
    }

    #[test]
    fn offers_are_read_with_suspicion() {
        let good = serde_json::to_string(&WireOffer::new(&offer(), Role::B)).unwrap();
        const LONG_NAME: &str =
            "[\"date:.............................................................@1\"]";
        let unread = |from: &str, to: &str| answer(good.replace(from, to).as_bytes());
        for (from, to) in [
            ("\"keys\"", "\"extra\":1,\"keys\""),
            ("[\"email@1\"]", "[]"),
            ("[\"email@1\"]", "[\"\"]"),
            ("[\"email@1\"]", "[\"rot\\u001b13@1\"]"),
            ("[\"email@1\"]", LONG_NAME),
            ("\"identifiers\":[]", "\"identifiers\":[1]"),
            ("\"identifiers\":[]", "\"identifiers\":[1,1]"),
            ("\"identifiers\":[]", "\"identifiers\":[1,0]"),
            ("\"identifiers\":[]", "\"identifiers\":[300]"),
            (":null", ":\"a\\u001b[31m\""),
            ("true,\"b_learns\":true", "false,\"b_learns\":false"),
            ("\"identifiers\":[]", "\"identifiers\":[],\"align\":true"),
            ("\"scale\":0", "\"scale\":19"),
            ("\"noise\":null", "\"noise\":{\"epsilon\":\"1\",\"clamp\":null}"),
            ("\"noise\":null", "\"noise\":{\"epsilon\":1,\"clamp\":null}"),
            ("\"null\"", "\"NULL\""),
            ("\"null\"", "\"null\",\"null\""),
            ("\"null\"", "\"nu\\u001bll\""),
            ("\"wanted\":\"rows\"", "\"wanted\":\"row\""),
            ("\"wanted\":\"rows\"", "\"wanted\":\"at-least\""),
            ("\"wanted\":\"rows\"", "\"wanted\":{\"rows\":1}"),
            ("\"wanted\":\"rows\"", "\"wanted\":{\"at-least\":-1}"),
            ("\"wanted\":\"rows\"", "\"wanted\":{\"at-least\":1,\"count\":1}"),
            ("{", "["),
        ] {
            assert!(good.contains(from));
            let error = unread(from, to);
            assert_eq!(error.class(), Class::Peer, "{error}");
        }
        let keys = format!("[{}]", vec!["\"none@1\""; MAX_KEY_COLUMNS + 1].join(","));
        assert_eq!(unread("[\"email@1\"]", &keys).class(), Class::Peer);
        assert_eq!(answer(&vec![b' '; MAX_OFFER + 1]).class(), Class::Peer);
        assert_eq!(answer(b"").class(), Class::Peer);
    }

    #[test]
    fn a_query_travels_as_its_word_and_number() {
        for (query, form) in [
            (Query::ROWS, "\"rows\""),
            (Query::COUNT, "\"count\""),
            (Query::SUM, "\"sum\""),
            (Query::PRODUCTS, "\"products\""),
            (Query::at_least(5), "{\"at-least\":5}"),
            (Query::SHARES, "\"shares\""),
        ] {
            let sent = WireOffer::new(&Offer { query, ..offer() }, Role::B);
            let text = serde_json::to_string(&sent).unwrap();
            assert!(text.contains(&format!("\"wanted\":{form}")), "{text}");
            assert_eq!(serde_json::from_str::<WireOffer>(&text).unwrap(), sent);
        }
    }

    #[test]
    fn another_version_is_named_whatever_else_it_says() {
        let error = answer(b"{\"version\":11,\"sets\":[1,2]}");
        assert_eq!(error.class(), Class::Terms);
        let message = error.to_string();
        let said = format!("here wire version {WIRE_VERSION}, there 11");
        assert!(message.contains(&said), "{message}");
    }

    #[test]
    fn what_cannot_run_is_not_offered() {
        let refused = |offer: Offer| offer.check().unwrap_err().to_string();
        assert!(offer().check().is_ok());
        assert!(refused(Offer { keys: vec![], ..offer() }).contains("1 to 16 columns"));
        let named = |name: &str| Offer { protocol: Some(name.into()), ..offer() };
        let first = format!("there are: {}, ", vesica_psi::CATALOGUE[0].key);
        assert!(refused(named("rr99")).contains(&first));
        assert!(refused(named("naive")).contains("insecure, not for real data"));
        let strict = Offer { security: Security::Malicious, ..named("dh") };
        assert!(refused(strict).contains("not against malicious ones"));
    }

    fn sent() -> SentColumns {
        SentColumns { columns: vec!["c".to_owned()], bytes: 8, rows: 1 }
    }

    fn noise() -> Option<Noise> {
        serde_json::from_str("{\"epsilon\":\"1\",\"clamp\":null}").ok()
    }

    fn emails(columns: usize) -> Vec<Normalize> {
        vec![Normalize::Email; columns]
    }

    /// The bounds of what is received, from both sides.
    #[test]
    fn an_offer_is_faulty_beyond_its_bounds_and_not_within() {
        let asked = |query, learns| Offer { query, ..Offer::new(emails(1), learns) };
        let keyed =
            |keys, identifiers| Offer { identifiers, ..Offer::new(emails(keys), Learns::Both) };
        let named = |name: &str| Offer { protocol: Some(name.to_owned()), ..offer() };
        let under = |hash: String| Offer { agreement: Some(hash), ..offer() };
        let joined = |learns| Offer { sends: Some(sent()), ..asked(Query::JOIN, learns) };
        let aligned = |offer| Offer { align: true, ..offer };
        let scaled = |scale| Offer { scale, ..offer() };
        for (offer, fault) in [
            (named("a-b_9"), None),
            (named(&"a".repeat(32)), None),
            (named(&"a".repeat(33)), Some("the protocol's name is no name")),
            (named("a b"), Some("the protocol's name is no name")),
            (keyed(16, vec![]), None),
            (keyed(17, vec![]), Some("the number of key columns is out of bounds")),
            (keyed(2, vec![1, 1]), None),
            (keyed(8, vec![1; 8]), None),
            (keyed(9, vec![1; 9]), Some("the identifiers are not made of the key columns")),
            (keyed(2, vec![2]), Some("the identifiers are not made of the key columns")),
            (keyed(2, vec![2, 0]), Some("the identifiers are not made of the key columns")),
            (keyed(3, vec![1, 1]), Some("the identifiers are not made of the key columns")),
            (scaled(18), None),
            (scaled(19), Some("the scale is out of bounds")),
            (joined(Learns::Me), None),
            (joined(Learns::Both), Some("not one side alone learns from a join")),
            (asked(Query::JOIN, Learns::Both), Some("not one side alone learns from a join")),
            (
                Offer { sends: Some(sent()), ..offer() },
                Some("columns are sent where none are taken"),
            ),
            (aligned(offer()), None),
            (aligned(asked(Query::ROWS, Learns::Me)), Some("a common order of what has none")),
            (aligned(asked(Query::COUNT, Learns::Both)), Some("a common order of what has none")),
            (aligned(keyed(2, vec![1, 1])), Some("a common order of what has none")),
            (asked(Query::ROWS, Learns::Me), None),
            (asked(Query::ROWS, Learns::Peer), None),
            (asked(Query::ROWS, Learns::Nobody), Some("nobody learns anything")),
            (asked(Query::SHARES, Learns::Nobody), None),
            (Offer { noise: noise(), ..asked(Query::COUNT, Learns::Both) }, None),
            (Offer { noise: noise(), ..asked(Query::COUNT, Learns::Me) }, None),
            (Offer { noise: noise(), ..offer() }, Some("noise in what takes none, or of no use")),
            (under("0af9".repeat(16)), None),
            (under("0af".repeat(21)), Some("the hash of an agreement is none")),
            (under("xyzw".repeat(16)), Some("the hash of an agreement is none")),
        ] {
            assert_eq!(WireOffer::new(&offer, Role::A).fault(), fault, "{offer:?}");
        }
        let none = SentColumns { columns: vec![], ..sent() };
        let offer = Offer { sends: Some(none), ..joined(Learns::Me) };
        let fault = WireOffer::new(&offer, Role::A).fault();
        assert_eq!(fault, Some("the columns that are sent are out of bounds"));
    }

    #[test]
    fn what_a_side_can_know_itself_it_is_told_before_it_offers() {
        let said = |offer: Offer| offer.check().err().map(|error| error.to_string());
        let asked = |query, learns| Offer { query, ..Offer::new(emails(1), learns) };
        let several = |offer| Offer { keys: emails(2), identifiers: vec![1, 1], ..offer };
        let joined = |learns| Offer { sends: Some(sent()), ..asked(Query::JOIN, learns) };
        let aligned = |offer| Offer { align: true, ..offer };
        let named = |name: &str| Offer { protocol: Some(name.to_owned()), ..offer() };
        let nulls = |values: &[&str], keys: &[Normalize]| Offer {
            null_values: NullValues::new(values).unwrap(),
            keys: keys.to_vec(),
            ..offer()
        };
        for good in [
            Offer { keys: emails(16), ..offer() },
            Offer { diagnose: true, ..offer() },
            several(offer()),
            joined(Learns::Peer),
            asked(Query::JOIN, Learns::Me),
            aligned(offer()),
            nulls(&["x"], &[Normalize::Email]),
            Offer { null_values: NullValues::none(), ..nulls(&[], &[Normalize::None]) },
            Offer { allow_research: true, ..named("naive") },
            named("rr22"),
            Offer { security: Security::Malicious, ..named("rr22-malicious") },
        ] {
            assert_eq!(said(good.clone()), None, "{good:?}");
        }
        for (bad, with) in [
            (Offer { keys: emails(17), ..offer() }, "a key has 1 to 16 columns, not 17"),
            (several(asked(Query::COUNT, Learns::Both)), "several identifiers are for rows alone"),
            (several(Offer { diagnose: true, ..offer() }), "one identifier at a time"),
            (joined(Learns::Me), "the side that sends columns learns nothing"),
            (joined(Learns::Both), "the side that sends columns learns nothing"),
            (asked(Query::JOIN, Learns::Peer), "the side that receives columns"),
            (
                Offer { sends: Some(SentColumns { rows: 0, ..sent() }), ..joined(Learns::Peer) },
                "rows",
            ),
            (Offer { sends: Some(sent()), ..offer() }, "columns are sent in a join"),
            (aligned(asked(Query::ROWS, Learns::Me)), "where both sides learn them"),
            (several(aligned(offer())), "a common order is for one identifier"),
            (aligned(asked(Query::COUNT, Learns::Both)), "only rows are written in a common order"),
            (nulls(&["x"], &[Normalize::None]), "null values are for key columns"),
            (named("oprf-list"), "`oprf-list` is no protocol of a run"),
            (named("rr99"), "there is no protocol `rr99` for"),
            (named("naive"), "not for real data"),
            (
                Offer { security: Security::Malicious, ..named("rr22") },
                "not against malicious ones",
            ),
        ] {
            let said = said(bad.clone()).unwrap_or_default();
            assert!(said.contains(with), "{said} of {bad:?}");
        }
    }

    /// What a task judges is the same of an offer and of its form that travels.
    #[test]
    fn a_part_is_that_of_the_offer() {
        for (learns, is_told) in [
            (Learns::Me, true),
            (Learns::Peer, true),
            (Learns::Both, true),
            (Learns::Nobody, false),
        ] {
            let full = Offer {
                learns,
                sends: Some(sent()),
                align: true,
                brings_values: true,
                scale: 3,
                minimum: 5,
                noise: noise(),
                ..offer()
            };
            for part in [full.part(), WireOffer::new(&full, Role::A).part()] {
                assert!(part.sends && part.aligns && part.brings_values);
                assert_eq!((part.scale, part.minimum, part.noise), (3, 5, noise()));
                assert_eq!(part.is_told, is_told);
            }
            let plain = Offer { learns, ..offer() };
            for part in [plain.part(), WireOffer::new(&plain, Role::A).part()] {
                assert!(!(part.sends || part.aligns || part.brings_values));
                assert_eq!((part.scale, part.minimum, part.noise), (0, 0, None));
            }
        }
    }

    #[test]
    fn candidates_are_for_real_data_as_secure_as_wanted_and_tell_no_size() {
        let of = |offer: &Offer| offer.candidates(10, 2000);
        let keys = |offer: &Offer| of(offer).iter().map(|found| found.key).collect::<Vec<_>>();
        let found = keys(&offer());
        assert!(found.contains(&"rr22") && found.contains(&"kkrt16") && !found.contains(&"naive"));
        let strict = keys(&Offer { security: Security::Malicious, ..offer() });
        assert!(strict.contains(&"rr22-malicious") && !strict.contains(&"rr22"));
        let sum = Offer { query: Query::SUM, ..offer() };
        assert!(!keys(&sum).is_empty() && !keys(&sum).contains(&"dh-sum"));
        for (learns, sender, receiver) in
            [(Learns::Me, 2000, 10), (Learns::Peer, 10, 2000), (Learns::Both, 2000, 10)]
        {
            let sizes = Sizes { sender, receiver };
            assert!(of(&Offer { learns, ..offer() }).iter().all(|found| found.sizes == sizes));
        }
    }

    /// What came early is not lost: the offer is there when the exchange asks for it.
    #[test]
    fn the_other_sides_agreement_is_known_before_this_side_says_anything() {
        for agreement in [Some("a".repeat(64)), None] {
            let (a, b) = memory::pair();
            let theirs = Offer { agreement: agreement.clone(), ..offer() };
            let theirs = WireOffer::new(&theirs, Role::B);
            let mut peer = Channel::new(b);
            peer.send(TERMS, &serde_json::to_vec(&theirs).unwrap()).unwrap();
            peer.flush().unwrap();
            let mut channel = Channel::new(a).with_stall_timeout(Duration::from_secs(20));
            assert_eq!(WireOffer::await_agreement(&mut channel).unwrap(), agreement);
            let ours = WireOffer::new(&offer(), Role::A);
            assert_eq!(ours.exchange(&mut channel).unwrap(), theirs);
            channel.flush().unwrap();
            assert_eq!(ours, theirs_of(&mut peer));
        }
    }

    fn theirs_of(channel: &mut Channel) -> WireOffer {
        let received = channel.recv_len(TERMS, MAX_OFFER).unwrap();
        WireOffer::decode(&received, channel).unwrap()
    }
}
