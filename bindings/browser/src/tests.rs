//! The calls of a page, in order, against a publisher in memory.

use std::io::Cursor;

use ed25519_dalek::{Signer, SigningKey};
use rand::{SeedableRng, rngs::StdRng};
use serde_json::{Value as Json, json};
use vesica_list::{
    exchange,
    head::{self, Head, Labels, SUITE, VERSION, tag_bits},
    hex::Hex,
    label::{self, OVERHEAD, Place},
    log::LogEnd,
    signed,
    value::{Value, item},
    voprf::ServerKey,
    writing::write_part,
};
use vesica_normalize::{encoding::digest_of, normalize::Normalize, null_values::NullValues};
use vesica_primitives::fingerprint::Fingerprint;

use crate::{AcceptedHead, ListCopy, PartChecker, Question, Refusal};

/// Bytes of a label.
const LABEL: u32 = 8;

struct Publisher {
    identity: SigningKey,
    key: ServerKey,
    head: Head,
    log: String,
    files: Vec<Vec<u8>>,
    /// Whether new labels are unreadable.
    spoils_labels: bool,
}

impl Publisher {
    fn new(keys: &[&str]) -> Self {
        let identity = SigningKey::from_bytes(&[5; 32]);
        let key = exchange::epoch_key(&[1; 32], 1).unwrap();
        let (lambda, queries, capacity) = (40, 64, 1 << 16);
        let mut head = Head {
            version: VERSION,
            name: "test".to_owned(),
            publisher: String::new(),
            suite: SUITE.to_owned(),
            epoch: 1,
            public_key: Hex(*key.public()),
            issued: 1000,
            expires: 2000,
            keys: keys.iter().map(|key| key.parse::<Normalize>().unwrap().agreed()).collect(),
            null_values: NullValues::default().values().to_vec(),
            lambda,
            queries,
            capacity,
            tag_bits: tag_bits(lambda, queries, capacity),
            items: 0,
            labels: Some(Labels { columns: vec!["why".to_owned()], bytes: LABEL }),
            parts: Vec::new(),
            state: Hex::default(),
            log: LogEnd::default(),
        };
        let before = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0];
        let public = identity.verifying_key();
        let certificate = [b"certificate ", &before[..], public.as_bytes()].concat();
        head.set_certificate(&certificate);
        Self { identity, key, head, log: String::new(), files: Vec::new(), spoils_labels: false }
    }

    fn fingerprint(&self) -> String {
        Fingerprint::of(&self.head.certificate()).to_string()
    }

    /// Returns the values of keys with one column.
    fn values(&self, keys: &[String], profile: &str) -> Vec<Value> {
        let profile: Normalize = profile.parse().unwrap();
        let items = keys.iter().map(|key| {
            let digest = digest_of([(key.as_str(), &profile)].into_iter(), &NullValues::none());
            item(digest.unwrap().as_bytes(), self.key.public())
        });
        self.key.evaluate(&items.collect::<Vec<_>>()).unwrap().iter().map(Value::of).collect()
    }

    /// Publishes a change. The label of a key is its first three letters.
    fn change(&mut self, removed: &[String], added: &[String], profile: &str) {
        let place = Place { epoch: 1, sequence: self.head.parts.len() as u64 };
        let header = vesica_list::part::Header {
            epoch: 1,
            sequence: place.sequence,
            removed: removed.len() as u64,
            added: added.len() as u64,
            tag_bits: self.head.tag_bits,
            label: self.head.sealed_label(),
            previous: self.head.computed_state(),
        };
        let tag = |value: &Value| value.tag(self.head.tag_bits);
        let mut out: Vec<u128> = self.values(removed, profile).iter().map(tag).collect();
        out.sort_unstable();
        let values = self.values(added, profile);
        let mut into: Vec<_> = values.iter().zip(added).collect();
        into.sort_unstable_by_key(|(value, _)| value.whole_tag());
        let mut labels = Vec::new();
        for (value, key) in &into {
            let mut sealed = vec![0; OVERHEAD + LABEL as usize];
            sealed[OVERHEAD..OVERHEAD + 5]
                .copy_from_slice(&[&[5, 0], &key.as_bytes()[..3]].concat());
            if self.spoils_labels {
                sealed[OVERHEAD] = 0xff;
            }
            label::seal(&mut sealed, value.label_key(), place);
            labels.extend(sealed);
        }
        let tags: Vec<_> = into.iter().map(|(value, _)| tag(value)).collect();
        let (file, entry) =
            write_part(Cursor::new(Vec::new()), header, &out, &tags, &labels).unwrap();
        self.files.push(file.into_inner());
        self.head.parts.push(entry);
        self.head.items += added.len() as u64;
        self.head.items -= removed.len() as u64;
        self.head.state = Hex(self.head.computed_state());
        let (line, end) = self.head.log.append(&self.head.line());
        self.log += &line;
        self.head.log = end;
    }

    fn text(&self) -> String {
        let message = signed::message(head::MEDIA_TYPE, &self.head.payload());
        self.head.sealed(&self.identity.sign(&message).to_bytes())
    }

    fn accepted(&self, keys: &[&str], known: Option<String>) -> Result<AcceptedHead, Refusal> {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        AcceptedHead::accept(&self.text(), &self.fingerprint(), 1500.0, keys, None, 1e9, known)
    }

    /// Opens a copy like a page, which provides only the requested bytes.
    fn copy(&self, keys: &[&str]) -> ListCopy {
        let mut copy = ListCopy::new(&self.accepted(keys, None).unwrap());
        loop {
            let wanted = copy.open().unwrap();
            if wanted.is_empty() {
                return copy;
            }
            self.provide(&mut copy, &wanted);
        }
    }

    fn provide(&self, copy: &mut ListCopy, wanted: &[f64]) {
        for wanted in wanted.chunks(3) {
            let (part, range) = (wanted[0] as usize, wanted[1] as usize..wanted[2] as usize);
            copy.provide(part, wanted[1], self.files[part][range].to_vec()).unwrap();
        }
    }

    fn ask(&self, copy: &mut ListCopy, keys: &[&str]) -> Result<Json, Refusal> {
        let count = keys.len() / self.head.keys.len();
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let mut question = Question::new(copy, keys)?;
        let mut rng = StdRng::seed_from_u64(1);
        // One element for each key, valid or not.
        assert_eq!(question.bytes().len(), 32 * count);
        let answer = exchange::answer(&self.key, &question.bytes(), &mut rng).unwrap();
        assert_eq!(answer.len(), question.answer_bytes());
        let values = question.finish(&answer)?;
        let wanted = copy.wanted(&values)?;
        self.provide(copy, &wanted);
        Ok(serde_json::from_str(&copy.look_up(&values)?).unwrap())
    }
}

