//! Valid offers, and offers that are refused.

use std::time::Duration;

use vesica_core::error::Class;
use vesica_keyset::linked::{AmbiguousKeys, TOKEN};
use vesica_linkage::{MatchField, Rules, rules_of};
use vesica_net::transport::memory;
use vesica_psi::Sizes;
use vesica_select::{Declared, Keys, Side};

use super::*;

fn offer() -> Offer {
    Offer::new(vec![Normalize::EMAIL], Learns::Both)
}

/// Returns the error of a side that receives these bytes instead of an offer.
fn answer(bytes: &[u8]) -> Error {
    let (a, b) = memory::pair();
    let mut peer = Channel::new(b);
    peer.send(TERMS, bytes).unwrap();
    peer.flush().unwrap();
    let mut channel = Channel::new(a).with_stall_timeout(Duration::from_secs(5));
    WireOffer::new(&offer(), Role::A).exchange(&mut channel).unwrap_err()
}

#[test]
fn offers_are_read_with_suspicion() {
    let good = serde_json::to_string(&WireOffer::new(&offer(), Role::B)).unwrap();
    const LONG_NAME: &str =
        "[\"date:.............................................................@1\"]";
    let unread = |from: &str, to: &str| answer(good.replace(from, to).as_bytes());
    let named = format!("[\"{}\"]", Normalize::EMAIL.agreed());
    let named = named.as_str();
    for (from, to) in [
        ("\"keys\"", "\"extra\":1,\"keys\""),
        (named, "[]"),
        (named, "[\"\"]"),
        (named, "[\"rot\\u001b13@1\"]"),
        (named, LONG_NAME),
        ("\"identifiers\":[]", "\"identifiers\":[1]"),
        ("\"identifiers\":[]", "\"identifiers\":[1,1]"),
        ("\"identifiers\":[]", "\"identifiers\":[1,0]"),
        ("\"identifiers\":[]", "\"identifiers\":[300]"),
        (":null", ":\"a\\u001b[31m\""),
        ("true,\"b_learns\":true", "false,\"b_learns\":false"),
        ("\"identifiers\":[]", "\"identifiers\":[],\"align\":true"),
        ("\"scale\":0", "\"scale\":19"),
        ("\"noise\":null", "\"noise\":{\"epsilon\":\"1\",\"clamp\":null}"),
        ("\"noise\":null", "\"noise\":{\"epsilon\":1,\"clamp\":null}"),
        ("\"null\"", "\"NULL\""),
        ("\"null\"", "\"null\",\"null\""),
        ("\"null\"", "\"nu\\u001bll\""),
        ("\"wanted\":\"rows\"", "\"wanted\":\"row\""),
        ("\"wanted\":\"rows\"", "\"wanted\":\"at-least\""),
        ("\"wanted\":\"rows\"", "\"wanted\":{\"rows\":1}"),
        ("\"wanted\":\"rows\"", "\"wanted\":{\"at-least\":-1}"),
        ("\"wanted\":\"rows\"", "\"wanted\":{\"at-least\":1,\"count\":1}"),
        ("{", "["),
    ] {
        assert!(good.contains(from));
        let error = unread(from, to);
        assert_eq!(error.class(), Class::Peer, "{error}");
    }
    let keys = format!("[{}]", vec!["\"none@1\""; MAX_KEY_COLUMNS + 1].join(","));
    assert_eq!(unread(named, &keys).class(), Class::Peer);
    assert_eq!(answer(&vec![b' '; MAX_OFFER + 1]).class(), Class::Peer);
    assert_eq!(answer(b"").class(), Class::Peer);
}

#[test]
fn a_query_travels_as_its_word_and_number() {
    for (query, form) in [
        (Query::ROWS, "\"rows\""),
        (Query::COUNT, "\"count\""),
        (Query::SUM, "\"sum\""),
        (Query::PRODUCTS, "\"products\""),
        (Query::at_least(5), "{\"at-least\":5}"),
        (Query::SHARES, "\"shares\""),
    ] {
        let sent = WireOffer::new(&Offer { query, ..offer() }, Role::B);
        let text = serde_json::to_string(&sent).unwrap();
        assert!(text.contains(&format!("\"wanted\":{form}")), "{text}");
        assert_eq!(serde_json::from_str::<WireOffer>(&text).unwrap(), sent);
    }
}

