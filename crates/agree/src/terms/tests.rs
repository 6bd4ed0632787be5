//! The terms that result from two offers.

use vesica_core::{error::Class, parties::Learns};
use vesica_normalize::normalize::Normalize;
use vesica_psi::Status;

use super::*;

fn parties(role: Role) -> Parties {
    let (me, peer) = match role {
        Role::A => ("print of a", "print of b"),
        Role::B => ("print of b", "print of a"),
    };
    Parties { role, me: me.into(), peer: peer.into() }
}

fn offer() -> Offer {
    Offer::new(vec![Normalize::EMAIL], Learns::Both)
}

/// Returns the results of both sides for two offers.
fn agreed(a: &Offer, b: &Offer) -> (Result<Terms>, Result<Terms>) {
    let merge = |role| {
        let (ours, theirs) = match role {
            Role::A => (a, b),
            Role::B => (b, a),
        };
        let ours = WireOffer::new(ours, role);
        let theirs = WireOffer::new(theirs, role.other());
        Terms::merge(&ours, &theirs, &parties(role))
    };
    (merge(Role::A), merge(Role::B))
}

fn candidates(terms: &Terms, sizes: Sizes) -> Result<Vec<Candidate>> {
    terms.candidates(&terms.request(sizes))
}

fn refused(a: &Offer, b: &Offer) -> (String, String) {
    let (a, b) = agreed(a, b);
    let (a, b) = (a.unwrap_err(), b.unwrap_err());
    assert_eq!((a.class(), b.class()), (Class::Terms, Class::Terms));
    (a.to_string(), b.to_string())
}

#[test]
fn equal_offers_agree_on_equal_terms() {
    let (a, b) = agreed(&offer(), &offer());
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_eq!(a, b);
    assert_eq!(a.hash(), b.hash());
    assert_eq!(a.hash().len(), 64);
}

#[test]
fn my_me_is_your_peer() {
    let me = Offer { learns: Learns::Me, ..offer() };
    let peer = Offer { learns: Learns::Peer, ..offer() };
    let terms = agreed(&me, &peer).0.unwrap();
    assert!(terms.learns(Role::A) && !terms.learns(Role::B));
    assert_eq!(terms.receiver(), Role::A);
    let terms = agreed(&peer, &me).1.unwrap();
    assert!(terms.learns(Role::B) && !terms.learns(Role::A));
    assert_eq!(terms.receiver(), Role::B);
    let (a, b) = refused(&me, &me);
    assert!(a.contains("who learns the result (here: this side; there: the other side)"), "{a}");
    assert_eq!(a, b);
}

#[test]
fn every_difference_is_named_with_both_values() {
    let a = Offer { protocol: Some("dh".into()), ..offer() };
    let b = Offer {
        protocol: Some("kkrt16".into()),
        keys: vec![Normalize::LOWER],
        learns: Learns::Me,
        ..offer()
    };
    assert_eq!(
        refused(&a, &b).0,
        "the two sides do not agree: normalisation of the key (here: email; there: lower); who \
         learns the result (here: both sides; there: the other side); protocol (here: dh; \
         there: kkrt16)"
    );
    let two = Offer { keys: vec![Normalize::EMAIL, Normalize::NONE], ..offer() };
    let message = refused(&offer(), &two).0;
    assert!(message.contains("(here: 1 (email); there: 2 (email, none))"), "{message}");
}

