//! A growing list whose randomness is derived from names.

use std::{collections::BTreeMap, io::Cursor};

use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value as Json, json};
use vesica_list::{
    exchange::{self, Question},
    head::{Head, Labels, MEDIA_TYPE, SUITE, VERSION, tag_bits},
    hex::Hex,
    label::{self, OVERHEAD, Place},
    log::LogEnd,
    lookup::List,
    part::Entry,
    signed,
    table::{Directory, Shape},
    value::{Value, item},
    voprf::ServerKey,
    writing::write_part,
};
use vesica_testkit::vectors::{Draws, hex};

pub fn digest_of(key: u32) -> [u8; 32] {
    *blake3::hash(&key.to_le_bytes()).as_bytes()
}

pub fn epoch_seed(epoch: u64) -> [u8; 32] {
    Draws::new(&format!("published/seed/{epoch}")).bytes(32).try_into().unwrap()
}

pub fn drawn_tags(count: usize, bits: u32) -> Vec<u128> {
    let mut draws = Draws::new(&format!("published/table/{count}/{bits}"));
    let mut tags: Vec<u128> = draws.blocks(count).iter().map(|b| b.0 >> (128 - bits)).collect();
    tags.sort_unstable();
    tags
}

pub fn table_of(tags: &[u128], bits: u32) -> Vec<u8> {
    let shape = Shape::new(tags.len() as u64, bits, 0).unwrap();
    let mut segments = vec![Vec::new(); shape.segments()];
    tags.iter().for_each(|tag| segments[shape.segment_of(*tag)].push(*tag));
    let counts = segments.iter().map(|tags| tags.len() as u32).collect();
    let directory = Directory::new(shape, counts).unwrap();
    let bodies = segments.iter().map(|tags| shape.encode_segment(tags, &[]));
    [directory.encode(), bodies.collect::<Vec<_>>().concat()].concat()
}

/// A growing list.
pub struct Publisher {
    pub identity: SigningKey,
    pub key: ServerKey,
    pub head: Head,
    pub log: String,
    pub files: Vec<Vec<u8>>,
    /// A client's view of each version.
    pub versions: Vec<Json>,
    /// Keys and their labels.
    pub set: BTreeMap<u32, Vec<u8>>,
}

/// Bytes of a label.
const LABEL: u32 = 12;

