//! A publisher and a client in memory: successful lookups, and the error for each refusal.

use std::{collections::BTreeMap, io::Cursor};

use ed25519_dalek::{Signer, SigningKey};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    Error, Fault,
    checker::Checker,
    exchange::{self, Question},
    head::{Expectation, Head, Labels, SUITE, VERSION, tag_bits},
    hex::Hex,
    label::{self, OVERHEAD, Place},
    log::{self, Line, LogEnd, LoggedState},
    lookup::List,
    part::{self, CHUNK, Entry, HEADER_BYTES, Hash, Header},
    signed,
    value::{Value, item},
    voprf::{self, ServerKey},
    writing::write_part,
};

/// Builds bytes that, like a certificate, contain a key.
fn certificate(key: &SigningKey) -> Vec<u8> {
    let before = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0];
    [b"certificate of ", &before[..], key.verifying_key().as_bytes(), b" and so on"].concat()
}

struct Publisher {
    identity: SigningKey,
    key: ServerKey,
    head: Head,
    log: String,
    files: Vec<Vec<u8>>,
    set: BTreeMap<u32, [u8; 4]>,
}

fn digest(key: u32) -> [u8; 32] {
    *blake3::hash(&key.to_le_bytes()).as_bytes()
}

impl Publisher {
    fn new(epoch: u64, labels: bool, lambda: u32) -> Self {
        let identity = SigningKey::from_bytes(&[5; 32]);
        let key = exchange::epoch_key(&[epoch as u8; 32], epoch).unwrap();
        let (queries, capacity) = (64, 1 << 16);
        let labels = labels.then(|| Labels { columns: vec!["why".to_owned()], bytes: 4 });
        let mut head = Head {
            version: VERSION,
            name: "test".to_owned(),
            publisher: String::new(),
            suite: SUITE.to_owned(),
            epoch,
            public_key: Hex(*key.public()),
            issued: 1000,
            expires: 2000,
            keys: vec!["email@1".to_owned()],
            null_values: Vec::new(),
            lambda,
            queries,
            capacity,
            tag_bits: tag_bits(lambda, queries, capacity),
            items: 0,
            labels,
            parts: Vec::new(),
            state: Hex::default(),
            log: LogEnd::default(),
        };
        head.set_certificate(&certificate(&identity));
        let (log, files, set) = (String::new(), Vec::new(), BTreeMap::new());
        Self { identity, key, head, log, files, set }
    }

    fn values(&self, keys: &[u32]) -> Vec<Value> {
        let items: Vec<_> = keys.iter().map(|key| item(&digest(*key), self.key.public())).collect();
        self.key.evaluate(&items).unwrap().iter().map(Value::of).collect()
    }

    /// Publishes a change as the next part.
    fn change(&mut self, removed: &[u32], added: &[(u32, [u8; 4])]) {
        let sequence = self.head.parts.len() as u64;
        let Head { epoch, tag_bits, .. } = self.head;
        let header = Header {
            epoch,
            sequence,
            removed: removed.len() as u64,
            added: added.len() as u64,
            tag_bits,
            label: self.head.sealed_label(),
            previous: self.head.computed_state(),
        };
        let tag = |value: &Value| value.tag(tag_bits);
        let mut out: Vec<u128> = self.values(removed).iter().map(tag).collect();
        out.sort_unstable();
        let keys: Vec<u32> = added.iter().map(|(key, _)| *key).collect();
        let values = self.values(&keys);
        let mut into: Vec<_> = values.iter().zip(added).collect();
        into.sort_unstable_by_key(|(value, _)| value.whole_tag());
        let mut labels = Vec::new();
        for (value, (_, label)) in into.iter().filter(|_| self.head.labels.is_some()) {
            let mut sealed = [&[0; OVERHEAD][..], label].concat();
            label::seal(&mut sealed, value.label_key(), Place { epoch, sequence });
            labels.extend(sealed);
        }
        let tags: Vec<_> = into.iter().map(|(value, _)| tag(value)).collect();
        let (file, entry) =
            write_part(Cursor::new(Vec::new()), header, &out, &tags, &labels).unwrap();
        self.files.push(file.into_inner());
        removed.iter().for_each(|key| assert!(self.set.remove(key).is_some()));
        self.set.extend(added.iter().copied());
        self.head.parts.push(entry);
        self.head.items = self.set.len() as u64;
        self.head.state = Hex(self.head.computed_state());
        let (line, end) = self.head.log.append(&self.head.line());
        self.log += &line;
        self.head.log = end;
    }