#[test]
fn how_a_side_writes_its_column_does_not_matter() {
    let with = |name: &str| Offer { keys: vec![name.parse().unwrap()], ..offer() };
    for (one, other, common) in [
        ("phone:DE", "phone:CH", "phone"),
        ("date:%d.%m.%Y", "date", "date"),
        ("number:point-comma", "number", "number"),
        ("sha256:email", "hashed:email:gmail", "sha256:email"),
        ("hashed:phone", "sha256:phone:AT", "sha256:phone"),
        ("timestamp:+01:00", "timestamp", "timestamp"),
        ("hashed:meta:phone", "sha256:meta:phone:US", "sha256:meta:phone"),
    ] {
        let (a, b) = agreed(&with(one), &with(other));
        let (a, b) = (a.unwrap(), b.unwrap());
        let common = common.parse::<Normalize>().unwrap().agreed();
        assert_eq!((&a.keys[..], a.hash()), (&[common][..], b.hash()));
        let holds = [one, other].map(|name| name.starts_with("hashed"));
        assert_eq!([a.holds_digests(Role::A), a.holds_digests(Role::B)], holds, "{one}");
    }
    for (one, other) in [
        ("email", "email:plain"),
        ("postcode:GB", "postcode:US"),
        ("sha256:email", "email"),
        ("hashed:email", "sha256:email:plain"),
        ("text", "lower"),
    ] {
        let message = refused(&with(one), &with(other)).0;
        assert!(message.contains(&format!("(here: {one}; there: {other})")), "{message}");
    }
}

#[test]
fn both_sides_have_the_same_identifiers() {
    let keys = || vec![Normalize::EMAIL, Normalize::LOWER];
    let several = Offer { keys: keys(), identifiers: vec![1, 1], ..offer() };
    let (a, b) = agreed(&several, &several);
    assert_eq!((a.as_ref().unwrap().identifiers(), a.unwrap()), (2, b.unwrap()));
    let composite = Offer { keys: keys(), ..offer() };
    let message = refused(&several, &composite).0;
    assert!(message.contains("(here: email or lower; there: email, lower)"), "{message}");
    let message = refused(&several, &offer()).0;
    assert!(message.contains("(here: 2 (email or lower); there: 1 (email))"), "{message}");
    let usage = |offer: Offer| offer.check().unwrap_err().to_string();
    let counted = Offer { query: Query::COUNT, ..several.clone() };
    assert!(usage(counted).contains("only a query for rows takes several identifiers"));
    assert!(
        usage(Offer { diagnose: true, ..several.clone() }).contains("one identifier at a time")
    );
    for identifiers in [vec![2], vec![1, 2], vec![1, 0, 1], vec![1; 33]] {
        assert!(usage(Offer { identifiers, ..several.clone() }).contains("at most 32 identifiers"));
    }
}

#[test]
fn a_rule_of_another_version_is_a_difference() {
    let [mut a, b] = [Role::A, Role::B].map(|role| WireOffer::new(&offer(), role));
    a.keys = vec!["email@3".to_owned().try_into().unwrap()];
    let parties = Parties { role: Role::A, me: "a".into(), peer: "b".into() };
    let message = Terms::merge(&a, &b, &parties).unwrap_err().to_string();
    let there = Normalize::EMAIL.agreed();
    assert!(message.contains(&format!("(here: email@3; there: {there})")), "{message}");
}

#[test]
fn a_side_that_names_a_protocol_decides() {
    let named = Offer { protocol: Some("dh".into()), ..offer() };
    let sizes = Sizes { sender: 1 << 20, receiver: 1 << 20 };
    let (a, b) = agreed(&named, &offer());
    let keys = |terms: Result<Terms>| {
        let candidates = candidates(&terms.unwrap(), sizes).unwrap();
        candidates.into_iter().map(|candidate| candidate.key).collect::<Vec<_>>()
    };
    assert_eq!((keys(a), keys(b)), (vec!["dh"], vec!["dh"]));
    let (open, same) = agreed(&offer(), &offer());
    let open = keys(open);
    assert_eq!(open, keys(same));
    assert!(open.contains(&"rr22") && open.contains(&"dh") && !open.contains(&"naive"));
    let strict = Offer { security: Security::Malicious, ..offer() };
    let strict = keys(agreed(&offer(), &strict).0);
    assert!(strict.contains(&"rr22-malicious") && !strict.contains(&"rr22"));
}

