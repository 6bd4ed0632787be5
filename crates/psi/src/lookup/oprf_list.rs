//! A published list of values of a verifiable oblivious pseudo-random function.
//!
//! The function is the VOPRF of RFC 9497 (Davidson, Faz-Hernandez, Sullivan, Wood: Oblivious Pseudorandom Functions
//! Using Prime-Order Groups, 2023). Evaluating and sending the larger set once, and querying it many times, is the
//! precomputation form of Kiss, Liu, Schneider, Asokan, Pinkas (PoPETs 2017) and of Kales, Rechberger, Schneider,
//! Senker, Weinert (USENIX Security 2019), who send a filter.
//!
//! 1. Publisher: F(k, y) for each of its items y, under a key k of the epoch; the sorted list of the first ℓ bits of
//!    each, in a signed list that anyone may download.
//! 2. Client → publisher: r · P(x) for each of its items x.
//! 3. Publisher → client: k · r · P(x), and a proof for all of them that this is the k of the signed public key.
//! 4. The client derives F(k, x) and looks its first ℓ bits up.
//!
//! The client learns which of its items are in the list, the publisher learns how many it queries. Both sides are in
//! [`vesica_list`], which deviates from the papers in its list (sorted and Golomb–Rice coded, without false negatives
//! and with fewer bits than a cuckoo filter) and in proving each batch.

use vesica_list::{
    exchange::{DEFAULT_QUESTION, answer_bytes, question_bytes},
    head::{self, DEFAULT_LAMBDA, DEFAULT_QUERIES, tag_bits},
    part::expected_file_bytes,
    table::{MAX_TAGS, Shape},
    voprf::Mode,
};

use super::{Asking, LookupCost, LookupProtocol};
use crate::{Adversary, Cost, Limit, MAX_ITEMS, Status};

/// The entry.
pub static LOOKUP: LookupProtocol = LookupProtocol {
    key: "oprf-list",
    title: "a published list of values of a verifiable OPRF over ristretto255, asked again and again",
    citation: "RFC 9497 (2023); Kiss, Liu, Schneider, Asokan, Pinkas (PoPETs 2017); Kales, Rechberger, Schneider, Senker, \
               Weinert (USENIX Security 2019)",
    status: Status::Recommended,
    adversary: Adversary::weakest(&[Mode::Voprf.adversary(), head::ADVERSARY]),
    client_learns: "which of the items that it asks for are in the list, one by one and in the light of earlier answers, and \
                    how many items the list has",
    publisher_learns: "how many items a client asks for, and when; if it deviates, its list may stand for somewhat more items \
                       than it announces (the protocol's page says how many)",
    cost,
};

/// Requests of a download: the head, the log, and a part.
const FILES: u32 = 3;

