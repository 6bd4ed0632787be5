//! `terms.json`: offers and the resulting terms, the seed, items, and partitions.

use std::thread;

use serde_json::{Value, json};
use vesica_agree::{
    offer::{Offer, WireOffer},
    terms::Terms,
};
use vesica_core::{
    error::Result,
    parties::{Learns, Parties, Role, Security},
};
use vesica_keyset::{
    partitions::partition_of,
    seed::{Image, Seed},
};
use vesica_net::{Channel, transport::memory};
use vesica_normalize::{digest::Digest, normalize::Normalize};
use vesica_psi::DigestLength;
use vesica_testkit::vectors::{Draws, blocks, check, hex};

#[test]
fn vectors() {
    check(
        "terms",
        &json!({ "offers": offers(), "terms": terms(), "seed": seed(), "partitions": partitions() }),
    );
}

fn parties(role: Role) -> Parties {
    let [a, b] = ["a", "b"].map(|side| format!("vesica1-print-of-{side}"));
    let (me, peer) = if role == Role::A { (a, b) } else { (b, a) };
    Parties { role, me, peer }
}

fn offer(keys: &[&str], learns: Learns) -> Offer {
    Offer::new(keys.iter().map(|name| name.parse::<Normalize>().unwrap()).collect(), learns)
}

/// Returns side A's result for an offer that it receives.
fn receive(offer: &[u8]) -> Result<WireOffer> {
    let (left, right) = memory::pair();
    let ours = WireOffer::new(&self::offer(&["email"], Learns::Both), Role::A);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut channel = Channel::new(right);
            channel.send("vesica/terms", offer).unwrap();
            channel.flush().unwrap();
            // The other side is gone after it has refused.
            let _ = channel.recv_len("vesica/terms", 1 << 12);
        });
        ours.exchange(&mut Channel::new(left))
    })
}

fn offers() -> Value {
    let good =
        serde_json::to_value(WireOffer::new(&offer(&["email"], Learns::Both), Role::B)).unwrap();
    let with = |member: &str, value: Value| {
        let mut offer = good.clone();
        offer[member] = value;
        offer.to_string()
    };
    let mut lacking = good.clone();
    lacking.as_object_mut().unwrap().remove("security");
    let cases = [
        ("a good one", good.to_string()),
        ("not JSON", "version 7".into()),
        ("no version", "{}".into()),
        ("an older version, and nothing else", "{\"version\":6}".into()),
        ("a member that is not known", with("colour", json!("red"))),
        ("a member that is missing", lacking.to_string()),
        ("another kind of security", with("security", json!("some"))),
        ("no key", with("keys", json!([]))),
        ("33 key columns", with("keys", json!(vec!["none@1"; 33]))),
        ("a name of a profile with a control character", with("keys", json!(["a\n@1"]))),
        ("a name of a profile that is too long", with("keys", json!(["a".repeat(65)]))),
        ("identifiers that are not made of the columns", with("identifiers", json!([1, 1]))),
        ("rules about other columns", {
            let rules = json!({
                "fields": ["mail", "name"],
                "rules": ["mail"],
                "functions": [],
                "ambiguous": "by-first-rule",
            });
            with("rules", rules)
        }),
        ("one identifier", with("identifiers", json!([1]))),
        ("a query that is not known", with("wanted", json!("everything"))),
        ("null values out of order", with("null_values", json!(["b", "a"]))),
        ("null values that are not normalised", with("null_values", json!(["A"]))),
        ("null values with a format character", with("null_values", json!(["a\u{202e}b"]))),
        ("null values with a separator", with("null_values", json!(["a\u{a0}b"]))),
        ("a common order where one side learns", {
            let mut offer = good.clone();
            (offer["align"], offer["a_learns"]) = (json!(true), json!(false));
            offer.to_string()
        }),
        ("nobody learns", {
            let mut offer = good.clone();
            (offer["a_learns"], offer["b_learns"]) = (json!(false), json!(false));
            offer.to_string()
        }),
        ("a protocol's name with a space", with("protocol", json!("r r"))),
        ("an agreement that is not a hash", with("agreement", json!("x"))),
        (
            "columns in a query for rows",
            with("sends", json!({ "columns": ["x"], "bytes": 9, "rows": 1 })),
        ),
    ];
    let cases = cases.map(|(what, text)| {
        let outcome = match receive(text.as_bytes()) {
            Ok(_) => json!("accepted"),
            Err(error) => json!({ "refused": error.to_string() }),
        };
        json!({ "what": what, "offer": text, "outcome": outcome })
    });
    cases.to_vec().into()
}