#[test]
fn another_version_is_named_regardless_of_other_members() {
    let newer = WIRE_VERSION + 1;
    let error = answer(format!("{{\"version\":{newer},\"sets\":[1,2]}}").as_bytes());
    assert_eq!(error.class(), Class::Terms);
    let message = error.to_string();
    let said = format!("here wire version {WIRE_VERSION}, there {newer}");
    assert!(message.contains(&said), "{message}");
}

#[test]
fn an_offer_that_cannot_run_is_not_made() {
    let refused = |offer: Offer| offer.check().unwrap_err().to_string();
    assert!(offer().check().is_ok());
    assert!(refused(Offer { keys: vec![], ..offer() }).contains("1 to 32 columns"));
    let named = |name: &str| Offer { protocol: Some(name.into()), ..offer() };
    let first = format!("there are: {}, ", vesica_psi::CATALOGUE[0].key);
    assert!(refused(named("rr99")).contains(&first));
    assert!(refused(named("naive")).contains("insecure, not for real data"));
    let strict = Offer { security: Security::Malicious, ..named("dh") };
    assert!(refused(strict).contains("not against malicious ones"));
}

fn sent() -> SentColumns {
    SentColumns { columns: vec!["c".to_owned()], bytes: 8, rows: 1 }
}

fn noise() -> Option<Noise> {
    serde_json::from_str("{\"epsilon\":\"1\",\"clamp\":null}").ok()
}

fn emails(columns: usize) -> Vec<Normalize> {
    vec![Normalize::EMAIL; columns]
}

/// Received offers on both sides of each bound.
#[test]
fn an_offer_is_faulty_beyond_its_bounds_and_not_within() {
    let asked = |query, learns| Offer { query, ..Offer::new(emails(1), learns) };
    let keyed = |keys, identifiers| Offer { identifiers, ..Offer::new(emails(keys), Learns::Both) };
    let named = |name: &str| Offer { protocol: Some(name.to_owned()), ..offer() };
    let under = |hash: String| Offer { agreement: Some(hash), ..offer() };
    let joined = |learns| Offer { sends: Some(sent()), ..asked(Query::JOIN, learns) };
    let aligned = |offer| Offer { align: true, ..offer };
    let scaled = |scale| Offer { scale, ..offer() };
    for (offer, fault) in [
        (named("a-b_9"), None),
        (named(&"a".repeat(32)), None),
        (named(&"a".repeat(33)), Some("the protocol's name is not valid")),
        (named("a b"), Some("the protocol's name is not valid")),
        (keyed(32, vec![]), None),
        (keyed(33, vec![]), Some("the number of key columns is out of bounds")),
        (keyed(2, vec![1, 1]), None),
        (keyed(32, vec![1; 32]), None),
        (keyed(33, vec![1; 33]), Some("the number of key columns is out of bounds")),
        (keyed(32, vec![1; 33]), Some("the identifiers do not add up to the key columns")),
        (keyed(2, vec![2]), Some("the identifiers do not add up to the key columns")),
        (keyed(2, vec![2, 0]), Some("the identifiers do not add up to the key columns")),
        (keyed(3, vec![1, 1]), Some("the identifiers do not add up to the key columns")),
        (scaled(18), None),
        (scaled(19), Some("the scale is out of bounds")),
        (joined(Learns::Me), None),
        (joined(Learns::Both), Some("a join does not have exactly one learning side")),
        (asked(Query::JOIN, Learns::Both), Some("a join does not have exactly one learning side")),
        (
            Offer { sends: Some(sent()), ..offer() },
            Some("columns are sent for a query that takes none"),
        ),
        (aligned(offer()), None),
        (aligned(asked(Query::ROWS, Learns::Me)), Some("a common order for a query that has none")),
        (
            aligned(asked(Query::COUNT, Learns::Both)),
            Some("a common order for a query that has none"),
        ),
        (aligned(keyed(2, vec![1, 1])), Some("a common order for a query that has none")),
        (asked(Query::ROWS, Learns::Me), None),
        (asked(Query::ROWS, Learns::Peer), None),
        (asked(Query::ROWS, Learns::Nobody), Some("nobody learns anything")),
        (asked(Query::SHARES, Learns::Nobody), None),
        (Offer { noise: noise(), ..asked(Query::COUNT, Learns::Both) }, None),
        (Offer { noise: noise(), ..asked(Query::COUNT, Learns::Me) }, None),
        (
            Offer { noise: noise(), ..offer() },
            Some(
                "noise that is useless or for a query that takes none, or columns that the query does not use",
            ),
        ),
        (
            Offer { noise: noise(), diagnose: true, ..asked(Query::COUNT, Learns::Both) },
            Some("noise together with a comparison of what keys look like"),
        ),
        (under("0af9".repeat(16)), None),
        (under("0af".repeat(21)), Some("the hash of an agreement is not a hash")),
        (under("xyzw".repeat(16)), Some("the hash of an agreement is not a hash")),
    ] {
        assert_eq!(WireOffer::new(&offer, Role::A).fault(), fault, "{offer:?}");
    }
    let none = SentColumns { columns: vec![], ..sent() };
    let offer = Offer { sends: Some(none), ..joined(Learns::Me) };
    let fault = WireOffer::new(&offer, Role::A).fault();
    assert_eq!(fault, Some("the columns that are sent are out of bounds"));
}

