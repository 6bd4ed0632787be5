use vesica_core::{
    error::Class,
    parties::{Learns, Security},
};
use vesica_normalize::normalize::Normalize;
use vesica_task::query::Query;

use super::*;

const HERE: &str = "a.example:7788";

fn offer() -> Offer {
    Offer::new(vec![Normalize::EMAIL], Learns::Both)
}

fn invited(me: &Identity, place: MeetingPlace) -> Invitation {
    Invitation::new(me, "acme", &offer(), place, Policy::default()).unwrap()
}

/// Returns an invitation of one party, at this place, and the agreement of the other.
fn agreed(
    place: MeetingPlace,
    address: Option<&str>,
) -> ([Identity; 2], Invitation, Signed<Agreement>) {
    let parties = [(); 2].map(|()| Identity::generate().unwrap());
    let invitation = invited(&parties[0], place);
    let answer = invitation.answer().unwrap();
    let agreement = invitation.accept(&parties[1], &answer, address.map(str::to_owned));
    (parties, invitation, agreement.unwrap())
}

fn usage<T: std::fmt::Debug>(ended: Result<T>) -> String {
    let error = ended.unwrap_err();
    assert_eq!(error.class(), Class::Usage, "{error}");
    error.to_string()
}

/// Returns the document with a change, signed by the first party.
fn changed<D: Document>(
    signed: &Signed<D>,
    by: &[&Identity],
    change: impl Fn(&mut D),
) -> Signed<D> {
    let payload = serde_json::to_vec(signed.document()).unwrap();
    let mut document = serde_json::from_slice(&payload).unwrap();
    change(&mut document);
    let mut changed = Signed::new(document);
    by.iter().for_each(|me| changed.sign(me).unwrap());
    changed
}

#[test]
fn names_and_addresses_are_plain() {
    let longest = "a".repeat(LONGEST_NAME);
    for name in ["a", "Acme-2_b", &longest] {
        assert!(check_name(name).is_ok(), "{name}");
    }
    for name in ["", "a/b", "a.b", "ä", " ", &format!("{longest}a")] {
        assert!(check_name(name).is_err(), "{name}");
    }
    let longest = "a".repeat(LONGEST_ADDRESS - 2) + ":1";
    for address in ["a:1", "partner.example.org:7788", "[::1]:65535", &longest] {
        assert!(check_address(address).is_ok(), "{address}");
    }
    let longer = format!("a{longest}");
    for address in ["", "a", ":1", "a:0", "a:65536", "a:b", "a:", "a b:1", "ä:1", &longer] {
        assert!(check_address(address).is_err(), "{address}");
    }
}

#[test]
fn both_sides_sign_one_agreement_with_one_phrase() {
    let ([inviter, accepter], invitation, reply) =
        agreed(MeetingPlace::Here(HERE.to_owned()), None);
    let [me, other] = [&inviter, &accepter].map(Identity::fingerprint);
    assert_eq!(Invitation::from_text(&invitation.to_text()).as_ref(), Ok(&invitation));
    let read = Signed::<Agreement>::from_text(&reply.to_text()).unwrap();
    assert!(!read.is_signed_by(me) && read.is_signed_by(other));
    let agreement = read.confirm(&inviter, &invitation).unwrap();
    assert_eq!(agreement.require_all(), Ok(()));
    assert_eq!(agreement.check_phrase(), reply.check_phrase());
    assert_eq!(agreement.check_phrase().split(' ').count(), 6);
    let agreement = Signed::<Agreement>::from_file(&agreement.to_json()).unwrap();
    let agreement: &Agreement = agreement.document();
    assert_eq!(agreement.peer_of(me).unwrap().fingerprint(), other);
    assert_eq!(agreement.peer_of(other).unwrap().fingerprint(), me);
    assert_eq!((agreement.listens(me), agreement.connects(me)), (Some(HERE), None));
    assert_eq!((agreement.listens(other), agreement.connects(other)), (None, Some(HERE)));
    assert_eq!(agreement.relay(), None);
    assert_eq!(agreement.noise(), None);
    let stranger = Identity::generate().unwrap().fingerprint();
    assert!(usage(agreement.peer_of(stranger)).contains("is not a party of the agreement `acme`"));
    assert!(agreement.offer_of(stranger).is_err());
    assert_eq!(agreement.offer_of(me).unwrap().learns, Learns::Both);
    assert_eq!(agreement.offer_of(other).unwrap().learns, Learns::Both);
}