fn keys(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|number| format!("{number:03}@a.example")).collect()
}

fn published() -> Publisher {
    let mut publisher = Publisher::new(&["email"]);
    publisher.change(&[], &keys(0..9000), "email");
    publisher.change(&keys(0..3), &keys(9000..9010), "email");
    publisher
}

#[test]
fn a_page_finds_what_is_in_the_list_and_reads_no_more_than_it_wants() {
    let publisher = published();
    let mut copy = publisher.copy(&[]);
    let asked =
        [" 003@A.EXAMPLE", "000@a.example", "9009@a.example", "nobody", "n/a", "x@a.example"];
    let found = publisher.ask(&mut copy, &asked).unwrap();
    let answer = |valid: bool, label: Option<&str>| {
        let labels = label.map(|label| json!([label]));
        json!({ "valid": valid, "member": labels.is_some(), "labels": labels })
    };
    let expected = [
        answer(true, Some("003")),
        answer(true, None),
        answer(true, Some("900")),
        answer(false, None),
        answer(false, None),
        answer(true, None),
    ];
    assert_eq!(found, json!(expected));
    assert_eq!(publisher.ask(&mut copy, &["nobody"]).unwrap(), json!([answer(false, None)]));
    // Bytes provided for one question are not available for the next.
    let mut question = Question::new(&copy, vec!["003@a.example".to_owned()]).unwrap();
    let mut rng = StdRng::seed_from_u64(2);
    let answer = exchange::answer(&publisher.key, &question.bytes(), &mut rng).unwrap();
    let values = question.finish(&answer).unwrap();
    assert_eq!(copy.look_up(&values).unwrap_err().code(), "storage");
}

#[test]
fn telephone_numbers_are_read_as_the_caller_writes_them() {
    let mut publisher = Publisher::new(&["phone"]);
    publisher.change(&[], &["+442079460000".to_owned()], "phone");
    let is_in = |copy: &mut ListCopy| {
        let found = publisher.ask(copy, &["020 7946 0000", "+44 20 7946 0000"]).unwrap();
        [found[0]["member"].clone(), found[1]["member"].clone()]
    };
    assert_eq!(is_in(&mut publisher.copy(&[])), [json!(false), json!(true)]);
    assert_eq!(is_in(&mut publisher.copy(&["phone:GB"])), [json!(true), json!(true)]);
}

#[test]
fn parts_are_checked_as_they_come() {
    let publisher = published();
    let head = publisher.accepted(&[], None).unwrap();
    let file = &publisher.files[0];
    let mut checker = PartChecker::new(&head, 0).unwrap();
    let mut right = 0.0;
    for piece in file.chunks(10_000) {
        right = checker.push(piece).unwrap();
    }
    assert_eq!(right, file.len() as f64);
    checker.finish().unwrap();
    assert_eq!(checker.finish().unwrap_err().code(), "misuse");
    let mut checker = PartChecker::new(&head, 0).unwrap();
    checker.push(&file[..file.len() - 1]).unwrap();
    assert_eq!(checker.finish().unwrap_err().code(), "truncated");
    let mut checker = PartChecker::new(&head, 0).unwrap();
    assert_eq!(checker.push(&[0; 100]).unwrap_err().code(), "forged");
    assert_eq!(PartChecker::new(&head, 2).err().unwrap().code(), "misuse");
}

