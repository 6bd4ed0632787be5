use vesica_core::parties::Learns;
use vesica_normalize::normalize::Normalize;
use vesica_select::{Declared, Keys};
use vesica_table::sent_columns::SentColumns;
use vesica_task::disclosure::words::Tense;

use super::*;
use crate::disclosed::Known;

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
        check(offer, &cast(), party).unwrap();
    }
    sum[1].brings_values = true;
    assert!(merged(&sum).iter().all(Result::is_err));
    assert!(check(&sum[1], &cast(), 1).is_err());
    let mut join = offers();
    join.iter_mut().for_each(|offer| offer.query = Query::JOIN);
    join[2].sends = Some(SentColumns { columns: vec!["c".to_owned()], bytes: 8, rows: 1 });
    for (party, offer) in join.iter().enumerate() {
        check(offer, &cast(), party).unwrap();
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
    check(&leader, &cast(), 0).unwrap();
    let distrustful =
        Offer { security: Security::Malicious, allow_research: true, ..leader.clone() };
    check(&distrustful, &cast(), 0).unwrap();
    let named = Some("rr22-malicious".to_owned());
    check(&Offer { protocol: named, ..distrustful.clone() }, &cast(), 0).unwrap();
    for offer in [
        Offer { learns: Learns::Both, ..leader.clone() },
        Offer { align: true, ..leader.clone() },
        Offer { diagnose: true, ..leader.clone() },
        Offer { security: Security::Malicious, ..leader.clone() },
        Offer { query: Query::COUNT, ..distrustful.clone() },
        Offer { query: Query::JOIN, ..distrustful.clone() },
        Offer { protocol: Some("rr22".to_owned()), ..distrustful.clone() },
        Offer { protocol: Some("rr22-malicious".to_owned()), ..leader.clone() },
        Offer { query: Query::SHARES, ..leader.clone() },
        Offer { query: Query::LINKED, ..leader.clone() },
        Offer { query: Query::SUM, protocol: Some("dh-sum".to_owned()), ..leader.clone() },
        Offer { keys: vec![Normalize::EMAIL; 2], identifiers: vec![1, 1], ..leader.clone() },
    ] {
        assert!(check(&offer, &cast(), 0).is_err(), "{offer:?}");
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

#[test]
fn a_search_for_holders_is_for_rows_of_the_leader() {
    let held = |least| Cast::of_holders(parties(), "club", least);
    let cast = held(2).unwrap();
    assert_eq!(
        (cast.place(1), cast.place(0), cast.place(2)),
        (Place::Leader, Place::Helper, Place::Helper)
    );
    assert_eq!((cast.partner(1), cast.partner(0), cast.partner(2)), (0, 1, 1));
    for least in [0, 1, 3] {
        assert!(held(least).unwrap_err().to_string().contains("takes 2 to 2"));
    }
    let offer = Offer::new(vec![Normalize::EMAIL], Learns::Me);
    check(&offer, &cast, 1).unwrap();
    for refused in [
        Offer { query: Query::COUNT, ..offer.clone() },
        Offer { protocol: Some("rr22".to_owned()), ..offer.clone() },
    ] {
        assert!(check(&refused, &cast, 1).unwrap_err().to_string().contains("--at-least"));
    }
    let all = cast.clone().with_learners(&["all".to_owned()]).unwrap();
    assert!(check(&offer, &all, 1).unwrap_err().to_string().contains("leave out --learners"));
    for me in 0..3 {
        let offer = Offer { learns: cast.learners_for(me), ..offer.clone() };
        let terms = JointTerms::expected(&offer, &cast, me).unwrap();
        let said = terms.said(Some(me), Known::default(), None, Tense::Future);
        let said = if me == 1 { said.me } else { said.peer };
        assert!(said.contains("at least 2 other parties have, and which parties"), "{said}");
    }
    assert_ne!(
        JointTerms::expected(&offer, &cast, 1).unwrap().hash(),
        JointTerms::expected(&offer, &Cast::new(parties(), "club", "shop").unwrap(), 1)
            .unwrap()
            .hash()
    );
}

#[test]
fn learners_are_named_or_all() {
    let named = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        cast().with_learners(&names)
    };
    assert_eq!(named(&["all"]).unwrap().learners, [1, 2]);
    assert_eq!(named(&["bank", "shop", "bank"]).unwrap().learners, [2]);
    assert!(named(&["all", "shop"]).is_err() && named(&["mall"]).is_err());
    let all = named(&["all"]).unwrap();
    let mut offers = offers();
    for (party, offer) in offers.iter_mut().enumerate() {
        offer.learns = all.learners_for(party);
        check(offer, &all, party).unwrap();
        assert!(JointTerms::expected(offer, &all, party).unwrap().of_party(party).both_learn());
        let wrong = check(offer, &cast(), party);
        assert_eq!(wrong.is_ok(), party == 0);
        let join = Offer { query: Query::JOIN, ..offer.clone() };
        assert!(
            check(&join, &all, party).unwrap_err().to_string().contains("leave out --learners")
        );
    }
}

/// A helper has no table of a query; leader and pivot have one each.
#[test]
fn helpers_take_part_in_queries() {
    let query =
        Query::select("SELECT count(*), sum(a.v) FROM a JOIN b USING (key)".parse().unwrap());
    for me in 0..3 {
        let mut offer = Offer { query: query.clone(), ..offers()[me].clone() };
        let table = |side, columns: &[&str]| QueryTable {
            side,
            declared: Some(Declared::parse(columns, Keys::Unique).unwrap()),
        };
        offer.table =
            [Some(table(Side::A, &["v:integer"])), None, Some(table(Side::B, &[]))][me].clone();
        let terms = JointTerms::expected(&offer, &cast(), me).unwrap();
        let said = terms.said(Some(me), Known::default(), None, Tense::Future);
        let said = if me == 0 { said.me } else { said.peer };
        assert!(said.contains("shared keys and the sum of"), "{said}");
        let wire = WireOffer::new(&offer, cast().sides(me).role);
        assert_eq!(wire.fault(), None);
        if me == 1 {
            offer.table = Some(table(Side::B, &[]));
            let error = check(&offer, &cast(), me).unwrap_err().to_string();
            assert!(error.contains("only the leader and the pivot provide"), "{error}");
        }
    }
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
