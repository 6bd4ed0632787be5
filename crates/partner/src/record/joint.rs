//! The record of a run among several parties, which all of them sign.

use serde::{Deserialize, Serialize};
use vesica_agree::{
    joint::{Cast, JointTerms},
    offer::WIRE_VERSION,
};
use vesica_core::{
    error::{Error, Result},
    moment::Moment,
    parties::Role,
};
use vesica_net::{Identity, Mesh};
use vesica_normalize::{normalize::TravellingName, shown::is_plain};
use vesica_task::disclosure::{Disclosure, words::Tense};

use super::{MAX_SIGNATURE, MAX_STATEMENT, SIGNATURE, STATEMENT, Statement, is_word, word};
use crate::{
    agreement::check_name,
    party::Party,
    policy::Policy,
    signed::{Document, Signed, is_hash},
};

/// The record of a run among several parties that succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointRecord {
    version: u32,
    /// The name of the agreement.
    pub name: String,
    /// The hash of the agreement.
    pub agreement: String,
    /// The parties and their places.
    pub cast: Cast,
    /// The statement of each party about itself, in the order of their numbers.
    pub statements: Vec<Statement>,
    /// The time at which the last party accepted the agreement.
    pub agreed: Moment,
    /// The rules of the agreement.
    pub rules: Policy,
    /// The query.
    pub query: serde_json::Value,
    /// The normalisation of each party's keys, with versions: a name for each column of the key.
    pub keys: Vec<Vec<TravellingName>>,
    /// The facts that the leader (`a`) and its partner (`b`) learned, and the assumptions behind this. It holds no
    /// outcome, since only learners know it.
    pub disclosure: Disclosure,
    /// The columns that the pivot sent the leader with matching rows.
    pub columns_sent: Vec<String>,
    /// The protocol that ended the run.
    pub protocol: String,
    /// The behaviour against which it is secure.
    pub security: String,
    /// The number of partitions in which the sets were compared.
    pub partitions: u64,
    /// The version of the wire format.
    pub wire_version: u32,
    /// The hash of the terms of all parties.
    pub terms: String,
    /// The identifier of the session: a hash of everything that the parties drew together.
    pub session: String,
}

impl Document for JointRecord {
    const TYPE: &'static str = "application/vnd.vesica.joint-record+json";
    const NAME: &'static str = "a record of several parties";
    const VERSION: u32 = 3;

    fn signers(&self) -> Vec<&Party> {
        self.statements.iter().map(|statement| &statement.party).collect()
    }

    /// Finds a fault in it: a reader need not trust the parties who signed it.
    fn fault(&self) -> Option<&'static str> {
        let hashes = [&self.agreement, &self.terms, &self.session];
        let words = [Some(self.protocol.as_str()), Some(&self.security), word(&self.query)];
        let count = self.cast.parties.len();
        let mut names = self
            .columns_sent
            .iter()
            .map(String::as_str)
            .chain(self.disclosure.names().map(String::as_str));
        let signers = self.signers();
        let named = self.cast.parties.iter().map(|party| &party.fingerprint);
        let signing = signers.iter().map(|party| party.fingerprint().to_string());
        if self.version != Self::VERSION {
            Some("it is not of this version")
        } else if self.cast.check().is_err() {
            Some("its parties are not three or more, each in a place")
        } else if self.statements.len() != count || self.keys.len() != count {
            Some("it does not have a statement and keys of each of its parties")
        } else if !named.eq(signing.collect::<Vec<_>>().iter()) {
            Some("its statements are not in the order of its parties")
        } else if check_name(&self.name).is_err() {
            Some("its name has characters other than letters, digits, hyphens and underscores")
        } else if !hashes.into_iter().all(|hash| is_hash(hash)) {
            Some("one of its hashes does not have 64 hexadecimal digits")
        } else if !words.into_iter().all(|word| word.is_some_and(is_word)) {
            Some("its query, protocol or security is not a word")
        } else if !names.all(is_plain) {
            Some(
                "the name of a column contains a control or format character, or a separator other than the space",
            )
        } else {
            self.statements.iter().find_map(Statement::fault)
        }
    }
}