#[test]
fn each_side_has_its_own_part() {
    let parties = [(); 2].map(|()| Identity::generate().unwrap());
    let mine = Offer::new(vec![Normalize::EMAIL], Learns::Me);
    let place = MeetingPlace::Relay(HERE.to_owned());
    let invitation = Invitation::new(&parties[0], "acme", &mine, place, Policy::default()).unwrap();
    let answer = invitation.answer().unwrap();
    assert_eq!(answer.learns, Learns::Peer);
    let agreement = invitation.accept(&parties[1], &answer, None).unwrap();
    let agreement = agreement.document();
    let learns = |party: &Identity| agreement.offer_of(party.fingerprint()).unwrap().learns;
    assert_eq!([learns(&parties[0]), learns(&parties[1])], [Learns::Me, Learns::Peer]);
    assert_eq!(agreement.relay(), Some(HERE));
    for party in &parties {
        let party = party.fingerprint();
        assert_eq!((agreement.listens(party), agreement.connects(party)), (None, None));
    }
}

#[test]
fn one_side_says_where_it_listens() {
    let (parties, _, agreement) = agreed(MeetingPlace::There, Some("b.example:1"));
    let [me, other] = parties.each_ref().map(Identity::fingerprint);
    let agreement = agreement.document();
    assert_eq!(agreement.connects(me), Some("b.example:1"));
    assert_eq!(agreement.listens(other), Some("b.example:1"));
    let accept = |place, address: Option<&str>| {
        let invitation = invited(&parties[0], place);
        let answer = invitation.answer().unwrap();
        usage(invitation.accept(&parties[1], &answer, address.map(str::to_owned)))
    };
    assert!(accept(MeetingPlace::There, None).contains("name the address at which this side does"));
    assert!(accept(MeetingPlace::There, Some("nowhere")).contains("a host and a port"));
    for place in [MeetingPlace::Here(HERE.to_owned()), MeetingPlace::Relay(HERE.to_owned())] {
        assert!(accept(place, Some(HERE)).contains("this side needs no address"));
    }
    let own = invited(&parties[0], MeetingPlace::There);
    let answer = own.answer().unwrap();
    let said = usage(own.accept(&parties[0], &answer, Some(HERE.to_owned())));
    assert!(said.contains("was made by this side"), "{said}");
    for place in
        [MeetingPlace::Here("nowhere".to_owned()), MeetingPlace::Relay("nowhere".to_owned())]
    {
        let new = Invitation::new(&parties[0], "a", &offer(), place, Policy::default());
        assert!(usage(new).contains("a host and a port"));
    }
    let new = Invitation::new(&parties[0], "a/b", &offer(), MeetingPlace::There, Policy::default());
    assert!(usage(new).contains("letters, digits"));
}

#[test]
fn an_expired_invitation_and_other_terms_are_refused() {
    let parties = [(); 2].map(|()| Identity::generate().unwrap());
    let over = Policy { expires: "2020-01-01".parse().ok(), ..Policy::default() };
    let place = MeetingPlace::Here(HERE.to_owned());
    let error = Invitation::new(&parties[0], "acme", &offer(), place.clone(), over).unwrap_err();
    assert_eq!(error.class(), Class::Policy, "{error}");
    let invitation = invited(&parties[0], place);
    let answer = invitation.answer().unwrap();
    let other = Offer { query: Query::COUNT, ..answer };
    let error = invitation.accept(&parties[1], &other, None).unwrap_err();
    assert_eq!(error.class(), Class::Terms, "{error}");
}

#[test]
fn a_signed_proposal_with_a_fault_is_refused() {
    let me = Identity::generate().unwrap();
    let good = invited(&me, MeetingPlace::Here(HERE.to_owned()));
    type Change = fn(&mut Proposal);
    let changes: [Change; 6] = [
        |proposal| proposal.version = 2,
        |proposal| proposal.name = "a/b".to_owned(),
        |proposal| proposal.address = Some("nowhere".to_owned()),
        |proposal| proposal.relay = Some(HERE.to_owned()),
        |proposal| (proposal.address, proposal.relay) = (None, Some("nowhere".to_owned())),
        |proposal| proposal.offer.scale = 99,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let text = Invitation(changed(&good.0, &[&me], change)).to_text();
        let error = Invitation::from_text(&text);
        let is_refused = matches!(error, Err(SignedError::Unusable(Proposal::NAME, _)));
        assert!(is_refused, "{number}: {error:?}");
    }
    for good in
        [invited(&me, MeetingPlace::There), invited(&me, MeetingPlace::Relay(HERE.to_owned()))]
    {
        assert_eq!(Invitation::from_text(&good.to_text()), Ok(good));
    }
    let unsigned = Invitation(changed(&good.0, &[], |_| {})).to_text();
    let error = Invitation::from_text(&unsigned);
    assert_eq!(error, Err(SignedError::Unsigned(me.fingerprint())));
}

