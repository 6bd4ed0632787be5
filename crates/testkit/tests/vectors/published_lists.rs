//! `published-lists.json`: lists of several versions, questions and answers, and what is refused of each.

use std::io::Cursor;

use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value as Json, json};
use vesica_list::{
    Error,
    exchange::{self, Question},
    head::{Expectation, Head, Labels, MEDIA_TYPE, SUITE, tag_bits},
    hex::Hex,
    label::{self, OVERHEAD, Place},
    log::{self, LogEnd},
    lookup::List,
    part::{self, Checker, Entry, Header},
    signed,
    table::{Directory, Shape},
    value::{Value, item},
    voprf::ServerKey,
    writing::write_part,
};
use vesica_testkit::vectors::{Draws, check, digest, hex};

#[test]
fn vectors() {
    let [plain, labelled] = [false, true].map(published);
    check(
        "published-lists",
        &json!({
            "items": [1, 2].map(item_of),
            "values": [32, 61, 76, 128].map(value),
            "labels": [(0, 1, 0), (7, 1, 3), (24, 2, 0), (100, 1 << 40, 1 << 33)].map(one_label),
            "tables": [(0, 40), (1, 128), (100, 61), (4096, 52), (4097, 53), (20_000, 57)].map(table),
            "tables_refused": tables_refused(),
            "lists": [&plain, &labelled].map(Publisher::told),
            "heads_refused": heads_refused(&labelled),
            "heads_unexpected": heads_unexpected(&plain),
            "logs_refused": logs_refused(&plain),
            "parts_refused": parts_refused(&labelled),
            "questions": [1, 2, 9].map(|count| asked(&plain, count)),
            "questions_refused": questions_refused(&plain),
            "answers_refused": answers_refused(&plain),
        }),
    );
}

fn digest_of(key: u32) -> [u8; 32] {
    *blake3::hash(&key.to_le_bytes()).as_bytes()
}

fn epoch_seed(epoch: u64) -> [u8; 32] {
    Draws::new(&format!("published/seed/{epoch}")).bytes(32).try_into().unwrap()
}

fn item_of(epoch: u64) -> Json {
    let key = exchange::epoch_key(&epoch_seed(epoch), epoch).unwrap();
    let digest = digest_of(epoch as u32);
    json!({
        "epoch": epoch,
        "seed": hex(epoch_seed(epoch)),
        "public_key": hex(key.public()),
        "digest": hex(digest),
        "item": hex(item(&digest, key.public())),
        "value": hex(key.evaluate(&[item(&digest, key.public())]).unwrap()[0].as_bytes()),
    })
}

fn value(bits: u32) -> Json {
    let key = exchange::epoch_key(&epoch_seed(1), 1).unwrap();
    let output = &key.evaluate(&[item(&digest_of(bits), key.public())]).unwrap()[0];
    let value = Value::of(output);
    json!({
        "value": hex(output.as_bytes()),
        "t": bits,
        "tag": format!("{:x}", value.tag(bits)),
        "label_key": hex(value.label_key()),
    })
}

fn one_label((bytes, epoch, sequence): (usize, u64, u64)) -> Json {
    let mut draws = Draws::new(&format!("published/label/{bytes}"));
    let key: [u8; 16] = draws.bytes(16).try_into().unwrap();
    let label = draws.bytes(bytes);
    let mut sealed = [&[0; OVERHEAD][..], &label].concat();
    label::seal(&mut sealed, &key, Place { epoch, sequence });
    json!({
        "label_key": hex(key),
        "epoch": epoch,
        "sequence": sequence,
        "label": hex(label),
        "sealed": hex(sealed),
    })
}

fn drawn_tags(count: usize, bits: u32) -> Vec<u128> {
    let mut draws = Draws::new(&format!("published/table/{count}/{bits}"));
    let mut tags: Vec<u128> = draws.blocks(count).iter().map(|b| b.0 >> (128 - bits)).collect();
    tags.sort_unstable();
    tags
}