    fn sign(&self, head: &Head) -> String {
        let message = signed::message(crate::head::MEDIA_TYPE, &head.payload());
        head.sealed(&self.identity.sign(&message).to_bytes())
    }

    fn signed(&self) -> String {
        self.sign(&self.head)
    }

    /// Asks about keys, and returns the results.
    fn ask(&self, keys: &[u32]) -> Vec<Option<Option<Vec<u8>>>> {
        let mut rng = StdRng::seed_from_u64(9);
        let list = List::open(Head::read(&self.signed()).unwrap(), self.files.clone()).unwrap();
        let items = keys.iter().map(|key| item(&digest(*key), &list.head().public_key.0)).collect();
        let question = Question::new(items, list.head(), &mut rng).unwrap();
        let answer = exchange::answer(&self.key, &question.bytes(), &mut rng).unwrap();
        assert_eq!(answer.len(), question.answer_bytes());
        let values = question.finish(&answer).unwrap();
        let found = list.look_up(&values).unwrap();
        found.into_iter().map(|found| found.map(|found| found.label)).collect()
    }

    /// Compares the results with the oracle, a map.
    fn compare(&self, keys: &[u32]) {
        let labelled = self.head.labels.is_some();
        let expected: Vec<_> = keys
            .iter()
            .map(|key| self.set.get(key).map(|label| labelled.then(|| label.to_vec())))
            .collect();
        assert_eq!(self.ask(keys), expected);
    }
}

fn published(labels: bool) -> Publisher {
    let mut publisher = Publisher::new(1, labels, 40);
    let all: Vec<_> = (0..9000u32).map(|key| (2 * key, key.to_be_bytes())).collect();
    publisher.change(&[], &all);
    publisher.change(&[0, 2, 17_998], &[(1, *b"one!"), (17_999, *b"last")]);
    // Removed and added again, and then with another label.
    publisher.change(&[4, 1], &[(0, *b"back"), (4, *b"new!")]);
    publisher.change(&[0], &[]);
    publisher.change(&[], &[(2, *b"two!")]);
    publisher
}

#[test]
fn a_client_finds_what_a_map_has() {
    let keys: Vec<u32> = (0..24).chain(17_990..18_010).chain([2, 2]).collect();
    for labels in [false, true] {
        published(labels).compare(&keys);
    }
    let mut empty = Publisher::new(1, false, 40);
    empty.change(&[], &[]);
    empty.compare(&[1, 2, 3]);
}

/// With short tags, other items match as often as the bound says, and no item is missed.
#[test]
fn strangers_meet_tags_as_often_as_the_bound_allows() {
    let mut publisher = Publisher::new(1, false, 0);
    publisher.head.queries = 1;
    publisher.head.capacity = 1 << 24;
    // 32 bits limit the error to 2^-20 for one query against 2^12 items, so use only 12 bits of the same values.
    let values = publisher.values(&(0..512).collect::<Vec<_>>());
    let (set, strangers) = values.split_at(256);
    for queries in [1u64, 4, 16] {
        let bits = vesica_params::tag::bits(queries as usize, 256, 2);
        let tags: Vec<u128> = set.iter().map(|value| value.tag(bits)).collect();
        let met = |of: &[Value]| of.iter().any(|value| tags.contains(&value.tag(bits)));
        let batches: Vec<_> = strangers.chunks(queries as usize).collect();
        let wrong = batches.iter().filter(|batch| met(batch)).count() as f64;
        // The bound is a quarter. The limit leaves a margin for the deviation of a small number of batches.
        let most = batches.len() as f64 / 4.0;
        assert!(wrong <= most + 3.0 * most.sqrt(), "{queries} {wrong} {most}");
        assert!(wrong > 0.0, "{queries}: the tags are longer than necessary");
    }
}