#[test]
fn a_protocol_that_is_not_recommended_runs_only_if_both_name_it() {
    let named = Offer { protocol: Some("kkrt16".into()), ..offer() };
    let (named_it, did_not) = refused(&named, &offer());
    assert!(named_it.ends_with("must name (here: kkrt16; there: auto)"), "{named_it}");
    let advice = "(here: auto; to allow it, name `kkrt16` here too; there: kkrt16)";
    assert!(did_not.ends_with(advice), "{did_not}");
    assert!(agreed(&named, &named).0.is_ok());
    let terms = agreed(&offer(), &offer()).0.unwrap();
    let candidates = candidates(&terms, Sizes { sender: 1000, receiver: 1000 }).unwrap();
    assert!(candidates.iter().all(|candidate| candidate.status == Status::Recommended));
}

#[test]
fn a_limit_of_a_protocol_is_a_difference_of_terms() {
    let named = Offer { protocol: Some("psz14-none".into()), ..offer() };
    let (a, b) = agreed(&named, &named);
    for terms in [a.unwrap(), b.unwrap()] {
        let sizes = |n| Sizes { sender: n, receiver: n };
        assert!(candidates(&terms, sizes(8000)).is_ok());
        let error = candidates(&terms, sizes(9000)).unwrap_err();
        assert_eq!(error.class(), Class::Terms);
        let message = error.to_string();
        let limit = "`psz14-none` takes at most 7456 items of the sender";
        assert!(message.contains(limit) && message.contains("there are 9000"), "{message}");
    }
}

/// A method that reveals more than the answer runs if both name it, and is never chosen automatically.
#[test]
fn a_size_is_revealed_only_if_both_name_the_method() {
    let sum = |offer: Offer, brings_values| Offer { query: Query::SUM, brings_values, ..offer };
    let named = |name: &str| Offer { protocol: Some(name.into()), ..offer() };
    let message = refused(&sum(named("dh-sum"), true), &sum(offer(), false)).0;
    assert!(message.contains("reveals the number of shared keys"), "{message}");
    assert!(message.contains("(here: dh-sum; there: auto)"), "{message}");
    let sizes = Sizes { sender: 10, receiver: 20 };
    let key = |a: &Offer, b: &Offer| {
        let (a, b) = agreed(a, b);
        let [a, b] = [a, b].map(|terms| candidates(&terms.unwrap(), sizes).map(|m| m[0].key));
        assert_eq!(a.as_ref().ok(), b.as_ref().ok());
        a
    };
    let both = [true, false].map(|brings| sum(named("dh-sum"), brings));
    assert_eq!(key(&both[0], &both[1]).unwrap(), "dh-sum");
    assert_eq!(key(&sum(offer(), true), &sum(offer(), false)).unwrap(), "rs21-circuit");
    // If both learn, the connecting side is the receiver, from which a size cannot be hidden.
    let held = |offer: &Offer| Offer { minimum: 3, ..offer.clone() };
    assert_eq!(key(&held(&both[0]), &both[1]).unwrap(), "dh-sum");
    let error = key(&both[1], &held(&both[0])).unwrap_err().to_string();
    assert!(error.contains("`dh-sum` does not answer this with this minimum"), "{error}");
}

#[test]
fn shares_are_for_nobody() {
    let shares =
        Offer { query: Query::SHARES, ..Offer::new(vec![Normalize::EMAIL], Learns::Nobody) };
    shares.check().unwrap();
    let values = Offer { brings_values: true, ..shares.clone() };
    let sizes = Sizes { sender: 10, receiver: 20 };
    let (a, b) = agreed(&values, &shares);
    for terms in [a.unwrap(), b.unwrap()] {
        assert_eq!(terms.receiver(), Role::A);
        let request = terms.request(sizes);
        assert!(request.receiver_brings && !request.sender_brings && request.sizes == sizes);
        let keys: Vec<_> = candidates(&terms, sizes).unwrap().iter().map(|c| c.key).collect();
        assert_eq!(keys, ["rs21-circuit"]);
        assert!(!terms.learns(Role::A) && !terms.learns(Role::B));
    }
    let refused_alone = |offer: Offer| offer.check().unwrap_err().class();
    for learns in [Learns::Me, Learns::Peer, Learns::Both] {
        assert_eq!(refused_alone(Offer { learns, ..shares.clone() }), Class::Usage);
    }
    assert_eq!(refused_alone(Offer { learns: Learns::Nobody, ..offer() }), Class::Usage);
    assert_eq!(refused_alone(Offer { minimum: 1, ..shares.clone() }), Class::Usage);
    let named = Offer { protocol: Some("dh".into()), ..shares };
    assert!(named.check().unwrap_err().to_string().contains("there are: rs21-circuit"));
}