#[test]
fn a_side_finds_its_own_faults_before_it_offers() {
    let said = |offer: Offer| offer.check().err().map(|error| error.to_string());
    let asked = |query, learns| Offer { query, ..Offer::new(emails(1), learns) };
    let several = |offer| Offer { keys: emails(2), identifiers: vec![1, 1], ..offer };
    let joined = |learns| Offer { sends: Some(sent()), ..asked(Query::JOIN, learns) };
    let aligned = |offer| Offer { align: true, ..offer };
    let named = |name: &str| Offer { protocol: Some(name.to_owned()), ..offer() };
    let nulls = |values: &[&str], keys: &[Normalize]| Offer {
        null_values: NullValues::new(values).unwrap(),
        keys: keys.to_vec(),
        ..offer()
    };
    for good in [
        Offer { keys: emails(32), ..offer() },
        Offer { diagnose: true, ..offer() },
        several(offer()),
        joined(Learns::Peer),
        asked(Query::JOIN, Learns::Me),
        aligned(offer()),
        nulls(&["x"], &[Normalize::EMAIL]),
        Offer { null_values: NullValues::none(), ..nulls(&[], &[Normalize::NONE]) },
        Offer { allow_research: true, ..named("naive") },
        named("rr22"),
        Offer { security: Security::Malicious, ..named("rr22-malicious") },
    ] {
        assert_eq!(said(good.clone()), None, "{good:?}");
    }
    for (bad, with) in [
        (Offer { keys: emails(33), ..offer() }, "a key has 1 to 32 columns, not 33"),
        (
            several(asked(Query::COUNT, Learns::Both)),
            "only a query for rows takes several identifiers",
        ),
        (several(Offer { diagnose: true, ..offer() }), "one identifier at a time"),
        (
            Offer { noise: noise(), diagnose: true, ..asked(Query::COUNT, Learns::Both) },
            "--diagnose reveals",
        ),
        (joined(Learns::Me), "the side that sends columns must not learn"),
        (joined(Learns::Both), "the side that sends columns must not learn"),
        (asked(Query::JOIN, Learns::Peer), "a side that sends no columns"),
        (Offer { sends: Some(SentColumns { rows: 0, ..sent() }), ..joined(Learns::Peer) }, "rows"),
        (Offer { sends: Some(sent()), ..offer() }, "only a join sends columns"),
        (aligned(asked(Query::ROWS, Learns::Me)), "requires that both sides learn"),
        (several(aligned(offer())), "a common order requires a single identifier"),
        (aligned(asked(Query::COUNT, Learns::Both)), "only rows are written in a common order"),
        (nulls(&["x"], &[Normalize::NONE]), "null values require a normalised key column"),
        (
            Offer { security: Security::Malicious, ..asked(Query::COUNT, Learns::Both) },
            "no protocol of this release for count is secure against malicious parties",
        ),
        (named("oprf-list"), "`oprf-list` is not a protocol of a run"),
        (named("rr99"), "is named `rr99`; there are: "),
        (named("naive"), "not for real data"),
        (Offer { security: Security::Malicious, ..named("rr22") }, "not against malicious ones"),
    ] {
        let said = said(bad.clone()).unwrap_or_default();
        assert!(said.contains(with), "{said} of {bad:?}");
    }
}