fn refused(publisher: &Publisher, change: impl Fn(&mut Head)) -> Error {
    let mut head = publisher.head.clone();
    change(&mut head);
    Head::read(&publisher.sign(&head)).unwrap_err()
}

#[test]
fn heads_that_contradict_themselves_are_refused() {
    let publisher = published(true);
    assert_eq!(Head::read(&publisher.signed()).unwrap(), publisher.head);
    for change in [
        (|head: &mut Head| head.items += 1) as fn(&mut Head),
        |head: &mut Head| head.state.0[0] ^= 1,
        |head: &mut Head| head.capacity = 1,
        |head: &mut Head| head.parts.clear(),
        |head: &mut Head| head.keys.clear(),
        |head: &mut Head| head.suite = "P256-SHA256".to_owned(),
        |head: &mut Head| head.name = "\u{1b}[31m".to_owned(),
        |head: &mut Head| head.parts[0].bytes = 3,
        |head: &mut Head| head.parts[2].removed = 1 << 40,
        |head: &mut Head| head.parts[0].removed = 1,
        |head: &mut Head| head.labels.as_mut().unwrap().bytes = 0,
        |head: &mut Head| head.labels.as_mut().unwrap().bytes = u32::MAX,
    ] {
        let error = refused(&publisher, change);
        assert!(matches!(error, Error::NotAHead(_)), "{error}");
    }
    let bits = publisher.head.tag_bits;
    let error = refused(&publisher, |head| head.tag_bits -= 1);
    assert_eq!(error, Error::TagBits { found: bits - 1, needed: bits });
    let error = refused(&publisher, |head| head.parts.swap(2, 3));
    assert_eq!(error, Error::OutOfOrder { after: 1, found: 3 });
    let error =
        refused(&publisher, |head| head.parts = [&head.parts[..1], &head.parts[2..]].concat());
    assert_eq!(error, Error::OutOfOrder { after: 0, found: 2 });
    assert_eq!(refused(&publisher, |head| head.version = 1), Error::Version(1));
}

#[test]
fn no_byte_of_a_signed_head_can_change() {
    let publisher = published(false);
    let text = publisher.signed();
    for at in (0..text.len()).step_by(3) {
        let mut other = text.clone().into_bytes();
        other[at] ^= 1;
        let Ok(other) = String::from_utf8(other) else { continue };
        assert!(Head::read(&other).is_err(), "byte {at}");
    }
    let stranger = Publisher { identity: SigningKey::from_bytes(&[6; 32]), ..published(false) };
    assert_eq!(Head::read(&stranger.signed()).unwrap_err(), Error::Signature);
    assert!(Head::read(&(text.clone() + "\n")).is_err());
    assert!(Head::read("").is_err() && Head::read(&text[..text.len() / 2]).is_err());
}