#[test]
fn heads_and_logs_are_refused_by_name() {
    let mut publisher = published();
    let old = publisher.text();
    let head = publisher.accepted(&[], None).unwrap();
    assert!(head.unread_log(Some(old.clone())).unwrap().is_none());
    let check = |log: &str| {
        let mut checker = head.unread_log(None).unwrap().expect("nothing was accepted before");
        log.as_bytes().chunks(7).try_for_each(|piece| checker.push(piece))?;
        checker.finish()
    };
    check(&publisher.log).unwrap();
    assert_eq!(check("").unwrap_err().code(), "log-changed");
    assert_eq!(check(&publisher.log.replacen(' ', "  ", 1)).unwrap_err().code(), "log-changed");
    let facts: Json = serde_json::from_str(&head.facts()).unwrap();
    assert_eq!((&facts["items"], &facts["version"]), (&json!(9007), &json!(1)));
    assert_eq!(facts["parts"][1]["bytes"], json!(publisher.files[1].len()));

    publisher.change(&[], &keys(9010..9011), "email");
    let new = publisher.text();
    let code = |text: &str, publisher: &str, now, budget, known: Option<&str>| {
        let known = known.map(str::to_owned);
        let accepted = AcceptedHead::accept(text, publisher, now, Vec::new(), None, budget, known);
        accepted.err().map(|refused| refused.code()).unwrap_or_default()
    };
    let known = publisher.fingerprint();
    let other = Fingerprint::of(b"another").to_string();
    assert_eq!(code(&new, &known, 1500.0, 1e9, Some(&old)), "");
    assert_eq!(code(&old, &known, 1500.0, 1e9, Some(&new)), "rolled-back");
    assert_eq!(code(&new, &other, 1500.0, 1e9, None), "other-publisher");
    assert_eq!(code(&new, &known[..20], 1500.0, 1e9, None), "fingerprint");
    assert_eq!(code(&new, &known, 2000.0, 1e9, None), "expired");
    assert_eq!(code(&new, &known, 1500.0, 1e3, None), "too-large");
    assert_eq!(code("", &known, 1500.0, 1e9, None), "not-a-list");
    let nulls = |values: Option<&[&str]>| {
        let values = values.map(|values| values.iter().map(|value| (*value).to_owned()).collect());
        let accepted = AcceptedHead::accept(&new, &known, 1500.0, Vec::new(), values, 1e9, None);
        accepted.err().map(|refused| refused.code()).unwrap_or_default()
    };
    assert_eq!(nulls(Some(&[])), "other-null-values");
    assert_eq!(nulls(Some(&["a\u{1b}"])), "null-values");
    // The publisher signs a new state under the log line that the page has seen.
    let log = Head::read(&old).unwrap().log;
    let unlogged = Publisher { head: Head { log, ..publisher.head.clone() }, ..published() };
    assert_eq!(code(&unlogged.text(), &known, 1500.0, 1e9, Some(&old)), "forked");
    let code = |keys: &[&str]| publisher.accepted(keys, None).err().unwrap().code();
    assert_eq!(code(&["phone"]), "other-keys");
    assert_eq!(code(&["smoke"]), "unknown-keys");
    let mut newer =
        Publisher { head: Head { keys: vec!["email@9".into()], ..publisher.head }, ..publisher };
    newer.head.state = Hex(newer.head.computed_state());
    assert_eq!(newer.accepted(&[], None).err().unwrap().code(), "unknown-keys");
}

#[test]
fn questions_and_answers_are_refused_by_name() {
    let mut publisher = Publisher::new(&["email", "email"]);
    publisher.change(&[], &[], "email");
    let mut copy = publisher.copy(&[]);
    assert_eq!(publisher.ask(&mut copy, &["a@b.example"]).unwrap_err().code(), "columns");
    let pair = ["a@b.example", "c@d.example"];
    assert_eq!(publisher.ask(&mut copy, &pair).unwrap()[0]["member"], json!(false));
    publisher.key = exchange::epoch_key(&[2; 32], 1).unwrap();
    assert_eq!(publisher.ask(&mut copy, &pair).unwrap_err().code(), "wrong-key");
    let mut question = Question::new(&copy, pair.map(str::to_owned).to_vec()).unwrap();
    assert_eq!(question.finish(&[0; 95]).err().unwrap().code(), "malformed-answer");
    assert_eq!(Question::new(&copy, Vec::new()).err().unwrap().code(), "malformed-answer");
}

/// A publisher seals an unreadable label for a key that it suspects. The page shows no label, and continues.
#[test]
fn a_label_that_cannot_be_read_is_a_missing_one() {
    let mut publisher = published();
    publisher.spoils_labels = true;
    publisher.change(&[], &keys(9010..9012), "email");
    let mut copy = publisher.copy(&[]);
    let found = publisher.ask(&mut copy, &["9010@a.example", "003@a.example"]).unwrap();
    let [spoilt, other] = [&found[0], &found[1]];
    assert_eq!(spoilt, &json!({ "valid": true, "member": true, "labels": null }));
    assert_eq!(other, &json!({ "valid": true, "member": true, "labels": ["003"] }));
}