fn table_of(tags: &[u128], bits: u32) -> Vec<u8> {
    let shape = Shape::new(tags.len() as u64, bits, 0).unwrap();
    let mut segments = vec![Vec::new(); shape.segments()];
    tags.iter().for_each(|tag| segments[shape.segment_of(*tag)].push(*tag));
    let counts = segments.iter().map(|tags| tags.len() as u32).collect();
    let directory = Directory::new(shape, counts).unwrap();
    let bodies = segments.iter().map(|tags| shape.encode_segment(tags, &[]));
    [directory.encode(), bodies.collect::<Vec<_>>().concat()].concat()
}

fn table((count, bits): (usize, u32)) -> Json {
    let bytes = table_of(&drawn_tags(count, bits), bits);
    let shown = if bytes.len() <= 1024 { Json::String(hex(&bytes)) } else { digest(&bytes) };
    json!({ "n": count, "t": bits, "draws": format!("published/table/{count}/{bits}"), "table": shown })
}

fn tables_refused() -> Json {
    let good = table_of(&drawn_tags(3, 44), 44);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        bytes
    };
    let refused = |(what, bytes): (&str, Vec<u8>)| {
        let shape = Shape::new(3, 44, 0).unwrap();
        let read = || {
            let front = bytes.get(..4).ok_or(vesica_list::Fault::Malformed)?;
            let directory = Directory::decode(shape, front)?;
            directory.decode_segment(0, &bytes[4..]).map(drop)
        };
        read().expect_err(what);
        json!({ "what": what, "n": 3, "t": 44, "table": hex(bytes) })
    };
    [
        ("a number too many", with(&|bytes| bytes[0] = 4)),
        ("a number too few", with(&|bytes| bytes[0] = 2)),
        ("a byte too few", with(&|bytes| drop(bytes.pop()))),
        ("a byte too many", with(&|bytes| bytes.push(0))),
        ("no numbers", Vec::new()),
        ("a bit of padding", with(&|bytes| *bytes.last_mut().unwrap() |= 0x80)),
        ("no tags", with(&|bytes| bytes[4..12].fill(0))),
    ]
    .map(refused)
    .to_vec()
    .into()
}

/// A list as it grows.
struct Publisher {
    identity: SigningKey,
    key: ServerKey,
    head: Head,
    log: String,
    files: Vec<Vec<u8>>,
    /// What a client would see at each version.
    versions: Vec<Json>,
    /// Keys and their labels.
    set: std::collections::BTreeMap<u32, Vec<u8>>,
}

/// Bytes of a label.
const LABEL: u32 = 12;