/// Returns an offer of these rules on names, birthdays and postcodes.
fn linked(texts: &[&str]) -> Offer {
    let fields = ["first=a:name", "last=b:name", "dob=c:date", "postcode=d:trim"];
    let fields: Vec<MatchField> = fields.map(|field| field.parse().unwrap()).to_vec();
    let rules = Rules::new(rules_of(texts, &fields).unwrap(), fields).unwrap();
    let keys = rules.fields().iter().map(|field| field.normalize().clone()).collect();
    Offer {
        rules: Some(RuleTerms::of(&rules, AmbiguousKeys::default())),
        ..Offer::new(keys, Learns::Both)
    }
}

#[test]
fn rules_are_for_rows_in_no_common_order() {
    let good = linked(&["person+address"]);
    assert!(good.check().is_ok());
    let wire = WireOffer::new(&good, Role::A);
    assert_eq!(wire.fault(), None);
    assert_eq!(wire.offer(Role::A).unwrap(), good);
    assert_eq!(wire.mirrored(Role::B).unwrap().rules, good.rules);
    let refused = "rules for an offer that takes none";
    for (change, said, fault) in [
        (
            (|o| o.query = Query::PRODUCTS) as fn(&mut Offer),
            "a sum of products takes no rules (--match)",
            refused,
        ),
        (|o| o.identifiers = vec![1, 3], "leave out identifiers", refused),
        (|o| o.align = true, "leave out --align", "a common order for a query that has none"),
        (|o| o.diagnose = true, "name one --key in place of rules", refused),
        (
            |o| drop(o.keys.pop()),
            "no field has this name",
            "the rules are out of bounds, or not about the key columns",
        ),
        (
            |o| (o.query, o.learns) = (Query::JOIN, Learns::Me),
            "treat ambiguous keys in another way",
            refused,
        ),
    ] {
        let mut bad = good.clone();
        change(&mut bad);
        let error = bad.check().unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        assert_eq!(WireOffer::new(&bad, Role::A).fault(), Some(fault));
    }
}

/// In a join, ambiguous keys take no part by any rule, and one row per key is sent.
#[test]
fn rules_link_the_rows_of_a_join() {
    let mut good = linked(&["person"]);
    (good.query, good.learns) = (Query::JOIN, Learns::Peer);
    good.rules = good.rules.map(|rules| rules.in_query(good.query.kind));
    good.sends = Some(SentColumns { columns: vec!["v".to_owned()], bytes: 40, rows: 1 });
    assert!(good.check().is_ok());
    let wire = WireOffer::new(&good, Role::A);
    assert_eq!(wire.fault(), None);
    assert_eq!(wire.offer(Role::A).unwrap(), good);
    assert_eq!(wire.mirrored(Role::B).unwrap().rules, good.rules);
    let sent = good.sends.as_ref().unwrap();
    assert_eq!(RuleTerms::payload_len(good.rules.as_ref(), sent), 40 + TOKEN);
    assert_eq!(RuleTerms::payload_len(None, sent), 40);
    good.sends = good.sends.map(|sent| SentColumns { rows: 2, ..sent });
    assert!(good.check().unwrap_err().to_string().contains("send one row per key"));
    let refused = Some("rules for an offer that takes none");
    assert_eq!(WireOffer::new(&good, Role::A).fault(), refused);
}

/// The part that a task checks is the same for an offer and for its form on the wire.
#[test]
fn a_part_is_that_of_the_offer() {
    for (learns, learners) in
        [(Learns::Me, 1), (Learns::Peer, 1), (Learns::Both, 2), (Learns::Nobody, 0)]
    {
        let full = Offer {
            learns,
            sends: Some(sent()),
            align: true,
            brings_values: true,
            scale: 3,
            minimum: 5,
            noise: noise(),
            ..offer()
        };
        for part in [full.part(), WireOffer::new(&full, Role::A).part()] {
            assert!(part.sends && part.aligns && part.brings_values);
            assert_eq!((part.scale, part.minimum, part.noise), (3, 5, noise()));
            assert_eq!(part.learners, learners);
        }
        let plain = Offer { learns, ..offer() };
        for part in [plain.part(), WireOffer::new(&plain, Role::A).part()] {
            assert!(!(part.sends || part.aligns || part.brings_values));
            assert_eq!((part.scale, part.minimum, part.noise), (0, 0, None));
        }
    }
}

