//! The record of a run that both sides sign: the parties, the agreement, what was compared, and what each side learned.
//!
//! Both sides know everything in a record, so it reveals nothing to either. A third party only needs the two
//! fingerprints to check it.

pub mod joint;

use serde::{Deserialize, Serialize};
use vesica_agree::{offer::WIRE_VERSION, terms::Terms};
use vesica_core::{
    error::{Error, Result},
    moment::Moment,
    parties::Role,
};
use vesica_net::{Channel, Identity};
use vesica_normalize::{normalize::TravellingName, shown::is_plain};
use vesica_task::disclosure::Disclosure;

use super::{
    agreement::check_name,
    entry::LedgerHead,
    party::Party,
    policy::Policy,
    signed::{Document, Signed, SignedError, is_hash},
};

use self::joint::JointRecord;

const STATEMENT: &str = "vesica/statement";
const SIGNATURE: &str = "vesica/signature";

/// The longest statement on the wire, in bytes.
const MAX_STATEMENT: usize = 1 << 13;

/// The maximum number of lines that a ledger may claim to have.
const MAX_LINES: u64 = 1 << 48;

/// The longest signature, in bytes; one of Ed25519 has 64.
const MAX_SIGNATURE: usize = 64;

/// The record of a run that succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    version: u32,
    /// The name of the agreement.
    pub name: String,
    /// The hash of the agreement.
    pub agreement: String,
    /// The side that connected.
    pub a: Statement,
    /// The side that listened.
    pub b: Statement,
    /// The time at which the agreement was accepted.
    pub agreed: Moment,
    /// The rules of the agreement.
    pub rules: Policy,
    /// The query.
    pub query: serde_json::Value,
    /// The normalisation of each side's keys, with versions: a name for each column of the key.
    pub keys_of_a: Vec<TravellingName>,
    /// The same of the side that listened.
    pub keys_of_b: Vec<TravellingName>,
    /// The number of these columns in each identifier of a row; empty if all columns form one identifier.
    pub identifiers: Vec<u8>,
    /// The facts that each side learned, that neither learned, and the assumptions behind this.
    pub disclosure: Disclosure,
    /// Whether the side that connected learned the result.
    pub a_learned: bool,
    /// Whether the side that listened learned it.
    pub b_learned: bool,
    /// The columns that one side sent the other with matching rows.
    pub columns_sent: Vec<String>,
    /// The number of shared keys, if both sides learned it.
    pub matches: Option<u64>,
    /// The protocol that ran.
    pub protocol: String,
    /// The behaviour against which it is secure.
    pub security: String,
    /// The number of partitions in which the sets were compared.
    pub partitions: u64,
    /// The number of times that partitions were begun in the last session, if tasks of a cluster compared them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u64>,
    /// The version of the wire format.
    pub wire_version: u32,
    /// The hash of the terms.
    pub terms: String,
    /// The identifier of the session: a hash of everything that the two sides agreed on in it, and of the keys of the
    /// connection.
    pub session: String,
}

/// A side's statement about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The party.
    pub party: Party,
    /// The version of its program.
    pub program: String,
    /// Distinct keys of its set.
    pub keys: u64,
    /// The time at which the run began on this side.
    pub started: Moment,
    /// The time at which it had its result.
    pub ended: Moment,
    /// The newest line of its ledger.
    pub ledger: LedgerHead,
}

impl Document for Record {
    const TYPE: &'static str = "application/vnd.vesica.record+json";
    const NAME: &'static str = "a record";
    const VERSION: u32 = 2;

    fn signers(&self) -> Vec<&Party> {
        vec![&self.a.party, &self.b.party]
    }

    /// Finds a fault in it: a reader need not trust the parties who signed it.
    fn fault(&self) -> Option<&'static str> {
        let hashes = [&self.agreement, &self.terms, &self.session];
        let words = [Some(self.protocol.as_str()), Some(&self.security), word(&self.query)];
        if self.version != Self::VERSION {
            Some("it is not of this version")
        } else if self.a.party == self.b.party {
            Some("its two parties are the same")
        } else if check_name(&self.name).is_err() {
            Some("its name has characters other than letters, digits, hyphens and underscores")
        } else if !hashes.into_iter().all(|hash| is_hash(hash)) {
            Some("one of its hashes does not have 64 hexadecimal digits")
        } else if !words.into_iter().all(|word| word.is_some_and(is_word)) {
            Some("its query, protocol or security is not a word")
        } else if !self
            .columns_sent
            .iter()
            .chain(self.disclosure.names())
            .all(|name| is_plain(name))
        {
            Some(
                "the name of a column contains a control or format character, or a separator other than the space",
            )
        } else {
            self.a.fault().or_else(|| self.b.fault())
        }
    }
}

