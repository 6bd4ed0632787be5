//! Invalid data that must be refused: tables, heads, logs, parts, questions and answers.

use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value as Json, json};
use vesica_list::{
    Error, Fault,
    checker::Checker,
    head::{Expectation, Head, MEDIA_TYPE},
    hex::Hex,
    log::{self, Line, LogEnd},
    part::{self, Entry, HEADER_BYTES, Header},
    signed,
    table::{Directory, Shape},
};
use vesica_testkit::vectors::hex;

use super::publisher::{Publisher, answer, drawn_tags, published, question, table_of};

pub fn tables_refused() -> Json {
    let good = table_of(&drawn_tags(3, 44), 44);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        bytes
    };
    let refused = |(what, bytes): (&str, Vec<u8>)| {
        let shape = Shape::new(3, 44, 0).unwrap();
        let read = || {
            let front = bytes.get(..4).ok_or(Fault::Malformed)?;
            let directory = Directory::decode(shape, front)?;
            directory.decode_segment(0, &bytes[4..]).map(drop)
        };
        read().expect_err(what);
        json!({ "what": what, "n": 3, "t": 44, "table": hex(bytes) })
    };
    [
        ("a number too many", with(&|bytes| bytes[0] = 4)),
        ("a number too few", with(&|bytes| bytes[0] = 2)),
        ("a byte too few", with(&|bytes| bytes.truncate(bytes.len() - 1))),
        ("a byte too many", with(&|bytes| bytes.push(0))),
        ("no numbers", Vec::new()),
        ("a bit of padding", with(&|bytes| *bytes.last_mut().unwrap() |= 0x80)),
        ("no tags", with(&|bytes| bytes[4..12].fill(0))),
    ]
    .map(refused)
    .to_vec()
    .into()
}