impl JointRecord {
    /// Returns what the parties learned, in sentences.
    pub fn lines(&self) -> Vec<String> {
        let sizes: Vec<_> = self.statements.iter().map(|statement| statement.keys).collect();
        let said = self.cast.said(&self.disclosure, None, Some(&sizes), Tense::Past);
        vec![said.peer, said.assuming]
    }
}

/// The facts about a run that all of several parties know.
pub struct JointFacts<'a> {
    /// The name of the agreement.
    pub name: String,
    /// The hash of the agreement.
    pub agreement: String,
    /// The parties of the agreement, in the order of their numbers.
    pub parties: Vec<Party>,
    /// The terms of the run.
    pub terms: &'a JointTerms,
    /// The sizes of all sets.
    pub sizes: Vec<u64>,
    /// The disclosure that all parties sign.
    pub disclosure: Disclosure,
    /// The rules of the agreement.
    pub rules: Policy,
    /// The moment at which the last party accepted the agreement.
    pub agreed: Moment,
    /// The protocol's key in the catalogue.
    pub protocol: &'static str,
    /// The name of the security that the protocol provided.
    pub security: &'static str,
    /// The number of partitions.
    pub partitions: u64,
    /// The identifier of the session.
    pub session: String,
}

/// Makes the record together with all other parties.
///
/// # Errors
/// Every error of an exchange, and an unexpected statement or signature.
pub fn agree(
    facts: JointFacts<'_>,
    mine: &Statement,
    me: &Identity,
    mesh: &mut Mesh<'_>,
) -> Result<Signed<JointRecord>> {
    let cast = facts.terms.cast();
    let encoded = serde_json::to_vec(mine).map_err(|_| Error::bug("a statement has JSON"))?;
    let all = mesh.all_texts(STATEMENT, &encoded, MAX_STATEMENT)?;
    let mut statements = Vec::new();
    let known = facts.parties.iter().zip(&facts.sizes);
    for (party, (received, (expected, keys))) in all.iter().zip(known).enumerate() {
        if party == mesh.me() {
            statements.push(mine.clone());
            continue;
        }
        let statement = Statement::read(received, expected, *keys).map_err(|what| {
            let error = mesh.to(party).malformed(STATEMENT, what);
            Error::from(error).of_party(cast.name(party))
        });
        statements.push(statement?);
    }
    let of_two = facts.terms.of_party(cast.leader);
    let query = of_two.query();
    let keys = |party: usize| {
        let role = if party == cast.leader { Role::A } else { Role::B };
        facts.terms.of_party(party).keys_of(role).to_vec()
    };
    let mut record = Signed::new(JointRecord {
        version: JointRecord::VERSION,
        name: facts.name,
        agreement: facts.agreement,
        cast: cast.clone(),
        statements,
        agreed: facts.agreed,
        rules: facts.rules,
        query: serde_json::to_value(query).map_err(|_| Error::bug("a query has JSON"))?,
        keys: (0..cast.parties.len()).map(keys).collect(),
        disclosure: facts.disclosure,
        columns_sent: of_two.sent_columns().map_or_else(Vec::new, |sent| sent.columns.clone()),
        protocol: facts.protocol.to_owned(),
        security: facts.security.to_owned(),
        partitions: facts.partitions,
        wire_version: WIRE_VERSION,
        terms: facts.terms.hash(),
        session: facts.session,
    });
    record.sign(me).map_err(|_| Error::bug("this side is a party of its record"))?;
    let signature = record.signature_of(me.fingerprint()).unwrap_or_default();
    let signatures = mesh.all_texts(SIGNATURE, &signature, MAX_SIGNATURE)?;
    for (party, (signer, signature)) in facts.parties.iter().zip(&signatures).enumerate() {
        if party != mesh.me() && record.add(signer.fingerprint(), signature).is_err() {
            let error = mesh.to(party).malformed(SIGNATURE, "it signed another record");
            return Err(Error::from(error).of_party(cast.name(party)));
        }
    }
    Ok(record)
}