/// Returns the name of a query: of the query itself, or of its number.
fn word(query: &serde_json::Value) -> Option<&str> {
    match query {
        serde_json::Value::String(word) => Some(word),
        serde_json::Value::Object(map) if map.len() == 1 => map.keys().next().map(String::as_str),
        _ => None,
    }
}

/// Returns whether a text is a word as in the catalogue: lowercase letters, digits and hyphens.
fn is_word(text: &str) -> bool {
    let plain = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

impl Statement {
    /// Reads the statement of this party, with this number of keys.
    ///
    /// # Errors
    /// The fault of the message.
    fn read(received: &[u8], party: &Party, keys: u64) -> std::result::Result<Self, &'static str> {
        let read = serde_json::from_slice::<Self>(received);
        let said = read.map_err(|_| "not a statement of this version")?;
        match said.fault() {
            Some(fault) => Err(fault),
            None if said.party != *party || said.keys != keys => {
                Err("it does not belong to this side or this run")
            }
            None => Ok(said),
        }
    }

    /// Finds a fault in it, if there is one.
    fn fault(&self) -> Option<&'static str> {
        let is_plain = self.program.bytes().all(|byte| byte.is_ascii_graphic());
        if self.program.len() > 64 || !is_plain {
            Some("the version of a program does not have at most 64 characters of ASCII")
        } else if !is_hash(&self.ledger.hash) || self.ledger.lines > MAX_LINES {
            Some("the newest line of a ledger is not a number and a hash")
        } else {
            None
        }
    }
}

/// The record of a run between two parties or among several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnyRecord {
    /// Between two parties.
    Pair(Box<Signed<Record>>),
    /// Among several.
    Joint(Box<Signed<JointRecord>>),
}

impl AnyRecord {
    /// Reads a record with the signatures of all its parties.
    ///
    /// # Errors
    /// [`SignedError`].
    pub fn from_json(text: &str) -> std::result::Result<Self, SignedError> {
        if text.contains(JointRecord::TYPE) {
            let signed = Signed::<JointRecord>::from_json(text)?;
            signed.require_all()?;
            return Ok(Self::Joint(Box::new(signed)));
        }
        let signed = Signed::<Record>::from_json(text)?;
        signed.require_all()?;
        Ok(Self::Pair(Box::new(signed)))
    }

    /// Returns the envelope as JSON, followed by a newline.
    pub fn to_json(&self) -> String {
        match self {
            Self::Pair(signed) => signed.to_json(),
            Self::Joint(signed) => signed.to_json(),
        }
    }

    /// Returns the SHA-256 of the record as it was signed, in hexadecimal.
    pub fn hash(&self) -> String {
        match self {
            Self::Pair(signed) => signed.hash(),
            Self::Joint(signed) => signed.hash(),
        }
    }

    /// Returns the statements of all parties: the connecting one's first, or in the order of their numbers.
    pub fn statements(&self) -> Vec<&Statement> {
        match self {
            Self::Pair(signed) => vec![&signed.document().a, &signed.document().b],
            Self::Joint(signed) => signed.document().statements.iter().collect(),
        }
    }
}

/// The facts about a run that both sides know.
pub struct Facts<'a> {
    /// The name of the agreement.
    pub name: String,
    /// The hash of the agreement.
    pub agreement: String,
    /// The terms of the run.
    pub terms: &'a Terms,
    /// The number of shared keys, if both sides learned it.
    pub matches: Option<u64>,
    /// The disclosure that both sides sign.
    pub disclosure: Disclosure,
    /// The rules of the agreement.
    pub rules: Policy,
    /// The moment at which the agreement was accepted.
    pub agreed: Moment,
    /// The protocol's key in the catalogue.
    pub protocol: &'static str,
    /// The name of the security that the protocol provided.
    pub security: &'static str,
    /// The number of partitions.
    pub partitions: u64,
    /// The number of attempts at partitions, if tasks of a cluster compared them.
    pub attempts: Option<u64>,
    /// Distinct keys of the other side.
    pub peer_keys: u64,
}