impl Publisher {
    pub fn new(epoch: u64, labels: bool) -> Self {
        let identity = Draws::new("published/identity").bytes(32).try_into().unwrap();
        let identity = SigningKey::from_bytes(&identity);
        let key = exchange::epoch_key(&epoch_seed(epoch), epoch).unwrap();
        let before_key = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0];
        let certificate = [&before_key[..], identity.verifying_key().as_bytes(), b"!"].concat();
        let (lambda, queries, capacity) = (40, 100, 64);
        let columns = vec!["reason".to_owned(), "since".to_owned()];
        let mut head = Head {
            version: VERSION,
            name: "blocked \u{e4}ccounts".to_owned(),
            publisher: String::new(),
            suite: SUITE.to_owned(),
            epoch,
            public_key: Hex(*key.public()),
            issued: 1_800_000_000,
            expires: 1_800_600_000,
            keys: vec!["email@1".to_owned()],
            null_values: vec!["n/a".to_owned()],
            lambda,
            queries,
            capacity,
            tag_bits: tag_bits(lambda, queries, capacity),
            items: 0,
            labels: labels.then_some(Labels { columns, bytes: LABEL }),
            parts: Vec::new(),
            state: Hex::default(),
            log: LogEnd::default(),
        };
        head.set_certificate(&certificate);
        let (log, files, versions) = (String::new(), Vec::new(), Vec::new());
        Self { identity, key, head, log, files, versions, set: Default::default() }
    }

    pub fn values(&self, keys: &[u32]) -> Vec<Value> {
        let items: Vec<_> =
            keys.iter().map(|key| item(&digest_of(*key), self.key.public())).collect();
        self.key.evaluate(&items).unwrap().iter().map(Value::of).collect()
    }

    /// Publishes a change as the next part. Each key's label consists of one value and one missing value.
    pub fn change(&mut self, removed: &[u32], added: &[(u32, &str)]) {
        let sequence = self.head.parts.last().map_or(2, |entry| entry.sequence + 1);
        let entry = Entry {
            sequence,
            removed: removed.len() as u64,
            added: added.len() as u64,
            bytes: 0,
            digest: Hex::default(),
        };
        let header = self.head.header(&entry, self.head.computed_state());
        let bits = self.head.tag_bits;
        let mut out: Vec<u128> = self.values(removed).iter().map(|v| v.tag(bits)).collect();
        out.sort_unstable();
        let values = self.values(&added.iter().map(|(key, _)| *key).collect::<Vec<_>>());
        let mut into: Vec<_> = values.iter().zip(added).collect();
        into.sort_unstable_by_key(|(value, _)| value.whole_tag());
        removed.iter().for_each(|key| assert!(self.set.remove(key).is_some()));
        let mut labels = Vec::new();
        for (value, (key, reason)) in &into {
            let mut label = (reason.len() as u16 + 2).to_le_bytes().to_vec();
            label.extend(reason.as_bytes());
            label.extend(1u16.to_le_bytes());
            label.resize(LABEL as usize, 0);
            if self.head.labels.is_some() {
                let mut sealed = [&[0; OVERHEAD][..], &label].concat();
                let place = Place { epoch: self.head.epoch, sequence };
                label::seal(&mut sealed, value.label_key(), place);
                labels.extend(sealed);
            }
            self.set.insert(*key, label);
        }
        let tags: Vec<_> = into.iter().map(|(value, _)| value.tag(bits)).collect();
        let (file, entry) =
            write_part(Cursor::new(Vec::new()), header, &out, &tags, &labels).unwrap();
        self.files.push(file.into_inner());
        self.head.parts.push(entry);
        self.head.items = self.set.len() as u64;
        self.head.state = Hex(self.head.computed_state());
        self.head.issued += 1;
        let (line, end) = self.head.log.append(&self.head.line());
        self.log += &line;
        self.head.log = end;
        self.versions.push(json!({
            "head": self.signed(),
            "log": self.log,
            "parts": self.files.iter().map(hex).collect::<Vec<_>>(),
            "lookups": (0..24).map(|key| self.look_up(key)).collect::<Vec<_>>(),
        }));
    }

    /// Returns the result for a client that has the value of this key.
    pub fn look_up(&self, key: u32) -> Json {
        let items = [item(&digest_of(key), self.key.public())];
        let output = &self.key.evaluate(&items).unwrap()[0];
        let list = List::open(self.head.clone(), self.files.clone()).unwrap();
        let found = list.look_up(&[Value::of(output)]).unwrap().remove(0);
        let expected = self.set.get(&key);
        assert_eq!(found.is_some(), expected.is_some());
        let label = found.and_then(|found| found.label);
        assert_eq!(label.as_ref(), expected.filter(|_| self.head.labels.is_some()));
        json!({
            "digest": hex(digest_of(key)),
            "value": hex(output.as_bytes()),
            "is_in": expected.is_some(),
            "label": label.map(hex),
        })
    }

    pub fn sign(&self, head: &Head) -> String {
        let message = signed::message(MEDIA_TYPE, &head.payload());
        head.sealed(&self.identity.sign(&message).to_bytes())
    }

    pub fn signed(&self) -> String {
        self.sign(&self.head)
    }

    /// Returns the envelope of any payload.
    pub fn sealed(&self, payload: &str) -> String {
        let message = signed::message(MEDIA_TYPE, payload.as_bytes());
        let signature = self.identity.sign(&message).to_bytes();
        signed::seal(MEDIA_TYPE, payload.as_bytes(), &self.head.certificate(), &signature)
    }

    pub fn told(&self) -> Json {
        json!({
            "fingerprint": hex(&signed::certificate_hash(&self.head.certificate())[..20]),
            "versions": self.versions,
        })
    }
}

pub fn published(labels: bool) -> Publisher {
    let mut publisher = Publisher::new(1, labels);
    let all: Vec<_> = (0..20).map(|key| (2 * key, "fraud")).collect();
    publisher.change(&[], &all);
    publisher.change(&[0, 2], &[(1, "bot"), (3, "\u{e4}")]);
    // Removed and added in one part: another label. Removed before, and back.
    publisher.change(&[4, 1], &[(4, ""), (0, "again")]);
    publisher.change(&[0], &[]);
    publisher
}

pub fn question(publisher: &Publisher, count: u32) -> Question {
    let items = (0..count).map(|key| item(&digest_of(key), publisher.key.public())).collect();
    let draws = &mut Draws::new(&format!("published/blinds/{count}"));
    Question::new(items, &publisher.head, draws).unwrap()
}

pub fn answer(publisher: &Publisher, question: &[u8]) -> vesica_list::Result<Vec<u8>> {
    exchange::answer(&publisher.key, question, &mut Draws::new("published/proof"))
}