#[test]
fn unexpected_heads_are_refused_with_their_error() {
    let mut publisher = published(false);
    let old = publisher.signed();
    let old_head = publisher.head.clone();
    publisher.change(&[], &[(40_001, *b"more")]);
    let (text, head) = (publisher.signed(), publisher.head.clone());
    let hash = signed::certificate_hash(&head.certificate());
    let keys = ["email@1".to_owned()];
    let expected = Expectation {
        publisher: &hash[..20],
        now: 1500,
        keys: Some(&keys),
        null_values: &[],
        budget: Some(head.file_bytes()),
        known: Some(&old_head),
    };
    assert_eq!(Head::accept(&text, &expected), Ok(head.clone()));
    let error = |expected: Expectation<'_>| Head::accept(&text, &expected).unwrap_err();
    assert_eq!(error(Expectation { publisher: &[7; 20], ..expected }), Error::Publisher);
    assert_eq!(error(Expectation { publisher: &hash[..4], ..expected }), Error::Publisher);
    assert_eq!(error(Expectation { now: 2600, ..expected }), Error::Expired(600));
    let phone = ["phone@1".to_owned()];
    let profile = Error::Profile { list: "email@1".to_owned(), asked: "phone@1".to_owned() };
    assert_eq!(error(Expectation { keys: Some(&phone), ..expected }), profile);
    let bytes = head.file_bytes();
    let too_large = Error::TooLarge { bytes, budget: bytes - 1 };
    assert_eq!(error(Expectation { budget: Some(bytes - 1), ..expected }), too_large);
    // An older version, and an older epoch.
    let replayed = Head::accept(&old, &Expectation { known: Some(&head), ..expected });
    let versions = Error::Replayed { epoch: 1, found: 4, known_epoch: 1, known: 5 };
    assert_eq!(replayed, Err(versions));
    let mut next = Publisher::new(2, false, 40);
    next.head.log = head.log;
    next.change(&[], &[(1, *b"new!")]);
    let known = Some(&next.head);
    let replayed = Head::accept(&text, &Expectation { known, ..expected }).unwrap_err();
    assert_eq!(replayed, Error::Replayed { epoch: 1, found: 5, known_epoch: 2, known: 0 });
    assert!(Head::accept(&next.signed(), &Expectation { known: Some(&head), ..expected }).is_ok());
    let nulls = ["n/a".to_owned()];
    let Err(Error::NullValues { list, here }) =
        Head::accept(&text, &Expectation { null_values: &nulls, ..expected })
    else {
        panic!("the publisher says what is empty")
    };
    assert_eq!((&list[..], &here[..]), ("[]", "[\"n/a\"]"));
}

