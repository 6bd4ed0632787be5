use vesica_normalize::normalize::Normalize;
use vesica_table::sent_columns::SentColumns;

use super::*;

const NAMES: [&str; 3] = ["shop", "club", "bank"];

fn parties() -> Vec<NamedParty> {
    let party =
        |name: &str| NamedParty { name: name.to_owned(), fingerprint: format!("of {name}") };
    NAMES.map(party).into()
}

fn cast() -> Cast {
    Cast::new(parties(), "shop", "bank").unwrap()
}

/// The offers of all parties, which are alike.
fn offers() -> [Offer; 3] {
    let keys = vec![Normalize::EMAIL];
    [Learns::Me, Learns::Peer, Learns::Peer].map(|learns| Offer::new(keys.clone(), learns))
}

fn merged(offers: &[Offer; 3]) -> [Result<JointTerms>; 3] {
    let cast = cast();
    let wire: Vec<_> = offers
        .iter()
        .enumerate()
        .map(|(party, offer)| WireOffer::new(offer, cast.sides(party).role))
        .collect();
    [0, 1, 2].map(|me| JointTerms::merge(&cast, me, &wire))
}

#[test]
fn all_parties_get_the_same_terms_with_the_strictest_values() {
    let mut offers = offers();
    offers.iter_mut().for_each(|offer| offer.query = Query::COUNT);
    offers[1].minimum = 7;
    offers[1].max_peer_rows = 10;
    offers[2].max_peer_rows = 20;
    let [shop, club, bank] = merged(&offers).map(Result::unwrap);
    assert_eq!((&shop, &club), (&club, &bank));
    assert_eq!(shop.limits, [10, 20, 10]);
    for party in 0..3 {
        assert_eq!(shop.of_party(party).minimum(), 7);
        assert_eq!(shop.of_party(party).receiver(), Role::A);
    }
    assert_eq!(shop.of_party(0), shop.of_party(2));
    assert!(shop.check_sizes(&[10, 20, 10]).is_ok());
    let refused = shop.check_sizes(&[10, 20, 11]).unwrap_err().to_string();
    assert!(refused.contains("bank has 11 keys, and some party accepts at most 10"), "{refused}");
    offers[2].minimum = 8;
    assert_ne!(merged(&offers)[0].as_ref().unwrap().hash(), shop.hash());
}

/// Every difference is named by all parties, with the party from which it comes.
#[test]
fn differences_name_the_party() {
    for different in 0..3 {
        let mut offers = offers();
        offers[different].keys = vec![Normalize::LOWER];
        for (me, ended) in merged(&offers).into_iter().enumerate() {
            let said = ended.unwrap_err().to_string();
            assert!(said.contains("normalisation of the key"), "{said}");
            let (mine, theirs) = ("here: lower; there: email", "here: email; there: lower");
            let (start, order) = match (me, different) {
                (0, 0) => ("club: ", mine),
                (0, 1) => ("club: ", theirs),
                (0, 2) => ("bank: ", theirs),
                (1, 0) => ("shop: ", theirs),
                (2, 0) => ("shop (here) and club (there): ", mine),
                (me, different) if me == different => ("shop: ", mine),
                (_, 1) => ("shop (here) and club (there): ", theirs),
                _ => ("shop (here) and bank (there): ", theirs),
            };
            assert!(said.starts_with(start) && said.contains(order), "{me} {different}: {said}");
        }
    }
}

#[test]
fn helpers_take_part_in_sums_and_joins_of_leader_and_pivot() {
    let mut sum = offers();
    sum.iter_mut().for_each(|offer| offer.query = Query::SUM);
    sum[2].brings_values = true;
    assert!(merged(&sum).iter().all(Result::is_ok));
    for (party, offer) in sum.iter().enumerate() {
        check(offer, cast().place(party)).unwrap();
    }
    sum[1].brings_values = true;
    assert!(merged(&sum).iter().all(Result::is_err));
    assert!(check(&sum[1], Place::Helper).is_err());
    let mut join = offers();
    join.iter_mut().for_each(|offer| offer.query = Query::JOIN);
    join[2].sends = Some(SentColumns { columns: vec!["c".to_owned()], bytes: 8, rows: 1 });
    for (party, offer) in join.iter().enumerate() {
        check(offer, cast().place(party)).unwrap();
    }
    let [shop, ..] = merged(&join).map(Result::unwrap);
    assert!(shop.of_party(0).sends(Role::B));
}

/// A protocol that a helper names is the one that runs; one that is not recommended must be named by all.
#[test]
fn a_protocol_is_named_by_all_or_recommended() {
    let mut named = offers();
    named[1].protocol = Some("rr22".to_owned());
    let [shop, ..] = merged(&named).map(Result::unwrap);
    assert_eq!(shop.of_party(0).protocol(), Some("rr22"));
    named[2].protocol = Some("kkrt16".to_owned());
    assert!(merged(&named).iter().all(Result::is_err));
}

#[test]
fn offers_for_two_parties_are_refused() {
    let [leader, ..] = offers();
    check(&leader, Place::Leader).unwrap();
    for offer in [
        Offer { learns: Learns::Both, ..leader.clone() },
        Offer { align: true, ..leader.clone() },
        Offer { diagnose: true, ..leader.clone() },
        Offer { security: Security::Malicious, ..leader.clone() },
        Offer { protocol: Some("rr22-malicious".to_owned()), ..leader.clone() },
        Offer { query: Query::SHARES, ..leader.clone() },
        Offer { keys: vec![Normalize::EMAIL; 2], identifiers: vec![1, 1], ..leader.clone() },
    ] {
        assert!(check(&offer, Place::Leader).is_err(), "{offer:?}");
    }
}

#[test]
fn a_cast_has_different_parties_with_short_names() {
    let refused = |parties: Vec<NamedParty>, leader: &str, pivot: &str| {
        Cast::new(parties, leader, pivot).unwrap_err().to_string()
    };
    assert!(refused(parties()[..2].to_vec(), "shop", "club").contains("3 to 32 parties, not 2"));
    assert!(refused(parties(), "shop", "shop").contains("not the same one"));
    assert!(refused(parties(), "shop", "mall").contains("--pivot names `mall`"));
    let mut twice = parties();
    twice[2].name = "shop".to_owned();
    assert!(refused(twice, "shop", "club").contains("`shop` twice"));
    let mut twice = parties();
    twice[2].fingerprint = "of shop".to_owned();
    assert!(refused(twice, "shop", "club").contains("the same fingerprint"));
    let mut odd = parties();
    odd[1].name = "a b".to_owned();
    assert!(refused(odd, "shop", "bank").contains("party 2 of --parties needs a name"));
}

/// Every party expects terms from its own offer.
#[test]
fn expected_terms_are_those_of_matching_offers() {
    for query in [Query::ROWS, Query::COUNT, Query::SUM, Query::JOIN, Query::at_least(3)] {
        let takes_columns = query.kind.takes_columns;
        for me in 0..3 {
            let mut offer = Offer { query: query.clone(), ..offers()[me].clone() };
            offer.brings_values = query == Query::SUM && me == 2;
            let sent = SentColumns { columns: vec!["c".to_owned()], bytes: 8, rows: 1 };
            offer.sends = (takes_columns && me == 2).then_some(sent);
            let terms = JointTerms::expected(&offer, &cast(), me).unwrap();
            assert_eq!(terms.of_party(0).query(), &query);
        }
    }
}