impl Publisher {
    fn new(epoch: u64, labels: bool) -> Self {
        let identity = Draws::new("published/identity").bytes(32).try_into().unwrap();
        let identity = SigningKey::from_bytes(&identity);
        let key = exchange::epoch_key(&epoch_seed(epoch), epoch).unwrap();
        let before_key = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0];
        let certificate = [&before_key[..], identity.verifying_key().as_bytes(), b"!"].concat();
        let (lambda, queries, capacity) = (40, 100, 64);
        let columns = vec!["reason".to_owned(), "since".to_owned()];
        let mut head = Head {
            version: 1,
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

    fn values(&self, keys: &[u32]) -> Vec<Value> {
        let items: Vec<_> =
            keys.iter().map(|key| item(&digest_of(*key), self.key.public())).collect();
        self.key.evaluate(&items).unwrap().iter().map(Value::of).collect()
    }

    /// Publishes a change as the next part. Each key's label is one value, and one that is missing.
    fn change(&mut self, removed: &[u32], added: &[(u32, &str)]) {
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
            write_part(Cursor::new(Vec::new()), header, &out, (&tags, &labels)).unwrap();
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

    /// What a client that has the value of this key finds.
    fn look_up(&self, key: u32) -> Json {
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

    fn sign(&self, head: &Head) -> String {
        let message = signed::message(MEDIA_TYPE, &head.payload());
        head.sealed(&self.identity.sign(&message).to_bytes())
    }

    fn signed(&self) -> String {
        self.sign(&self.head)
    }

    /// The envelope of any payload.
    fn sealed(&self, payload: &str) -> String {
        let message = signed::message(MEDIA_TYPE, payload.as_bytes());
        let signature = self.identity.sign(&message).to_bytes();
        signed::seal(MEDIA_TYPE, payload.as_bytes(), &self.head.certificate(), &signature)
    }

    fn told(&self) -> Json {
        json!({
            "fingerprint": hex(&signed::certificate_hash(&self.head.certificate())[..20]),
            "versions": self.versions,
        })
    }
}

fn published(labels: bool) -> Publisher {
    let mut publisher = Publisher::new(1, labels);
    let all: Vec<_> = (0..20).map(|key| (2 * key, "fraud")).collect();
    publisher.change(&[], &all);
    publisher.change(&[0, 2], &[(1, "bot"), (3, "\u{e4}")]);
    // Removed and added in one part: another label. Removed before, and back.
    publisher.change(&[4, 1], &[(4, ""), (0, "again")]);
    publisher.change(&[0], &[]);
    publisher
}

fn heads_refused(publisher: &Publisher) -> Json {
    type Change = fn(&mut Head);
    let changes: [(&str, Change); 21] = [
        ("another version of the format", |head| head.version = 2),
        ("a control character in the name", |head| head.name.push('\u{85}')),
        ("a control character in a column", |head| {
            head.labels.as_mut().unwrap().columns[0].push('\n')
        }),
        ("another suite", |head| head.suite = "P256-SHA256".to_owned()),
        ("no keys", |head| head.keys.clear()),
        ("no parts", |head| head.parts.clear()),
        ("lambda too large", |head| head.lambda = 129),
        ("more items than it may have", |head| head.capacity = 10),
        ("too many queries", |head| head.queries = (1 << 32) + 1),
        ("a label without bytes", |head| head.labels.as_mut().unwrap().bytes = 0),
        ("labels that are too long", |head| head.labels.as_mut().unwrap().bytes = (1 << 16) - 7),
        ("tags that are too short", |head| head.tag_bits -= 1),
        ("tags that are too long", |head| head.tag_bits = 129),
        ("a part that is missing", |head| drop(head.parts.remove(1))),
        ("parts in another order", |head| head.parts.swap(1, 2)),
        ("a part without a header", |head| head.parts[0].bytes = 95),
        ("a part that is too long", |head| head.parts[0].bytes = 1 << 48),
        ("more removed than there is", |head| head.parts[1].removed = 21),
        ("a first part that removes", |head| head.parts[0].removed = 1),
        ("another number of items", |head| head.items += 1),
        ("another state", |head| head.state.0[31] ^= 1),
    ];
    let of = |what: &str, text: String| {
        let error = Head::read(&text).expect_err(what).to_string();
        json!({ "what": what, "head": text, "error": error })
    };
    let mut refused: Vec<_> = changes
        .into_iter()
        .map(|(what, change)| {
            let mut head = publisher.head.clone();
            change(&mut head);
            of(what, publisher.sign(&head))
        })
        .collect();
    let good = publisher.signed();
    let payload = String::from_utf8(publisher.head.payload()).unwrap();
    let stranger = SigningKey::from_bytes(&[9; 32]);
    let forged = stranger.sign(&signed::message(MEDIA_TYPE, payload.as_bytes())).to_bytes();
    let keyid = Hex(signed::certificate_hash(&publisher.head.certificate())).to_string();
    let two_keys = [publisher.head.certificate(), publisher.head.certificate()].concat();
    let mut twice = publisher.head.clone();
    twice.set_certificate(&two_keys);
    let texts = [
        ("another byte at the end", good.clone() + "\n"),
        ("no line feed at the end", good.trim_end().to_owned()),
        ("other white space", good.replacen("  ", "\t", 1)),
        ("another media type", good.replace("list+json", "list+text")),
        (
            "members in another order",
            good.replacen("\"payloadType\": ", "\"payload\": \"\", \"payloadType\": ", 1),
        ),
        ("another keyid", good.replace(&keyid, &Hex([7; 32]).to_string())),
        ("capital digits", good.replace(&keyid, &keyid.to_uppercase())),
        ("a signature of somebody else", publisher.head.sealed(&forged)),
        ("a certificate with two keys", publisher.sign(&twice)),
        ("a member that there is not", publisher.sealed(&payload.replacen('{', "{\"more\":1,", 1))),
        ("a member that is missing", publisher.sealed(&payload.replacen("\"lambda\":40,", "", 1))),
        (
            "a member twice",
            publisher.sealed(&payload.replacen(
                "\"lambda\":40,",
                "\"lambda\":40,\"lambda\":40,",
                1,
            )),
        ),
        (
            "a number that is not whole",
            publisher.sealed(&payload.replacen("\"lambda\":40,", "\"lambda\":40.5,", 1)),
        ),
        ("no object", publisher.sealed("[]")),
        ("no text", String::new()),
    ];
    refused.extend(texts.map(|(what, text)| of(what, text)));
    refused.into()
}

fn heads_unexpected(publisher: &Publisher) -> Json {
    let head = &publisher.head;
    let text = publisher.signed();
    let certificate = signed::certificate_hash(&head.certificate());
    let older = Head { parts: head.parts[..3].to_vec(), ..head.clone() };
    let mut older = Head { items: older.parts.iter().map(|p| p.added - p.removed).sum(), ..older };
    older.state = Hex(older.computed_state());
    older.log.entries -= 1;
    let twin = Head { public_key: Hex([3; 32]), ..head.clone() };
    let other_log = Head { log: LogEnd { digest: Hex([4; 32]), ..head.log }, ..head.clone() };
    let fewer =
        Head { log: LogEnd { entries: 3, ..head.log }, expires: head.expires + 1, ..head.clone() };
    let newer = {
        let mut newer = published(false);
        newer.change(&[], &[(50, "new")]);
        newer.head
    };
    let fork = {
        let mut fork = published(false);
        fork.change(&[], &[(52, "new")]);
        fork.head
    };
    let keys = head.keys.clone();
    let expected = Expectation {
        publisher: &certificate[..20],
        now: head.issued,
        keys: Some(&keys),
        budget: Some(head.file_bytes()),
        known: None,
    };
    let known = |known| Expectation { known: Some(known), ..expected.clone() };
    let phone = ["phone@1".to_owned()];
    let cases = [
        ("all as expected", text.clone(), expected.clone()),
        ("after an older version", text.clone(), known(&older)),
        ("the same again", text.clone(), known(head)),
        (
            "another publisher",
            text.clone(),
            Expectation { publisher: &[7; 20], ..expected.clone() },
        ),
        ("expired", text.clone(), Expectation { now: head.expires, ..expected.clone() }),
        (
            "keys that are normalised otherwise",
            text.clone(),
            Expectation { keys: Some(&phone), ..expected.clone() },
        ),
        (
            "too long",
            text.clone(),
            Expectation { budget: Some(head.file_bytes() - 1), ..expected.clone() },
        ),
        ("an older version", text.clone(), known(&newer)),
        ("fewer entries in the log", publisher.sign(&fewer), known(head)),
        ("another key in the same epoch", publisher.sign(&twin), known(&older)),
        ("another state of the same version", fork_text(publisher, &fork), known(&newer)),
        ("another log of the same length", publisher.sign(&other_log), known(head)),
    ];
    let told = cases.map(|(what, text, expected)| {
        let error = Head::accept(&text, &expected).err();
        assert_eq!(
            error.is_none(),
            ["all", "after", "the same"].iter().any(|w| what.starts_with(w)),
            "{what} {error:?}"
        );
        json!({
            "what": what,
            "head": text,
            "publisher": hex(expected.publisher),
            "now": expected.now,
            "keys": expected.keys,
            "budget": expected.budget,
            "known": expected.known.map(|known| publisher.sign(known)),
            "error": error.map(|error| error.to_string()),
        })
    });
    told.to_vec().into()
}

fn fork_text(publisher: &Publisher, fork: &Head) -> String {
    publisher.sign(fork)
}

fn logs_refused(publisher: &Publisher) -> Json {
    let text = &publisher.log;
    let now = (publisher.head.log, publisher.head.state);
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let foreign = LogEnd { entries: 2, digest: Hex([5; 32]) };
    let cases = [
        ("the first line is missing", lines[1..].concat(), None),
        ("the last line is missing", lines[..lines.len() - 1].concat(), None),
        ("two lines in another order", [lines[0], lines[2], lines[1], lines[3]].concat(), None),
        ("another time in a line", text.replacen(" 1800000001 ", " 1800000000 ", 1), None),
        ("no line feed at the end", text.trim_end().to_owned(), None),
        ("two spaces", text.replacen(' ', "  ", 1), None),
        ("a leading zero", text.replacen("1 1 ", "1 01 ", 1), None),
        ("nothing", String::new(), None),
        ("what was seen before is not in it", text.clone(), Some(foreign)),
    ];
    let told = cases.map(|(what, text, known)| {
        let error = log::check(&text, now, known.as_ref()).expect_err(what).to_string();
        let known = known.map(|LogEnd { entries, digest }| json!([entries, digest.to_string()]));
        json!({
            "what": what,
            "log": text,
            "head": publisher.signed(),
            "known": known,
            "error": error,
        })
    });
    told.to_vec().into()
}

fn parts_refused(publisher: &Publisher) -> Json {
    let head = &publisher.head;
    let good = &publisher.files[1];
    let (entry, previous) = (head.parts[1], {
        let first = Head { parts: head.parts[..1].to_vec(), ..head.clone() };
        first.computed_state()
    });
    let header = head.header(&entry, previous);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        bytes
    };
    // What the publisher itself signs: the content of other headers and tables.
    let made = |change: &dyn Fn(&mut Header), content: &dyn Fn(&mut Vec<u8>)| {
        let mut header = header;
        change(&mut header);
        let mut bytes = [&header.encode()[..], &good[32 + 96..]].concat();
        content(&mut bytes);
        [blake3::hash(&bytes).as_bytes(), &bytes[..]].concat()
    };
    let nothing = |_: &mut Vec<u8>| {};
    let same = |_: &mut Header| {};
    let downloads = [
        ("truncated", with(&|bytes| drop(bytes.pop()))),
        ("a byte too many", with(&|bytes| bytes.push(0))),
        ("empty", Vec::new()),
        ("another digest of a chunk", with(&|bytes| bytes[0] ^= 1)),
        ("another byte in the header", with(&|bytes| bytes[40] ^= 1)),
        ("another byte at the end", with(&|bytes| *bytes.last_mut().unwrap() ^= 1)),
    ];
    let downloads = downloads.map(|(what, file)| {
        let mut checker = Checker::new(&entry);
        let error = checker.push(&file).and_then(|()| checker.finish()).expect_err(what);
        told(what, &entry, &previous, &file, &error)
    });
    let contents = [
        ("other magic bytes", made(&same, &|bytes| bytes[11] = b'2')),
        ("another epoch", made(&|header| header.epoch = 2, &nothing)),
        ("another sequence", made(&|header| header.sequence += 1, &nothing)),
        ("more removed than the head says", made(&|header| header.removed += 1, &nothing)),
        ("other tags", made(&|header| header.tag_bits += 1, &nothing)),
        ("other labels", made(&|header| header.label += 1, &nothing)),
        ("it continues another state", made(&|header| header.previous[0] ^= 1, &nothing)),
        ("a number of tags in a segment", made(&same, &|bytes| bytes[96] += 1)),
        ("content that is too long", made(&same, &|bytes| bytes.push(0))),
        ("content that is too short", made(&same, &|bytes| drop(bytes.pop()))),
    ];
    let contents = contents.map(|(what, file)| {
        let bytes = file.len() as u64 - 32;
        let digest = Hex(part::digest(bytes, &file[..32]));
        let entry = Entry { bytes, digest, ..entry };
        let mut checker = Checker::new(&entry);
        checker.push(&file).and_then(|()| checker.finish()).unwrap();
        let expected = head.header(&entry, previous);
        let error = part::Part::open(file.clone(), &entry, &expected).err().expect(what);
        told(what, &entry, &previous, &file, &error)
    });
    let all = json!({ "head": publisher.signed(), "downloads": downloads, "contents": contents });
    return all;

    fn told(what: &str, entry: &Entry, previous: &[u8; 32], file: &[u8], error: &Error) -> Json {
        json!({
            "what": what,
            "entry": entry,
            "previous": hex(previous),
            "file": hex(file),
            "error": error.to_string(),
        })
    }
}

fn question(publisher: &Publisher, count: u32) -> Question {
    let items = (0..count).map(|key| item(&digest_of(key), publisher.key.public())).collect();
    let draws = &mut Draws::new(&format!("published/blinds/{count}"));
    Question::new(items, &publisher.head, draws).unwrap()
}

fn answer(publisher: &Publisher, question: &[u8]) -> vesica_list::Result<Vec<u8>> {
    exchange::answer(&publisher.key, question, &mut Draws::new("published/proof"))
}

fn asked(publisher: &Publisher, count: u32) -> Json {
    let question = question(publisher, count);
    let bytes = question.bytes();
    let answer = answer(publisher, &bytes).unwrap();
    assert!(question.finish(&answer).is_ok());
    let items: Vec<_> =
        (0..count).map(|key| item(&digest_of(key), publisher.key.public())).collect();
    let values = publisher.key.evaluate(&items).unwrap();
    json!({
        "seed": hex(epoch_seed(1)),
        "public_key": hex(publisher.key.public()),
        "digests": (0..count).map(|key| hex(digest_of(key))).collect::<Vec<_>>(),
        "blinds": format!("published/blinds/{count}"),
        "question": hex(&bytes),
        "proof": "published/proof",
        "answer": hex(&answer),
        "values": values.iter().map(|value| hex(value.as_bytes())).collect::<Vec<_>>(),
    })
}

fn questions_refused(publisher: &Publisher) -> Json {
    let good = question(publisher, 2).bytes();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        bytes
    };
    let cases = [
        ("no element", Vec::new()),
        ("half an element", with(&|bytes| bytes.truncate(48))),
        ("the identity", with(&|bytes| bytes[32..].fill(0))),
        ("no canonical encoding", with(&|bytes| bytes[31] |= 0x80)),
        ("a negative number", with(&|bytes| bytes[0] |= 1)),
    ];
    let told = cases.map(|(what, bytes)| {
        let error = answer(publisher, &bytes).expect_err(what).to_string();
        json!({ "what": what, "question": hex(bytes), "error": error })
    });
    told.to_vec().into()
}

fn answers_refused(publisher: &Publisher) -> Json {
    let good = answer(publisher, &question(publisher, 2).bytes()).unwrap();
    let other = Publisher::new(2, false);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        bytes
    };
    let cases = [
        ("a byte too few", with(&|bytes| drop(bytes.pop()))),
        ("an element too few", with(&|bytes| bytes.truncate(96))),
        ("an element too many", with(&|bytes| bytes.extend_from_within(64..96))),
        ("nothing", Vec::new()),
        ("under another key", answer(&other, &question(publisher, 2).bytes()).unwrap()),
        ("another challenge", with(&|bytes| bytes[0] ^= 1)),
        ("a challenge that is not reduced", with(&|bytes| bytes[31] |= 0xf0)),
        ("a response that is not reduced", with(&|bytes| bytes[63] |= 0xf0)),
        ("elements in another order", with(&|bytes| bytes[64..].rotate_left(32))),
        ("the identity", with(&|bytes| bytes[64..96].fill(0))),
        ("no element", with(&|bytes| bytes[64..96].fill(0xff))),
    ];
    let told = cases.map(|(what, bytes)| {
        let error = question(publisher, 2).finish(&bytes).err().expect(what).to_string();
        json!({ "what": what, "answer": hex(bytes), "error": error })
    });
    told.to_vec().into()
}