/// A list grows by one version, and a client that accepted the earlier version receives various heads.
#[test]
fn a_returning_client_refuses_what_contradicts_what_it_saw() {
    let known = published(true);
    let next = |change: fn(&mut Publisher)| {
        let mut next = published(true);
        change(&mut next);
        next.change(&[], &[(40_001, *b"more")]);
        next.head
    };
    let honest = next(|_| ());
    // Changes the terms, then recomputes everything that depends on them, with an honest line.
    let with = |change: fn(&mut Head)| {
        let mut head = honest.clone();
        change(&mut head);
        head.state = Hex(head.computed_state());
        head.log = known.head.log.append(&head.line()).1;
        head
    };
    // Makes the same change to the head seen before, but keeps its line.
    let again = |change: fn(&mut Head)| {
        let mut head = known.head.clone();
        change(&mut head);
        head.state = Hex(head.computed_state());
        head
    };
    let new_epoch = |change: fn(&mut Head)| {
        let mut head = Publisher::new(2, true, 40).head;
        head.parts = vec![Entry { removed: 0, added: 5, ..known.head.parts[0] }];
        head.items = 5;
        head.state = Hex(head.computed_state());
        head.log = known.head.log.append(&head.line()).1;
        change(&mut head);
        head
    };
    let nulls = vec!["n/a".to_owned()];
    let allowed = Expectation {
        publisher: &signed::certificate_hash(&known.head.certificate())[..20],
        now: 1500,
        null_values: &nulls,
        known: Some(&known.head),
        ..Expectation::default()
    };
    let accept = |head: &Head| {
        let expected = Expectation { null_values: &head.null_values, ..allowed };
        Head::accept(&known.sign(head), &expected)
    };
    for (what, head) in [
        ("the next version", honest.clone()),
        ("the same again", known.head.clone()),
        ("the same, renewed", Head { issued: 1400, expires: 2400, ..known.head.clone() }),
        ("the next epoch", new_epoch(|_| ())),
    ] {
        assert_eq!(accept(&head).as_ref(), Ok(&head), "{what}");
        let is_due = head.unread_log(Some(&known.head)).is_some();
        assert_eq!(is_due, head.state != known.head.state, "{what}");
    }
    assert!(known.head.unread_log(None).is_some());
    let shorter = LogEnd { entries: 4, ..known.head.log };
    let other_end = LogEnd { digest: Hex([4; 32]), ..known.head.log };
    let longer = LogEnd { entries: 6, ..known.head.log };
    for (what, head) in [
        ("a new version under an old line", Head { log: known.head.log, ..honest.clone() }),
        (
            "a new version under another line of that number",
            Head { log: other_end, ..honest.clone() },
        ),
        ("a new epoch under an old line", new_epoch(|head| head.log.entries -= 1)),
        ("the same state under another line", Head { log: other_end, ..known.head.clone() }),
        ("the same state under a further line", Head { log: longer, ..known.head.clone() }),
        ("another state of the same version", again(|head| head.parts[4].digest.0[0] ^= 1)),
        ("the same version of another key", again(|head| head.public_key.0[0] ^= 1)),
        ("the same version with null values", again(|head| head.null_values = vec!["a@b".into()])),
        ("the next version of another key", with(|head| head.public_key.0[0] ^= 1)),
        ("another normalisation", with(|head| head.keys = vec!["phone@1".into()])),
        ("other null values", with(|head| head.null_values = vec!["ann@example.org".into()])),
        ("another lambda", with(|head| head.lambda -= 1)),
        ("other queries", with(|head| head.queries -= 1)),
        ("another capacity", with(|head| head.capacity -= 1)),
        ("longer tags", with(|head| head.tag_bits += 1)),
        (
            "other columns of labels",
            with(|head| head.labels.as_mut().unwrap().columns = vec!["because".into()]),
        ),
        ("longer labels", with(|head| head.labels.as_mut().unwrap().bytes += 1)),
        ("no labels", with(|head| head.labels = None)),
    ] {
        let refused = accept(&head);
        assert!(matches!(refused, Err(Error::Forked { .. })), "{what}: {refused:?}");
    }
    let shorter = accept(&Head { log: shorter, ..honest });
    assert!(matches!(shorter, Err(Error::Replayed { .. })), "{shorter:?}");
    // A changed key with an unchanged state contradicts itself.
    let torn = Head { public_key: Hex([3; 32]), ..known.head.clone() };
    assert!(matches!(accept(&torn), Err(Error::NotAHead(_))));
}

#[test]
fn the_log_cannot_lose_a_line() {
    let publisher = published(false);
    let text = &publisher.log;
    let head = publisher.head.logged();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(log::check(text, head, None), Ok(()));
    let mut end = LogEnd::default();
    let mut rng = StdRng::seed_from_u64(4);
    for state in [[1; 32], [2; 32]] {
        let line = Line { epoch: 1, sequence: rng.random(), issued: 7, state: Hex(state) };
        end = end.append(&line).1;
    }
    assert!(matches!(log::check(text, head, Some(&end)), Err(Error::Log(_))));
    // The publisher writes a version into the log twice, or after a later one, with lines that follow each other.
    for repeated in [(1, 4), (1, 2), (0, 9)] {
        let (epoch, sequence) = repeated;
        let state = Hex([7; 32]);
        let (line, end) = head.end.append(&Line { epoch, sequence, issued: 1000, state });
        let refused = log::check(&(text.clone() + &line), LoggedState { end, state }, None);
        assert!(matches!(refused, Err(Error::Log(_))), "{repeated:?}");
    }
    for wrong in [
        lines[1..].concat(),
        lines[..4].concat(),
        [lines[0], lines[2], lines[1], lines[3], lines[4]].concat(),
        text.replacen(" 1000 ", " 1001 ", 1),
        text.trim_end().to_owned(),
        String::new(),
        text.replace(' ', "  "),
        text.replacen(' ', &" ".repeat(1 << 20), 1),
        text.clone() + "6 1",
    ] {
        assert!(matches!(log::check(&wrong, head, None), Err(Error::Log(_))), "{wrong}");
    }
    let mut later = published(false);
    let older = later.head.log;
    assert_eq!(log::check(text, head, Some(&older)), Ok(()));
    // The log may continue while another head is being published, but it may not get shorter.
    later.change(&[], &[(77_777, *b"more")]);
    assert_eq!(log::check(&later.log, head, Some(&older)), Ok(()));
    let newest = later.head.logged();
    assert_eq!(log::check(&later.log, newest, Some(&older)), Ok(()));
    assert!(matches!(log::check(&later.log, head, Some(&newest.end)), Err(Error::Log(_))));
    assert!(matches!(log::check(text, newest, None), Err(Error::Log(_))));
}

