//! `published-lists.json`: lists of several versions, questions and answers, and everything that is refused.

mod publisher;
mod refused;

use serde_json::{Value as Json, json};
use vesica_list::{
    exchange,
    head::Head,
    hex::Hex,
    label::{self, OVERHEAD, Place},
    value::{Value, item},
};
use vesica_structures::packed;
use vesica_testkit::vectors::{Draws, check, digest, hex};

use self::{
    publisher::{
        Publisher, answer, digest_of, drawn_tags, epoch_seed, published, question, table_of,
    },
    refused::{
        answers_refused, heads_refused, heads_unexpected, logs_refused, parts_refused,
        questions_refused, tables_refused,
    },
};

#[test]
fn vectors() {
    let [plain, labelled] = [false, true].map(published);
    check(
        "published-lists",
        &json!({
            "items": Json::from([1, 2].map(item_of).to_vec()),
            "values": Json::from([32, 61, 76, 128].map(value).to_vec()),
            "terms": terms_of(&labelled),
            "labels_malformed": labels_malformed(),
            "labels": Json::from([(0, 1, 0), (7, 1, 3), (24, 2, 0), (100, 1 << 40, 1 << 33)].map(one_label).to_vec()),
            "tables": Json::from([(0, 40), (1, 128), (100, 61), (4096, 52), (4097, 53), (20_000, 57)].map(table).to_vec()),
            "tables_refused": tables_refused(),
            "lists": Json::from([&plain, &labelled].map(Publisher::told).to_vec()),
            "heads_refused": heads_refused(&labelled),
            "heads_unexpected": heads_unexpected(&plain),
            "logs_refused": logs_refused(&plain),
            "parts_refused": parts_refused(&labelled),
            "questions": Json::from([1, 2, 9].map(|count| asked(&plain, count)).to_vec()),
            "questions_refused": questions_refused(&plain),
            "answers_refused": answers_refused(&plain),
        }),
    );
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

/// The terms, changed in one place each. No two of these have the same hash.
fn terms_of(publisher: &Publisher) -> Json {
    type Change = fn(&mut Head);
    let changes: [(&str, Change); 12] = [
        ("as it is", |_| ()),
        ("another epoch", |head| head.epoch += 1),
        ("another key", |head| head.public_key.0[31] ^= 1),
        ("keys of two columns", |head| head.keys.push("phone@1".to_owned())),
        ("no null values", |head| head.null_values.clear()),
        ("null values that are split elsewhere", |head| {
            head.null_values = vec!["n".to_owned(), "/a".to_owned()];
        }),
        ("another lambda", |head| head.lambda -= 1),
        ("other queries", |head| head.queries -= 1),
        ("another capacity", |head| head.capacity -= 1),
        ("longer tags", |head| head.tag_bits += 1),
        ("other columns", |head| head.labels.as_mut().unwrap().columns.truncate(1)),
        ("no labels", |head| head.labels = None),
    ];
    let told = changes.map(|(what, change)| {
        let mut head = publisher.head.clone();
        change(&mut head);
        head.state = Hex(head.computed_state());
        json!({ "what": what, "head": publisher.sign(&head), "terms": hex(head.terms()) })
    });
    told.to_vec().into()
}

/// Labels that count as missing.
fn labels_malformed() -> Json {
    let cases: [(&str, &[u8]); 7] = [
        ("a value without a number", &[1, 0]),
        ("half a number", &[1, 0, 1]),
        ("a number that is none", &[0, 0, 1, 0, 0, 0]),
        ("a value that is longer than the label", &[1, 0, 9, 0, b'a', b'b']),
        ("no UTF-8", &[1, 0, 4, 0, 0xc3, 0x28]),
        ("something behind the values", &[1, 0, 1, 0, 0, 1]),
        ("nothing", &[]),
    ];
    let told = cases.map(|(what, label)| {
        assert_eq!(packed::read(label, 2), None, "{what}");
        json!({ "what": what, "columns": 2, "label": hex(label) })
    });
    told.to_vec().into()
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

fn table((count, bits): (usize, u32)) -> Json {
    let bytes = table_of(&drawn_tags(count, bits), bits);
    let shown = if bytes.len() <= 1024 { Json::String(hex(&bytes)) } else { digest(&bytes) };
    json!({ "n": count, "t": bits, "draws": format!("published/table/{count}/{bits}"), "table": shown })
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