#[test]
fn the_stricter_security_wins() {
    let strict = Offer { security: Security::Malicious, ..offer() };
    let named = Offer { protocol: Some("kkrt16".into()), ..offer() };
    let message = refused(&named, &strict).1;
    assert!(message.contains("security of the protocol"), "{message}");
    assert!(message.contains("malicious required"), "{message}");
    assert!(strict.check().is_ok());
    assert!(Offer { protocol: Some("dh".into()), ..strict }.check().is_err());
}

#[test]
fn a_research_protocol_needs_the_consent_of_both() {
    let lab = Offer { protocol: Some("naive".into()), allow_research: true, ..offer() };
    let message = refused(&lab, &offer()).0;
    assert!(message.contains("here: research protocols are allowed; there: "), "{message}");
    assert!(agreed(&lab, &lab).0.is_ok());
    let yes = Offer { allow_research: true, ..offer() };
    assert!(refused(&lab, &yes).1.contains("which both sides must name"));
    let strict = Offer { security: Security::Malicious, ..yes };
    assert!(refused(&lab, &strict).0.contains("security of the protocol"));
    let error = Offer { allow_research: false, ..lab }.check().unwrap_err();
    assert_eq!(error.class(), Class::Usage);
}

#[test]
fn the_hash_covers_everything() {
    let base = agreed(&offer(), &offer()).0.unwrap();
    let others = [
        Terms { version: 1, ..base.clone() },
        Terms { protocol: Some("dh".into()), ..base.clone() },
        Terms { security: Security::Malicious, ..base.clone() },
        Terms { keys: vec!["trim@1".into()], ..base.clone() },
        Terms { identifiers: vec![1, 1], ..base.clone() },
        Terms { keys_of_a: vec![(&Normalize::TRIM).into()], ..base.clone() },
        Terms { keys_of_b: vec![(&Normalize::TRIM).into()], ..base.clone() },
        Terms { a_learns: false, ..base.clone() },
        Terms { b_learns: false, ..base.clone() },
        Terms { query: Query::COUNT, ..base.clone() },
        Terms { a_brings_values: true, ..base.clone() },
        Terms { b_brings_values: true, ..base.clone() },
        Terms { minimum: 1, ..base.clone() },
        Terms { null_values: vec![], ..base.clone() },
        Terms { scale: 1, ..base.clone() },
        Terms { diagnose: true, ..base.clone() },
        Terms { max_rows_of_a: 1, ..base.clone() },
        Terms { max_rows_of_b: 1, ..base.clone() },
        Terms { fingerprint_of_a: "other".into(), ..base.clone() },
        Terms { fingerprint_of_b: "other".into(), ..base.clone() },
    ];
    assert!(others.iter().all(|other| other.hash() != base.hash()));
}

#[test]
fn null_values_and_scales_must_be_equal() {
    let own = Offer { null_values: NullValues::new(["x", "NULL"]).unwrap(), ..offer() };
    let (a, _) = refused(&offer(), &own);
    assert!(a.ends_with("(null values) (here: the default ones; there: null, x)"), "{a}");
    let none = Offer { null_values: NullValues::none(), ..offer() };
    assert!(refused(&none, &offer()).0.contains("(here: only empty ones; there: the default"));
    // As bytes, only the empty value counts as empty, regardless of null values.
    let bytes = |offer: &Offer| Offer { keys: vec![Normalize::NONE], ..offer.clone() };
    assert!(agreed(&bytes(&none), &bytes(&offer())).0.is_ok());
    assert_eq!(bytes(&own).check().unwrap_err().class(), Class::Usage);

    let sum = |scale, brings_values| Offer { query: Query::SUM, scale, brings_values, ..offer() };
    assert_eq!(agreed(&sum(2, true), &sum(2, false)).1.unwrap().scale, 2);
    let message = refused(&sum(2, true), &sum(0, false)).0;
    assert!(message.contains("(scale) (here: 2; there: 0)"), "{message}");
    assert!(Offer { scale: 1, ..offer() }.check().is_err());
    assert_eq!(sum(19, true).check().unwrap_err().class(), Class::Usage);
}