fn check((entry, header): &(Entry, Header), file: &[u8], step: usize) -> crate::Result<u64> {
    let mut checker = Checker::new(entry, header);
    for bytes in file.chunks(step) {
        checker.push(bytes)?;
    }
    let verified = checker.verified();
    checker.finish().map(|()| verified)
}

#[test]
fn a_part_is_checked_as_it_comes() {
    let mut publisher = Publisher::new(1, true, 40);
    let all: Vec<_> = (0..70_000u32).map(|key| (key, key.to_be_bytes())).collect();
    publisher.head.capacity = 1 << 18;
    publisher.head.tag_bits = tag_bits(40, 64, 1 << 18);
    publisher.change(&[], &all);
    let part = publisher.head.headers().next().map(|(entry, header)| (*entry, header)).unwrap();
    let (entry, file) = (part.0, &publisher.files[0]);
    assert!(entry.bytes > CHUNK);
    for step in [1 << 22, 1000, 7] {
        assert_eq!(check(&part, file, step), Ok(file.len() as u64));
    }
    let fault = |fault| Error::Part { sequence: 0, fault };
    let truncated = &file[..file.len() - 1];
    assert_eq!(check(&part, truncated, 1000), Err(fault(Fault::Length)));
    assert_eq!(check(&part, &[], 1000), Err(fault(Fault::Length)));
    let long = [&file[..], &[0]].concat();
    assert_eq!(check(&part, &long, 1000), Err(fault(Fault::Length)));
    for at in [0, 31, 100, file.len() / 2, file.len() - 1] {
        let mut forged = file.clone();
        forged[at] ^= 0x80;
        assert_eq!(check(&part, &forged, 1000), Err(fault(Fault::Digest)), "byte {at}");
    }
    // A download resumes here after an interruption.
    let mut checker = Checker::new(&entry, &part.1);
    checker.push(&file[..10]).unwrap();
    assert_eq!(checker.verified(), 0);
    checker.push(&file[10..CHUNK as usize + 500]).unwrap();
    let front = file.len() as u64 - entry.bytes;
    assert_eq!(checker.verified(), front + CHUNK);
    publisher.compare(&[0, 1, 69_999, 70_000, u32::MAX]);
}

/// Builds a file with this content, and the entry that its publisher signs.
fn signed_content(content: &[u8], entry: &Entry) -> (Entry, Vec<u8>) {
    let digests: Vec<u8> =
        content.chunks(CHUNK as usize).flat_map(|chunk| *blake3::hash(chunk).as_bytes()).collect();
    let digest: Hash = part::digest(content.len() as u64, &digests);
    let entry = Entry { bytes: content.len() as u64, digest: Hex(digest), ..*entry };
    (entry, [&digests, content].concat())
}