fn cost(asking: Asking) -> Result<LookupCost, Limit> {
    let Asking { items, keys, times } = asking;
    Limit::check("of the publisher", items, MAX_ITEMS)?;
    Limit::check("of the client", keys, MAX_ITEMS)?;
    let queries = (keys as u64).saturating_mul(times).max(DEFAULT_QUERIES);
    Limit::check("that the client looks up in all", queries as usize, MAX_TAGS as usize)?;
    let capacity = (items as u64).max(1).next_power_of_two();
    let tag_bits = tag_bits(DEFAULT_LAMBDA, queries, capacity);
    let beyond = |_| Limit { of: "of the publisher", most: MAX_ITEMS as u64, items: items as u64 };
    let list_bytes = expected_file_bytes(items as u64, tag_bits, 0).map_err(beyond)?;
    let shape = Shape::new(items as u64, tag_bits, 0).map_err(beyond)?;
    let (whole, rest) = (keys / DEFAULT_QUESTION, keys % DEFAULT_QUESTION);
    let of_rest = if rest > 0 { answer_bytes(rest) } else { 0 };
    Ok(LookupCost {
        queries,
        lambda: DEFAULT_LAMBDA,
        tag_bits,
        list_bytes,
        list_rounds: 2 * FILES,
        asking: Cost {
            bytes_to_sender: question_bytes(keys) as f64,
            bytes_to_receiver: (whole * answer_bytes(DEFAULT_QUESTION) + of_rest) as f64,
            // The head first, to see whether the list has changed.
            rounds: 2 + 2 * keys.div_ceil(DEFAULT_QUESTION) as u32,
        },
        reads: shape.expected_reads(keys as u64),
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, io::Cursor};

    use rand::{SeedableRng, rngs::StdRng};
    use vesica_list::{
        exchange::{Question, answer, epoch_key},
        head::{Head, SUITE},
        hex::Hex,
        log::LogEnd,
        lookup::List,
        part::Entry,
        value::{Value, item},
        writing::write_part,
    };

    use super::*;

    fn digest(n: usize) -> [u8; 32] {
        *blake3::hash(&n.to_le_bytes()).as_bytes()
    }

    /// Publishes the even numbers, looks the first numbers up, and compares the bytes sent with the prediction.
    fn compare(asking: Asking) {
        let rng = &mut StdRng::seed_from_u64(asking.items as u64);
        let predicted = cost(asking).expect("within the limits");
        let key = epoch_key(&[3; 32], 1).expect("a seed gives a key");
        let inputs: Vec<_> =
            (0..asking.items).map(|n| item(&digest(2 * n), key.public())).collect();
        let values: Vec<_> =
            key.evaluate(&inputs).expect("short inputs").iter().map(Value::of).collect();
        let mut tags: Vec<_> = values.iter().map(|value| value.tag(predicted.tag_bits)).collect();
        tags.sort_unstable();
        let mut head = Head {
            version: 1,
            name: String::new(),
            publisher: String::new(),
            suite: SUITE.to_owned(),
            epoch: 1,
            public_key: Hex(*key.public()),
            issued: 0,
            expires: 1,
            keys: vec!["none@1".to_owned()],
            null_values: Vec::new(),
            lambda: predicted.lambda,
            queries: predicted.queries,
            capacity: (asking.items as u64).max(1).next_power_of_two(),
            tag_bits: predicted.tag_bits,
            items: asking.items as u64,
            labels: None,
            parts: Vec::new(),
            state: Hex::default(),
            log: LogEnd::default(),
        };
        let entry =
            Entry { sequence: 0, removed: 0, added: head.items, bytes: 0, digest: Hex::default() };
        let header = head.header(&entry, head.terms());
        let (file, entry) =
            write_part(Cursor::new(Vec::new()), header, &[], &tags, &[]).expect("memory suffices");
        head.parts.push(entry);
        let (written, expected) = (file.get_ref().len() as f64, predicted.list_bytes);
        match asking.items {
            // One segment: exact.
            ..=4096 => assert_eq!(written, expected, "{asking:?}"),
            _ => {
                assert!((written / expected - 1.0).abs() < 1e-3, "{asking:?}: {written} {expected}")
            }
        }

        let list = List::open(head.clone(), [file.into_inner()]).expect("the part fits its head");
        let (mut to_publisher, mut to_client, mut flights) = (0, 0, 2);
        let mut found = HashSet::new();
        let wanted: Vec<_> = (0..asking.keys).collect();
        for some in wanted.chunks(DEFAULT_QUESTION) {
            let items = some.iter().map(|n| item(&digest(*n), key.public())).collect();
            let question = Question::new(items, &head, rng).expect("not too many");
            let answer = answer(&key, &question.bytes(), rng).expect("a question");
            to_publisher += question.bytes().len();
            to_client += answer.len();
            flights += 2;
            let values = question.finish(&answer).expect("the right key");
            let matches = list.look_up(&values).expect("a right list");
            let is_in = some.iter().zip(matches).filter(|(_, found)| found.is_some());
            found.extend(is_in.map(|(n, _)| *n));
        }
        let right = wanted.into_iter().filter(|n| n % 2 == 0 && n / 2 < asking.items).collect();
        assert_eq!(found, right, "{asking:?}");
        let Cost { bytes_to_sender, bytes_to_receiver, rounds } = predicted.asking;
        assert_eq!(
            (bytes_to_sender, bytes_to_receiver, rounds),
            (to_publisher as f64, to_client as f64, flights),
            "{asking:?}"
        );
    }

    #[test]
    fn bytes_are_as_predicted_and_answers_those_of_sets() {
        for (items, keys) in
            [(0, 1), (1, 0), (1, 3), (1000, 10), (4096, 1024), (4097, 1025), (20_011, 2500)]
        {
            compare(Asking { items, keys, times: 1 });
        }
        compare(Asking { items: 3000, keys: 100, times: 1_000_000 });
    }

    /// The figures of docs/guides/lists.md.
    #[test]
    fn an_item_of_a_large_list_takes_54_bits() {
        let cost =
            cost(Asking { items: 1 << 24, keys: 1024, times: 4 }).expect("within the limits");
        assert_eq!((cost.queries, cost.tag_bits), (4096, 76));
        let an_item = cost.list_bytes * 8.0 / f64::from(1 << 24);
        assert!((54.0..54.05).contains(&an_item), "{an_item}");
        assert_eq!(cost.asking.bytes(), 65_600.0);
    }

    #[test]
    fn a_query_beyond_the_limits_is_refused() {
        let beyond =
            |items, keys, times| cost(Asking { items, keys, times }).expect_err("too much").of;
        assert_eq!(beyond(MAX_ITEMS + 1, 1, 1), "of the publisher");
        assert_eq!(beyond(1, MAX_ITEMS + 1, 1), "of the client");
        assert_eq!(beyond(1, 1 << 20, 1 << 20), "that the client looks up in all");
        assert_eq!(beyond(1, 1 << 20, u64::MAX), "that the client looks up in all");
    }

    #[test]
    fn the_claim_is_that_of_the_weakest_part() {
        assert_eq!(LOOKUP.adversary, Adversary::Malicious);
        let unproved = Adversary::weakest(&[Mode::Oprf.adversary(), head::ADVERSARY]);
        assert_eq!(unproved, Adversary::SemiHonest);
    }
}