#[test]
fn a_diagnosis_needs_both() {
    let diagnose = Offer { diagnose: true, ..offer() };
    assert!(agreed(&diagnose, &diagnose).0.unwrap().diagnoses());
    assert!(!agreed(&diagnose, &offer()).0.unwrap().diagnoses());
}

#[test]
fn a_set_may_be_too_large_for_the_other_side() {
    let small = Offer { max_peer_rows: 10, ..offer() };
    let (a, b) = agreed(&small, &offer());
    let (a, b) = (a.unwrap(), b.unwrap());
    assert!(a.check_sizes(Role::A, 1000, 10).is_ok());
    let here = a.check_sizes(Role::A, 1000, 11).unwrap_err().to_string();
    let there = b.check_sizes(Role::B, 11, 1000).unwrap_err().to_string();
    assert!(here.contains("(here: accepts at most 10; there: 11 keys)"), "{here}");
    assert!(there.contains("(here: 11 keys; there: accepts at most 10)"), "{there}");
}

#[test]
fn a_protocol_of_a_later_release_is_a_difference() {
    let later = Offer { protocol: Some("rr99".into()), ..offer() };
    let message = refused(&offer(), &later).0;
    assert!(message.contains("this release has no `rr99`; there: rr99"), "{message}");
}

fn sent() -> SentColumns {
    SentColumns { columns: vec!["c".to_owned()], bytes: 8, rows: 2 }
}

fn noise(epsilon: &str) -> Option<Noise> {
    serde_json::from_str(&format!("{{\"epsilon\":\"{epsilon}\",\"clamp\":null}}")).ok()
}

#[test]
fn terms_hold_what_either_side_provides() {
    let sizes = Sizes { sender: 10, receiver: 20 };
    let join = |learns, sends| Offer { query: Query::JOIN, learns, sends, ..offer() };
    let sends = join(Learns::Peer, Some(sent()));
    let (of_b, of_a) =
        (agreed(&join(Learns::Me, None), &sends), agreed(&sends, &join(Learns::Me, None)));
    for (terms, sender) in
        [(of_b.0, Role::B), (of_b.1, Role::B), (of_a.0, Role::A), (of_a.1, Role::A)]
    {
        let terms = terms.unwrap();
        assert!(*terms.query() == Query::JOIN && terms.receiver() == sender.other());
        assert!(terms.sends(sender) && !terms.sends(sender.other()));
        assert_eq!(terms.sent_columns(), Some(&sent()));
        assert_eq!(terms.request(sizes).payload_len, 16);
    }
    let sum = |learns, brings_values, minimum| Offer {
        query: Query::SUM,
        learns,
        brings_values,
        minimum,
        ..offer()
    };
    for (learns, other, of_receiver) in [
        (Learns::Both, Learns::Both, true),
        (Learns::Me, Learns::Peer, true),
        (Learns::Peer, Learns::Me, false),
    ] {
        let (a, b) = agreed(&sum(learns, true, 3), &sum(other, false, 5));
        let terms = a.unwrap();
        assert_eq!(terms, b.unwrap());
        let request = terms.request(sizes);
        assert_eq!((request.receiver_brings, request.sender_brings), (of_receiver, !of_receiver));
        assert_eq!((terms.minimum(), request.minimum, request.payload_len), (5, 5, 0));
        assert!(terms.noise().is_none() && terms.sent_columns().is_none() && !terms.aligns());
        assert!(!terms.sends(Role::A) && !terms.sends(Role::B));
        assert_eq!((terms.identifiers(), terms.security()), (1, Security::SemiHonest));
    }
    let count = Offer { query: Query::COUNT, noise: noise("0.5"), ..offer() };
    assert_eq!(agreed(&count, &count).0.unwrap().noise(), noise("0.5"));
    let aligned = Offer { align: true, ..offer() };
    assert!(agreed(&aligned, &aligned).0.unwrap().aligns());
    let strict = Offer { security: Security::Malicious, ..offer() };
    assert_eq!(agreed(&strict, &offer()).1.unwrap().security(), Security::Malicious);
}