/// A publisher may sign a malformed segment. Every client that fetches the part refuses it before any lookup.
#[test]
fn a_part_is_refused_for_any_segment_that_cannot_be_read() {
    let publisher = published(true);
    let (entry, header) = publisher.head.headers().next().unwrap();
    let file = &publisher.files[0];
    let content = file[32 * part::chunks(entry.bytes) as usize..].to_vec();
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut content = content.clone();
        change(&mut content);
        let (entry, file) = signed_content(&content, entry);
        let ends = [1 << 22, 997].map(|step| check(&(entry, header), &file, step));
        assert_eq!(ends[0], ends[1]);
        ends[0].clone()
    };
    assert_eq!(refused(&|_| ()), Ok(file.len() as u64));
    let malformed = Err(Error::Part { sequence: 0, fault: Fault::Malformed });
    // The table of removed tags has one segment, and the table of 9,000 added tags has four.
    let [empty, added] = header.shapes().unwrap();
    let empty_bytes = empty.directory_bytes() as usize + empty.encode_segment(&[], &[]).len();
    let removed = HEADER_BYTES + empty_bytes;
    let counts = removed..removed + added.directory_bytes() as usize;
    let mut at = counts.end;
    for segment in 0..added.segments() {
        let count =
            u32::from_le_bytes(content[counts.start + 4 * segment..][..4].try_into().unwrap());
        // Ones at the beginning of the unary field encode more tags than the segment has.
        assert_eq!(refused(&|content| content[at..at + 8].fill(0xff)), malformed, "{segment}");
        let one = added.encode_segment(&vec![0; count as usize], &[]).len();
        at += one + count as usize * header.label as usize;
    }
    assert_eq!(at, content.len());
    assert_eq!(refused(&|content| content[HEADER_BYTES] = 1), malformed);
    assert_eq!(refused(&|content| content[counts.start] ^= 1), malformed);
    assert_eq!(refused(&|content| content.truncate(content.len() - 1)), malformed);
    assert_eq!(refused(&|content| content.push(0)), malformed);
    assert_eq!(refused(&|content| content.truncate(50)), malformed);
    assert!(matches!(refused(&|content| content[64] ^= 1), Err(Error::OutOfOrder { .. })));
    // Labels look random to clients that have not asked for their items.
    assert_eq!(refused(&|content| *content.last_mut().unwrap() ^= 1), Ok(file.len() as u64));
}

#[test]
fn parts_that_do_not_fit_the_head_are_refused() {
    let publisher = published(true);
    let (head, files) = (&publisher.head, &publisher.files);
    let open = |files: Vec<Vec<u8>>| List::open(head.clone(), files).err();
    assert_eq!(open(files.clone()), None);
    let mut swapped = files.clone();
    swapped[1] = files[2].clone();
    assert!(open(swapped).is_some());
    // The publisher signs parts in the wrong order.
    let other = Head { parts: head.parts[..2].to_vec(), ..head.clone() };
    let wrong = vec![files[0].clone(), files[2].clone()];
    let mut wrong_head = other.clone();
    wrong_head.parts[1] = Entry { sequence: 1, ..head.parts[2] };
    let error = List::open(wrong_head, wrong).err();
    assert_eq!(error, Some(Error::OutOfOrder { after: 0, found: 2 }));
    let truncated = vec![files[0][..50].to_vec()];
    assert!(matches!(open(truncated), Some(Error::Read(_))));
}

#[test]
fn answers_under_another_key_are_refused() {
    let (publisher, other) = (published(false), Publisher::new(2, false, 40));
    let mut rng = StdRng::seed_from_u64(3);
    let question = || {
        let items = vec![item(&digest(2), &publisher.head.public_key.0); 3];
        Question::new(items, &publisher.head, &mut StdRng::seed_from_u64(1)).unwrap()
    };
    let bytes = question().bytes();
    assert_eq!(bytes.len(), 96);
    let right = exchange::answer(&publisher.key, &bytes, &mut rng).unwrap();
    assert!(question().finish(&right).is_ok());
    let wrong = exchange::answer(&other.key, &bytes, &mut rng).unwrap();
    assert_eq!(question().finish(&wrong).err(), Some(voprf::Error::Proof.into()));
    for short in [&right[..right.len() - 1], &right[..32], &[]] {
        assert_eq!(question().finish(short).err(), Some(voprf::Error::Count.into()));
    }
    for wrong in [&bytes[..95], &[][..], &vec![0; 32 * (exchange::MAX_QUESTION + 1)]] {
        let error = exchange::answer(&publisher.key, wrong, &mut rng).err();
        assert_eq!(error, Some(voprf::Error::Count.into()));
    }
}