fn terms() -> Value {
    let cases = [
        ("defaults", offer(&["email"], Learns::Both), offer(&["email"], Learns::Both)),
        (
            "B learns; one names the protocol",
            Offer {
                protocol: Some("dh".into()),
                max_peer_rows: 1000,
                ..offer(&["phone:GB", "date:%d.%m.%Y"], Learns::Peer)
            },
            Offer { max_peer_rows: 2000, ..offer(&["phone:DE", "date"], Learns::Me) },
        ),
        (
            "malicious by the wish of one, digests, several identifiers, null values",
            Offer {
                security: Security::Malicious,
                identifiers: vec![1, 2],
                ..offer(&["sha256:email", "name", "date"], Learns::Me)
            },
            Offer {
                identifiers: vec![1, 2],
                ..offer(&["hashed:email", "name", "date"], Learns::Peer)
            },
        ),
        ("verbatim keys", offer(&["none"], Learns::Me), offer(&["none"], Learns::Peer)),
        (
            "another normalisation",
            offer(&["email"], Learns::Both),
            offer(&["email:plain"], Learns::Both),
        ),
        (
            "each wants to be the only one to learn",
            offer(&["email"], Learns::Me),
            offer(&["email"], Learns::Me),
        ),
        (
            "a protocol that is not secure enough",
            Offer { protocol: Some("dh".into()), ..offer(&["email"], Learns::Both) },
            Offer { security: Security::Malicious, ..offer(&["email"], Learns::Both) },
        ),
        (
            "two protocols",
            Offer { protocol: Some("dh".into()), ..offer(&["email"], Learns::Both) },
            Offer { protocol: Some("rr22".into()), ..offer(&["email"], Learns::Both) },
        ),
    ];
    let cases = cases.map(|(what, a, b)| {
        let (a, b) = (WireOffer::new(&a, Role::A), WireOffer::new(&b, Role::B));
        let merged = Terms::merge(&a, &b, &parties(Role::A));
        let of_b = Terms::merge(&b, &a, &parties(Role::B));
        let outcome = match (merged, of_b) {
            (Ok(terms), Ok(same)) => {
                assert_eq!(terms.hash(), same.hash());
                let receiver = if terms.receiver() == Role::A { "A" } else { "B" };
                json!({ "terms": serde_json::to_string(&terms).unwrap(), "hash": terms.hash(), "receiver": receiver })
            }
            (Err(error), Err(_)) => json!({ "refused": error.to_string() }),
            _ => panic!("only one side refuses"),
        };
        let text = |offer: &WireOffer| serde_json::to_string(offer).unwrap();
        json!({ "what": what, "offer_of_a": text(&a), "offer_of_b": text(&b), "outcome": outcome })
    });
    json!({ "fingerprint_of_a": parties(Role::A).me, "fingerprint_of_b": parties(Role::A).peer, "cases": cases })
}

fn seed() -> Value {
    let (left, right) = memory::pair();
    let agree = |role, end| {
        let mut channel = Channel::new(end);
        let mut draws = Draws::new(if role == Role::A { "seed/A" } else { "seed/B" });
        let seed = Seed::agree(role, &mut channel, &mut draws).unwrap();
        let sid = hex(channel.session().as_bytes());
        channel.finish().unwrap();
        (*seed.as_bytes(), sid)
    };
    let (seed, sid) = thread::scope(|scope| {
        let a = scope.spawn(|| agree(Role::A, left));
        let b = agree(Role::B, right);
        assert_eq!(a.join().unwrap(), b);
        b
    });
    let commit = |role: u8, r: &[u8]| {
        hex(blake3::Hasher::new_derive_key("vesica 1 seed commitment")
            .update(&[role])
            .update(r)
            .finalize()
            .as_bytes())
    };
    let [a, b] = ["seed/A", "seed/B"].map(|name| Draws::new(name).bytes(32));
    let digests: Vec<Digest> = ["x", "y"].map(|key| Digest::of(key.as_bytes())).to_vec();
    let items =
        Seed::again(seed, &mut Channel::new(memory::pair().0)).items(&digests, DigestLength::Long);
    let items = items.items();
    let items: Vec<String> = items
        .low_halves()
        .iter()
        .zip(items.high_halves())
        .map(|(l, h)| blocks(&[*l, *h]))
        .collect();
    json!({
        "r_a": hex(&a), "r_b": hex(&b), "commitment_of_a": commit(0, &a), "commitment_of_b": commit(1, &b), "seed": hex(seed),
        "sid_bound_to_the_seed_alone": sid,
        "digests": digests.iter().map(|digest| hex(digest.as_bytes())).collect::<Vec<_>>(), "images": items,
    })
}

fn partitions() -> Value {
    let mut draws = Draws::new("partitions");
    let cases = (0..8).map(|_| {
        let image: [u8; 32] = draws.bytes(32).try_into().unwrap();
        let of = Image::from_bytes(image);
        json!({ "image": hex(image), "of_2": partition_of(&of, 2), "of_64": partition_of(&of, 64) })
    });
    cases.collect()
}