#[test]
fn equal_members_are_compared() {
    let under = |hash: &str| Offer { agreement: Some(hash.to_owned()), ..offer() };
    let counted = |epsilon| Offer { query: Query::COUNT, noise: noise(epsilon), ..offer() };
    let asked = |query| Offer { query, ..offer() };
    for (a, b, said) in [
        (under("aa"), offer(), "agreement under which the run takes place (here: aa; there: none)"),
        (counted("1"), counted("2"), "(--epsilon, --clamp) (here: ε = 1; there: ε = 2)"),
        (counted("1"), asked(Query::COUNT), "(--epsilon, --clamp) (here: ε = 1; there: none)"),
        (Offer { align: true, ..offer() }, offer(), "(here: in one order; there: as they came)"),
        (asked(Query::COUNT), offer(), "query (here: "),
    ] {
        let (here, _) = refused(&a, &b);
        assert!(here.contains(said) && here.matches("(here: ").count() == 1, "{here}");
    }
}

#[test]
fn a_set_may_be_as_large_as_the_other_side_accepts() {
    let small = Offer { max_peer_rows: 10, ..offer() };
    let terms = agreed(&small, &small).0.unwrap();
    for role in [Role::A, Role::B] {
        assert!(terms.check_sizes(role, 10, 10).is_ok());
        let said = |mine, peers| terms.check_sizes(role, mine, peers).unwrap_err().to_string();
        assert!(
            said(11, 10).contains("this side's set (here: 11 keys; there: accepts at most 10)")
        );
        assert!(
            said(10, 11).contains("other side's set (here: accepts at most 10; there: 11 keys)")
        );
        assert_eq!(said(11, 11).matches("accepts at most").count(), 2);
    }
}

/// A method that cannot be divided is a candidate for a set as a whole, but not for partitions.
#[test]
fn only_what_splits_runs_in_partitions() {
    let count = Offer { query: Query::COUNT, ..offer() };
    let terms = agreed(&count, &count).0.unwrap();
    let whole = terms.request(Sizes { sender: 1000, receiver: 1000 });
    let keys = |partitions| {
        let candidates = terms.candidates(&Request { partitions, ..whole.clone() }).unwrap();
        candidates.into_iter().map(|candidate| candidate.key).collect::<Vec<_>>()
    };
    let methods = Query::COUNT.kind.task.methods();
    let splits = |key: &&str| methods.iter().any(|method| method.key() == *key && method.splits());
    assert!(!keys(1).iter().all(splits) && keys(2).iter().all(splits));
}

/// The query for the threshold check has its own candidates.
#[test]
fn another_query_has_its_own_candidates() {
    let sizes = Sizes { sender: 1000, receiver: 1000 };
    let of = |offer: &Offer| {
        let terms = agreed(offer, offer).0.unwrap();
        terms.candidates_of(&Query::at_least(5), &Request { number: 5, ..terms.request(sizes) })
    };
    let keys = of(&offer()).unwrap().into_iter().map(|candidate| candidate.key);
    assert_eq!(keys.collect::<Vec<_>>(), ["rs21-circuit"]);
    let strict = of(&Offer { security: Security::Malicious, ..offer() }).unwrap_err();
    assert_eq!(strict.class(), Class::Terms);
    assert!(strict.to_string().contains("secure against malicious parties"), "{strict}");
}
