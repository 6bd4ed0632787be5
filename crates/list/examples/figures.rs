//! Computes the figures in docs/guides/lists.md: the size of a list, and the time of a question about 1,024 keys.
//!
//! `cargo run --release -p vesica-list --example figures [LOG2_ITEMS]`. Tags of items are random instead of evaluated.
//! The rate of evaluation is measured separately.

use std::{
    io::Cursor,
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use rayon::prelude::*;
use vesica_list::{
    exchange::{self, Question},
    head::{Head, SUITE, tag_bits},
    hex::Hex,
    log::LogEnd,
    lookup::List,
    part::Entry,
    value::{Value, item},
    writing::write_part,
};

const BATCH: u32 = 1024;

fn main() {
    let log = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(24);
    let items = 1u64 << log;
    let rng = &mut StdRng::seed_from_u64(1);
    let key = exchange::epoch_key(&[7; 32], 1).expect("a seed gives a key");
    println!("threads: {}", rayon::current_num_threads());

    let inputs: Vec<[u8; 32]> = (0..1u32 << 16).map(|n| item(&digest(n), key.public())).collect();
    let (outputs, time) = timed(|| key.evaluate(&inputs).expect("inputs are short"));
    let of_one = time.as_secs_f64() / inputs.len() as f64;
    println!("evaluation: {:.1} microseconds an item", of_one * 1e6);
    println!("  2^24 items: {:.1} minutes", of_one * (1 << 24) as f64 / 60.0);
    println!("  2^28 items: {:.1} hours", of_one * (1 << 28) as f64 / 3600.0);
    let values: Vec<Value> = outputs.iter().map(Value::of).collect();

    for (lambda, queries) in [(30, 1), (40, 4096)] {
        let mut head = head(items, (lambda, queries), key.public());
        let bits = head.tag_bits;
        let mut tags: Vec<u128> =
            (0..items).map(|_| rng.random::<u128>() >> (128 - bits)).collect();
        // Half of the queried items are in the list.
        for (tag, value) in tags.iter_mut().zip(&values[..BATCH as usize / 2]) {
            *tag = value.tag(bits);
        }
        tags.par_sort_unstable();
        let entry =
            Entry { sequence: 0, removed: 0, added: items, bytes: 0, digest: Hex::default() };
        let header = head.header(&entry, [0; 32]);
        let ((file, entry), time) = timed(|| {
            write_part(Cursor::new(Vec::new()), header, &[], &tags, &[]).expect("memory suffices")
        });
        drop(tags);
        head.parts.push(entry);
        head.state = Hex(head.computed_state());
        let file = file.into_inner();
        println!(
            "list of 2^{log} items at 2^-{lambda} for {queries} queries: tags of {bits} bits, {} bytes, {:.2} bits an item; \
             written in {:.2} s",
            file.len(),
            file.len() as f64 * 8.0 / items as f64,
            time.as_secs_f64()
        );
        let list = List::open(head.clone(), [file]).expect("the part fits its head");
        for _ in 0..3 {
            let asked = (0..BATCH).map(|n| item(&digest(n), key.public())).collect();
            let (question, blinding) =
                timed(|| Question::new(asked, &head, rng).expect("items have places"));
            let bytes = question.bytes();
            let (answer, answering) =
                timed(|| exchange::answer(&key, &bytes, rng).expect("a question"));
            let sent = bytes.len() + answer.len();
            let (found, finishing) = timed(|| question.finish(&answer).expect("the key is right"));
            let (found, looking) = timed(|| list.look_up(&found).expect("the list is right"));
            let found = found.iter().flatten().count();
            assert_eq!(found, BATCH as usize / 2);
            let parts = [blinding, answering, finishing, looking];
            let milliseconds = parts.map(|part| format!("{:.1}", part.as_secs_f64() * 1e3));
            println!(
                "  {BATCH} keys: {sent} bytes; blind, answer, check and unblind, look up: {} ms; together {:.1} ms",
                milliseconds.join(" + "),
                parts.iter().sum::<Duration>().as_secs_f64() * 1e3
            );
        }
    }
}

fn digest(n: u32) -> [u8; 32] {
    *blake3::hash(&n.to_le_bytes()).as_bytes()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let done = work();
    (done, begin.elapsed())
}

fn head(items: u64, (lambda, queries): (u32, u64), public_key: &[u8; 32]) -> Head {
    Head {
        version: vesica_list::head::VERSION,
        name: "figures".to_owned(),
        publisher: String::new(),
        suite: SUITE.to_owned(),
        epoch: 1,
        public_key: Hex(*public_key),
        issued: 0,
        expires: 1,
        keys: vec!["email@1".to_owned()],
        null_values: Vec::new(),
        lambda,
        queries,
        capacity: items,
        tag_bits: tag_bits(lambda, queries, items),
        items,
        labels: None,
        parts: Vec::new(),
        state: Hex::default(),
        log: LogEnd::default(),
    }
}