#[test]
fn candidates_are_for_real_data_secure_enough_and_reveal_no_size() {
    let of = |offer: &Offer| offer.candidates(&offer.request(10, 2000, 1, None).unwrap());
    let keys = |offer: &Offer| of(offer).iter().map(|found| found.key).collect::<Vec<_>>();
    let found = keys(&offer());
    assert!(found.contains(&"rr22") && found.contains(&"kkrt16") && !found.contains(&"naive"));
    let strict = keys(&Offer { security: Security::Malicious, ..offer() });
    assert!(strict.contains(&"rr22-malicious") && !strict.contains(&"rr22"));
    let sum = Offer { query: Query::SUM, ..offer() };
    assert!(!keys(&sum).is_empty() && !keys(&sum).contains(&"dh-sum"));
    for (learns, sender, receiver) in
        [(Learns::Me, 2000, 10), (Learns::Peer, 10, 2000), (Learns::Both, 2000, 10)]
    {
        let sizes = Sizes { sender, receiver };
        assert!(of(&Offer { learns, ..offer() }).iter().all(|found| found.sizes == sizes));
    }
}

/// An offer that arrives early is not lost: the exchange finds it.
#[test]
fn the_other_sides_agreement_is_known_before_this_side_says_anything() {
    for agreement in [Some("a".repeat(64)), None] {
        let (a, b) = memory::pair();
        let theirs = Offer { agreement: agreement.clone(), ..offer() };
        let theirs = WireOffer::new(&theirs, Role::B);
        let mut peer = Channel::new(b);
        peer.send(TERMS, &serde_json::to_vec(&theirs).unwrap()).unwrap();
        peer.flush().unwrap();
        let mut channel = Channel::new(a).with_stall_timeout(Duration::from_secs(20));
        assert_eq!(WireOffer::await_agreement(&mut channel).unwrap(), agreement);
        let ours = WireOffer::new(&offer(), Role::A);
        assert_eq!(ours.exchange(&mut channel).unwrap(), theirs);
        channel.flush().unwrap();
        assert_eq!(ours, theirs_of(&mut peer));
    }
}

/// Both sides may declare thousands of labels at once, and too many are refused before anything is sent.
#[test]
fn offers_with_many_labels_are_exchanged() {
    let offer = |side: Side, columns: &[&str]| {
        let labels: Vec<_> = (0..4096).map(|i| format!("{i:014}")).collect();
        let column = |name: &&str| format!("{name}:{{{}}}", labels.join(","));
        let texts: Vec<_> = columns.iter().map(column).collect();
        let declared = Some(Declared::parse(&texts, Keys::Unique).unwrap());
        let used = ["a", "b"].map(|side| {
            let conditions = columns.iter().map(|name| format!("{side}.{name} IS NOT NULL"));
            conditions.collect::<Vec<_>>().join(" AND ")
        });
        let query =
            format!("SELECT count(*) FROM a JOIN b USING (key) WHERE {}", used.join(" AND "));
        let query = Query::select(query.parse().unwrap());
        Offer { query, table: Some(QueryTable { side, declared }), ..offer() }
    };
    const MOST: [&str; 3] = ["x", "y", "z"];
    let [a, b] = [(Side::A, Role::A), (Side::B, Role::B)]
        .map(|(side, role)| WireOffer::new(&offer(side, &MOST), role));
    assert!(serde_json::to_vec(&a).unwrap().len() > MAX_OFFER * 9 / 10);
    let (left, right) = memory::pair();
    let exchange = |ours: &WireOffer, end| {
        let mut channel = Channel::new(end).with_stall_timeout(Duration::from_secs(20));
        let theirs = ours.exchange(&mut channel);
        channel.flush().and(Ok(theirs)).unwrap().unwrap()
    };
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| exchange(&b, right));
        assert_eq!(exchange(&a, left), b);
        assert_eq!(theirs.join().unwrap(), a);
    });
    let mut channel = Channel::new(memory::pair().0);
    let long = WireOffer::new(&offer(Side::A, &["w", "x", "y", "z"]), Role::A);
    assert!(matches!(long.exchange(&mut channel), Err(Error::Usage { .. })));
}

fn theirs_of(channel: &mut Channel) -> WireOffer {
    let received = channel.recv_len(TERMS, MAX_OFFER).unwrap();
    WireOffer::decode(&received, channel).unwrap()
}