pub fn heads_refused(publisher: &Publisher) -> Json {
    type Change = fn(&mut Head);
    let changes: [(&str, Change); 25] = [
        ("another version of the format", |head| head.version = 1),
        ("a control character in the name", |head| head.name.push('\u{85}')),
        ("a format character in the name", |head| head.name.push('\u{202e}')),
        ("a separator of lines in the name", |head| head.name.push('\u{2028}')),
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
        ("labels that are too long", |head| head.labels.as_mut().unwrap().bytes = (1 << 16) - 15),
        ("tags that are too short", |head| head.tag_bits -= 1),
        ("tags that are too long", |head| head.tag_bits = 129),
        ("a part that is missing", |head| {
            head.parts.remove(1);
        }),
        ("parts in another order", |head| head.parts.swap(1, 2)),
        ("a part without a header", |head| head.parts[0].bytes = 95),
        ("a part that is too long", |head| head.parts[0].bytes = 1 << 48),
        ("more removed than there is", |head| head.parts[1].removed = 21),
        ("a first part that removes", |head| head.parts[0].removed = 1),
        ("another number of items", |head| head.items += 1),
        ("another state", |head| head.state.0[31] ^= 1),
        ("another key than that of its state", |head| head.public_key.0[31] ^= 1),
        ("other null values than those of its state", |head| head.null_values.clear()),
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

pub fn heads_unexpected(publisher: &Publisher) -> Json {
    let head = &publisher.head;
    let text = publisher.signed();
    let certificate = signed::certificate_hash(&head.certificate());
    let older = Head { parts: head.parts[..3].to_vec(), ..head.clone() };
    let mut older = Head { items: older.parts.iter().map(|p| p.added - p.removed).sum(), ..older };
    older.state = Hex(older.computed_state());
    older.log = LogEnd::default();
    // Returns the head after a change, as its publisher would sign it.
    let changed = |head: &Head, log: LogEnd, change: fn(&mut Head)| {
        let mut head = Head { log, ..head.clone() };
        change(&mut head);
        head.state = Hex(head.computed_state());
        head
    };
    let no_change: fn(&mut Head) = |_| ();
    let other_key: fn(&mut Head) = |head| head.public_key = Hex([3; 32]);
    let other_nulls: fn(&mut Head) = |head| head.null_values = vec!["ann@example.org".to_owned()];
    let other_digest = LogEnd { digest: Hex([6; 32]), ..head.log };
    let further = LogEnd { entries: 5, ..other_digest };
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
        null_values: &head.null_values,
        budget: Some(head.file_bytes()),
        known: None,
    };
    let known = |known| Expectation { known: Some(known), ..expected.clone() };
    let phone = ["phone@1".to_owned()];
    let ann = ["ann@example.org".to_owned()];
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
        (
            "a new state under an old line",
            publisher.sign(&changed(&newer, head.log, no_change)),
            known(head),
        ),
        (
            "a new state under another line of its number",
            publisher.sign(&changed(&newer, other_digest, no_change)),
            known(head),
        ),
        (
            "a further line for one state",
            publisher.sign(&changed(head, further, no_change)),
            known(head),
        ),
        (
            "another key under one line",
            publisher.sign(&changed(head, head.log, other_key)),
            known(head),
        ),
        (
            "another key of a later version",
            publisher.sign(&changed(&newer, further, other_key)),
            known(head),
        ),
        (
            "other null values of a later version",
            publisher.sign(&changed(&newer, further, other_nulls)),
            Expectation { null_values: &ann, ..known(head) },
        ),
        (
            "null values that are not the client's",
            text.clone(),
            Expectation { null_values: &ann, ..expected.clone() },
        ),
        (
            "null values, and the client has none",
            text.clone(),
            Expectation { null_values: &[], ..expected.clone() },
        ),
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
            "null_values": expected.null_values,
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

pub fn logs_refused(publisher: &Publisher) -> Json {
    let text = &publisher.log;
    let now = publisher.head.logged();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let foreign = LogEnd { entries: 2, digest: Hex([5; 32]) };
    // The publisher writes another state of the last version after the published one.
    let repeated = {
        let line = Line { state: Hex([8; 32]), ..publisher.head.line() };
        text.clone() + &publisher.head.log.append(&line).0
    };
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
        ("a version that comes twice", repeated, None),
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

pub fn parts_refused(publisher: &Publisher) -> Json {
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
    // The publisher signs the content of other headers and tables.
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
        ("truncated", with(&|bytes| bytes.truncate(bytes.len() - 1))),
        ("a byte too many", with(&|bytes| bytes.push(0))),
        ("empty", Vec::new()),
        ("another digest of a chunk", with(&|bytes| bytes[0] ^= 1)),
        ("another byte in the header", with(&|bytes| bytes[40] ^= 1)),
        ("another byte at the end", with(&|bytes| *bytes.last_mut().unwrap() ^= 1)),
    ];
    let downloads = downloads.map(|(what, file)| {
        let error = checked(&entry, &header, &file).expect_err(what);
        told(what, &entry, &previous, &file, &error)
    });
    // The removed tags, which need not be looked up, begin after the number of their one segment.
    let removed = HEADER_BYTES + 4;
    let contents = [
        ("other magic bytes", made(&same, &|bytes| bytes[12] = b'1')),
        (
            "tags that are not as many as the number says",
            made(&same, &|bytes| bytes[removed..removed + 8].fill(0)),
        ),
        ("another epoch", made(&|header| header.epoch = 2, &nothing)),
        ("another sequence", made(&|header| header.sequence += 1, &nothing)),
        ("more removed than the head says", made(&|header| header.removed += 1, &nothing)),
        ("other tags", made(&|header| header.tag_bits += 1, &nothing)),
        ("other labels", made(&|header| header.label += 1, &nothing)),
        ("it continues another state", made(&|header| header.previous[0] ^= 1, &nothing)),
        ("a number of tags in a segment", made(&same, &|bytes| bytes[96] += 1)),
        ("content that is too long", made(&same, &|bytes| bytes.push(0))),
        ("content that is too short", made(&same, &|bytes| bytes.truncate(bytes.len() - 1))),
    ];
    let contents = contents.map(|(what, file)| {
        let bytes = file.len() as u64 - 32;
        let digest = Hex(part::digest(bytes, &file[..32]));
        let entry = Entry { bytes, digest, ..entry };
        let error = checked(&entry, &header, &file).expect_err(what);
        assert!(
            !matches!(error, Error::Part { fault: Fault::Digest | Fault::Length, .. }),
            "{what}"
        );
        told(what, &entry, &previous, &file, &error)
    });
    let all = json!({ "head": publisher.signed(), "downloads": downloads, "contents": contents });
    return all;

    fn checked(entry: &Entry, header: &Header, file: &[u8]) -> vesica_list::Result<()> {
        let mut checker = Checker::new(entry, header);
        checker.push(file).and_then(|()| checker.finish())
    }

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

pub fn questions_refused(publisher: &Publisher) -> Json {
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

pub fn answers_refused(publisher: &Publisher) -> Json {
    let good = answer(publisher, &question(publisher, 2).bytes()).unwrap();
    let other = Publisher::new(2, false);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        bytes
    };
    let cases = [
        ("a byte too few", with(&|bytes| bytes.truncate(bytes.len() - 1))),
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