#[test]
fn a_signed_agreement_with_a_fault_is_refused() {
    let ([inviter, accepter], _, good) = agreed(MeetingPlace::Here(HERE.to_owned()), None);
    type Change = fn(&mut Agreement);
    let changes: [Change; 7] = [
        |agreement| agreement.version = 2,
        |agreement| agreement.proposal.version = 2,
        |agreement| agreement.offer.scale = 99,
        |agreement| agreement.address = Some(HERE.to_owned()),
        |agreement| {
            (agreement.proposal.address, agreement.address) = (None, Some("b".to_owned()));
        },
        |agreement| agreement.proposal.address = None,
        |agreement| agreement.proposal.inviter = agreement.accepter.clone(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let text = changed(&good, &[&accepter], change).to_text();
        let error = Signed::<Agreement>::from_text(&text);
        let is_refused = matches!(error, Err(SignedError::Unusable(Agreement::NAME, _)));
        assert!(is_refused, "{number}: {error:?}");
    }
    let there = changed(&good, &[&accepter], |agreement| {
        (agreement.proposal.address, agreement.address) = (None, Some(HERE.to_owned()));
    });
    assert!(Signed::<Agreement>::from_file(&there.to_json()).is_ok());
    let by_inviter = changed(&good, &[&inviter], |_| {});
    let error = Signed::<Agreement>::from_text(&by_inviter.to_text());
    assert_eq!(error, Err(SignedError::Unsigned(accepter.fingerprint())));
}

#[test]
fn a_reply_to_something_else_is_not_confirmed() {
    let ([inviter, accepter], invitation, reply) =
        agreed(MeetingPlace::Here(HERE.to_owned()), None);
    let another = invited(&inviter, MeetingPlace::Here(HERE.to_owned()));
    let said = usage(reply.clone().confirm(&inviter, &another));
    assert!(said.contains("to another invitation"), "{said}");
    let stranger = Identity::generate().unwrap();
    let said = usage(reply.clone().confirm(&stranger, &invitation));
    assert!(said.contains("another identity of this side"), "{said}");
    let other = changed(&reply, &[&accepter], |agreement| agreement.offer.query = Query::COUNT);
    let error = other.confirm(&inviter, &invitation).unwrap_err();
    assert_eq!(error.class(), Class::Terms, "{error}");
}

#[test]
fn rules_are_for_queries_that_they_can_limit() {
    let rule = |text: &str| serde_json::from_str::<Policy>(text).unwrap();
    let query = |query| Offer { query, ..offer() };
    let noisy = Offer { noise: Some(noise()), ..query(Query::COUNT) };
    let malicious = Offer { security: Security::Malicious, ..offer() };
    let sum = || Offer { brings_values: true, ..query(Query::SUM) };
    let limits = ["min_result", "max_result", "max_result_total"];
    for name in limits {
        let policy = rule(&format!("{{\"{name}\":5}}"));
        assert!(limited(&offer(), &policy).is_ok(), "{name}");
        assert!(limited(&query(Query::COUNT), &policy).is_ok(), "{name}");
        for number in [sum(), noisy.clone()] {
            // These have their own minimum.
            assert_eq!(limited(&number, &policy).is_ok(), name == "min_result", "{name}");
        }
        let said = usage(limited(&query(Query::SHARES), &policy));
        assert!(said.contains(&name.replace('_', "-")), "{said}");
    }
    // A query with its own minimum takes the larger one.
    let five = rule("{\"min_result\":5}");
    assert_eq!(limited(&sum(), &five).unwrap().minimum, 5);
    assert_eq!(limited(&Offer { minimum: 7, ..sum() }, &five).unwrap().minimum, 7);
    assert_eq!(limited(&offer(), &five).unwrap().minimum, 0);
    let total = rule("{\"epsilon_total\":\"1\"}");
    assert!(limited(&noisy, &total).is_ok());
    assert!(usage(limited(&query(Query::COUNT), &total)).contains("a number with noise"));
    let first = rule("{\"min_result\":5,\"threshold_first\":true}");
    assert!(limited(&offer(), &first).is_ok());
    assert!(usage(limited(&query(Query::COUNT), &first)).contains("a query for rows"));
    assert!(usage(limited(&malicious, &first)).contains("only against semi-honest parties"));
    let several = Offer { keys: vec![Normalize::NONE; 2], identifiers: vec![1, 1], ..offer() };
    assert!(usage(limited(&several, &first)).contains("a row has several"));
    let alone = rule("{\"threshold_first\":true}");
    assert!(usage(limited(&offer(), &alone)).contains("and min-result"));
}

fn noise() -> Noise {
    serde_json::from_str("{\"epsilon\":\"1\",\"clamp\":null}").unwrap()
}

#[test]
fn each_side_reads_its_view_of_the_meeting_place() {
    let parties = [(); 2].map(|()| Identity::generate().unwrap());
    let here = || HERE.to_owned();
    let both = "both sides connect to the relay at a.example:7788";
    for (place, address, said) in [
        (
            MeetingPlace::Here(here()),
            None,
            ["this side listens at a.example:7788", "the other side listens at a.example:7788"],
        ),
        (MeetingPlace::Relay(here()), None, [both; 2]),
        (
            MeetingPlace::There,
            Some(here()),
            ["the other side listens at a.example:7788", "this side listens at a.example:7788"],
        ),
    ] {
        let policy = Policy { max_runs: Some(2), ..Policy::default() };
        let invitation = Invitation::new(&parties[0], "acme", &offer(), place, policy).unwrap();
        let agreement =
            invitation.accept(&parties[1], &invitation.answer().unwrap(), address).unwrap();
        for (party, place) in parties.iter().zip(said) {
            let summary = agreement.document().summary(Some(party.fingerprint())).unwrap();
            let all = summary.clauses();
            assert!(
                all.ends_with(&[place.to_owned(), "at most 2 runs in all".to_owned()]),
                "{all:?}"
            );
        }
        let stranger = Identity::generate().unwrap().fingerprint();
        let summary = agreement.document().summary(Some(stranger)).unwrap();
        let said = [summary.disclosed(), summary.clauses()].concat().join("\n");
        assert!(
            said.contains("The inviting side will learn") && !said.contains("this side"),
            "{said}"
        );
    }
}

#[test]
fn a_renewed_agreement_has_the_same_terms() {
    let parties = [(); 2].map(|()| Identity::generate().unwrap());
    let asks = Offer { query: Query::COUNT, scale: 0, minimum: 7, ..offer() };
    let place = MeetingPlace::Here(HERE.to_owned());
    let first = Invitation::new(&parties[0], "a", &asks, place, Policy::default()).unwrap();
    let agreement = first.accept(&parties[1], &first.answer().unwrap(), None).unwrap();
    let policy = Policy { max_runs: Some(9), ..Policy::default() };
    for (me, other) in [(0, 1), (1, 0)] {
        let renewed =
            Invitation::renew(&parties[me], "b", agreement.document(), policy.clone()).unwrap();
        assert_eq!(renewed.proposal().policy, policy);
        let address = renewed.proposal().address.is_none().then(|| HERE.to_owned());
        let answer = renewed.answer().unwrap();
        let again = renewed.accept(&parties[other], &answer, address).unwrap();
        for party in &parties {
            let [old, new] = [&agreement, &again]
                .map(|agreement| agreement.document().summary(Some(party.fingerprint())).unwrap());
            assert_eq!(old.disclosed(), new.disclosed());
        }
    }
}

#[test]
fn every_invitation_is_another() {
    let [one, other] = [nonce().unwrap(), nonce().unwrap()];
    assert!(one.len() == 32 && one != other && one.bytes().any(|digit| digit != b'0'));
}

#[test]
fn an_agreement_knows_its_noise() {
    let parties = [(); 2].map(|()| Identity::generate().unwrap());
    let counted = Offer { query: Query::COUNT, noise: Some(noise()), ..offer() };
    let place = MeetingPlace::Here(HERE.to_owned());
    let invitation = Invitation::new(&parties[0], "a", &counted, place, Policy::default()).unwrap();
    let agreement = invitation.accept(&parties[1], &invitation.answer().unwrap(), None).unwrap();
    assert_eq!(agreement.document().noise(), Some(noise()));
}