/// Makes the record together with the other side, `peer`.
///
/// # Errors
/// Every error of an exchange, and an unexpected statement or signature.
pub fn agree(
    facts: Facts<'_>,
    mine: Statement,
    me: &Identity,
    peer: &Party,
    role: Role,
    channel: &mut Channel,
) -> Result<Signed<Record>> {
    let encoded = serde_json::to_vec(&mine).map_err(|_| Error::bug("a statement has JSON"))?;
    channel.send(STATEMENT, &encoded)?;
    let received = channel.recv_len(STATEMENT, MAX_STATEMENT)?;
    let theirs = Statement::read(&received, peer, facts.peer_keys)
        .map_err(|what| channel.malformed(STATEMENT, what))?;
    let (a, b) = match role {
        Role::A => (mine, theirs),
        Role::B => (theirs, mine),
    };
    let Facts { terms, .. } = facts;
    let mut record = Signed::new(Record {
        version: Record::VERSION,
        name: facts.name,
        agreement: facts.agreement,
        a,
        b,
        agreed: facts.agreed,
        rules: facts.rules,
        query: serde_json::to_value(terms.query()).map_err(|_| Error::bug("a query has JSON"))?,
        keys_of_a: terms.keys_of(Role::A).to_vec(),
        keys_of_b: terms.keys_of(Role::B).to_vec(),
        identifiers: terms.columns_of_identifiers().to_vec(),
        disclosure: facts.disclosure,
        a_learned: terms.learns(Role::A),
        b_learned: terms.learns(Role::B),
        columns_sent: terms.sent_columns().map_or_else(Vec::new, |sent| sent.columns.clone()),
        matches: facts.matches,
        protocol: facts.protocol.to_owned(),
        security: facts.security.to_owned(),
        partitions: facts.partitions,
        attempts: facts.attempts,
        wire_version: WIRE_VERSION,
        terms: terms.hash(),
        session: super::signed::hex(channel.session().as_bytes()),
    });
    record.sign(me).map_err(|_| Error::bug("this side is a party of its record"))?;
    let signature = record.signature_of(me.fingerprint()).unwrap_or_default();
    channel.send(SIGNATURE, &signature)?;
    let received = channel.recv_len(SIGNATURE, MAX_SIGNATURE)?;
    record
        .add(peer.fingerprint(), &received)
        .map_err(|_| channel.malformed(SIGNATURE, "the other side signed another record"))?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use vesica_agree::{
        disclosed::Known,
        offer::{Offer, WireOffer},
    };
    use vesica_core::parties::{Learns, Parties};
    use vesica_net::{Deviation, transport::memory};
    use vesica_normalize::normalize::Normalize;

    use super::*;

    const KEYS: [u64; 2] = [10, 20];

    fn terms() -> Terms {
        let offer = Offer::new(vec![Normalize::EMAIL], Learns::Both);
        let [mine, theirs] = [Role::A, Role::B].map(|role| WireOffer::new(&offer, role));
        let parties = Parties { role: Role::A, me: "a".to_owned(), peer: "b".to_owned() };
        Terms::merge(&mine, &theirs, &parties).unwrap()
    }

    /// Returns the facts that a side knows whose peer has this many keys.
    fn facts(terms: &Terms, peer_keys: u64) -> Facts<'_> {
        Facts {
            name: "acme".to_owned(),
            agreement: "hash".to_owned(),
            terms,
            matches: Some(3),
            disclosure: terms.disclosure(Known::default()),
            rules: Policy::default(),
            agreed: "2026-11-23T12:00:00Z".parse().unwrap(),
            protocol: "rr22",
            security: "semi-honest",
            partitions: 1,
            attempts: None,
            peer_keys,
        }
    }

    fn statement(me: &Identity, keys: u64) -> Statement {
        let program = "v".repeat(64);
        let (started, ended) = (Moment::now(), Moment::now());
        Statement { party: me.into(), program, keys, started, ended, ledger: LedgerHead::default() }
    }

    fn channel(end: memory::Memory) -> Channel {
        Channel::new(end).with_stall_timeout(Duration::from_secs(20))
    }

    #[test]
    fn both_sides_have_one_record_that_both_signed() {
        let [a, b] = [(); 2].map(|()| Identity::generate().unwrap());
        let terms = terms();
        let (end_a, end_b) = memory::pair();
        let (of_a, of_b) = thread::scope(|scope| {
            let of_a = scope.spawn(|| {
                let mine = statement(&a, KEYS[0]);
                let (facts, peer) = (facts(&terms, KEYS[1]), Party::from(&b));
                agree(facts, mine, &a, &peer, Role::A, &mut channel(end_a))
            });
            let mine = statement(&b, KEYS[1]);
            let (facts, peer) = (facts(&terms, KEYS[0]), Party::from(&a));
            let of_b = agree(facts, mine, &b, &peer, Role::B, &mut channel(end_b));
            (of_a.join().unwrap().unwrap(), of_b.unwrap())
        });
        assert_eq!(of_a, of_b);
        assert_eq!(of_a.require_all(), Ok(()));
        let record = of_a.document();
        assert_eq!([record.a.keys, record.b.keys], KEYS);
        assert_eq!(record.a.party.fingerprint(), a.fingerprint());
        assert!(record.a_learned && record.b_learned);
        assert_eq!((record.version, record.matches), (2, Some(3)));
    }

    /// Computes a signature, given the other side's signature.
    type Signs<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

    /// Returns the error of a side whose peer sends this statement and this signature.
    fn error_of(change: impl Fn(&mut Statement), signs: Option<Signs<'_>>) -> Error {
        let [a, b] = [(); 2].map(|()| Identity::generate().unwrap());
        let terms = terms();
        let (end_a, end_b) = memory::pair();
        thread::scope(|scope| {
            let of_a = scope.spawn(|| {
                let mine = statement(&a, KEYS[0]);
                let (facts, peer) = (facts(&terms, KEYS[1]), Party::from(&b));
                agree(facts, mine, &a, &peer, Role::A, &mut channel(end_a))
            });
            let mut peer = channel(end_b);
            let mut said = statement(&b, KEYS[1]);
            change(&mut said);
            peer.send(STATEMENT, &serde_json::to_vec(&said).unwrap()).unwrap();
            if let Some(signs) = signs {
                peer.recv_len(STATEMENT, MAX_STATEMENT).unwrap();
                let theirs = peer.recv_len(SIGNATURE, MAX_SIGNATURE).unwrap();
                peer.send(SIGNATURE, &signs(&theirs)).unwrap();
            }
            peer.flush().unwrap();
            of_a.join().unwrap().unwrap_err()
        })
    }

    fn is_malformed(error: &Error, at: &str) -> bool {
        let Error::Net(vesica_net::Error::Peer { deviation, .. }) = error else { return false };
        matches!(deviation, Deviation::Malformed { label, .. } if *label == at)
    }

    #[test]
    fn a_statement_of_another_run_is_refused() {
        type Change = fn(&mut Statement);
        let changes: [Change; 12] = [
            |said| said.keys += 1,
            |said| said.party = (&Identity::generate().unwrap()).into(),
            |said| said.program.push('v'),
            |said| said.program = "two words".to_owned(),
            |said| said.program = "ü".to_owned(),
            |said| said.ledger.hash.push('0'),
            |said| said.ledger.hash = "\n".to_owned(),
            |said| said.ledger.hash = "g".repeat(64),
            |said| said.ledger.hash = "A".repeat(64),
            |said| said.ledger.hash.truncate(63),
            |said| said.ledger.lines = MAX_LINES + 1,
            |said| said.ledger.lines = u64::MAX,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let error = error_of(change, None);
            assert!(is_malformed(&error, STATEMENT), "{number}: {error}");
        }
    }

    #[test]
    fn a_signature_of_another_record_is_refused() {
        for signature in [vec![0; 64], Vec::new()] {
            let error = error_of(|_| {}, Some(&|_| signature.clone()));
            assert!(is_malformed(&error, SIGNATURE), "{error}");
        }
        // This side's own signature does not count as the other side's.
        let error = error_of(|_| {}, Some(&<[u8]>::to_vec));
        assert!(is_malformed(&error, SIGNATURE), "{error}");
    }
}
